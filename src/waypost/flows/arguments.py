"""What a question may carry: times, page sizes, cursors, harness names; and what is said of a bad one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Final

from waypost.errors import UsageError

SHOWN_CHARACTERS_MAX: Final = 80
LIMIT_MAX: Final = 10_000
HARNESSES: Final = ("claude_code", "codex")
HARNESS_NAMES: Final = {"claude": "claude_code", "claude-code": "claude_code"}


def shown(text: str) -> str:
    """Return the start of an argument, for a message."""
    return text if len(text) <= SHOWN_CHARACTERS_MAX else text[:SHOWN_CHARACTERS_MAX] + "…"


def parse_optional_time(
    text: str | None, *, now_ms: int, zone: tzinfo | None, day_end: bool = False
) -> int | None:
    """As ``parse_time``; None for an option that was not given."""
    return None if text is None else parse_time(text, now_ms=now_ms, zone=zone, day_end=day_end)


def cursor_text(value: Sequence[int | str]) -> str:
    """Return a cursor: opaque text that carries a place in an order."""
    import base64
    import json

    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def cursor_value(text: str | None, shape: tuple[type, ...]) -> list[int | str] | None:
    """Read a cursor back. Errors: ``bad_cursor`` for anything this command did not give out."""
    if text is None:
        return None
    import base64
    import binascii
    import json

    try:
        value = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        value = None
    if (
        not isinstance(value, list)
        or len(value) != len(shape)
        or not all(type(one) is kind for one, kind in zip(value, shape, strict=True))
        or any(isinstance(one, int) and abs(one) >= 2**62 for one in value)
    ):
        raise UsageError(
            "bad_cursor",
            f"expected a cursor that this command gave out, found {shown(text)!r}",
            hint="leave --cursor away to start from the beginning",
        )
    return value


def parse_time(text: str, *, now_ms: int, zone: tzinfo | None, day_end: bool = False) -> int:
    """Read a day, a time or an age (``90d``, ``12h``, ``2w``, ``30m``). Errors: ``bad_time``.

    A day means its first instant, or with ``day_end`` the first instant after it.
    """
    unit = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}.get(text[-1:])
    if unit is not None and len(text) <= 7 and text[:-1].isascii() and text[:-1].isdigit():
        return now_ms - int(text[:-1]) * unit
    try:
        moment = datetime.fromisoformat(text)
        if day_end and len(text) == len("2026-11-30"):
            moment += timedelta(days=1)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()
        return int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise UsageError(
            "bad_time",
            "expected a day (2026-11-30), a time (2026-11-30T16:00) or an age (90d, 12h), found"
            f" {shown(text)!r}",
        ) from None


def checked_limit(value: int, *, default: int) -> int:
    """Return a page size. Errors: ``bad_arguments`` below 1 or above ``LIMIT_MAX``."""
    if value == 0:
        return default
    if not 1 <= value <= LIMIT_MAX:
        raise UsageError("bad_arguments", f"expected --limit between 1 and {LIMIT_MAX}, found {value}")
    return value


def harness_name(text: str | None) -> str | None:
    """Return a harness's full name. Errors: ``bad_arguments`` for one that nobody reads."""
    if text is None:
        return None
    name = HARNESS_NAMES.get(text, text)
    if name not in HARNESSES:
        raise UsageError(
            "bad_arguments",
            f"expected a harness of {', '.join(HARNESSES)}, found {shown(text)!r}",
        )
    return name
