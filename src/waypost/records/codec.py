"""Canonical bytes: the one encoder whose output is hashed, signed or printed as a record.

Canonical JSON after RFC 8785 (JSON Canonicalization Scheme): no white space, object members sorted
by the UTF-16 code units of their names, strings escaped minimally, UTF-8. Narrower than the RFC on
purpose: floats are refused (a money amount is a decimal string, a duration an integer of
milliseconds), and so are integers beyond +-(2**53 - 1), which no IEEE double reader could keep.

Errors: ``TypeError`` for a value of another type, ``ValueError`` for an integer out of range or a
string with a lone surrogate. Both are our own mistakes: callers pass checked records.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

INTEGER_MAX: Final = 2**53 - 1
DEPTH_MAX: Final = 64

#: What a canonical record may hold.
Plain: TypeAlias = "bool | int | str | Sequence[Plain] | Mapping[str, Plain] | None"

_ESCAPE = re.compile(r'["\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _string(value: str) -> str:
    return f'"{_ESCAPE.sub(_escape, value)}"' if _ESCAPE.search(value) else f'"{value}"'


def _member_order(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _write(value: object, parts: list[str], depth: int) -> None:
    if depth > DEPTH_MAX:
        raise ValueError(f"canonical record nested deeper than {DEPTH_MAX} levels")
    if value is None:
        parts.append("null")
    elif value is True:
        parts.append("true")
    elif value is False:
        parts.append("false")
    elif isinstance(value, str):
        parts.append(_string(value))
    elif isinstance(value, int):
        if not -INTEGER_MAX <= value <= INTEGER_MAX:
            raise ValueError(f"integer {value} is outside +-(2**53 - 1)")
        parts.append(str(int(value)))
    elif isinstance(value, Mapping):
        separator = "{"
        names = list(value)
        if all(isinstance(name, str) for name in names) and all(name.isascii() for name in names):
            names.sort()  # for ASCII, code point order is UTF-16 order
        else:
            names.sort(key=_member_order)
        for name in names:
            parts.append(separator)
            parts.append(_string(name))
            parts.append(":")
            _write(value[name], parts, depth + 1)
            separator = ","
        parts.append("}" if names else "{}")
    elif isinstance(value, list | tuple):
        separator = "["
        for item in value:
            parts.append(separator)
            _write(item, parts, depth + 1)
            separator = ","
        parts.append("]" if value else "[]")
    else:
        raise TypeError(f"{type(value).__name__} has no canonical form")


def encode(value: Plain) -> bytes:
    """Return the canonical bytes of ``value``, without a line end."""
    parts: list[str] = []
    _write(value, parts, 0)
    return "".join(parts).encode("utf-8")


def decode(data: bytes) -> Plain:
    """Read canonical bytes back; refuses anything that would not encode to the same bytes.

    Errors: ``ValueError`` naming the reason. Duplicate members, floats, white space and any other
    spelling of the same value are refused, so equal records have equal bytes.
    """
    import json

    value: Plain = json.loads(data.decode("utf-8"))
    try:
        again = encode(value)
    except TypeError as error:
        raise ValueError(str(error)) from None
    if again != data:
        raise ValueError("not the canonical form of the record it holds")
    return value


def digest(data: bytes) -> str:
    """Return the tagged digest of bytes: ``sha256:`` and 64 lower-case hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()
