"""Readable form of a Codex record, made when somebody looks at it.

What a record does not say itself (directory, branch, model, the name of the tool whose output it is)
travels in the turn's notes, since a rollout states them once and not on every line.
"""

from __future__ import annotations

from typing import Final

import msgspec

from waypost.plugins.harnesses.codex.shapes import (
    Compacted,
    CompletedItem,
    Item,
    Outer,
    Part,
    decode,
    parts_of,
    text_of,
)
from waypost.plugins.harnesses.payloads import any_json, media_from_data_url, media_text
from waypost.records.transcript import (
    MESSAGE_TEXT_BYTES_MAX,
    TOOL_TEXT_BYTES_MAX,
    Media,
    ReadableTool,
    ReadableTurn,
)
from waypost.rules.excerpts import excerpt


class Notes(msgspec.Struct, array_like=True, gc=False):
    """What the reader knew when it read a record."""

    cwd: str | None = None
    branch: str | None = None
    model: str | None = None
    tool: str | None = None
    duration_ms: int | None = None


_NOTES: Final = msgspec.msgpack.Decoder(Notes)


def payload_of(outer: Outer, data: bytes) -> Item:
    """Return the item of a line: its payload, or for the oldest format the line itself."""
    return decode(Item, outer.payload if len(outer.payload) else data)


def message_text(parts: list[Part]) -> tuple[str, tuple[Media, ...]]:
    """Return the text of content parts, images replaced by type, size and hash."""
    texts: list[str] = []
    found: list[Media] = []
    for part in parts:
        if part.text:
            texts.append(part.text)
        elif len(part.image_url):
            item = media_from_data_url(text_of(part.image_url))
            if item is not None:
                found.append(item)
                texts.append(media_text(item))
    return "\n".join(texts), tuple(found)


def call_input(item: Item) -> object:
    """Return the input of a call: decoded arguments, or the free text of a custom tool."""
    raw = item.arguments if len(item.arguments) else item.input
    if not len(raw):
        return any_json(item.action) if len(item.action) else None
    text = text_of(raw)
    if text is None:
        return any_json(raw)
    if len(item.arguments):
        value = any_json(text.encode("utf-8", "replace"))
        return text if value is None else value
    return text


def tool_name(item: Item) -> str:
    """Return a tool's name, with its namespace in the one spelling ``namespace__name``."""
    name = item.name or ("local_shell" if item.type == "local_shell_call" else "unknown")
    return f"{item.namespace}__{name}" if item.namespace else name


def output_text(raw: msgspec.Raw) -> tuple[str, tuple[Media, ...]]:
    """Return the text of an output: a string, parts, or an object with ``content``."""
    text = text_of(raw)
    if text is not None:
        return text, ()
    parts = parts_of(raw)
    if parts:
        return message_text(parts)
    value = any_json(raw) if len(raw) else None
    if isinstance(value, dict):
        content = value.get("content")
        return (content if isinstance(content, str) else msgspec.json.encode(value).decode()), ()
    return "", ()


def render(outer: Outer, data: bytes, *, extras: bytes) -> ReadableTurn:
    """Return the readable form of a record."""
    notes = _NOTES.decode(extras) if extras else Notes()
    if outer.type == "compacted":
        return _turn(notes, text=decode(Compacted, outer.payload).message or "")
    item = payload_of(outer, data)
    kind = item.type
    if kind == "item_completed":
        return _completed(notes, decode(CompletedItem, item.item))
    if kind in ("function_call", "custom_tool_call", "local_shell_call"):
        return _call(notes, item)
    if kind in ("function_call_output", "custom_tool_call_output"):
        text, found = output_text(item.output)
        return _result(notes, item.call_id, text, found)
    if kind == "reasoning":
        return _turn(notes, text=message_text(parts_of(item.summary))[0], native=item.id)
    if kind in ("user_message", "error", "stream_error", "warning"):
        return _turn(notes, text=text_of(item.message) or "")
    if kind == "turn_aborted":
        return _turn(notes, text=f"turn aborted: {text_of(item.reason) or 'unknown'}")
    text, found = message_text(parts_of(item.content))
    return _turn(notes, text=text, found=found, native=item.id)


def _call(notes: Notes, item: Item) -> ReadableTurn:
    value = call_input(item)
    dropped = 0
    size = len(item.arguments) + len(item.input) + len(item.action)
    if size > TOOL_TEXT_BYTES_MAX:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        cut = excerpt(text, bytes_max=TOOL_TEXT_BYTES_MAX)
        if cut.dropped:
            value, dropped = cut.text, cut.dropped
    tool = ReadableTool(name=tool_name(item), call_id=item.call_id or item.id, input=value)
    return _turn(notes, tool=tool, dropped=dropped, native=item.id)


def _result(notes: Notes, call_id: str | None, text: str, found: tuple[Media, ...]) -> ReadableTurn:
    cut = excerpt(text, bytes_max=TOOL_TEXT_BYTES_MAX)
    tool = ReadableTool(name=notes.tool, call_id=call_id, result=cut.text, duration_ms=notes.duration_ms)
    return _turn(notes, tool=tool, dropped=cut.dropped, found=found)


def command_input(item: CompletedItem) -> object:
    """Return what a typed item ran, changed or called."""
    if len(item.command):
        return {"command": any_json(item.command)}
    if len(item.changes):
        return {"changes": any_json(item.changes)}
    return any_json(item.arguments) if len(item.arguments) else None


def completed_text(item: CompletedItem) -> str:
    """Return what a typed item gave back."""
    if item.aggregated_output is not None:
        return item.aggregated_output
    for raw in (item.result, item.error):
        if len(raw) and bytes(raw) != b"null":
            value = any_json(raw)
            return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return ""


def _completed(notes: Notes, item: CompletedItem) -> ReadableTurn:
    if item.type == "UserMessage":
        text, found = message_text(parts_of(item.content))
        return _turn(notes, text=text, found=found, native=item.id)
    cut = excerpt(completed_text(item), bytes_max=TOOL_TEXT_BYTES_MAX)
    value = command_input(item)
    dropped = cut.dropped
    packed = msgspec.json.encode(value) if value is not None else b""
    if len(packed) > TOOL_TEXT_BYTES_MAX:
        shorter = excerpt(packed.decode(), bytes_max=TOOL_TEXT_BYTES_MAX)
        value, dropped = shorter.text, dropped + shorter.dropped
    tool = ReadableTool(
        name=notes.tool, call_id=item.id, input=value, result=cut.text, duration_ms=notes.duration_ms
    )
    return _turn(notes, tool=tool, dropped=dropped, native=item.id)


def _turn(
    notes: Notes,
    *,
    text: str = "",
    tool: ReadableTool | None = None,
    dropped: int = 0,
    found: tuple[Media, ...] = (),
    native: str | None = None,
) -> ReadableTurn:
    cut = excerpt(text, bytes_max=MESSAGE_TEXT_BYTES_MAX)
    return ReadableTurn(
        text=cut.text,
        model=notes.model,
        cwd=notes.cwd,
        branch=notes.branch,
        native_id=native,
        tool=tool,
        media=found,
        truncated=cut.dropped + dropped,
    )
