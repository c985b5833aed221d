"""Reads turns: a page of a session, single turns by number, raw records, executions, events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import apsw

from waypost.machine.store.rows import fetch
from waypost.machine.store.sessions import StoredSession, by_row
from waypost.machine.store.words import FILE, Words
from waypost.records.transcript import TurnFlag

_TURN: Final = (
    "SELECT t.id, t.session_id, t.file_id, t.offset, t.part, t.length, t.role, t.origin, t.at, t.flags,"
    " t.tool, t.call, t.exit_code, t.parser, t.payload FROM turn t"
)


class StoredTurn(NamedTuple):
    """A turn row with its payload opened: the reader's notes, and the raw record of its record."""

    number: int
    session_row: int
    file_id: int
    offset: int
    part: int
    length: int
    role: int
    origin: int
    at: int | None
    flags: int
    tool: str | None
    call: int | None
    exit_code: int | None
    parser: int
    extras: bytes
    raw: bytes | None


class StoredFile(NamedTuple):
    """A file of a session, in reading order."""

    id: int
    tag: bytes
    root: str
    relative: str
    harness: str
    stale: bool
    copied_until: int


class PlacedUsage(NamedTuple):
    """A usage entry and where its response stands in the file."""

    file_id: int
    offset: int
    counted: bool
    model: str | None
    at: int | None
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    reasoning: int
    web_searches: int
    final: bool


class StoredExecution(NamedTuple):
    """A command that an agent ran."""

    id: int
    call_id: str
    call: int
    file_id: int
    offset: int
    part: int
    started_at: int | None
    ended_at: int | None
    lifecycle: int
    outcome: int
    source: int
    exit_code: int | None
    duration_ms: int | None
    denied: bool


def files_of(connection: apsw.Connection, session_row: int) -> list[StoredFile]:
    """Return a session's files: the one opened first, then sub-agents' and resumed ones."""
    rows = connection.execute(
        "SELECT f.id, f.tag, f.sealed, f.harness, f.replaced_by, fs.copied_until, fs.opened_at"
        " FROM file_session fs JOIN source_file f ON f.id = fs.file_id WHERE fs.session_id = ?",
        (session_row,),
    )
    found = []
    for row in rows:
        facts = FILE.decode(row[2])
        opened = row[6] if row[6] is not None else 2**62
        file = StoredFile(row[0], row[1], facts.root, facts.relative, row[3], row[4] is not None, row[5])
        found.append((opened, facts.relative, row[0], file))
    return [one[3] for one in sorted(found)]


def page(
    connection: apsw.Connection,
    words: Words,
    session_row: int,
    file_id: int,
    *,
    after: tuple[int, int],
    limit: int,
) -> list[StoredTurn]:
    """Return turns of one file of a session, after (offset, part)."""
    rows = connection.execute(
        f"{_TURN} WHERE t.session_id = ? AND t.file_id = ? AND (t.offset, t.part) > (?, ?)"
        " ORDER BY t.offset, t.part LIMIT ?",
        (session_row, file_id, *after, limit),
    ).fetchall()
    return _open(connection, words, rows)


def before(connection: apsw.Connection, session_row: int, file_id: int, place: tuple[int, int]) -> int:
    """Return how many turns of a file come before (offset, part)."""
    found = connection.execute(
        "SELECT count(*) FROM turn WHERE session_id = ? AND file_id = ? AND (offset, part) < (?, ?)",
        (session_row, file_id, *place),
    ).get
    return int(found)


def by_numbers(connection: apsw.Connection, words: Words, numbers: Sequence[int]) -> dict[int, StoredTurn]:
    """Return turns by number."""
    marks = ",".join(str(int(number)) for number in numbers)
    rows = connection.execute(f"{_TURN} WHERE t.id IN ({marks})").fetchall()
    return {turn.number: turn for turn in _open(connection, words, rows)}


def after_number(
    connection: apsw.Connection, words: Words, number: int, *, limit: int
) -> list[tuple[StoredTurn, str]]:
    """Return turns in order of number with the harness of each: what the index has not seen."""
    rows = connection.execute(f"{_TURN} WHERE t.id > ? ORDER BY t.id LIMIT ?", (number, limit)).fetchall()
    opened = _open(connection, words, rows)
    harness = {row[0]: row[1] for row in connection.execute("SELECT id, harness FROM source_file")}
    return [(turn, harness[turn.file_id]) for turn in opened]


def _open(connection: apsw.Connection, words: Words, rows: Sequence[Sequence[object]]) -> list[StoredTurn]:
    """Unseal payloads; parts after the first take the raw record from the first."""
    from waypost.machine.store.payloads import unseal

    found: list[StoredTurn] = []
    raws: dict[tuple[int, int, int], bytes | None] = {}
    for row in rows:
        payload = row[14]
        extras, raw = unseal(payload) if isinstance(payload, bytes) else (b"", None)
        place = (int(str(row[1])), int(str(row[2])), int(str(row[3])))
        if row[4] == 0:
            raws[place] = raw
        else:
            if place not in raws:
                first = connection.execute(
                    "SELECT payload FROM turn WHERE session_id = ? AND file_id = ? AND offset = ?"
                    " AND part = 0",
                    place,
                ).get
                raws[place] = unseal(first)[1] if isinstance(first, bytes) else None
            raw = raws[place]
        tool = words.text(row[10]) if isinstance(row[10], int) else None
        found.append(StoredTurn._make((*row[:10], tool, *row[11:14], extras, raw)))
    return found


def usage_of(connection: apsw.Connection, words: Words, session_row: int) -> list[PlacedUsage]:
    """Return a session's usage entries in file order."""
    rows = fetch(
        connection,
        "SELECT file_id, first_offset, counted = 1 AND owner = session_id, model, at, input, output,"
        " cache_read, cache_write_5m, cache_write_1h, reasoning, max(web_stated, web_observed), final"
        " FROM usage_entry WHERE session_id = ? ORDER BY file_id, first_offset",
        (session_row,),
    )
    return [
        PlacedUsage._make((row[0], row[1], bool(row[2]), words.text(row[3]), *row[4:12], bool(row[12])))
        for row in rows
    ]


def executions_of(connection: apsw.Connection, session_row: int) -> list[StoredExecution]:
    """Return the commands of a session in order."""
    rows = fetch(
        connection,
        "SELECT id, call_id, call, file_id, offset, part, started_at, ended_at, lifecycle, outcome, source,"
        " exit_code, duration_ms, denied FROM execution WHERE session_id = ? ORDER BY file_id, offset, part",
        (session_row,),
    )
    return [StoredExecution._make((*row[:13], bool(row[13]))) for row in rows]


def calls_of(
    connection: apsw.Connection, words: Words, session_row: int
) -> dict[tuple[int, int, int], StoredTurn]:
    """Return the turns that called a shell, by file, offset and part."""
    rows = fetch(
        connection, f"{_TURN} WHERE t.session_id = ? AND t.flags & ?", (session_row, int(TurnFlag.COMMAND))
    )
    return {(turn.file_id, turn.offset, turn.part): turn for turn in _open(connection, words, rows)}


class StoredEvent(NamedTuple):
    """A content-free observation."""

    turn_number: int
    at: int | None
    type: str
    phase: str
    tool: str | None
    call: int | None
    exit_code: int | None
    flags: int


def events_of(connection: apsw.Connection, words: Words, session_row: int) -> list[StoredEvent]:
    """Return the content-free stream of a session."""
    rows = fetch(
        connection,
        "SELECT turn_id, at, type, phase, tool, call, exit_code, flags FROM agent_event"
        " WHERE session_id = ? ORDER BY turn_id",
        (session_row,),
    )
    return [StoredEvent._make((*row[:4], words.text(row[4]), *row[5:])) for row in rows]


def place(connection: apsw.Connection, turn: StoredTurn) -> tuple[StoredSession, StoredFile]:
    """Return the session and the file of a turn."""
    session = by_row(connection, turn.session_row)
    file = next(one for one in files_of(connection, turn.session_row) if one.id == turn.file_id)
    return session, file


class Standing(NamedTuple):
    """What orders turns of equal rank the same way in every store: time, then session and place."""

    at: int
    session: str
    offset: int
    part: int


def kept(
    connection: apsw.Connection,
    numbers: Sequence[int],
    *,
    projects: Sequence[int] | None,
    roles: Sequence[int] | None,
) -> dict[int, Standing]:
    """Filter turn numbers: no copies, no runs of our own, and by project and role where asked."""
    marks = ",".join(str(int(number)) for number in numbers)
    where = ""
    if projects is not None:
        where += f" AND s.project_id IN ({','.join(str(int(one)) for one in projects) or '-1'})"
    if roles is not None:
        where += f" AND t.role IN ({','.join(str(int(one)) for one in roles)})"
    rows = connection.execute(
        "SELECT t.id, t.at, s.key, t.offset, t.part FROM turn t JOIN session s ON s.id = t.session_id"
        " JOIN file_session f ON f.session_id = t.session_id AND f.file_id = t.file_id"
        f" WHERE t.id IN ({marks}) AND s.own_run = 0 AND t.offset > f.copied_until{where}"
    )
    return {row[0]: Standing(row[1] or 0, row[2], row[3], row[4]) for row in rows}
