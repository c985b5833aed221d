"""Keeping the store: forgetting, keys, the state of things."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from waypost.errors import MachineError, RefusedError, WaypostError
from waypost.flows.app import App
from waypost.flows.history import History
from waypost.machine import files, keys
from waypost.machine.store import database, forgetting, search, sessions, settling
from waypost.machine.store.forgetting import Forgotten

#: What goes with a session, in words for people.
DERIVED: Final = (
    "turns with their raw records",
    "search index entries",
    "usage and cost entries",
    "executions of agent commands",
    "agent events",
    "titles, folders and branches",
    "projects that have no session left",
)


@dataclass(frozen=True)
class ForgetPlan:
    """What a request to forget selects."""

    rows: tuple[int, ...]
    counts: Forgotten


def plan_forget(
    history: History, *, project: str | None, session: str | None, older_than: int | None
) -> ForgetPlan:
    """Select sessions. Errors: ``project_not_found``, ``session_not_found``."""
    store = history.store
    if session is not None:
        rows = [history.find_session(session).row]
    elif project is not None:
        found = history.find_project(project)
        rows = forgetting.of_projects(store, [found]) if store is not None else []
    else:
        rows = forgetting.older_than(store, older_than or 0) if store is not None else []
    if store is None:
        return ForgetPlan((), Forgotten(0, 0, 0, 0, 0, 0))
    return ForgetPlan(tuple(rows), forgetting.count(store, rows))


def forget(app: App, plan: ForgetPlan) -> Forgotten:
    """Delete what a plan selects and rewrite the store without it."""
    store = app.store()
    if store is None or not plan.rows:
        return plan.counts
    with database.guarded():
        with database.transaction(store):
            done = forgetting.forget(store, plan.rows, now_ms=app.world.now_ms())
        database.compact(store)
    return done


# -- keys ------------------------------------------------------------------------------------------


def key_place(app: App) -> dict[str, object]:
    """Return where the key is, without showing it."""
    where = keys.place(app.world.home)
    present = where.file.exists()
    mode = f"{stat.S_IMODE(where.file.stat().st_mode):04o}" if present else None
    return {
        "path": str(where.file),
        "holder": where.holder,
        "keyring_entry": where.entry,
        "exists": present,
        "mode": mode,
        "store": str(database.store_path(app.world.home)),
    }


def _current_key(app: App) -> bytes:
    key = keys.load(app.world.home)
    if key is None:
        raise RefusedError(
            "key_missing", f"no key at {keys.place(app.world.home).file}", hint="waypost ingest makes one"
        )
    return key


def rotate_key(app: App) -> None:
    """Re-encrypt the store under a new key."""
    _current_key(app)
    new = app.world.randomness(keys.KEY_BYTES)
    store = app.store()
    if store is None:
        keys.stage(app.world.home, new)
        keys.settle(app.world.home, new)
        return
    with files.exclusive_lock(app.world.home / "ingest.lock") as held:
        if not held:
            raise MachineError(
                "ingest_busy", "the store is being written; a key is rotated when nothing else uses it"
            )
        database.rekey(app.world.home, store, new)


def recovery_code(app: App) -> str:
    """Return the key as a code to write down, after checking that it opens the store."""
    key = _current_key(app)
    app.store()
    return keys.recovery_code(key)


def restore_key(app: App, code: str) -> None:
    """Put a key back from its recovery code; it must open the store.

    An existing key that opens the store is never replaced.
    """
    key = keys.from_recovery_code(code)
    home = app.world.home
    path = database.store_path(home)
    if not path.exists():
        raise RefusedError("key_missing", f"no store at {path} that a key could open")
    database.check_key(path, key)
    files.private_folder(home)
    keys.to_file(home, key)


def key_to_keyring(app: App) -> str:
    """Move the key into the OS keyring."""
    return keys.to_keyring(app.world.home, _current_key(app))


def key_to_file(app: App) -> None:
    """Move the key back into its file."""
    keys.to_file(app.world.home, _current_key(app))


# -- doctor ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """One thing looked at. ``state``: ok, note, warning or broken."""

    name: str
    state: str
    found: str
    hint: str = ""


def doctor(app: App, *, deep: bool) -> list[Check]:
    """Look at everything that a person may have to mend. Changes nothing."""
    checks = [*_home_checks(app), *_key_checks(app), *_store_checks(app, deep=deep)]
    checks.extend(_transcript_checks(app))
    checks.extend(_agent_checks(app))
    return checks


def _home_checks(app: App) -> list[Check]:
    home = app.world.home
    if not home.exists():
        return [Check("home", "note", f"{home} does not exist yet", "waypost quickstart makes it")]
    loose = [
        path
        for path in (home, *home.rglob("*"))
        if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    if loose:
        return [
            Check("home", "warning", f"{loose[0]} is open to others", f"chmod -R go= {home}"),
        ]
    return [Check("home", "ok", str(home))]


def _key_checks(app: App) -> list[Check]:
    where = keys.place(app.world.home)
    try:
        key = keys.load(app.world.home)
    except WaypostError as error:
        return [Check("key", "broken", error.message, error.hint)]
    if key is None:
        return [Check("key", "note", f"none at {where.file} yet")]
    held = f"in the OS keyring as {where.entry}" if where.entry else f"{where.file}, mode 0600"
    return [Check("key", "ok", held, "waypost key export gives a recovery code to write down")]


def _store_checks(app: App, *, deep: bool) -> list[Check]:
    path = database.store_path(app.world.home)
    try:
        store = app.store()
        if store is None:
            return [Check("store", "note", f"none at {path} yet")]
        with database.guarded():
            wrong = database.damage(store) if deep else None
            held = sessions.totals(store)
            behind = search.backlog(store)
            unsettled = settling.pending(store)
    except WaypostError as error:
        return [Check("store", "broken", error.message, error.hint)]
    if wrong is not None:
        return [Check("store", "broken", wrong, "keep the file and restore a backup")]
    size = sum(one.stat().st_size for one in path.parent.glob("waypost.db*"))
    checks = [
        Check(
            "store",
            "ok",
            f"{path}, {size / 1e6:.1f} MB, schema {database.schema_version(store)}, cipher"
            f" {database.CIPHER}: {held['sessions']:,} sessions, {held['turns']:,} turns",
        )
    ]
    if behind or unsettled:
        checks.append(
            Check("index", "warning", f"{behind:,} turns are not searchable yet", "waypost ingest goes on")
        )
    return checks


def _transcript_checks(app: App) -> list[Check]:
    from waypost.flows.ingest import default_roots, scan

    checks = []
    for root in default_roots(app.world):
        name = f"transcripts of {root.harness}"
        if not root.path.exists():
            checks.append(Check(name, "note", f"{root.path} does not exist"))
            continue
        found = scan([root])
        size = sum(file.size for _, file in found)
        checks.append(Check(name, "ok", f"{root.path}: {len(found):,} files, {size / 1e6:.1f} MB"))
    return checks


def _agent_checks(app: App) -> list[Check]:
    checks = []
    folders = [Path(one) for one in app.world.environment.get("PATH", "").split(":") if one]
    for program in ("claude", "codex"):
        place = next((folder / program for folder in folders if (folder / program).is_file()), None)
        found = str(place) if place is not None else "not on PATH"
        checks.append(Check(f"agent {program}", "ok" if place is not None else "note", found))
    return checks


def worst(checks: Sequence[Check]) -> str:
    """Return the worst state among checks."""
    order = ("ok", "note", "warning", "broken")
    return max((check.state for check in checks), key=order.index, default="ok")
