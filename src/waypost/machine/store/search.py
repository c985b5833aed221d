"""Full text over every turn: a contentless index inside the encrypted file, filled in a second pass.

The index holds no text, only words and positions; what a hit shows is read from the turn itself. It
follows ingestion by turn number, in its own transactions, so a live session appears before it can be
searched and an interrupted pass goes on where it stopped.

Ranking. The engine's own rank visits every matching row, which takes a second on common words over a
million turns. Here the newest ``CANDIDATES_MAX`` matches are ranked; a query with fewer matches is
ranked in full. Score: for each word or phrase its frequency in the turn, saturated and divided by the
turn's length as in BM25, and a little for being recent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import apsw

from waypost.errors import UsageError
from waypost.machine.store.turns import Standing

INDEX_BATCH_TURNS: Final = 20_000
INDEX_BATCH_CHARACTERS: Final = 32 * 1024 * 1024
CANDIDATES_MAX: Final = 1000
TERMS_MAX: Final = 32
OPAQUE_TEXT_MIN: Final = 2000
_OPAQUE: Final = re.compile(r"[A-Za-z0-9+/=_-]{256,}")
_QUOTED: Final = re.compile(r'"([^"]*)"')
TYPICAL_WORDS: Final = 120
SCANNED_MAX: Final = 100_000
RECENCY_WEIGHT: Final = 0.1
_K1, _B = 1.2, 0.5


def indexable(text: str) -> str:
    """Return text without long opaque runs (base64, digests of digests), which nobody searches for."""
    if len(text) < OPAQUE_TEXT_MIN or text.count(" ") + text.count("\n") > len(text) // 60:
        return text
    return _OPAQUE.sub(" ", text)


def indexed_to(connection: apsw.Connection) -> int:
    """Return the number of the last turn in the index."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'indexed_to'").get
    return int(found) if found is not None else 0


def backlog(connection: apsw.Connection) -> int:
    """Return how many turns the index is behind."""
    found = connection.execute("SELECT count(*) FROM turn WHERE id > ?", (indexed_to(connection),)).get
    return int(found)


class Pace(NamedTuple):
    """How much the index gathers before it writes a segment, and how many segments it lets stand.

    Merging segments is most of the index's cost, so a bulk pass writes few and large ones and leaves
    them; later small writes merge them bit by bit.
    """

    hash_bytes: int
    segments: int


BULK: Final = Pace(64 * 1024 * 1024, 16)
LIVE: Final = Pace(1024 * 1024, 8)


def set_pace(connection: apsw.Connection, pace: Pace) -> None:
    """Set the pace; it is kept in the store."""
    run = connection.execute
    run("INSERT INTO turn_text(turn_text, rank) VALUES ('hashsize', ?)", (pace.hash_bytes,))
    run("INSERT INTO turn_text(turn_text, rank) VALUES ('automerge', ?)", (pace.segments,))


def add(connection: apsw.Connection, texts: Iterable[tuple[int, str]]) -> int:
    """Index turns in the caller's transaction; returns the last turn number indexed."""
    values = [(number, indexable(text)) for number, text in texts]
    if not values:
        return indexed_to(connection)
    connection.executemany(
        "INSERT INTO turn_text(rowid, text) VALUES (?, ?)", [value for value in values if value[1]]
    )
    last = values[-1][0]
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('indexed_to', ?)", (last,))
    return last


class Query(NamedTuple):
    """A parsed query: its words and phrases, all required."""

    terms: tuple[str, ...]

    @property
    def match(self) -> str:
        """The index expression: every term quoted, so no character has a meaning."""
        return " AND ".join('"' + term.replace('"', '""') + '"' for term in self.terms)


def parse_query(text: str) -> Query:
    """Read words and quoted phrases. Errors: ``bad_query`` when no word is left or there are too many."""
    terms: list[str] = []
    rest = text
    for phrase in _QUOTED.findall(text):
        terms.append(phrase)
    rest = _QUOTED.sub(" ", rest).replace('"', " ")
    terms.extend(rest.split())
    kept = tuple(dict.fromkeys(term for term in terms if any(character.isalnum() for character in term)))
    if not kept:
        raise UsageError(
            "bad_query",
            f"expected at least one word to search for, found {text[:80]!r}",
            hint="quotes make phrases",
        )
    if len(kept) > TERMS_MAX:
        raise UsageError("bad_query", f"expected at most {TERMS_MAX} words, found {len(kept)}")
    return Query(kept)


class Match(NamedTuple):
    """A turn that matches, with its score."""

    turn: int
    score: float


def register(connection: apsw.Connection) -> None:
    """Add the scoring function to a connection."""

    def score(api: apsw.FTS5ExtensionApi, *_: object) -> float:
        norm = _K1 * (1 - _B + _B * api.column_size(0) / TYPICAL_WORDS)
        count = api.phrase_count
        if count == 1:
            frequencies = [api.inst_count]
        else:
            frequencies = [len(api.phrase_locations(phrase)[0]) for phrase in range(count)]
        return sum(one * (_K1 + 1) / (one + norm) for one in frequencies)

    connection.register_fts5_function("turn_score", score)


def matches(
    connection: apsw.Connection,
    query: Query,
    *,
    newest: int,
    keep: Callable[[Sequence[int]], dict[int, Standing]],
) -> tuple[list[Match], bool]:
    """Return ranked matches, best first, and whether older matches were left unranked.

    ``newest`` bounds the turn numbers, so that later pages see what the first saw. ``keep`` filters turn
    numbers (by project, role, copies) before anything is ranked, and says what breaks a tie.
    """
    rows: list[tuple[int, float, Standing]] = []
    before, scanned, more = newest + 1, 0, False
    while len(rows) < CANDIDATES_MAX:
        try:
            found = [
                (int(row[0]), float(row[1]))
                for row in connection.execute(
                    "SELECT rowid, turn_score(turn_text) FROM turn_text WHERE turn_text MATCH ?"
                    " AND rowid < ? ORDER BY rowid DESC LIMIT ?",
                    (query.match, before, CANDIDATES_MAX),
                )
            ]
        except apsw.SQLError as error:
            raise UsageError("bad_query", f"the query cannot be read: {error}") from error
        wanted = keep([row[0] for row in found]) if found else {}
        rows.extend((turn, score, wanted[turn]) for turn, score in found if turn in wanted)
        scanned += len(found)
        if len(found) < CANDIDATES_MAX:
            break
        before = found[-1][0]
        if scanned >= SCANNED_MAX:
            more = True
            break
    else:
        more = True
    if not rows:
        return [], more
    oldest = min(standing.at for _, _, standing in rows)
    span = max(max(standing.at for _, _, standing in rows) - oldest, 1)
    ranked = [
        (round(score + RECENCY_WEIGHT * (standing.at - oldest) / span, 6), standing, turn)
        for turn, score, standing in rows
    ]
    ranked.sort(key=lambda one: (-one[0], -one[1].at, one[1][1:]))
    return [Match(turn, score) for score, _, turn in ranked], more
