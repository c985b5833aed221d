"""Transcript files on disk: finding them, and reading complete records from where reading stopped.

Nothing here follows a symbolic link below the root it was given. Appends are read up to the last
complete record; a record longer than ``RECORD_BYTES_MAX`` is passed over as a stream and reported by
position, length and hash. Compressed files are read as their decompressed content.

A trade-off: the identity of what was already read is checked by the hash of its first 64 KiB and of
the last 4 KiB before the offset, not of everything between, since checking must not cost more than
reading what is new. A file rewritten only in between, keeping both ends and growing, is not noticed.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple, TypeAlias

HEAD_BYTES: Final = 64 * 1024
TAIL_BYTES: Final = 4 * 1024
RECORD_BYTES_MAX: Final = 64 * 1024 * 1024
READ_BUFFER_BYTES: Final = 1024 * 1024
DECOMPRESSED_BYTES_MAX: Final = 64 * 1024**3
WALK_DEPTH_MAX: Final = 16
WALK_ENTRIES_MAX: Final = 2_000_000
COMPRESSED_SUFFIXES: Final = (".zst", ".gz")


class FoundFile(NamedTuple):
    """A regular file below a root: where it is and what identifies its current content."""

    root: str
    relative: str
    device: int
    inode: int
    size: int
    mtime_ns: int

    @property
    def path(self) -> str:
        """The path to open."""
        return f"{self.root}/{self.relative}"

    @property
    def logical(self) -> str:
        """The relative path without compression suffix: what the file is called over its life."""
        for suffix in COMPRESSED_SUFFIXES:
            if self.relative.endswith(suffix):
                return self.relative[: -len(suffix)]
        return self.relative

    @property
    def compressed(self) -> bool:
        """Whether the content must be decompressed."""
        return self.relative.endswith(COMPRESSED_SUFFIXES)


def walk(root: Path, *, below: tuple[str, ...] = ()) -> Iterator[FoundFile]:
    """Find regular files below ``root`` (or below its named sub-folders), links not followed.

    Folders that cannot be read, and files that vanish, are passed over. Bounded in depth and number.
    """
    base = str(root)
    pending: list[tuple[str, int]] = [(name, 1) for name in below] if below else [("", 0)]
    seen = 0
    while pending:
        relative, depth = pending.pop()
        try:
            entries = os.scandir(f"{base}/{relative}" if relative else base)
        except OSError:
            continue
        with entries:
            for entry in entries:
                seen += 1
                if seen > WALK_ENTRIES_MAX:
                    return
                name = f"{relative}/{entry.name}" if relative else entry.name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if depth < WALK_DEPTH_MAX:
                            pending.append((name, depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        details = entry.stat(follow_symlinks=False)
                        yield FoundFile(
                            base,
                            name,
                            details.st_dev,
                            details.st_ino,
                            details.st_size,
                            details.st_mtime_ns,
                        )
                except OSError:
                    continue


class Fingerprint(NamedTuple):
    """Hashes of the head of a file and of the bytes just before an offset, with their lengths."""

    head_bytes: int
    head: bytes
    tail_bytes: int
    tail: bytes


class PassedOver(NamedTuple):
    """A record too long to be held: where it is, how long, and its SHA-256."""

    offset: int
    length: int
    sha256: str


#: A complete record: its byte offset and its bytes without line end.
Record: TypeAlias = tuple[int, bytes]


class TranscriptHandle:
    """An open transcript, read forward from an offset in its decompressed bytes."""

    def __init__(self, found: FoundFile) -> None:
        self._found = found
        handle = os.open(found.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        details = os.fstat(handle)
        if not stat.S_ISREG(details.st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "not a regular file", found.path)
        self._raw: IO[bytes] = os.fdopen(handle, "rb", buffering=0)
        self.size = details.st_size
        self.device, self.inode = details.st_dev, details.st_ino
        self.mtime_ns = details.st_mtime_ns
        self._stream = self._open()
        self.offset = 0
        self.exhausted = False
        self.passed_over: list[PassedOver] = []
        self._head = b""
        self._tail = b""

    def _open(self) -> io.BufferedIOBase:
        self._raw.seek(0)
        if self._found.relative.endswith(".zst"):
            import zstandard

            reader = zstandard.ZstdDecompressor().stream_reader(
                self._raw, read_across_frames=True, closefd=False
            )
            return io.BufferedReader(reader, READ_BUFFER_BYTES)
        if self._found.relative.endswith(".gz"):
            import gzip

            return io.BufferedReader(gzip.GzipFile(fileobj=self._raw, mode="rb"), READ_BUFFER_BYTES)
        return io.BufferedReader(self._raw, READ_BUFFER_BYTES)  # type: ignore[type-var]

    def begin_again(self) -> None:
        """Forget what was read and go to the start."""
        self._head = self._tail = b""
        self.seek(0)

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    def __enter__(self) -> TranscriptHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def seek(self, offset: int) -> bool:
        """Go to an offset; False when the content ends before it."""
        if not self._found.compressed:
            self._stream.seek(offset)
            self.offset = offset
            return offset <= self.size
        if offset < self.offset:
            self._stream = self._open()
            self.offset = 0
        while self.offset < offset:
            piece = self._stream.read(min(READ_BUFFER_BYTES, offset - self.offset))
            if not piece:
                return False
            self.offset += len(piece)
        return True

    def fingerprint(self) -> Fingerprint:
        """Return what the content up to ``offset`` looks like, from the bytes that were read."""
        head = hashlib.sha256(self._head).digest()[:16]
        tail = hashlib.sha256(self._tail).digest()[:16]
        return Fingerprint(len(self._head), head, len(self._tail), tail)

    def _note(self, block: bytes) -> None:
        """Keep the first and the last bytes that lie before ``offset``."""
        if len(self._head) < HEAD_BYTES:
            self._head += block[: HEAD_BYTES - len(self._head)]
        self._tail = block[-TAIL_BYTES:] if len(block) >= TAIL_BYTES else (self._tail + block)[-TAIL_BYTES:]

    def _exactly(self, count: int) -> bytes:
        pieces: list[bytes] = []
        while count > 0:
            piece = self._stream.read(count)
            if not piece:
                break
            pieces.append(piece)
            count -= len(piece)
            self.offset += len(piece)
        return b"".join(pieces)

    def continues(self, offset: int, known: Fingerprint) -> bool:
        """Tell whether the content up to ``offset`` is still what was read before."""
        if not self._found.compressed and offset > self.size:
            return False
        self.seek(0)
        head = self._exactly(known.head_bytes)
        if hashlib.sha256(head).digest()[:16] != known.head or not self.seek(offset - known.tail_bytes):
            return False
        tail = self._exactly(known.tail_bytes)
        if hashlib.sha256(tail).digest()[:16] != known.tail:
            return False
        self._head, self._tail = head, tail
        return True

    def records(self, *, bytes_max: int) -> list[Record]:
        """Read complete records from the current position, about ``bytes_max`` bytes of them.

        ``offset`` moves behind the last of them; ``exhausted`` says that no record follows; ``passed_over``
        lists those that were too long to be held. The last
        record of a file counts as complete without a line end only when it is a whole JSON object,
        which no later byte could extend; otherwise the position stays at its start.
        """
        self.exhausted = False
        self.passed_over = []
        start = self.offset
        block = self._stream.read(bytes_max)
        if block[-1:] != b"\n":
            block += self._stream.readline(RECORD_BYTES_MAX + 1)
        if not block:
            self.exhausted = True
            return []
        whole = block.rfind(b"\n") + 1
        complete = block[:whole] if whole < len(block) else block
        found = _split(start, complete)
        self.offset = start + whole
        self._note(complete)
        rest = block[whole:] if whole < len(block) else b""
        if rest:
            self._unfinished(rest, found)
        if self._found.compressed and self.offset > DECOMPRESSED_BYTES_MAX:
            self.exhausted = True
        return found

    def _unfinished(self, rest: bytes, found: list[Record]) -> None:
        """Deal with bytes that no line end follows yet: an over-long record, or the end of the file."""
        if len(rest) > RECORD_BYTES_MAX:
            passed = self._pass_over(self.offset, rest)
            if passed is not None:
                self.passed_over.append(passed)
                return
        elif _whole_object(rest):
            found.append((self.offset, rest.strip(b"\r\n")))
            self.offset += len(rest)
            self._note(rest)
        self.exhausted = True

    def _pass_over(self, start: int, first: bytes) -> PassedOver | None:
        hasher = hashlib.sha256(first)
        length = len(first)
        last = first[-TAIL_BYTES:]
        while True:
            piece = self._stream.readline(READ_BUFFER_BYTES)
            if not piece:
                return None
            length += len(piece)
            last = (last + piece)[-TAIL_BYTES:]
            if piece.endswith(b"\n"):
                hasher.update(piece[:-1])
                break
            hasher.update(piece)
        self.offset = start + length
        if len(self._head) < HEAD_BYTES:
            self._head += first[: HEAD_BYTES - len(self._head)]
        self._tail = last
        return PassedOver(start, length - 1, hasher.hexdigest())


def _split(start: int, block: bytes) -> list[Record]:
    """Split complete lines into records with their offsets; blank lines are left out."""
    found: list[Record] = []
    offset = start
    carriage_returns = b"\r" in block
    for line in block.split(b"\n"):
        size = len(line)
        if size:
            body = line.strip(b"\r") if carriage_returns else line
            if body:
                found.append((offset, body))
            offset += size
        offset += 1
    return found


def _whole_object(data: bytes) -> bool:
    import msgspec

    body = data.strip()
    if not (body.startswith(b"{") and body.endswith(b"}")):
        return False
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
