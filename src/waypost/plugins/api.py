"""Protocols that plugins keep. Plugins are pure: bytes and records in, records out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from waypost.records.transcript import Chunk, ReadableTurn


class Line(NamedTuple):
    """One complete record: its byte offset in the (decompressed) file and its bytes, no line end."""

    offset: int
    data: bytes


class TranscriptFile(NamedTuple):
    """What a reader may know of a file: its path below the transcript root, with forward slashes."""

    relative: str


class TranscriptReader(Protocol):
    """Reads one harness's transcripts.

    ``name``: the harness, as it appears in session keys and output. ``version``: raised whenever the
    meaning of what ``read`` returns changes. ``read`` must give the same turns, usages and counts for
    any split of a file into runs of complete records, carrying what it needs in ``state``. Arbitrary
    bytes never raise: an unreadable record is counted.
    """

    name: str
    version: int

    def claims(self, relative: str) -> bool:
        """Tell whether the file at this path below the root is a transcript of this harness."""
        ...

    def read(self, file: TranscriptFile, state: bytes, lines: Iterable[tuple[int, bytes]]) -> Chunk:
        """Read complete records, each a ``Line`` or a plain pair.

        ``state`` is what the run before returned, or b"" at the start of a file.
        """
        ...

    def without_words(self, state: bytes) -> bytes:
        """Return a state without anything a person or an agent said, for files that are not kept."""
        ...

    def render(self, raw: bytes, *, part: int, extras: bytes) -> ReadableTurn:
        """Return the readable form of part ``part`` of a kept record."""
        ...
