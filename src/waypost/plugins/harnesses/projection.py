"""What is kept of a record over the cap: its readable form, its hash, the reader's notes."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from waypost.records.transcript import ReadableTurn


class Projection(msgspec.Struct, array_like=True):
    """A projected part of a record; ``sha256`` is of the whole raw record, on part 0 only."""

    turn: ReadableTurn
    sha256: str
    extras: bytes


_PROJECTION: Final = msgspec.msgpack.Decoder(Projection)


def project(turn: ReadableTurn, *, extras: bytes, data: bytes) -> bytes:
    """Pack a readable form; ``data`` is the raw record, or empty for later parts."""
    sha256 = hashlib.sha256(data).hexdigest() if data else ""
    return msgspec.msgpack.encode(Projection(turn, sha256, extras))


def unproject(packed: bytes) -> Projection:
    """Read a projection back."""
    return _PROJECTION.decode(packed)
