"""Answers about what agents did: sessions, one session's turns, search, costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple

from waypost.errors import NotFoundError, RefusedError, UsageError
from waypost.flows.app import App
from waypost.flows.arguments import HARNESSES, cursor_text, cursor_value, shown
from waypost.machine.store import sessions as store_sessions
from waypost.machine.store import turns as store_turns
from waypost.machine.store.database import Store, guarded
from waypost.machine.store.sessions import QUARTER_MS, Counters, StoredSession, UsageSum
from waypost.machine.store.turns import PlacedUsage, StoredFile, StoredTurn
from waypost.machine.store.words import Words
from waypost.records.ids import parse_turn_id, turn_id
from waypost.records.transcript import ReadableTurn, Role, Tokens, TurnFlag
from waypost.rules.prices import Cost, Priced, PriceTable

SESSIONS_LIMIT: Final = 50
TURNS_LIMIT: Final = 100
HITS_LIMIT: Final = 20
MALFORMED_SHOWN_MAX: Final = 100
SNIPPET_CHARACTERS: Final = 160
GROUPINGS: Final = ("day", "week", "project", "model", "harness", "session")
#: Reasons that a harness's own cost statement can settle, when it equals what was counted.
_SETTLED_BY_STATEMENT: Final = frozenset({"compaction", "web_search"})


class SessionSummary(NamedTuple):
    """A session with its counters and totals."""

    stored: StoredSession
    counters: Counters
    tokens: Tokens
    shared_tokens: Tokens
    cost: Cost
    models: tuple[str, ...]
    reasons: tuple[str, ...]
    stated_usd: str | None = None
    not_visible_usd: Decimal | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing is known to be missing from the totals."""
        return not self.reasons


class SessionPage(NamedTuple):
    """Sessions, newest first, and where to go on."""

    sessions: tuple[SessionSummary, ...]
    next_cursor: str | None


class TurnView(NamedTuple):
    """A turn as it is shown."""

    id: str
    order: int
    stored: StoredTurn
    file: StoredFile
    readable: ReadableTurn
    parent: str | None
    tokens: Tokens | None
    cost: Cost | None
    shared: bool
    copied: bool


class TurnPage(NamedTuple):
    """A page of a session."""

    summary: SessionSummary
    turns: tuple[TurnView, ...]
    next_cursor: str | None
    malformed: tuple[store_sessions.MalformedPlace, ...] = ()


class Hit(NamedTuple):
    """A turn that a search found."""

    session: str
    turn: str
    at: int | None
    role: int
    snippet: str
    project: str
    title: str | None


class HitPage(NamedTuple):
    """Hits, best first. ``partial``: older matches were not ranked."""

    hits: tuple[Hit, ...]
    next_cursor: str | None
    partial: bool
    behind: int


class CostRow(NamedTuple):
    """Usage of one group."""

    key: str
    label: str
    tokens: Tokens
    cost: Cost


class CostReport(NamedTuple):
    """Usage by group and in all."""

    by: str
    rows: tuple[CostRow, ...]
    tokens: Tokens
    cost: Cost
    price_table: str


# -- the store, read -------------------------------------------------------------------------------


class History:
    """Questions to one store. A home without a store answers as an empty one."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.store = app.store()
        self.words = Words(self.store) if self.store is not None else None
        self._prices: PriceTable | None = None

    @property
    def prices(self) -> PriceTable:
        """The price table, loaded on first use."""
        if self._prices is None:
            self._prices = self.app.prices()
        return self._prices

    def find_project(self, text: str) -> int:
        """Return the row of the one project that a person means.

        Errors: ``project_not_found``; ``project_ambiguous`` naming the candidates.
        """
        found = self.find_projects(text)
        if len(found) > 1:
            rows = store_sessions.project_rows(self._store())
            names = ", ".join(
                f"{key} ({facts.remote or facts.roots[0]})" for row, key, facts in rows if row in found
            )
            raise RefusedError(
                "project_ambiguous",
                f"{len(found)} projects are called {shown(text)!r}: {names}",
                hint="name one by its key or remote",
            )
        return found[0]

    def find_projects(self, text: str) -> list[int]:
        """Return the rows of projects that a person may mean.

        A key, a remote, a name, its last part, or a folder. Errors: ``project_not_found``.
        """
        rows = store_sessions.project_rows(self.store) if self.store is not None else []
        folder = self._folder(text)
        for same in (
            lambda key, facts: key == text,
            lambda _, facts: facts.remote is not None and facts.remote == text,
            lambda _, facts: (
                folder is not None
                and any(folder == root or folder.startswith(root + "/") for root in facts.roots)
            ),
            lambda _, facts: facts.name == text,
            lambda _, facts: facts.name.rsplit("/", 1)[-1] == text,
        ):
            found = [row for row, key, facts in rows if same(key, facts)]
            if found:
                return found
        raise NotFoundError(
            "project_not_found",
            f"no project is called {shown(text)!r}",
            hint="waypost costs --by project lists them",
        )

    def _folder(self, text: str) -> str | None:
        if not text.startswith((".", "/", "~")) or not _is_name(text):
            return None
        try:
            return str((self.app.world.cwd / Path(text).expanduser()).resolve())
        except (OSError, RuntimeError):
            return None

    def find_session(self, text: str) -> StoredSession:
        """Return a session by key, by the start of its key, or by its harness's own id.

        Errors: ``session_not_found``, also for a start that fits several.
        """
        found: list[StoredSession] = []
        if self.store is not None and text and _is_name(text):
            exact = store_sessions.by_key(self.store, text)
            if exact is not None:
                return exact
            if text.startswith("ses_") and len(text) >= 8:
                found = store_sessions.by_prefix(self.store, text)
            else:
                found = store_sessions.by_native(self.store, text)
        if len(found) == 1:
            return found[0]
        several = "several sessions fit" if found else "no session is called"
        raise NotFoundError(
            "session_not_found",
            f"{several} {shown(text)!r}",
            hint="waypost sessions lists them",
        )

    # -- sessions ----------------------------------------------------------------------------------

    def sessions(
        self,
        *,
        project: str | None = None,
        harness: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int = SESSIONS_LIMIT,
        cursor: str | None = None,
        own_runs: bool = False,
    ) -> SessionPage:
        """Return a page of sessions, newest first."""
        after = cursor_value(cursor, (int, str))
        projects = self.find_projects(project) if project is not None else None
        if self.store is None:
            return SessionPage((), None)
        with guarded():
            stored = store_sessions.page(
                self.store,
                projects=projects,
                harness=harness,
                since=since,
                until=until,
                own_runs=int(own_runs),
                after=(int(after[0]), str(after[1])) if after is not None else None,
                limit=limit + 1,
            )
            more = len(stored) > limit
            summaries = self.summaries(stored[:limit])
        last = stored[limit - 1] if more else None
        following = cursor_text((last.started_at or 0, last.key)) if last is not None else None
        return SessionPage(tuple(summaries), following)

    def summaries(self, stored: Sequence[StoredSession]) -> list[SessionSummary]:
        """Return sessions with counters and totals."""
        if self.store is None or self.words is None or not stored:
            return []
        rows = [one.row for one in stored]
        counters = store_sessions.counters(self.store, rows)
        own = _grouped(store_sessions.own_usage(self.store, self.words, rows))
        shared = _grouped(store_sessions.shared_usage(self.store, self.words, rows))
        return [
            self._summary(one, counters[one.row], own.get(one.row, []), shared.get(one.row, []))
            for one in stored
        ]

    def _summary(
        self, stored: StoredSession, counters: Counters, own: list[UsageSum], shared: list[UsageSum]
    ) -> SessionSummary:
        reasons = set(stored.reasons)
        if any(one.snapshots for one in own):
            reasons.add("output_snapshot")
        if counters.malformed_records:
            reasons.add("malformed_records")
        plain = self.prices.cost(_priced(own, lower_bound=False))
        stated = stored.facts.stated_cost
        invisible: Decimal | None = None
        if stated is not None and plain.usd is not None and not plain.unpriced_models:
            seen = plain.usd + (self.prices.cost(_priced(shared, lower_bound=False)).usd or Decimal(0))
            invisible = _difference(stated, seen)
            if invisible == 0:
                reasons -= _SETTLED_BY_STATEMENT
        cost = self.prices.cost(_priced(own, lower_bound=False))
        if reasons:
            cost = Cost(usd=cost.usd, lower_bound=True, unpriced_models=cost.unpriced_models)
        if not own and "no_usage_recorded" in reasons:
            cost = Cost(usd=None, lower_bound=True, unpriced_models=())
        models = sorted({one.model for one in (*own, *shared) if one.model} | set(stored.facts.models))
        return SessionSummary(
            stored,
            counters,
            _tokens(own),
            _tokens(shared),
            cost,
            tuple(models),
            tuple(sorted(reasons)),
            stated,
            invisible,
        )

    # -- turns -------------------------------------------------------------------------------------

    def session(self, name: str, *, limit: int = TURNS_LIMIT, cursor: str | None = None) -> TurnPage:
        """Return a session and a page of its turns, in reading order."""
        stored = self.find_session(name)
        place = cursor_value(cursor, (int, int, int, int))
        assert self.store is not None and self.words is not None
        with guarded():
            summary = self.summaries([stored])[0]
            return self._turn_page(summary, limit, [int(one) for one in place] if place else None)

    def _turn_page(self, summary: SessionSummary, limit: int, place: list[int] | None) -> TurnPage:
        assert self.store is not None and self.words is not None
        session_row = summary.stored.row
        files = store_turns.files_of(self.store, session_row)
        start, after, order = 0, (-1, -1), 0
        if place is not None:
            known = [file.id for file in files]
            if place[0] not in known:
                raise UsageError("bad_cursor", "the cursor belongs to another session")
            start, after, order = known.index(place[0]), (place[1], place[2]), place[3]
        usage = store_turns.usage_of(self.store, self.words, session_row)
        views: list[TurnView] = []
        following: str | None = None
        for file in files[start:]:
            wanted = limit - len(views)
            found = store_turns.page(
                self.store, self.words, session_row, file.id, after=after, limit=wanted + 1
            )
            views.extend(self._views(summary.stored, file, found[:wanted], found[wanted:], usage, order))
            order += min(len(found), wanted)
            if len(found) > wanted or (len(views) >= limit and file is not files[-1]):
                last = views[-1].stored
                following = cursor_text((last.file_id, last.offset, last.part, order))
                break
            after = (-1, -1)
        malformed = store_sessions.malformed_of(self.store, session_row, limit=MALFORMED_SHOWN_MAX)
        return TurnPage(summary, tuple(views), following, tuple(malformed))

    def _views(
        self,
        session: StoredSession,
        file: StoredFile,
        found: Sequence[StoredTurn],
        next_one: Sequence[StoredTurn],
        usage: Sequence[PlacedUsage],
        order: int,
    ) -> Iterator[TurnView]:
        """Show turns; a response's tokens stand at the first turn of its record."""
        placed = [one for one in usage if one.file_id == file.id]
        offsets = sorted({turn.offset for turn in (*found, *next_one)})
        natives: dict[str, str] = {}
        first_of_file = (
            not found
            or store_turns.before(self._store(), session.row, file.id, (found[0].offset, found[0].part)) == 0
        )
        for number, turn in enumerate(found):
            shown = readable(turn, file.harness)
            name = turn_id(session.key, tag=file.tag, offset=turn.offset, part=turn.part)
            if shown.native_id:
                natives.setdefault(shown.native_id, name)
            tokens, cost, shared = None, None, False
            if turn.part == 0 or number == 0:
                low = turn.offset if not (first_of_file and turn.offset == offsets[0]) else -1
                index_of = offsets.index(turn.offset)
                high = offsets[index_of + 1] if index_of + 1 < len(offsets) else 2**62
                here = [one for one in placed if low <= one.offset < high]
                tokens, cost, shared = self._turn_cost(here) if turn.part == 0 else (None, None, False)
            yield TurnView(
                name,
                order + number,
                turn,
                file,
                shown,
                natives.get(shown.parent_native_id or ""),
                tokens,
                cost,
                shared,
                turn.offset <= file.copied_until,
            )

    def _turn_cost(self, here: Sequence[PlacedUsage]) -> tuple[Tokens | None, Cost | None, bool]:
        counted = [one for one in here if one.counted]
        if not counted:
            return None, None, bool(here)
        sums = Tokens()
        priced = []
        for one in counted:
            tokens = Tokens(
                input=one.input,
                output=one.output,
                cache_read=one.cache_read,
                cache_write_5m=one.cache_write_5m,
                cache_write_1h=one.cache_write_1h,
                reasoning=one.reasoning,
            )
            sums = sums.plus(tokens)
            priced.append(Priced(one.model, one.at, tokens, one.web_searches, not one.final))
        return sums, self.prices.cost(priced), False

    def _store(self) -> Store:
        assert self.store is not None
        return self.store

    def executions(self, name: str) -> list[tuple[store_turns.StoredExecution, object]]:
        """Return the commands that an agent ran in a session, each with the input of its call."""
        stored = self.find_session(name)
        assert self.words is not None
        found = store_turns.executions_of(self._store(), stored.row)
        calls = store_turns.calls_of(self._store(), self.words, stored.row)
        return [(one, self._called(stored, calls.get((one.file_id, one.offset, one.part)))) for one in found]

    def _called(self, session: StoredSession, turn: StoredTurn | None) -> object:
        tool = readable(turn, session.harness).tool if turn is not None else None
        return tool.input if tool is not None else None

    def events(self, name: str) -> list[store_turns.StoredEvent]:
        """Return a session's content-free stream."""
        stored = self.find_session(name)
        assert self.words is not None
        return store_turns.events_of(self._store(), self.words, stored.row)

    def place_of_turn(self, session: StoredSession, name: str) -> str:
        """Return the cursor just before a turn. Errors: ``turn_not_found``."""
        missing = NotFoundError("turn_not_found", f"no turn of this session is called {shown(name)!r}")
        try:
            address = parse_turn_id(name)
        except ValueError:
            raise missing from None
        order = 0
        for file in store_turns.files_of(self._store(), session.row):
            place = (address.offset, address.part)
            if file.tag == address.file_tag:
                order += store_turns.before(self._store(), session.row, file.id, place)
                return cursor_text((file.id, address.offset, address.part - 1, order))
            order += store_turns.before(self._store(), session.row, file.id, (2**62, 0))
        raise missing

    # -- search ------------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        *,
        project: str | None = None,
        role: str | None = None,
        limit: int = HITS_LIMIT,
        cursor: str | None = None,
    ) -> HitPage:
        """Find turns that hold every word and phrase of a query, best first."""
        from waypost.machine.store import search as index

        query = index.parse_query(text)
        place = cursor_value(cursor, (int, int))
        projects = self.find_projects(project) if project is not None else None
        roles = _roles(role)
        if self.store is None or self.words is None:
            return HitPage((), None, False, 0)
        with guarded():
            index.register(self.store)
            first, newest = (int(one) for one in place) if place else (0, index.indexed_to(self.store))
            found, partial = index.matches(
                self.store,
                query,
                newest=newest,
                keep=lambda numbers: store_turns.kept(self._store(), numbers, projects=projects, roles=roles),
            )
            wanted = found[first : first + limit]
            opened = store_turns.by_numbers(self.store, self.words, [one.turn for one in wanted])
            hits = [self._hit(opened[one.turn], query.terms) for one in wanted if one.turn in opened]
            behind = index.backlog(self.store)
        following = cursor_text((first + limit, newest)) if len(found) > first + limit else None
        return HitPage(tuple(hits), following, partial, behind)

    def _hit(self, turn: StoredTurn, terms: Sequence[str]) -> Hit:
        session, file = store_turns.place(self._store(), turn)
        shown = readable(turn, file.harness)
        return Hit(
            session.key,
            turn_id(session.key, tag=file.tag, offset=turn.offset, part=turn.part),
            turn.at,
            turn.role,
            snippet(searched_text(shown), terms),
            session.project.name,
            session.facts.title,
        )

    # -- costs -------------------------------------------------------------------------------------

    def costs(
        self, by: str, *, since: int | None = None, until: int | None = None, utc: bool = False
    ) -> CostReport:
        """Return usage by group; days are local unless ``utc``, by the time of each record."""
        empty = CostReport(by, (), Tokens(), self.prices.cost(()), self.prices.version)
        if self.store is None or self.words is None:
            return empty
        with guarded():
            sums = store_sessions.all_usage(
                self.store, self.words, by=by, since=since, until=until, bounded=self._bounded()
            )
            labels = self._labels(by)
        zone = UTC if utc else None
        groups: dict[str, list[UsageSum]] = {}
        for one in sums:
            groups.setdefault(_group_key(one, by, zone, labels), []).append(one)
        rows = [
            CostRow(
                key,
                labels.get(key, key),
                _tokens(items),
                self.prices.cost(_priced(items)),
            )
            for key, items in groups.items()
        ]
        if by in ("day", "week"):
            rows.sort(key=lambda row: row.key)
        else:
            rows.sort(key=lambda row: (-(row.cost.usd or Decimal(0)), -row.tokens.total, row.key))
        return CostReport(
            by, tuple(rows), _tokens(sums), self.prices.cost(_priced(sums)), self.prices.version
        )

    def _bounded(self) -> list[int]:
        """Return the sessions whose totals are lower bounds, as ``sessions`` shows them."""
        found = store_sessions.incomplete(self._store())
        open_question = [row for row, settles in found if settles]
        stored = store_sessions.by_rows(self._store(), open_question) if open_question else []
        stated = [one for one in stored if one.facts.stated_cost is not None]
        settled = {one.stored.row for one in self.summaries(stated) if not one.reasons}
        return [row for row, _ in found if row not in settled]

    def _labels(self, by: str) -> dict[str, str]:
        """Return what to call the groups: by row number for the look-up, by key for the reader."""
        labels: dict[str, str] = {}
        if by == "project":
            for row, key, facts in store_sessions.project_rows(self._store()):
                labels[f"#{row}"] = key
                labels[key] = facts.name
        elif by == "session":
            for row, key, title in store_sessions.titles(self._store()):
                labels[f"#{row}"] = key
                labels[key] = title or key
        return labels


def readable(turn: StoredTurn, harness: str) -> ReadableTurn:
    """Return the readable form of a stored turn: from its raw record, or as kept over the cap."""
    from waypost.plugins.harnesses.projection import unproject
    from waypost.plugins.registry import transcript_reader

    if turn.flags & TurnFlag.PROJECTED:
        return unproject(turn.extras).turn
    if turn.raw is None:
        return ReadableTurn(text="")
    return transcript_reader(harness).render(turn.raw, part=turn.part, extras=turn.extras)


def searched_text(shown: ReadableTurn) -> str:
    """Return what the index reads of a turn."""
    from waypost.plugins.harnesses.payloads import leaves

    parts = [shown.text]
    if shown.tool is not None:
        parts.extend(leaves(shown.tool.input))
        parts.append(shown.tool.result or "")
    return "\n".join(part for part in parts if part)


def snippet(text: str, terms: Sequence[str]) -> str:
    """Return the part of a text around the first word found."""
    lower = text.lower()
    places = [place for term in terms if (place := lower.find(term.lower())) >= 0]
    if not places:
        places = [
            place for term in terms for word in term.lower().split() if (place := lower.find(word)) >= 0
        ]
    start = max(min(places, default=0) - SNIPPET_CHARACTERS // 3, 0)
    piece = text[start : start + SNIPPET_CHARACTERS]
    return ("…" if start else "") + " ".join(piece.split()) + ("…" if start + len(piece) < len(text) else "")


def _is_name(text: str) -> bool:
    """Tell whether text could name anything at all: bytes that are no text never do."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _grouped(sums: Sequence[UsageSum]) -> dict[int, list[UsageSum]]:
    groups: dict[int, list[UsageSum]] = {}
    for one in sums:
        groups.setdefault(one.group, []).append(one)
    return groups


def _tokens(sums: Sequence[UsageSum]) -> Tokens:
    total = Tokens()
    for one in sums:
        total = total.plus(one.tokens)
    return total


def _priced(sums: Sequence[UsageSum], *, lower_bound: bool | None = None) -> Iterator[Priced]:
    for one in sums:
        at = one.quarter * QUARTER_MS if one.quarter is not None else None
        bound = bool(one.snapshots) if lower_bound is None else lower_bound
        yield Priced(one.model, at, one.tokens, one.web_searches, bound)


def _difference(stated: str, seen: Decimal) -> Decimal | None:
    """Return what a harness states beyond what its transcript shows, to the millionth of a dollar."""
    try:
        value = Decimal(stated)
    except ArithmeticError:
        return None
    if not value.is_finite():
        return None
    return (value - seen).quantize(Decimal("0.000001"))


def _roles(text: str | None) -> list[int] | None:
    if text is None:
        return None
    names = {role.name.lower(): int(role) for role in Role}
    if text == "tool":
        return [names["tool_call"], names["tool_result"]]
    if text not in names:
        raise UsageError("bad_arguments", f"expected a role of {', '.join(names)}, found {text[:40]!r}")
    return [names[text]]


def _group_key(one: UsageSum, by: str, zone: tzinfo | None, labels: dict[str, str]) -> str:
    if by == "model":
        return one.model or "unknown"
    if by == "harness":
        return HARNESSES[one.group]
    if by in ("project", "session"):
        return labels.get(f"#{one.group}", "unknown")
    if one.quarter is None:
        return "unknown"
    moment = datetime.fromtimestamp(one.quarter * QUARTER_MS / 1000, UTC).astimezone(zone)
    if by == "week":
        return (moment.date() - timedelta(days=moment.weekday())).isoformat()
    return moment.date().isoformat()
