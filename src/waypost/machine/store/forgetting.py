"""Deletes sessions for good, with everything derived from them.

In one transaction: turns and their index entries, usage, executions, counters, the session, projects
and names that nothing refers to any more. Responses that were counted at a deleted session move to the
next session that shows them. The session's key stays in ``forgotten``, so that transcripts still on
disk are not read again. The caller then compacts the file, which removes what the freed pages held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import apsw

from waypost.machine.store import settling
from waypost.machine.store.rows import fetch
from waypost.machine.store.words import PACK, FileFacts


class Forgotten(NamedTuple):
    """How many rows went."""

    sessions: int
    turns: int
    usage_entries: int
    executions: int
    projects: int
    files: int


def older_than(connection: apsw.Connection, moment: int) -> list[int]:
    """Return sessions whose last record is older than a time."""
    rows = fetch(connection, "SELECT id FROM session WHERE ended_at < ?", (moment,))
    return [row[0] for row in rows]


def of_projects(connection: apsw.Connection, projects: Sequence[int]) -> list[int]:
    """Return the sessions of projects."""
    marks = ",".join(str(int(one)) for one in projects)
    return [row[0] for row in fetch(connection, f"SELECT id FROM session WHERE project_id IN ({marks})")]


def count(connection: apsw.Connection, sessions: Sequence[int]) -> Forgotten:
    """Return what forgetting these sessions would delete."""
    marks = ",".join(str(int(one)) for one in sessions) or "-1"

    def number(table: str) -> int:
        return int(connection.execute(f"SELECT count(*) FROM {table} WHERE session_id IN ({marks})").get)

    return Forgotten(len(sessions), number("turn"), number("usage_entry"), number("execution"), 0, 0)


def forget(connection: apsw.Connection, sessions: Sequence[int], *, now_ms: int) -> Forgotten:
    """Delete sessions in the caller's transaction."""
    before = count(connection, sessions)
    run = connection.execute
    heirs: set[int] = set()
    for session in sessions:
        run("INSERT OR REPLACE INTO forgotten SELECT key, ? FROM session WHERE id = ?", (now_ms, session))
        run("DELETE FROM turn_text WHERE rowid IN (SELECT id FROM turn WHERE session_id = ?)", (session,))
        run("DELETE FROM turn WHERE session_id = ?", (session,))
        run("DELETE FROM execution WHERE session_id = ?", (session,))
        heirs |= _free_shared(connection, session)
        run("DELETE FROM usage_entry WHERE session_id = ?", (session,))
        run("DELETE FROM file_session WHERE session_id = ?", (session,))
        run("DELETE FROM unsettled WHERE session_id = ?", (session,))
        run("DELETE FROM session WHERE id = ?", (session,))
    projects = _empty_projects(connection)
    files = _clear_readers(connection)
    run(
        "DELETE FROM word WHERE id NOT IN (SELECT tool FROM turn WHERE tool IS NOT NULL"
        " UNION SELECT model FROM usage_entry WHERE model IS NOT NULL)"
    )
    settling.settle(connection)
    for heir in sorted(heirs.difference(sessions)):
        settling.copied_counters(connection, heir)
    # Merging all segments drops the words of deleted turns from the index for good.
    run("INSERT INTO turn_text(turn_text) VALUES ('optimize')")
    return before._replace(projects=projects, files=files)


def _free_shared(connection: apsw.Connection, session: int) -> set[int]:
    """Give back what others share with this session, to be attributed again; returns those others."""
    others = fetch(
        connection,
        "SELECT DISTINCT session_id FROM usage_entry WHERE owner = ?1 AND session_id <> ?1",
        (session,),
    )
    for (other,) in others:
        connection.execute("INSERT OR IGNORE INTO unsettled VALUES (?)", (other,))
    connection.execute(
        "UPDATE usage_entry SET counted = 1, owner = session_id WHERE owner = ?1 AND session_id <> ?1",
        (session,),
    )
    return {row[0] for row in others}


def _empty_projects(connection: apsw.Connection) -> int:
    connection.execute("DELETE FROM project WHERE id NOT IN (SELECT project_id FROM session)")
    return connection.changes()


def _clear_readers(connection: apsw.Connection) -> int:
    """Drop what a reader remembers of files that no session needs any more.

    Offset, identity and the hash of the path stay: they say that the file was read, and hold no words
    of it. The path and the reader's state may (a folder's name, a queued message), so they are emptied.
    An append to such a file then belongs to a forgotten session and is passed over.
    """
    connection.execute("DELETE FROM malformed_record WHERE file_id NOT IN (SELECT file_id FROM file_session)")
    connection.execute("DELETE FROM unknown_type WHERE file_id NOT IN (SELECT file_id FROM file_session)")
    connection.execute(
        "UPDATE source_file SET state = x'', sealed = ? WHERE id NOT IN (SELECT file_id FROM file_session)"
        " AND state <> x''",
        (PACK.encode(FileFacts("", "")),),
    )
    return connection.changes()
