"""Hands on the file system: private files, locks, transcript trees, reading complete records.

Guarantees. Nothing here follows a symbolic link below the root it was given. A private file is
created 0600 by exclusive creation in a 0700 folder, written whole to a temporary name in the same
directory, synchronised, renamed, and the directory synchronised: a reader sees the old or the new
content. Appends to transcripts are read up to the last complete record; a record longer than
``RECORD_BYTES_MAX`` is passed over as a stream and reported by position, length and hash.

A trade-off: the identity of what was already read is checked by the hash of its first 64 KiB and of
the last 4 KiB before the offset, not of everything between, since checking must not cost more than
reading what is new. A file rewritten only in between, keeping both ends and growing, is not noticed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import hashlib
import io
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple

import zstandard

from waypost.errors import MachineError

HEAD_BYTES: Final = 64 * 1024
TAIL_BYTES: Final = 4 * 1024
RECORD_BYTES_MAX: Final = 64 * 1024 * 1024
READ_BUFFER_BYTES: Final = 1024 * 1024
DECOMPRESSED_BYTES_MAX: Final = 64 * 1024**3
WALK_DEPTH_MAX: Final = 16
WALK_ENTRIES_MAX: Final = 2_000_000
COMPRESSED_SUFFIXES: Final = (".zst", ".gz")

#: Named points at which a test may end the process; see tests/crash.
_crash_hook: Callable[[str], None] | None = None


def set_crash_hook(hook: Callable[[str], None] | None) -> None:
    """Let a test see, and stop at, every named low-level action."""
    global _crash_hook  # noqa: PLW0603 - one seam for crash tests, set in child processes only
    _crash_hook = hook


def crash_point(name: str) -> None:
    """Announce a low-level action by name."""
    if _crash_hook is not None:
        _crash_hook(name)


def private_folder(path: Path) -> None:
    """Create a folder 0700, with its parents, or tighten one of ours that is looser.

    Errors: ``MachineError`` ``home_unusable`` when it cannot be created or is not a folder.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        details = path.stat()
        if stat.S_IMODE(details.st_mode) & 0o077 and details.st_uid == os.getuid():
            path.chmod(0o700)
    except OSError as error:
        raise MachineError(
            "home_unusable",
            f"expected a writable folder at {path}, found: {error.strerror}",
            hint="set WAYPOST_HOME to a folder you own",
        ) from error


def create_private(path: Path) -> None:
    """Create an empty file 0600; an existing file is left as it is, only tightened."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    except FileExistsError:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)


def write_private(path: Path, data: bytes) -> None:
    """Replace a file atomically; it is 0600 from its first instant."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            crash_point("private.written")
            os.fsync(out.fileno())
        crash_point("private.synced")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    crash_point("private.renamed")
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make a rename or removal in a folder durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def exclusive_lock(path: Path) -> Iterator[bool]:
    """Hold an advisory lock without waiting; gives False when another process holds it.

    The lock ends with the process, however it ends. The file stays.
    """
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            yield False
            return
        yield True
    finally:
        os.close(handle)


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


class ReadLine(NamedTuple):
    """A complete record, or (``data`` None) a passed-over one with its length and hash."""

    offset: int
    length: int
    data: bytes | None
    sha256: str = ""
    opening: bytes = b""


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

    def _open(self) -> io.BufferedIOBase:
        self._raw.seek(0)
        if self._found.relative.endswith(".zst"):
            reader = zstandard.ZstdDecompressor().stream_reader(
                self._raw, read_across_frames=True, closefd=False
            )
            return io.BufferedReader(reader, READ_BUFFER_BYTES)
        if self._found.relative.endswith(".gz"):
            return io.BufferedReader(gzip.GzipFile(fileobj=self._raw, mode="rb"), READ_BUFFER_BYTES)
        return io.BufferedReader(self._raw, READ_BUFFER_BYTES)  # type: ignore[type-var]

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

    def fingerprint(self, offset: int) -> Fingerprint:
        """Hash the head and the bytes before ``offset``. Leaves the position at ``offset``."""
        head_bytes = min(offset, HEAD_BYTES)
        tail_bytes = min(offset, TAIL_BYTES)
        self.seek(0)
        head = hashlib.sha256(self._exactly(head_bytes)).digest()[:16]
        self.seek(offset - tail_bytes)
        tail = hashlib.sha256(self._exactly(tail_bytes)).digest()[:16]
        return Fingerprint(head_bytes, head, tail_bytes, tail)

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
        if hashlib.sha256(self._exactly(known.head_bytes)).digest()[:16] != known.head:
            return False
        if not self.seek(offset - known.tail_bytes):
            return False
        return hashlib.sha256(self._exactly(known.tail_bytes)).digest()[:16] == known.tail

    def lines(self, *, bytes_max: int) -> Iterator[ReadLine]:
        """Yield complete records from the current position, about ``bytes_max`` bytes of them.

        ``offset`` moves past each record as it is yielded; ``exhausted`` says that no record follows. The last record of a file counts as
        complete without a line end only when it is a whole JSON object, which no later byte could
        extend; otherwise the position stays at its start.
        """
        taken = 0
        self.exhausted = False
        while taken < bytes_max:
            start = self.offset
            data = self._stream.readline(RECORD_BYTES_MAX + 1)
            if not data:
                self.exhausted = True
                return
            if not data.endswith(b"\n"):
                if len(data) > RECORD_BYTES_MAX:
                    passed = self._pass_over(start, data)
                    if passed is None:
                        self.exhausted = True
                        return
                    taken += passed.length
                    yield passed
                    continue
                if not _whole_object(data):
                    self.exhausted = True
                    return
            self.offset = start + len(data)
            if self.offset > DECOMPRESSED_BYTES_MAX and self._found.compressed:
                self.exhausted = True
                return
            taken += len(data)
            body = data.strip(b"\r\n")
            if body:
                yield ReadLine(start, len(body), body)

    def _pass_over(self, start: int, first: bytes) -> ReadLine | None:
        hasher = hashlib.sha256(first)
        length = len(first)
        while True:
            piece = self._stream.readline(READ_BUFFER_BYTES)
            if not piece:
                return None
            length += len(piece)
            if piece.endswith(b"\n"):
                hasher.update(piece[:-1])
                break
            hasher.update(piece)
        self.offset = start + length
        return ReadLine(start, length - 1, None, hasher.hexdigest(), first[:4096])


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


def read_text(path: Path, *, bytes_max: int) -> str | None:
    """Read a small text file that may not exist; None when it cannot be read or is too large."""
    try:
        with path.open("rb") as source:
            data = source.read(bytes_max + 1)
    except OSError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= bytes_max else None
