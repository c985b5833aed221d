"""Sealed values: a turn's raw record with the reader's notes, compressed as one.

Compression runs before the file's encryption and pays for itself: fewer bytes to encrypt and write.
The dictionary is shipped with the program and was trained on our own sample transcripts: a dictionary
trained on a person's records would carry their words beyond ``forget``.
"""

from __future__ import annotations

import functools
from typing import Final

import msgspec
import zstandard

from waypost.machine.files import package_file

LEVEL: Final = 1
PAYLOAD_BYTES_MAX: Final = 64 * 1024 * 1024
_PACK: Final = msgspec.msgpack.Encoder()
_UNPACK: Final = msgspec.msgpack.Decoder(tuple[bytes, bytes | None])


@functools.cache
def _dictionary() -> zstandard.ZstdCompressionDict | None:
    data = package_file("waypost.machine.store", "records.zdict")
    return zstandard.ZstdCompressionDict(data) if data is not None else None


@functools.cache
def _compressor() -> zstandard.ZstdCompressor:
    dictionary = _dictionary()
    if dictionary is None:
        return zstandard.ZstdCompressor(level=LEVEL)
    dictionary.precompute_compress(level=LEVEL)
    return zstandard.ZstdCompressor(level=LEVEL, dict_data=dictionary)


@functools.cache
def _decompressor() -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(dict_data=_dictionary())


def seal(extras: bytes, raw: bytes | None) -> bytes:
    """Return the sealed form of a record and the notes that belong to it."""
    return _compressor().compress(_PACK.encode((extras, raw)))


def unseal(payload: bytes) -> tuple[bytes, bytes | None]:
    """Return notes and raw record."""
    return _UNPACK.decode(_decompressor().decompress(payload, max_output_size=PAYLOAD_BYTES_MAX))
