"""Settles what only the whole store can tell: who owns a shared response, what was copied, what is stale.

Works off the ``unsettled`` sessions that writing noted, in the caller's transaction, and gives the same
rows for any order in which files were read. The rules are ``rules.usage``; this module fetches what
they need and stores what they say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import apsw

from waypost.machine.store.payloads import unseal
from waypost.machine.store.rows import fetch
from waypost.machine.store.words import FILE, PROJECT
from waypost.records.ids import session_key
from waypost.records.transcript import Origin, TurnFlag
from waypost.rules.usage import (
    Ancestor,
    Entry,
    Relative,
    Sighting,
    attribute,
    copied_entries,
    lineage,
)

_PROMPT: Final = int(TurnFlag.PROMPT)
_HUMAN: Final = int(Origin.HUMAN)


def pending(connection: apsw.Connection) -> bool:
    """Tell whether there is anything to settle."""
    return connection.execute("SELECT 1 FROM unsettled LIMIT 1").get is not None


def settle(connection: apsw.Connection) -> None:
    """Work off everything that is unsettled."""
    touched = [row[0] for row in connection.execute("SELECT session_id FROM unsettled")]
    if not touched:
        return
    _drop_stale_twins(connection)
    changed = _shared_keys(connection, touched)
    changed |= _families(connection, touched)
    for session in sorted(changed):
        copied_counters(connection, session)
    _join_projects(connection)
    connection.execute("DELETE FROM unsettled")


# -- responses that carry the provider's id --------------------------------------------------------


def _shared_keys(connection: apsw.Connection, touched: Sequence[int]) -> set[int]:
    """Attribute every response that occurs in more than one place and touches these sessions."""
    changed: set[int] = set()
    for session in touched:
        keys = [
            row[0]
            for row in connection.execute(
                "SELECT DISTINCT key FROM usage_entry a WHERE session_id = ? AND EXISTS ("
                "SELECT 1 FROM usage_entry b WHERE b.key = a.key AND b.id <> a.id)",
                (session,),
            )
        ]
        for key in keys:
            changed |= _attribute(connection, key)
    return changed


def _attribute(connection: apsw.Connection, key: int) -> set[int]:
    rows = fetch(
        connection,
        "SELECT u.id, u.session_id, u.at, fs.opened_at, s.ended_at, s.native_id, f.sealed, u.output,"
        " u.counted, u.owner, u.mirrored FROM usage_entry u JOIN session s ON s.id = u.session_id"
        " JOIN source_file f ON f.id = u.file_id"
        " LEFT JOIN file_session fs ON fs.session_id = u.session_id AND fs.file_id = u.file_id"
        " WHERE u.key = ?",
        (key,),
    )
    sightings = [
        Sighting._make((*row[:6], FILE.decode(row[6]).relative, row[7], bool(row[10]))) for row in rows
    ]
    found = attribute(sightings)
    changed: set[int] = set()
    for row in rows:
        counted = int(row[0] == found.owner.entry)
        if row[8] != counted or row[9] != found.owner.session:
            connection.execute(
                "UPDATE usage_entry SET counted = ?, owner = ? WHERE id = ?",
                (counted, found.owner.session, row[0]),
            )
            changed.add(row[1])
    if found.largest.entry != found.owner.entry:
        connection.execute(
            "UPDATE usage_entry SET (input, output, cache_read, cache_write_5m, cache_write_1h, reasoning,"
            " model) = (SELECT input, output, cache_read, cache_write_5m, cache_write_1h, reasoning, model"
            " FROM usage_entry WHERE id = ?1) WHERE id = ?2",
            (found.largest.entry, found.owner.entry),
        )
    connection.execute(
        "UPDATE usage_entry SET final = (SELECT max(final) FROM usage_entry WHERE key = ?1)"
        " WHERE id = ?2 AND final = 0",
        (key, found.owner.entry),
    )
    return changed


# -- responses known by lineage only ---------------------------------------------------------------


def _families(connection: apsw.Connection, touched: Sequence[int]) -> set[int]:
    """Find copied history in forks whose usage carries no response id."""
    members = _relatives(connection)
    if not members:
        return set()
    wanted = set(touched)
    changed: set[int] = set()
    for family in _group(members):
        if len(family) > 1 and any(member.session in wanted for member in family):
            changed |= _copies(connection, family)
    return changed


def _relatives(connection: apsw.Connection) -> list[Relative]:
    """Return every session that names an ancestor, and every ancestor named."""
    rows = list(
        connection.execute(
            "SELECT id, native_id, lineage, started_at, harness FROM session WHERE lineage <> ''"
        )
    )
    members = {
        row[0]: Relative(row[0], row[1], tuple(name for name in row[2].split("\n") if name), row[3])
        for row in rows
    }
    named = {(row[4], name) for row in rows for name in row[2].split("\n") if name}
    for harness, name in named:
        for row in connection.execute(
            "SELECT id, started_at FROM session WHERE key = ?", (session_key(harness, name),)
        ):
            members.setdefault(row[0], Relative(row[0], name, (), row[1]))
    return list(members.values())


def _group(members: Sequence[Relative]) -> list[list[Relative]]:
    """Split relatives into families: those connected by naming one another or a common ancestor."""
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for member in members:
        for parent in member.parents:
            leader[find(member.native_id)] = find(parent)
    families: dict[str, list[Relative]] = defaultdict(list)
    for member in members:
        families[find(member.native_id)].append(member)
    return list(families.values())


def _copies(connection: apsw.Connection, family: Sequence[Relative]) -> set[int]:
    entries: dict[int, list[tuple[int, Entry, int, int]]] = {}
    for member in family:
        entries[member.session] = [
            (row[0], Entry(row[1], row[2]), row[3], row[4])
            for row in connection.execute(
                "SELECT id, turn_key, total, counted, owner FROM usage_entry"
                " WHERE session_id = ? AND total IS NOT NULL ORDER BY file_id, last_offset",
                (member.session,),
            )
        ]
    changed: set[int] = set()
    for member in family:
        ancestors = [
            Ancestor(
                number,
                {entry.turn for _, entry, _, _ in entries[number] if entry.turn is not None},
                [entry for _, entry, _, _ in entries[number]],
            )
            for number in lineage(member, family)
        ]
        own = entries[member.session]
        copied = copied_entries([entry for _, entry, _, _ in own], ancestors)
        for (row, _, counted, owner), source in zip(own, copied, strict=True):
            if source is None or (counted == 0 and owner == source):
                continue
            connection.execute("UPDATE usage_entry SET counted = 0, owner = ? WHERE id = ?", (source, row))
            changed.add(member.session)
    return changed


# -- copied turns ----------------------------------------------------------------------------------


def copied_counters(connection: apsw.Connection, session: int) -> None:
    """Set how far each file of a session repeats turns that are counted elsewhere.

    A copy is always a prefix: a fork or resumed file first repeats the history it continues.
    """
    run = connection.execute
    for (file_id,) in list(run("SELECT file_id FROM file_session WHERE session_id = ?", (session,))):
        until = shared = -1
        source: int | None = None
        for counted, owner, last in fetch(
            connection,
            "SELECT counted, owner, last_offset FROM usage_entry WHERE session_id = ? AND file_id = ?"
            " AND mirrored = 0 ORDER BY first_offset",
            (session, file_id),
        ):
            if counted:
                break
            until = max(until, last)
            if owner != session:
                shared, source = max(shared, last), owner
        counts = fetch(
            connection,
            "SELECT count(*), coalesce(sum(flags & ?1 AND origin = ?2), 0),"
            " coalesce(sum(flags & ?1 AND origin <> ?2), 0) FROM turn WHERE session_id = ?3 AND file_id = ?4"
            " AND offset <= ?5",
            (_PROMPT, _HUMAN, session, file_id, until),
        )[0]
        if source is not None:
            run(
                "UPDATE session SET forked = (SELECT key FROM session WHERE id = ?) WHERE id = ?"
                " AND forked IS NULL",
                (source, session),
            )
        run(
            "UPDATE file_session SET copied_until = ?, shared_until = ?, copied_turns = ?,"
            " copied_prompts = ?, copied_automated = ? WHERE session_id = ? AND file_id = ?",
            (until, shared, *counts, session, file_id),
        )


# -- files whose content was replaced --------------------------------------------------------------


def _drop_stale_twins(connection: apsw.Connection) -> None:
    """Of a retired file keep only what its replacement does not say again."""
    run = connection.execute
    pairs = list(run("SELECT id, replaced_by FROM source_file WHERE replaced_by > 0"))
    for old, new in pairs:
        for (session,) in list(run("SELECT session_id FROM file_session WHERE file_id = ?", (old,))):
            _drop_twins(connection, session, old, new)
        run(
            "DELETE FROM usage_entry WHERE file_id = ?1 AND key IN"
            " (SELECT key FROM usage_entry WHERE file_id = ?2)",
            (old, new),
        )
        run("DELETE FROM malformed_record WHERE file_id = ?", (old,))
        run("DELETE FROM unknown_type WHERE file_id = ?", (old,))
        left = run("SELECT count(*) FROM turn WHERE file_id = ?", (old,)).get
        if not left:
            run("DELETE FROM usage_entry WHERE file_id = ?", (old,))
            run("DELETE FROM file_session WHERE file_id = ?", (old,))
            run("DELETE FROM source_file WHERE id = ?", (old,))
        else:
            run("UPDATE source_file SET replaced_by = -1 WHERE id = ?", (old,))


def _drop_twins(connection: apsw.Connection, session: int, old: int, new: int) -> None:
    run = connection.execute

    def records(file_id: int) -> Iterable[tuple[int, int, bytes]]:
        for row in run(
            "SELECT id, offset, payload FROM turn WHERE session_id = ? AND file_id = ? AND part = 0",
            (session, file_id),
        ):
            raw = unseal(row[2])[1]
            if raw is not None:
                yield row[0], row[1], raw

    present = {raw for _, _, raw in records(new)}
    offsets = [offset for _, offset, raw in records(old) if raw in present]
    for offset in offsets:
        place = (session, old, offset)
        run(
            "DELETE FROM turn_text WHERE rowid IN (SELECT id FROM turn WHERE session_id = ? AND file_id = ?"
            " AND offset = ?)",
            place,
        )
        run("DELETE FROM turn WHERE session_id = ? AND file_id = ? AND offset = ?", place)
        run(
            "UPDATE execution SET file_id = ?4 WHERE session_id = ?1 AND file_id = ?2 AND offset = ?3",
            (*place, new),
        )
    left = run(
        "SELECT count(*), coalesce(sum(flags & ?1 AND origin = ?2), 0),"
        " coalesce(sum(flags & ?1 AND origin <> ?2), 0) FROM turn WHERE session_id = ?3 AND file_id = ?4",
        (_PROMPT, _HUMAN, session, old),
    ).fetchall()[0]
    run(
        "UPDATE file_session SET turns = ?, prompts = ?, automated_prompts = ?, queued_prompts = 0"
        " WHERE session_id = ? AND file_id = ?",
        (*left, session, old),
    )


# -- projects --------------------------------------------------------------------------------------


def _join_projects(connection: apsw.Connection) -> None:
    """A folder known only by path joins the project whose remote another session stated for it."""
    run = connection.execute
    by_root: dict[str, int] = {}
    paths: dict[int, list[str]] = defaultdict(list)
    for number, sealed in run("SELECT id, sealed FROM project"):
        facts = PROJECT.decode(sealed)
        if facts.remote is not None:
            for root in facts.roots:
                by_root.setdefault(root, number)
        else:
            paths[number] = facts.roots
    for number, roots in paths.items():
        target = next((by_root[root] for root in roots if root in by_root), None)
        if target is not None:
            run("UPDATE session SET project_id = ? WHERE project_id = ?", (target, number))
            run("DELETE FROM project WHERE id = ?", (number,))
