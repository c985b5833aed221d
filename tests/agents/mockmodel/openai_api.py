"""The OpenAI Responses API, as far as Codex uses it.

Endpoint: ``POST /v1/responses`` (streamed or whole). Everything here is pure:
bytes on the socket are the server's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from mockmodel.scenario import Action, HttpError, Json
from mockmodel.wire import Rendered, RequestView, SseEvent, ToolCall, ToolResult, chunks

REFUSAL_STATUS = 400
"""Codex gives up at once on a 400 (and a 429), and retries most other errors."""

_CWD = re.compile(r"<cwd>([^<]+)</cwd>")
_CALL_TYPES = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUT_TYPES = frozenset({"function_call_output", "custom_tool_call_output"})


def view(body: Mapping[str, Json], headers: Mapping[str, str]) -> RequestView:
    """Boil a ``/v1/responses`` request down to a :class:`RequestView`."""
    instructions = str(body.get("instructions") or "")
    system_parts = [instructions]
    transcript: list[str] = [instructions]
    user_texts: list[str] = []
    fresh: list[ToolResult] = []
    for item in _items(body.get("input")):
        kind = item.get("type", "message")
        if kind == "message":
            text = _text(item.get("content"))
            transcript.append(text)
            role = item.get("role")
            if role in ("developer", "system"):
                system_parts.append(text)
            elif role == "user":
                user_texts.append(text)
            elif role == "assistant":
                fresh = []
        elif kind in _CALL_TYPES:
            fresh = []
            transcript.append(str(item.get("arguments") or item.get("input") or ""))
        elif kind in _OUTPUT_TYPES:
            text = _output_text(item.get("output"))
            transcript.append(text)
            fresh.append(ToolResult(str(item.get("call_id", "")), text))
    whole_text = "\n".join(part for part in transcript if part)
    cwds = _CWD.findall(whole_text)
    return RequestView(
        api="openai",
        model=str(body.get("model", "")),
        system="\n".join(part for part in system_parts if part),
        user_texts=tuple(user_texts),
        tool_results=tuple(fresh),
        tool_names=tuple(tool_names(body)),
        transcript=whole_text,
        stream=bool(body.get("stream")),
        kind=_request_kind(headers),
        cwd=cwds[-1] if cwds else None,
        headers=headers,
        body=body,
    )


def tool_names(body: Mapping[str, Json]) -> list[str]:
    """Names of the tools offered; those inside a namespace as ``namespace.name``."""
    return [f"{offer.namespace}.{offer.name}" if offer.namespace else offer.name for offer in _offers(body)]


def lower(action: Action, args: Mapping[str, Json], call_id: str, request: RequestView) -> ToolCall:
    """Turn a portable action into a call of whichever Codex tool was offered.

    Newer models run in *code mode*: the only general tool is ``exec``, whose
    input is JavaScript that calls the real tools.
    """
    tools = _Tools(request, call_id)
    if action.kind == "run":
        return tools.shell(args["command"], args.get("extra") or {})
    if action.kind == "read":
        return tools.shell(f"cat {_quote(args['path'])}", {})
    if action.kind in ("edit", "write"):
        return tools.apply_patch(patch_text(action, args))
    if action.kind == "mcp":
        return tools.mcp(args["server"], args["tool"], args["input"])
    return ToolCall(
        id=cast(str, args.get("id") or call_id),
        name=args["name"],
        input=args["input"] if args["input"] is not None else {},
        namespace=args.get("namespace"),
        custom=args.get("kind") == "custom",
    )


def patch_text(action: Action, args: Mapping[str, Json]) -> str:
    """The action as Codex patch text. An edit's ``old`` must be whole lines."""
    path = args["path"]
    if action.kind == "write":
        body = "".join(f"+{line}\n" for line in args["content"].splitlines())
        return f"*** Begin Patch\n*** Add File: {path}\n{body}*** End Patch\n"
    old = "".join(f"-{line}\n" for line in args["old"].splitlines())
    new = "".join(f"+{line}\n" for line in args["new"].splitlines())
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n{old}{new}*** End Patch\n"


def call_id(tag: str, number: int, index: int) -> str:
    return f"call_{tag}{number:04d}{index:02d}"


def events(turn: Rendered) -> Iterator[SseEvent]:
    """The event stream of one response, from ``response.created`` to ``.completed``."""
    sequence = _Sequence()
    yield sequence.event("response.created", response=_response(turn, [], "in_progress"))
    output = list(_output_items(turn))
    for index, item in enumerate(output):
        where = {"output_index": index, "item_id": item["id"]}
        empty = {**item, "status": "in_progress"}
        if item["type"] == "message":
            empty["content"] = []
        yield sequence.event("response.output_item.added", output_index=index, item=empty)
        if item["type"] == "message":
            for piece in chunks(turn.text, turn.chunk_chars):
                yield sequence.event("response.output_text.delta", **where, content_index=0, delta=piece)
        elif item["type"] == "reasoning":
            yield sequence.event(
                "response.reasoning_summary_part.added",
                **where,
                summary_index=0,
                part={"type": "summary_text", "text": ""},
            )
            for piece in chunks(turn.reasoning, turn.chunk_chars):
                yield sequence.event(
                    "response.reasoning_summary_text.delta", **where, summary_index=0, delta=piece
                )
        yield sequence.event("response.output_item.done", output_index=index, item=item)
    yield sequence.event("response.completed", response=_response(turn, output, "completed"))


def whole(turn: Rendered) -> Json:
    """The same response for a request that did not ask for a stream."""
    return _response(turn, list(_output_items(turn)), "completed")


def error_body(error: HttpError) -> Json:
    return {"error": {"type": error.type, "message": error.message, "code": error.type}}


def error_event(message: str) -> SseEvent:
    """A failure in the middle of a stream."""
    response = {
        "id": "resp_mock_failed",
        "object": "response",
        "status": "failed",
        "error": {"code": "server_error", "message": message},
    }
    return SseEvent("response.failed", {"type": "response.failed", "response": response})


def models() -> Json:
    return {
        "object": "list",
        "data": [{"id": "mock-model", "object": "model", "created": 0, "owned_by": "mock"}],
    }


# --------------------------------------------------------------------------


class _Sequence:
    def __init__(self) -> None:
        self._next = 0

    def event(self, name: str, **fields: Json) -> SseEvent:
        data = {"type": name, "sequence_number": self._next, **fields}
        self._next += 1
        return SseEvent(name, data)


def _response(turn: Rendered, output: list[Json], status: str) -> dict[str, Json]:
    response: dict[str, Json] = {
        "id": f"resp_{turn.tag}{turn.number:04d}",
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": turn.model,
        "output": output,
    }
    if status == "completed":
        usage = turn.usage
        written = usage.cache_write + usage.cache_write_1h
        prompt = usage.input + usage.cache_read + written
        response["usage"] = {
            "input_tokens": prompt,
            "input_tokens_details": {
                "cached_tokens": usage.cache_read,
                "cache_write_tokens": written,
            },
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": prompt + usage.output,
        }
    return response


def _output_items(turn: Rendered) -> Iterator[dict[str, Json]]:
    if turn.reasoning:
        yield {
            "type": "reasoning",
            "id": f"rs_{turn.tag}{turn.number:04d}",
            "summary": [{"type": "summary_text", "text": turn.reasoning}],
            "encrypted_content": None,
        }
    if turn.text:
        yield {
            "type": "message",
            "id": f"msg_{turn.tag}{turn.number:04d}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": turn.text, "annotations": []}],
        }
    for index, call in enumerate(turn.calls):
        item: dict[str, Json] = {
            "id": f"fc_{turn.tag}{turn.number:04d}{index:02d}",
            "call_id": call.id,
            "name": call.name,
            "status": "completed",
        }
        if call.namespace:
            item["namespace"] = call.namespace
        if call.custom:
            yield {"type": "custom_tool_call", "input": str(call.input), **item}
        else:
            arguments = json.dumps(call.input, ensure_ascii=False)
            yield {"type": "function_call", "arguments": arguments, **item}


@dataclass(frozen=True, slots=True)
class _Offer:
    """One tool that the client offers to the model."""

    namespace: str | None
    name: str
    custom: bool


def _offers(body: Mapping[str, Json]) -> list[_Offer]:
    """The offered tools: from ``tools`` and, in its "lite" form, from ``input`` items."""
    listed: list[Mapping[str, Json]] = list(body.get("tools") or [])
    for item in _items(body.get("input")):
        if item.get("type") == "additional_tools":
            listed += item.get("tools") or []
    offers: list[_Offer] = []
    for tool in listed:
        inner = tool.get("tools", []) if tool.get("type") == "namespace" else [tool]
        namespace = str(tool.get("name")) if tool.get("type") == "namespace" else None
        for one in inner:
            name = str(one.get("name") or one.get("type") or "")
            offers.append(_Offer(namespace, name, one.get("type") == "custom"))
    return offers


class _Tools:
    """Picks, for one tool call, the form that fits the tools on offer."""

    def __init__(self, request: RequestView, call_id: str) -> None:
        self._call_id = call_id
        self._offers = {offer.name: offer for offer in reversed(_offers(request.body))}
        code = self._offers.get("exec")
        self._code_mode = code is not None and code.custom

    def _code(self, source: str) -> ToolCall:
        return ToolCall(self._call_id, "exec", source, custom=True)

    def shell(self, command: str, extra: Mapping[str, Json]) -> ToolCall:
        if self._code_mode:
            call = json.dumps({"cmd": command, **extra}, ensure_ascii=False)
            return self._code(
                f"const r = await tools.exec_command({call});\n"
                "text(r.output);\ntext(`exit code: ${r.exit_code}`);\n"
            )
        if "exec_command" in self._offers:
            return ToolCall(self._call_id, "exec_command", {"cmd": command, **extra})
        if "shell_command" in self._offers:
            return ToolCall(self._call_id, "shell_command", {"command": command, **extra})
        words = ["bash", "-lc", command]
        return ToolCall(self._call_id, "shell", {"command": words, **extra})

    def apply_patch(self, patch: str) -> ToolCall:
        if self._code_mode:
            call = json.dumps(patch, ensure_ascii=False)
            return self._code(f"text(await tools.apply_patch({call}));\n")
        offer = self._offers.get("apply_patch")
        if offer is None:
            return self.shell(f"apply_patch <<'PATCH'\n{patch}PATCH\n", {})
        if offer.custom:
            return ToolCall(self._call_id, "apply_patch", patch, custom=True)
        return ToolCall(self._call_id, "apply_patch", {"input": patch})

    def mcp(self, server: str, tool: str, arguments: Json) -> ToolCall:
        if self._code_mode:
            call = json.dumps(arguments, ensure_ascii=False)
            return self._code(f"text(await tools.mcp__{server}__{tool}({call}));\n")
        offer = self._offers.get(tool)
        namespace = offer.namespace if offer else f"mcp__{server}"
        return ToolCall(self._call_id, tool, arguments, namespace=namespace)


def _quote(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"


def _items(value: Json) -> list[Mapping[str, Json]]:
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    return [item for item in value or [] if isinstance(item, Mapping)]


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(
        str(part.get("text", "")) for part in content or [] if isinstance(part, Mapping) and "text" in part
    )


def _output_text(output: Json) -> str:
    if isinstance(output, Mapping):
        return str(output.get("content", output))
    return _text(output)


def _request_kind(headers: Mapping[str, str]) -> str:
    """Codex says in a JSON header what a request is for."""
    try:
        metadata = json.loads(headers.get("x-codex-turn-metadata", ""))
    except ValueError:
        return ""
    return str(metadata.get("request_kind", "")) if isinstance(metadata, Mapping) else ""
