"""The parts of Claude Code's transcript records that we read, as closed-enough shapes.

Source: field inventory of versions 0.2.126 to 2.1.332. Unknown members are skipped by the decoder at
about 1 GB/s, which is why a record is decoded into these shapes and not into dictionaries. A member
of an unexpected type sends the record through ``_fit``, which keeps what fits.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from waypost.plugins.harnesses.payloads import Count, loose_json

EMPTY_RAW: Final = msgspec.Raw(b"")


class Creation(msgspec.Struct, gc=False):
    """Cache writes by lifetime."""

    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class ServerTools(msgspec.Struct, gc=False):
    """Calls to tools that run at the provider."""

    web_search_requests: Count | None = None


class OutputDetails(msgspec.Struct, gc=False):
    """What output tokens were spent on."""

    thinking_tokens: Count | None = None


class Usage(msgspec.Struct, gc=False):
    """``message.usage``; ``input_tokens`` is uncached input only."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation: Creation | None = None
    server_tool_use: ServerTools | None = None
    output_tokens_details: OutputDetails | None = None


class Block(msgspec.Struct):
    """A content block of a message."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = EMPTY_RAW
    tool_use_id: str | None = None
    content: msgspec.Raw = EMPTY_RAW
    is_error: bool | None = None
    source: msgspec.Raw = EMPTY_RAW


class Message(msgspec.Struct):
    """An API message."""

    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: str | list[Block] | None = None
    stop_reason: str | None = None
    usage: Usage | None = None


class PromptOrigin(msgspec.Struct, gc=False):
    """Who wrote a prompt (2.1.200 and later)."""

    kind: str | None = None


class Record(msgspec.Struct, rename="camel"):
    """One line."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    agent_id: str | None = None
    entrypoint: str | None = None
    prompt_source: str | None = None
    origin: PromptOrigin | None = None
    row_source: str | None = None
    tool_denial_kind: str | None = None
    tool_denial_before_run: bool | None = None
    user_feedback: str | None = None
    message: Message | None = None
    tool_use_result: msgspec.Raw = EMPTY_RAW
    data: msgspec.Raw = EMPTY_RAW
    content: msgspec.Raw = EMPTY_RAW
    compact_metadata: msgspec.Raw = EMPTY_RAW
    attachment: msgspec.Raw = EMPTY_RAW
    plan_content: msgspec.Raw = EMPTY_RAW
    operation: str | None = None
    title: str | None = None
    ai_title: str | None = None
    custom_title: str | None = None
    summary: str | None = None
    total_cost: msgspec.Raw = msgspec.field(name="totalCostUSD", default=EMPTY_RAW)
    error: msgspec.Raw = EMPTY_RAW


class ProgressInner(msgspec.Struct, rename="camel"):
    """The record of a sub-agent inside a progress record (2.0.7x to 2.1.6x)."""

    type: str | None = None
    message: Message | None = None
    timestamp: str | None = None
    uuid: str | None = None


class ProgressData(msgspec.Struct):
    """``data`` of a progress record."""

    type: str | None = None
    message: ProgressInner | None = None


class ToolUseResult(msgspec.Struct, rename="camel", gc=False):
    """The facts that we read of ``toolUseResult`` where it is an object."""

    interrupted: bool | None = None
    background_task_id: str | None = None
    search_count: Count | None = None


_RECORD: Final = msgspec.json.Decoder(Record)
_PROGRESS: Final = msgspec.json.Decoder(ProgressData)


_RESULT: Final = msgspec.json.Decoder(ToolUseResult)


def decode_result(raw: msgspec.Raw) -> ToolUseResult:
    """Decode ``toolUseResult``; text, null and other shapes give an empty one."""
    try:
        return _RESULT.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ToolUseResult()


def decode_record(data: bytes) -> Record | None:
    """Decode one line. Returns None for JSON that is no object. Errors: ``ValueError`` for no JSON."""
    try:
        return _RECORD.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    value = loose_json(data)
    return _fit(Record, value) if isinstance(value, dict) else None


def decode_progress(raw: msgspec.Raw) -> ProgressInner | None:
    """Decode the sub-agent record of a progress record, if there is one."""
    try:
        found = _PROGRESS.decode(raw).message
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if found is not None and found.message is not None else None


_Shape = TypeVar("_Shape", bound=msgspec.Struct)


def _fit(kind: type[_Shape], value: dict[str, object]) -> _Shape:
    """Build a shape from a dictionary, member by member, leaving out what does not fit."""
    kept: dict[str, object] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in value:
            continue
        item = value[field.encode_name]
        if field.type is msgspec.Raw:
            kept[field.name] = msgspec.Raw(msgspec.json.encode(item))
            continue
        try:
            kept[field.name] = msgspec.convert(item, field.type)
        except (msgspec.ValidationError, RecursionError):
            if isinstance(item, dict):
                nested = _NESTED.get((kind, field.name))
                if nested is not None:
                    kept[field.name] = _fit(nested, item)
            elif isinstance(item, list) and kind is Message and field.name == "content":
                kept[field.name] = [_fit_block(block) for block in item]
    return kind(**kept)


def _fit_block(value: object) -> Block:
    if isinstance(value, dict):
        return _fit(Block, value)
    return Block(type="text", text=value) if isinstance(value, str) else Block()


_NESTED: Final[dict[tuple[type[msgspec.Struct], str], type[msgspec.Struct]]] = {
    (Record, "message"): Message,
    (Record, "origin"): PromptOrigin,
    (Message, "usage"): Usage,
    (Usage, "cache_creation"): Creation,
    (Usage, "server_tool_use"): ServerTools,
    (Usage, "output_tokens_details"): OutputDetails,
}
