"""The store's key: 32 random bytes in a 0600 file beside the store's folder, or in the OS keyring.

The file holds 64 hexadecimal digits. A key file that others may read is refused, not repaired: it may
already be known. The keyring is touched only where a person chose it (``waypost key keyring``); then
the file holds the word ``keyring`` and the entry's name. A rotation writes the next key beside the
current one first, so that a crash between re-encrypting the store and renaming the file leaves both.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from waypost.errors import MachineError, RefusedError, UsageError
from waypost.machine import files
from waypost.records.ids import base32, unbase32

KEY_BYTES: Final = 32
KEYRING_SERVICE: Final = "waypost"
_RECOVERY_PREFIX: Final = "waypost-key-1-"


class KeyPlace(NamedTuple):
    """Where the key is: the key file, the next key during a rotation, and who holds the bytes."""

    file: Path
    next_file: Path
    holder: str  # "file" or "keyring"
    entry: str | None = None


def place(home: Path) -> KeyPlace:
    """Return where the key of the store in ``home`` is kept."""
    file = home / "waypost.key"
    entry = None
    text = files.read_text(file, bytes_max=4096)
    if text is not None and text.startswith("keyring "):
        entry = text.split()[1]
    return KeyPlace(file, home / "waypost.key.next", "keyring" if entry else "file", entry)


def create(home: Path) -> bytes:
    """Make a new key file. Errors: ``key_exists`` when there is one."""
    where = place(home)
    if where.file.exists():
        raise RefusedError("key_exists", f"a key already exists at {where.file}")
    key = os.urandom(KEY_BYTES)
    files.write_private(where.file, key.hex().encode() + b"\n")
    return key


def load(home: Path) -> bytes | None:
    """Return the current key, or None when none was ever made here.

    Errors: ``key_permissions`` for a file others may read, ``key_wrong`` for damaged content,
    ``keyring_unavailable`` when the keyring holds it and does not answer.
    """
    where = place(home)
    if where.holder == "keyring" and where.entry is not None:
        return _from_keyring(where.entry)
    return _from_file(where.file)


def load_next(home: Path) -> bytes | None:
    """Return the key of an unfinished rotation, if there is one."""
    return _from_file(place(home).next_file)


def _from_file(path: Path) -> bytes | None:
    try:
        details = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(details.st_mode):
        raise RefusedError(
            "key_permissions",
            f"expected a regular file at {path}, found something else",
            hint="put the key itself there, not a link to it",
        )
    if stat.S_IMODE(details.st_mode) & 0o077:
        raise RefusedError(
            "key_permissions",
            f"the key file {path} has mode {stat.S_IMODE(details.st_mode):04o}; expected 0600",
            hint=f"check who may have read it, then: chmod 600 {path}",
        )
    if details.st_uid != os.getuid():
        raise RefusedError(
            "key_permissions",
            f"the key file {path} belongs to another user",
            hint="run waypost as that user, or set WAYPOST_HOME to a folder you own",
        )
    text = path.read_text("ascii", "replace").strip()
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise RefusedError(
            "key_wrong",
            f"expected 64 hexadecimal digits in {path}, found {len(text)} characters",
            hint="restore the file from a backup, or: waypost key restore",
        )
    return key


def stage(home: Path, key: bytes) -> None:
    """Write the next key of a rotation durably, before the store is re-encrypted."""
    files.write_private(place(home).next_file, key.hex().encode() + b"\n")


def settle(home: Path, key: bytes) -> None:
    """Make a key the current one and drop the staged copy."""
    where = place(home)
    if where.holder == "keyring" and where.entry is not None:
        _keyring().set_password(KEYRING_SERVICE, where.entry, key.hex())
    else:
        files.write_private(where.file, key.hex().encode() + b"\n")
    where.next_file.unlink(missing_ok=True)
    files.sync_folder(home)


def discard_next(home: Path) -> None:
    """Drop the staged key of a rotation that never reached the store."""
    place(home).next_file.unlink(missing_ok=True)


def to_keyring(home: Path, key: bytes) -> str:
    """Move the key into the OS keyring and leave only the entry's name in the file."""
    entry = f"store-{hashlib.sha256(str(home).encode()).hexdigest()[:16]}"
    ring = _keyring()
    try:
        ring.set_password(KEYRING_SERVICE, entry, key.hex())
        stored = ring.get_password(KEYRING_SERVICE, entry)
    except Exception as error:
        raise _unavailable(str(error)) from error
    if stored != key.hex():
        raise _unavailable("the keyring did not give back what was stored")
    files.write_private(place(home).file, f"keyring {entry}\n".encode())
    return entry


def to_file(home: Path, key: bytes) -> None:
    """Move the key back into the key file and delete the keyring's entry."""
    where = place(home)
    files.write_private(where.file, key.hex().encode() + b"\n")
    if where.entry is not None:
        try:
            _keyring().delete_password(KEYRING_SERVICE, where.entry)
        except Exception as error:
            raise _unavailable(f"the key is in its file again, but the old entry stayed: {error}") from error


def _from_keyring(entry: str) -> bytes:
    try:
        text = _keyring().get_password(KEYRING_SERVICE, entry)
    except Exception as error:
        raise _unavailable(str(error)) from error
    if not isinstance(text, str):
        raise _unavailable(f"it holds no entry {entry}")
    return bytes.fromhex(text)


class _Keyring:
    """The three calls that we use of the keyring package."""

    def get_password(self, service: str, entry: str) -> str | None:
        import keyring

        value: str | None = keyring.get_password(service, entry)
        return value

    def set_password(self, service: str, entry: str, secret: str) -> None:
        import keyring

        keyring.set_password(service, entry, secret)

    def delete_password(self, service: str, entry: str) -> None:
        import keyring

        keyring.delete_password(service, entry)


def _keyring() -> _Keyring:
    try:
        import keyring  # noqa: F401
    except ImportError:
        raise _unavailable("the keyring package is not installed") from None
    return _Keyring()


def _unavailable(reason: str) -> MachineError:
    return MachineError(
        "keyring_unavailable",
        f"the OS keyring cannot be used: {reason}",
        hint="install waypost[keyring] on a desktop session, or keep the key file",
    )


def recovery_code(key: bytes) -> str:
    """Return a key as a code to write down: base 32 in groups of five with a checksum."""
    body = base32(key + hashlib.sha256(key).digest()[:3])
    groups = [body[start : start + 5] for start in range(0, len(body), 5)]
    return _RECOVERY_PREFIX + "-".join(groups)


def from_recovery_code(text: str) -> bytes:
    """Read a recovery code. Errors: ``bad_recovery_code`` naming what is wrong."""
    compact = "".join(text.split()).lower()
    if not compact.startswith(_RECOVERY_PREFIX):
        raise UsageError("bad_recovery_code", f"a recovery code starts with {_RECOVERY_PREFIX}")
    body = compact[len(_RECOVERY_PREFIX) :].replace("-", "")
    body = body.replace("o", "0").replace("i", "1").replace("l", "1")
    try:
        data = unbase32(body, byte_count=KEY_BYTES + 3)
    except ValueError as error:
        raise UsageError("bad_recovery_code", f"the recovery code cannot be read: {error}") from None
    key, check = data[:KEY_BYTES], data[KEY_BYTES:]
    if hashlib.sha256(key).digest()[:3] != check:
        raise UsageError(
            "bad_recovery_code",
            "the recovery code's checksum does not fit",
            hint="compare it again with what was written down",
        )
    return key
