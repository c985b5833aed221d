"""Readable form of a Claude Code record, made when somebody looks at it.

A record up to ``RAW_RECORD_BYTES_MAX`` is kept whole and rendered from its bytes. A larger one is
rendered once, at ingestion (``project``), and kept in that form with its hash and byte range.
"""

from __future__ import annotations

from typing import Final

import msgspec

from waypost.plugins.harnesses.claude_code.shapes import Block, Record
from waypost.plugins.harnesses.payloads import any_json, media, media_text
from waypost.records.transcript import (
    MESSAGE_TEXT_BYTES_MAX,
    TOOL_TEXT_BYTES_MAX,
    Media,
    ReadableTool,
    ReadableTurn,
)
from waypost.rules.excerpts import excerpt
from waypost.rules.timestamps import parse_ms

_FEEDBACK: Final = "the user said:\n"
_PLAIN: Final = msgspec.json.Decoder(str)
_BLOCKS: Final = msgspec.json.Decoder(list[Block])


def result_text(raw: msgspec.Raw) -> tuple[str, tuple[Media, ...]]:
    """Return the text of a tool result and what stands for its images."""
    if not len(raw):
        return "", ()
    try:
        return _PLAIN.decode(raw), ()
    except msgspec.DecodeError:
        pass
    try:
        blocks = _BLOCKS.decode(raw)
    except msgspec.DecodeError:
        value = any_json(raw)
        return (value if isinstance(value, str) else ""), ()
    return _flatten(blocks)


def _flatten(blocks: list[Block]) -> tuple[str, tuple[Media, ...]]:
    texts: list[str] = []
    found: list[Media] = []
    for block in blocks:
        if block.text:
            texts.append(block.text)
        elif block.type in ("image", "document") and len(block.source):
            source = any_json(block.source)
            if isinstance(source, dict) and source.get("data"):
                item = media(source.get("media_type"), source.get("data"))
                found.append(item)
                texts.append(media_text(item))
        elif block.type == "tool_reference" and block.name:
            texts.append(block.name)
    return "\n".join(texts), tuple(found)


def system_text(record: Record) -> str:
    """Return the words of a system record: its content, else its subtype."""
    value = any_json(record.content) if len(record.content) else None
    text = value if isinstance(value, str) else ""
    subtype = record.subtype or "system"
    return f"{subtype}: {text}" if text else subtype


def render(record: Record, *, part: int, extras: bytes) -> ReadableTurn:
    """Return the readable form of part ``part`` of a record."""
    if record.type == "system":
        return _turn(record, text=system_text(record))
    if record.type == "queue-operation":
        return _turn(record, text=msgspec.msgpack.decode(extras, type=str) if extras else "")
    message = record.message
    content = message.content if message is not None else None
    if isinstance(content, str):
        return _turn(record, text=_shown(record, content))
    blocks = content or []
    if record.type == "user":
        return _user(record, blocks, part, extras)
    if part >= len(blocks):
        return _turn(record)
    block = blocks[part]
    if block.type in ("tool_use", "server_tool_use", "mcp_tool_use"):
        return _call(record, block, part)
    if not (block.text or block.thinking) and len(block.source):
        text, found = _flatten([block])
        return _turn(record, text=text, found=found)
    return _turn(record, text=block.text or block.thinking or "")


def _shown(record: Record, text: str) -> str:
    if record.type != "user":
        return text
    from waypost.plugins.harnesses.claude_code.prompts import author

    return author(record, text).text


def _user(record: Record, blocks: list[Block], part: int, extras: bytes) -> ReadableTurn:
    results = [block for block in blocks if block.type == "tool_result"]
    if part < len(results):
        return _result(record, results[part], part, extras)
    if results:
        return _turn(record, text="\n".join(block.text for block in blocks if block.text))
    text, found = _flatten(blocks)
    return _turn(record, text=_shown(record, text), found=found)


def _call(record: Record, block: Block, part: int) -> ReadableTurn:
    raw = bytes(block.input)
    value: object = any_json(block.input) if raw else None
    dropped = 0
    if len(raw) > TOOL_TEXT_BYTES_MAX:
        cut = excerpt(raw.decode("utf-8", "replace"), bytes_max=TOOL_TEXT_BYTES_MAX)
        value, dropped = cut.text, cut.dropped
    tool = ReadableTool(name=block.name, call_id=block.id or f"{record.uuid}:{part}", input=value)
    return _turn(record, tool=tool, dropped=dropped)


def _result(record: Record, block: Block, part: int, extras: bytes) -> ReadableTurn:
    text, found = result_text(block.content)
    cut = excerpt(text, bytes_max=TOOL_TEXT_BYTES_MAX)
    name: str | None = None
    duration: int | None = None
    if extras:
        name, started = msgspec.msgpack.decode(extras, type=tuple[str | None, int | None])
        at = parse_ms(record.timestamp)
        if started is not None and at is not None and at >= started:
            duration = at - started
    feedback = record.user_feedback
    if feedback is None and block.is_error and _FEEDBACK in text:
        feedback = text.split(_FEEDBACK, 1)[1].strip()
    tool = ReadableTool(
        name=name,
        call_id=block.tool_use_id or f"{record.uuid}:{part}",
        result=cut.text,
        duration_ms=duration,
        feedback=excerpt(feedback, bytes_max=TOOL_TEXT_BYTES_MAX).text if feedback else None,
    )
    return _turn(record, tool=tool, dropped=cut.dropped, found=found)


def _turn(
    record: Record,
    *,
    text: str = "",
    tool: ReadableTool | None = None,
    dropped: int = 0,
    found: tuple[Media, ...] = (),
) -> ReadableTurn:
    cut = excerpt(text, bytes_max=MESSAGE_TEXT_BYTES_MAX)
    message = record.message
    return ReadableTurn(
        text=cut.text,
        model=message.model if message is not None else None,
        cwd=record.cwd,
        branch=record.git_branch or None,
        native_id=record.uuid,
        parent_native_id=record.parent_uuid,
        response_id=message.id if message is not None else None,
        agent=record.agent_id,
        tool=tool,
        media=found,
        truncated=cut.dropped + dropped,
    )
