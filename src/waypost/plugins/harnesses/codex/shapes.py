"""The parts of Codex's rollout records that we read.

Source: field inventory of versions 0.20 to 0.171. Three line shapes: bare response items (0.20 to
0.29), ``{timestamp, type, payload}`` (0.39 and later), the same with ``ordinal`` (0.155 and later).
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from waypost.plugins.harnesses.payloads import Count, ExitStatus, loose_json

EMPTY_RAW: Final = msgspec.Raw(b"")


class Outer(msgspec.Struct):
    """A line. Bare lines of the oldest format are response items themselves."""

    type: str | None = None
    timestamp: str | None = None
    payload: msgspec.Raw = EMPTY_RAW
    record_type: str | None = None
    id: str | None = None
    git: msgspec.Raw = EMPTY_RAW
    role: str | None = None


class Git(msgspec.Struct, gc=False):
    """Repository facts of a session."""

    branch: str | None = None
    repository_url: str | None = None


class SessionMeta(msgspec.Struct):
    """``session_meta``; the first one names the file's own thread."""

    id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    originator: str | None = None
    cli_version: str | None = None
    source: msgspec.Raw = EMPTY_RAW
    thread_source: msgspec.Raw = EMPTY_RAW
    git: Git | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None


class TurnContext(msgspec.Struct, gc=False):
    """``turn_context``: where a turn runs and with which model."""

    cwd: str | None = None
    model: str | None = None
    turn_id: str | None = None


class TokenUsage(msgspec.Struct, gc=False):
    """Token counts; cached and cache-write input are part of input, reasoning is part of output."""

    input_tokens: Count | None = None
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    output_tokens: Count | None = None
    reasoning_output_tokens: Count | None = None
    total_tokens: Count | None = None


class TokenInfo(msgspec.Struct, gc=False):
    """``info`` of a ``token_count`` event."""

    total_token_usage: TokenUsage | None = None
    last_token_usage: TokenUsage | None = None


class UsageRecord(msgspec.Struct):
    """``token_usage_record`` (0.155 and later): one API response."""

    turn_id: str | None = None
    response_id: str | None = None
    usage: TokenUsage | None = None
    thread_token_usage: TokenUsage | None = None


class Compacted(msgspec.Struct):
    """``compacted``; its ``replacement_history`` repeats old messages and is never read."""

    message: str | None = None


class Provenance(msgspec.Struct, gc=False):
    """Who made a content item."""

    type: str | None = None


class ContentMetadata(msgspec.Struct):
    """Metadata of one content item."""

    provenance: Provenance | None = None


class Passthrough(msgspec.Struct):
    """Metadata that new versions attach to response items."""

    turn_id: str | None = None
    content_item_metadata: list[ContentMetadata] | None = None


class Item(msgspec.Struct):
    """A response item or an event, by ``type``."""

    type: str = ""
    id: str | None = None
    role: str | None = None
    timestamp: msgspec.Raw = EMPTY_RAW
    content: msgspec.Raw = EMPTY_RAW
    name: str | None = None
    namespace: str | None = None
    arguments: msgspec.Raw = EMPTY_RAW
    input: msgspec.Raw = EMPTY_RAW
    action: msgspec.Raw = EMPTY_RAW
    call_id: str | None = None
    output: msgspec.Raw = EMPTY_RAW
    status: str | None = None
    summary: msgspec.Raw = EMPTY_RAW
    message: msgspec.Raw = EMPTY_RAW
    text: str | None = None
    reason: msgspec.Raw = EMPTY_RAW
    info: TokenInfo | None = None
    turn_id: str | None = None
    item: msgspec.Raw = EMPTY_RAW
    passthrough: Passthrough | None = msgspec.field(
        name="internal_chat_message_metadata_passthrough", default=None
    )


class Duration(msgspec.Struct, gc=False):
    """A duration of the harness's own clock."""

    secs: Count | None = None
    nanos: Count | None = None


class CompletedItem(msgspec.Struct):
    """``item`` of ``item_completed``: a typed fact about something that ended."""

    type: str = ""
    id: str | None = None
    content: msgspec.Raw = EMPTY_RAW
    command: msgspec.Raw = EMPTY_RAW
    cwd: str | None = None
    status: str | None = None
    aggregated_output: str | None = None
    exit_code: ExitStatus | None = None
    duration: Duration | None = None
    changes: msgspec.Raw = EMPTY_RAW
    server: str | None = None
    tool: str | None = None
    arguments: msgspec.Raw = EMPTY_RAW
    result: msgspec.Raw = EMPTY_RAW
    error: msgspec.Raw = EMPTY_RAW
    prompt: str | None = None


class Part(msgspec.Struct):
    """A content part of a message or of a tool output."""

    type: str = ""
    text: str | None = None
    image_url: msgspec.Raw = EMPTY_RAW


_NESTED: dict[tuple[type[msgspec.Struct], str], type[msgspec.Struct]] = {
    (SessionMeta, "git"): Git,
    (TokenInfo, "total_token_usage"): TokenUsage,
    (TokenInfo, "last_token_usage"): TokenUsage,
    (UsageRecord, "usage"): TokenUsage,
    (UsageRecord, "thread_token_usage"): TokenUsage,
    (Item, "info"): TokenInfo,
    (Item, "passthrough"): Passthrough,
    (CompletedItem, "duration"): Duration,
}
_Shape = TypeVar("_Shape", bound=msgspec.Struct)
_DECODERS: dict[type[msgspec.Struct], msgspec.json.Decoder[Any]] = {}
_PARTS: Final = msgspec.json.Decoder(list[Part])
_TEXT: Final = msgspec.json.Decoder(str)
_OUTER: Final = msgspec.json.Decoder(Outer)


def decode_outer(data: bytes) -> Outer | None:
    """Decode a line; None for JSON that is no object. Errors: ``ValueError`` for no JSON."""
    try:
        return _OUTER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    value = loose_json(data)
    return fit(Outer, value) if isinstance(value, dict) else None


def decode(kind: type[_Shape], raw: bytes | msgspec.Raw) -> _Shape:
    """Decode an inner object leniently: members that do not fit are left out; never raises."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    try:
        value = decoder.decode(raw)
        assert isinstance(value, kind)
        return value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        loose = loose_json(bytes(raw))
    except ValueError:
        return kind()
    return fit(kind, loose) if isinstance(loose, dict) else kind()


def fit(kind: type[_Shape], value: dict[str, object]) -> _Shape:
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
            nested = _NESTED.get((kind, field.name))
            if nested is not None and isinstance(item, dict):
                kept[field.name] = fit(nested, item)
    return kind(**kept)


def text_of(raw: msgspec.Raw) -> str | None:
    """Return a JSON string's value; None for anything else."""
    if not len(raw):
        return None
    try:
        return _TEXT.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def parts_of(raw: msgspec.Raw) -> list[Part]:
    """Return the parts of a message or output: a list of parts, a single text, or nothing."""
    if not len(raw):
        return []
    try:
        return _PARTS.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = text_of(raw)
        return [Part(type="text", text=text)] if text is not None else []
