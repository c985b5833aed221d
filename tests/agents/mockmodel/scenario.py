"""The scenario format: dataclasses, a strict parser and a file loader.

A scenario is data, so that it can be kept beside a test, reviewed and reused
with both CLIs. The parser rejects unknown keys: a typo in a scenario must fail
when the file is read, not show up as a mystery in a CLI's transcript.

See README.md for the format written out with examples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

Json = Any
"""A decoded JSON value."""

FaultKind = Literal["disconnect", "malformed", "truncate", "stall", "error_event"]
FAULT_KINDS: tuple[FaultKind, ...] = (
    "disconnect",
    "malformed",
    "truncate",
    "stall",
    "error_event",
)
ActionKind = Literal["run", "read", "edit", "write", "mcp", "tool"]


class ScenarioError(ValueError):
    """A scenario that does not fit the format. The message says where."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts that one response reports.

    ``input`` counts only fresh (uncached) prompt tokens; each API module turns
    the prompt figures into its own protocol's convention. ``cache_write`` is the
    part written to the five-minute cache, ``cache_write_1h`` the part written to
    the one-hour cache (the Responses API has no such distinction and gets the sum).
    """

    input: int = 100
    output: int = 20
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Action:
    """Something the scripted model does besides talking.

    ``run``/``read``/``edit``/``write``/``mcp`` are portable: each API module
    lowers them to the tools that the CLI offered. ``tool`` is a verbatim call.
    """

    kind: ActionKind
    args: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class HttpError:
    """An HTTP error answered in place of a response."""

    status: int
    type: str = "api_error"
    message: str = "scripted error"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """A response stream that goes wrong after ``after_events`` good events."""

    kind: FaultKind
    after_events: int = 1
    seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class Expect:
    """Regular expressions that a request must (or must not) satisfy.

    ``tool_result`` patterns are searched in the tool outputs that came with
    this request, ``request`` patterns in everything the model would read.
    """

    tool_result: tuple[str, ...] = ()
    not_tool_result: tuple[str, ...] = ()
    request: tuple[str, ...] = ()
    not_request: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    not_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One scripted answer."""

    text: str = ""
    reasoning: str = ""
    actions: tuple[Action, ...] = ()
    usage: Usage | None = None
    expect: Expect = Expect()
    capture: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    chunk_delay: float = 0.0
    stop_reason: str | None = None
    error: HttpError | None = None
    fault: Fault | None = None
    times: int = 1
    optional: bool = False


@dataclass(frozen=True, slots=True)
class When:
    """Which requests a lane answers. Every given pattern must match."""

    system: str | None = None
    first_user: str | None = None
    last_user: str | None = None
    model: str | None = None
    kind: str | None = None
    tool: str | None = None
    no_tool: str | None = None
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lane:
    """A conversation of its own: a matcher, and the turns served to it in order."""

    name: str
    turns: tuple[Turn, ...]
    when: When = When()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole script. The lanes are tried in order; the last one catches all."""

    name: str
    lanes: tuple[Lane, ...]
    description: str = ""
    vars: Mapping[str, str] = field(default_factory=dict)
    usage: Usage = Usage()
    chunk_chars: int = 48
    strict: bool = True
    on_exhausted: Literal["error", "repeat"] = "error"


# --------------------------------------------------------------------------
# Parsing


def load_scenario(path: str | Path) -> Scenario:
    """Read a ``.json``, ``.yaml`` or ``.yml`` scenario file."""
    path = Path(path)
    text = path.read_text(encoding="utf-8")
    if path.suffix in {".yaml", ".yml"}:
        try:
            import yaml
        except ImportError as err:  # pragma: no cover - depends on the environment
            raise ScenarioError(f"{path}: reading YAML needs the PyYAML package") from err
        data = yaml.safe_load(text)
    else:
        data = json.loads(text)
    try:
        return parse_scenario(data, default_name=path.stem)
    except ScenarioError as err:
        raise ScenarioError(f"{path}: {err}") from None


def parse_scenario(data: Json, default_name: str = "scenario") -> Scenario:
    """Turn decoded JSON/YAML into a :class:`Scenario`, or say what is wrong."""
    top = _Fields(data, "scenario")
    lanes = [_lane(item, f"lanes[{i}]") for i, item in enumerate(top.list("lanes"))]
    turns = top.list("turns")
    if turns:
        main = tuple(_turn(item, f"turns[{i}]") for i, item in enumerate(turns))
        lanes.append(Lane(name="main", turns=main))
    if not lanes:
        raise ScenarioError("scenario: needs 'turns' or 'lanes'")
    names = [lane.name for lane in lanes]
    if len(set(names)) != len(names):
        raise ScenarioError(f"scenario: lane names repeat: {names}")
    on_exhausted = top.text("on_exhausted", "error")
    if on_exhausted not in ("error", "repeat"):
        raise ScenarioError("scenario.on_exhausted: must be 'error' or 'repeat'")
    scenario = Scenario(
        name=top.text("name", default_name),
        description=top.text("description", ""),
        lanes=tuple(lanes),
        vars=top.strings("vars"),
        usage=_usage(top.get("usage"), "usage", Usage()),
        chunk_chars=top.integer("chunk_chars", 48, minimum=1),
        strict=top.flag("strict", True),
        on_exhausted=cast(Literal["error", "repeat"], on_exhausted),
    )
    top.close()
    return scenario


def _lane(data: Json, where: str) -> Lane:
    fields = _Fields(data, where)
    when_fields = _Fields(fields.get("when") or {}, f"{where}.when")
    when = When(
        system=when_fields.regex("system"),
        first_user=when_fields.regex("first_user"),
        last_user=when_fields.regex("last_user"),
        model=when_fields.regex("model"),
        kind=when_fields.regex("kind"),
        tool=when_fields.regex("tool"),
        no_tool=when_fields.regex("no_tool"),
        body=when_fields.regex("body"),
        headers={k.lower(): _regex(v, where) for k, v in when_fields.strings("headers").items()},
    )
    when_fields.close()
    lane = Lane(
        name=fields.text("name"),
        when=when,
        turns=tuple(_turn(item, f"{where}.turns[{i}]") for i, item in enumerate(fields.list("turns"))),
    )
    fields.close()
    if not lane.turns:
        raise ScenarioError(f"{where}: has no turns")
    return lane


def _turn(data: Json, where: str) -> Turn:
    fields = _Fields(data, where)
    usage = fields.get("usage")
    error = fields.get("error")
    fault = fields.get("fault")
    turn = Turn(
        text=fields.text("text", ""),
        reasoning=fields.text("reasoning", ""),
        actions=tuple(
            _action(item, f"{where}.actions[{i}]") for i, item in enumerate(fields.list("actions"))
        ),
        usage=None if usage is None else _usage(usage, f"{where}.usage", Usage()),
        expect=_expect(fields.get("expect") or {}, f"{where}.expect"),
        capture={k: _regex(v, where) for k, v in fields.strings("capture").items()},
        delay=fields.number("delay", 0.0),
        chunk_delay=fields.number("chunk_delay", 0.0),
        stop_reason=fields.text("stop_reason", "") or None,
        error=None if error is None else _http_error(error, f"{where}.error"),
        fault=None if fault is None else _fault(fault, f"{where}.fault"),
        times=fields.integer("times", 1, minimum=-1),
        optional=fields.flag("optional", False),
    )
    fields.close()
    if turn.error and (turn.text or turn.actions or turn.fault):
        raise ScenarioError(f"{where}: 'error' stands alone (no text, actions or fault)")
    if turn.times == 0:
        raise ScenarioError(f"{where}.times: 0 would never be served; -1 means for ever")
    return turn


_PORTABLE: Mapping[str, tuple[str, ...]] = {
    "run": ("command",),
    "read": ("path",),
    "edit": ("path", "old", "new"),
    "write": ("path", "content"),
}


def _action(data: Json, where: str) -> Action:
    if not isinstance(data, Mapping) or len(data) != 1:
        raise ScenarioError(f"{where}: one of run, read, edit, write, mcp, tool as a single key")
    kind, value = next(iter(data.items()))
    if kind == "tool":
        fields = _Fields(value, f"{where}.tool")
        args: dict[str, Json] = {"name": fields.text("name"), "input": fields.get("input")}
        for key in ("namespace", "kind", "id"):
            text = fields.text(key, "")
            if text:
                args[key] = text
        fields.close()
        return Action("tool", args)
    if kind == "mcp":
        fields = _Fields(value, f"{where}.mcp")
        call = {"server": fields.text("server"), "tool": fields.text("tool")}
        args = {**call, "input": fields.get("input") or {}}
        fields.close()
        return Action("mcp", args)
    if kind not in _PORTABLE:
        raise ScenarioError(f"{where}: unknown action {kind!r}")
    wanted = _PORTABLE[kind]
    if isinstance(value, str) and len(wanted) == 1:
        value = {wanted[0]: value}
    fields = _Fields(value, f"{where}.{kind}")
    args = {key: fields.text(key) for key in wanted}
    if kind == "run":
        extra = fields.get("extra")
        if extra is not None:
            args["extra"] = _Fields(extra, f"{where}.run.extra").all()
    fields.close()
    return Action(cast(ActionKind, kind), args)


def _expect(data: Json, where: str) -> Expect:
    fields = _Fields(data, where)
    expect = Expect(
        tool_result=fields.regexes("tool_result"),
        not_tool_result=fields.regexes("not_tool_result"),
        request=fields.regexes("request"),
        not_request=fields.regexes("not_request"),
        tools=fields.regexes("tools"),
        not_tools=fields.regexes("not_tools"),
    )
    fields.close()
    return expect


def _usage(data: Json, where: str, default: Usage) -> Usage:
    if data is None:
        return default
    fields = _Fields(data, where)
    usage = Usage(
        input=fields.integer("input", default.input),
        output=fields.integer("output", default.output),
        cache_read=fields.integer("cache_read", 0),
        cache_write=fields.integer("cache_write", 0),
        cache_write_1h=fields.integer("cache_write_1h", 0),
        reasoning=fields.integer("reasoning", 0),
    )
    fields.close()
    return usage


def _http_error(data: Json, where: str) -> HttpError:
    fields = _Fields(data, where)
    error = HttpError(
        status=fields.integer("status", minimum=400),
        type=fields.text("type", "api_error"),
        message=fields.text("message", "scripted error"),
        headers=fields.strings("headers"),
    )
    fields.close()
    return error


def _fault(data: Json, where: str) -> Fault:
    if isinstance(data, str):
        data = {"kind": data}
    fields = _Fields(data, where)
    kind = fields.text("kind")
    if kind not in FAULT_KINDS:
        raise ScenarioError(f"{where}.kind: one of {', '.join(FAULT_KINDS)}")
    fault = Fault(
        kind=kind,
        after_events=fields.integer("after_events", 1),
        seconds=fields.number("seconds", 600.0),
    )
    fields.close()
    return fault


def _regex(pattern: str, where: str) -> str:
    try:
        re.compile(pattern)
    except re.error as err:
        raise ScenarioError(f"{where}: bad regular expression {pattern!r}: {err}") from None
    return pattern


_REQUIRED: Any = object()


class _Fields:
    """A mapping read key by key, which knows at the end what nobody asked for."""

    def __init__(self, data: Json, where: str) -> None:
        if not isinstance(data, Mapping):
            raise ScenarioError(f"{where}: must be a mapping, not {type(data).__name__}")
        self._data = dict(data)
        self._where = where

    def all(self) -> dict[str, Json]:
        return self._data

    def get(self, key: str) -> Json:
        return self._data.pop(key, None)

    def _typed(self, key: str, default: Any, kinds: tuple[type, ...], label: str) -> Any:
        if key not in self._data:
            if default is _REQUIRED:
                raise ScenarioError(f"{self._where}.{key}: is missing")
            return default
        value = self._data.pop(key)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ScenarioError(f"{self._where}.{key}: must be {label}")
        return value

    def text(self, key: str, default: str = _REQUIRED) -> str:
        return cast(str, self._typed(key, default, (str,), "a string"))

    def integer(self, key: str, default: int = _REQUIRED, minimum: int = 0) -> int:
        value = cast(int, self._typed(key, default, (int,), "an integer"))
        if value < minimum:
            raise ScenarioError(f"{self._where}.{key}: must be at least {minimum}")
        return value

    def number(self, key: str, default: float) -> float:
        return float(self._typed(key, default, (int, float), "a number"))

    def flag(self, key: str, default: bool) -> bool:
        return cast(bool, self._typed(key, default, (bool,), "true or false"))

    def list(self, key: str) -> Sequence[Json]:
        value = self._typed(key, [], (list, tuple), "a list")
        return cast(Sequence[Json], value)

    def strings(self, key: str) -> dict[str, str]:
        value = self._typed(key, {}, (dict,), "a mapping of strings")
        return {str(k): str(v) for k, v in value.items()}

    def regex(self, key: str) -> str | None:
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise ScenarioError(f"{self._where}.{key}: must be a string")
        return _regex(value, f"{self._where}.{key}")

    def regexes(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        if value is None:
            return ()
        items = [value] if isinstance(value, str) else list(value)
        return tuple(_regex(str(item), f"{self._where}.{key}") for item in items)

    def close(self) -> None:
        if self._data:
            keys = ", ".join(sorted(map(str, self._data)))
            raise ScenarioError(f"{self._where}: unknown keys: {keys}")
