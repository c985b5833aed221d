"""Plays a scenario: picks the lane and the turn, checks expectations, keeps score."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from mockmodel.scenario import Json, Lane, Scenario, Turn, When
from mockmodel.wire import RequestView


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that did not go as the scenario says."""

    request: int
    lane: str | None
    turn: int | None
    what: str


@dataclass(frozen=True, slots=True)
class LaneScore:
    """How far a lane got."""

    name: str
    served: int
    turns: int
    unserved: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The state of a scenario at one moment."""

    scenario: str
    requests: int
    lanes: tuple[LaneScore, ...]
    problems: tuple[Problem, ...]

    @property
    def complete(self) -> bool:
        """Every turn that is not optional was served."""
        return all(not lane.unserved for lane in self.lanes)

    @property
    def ok(self) -> bool:
        return self.complete and not self.problems

    def as_json(self) -> Json:
        return {**asdict(self), "complete": self.complete, "ok": self.ok}


@dataclass(frozen=True, slots=True)
class Pick:
    """The turn chosen for a request, or the reason why none was."""

    number: int
    lane: str | None
    index: int | None
    turn: Turn | None
    variables: Mapping[str, str]
    refusal: str | None = None


@dataclass(slots=True)
class _Cursor:
    lane: Lane
    index: int = 0
    used: int = 0
    served: int = 0
    touched: set[int] = field(default_factory=set)


class Player:
    """Thread-safe scenario state. One instance belongs to one server."""

    def __init__(self, scenario: Scenario, variables: Mapping[str, str] | None = None) -> None:
        self.scenario = scenario
        self._initial = {**scenario.vars, **(variables or {})}
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Start over: cursors, captured variables and problems."""
        with self._lock:
            self._variables = dict(self._initial)
            self._cursors = [_Cursor(lane) for lane in self.scenario.lanes]
            self._problems: list[Problem] = []
            self._requests = 0

    def report(self) -> Report:
        with self._lock:
            return Report(
                scenario=self.scenario.name,
                requests=self._requests,
                lanes=tuple(_score(cursor) for cursor in self._cursors),
                problems=tuple(self._problems),
            )

    def note(self, what: str, request: int = 0) -> None:
        """Record a problem that the server itself met."""
        with self._lock:
            self._problems.append(Problem(request, None, None, what))

    def pick(self, view: RequestView) -> Pick:
        """Choose the turn that answers ``view`` and move that lane's cursor on."""
        with self._lock:
            self._requests += 1
            number = self._requests
            variables = dict(self._variables)
            if view.cwd:
                variables.setdefault("cwd", view.cwd)
            cursor = next((c for c in self._cursors if _matches(c.lane.when, view)), None)
            if cursor is None:
                return self._refuse(number, None, None, "no lane matches this request", variables)
            name = cursor.lane.name
            if cursor.index >= len(cursor.lane.turns):
                if self.scenario.on_exhausted == "error":
                    return self._refuse(number, name, None, f"lane {name!r} has no turn left", variables)
                cursor.index = len(cursor.lane.turns) - 1
                cursor.used = 0
            index = cursor.index
            turn = cursor.lane.turns[index]
            for key, pattern in turn.capture.items():
                match = re.search(pattern, _results_text(view)) or re.search(pattern, view.transcript)
                if match is None:
                    self._problems.append(
                        Problem(number, name, index, f"capture {key!r}: {pattern!r} not found")
                    )
                else:
                    value = match.group(1) if match.groups() else match.group(0)
                    variables[key] = self._variables[key] = value
            failures = _unmet(turn, view)
            for failure in failures:
                self._problems.append(Problem(number, name, index, failure))
            cursor.touched.add(index)
            cursor.served += 1
            cursor.used += 1
            if turn.times != -1 and cursor.used >= turn.times:
                cursor.index += 1
                cursor.used = 0
            if failures and self.scenario.strict:
                return Pick(number, name, index, None, variables, "; ".join(failures))
            return Pick(number, name, index, turn, variables)

    def _refuse(
        self,
        number: int,
        lane: str | None,
        index: int | None,
        what: str,
        variables: Mapping[str, str],
    ) -> Pick:
        self._problems.append(Problem(number, lane, index, what))
        return Pick(number, lane, index, None, variables, what)


def _score(cursor: _Cursor) -> LaneScore:
    turns = cursor.lane.turns
    unserved = tuple(i for i, turn in enumerate(turns) if i not in cursor.touched and not turn.optional)
    return LaneScore(cursor.lane.name, cursor.served, len(turns), unserved)


def _matches(when: When, view: RequestView) -> bool:
    checks: Sequence[tuple[str | None, str]] = (
        (when.system, view.system),
        (when.first_user, view.first_user),
        (when.last_user, view.last_user),
        (when.model, view.model),
        (when.kind, view.kind),
        (when.body, view.transcript),
    )
    if any(pattern is not None and not re.search(pattern, text) for pattern, text in checks):
        return False
    if when.tool is not None and not _any(when.tool, view.tool_names):
        return False
    if when.no_tool is not None and _any(when.no_tool, view.tool_names):
        return False
    return all(re.search(p, view.headers.get(k, "")) for k, p in when.headers.items())


def _any(pattern: str, texts: Sequence[str]) -> bool:
    return any(re.search(pattern, text) for text in texts)


def _results_text(view: RequestView) -> str:
    return "\n".join(result.text for result in view.tool_results)


def _unmet(turn: Turn, view: RequestView) -> list[str]:
    """The expectations of ``turn`` that ``view`` does not meet, in words."""
    expect = turn.expect
    results = _results_text(view)
    out: list[str] = []
    for pattern in expect.tool_result:
        if not re.search(pattern, results):
            out.append(f"tool_result lacks {pattern!r}; it was {_short(results)!r}")
    for pattern in expect.not_tool_result:
        if re.search(pattern, results):
            out.append(f"tool_result has {pattern!r}; it was {_short(results)!r}")
    for pattern in expect.request:
        if not re.search(pattern, view.transcript):
            out.append(f"request lacks {pattern!r}")
    for pattern in expect.not_request:
        if re.search(pattern, view.transcript):
            out.append(f"request has {pattern!r}")
    for pattern in expect.tools:
        if not _any(pattern, view.tool_names):
            out.append(f"no tool like {pattern!r} offered; there are {list(view.tool_names)}")
    for pattern in expect.not_tools:
        if _any(pattern, view.tool_names):
            out.append(f"a tool like {pattern!r} is offered; there are {list(view.tool_names)}")
    return out


def _short(text: str, limit: int = 400) -> str:
    return text if len(text) <= limit else text[:limit] + "..."
