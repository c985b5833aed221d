"""Shared by the readers: JSON leaves for the index, media summaries, loose decoding."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
from typing import Annotated, Final

import msgspec

from waypost.records.transcript import Media

#: A count as a record may state it: no harness counts below zero or beyond what a double holds. A
#: figure outside is left out, like any other member that does not fit.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
#: An exit status as a harness may state it; negative for a process it ended itself.
ExitStatus = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]

LEAVES_MAX: Final = 2000
DEPTH_MAX: Final = 24
SCRUB_DEPTH_MAX: Final = 200
_ANY: Final = msgspec.json.Decoder()


def loose_json(data: bytes) -> object:
    """Decode JSON that the fast decoder refuses: lone surrogates, NaN, a byte order mark, bad UTF-8.

    The result holds only what JSON can carry: surrogates become ``?``, non-finite numbers None, huge
    integers text. Errors: ``ValueError`` for what is JSON for nobody.
    """
    try:
        return _scrub(json.loads(data.decode("utf-8-sig", "replace")), 0)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _scrub(value: object, depth: int) -> object:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > SCRUB_DEPTH_MAX:
        return None
    if isinstance(value, dict):
        return {str(_scrub(name, 0)): _scrub(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_scrub(item, depth + 1) for item in value]
    return None


def any_json(data: bytes | msgspec.Raw) -> object:
    """Decode JSON to plain values; None for anything unreadable."""
    try:
        return _ANY.decode(data)
    except (ValueError, RecursionError):
        try:
            return loose_json(bytes(data))
        except (ValueError, RecursionError):
            return None


def leaves(value: object, found: list[str] | None = None, depth: int = 0) -> list[str]:
    """Collect the text values inside a JSON value, in order, bounded in number and depth."""
    found = [] if found is None else found
    if depth > DEPTH_MAX or len(found) >= LEAVES_MAX:
        return found
    if isinstance(value, str):
        if value:
            found.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            leaves(item, found, depth + 1)
    elif isinstance(value, list):
        for item in value:
            leaves(item, found, depth + 1)
    return found


def media(media_type: object, data: object) -> Media:
    """Summarise a base64 payload: declared type, decoded size, SHA-256 of the decoded bytes.

    Text that is not base64 is hashed as it stands, so two equal payloads still compare equal.
    """
    text = data if isinstance(data, str) else ""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        content = text.encode("utf-8", "replace")
    kind = media_type if isinstance(media_type, str) and media_type else "application/octet-stream"
    return Media(media_type=kind, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def media_from_data_url(url: object) -> Media | None:
    """Summarise a ``data:`` URL; None for any other URL."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    head, _, body = url.partition(",")
    return media(head[5:].split(";")[0], body)


def media_text(item: Media) -> str:
    """The words that stand for a payload in readable text."""
    return f"[{item.media_type}, {item.bytes} bytes, sha256:{item.sha256[:16]}…]"
