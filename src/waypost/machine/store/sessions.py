"""Reads sessions: lists, counters, totals by model, coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import apsw

from waypost.machine.store.rows import fetch
from waypost.machine.store.words import FILE, PROJECT, SESSION, ProjectFacts, SessionFacts, Words
from waypost.records.transcript import Tokens

QUARTER_MS: Final = 900_000
_SUMS: Final = (
    "sum(u.input), sum(u.output), sum(u.cache_read), sum(u.cache_write_5m), sum(u.cache_write_1h),"
    " sum(u.reasoning), sum(max(u.web_stated, u.web_observed)), sum(1 - u.final), count(*)"
)
_SESSION: Final = (
    "SELECT s.id, s.key, s.harness, s.native_id, s.parent, s.forked, s.started_at, s.ended_at, s.reasons,"
    " s.own_run, s.sealed, p.key, p.sealed FROM session s JOIN project p ON p.id = s.project_id"
)


class StoredSession(NamedTuple):
    """A session row with its sealed facts."""

    row: int
    key: str
    harness: str
    native_id: str
    parent: str | None
    forked: str | None
    started_at: int | None
    ended_at: int | None
    reasons: tuple[str, ...]
    own_run: bool
    facts: SessionFacts
    project_key: str
    project: ProjectFacts


class Counters(NamedTuple):
    """What a session did itself; copied history left out."""

    turns: int = 0
    prompts: int = 0
    automated_prompts: int = 0
    queued_prompts: int = 0
    copied_turns: int = 0
    commands: int = 0
    failed_commands: int = 0
    denied_commands: int = 0
    malformed_records: int = 0


class UsageSum(NamedTuple):
    """Tokens of one model in one quarter of an hour, for a group; ``group`` is a row or name id."""

    group: int
    model: str | None
    quarter: int | None
    tokens: Tokens
    web_searches: int
    snapshots: int
    entries: int


def _session(row: Sequence[object]) -> StoredSession:
    (number, key, harness, native, parent, forked, started, ended, reasons, own, sealed, project, facts) = row
    assert isinstance(number, int) and isinstance(key, str) and isinstance(harness, str)
    assert isinstance(native, str) and isinstance(reasons, str) and isinstance(project, str)
    assert isinstance(sealed, bytes) and isinstance(facts, bytes)
    return StoredSession(
        number,
        key,
        harness,
        native,
        parent if isinstance(parent, str) else None,
        forked if isinstance(forked, str) else None,
        started if isinstance(started, int) else None,
        ended if isinstance(ended, int) else None,
        tuple(reasons.split()),
        bool(own),
        SESSION.decode(sealed),
        project,
        PROJECT.decode(facts),
    )


def by_key(connection: apsw.Connection, key: str) -> StoredSession | None:
    """Return one session."""
    row = connection.execute(f"{_SESSION} WHERE s.key = ?", (key,)).fetchone()
    return _session(row) if row is not None else None


def by_row(connection: apsw.Connection, row: int) -> StoredSession:
    """Return the session of a row that another row names."""
    return _session(fetch(connection, f"{_SESSION} WHERE s.id = ?", (row,))[0])


def titles(connection: apsw.Connection) -> list[tuple[int, str, str | None]]:
    """Return row, key and title of every session."""
    return [
        (row[0], row[1], SESSION.decode(row[2]).title)
        for row in fetch(connection, "SELECT id, key, sealed FROM session")
    ]


def by_prefix(connection: apsw.Connection, start: str) -> list[StoredSession]:
    """Return up to two sessions whose key starts so; one is an answer, two an ambiguity."""
    rows = connection.execute(
        f"{_SESSION} WHERE s.key >= ? AND s.key < ? LIMIT 2", (start, start + "\x7f")
    ).fetchall()
    return [_session(row) for row in rows]


def by_native(connection: apsw.Connection, native: str) -> list[StoredSession]:
    """Return sessions that a harness itself calls so."""
    rows = connection.execute(f"{_SESSION} WHERE s.native_id = ? LIMIT 2", (native,)).fetchall()
    return [_session(row) for row in rows]


def page(
    connection: apsw.Connection,
    *,
    projects: Sequence[int] | None,
    harness: str | None,
    since: int | None,
    until: int | None,
    own_runs: int,
    after: tuple[int, str] | None,
    limit: int,
) -> list[StoredSession]:
    """Return sessions, newest first. ``after``: start time and key of the last one already seen.

    The order uses the start of a session, which ingestion does not change, so a cursor stays valid
    while sessions grow.
    """
    where = ["s.own_run = ?"]
    values: list[int | str] = [own_runs]
    if projects is not None:
        where.append(f"s.project_id IN ({','.join('?' * len(projects))})")
        values.extend(projects)
    if harness is not None:
        where.append("s.harness = ?")
        values.append(harness)
    if since is not None:
        where.append("s.ended_at >= ?")
        values.append(since)
    if until is not None:
        where.append("s.started_at < ?")
        values.append(until)
    if after is not None:
        where.append("(coalesce(s.started_at, 0), s.key) < (?, ?)")
        values.extend(after)
    rows = connection.execute(
        f"{_SESSION} WHERE {' AND '.join(where)} ORDER BY coalesce(s.started_at, 0) DESC, s.key DESC LIMIT ?",
        (*values, limit),
    )
    return [_session(row) for row in rows]


def project_rows(connection: apsw.Connection) -> list[tuple[int, str, ProjectFacts]]:
    """Return every project: row, key, facts."""
    return [
        (row[0], row[1], PROJECT.decode(row[2]))
        for row in connection.execute("SELECT id, key, sealed FROM project ORDER BY id")
    ]


def _marks(rows: Sequence[int]) -> str:
    return ",".join(str(int(row)) for row in rows)


def counters(connection: apsw.Connection, rows: Sequence[int]) -> dict[int, Counters]:
    """Return the counters of sessions."""
    marks = _marks(rows)
    found = dict.fromkeys(rows, Counters())
    for row in connection.execute(
        "SELECT session_id, sum(turns), sum(prompts - copied_prompts),"
        " sum(automated_prompts - copied_automated), sum(queued_prompts), sum(copied_turns)"
        f" FROM file_session WHERE session_id IN ({marks}) GROUP BY session_id"
    ):
        found[row[0]] = Counters(*row[1:])
    for row in connection.execute(
        "SELECT e.session_id, count(*), sum(e.outcome = 2), sum(e.denied) FROM execution e"
        " LEFT JOIN file_session f ON f.session_id = e.session_id AND f.file_id = e.file_id"
        f" WHERE e.session_id IN ({marks}) AND (e.offset < 0 OR e.offset > coalesce(f.shared_until, -1))"
        " GROUP BY e.session_id"
    ):
        found[row[0]] = found[row[0]]._replace(
            commands=row[1], failed_commands=row[2], denied_commands=row[3]
        )
    for row in connection.execute(
        "SELECT f.session_id, count(*) FROM file_session f JOIN malformed_record m ON m.file_id = f.file_id"
        f" WHERE f.session_id IN ({marks}) GROUP BY f.session_id"
    ):
        found[row[0]] = found[row[0]]._replace(malformed_records=row[1])
    return found


class MalformedPlace(NamedTuple):
    """Where a record could not be read, and why."""

    relative: str
    offset: int
    length: int
    reason: str


def malformed_of(connection: apsw.Connection, row: int, *, limit: int) -> list[MalformedPlace]:
    """Return the unreadable records in a session's files, in order."""
    return [
        MalformedPlace(FILE.decode(sealed).relative, offset, length, reason)
        for sealed, offset, length, reason in fetch(
            connection,
            "SELECT s.sealed, m.offset, m.length, m.reason FROM malformed_record m"
            " JOIN file_session f ON f.file_id = m.file_id JOIN source_file s ON s.id = m.file_id"
            " WHERE f.session_id = ? ORDER BY m.file_id, m.offset LIMIT ?",
            (row, limit),
        )
    ]


def own_usage(connection: apsw.Connection, words: Words, rows: Sequence[int]) -> list[UsageSum]:
    """Return what sessions paid for themselves."""
    cursor = connection.execute(
        f"SELECT u.session_id, u.model, u.at / {QUARTER_MS}, {_SUMS} FROM usage_entry u"
        f" WHERE u.counted = 1 AND u.session_id IN ({_marks(rows)}) GROUP BY 1, 2, 3"
    )
    return [_sum(row, words) for row in cursor]


def shared_usage(connection: apsw.Connection, words: Words, rows: Sequence[int]) -> list[UsageSum]:
    """Return what sessions show but another session paid for, each response once."""
    cursor = connection.execute(
        f"SELECT u.session_id, u.model, u.at / {QUARTER_MS}, {_SUMS} FROM ("
        " SELECT session_id, model, at, max(input) AS input, max(output) AS output,"
        " max(cache_read) AS cache_read, max(cache_write_5m) AS cache_write_5m,"
        " max(cache_write_1h) AS cache_write_1h, max(reasoning) AS reasoning,"
        " max(web_stated) AS web_stated, max(web_observed) AS web_observed, max(final) AS final"
        f" FROM usage_entry WHERE session_id IN ({_marks(rows)}) AND owner <> session_id"
        " GROUP BY session_id, key) u GROUP BY 1, 2, 3"
    )
    return [_sum(row, words) for row in cursor]


def incomplete(connection: apsw.Connection) -> list[tuple[int, bool]]:
    """Return sessions that may be incomplete, and whether only their compactions or searches are why."""
    malformed = {
        row[0]
        for row in fetch(
            connection,
            "SELECT DISTINCT f.session_id FROM file_session f"
            " JOIN malformed_record m ON m.file_id = f.file_id",
        )
    }
    rows = [
        (row[0], row[1])
        for row in fetch(connection, "SELECT id, reasons FROM session")
        if row[1] or row[0] in malformed
    ]
    return [
        (row, row not in malformed and set(reasons.split()) <= {"compaction", "web_search"})
        for row, reasons in rows
    ]


def by_rows(connection: apsw.Connection, rows: Sequence[int]) -> list[StoredSession]:
    """Return sessions by row."""
    return [_session(row) for row in fetch(connection, f"{_SESSION} WHERE s.id IN ({_marks(rows)})")]


def all_usage(
    connection: apsw.Connection,
    words: Words,
    *,
    by: str,
    since: int | None,
    until: int | None,
    bounded: Sequence[int],
) -> list[UsageSum]:
    """Return every counted response, grouped by ``session`` or ``project`` row (else group 0).

    ``bounded``: sessions of which something is invisible; a group they are in is a lower bound.
    """
    group = {"session": "u.owner", "project": "s.project_id"}.get(by, "0")
    where = ["u.counted = 1"]
    values: list[int] = []
    if since is not None:
        where.append("u.at >= ?")
        values.append(since)
    if until is not None:
        where.append("u.at < ?")
        values.append(until)
    sums = _SUMS.replace("sum(1 - u.final)", f"sum(max(1 - u.final, s.id IN ({_marks(bounded)})))")
    cursor = connection.execute(
        f"SELECT {group}, u.model, u.at / {QUARTER_MS}, {sums}, s.harness FROM usage_entry u"
        f" JOIN session s ON s.id = u.owner WHERE {' AND '.join(where)} GROUP BY 1, 2, 3, s.harness",
        values,
    )
    found = []
    for row in cursor:
        one = _sum(row, words)
        if by == "harness":
            one = one._replace(group=0 if row[12] == "claude_code" else 1)
        found.append(one)
    return found


def _sum(row: Sequence[object], words: Words) -> UsageSum:
    numbers = [value if isinstance(value, int) else 0 for value in row[3:12]]
    group, model, quarter = row[0], row[1], row[2]
    return UsageSum(
        group if isinstance(group, int) else 0,
        words.text(model) if isinstance(model, int) else None,
        quarter if isinstance(quarter, int) else None,
        Tokens(
            input=numbers[0],
            output=numbers[1],
            cache_read=numbers[2],
            cache_write_5m=numbers[3],
            cache_write_1h=numbers[4],
            reasoning=numbers[5],
        ),
        numbers[6],
        numbers[7],
        numbers[8],
    )


def totals(connection: apsw.Connection) -> dict[str, int]:
    """Return how much the store holds, for people who ask what is in it."""
    names = {
        "sessions": "session",
        "turns": "turn",
        "responses": "usage_entry",
        "executions": "execution",
        "files": "source_file",
        "projects": "project",
    }
    return {
        name: int(connection.execute(f"SELECT count(*) FROM {table}").get) for name, table in names.items()
    }
