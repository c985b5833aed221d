"""Hands on the file system: private files, locks, small text files.

A private file is created 0600 by exclusive creation in a 0700 folder, written whole to a temporary name
in the same directory, synchronised, renamed, and the directory synchronised: a reader sees the old or
the new content.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import importlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from waypost.errors import MachineError

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
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
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


def sweep_temporaries(folder: Path, *, older_than_s: float, now_s: float) -> None:
    """Remove what ``write_private`` left when the process died in the middle: it may hold a key."""
    for path in folder.glob(f".*.{'[0-9a-f]' * 16}"):
        with contextlib.suppress(OSError):
            if now_s - path.lstat().st_mtime > older_than_s:
                path.unlink()


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


def package_file(package: str, name: str) -> bytes | None:
    """Return a data file shipped inside a package; None when there is none.

    Asks the package's own loader, as ``importlib.resources`` does, for a tenth of its start-up time.
    """
    module = importlib.import_module(package)
    folder = next(iter(module.__path__))
    loader = module.__spec__.loader if module.__spec__ is not None else None
    get_data = getattr(loader, "get_data", None)
    if get_data is None:
        return None
    try:
        data: bytes = get_data(f"{folder}/{name}")
    except OSError:
        return None
    return data


def read_text(path: Path, *, bytes_max: int) -> str | None:
    """Read a small text file that may not exist; None when it cannot be read or is too large."""
    try:
        with path.open("rb") as source:
            data = source.read(bytes_max + 1)
    except OSError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= bytes_max else None
