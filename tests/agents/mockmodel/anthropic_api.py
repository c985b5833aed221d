"""The Anthropic Messages API, as far as Claude Code uses it.

Endpoints: ``POST /v1/messages`` (streamed or whole) and
``POST /v1/messages/count_tokens``. Everything here is pure: bytes on the
socket are the server's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

from mockmodel.scenario import Action, HttpError, Json, ScenarioError
from mockmodel.wire import Rendered, RequestView, SseEvent, ToolCall, ToolResult, chunks

REFUSAL_STATUS = 403
"""Claude Code gives up at once on a 403. A 400 it answers with up to five more
tries, each with some optional feature left out."""

_CWD = re.compile(r"(?:Primary working directory|Working directory|cwd): ([^\n<]+)")


def view(body: Mapping[str, Json], headers: Mapping[str, str]) -> RequestView:
    """Boil a ``/v1/messages`` request down to a :class:`RequestView`."""
    system_parts = [_text(body.get("system"))]
    transcript: list[str] = list(system_parts)
    user_texts: list[str] = []
    fresh: list[ToolResult] = []
    for message in body.get("messages") or []:
        role = message.get("role")
        content = message.get("content")
        transcript.append(_text(content))
        if role == "assistant":
            fresh = []
        elif role == "system":
            system_parts.append(_text(content))
        elif role == "user":
            texts = _user_texts(content)
            if texts:
                user_texts.append("\n".join(texts))
            fresh.extend(_tool_results(content))
    whole = "\n".join(part for part in transcript if part)
    cwd = _CWD.search(whole)
    return RequestView(
        api="anthropic",
        model=str(body.get("model", "")),
        system="\n".join(part for part in system_parts if part),
        user_texts=tuple(user_texts),
        tool_results=tuple(fresh),
        tool_names=tuple(str(tool.get("name", "")) for tool in body.get("tools") or []),
        transcript=whole,
        stream=bool(body.get("stream")),
        cwd=cwd.group(1).strip() if cwd else None,
        headers=headers,
        body=body,
    )


def lower(action: Action, args: Mapping[str, Json], call_id: str, request: RequestView) -> ToolCall:
    """Turn a portable action into a call of Claude Code's built-in tools."""
    if action.kind == "run":
        tool_input: Json = {"command": args["command"], "description": "Run a scripted command"}
        tool_input |= args.get("extra") or {}
        return ToolCall(call_id, "Bash", tool_input)
    if action.kind == "read":
        return ToolCall(call_id, "Read", {"file_path": args["path"]})
    if action.kind == "edit":
        edit = {"file_path": args["path"], "old_string": args["old"], "new_string": args["new"]}
        return ToolCall(call_id, "Edit", edit)
    if action.kind == "write":
        return ToolCall(call_id, "Write", {"file_path": args["path"], "content": args["content"]})
    if action.kind == "mcp":
        return ToolCall(call_id, f"mcp__{args['server']}__{args['tool']}", args["input"])
    if args.get("namespace") or args.get("kind"):
        raise ScenarioError("'namespace' and 'kind' of a tool call are for the OpenAI API only")
    return ToolCall(cast(str, args.get("id") or call_id), args["name"], args["input"] or {})


def call_id(tag: str, number: int, index: int) -> str:
    return f"toolu_{tag}{number:04d}{index:02d}"


def events(turn: Rendered) -> Iterator[SseEvent]:
    """The event stream of one response, from ``message_start`` to ``message_stop``."""
    start = _message(turn, content=[], stop_reason=None)
    start["usage"]["output_tokens"] = 1
    yield SseEvent("message_start", {"type": "message_start", "message": start})
    index = 0
    if turn.reasoning:
        yield _block_start(index, {"type": "thinking", "thinking": "", "signature": ""})
        for piece in chunks(turn.reasoning, turn.chunk_chars):
            yield _delta(index, {"type": "thinking_delta", "thinking": piece})
        yield _delta(index, {"type": "signature_delta", "signature": "bW9jaw=="})
        yield _block_stop(index)
        index += 1
    if turn.text:
        yield _block_start(index, {"type": "text", "text": ""})
        for piece in chunks(turn.text, turn.chunk_chars):
            yield _delta(index, {"type": "text_delta", "text": piece})
        yield _block_stop(index)
        index += 1
    for call in turn.calls:
        empty = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield _block_start(index, empty)
        for piece in chunks(json.dumps(call.input, ensure_ascii=False), 256):
            yield _delta(index, {"type": "input_json_delta", "partial_json": piece})
        yield _block_stop(index)
        index += 1
    yield SseEvent(
        "message_delta",
        {
            "type": "message_delta",
            "delta": {"stop_reason": _stop_reason(turn), "stop_sequence": None},
            "usage": _usage(turn),
        },
    )
    yield SseEvent("message_stop", {"type": "message_stop"})


def whole(turn: Rendered) -> Json:
    """The same response for a request that did not ask for a stream."""
    content: list[Json] = []
    if turn.reasoning:
        content.append({"type": "thinking", "thinking": turn.reasoning, "signature": "bW9jaw=="})
    if turn.text:
        content.append({"type": "text", "text": turn.text})
    for call in turn.calls:
        content.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input})
    return _message(turn, content=content, stop_reason=_stop_reason(turn))


def error_body(error: HttpError) -> Json:
    return {
        "type": "error",
        "error": {"type": error.type, "message": error.message},
        "request_id": "req_mock",
    }


def error_event(message: str) -> SseEvent:
    """An error in the middle of a stream."""
    data = {"type": "error", "error": {"type": "overloaded_error", "message": message}}
    return SseEvent("error", data)


def count_tokens(body: Mapping[str, Json]) -> Json:
    """A rough but deterministic count: four characters a token."""
    return {"input_tokens": max(1, len(json.dumps(body, ensure_ascii=False)) // 4)}


def models() -> Json:
    data = [
        {
            "type": "model",
            "id": "mock-model",
            "display_name": "Mock model",
            "created_at": "2026-01-01T00:00:00Z",
        }
    ]
    return {"data": data, "has_more": False, "first_id": "mock-model", "last_id": "mock-model"}


# --------------------------------------------------------------------------


def _message(turn: Rendered, content: list[Json], stop_reason: str | None) -> dict[str, Json]:
    return {
        "id": f"msg_{turn.tag}{turn.number:04d}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": _usage(turn),
    }


def _usage(turn: Rendered) -> dict[str, Json]:
    return {
        "input_tokens": turn.usage.input,
        "cache_creation_input_tokens": turn.usage.cache_write + turn.usage.cache_write_1h,
        "cache_read_input_tokens": turn.usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": turn.usage.cache_write,
            "ephemeral_1h_input_tokens": turn.usage.cache_write_1h,
        },
        "output_tokens": turn.usage.output,
        "output_tokens_details": {"thinking_tokens": turn.usage.reasoning},
        "service_tier": "standard",
    }


def _stop_reason(turn: Rendered) -> str:
    return turn.turn.stop_reason or ("tool_use" if turn.calls else "end_turn")


def _block_start(index: int, block: Json) -> SseEvent:
    data = {"type": "content_block_start", "index": index, "content_block": block}
    return SseEvent("content_block_start", data)


def _delta(index: int, delta: Json) -> SseEvent:
    data = {"type": "content_block_delta", "index": index, "delta": delta}
    return SseEvent("content_block_delta", data)


def _block_stop(index: int) -> SseEvent:
    return SseEvent("content_block_stop", {"type": "content_block_stop", "index": index})


def _blocks(content: Json) -> list[Mapping[str, Json]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or [] if isinstance(block, Mapping)]


def _text(content: Json) -> str:
    """All the text in a content list, tool calls and tool results included."""
    out: list[str] = []
    for block in _blocks(content):
        kind = block.get("type")
        if kind == "text":
            out.append(str(block.get("text", "")))
        elif kind == "tool_result":
            out.append(_text(block.get("content")))
        elif kind == "tool_use":
            out.append(json.dumps(block.get("input"), ensure_ascii=False))
    return "\n".join(out)


def _user_texts(content: Json) -> list[str]:
    return [str(b.get("text", "")) for b in _blocks(content) if b.get("type") == "text"]


def _tool_results(content: Json) -> list[ToolResult]:
    return [
        ToolResult(
            call_id=str(block.get("tool_use_id", "")),
            text=_text(block.get("content")),
            is_error=bool(block.get("is_error")),
        )
        for block in _blocks(content)
        if block.get("type") == "tool_result"
    ]
