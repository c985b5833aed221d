"""Reads one transcript file from where it was left, as a stream of results that can cross processes.

A result carries everything the writer needs to commit it: the chunk, the sealed values of its turns,
the new offset, identity and fingerprint. So reading, decoding and compressing may run in a worker
while the one writer inserts and indexes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from waypost.machine.store.payloads import seal
from waypost.machine.transcripts import Fingerprint, FoundFile, TranscriptHandle
from waypost.plugins.api import TranscriptFile
from waypost.plugins.registry import transcript_reader
from waypost.records.transcript import Chunk, Malformed, TurnDraft

#: About this many bytes of records are read, decoded and committed together.
CHUNK_BYTES: Final = 1024 * 1024


class ReadTask(msgspec.Struct, frozen=True, array_like=True):
    """A file to read from an offset; ``offset`` 0 with an empty fingerprint for a new file."""

    harness: str
    root: str
    relative: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    offset: int
    head_bytes: int
    head: bytes
    tail_bytes: int
    tail: bytes
    state: bytes

    def found(self) -> FoundFile:
        """Return the file as the walk found it."""
        return FoundFile(self.root, self.relative, self.device, self.inode, self.size, self.mtime_ns)


class ReadResult(msgspec.Struct, frozen=True, array_like=True):
    """A run of records of one file, ready to be written. ``last``: nothing follows for this task."""

    chunk: Chunk
    payloads: list[bytes]
    restarted: bool
    offset: int
    bytes_read: int
    device: int
    inode: int
    size: int
    mtime_ns: int
    head_bytes: int
    head: bytes
    tail_bytes: int
    tail: bytes
    last: bool
    error: str = ""

    def fingerprint(self) -> Fingerprint:
        """Return what the file looked like up to ``offset``."""
        return Fingerprint(self.head_bytes, self.head, self.tail_bytes, self.tail)


ENCODER: Final = msgspec.msgpack.Encoder()
DECODER: Final = msgspec.msgpack.Decoder(ReadResult)
TASK_DECODER: Final = msgspec.msgpack.Decoder(ReadTask)


def read_file(task: ReadTask, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[ReadResult]:
    """Read what is new in a file. Always ends with a result whose ``last`` is true.

    When the content before the offset is no longer what it was, reading starts again at 0 and the
    first result says ``restarted``. A file that cannot be opened gives one result with ``error``.
    """
    found = task.found()
    try:
        with TranscriptHandle(found) as handle:
            yield from _read(task, found, handle, chunk_bytes)
    except (OSError, EOFError, ValueError) as error:
        yield _failed(task, found, str(error))
    except Exception as error:  # a damaged compressed stream raises its codec's own error
        if type(error).__module__.split(".")[0] not in ("zstandard", "zstd", "zlib", "gzip"):
            raise
        yield _failed(task, found, str(error))


def _failed(task: ReadTask, found: FoundFile, error: str) -> ReadResult:
    return ReadResult(
        Chunk(state=task.state),
        [],
        False,
        task.offset,
        0,
        found.device,
        found.inode,
        found.size,
        found.mtime_ns,
        task.head_bytes,
        task.head,
        task.tail_bytes,
        task.tail,
        True,
        error or "unreadable",
    )


def _read(
    task: ReadTask, found: FoundFile, handle: TranscriptHandle, chunk_bytes: int
) -> Iterator[ReadResult]:
    reader = transcript_reader(task.harness)
    known = Fingerprint(task.head_bytes, task.head, task.tail_bytes, task.tail)
    restarted = task.offset > 0 and not handle.continues(task.offset, known)
    if restarted:
        handle.begin_again()
    state = b"" if restarted else task.state
    start = 0 if restarted else task.offset
    handle.seek(start)
    file = TranscriptFile(found.logical)
    while True:
        lines = handle.records(bytes_max=chunk_bytes)
        malformed = [
            Malformed(one.offset, one.length, f"oversized sha256:{one.sha256}") for one in handle.passed_over
        ]
        end = handle.offset
        last = handle.exhausted
        chunk = reader.read(file, state, lines)
        chunk.malformed.extend(malformed)
        chunk.records += len(malformed)
        state = chunk.state
        payloads = [_sealed(turn) for turn in chunk.turns]
        mark = handle.fingerprint()
        yield ReadResult(
            chunk,
            payloads,
            restarted,
            end,
            end - start,
            handle.device,
            handle.inode,
            found.size,
            found.mtime_ns,
            mark.head_bytes,
            mark.head,
            mark.tail_bytes,
            mark.tail,
            last,
        )
        restarted = False
        start = end
        if last:
            return


def _sealed(turn: TurnDraft) -> bytes:
    payload = seal(turn.extras, turn.raw)
    turn.extras, turn.raw = b"", None
    return payload
