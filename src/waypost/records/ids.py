"""Typed ids: three letters, an underscore, lower-case Crockford base 32.

| id     | names        | made from                                                          |
| ------ | ------------ | ------------------------------------------------------------------ |
| ses_26 | a session    | SHA-256 of harness and native id: the same on every machine        |
| prj_26 | a project    | SHA-256 of its identity: canonical remote, else path               |
| exe_26 | an execution | SHA-256 of session and tool-call id; time-ordered where it is ours |
| trn_…  | a turn       | session, file name, byte offset, part: readable back by the store  |

Derived ids are stable across ingestion order, machines and re-ingestion, so a citation made today
names the same turn after the store was rebuilt.
"""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUES: Final = {character: value for value, character in enumerate(ALPHABET)}


def base32(data: bytes) -> str:
    """Return ``data`` in Crockford base 32, most significant bit first, zero bits appended."""
    bits = len(data) * 8
    count = (bits + 4) // 5
    number = int.from_bytes(data, "big") << (count * 5 - bits)
    return "".join(ALPHABET[(number >> shift) & 31] for shift in range((count - 1) * 5, -1, -5))


def unbase32(text: str, *, byte_count: int) -> bytes:
    """Read back what ``base32`` wrote. Errors: ``ValueError`` for another character or length."""
    count = (byte_count * 8 + 4) // 5
    if len(text) != count:
        raise ValueError(f"expected {count} characters, found {len(text)}")
    number = 0
    for character in text:
        if character not in _VALUES:
            raise ValueError(f"{character!r} is no base 32 character")
        number = number << 5 | _VALUES[character]
    spare = count * 5 - byte_count * 8
    if number & ((1 << spare) - 1):
        raise ValueError("trailing bits are not zero")
    return (number >> spare).to_bytes(byte_count, "big")


def _derived(prefix: str, *parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return prefix + base32(hashlib.sha256(prefix.encode() + text).digest()[:16])


def session_key(harness: str, native_id: str) -> str:
    """Return the ``ses_`` key of a harness's own session id."""
    return _derived("ses_", harness, native_id)


def project_key(identity: str) -> str:
    """Return the ``prj_`` key of a project identity (``remote:…`` or ``path:…``)."""
    return _derived("prj_", identity)


def agent_execution_key(session: str, call_id: str) -> str:
    """Return the ``exe_`` key of a command that an agent ran, from its session key and call id."""
    return _derived("exe_", session, call_id)


def ordered_id(prefix: str, *, time_ms: int, randomness: bytes) -> str:
    """Return a new time-ordered id: 48 bits of milliseconds, then 80 random bits."""
    return prefix + base32(time_ms.to_bytes(6, "big") + randomness[:10])


def small_hash(*parts: str) -> int:
    """Return a signed 64-bit integer that stands for text in an indexed column.

    Collisions only matter inside one session, where 2**64 is far beyond any count of records.
    """
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big", signed=True)


class TurnAddress(NamedTuple):
    """Where a turn lies: first 10 bytes of the session key, 4 bytes of the file, offset, part."""

    session_prefix: bytes
    file_tag: bytes
    offset: int
    part: int


def file_tag(name: str) -> bytes:
    """Return the 4-byte tag of a transcript file, from its base name without compression suffix."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:4]


def turn_id(session: str, *, tag: bytes, offset: int, part: int) -> str:
    """Return the ``trn_`` id of part ``part`` of the record at byte ``offset`` of a session's file."""
    head = unbase32(session[4:], byte_count=16)[:10] + tag
    return "trn_" + base32(head + offset.to_bytes(6, "big") + part.to_bytes(2, "big"))


def parse_turn_id(text: str) -> TurnAddress:
    """Read a ``trn_`` id back. Errors: ``ValueError`` when it is none."""
    if not text.startswith("trn_"):
        raise ValueError("a turn id starts with trn_")
    data = unbase32(text[4:], byte_count=22)
    return TurnAddress(
        session_prefix=data[:10],
        file_tag=data[10:14],
        offset=int.from_bytes(data[14:20], "big"),
        part=int.from_bytes(data[20:22], "big"),
    )
