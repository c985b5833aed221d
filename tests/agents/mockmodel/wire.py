"""What the two API modules share: request views, server-sent events, rendering."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mockmodel.scenario import Json, Turn, Usage

ApiName = Literal["anthropic", "openai"]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One tool output that the client sent back."""

    call_id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class RequestView:
    """A model request, boiled down to what scenarios match on.

    ``transcript`` is every piece of text the model would read, in order.
    ``tool_results`` are only those that arrived since the last assistant turn.
    ``kind`` is what the client says about the request's purpose, if anything
    (Codex: ``turn``, ``compaction`` ...; Claude Code says nothing: ``""``).
    """

    api: ApiName
    model: str
    system: str
    user_texts: tuple[str, ...]
    tool_results: tuple[ToolResult, ...]
    tool_names: tuple[str, ...]
    transcript: str
    stream: bool
    kind: str = ""
    cwd: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Json] = field(default_factory=dict)

    @property
    def first_user(self) -> str:
        return self.user_texts[0] if self.user_texts else ""

    @property
    def last_user(self) -> str:
        return self.user_texts[-1] if self.user_texts else ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call ready for the wire. ``input`` is a string for free-form tools."""

    id: str
    name: str
    input: Json
    namespace: str | None = None
    custom: bool = False


@dataclass(frozen=True, slots=True)
class Rendered:
    """A turn with its templates filled in and its actions lowered to tool calls."""

    number: int
    turn: Turn
    tag: str
    model: str
    text: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    usage: Usage
    chunk_chars: int


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One server-sent event."""

    name: str
    data: Json

    def encode(self) -> bytes:
        body = json.dumps(self.data, ensure_ascii=False, separators=(",", ":"))
        return f"event: {self.name}\ndata: {body}\n\n".encode()


_TEMPLATE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_INTEGER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\|\s*int\s*\}\}")


def fill(value: Json, variables: Mapping[str, str]) -> Json:
    """Replace ``{{name}}`` in every string inside ``value``.

    An unknown name is left as it is, so that text which merely looks like a
    template (a Jinja file, say) passes through unharmed. A string that is nothing but
    ``{{name|int}}`` becomes an integer, for tools that insist on one.
    """
    if isinstance(value, str):
        whole = _INTEGER.fullmatch(value)
        if whole and variables.get(whole.group(1), "").isdigit():
            return int(variables[whole.group(1)])
        return _TEMPLATE.sub(lambda m: variables.get(m.group(1), m.group(0)), value)
    if isinstance(value, Mapping):
        return {key: fill(item, variables) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [fill(item, variables) for item in value]
    return value


def chunks(text: str, size: int) -> list[str]:
    """Cut ``text`` into pieces of at most ``size`` characters."""
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]
