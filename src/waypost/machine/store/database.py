"""The encrypted store: one SQLite file, every page encrypted and authenticated.

Cipher AEGIS-256 of SQLite3 Multiple Ciphers with a raw 32-byte key; write-ahead log; temporary
tables in memory only. A plain SQLite would ignore the key without a word and write clear text, so the
cipher is asked for by name and the file's first bytes are checked. Opening creates nothing unless
``create`` is given.

Errors: ``key_missing``, ``key_wrong``, ``store_newer``, ``store_damaged``, ``store_busy``,
``store_full``, ``cipher_missing``, ``store_unencrypted``.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

import apsw

from waypost.errors import MachineError, RefusedError, SchemaError, WaypostError
from waypost.machine import files, keys

#: An open store, for those who pass it on without speaking SQL.
Store: TypeAlias = apsw.Connection

CIPHER: Final = "aegis"
BUSY_MS: Final = 10_000
PAGE_BYTES: Final = 16 * 1024
STALE_TEMPORARY_S: Final = 3600.0
CACHE_KIB: Final = 16 * 1024
WAL_PAGES: Final = 4000
SCHEMA: Final = 1
_CLEAR_HEADER: Final = b"SQLite format 3\x00"


def store_path(home: Path) -> Path:
    """Return where the store of a home lies."""
    return home / "store" / "waypost.db"


def translated(error: apsw.Error) -> WaypostError:
    """Return the failure of ours that an error of the engine means."""
    if isinstance(error, apsw.NotADBError):
        return RefusedError(
            "key_wrong",
            "the key does not open this store; nothing was changed",
            hint="waypost key shows where the key is read from; waypost key restore takes a recovery code",
        )
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return MachineError(
            "store_busy",
            f"another process kept the store locked for {BUSY_MS // 1000} s",
            hint="wait for it to end, or stop it",
        )
    if isinstance(error, apsw.FullError):
        return MachineError(
            "store_full", "no space left for the store; the last step was undone", hint="free some space"
        )
    return MachineError(
        "store_damaged",
        f"the store failed its check: {error}",
        hint="keep the file, restore a backup, or move the store away and ingest again",
    )


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Turn the engine's errors into ours; mistakes in our own statements stay what they are."""
    try:
        yield
    except (
        apsw.NotADBError,
        apsw.BusyError,
        apsw.LockedError,
        apsw.FullError,
        apsw.CorruptError,
        apsw.IOError,
    ) as error:
        raise translated(error) from error


def _key_pragmas(connection: apsw.Connection, key: bytes) -> None:
    answer = connection.execute(f"PRAGMA cipher='{CIPHER}'").get
    if answer != CIPHER:
        raise MachineError(
            "cipher_missing",
            f"expected an SQLite with the {CIPHER} cipher, found one that answers {answer!r}",
            hint="reinstall the package apsw-sqlite3mc and remove plain apsw",
        )
    connection.execute(f'PRAGMA key="raw:{key.hex()}"')


def _open_with(path: Path, key: bytes, *, new: bool) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
    connection = apsw.Connection(str(path), flags=flags)
    try:
        connection.set_busy_timeout(BUSY_MS)
        _key_pragmas(connection, key)
        if new:
            connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        connection.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018 - reads page 1
        connection.execute(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY;"
            f"PRAGMA cache_size=-{CACHE_KIB}; PRAGMA wal_autocheckpoint={WAL_PAGES};"
            "PRAGMA secure_delete=ON"
        )
    except BaseException:
        connection.close()
        raise
    return connection


def open_store(home: Path, *, create: bool) -> apsw.Connection | None:
    """Open the store of a home; None when there is none and ``create`` is false."""
    path = store_path(home)
    exists = path.exists() and path.stat().st_size > 0
    if not exists and not create:
        return None
    files.private_folder(home)
    files.private_folder(path.parent)
    key = keys.load(home)
    files.sweep_temporaries(home, older_than_s=STALE_TEMPORARY_S, now_s=time.time())
    if key is None:
        if exists:
            raise RefusedError(
                "key_missing",
                f"a store exists at {path} but its key {keys.place(home).file} does not",
                hint="put the key file back, or: waypost key restore (takes a recovery code)",
            )
        key = keys.create(home)
    if exists:
        _check_header(path)
    else:
        files.create_private(path)
    with guarded():
        connection = _open_either(home, path, key, new=not exists)
        try:
            _migrate(connection)
        except BaseException:
            connection.close()
            raise
    _check_header(path)
    return connection


def _open_either(home: Path, path: Path, key: bytes, *, new: bool) -> apsw.Connection:
    """Open with the current key, or with the one an unfinished rotation staged."""
    staged = keys.load_next(home)
    try:
        connection = _open_with(path, key, new=new)
    except apsw.NotADBError:
        if staged is None:
            raise
        connection = _open_with(path, staged, new=False)
        keys.settle(home, staged)
        return connection
    if staged is not None:
        keys.discard_next(home)
    return connection


def check_key(path: Path, key: bytes) -> None:
    """Check that a key opens the store at a path, read only. Errors: ``key_wrong``."""
    with guarded():
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            _key_pragmas(connection, key)
            connection.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018 - reads page 1
        finally:
            connection.close()


def _check_header(path: Path) -> None:
    with path.open("rb") as source:
        if source.read(len(_CLEAR_HEADER)) == _CLEAR_HEADER:
            raise RefusedError(
                "store_unencrypted",
                f"the file {path} is a plain SQLite database, not a store of ours",
                hint="move it away; a new store is made at the next ingest",
            )


def migrations() -> list[tuple[int, str]]:
    """Return the numbered migrations shipped with the program, in order."""
    import importlib.resources

    folder = importlib.resources.files("waypost.machine.store") / "migrations"
    found = [
        (int(entry.name[:4]), entry.read_text("utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql") and entry.name[:4].isdigit()
    ]
    return sorted(found)


def schema_version(connection: apsw.Connection) -> int:
    """Return the store's schema number."""
    return int(connection.execute("PRAGMA user_version").get)


def _migrate(connection: apsw.Connection) -> None:
    current = schema_version(connection)
    if current == SCHEMA:
        return
    if current > SCHEMA:
        raise SchemaError(
            "store_newer",
            f"the store has schema {current}; this program knows up to {SCHEMA}",
            hint="upgrade waypost; nothing was changed",
        )
    for number, text in migrations():
        if current < number <= SCHEMA:
            with transaction(connection):
                if schema_version(connection) < number:
                    connection.execute(text)
                    connection.execute(f"PRAGMA user_version={number}")


@contextlib.contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Run statements as one write transaction; an exception undoes them all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        files.crash_point("store.before_commit")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    files.crash_point("store.after_commit")


def rekey(home: Path, connection: apsw.Connection, new_key: bytes) -> None:
    """Re-encrypt the whole store under a new key; a crash leaves old key or new, never neither."""
    keys.stage(home, new_key)
    files.crash_point("rekey.staged")
    with guarded():
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE")
        connection.execute(f'PRAGMA rekey="raw:{new_key.hex()}"')
        files.crash_point("rekey.rewritten")
        connection.execute("PRAGMA journal_mode=WAL")
    keys.settle(home, new_key)


def compact(connection: apsw.Connection) -> None:
    """Rewrite the store so that deleted content is gone from the file and from the log."""
    with guarded():
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def damage(connection: apsw.Connection) -> str | None:
    """Check the whole store; None when it is sound, else what is wrong."""
    try:
        answer = connection.execute("PRAGMA quick_check(1)").get
    except apsw.Error as error:
        return str(error)
    return None if answer == "ok" else str(answer)
