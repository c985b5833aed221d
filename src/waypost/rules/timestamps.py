"""Time stamps of transcripts: ISO 8601 text to integer milliseconds, and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

_MINUTES_CACHED_MAX: Final = 4096
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_minutes: dict[str, int] = {}


def parse_ms(text: object) -> int | None:
    """Return milliseconds since the epoch, or None for anything that is no ISO 8601 time.

    A time without zone is read as UTC, as both harnesses mean it. The common shape
    ``YYYY-MM-DDTHH:MM:SS.mmmZ`` is read without ``datetime``: one look-up per minute seen.
    """
    if not isinstance(text, str):
        return None
    common = len(text) == 24 and text[19::4] == ".Z"
    if common:
        base = _minutes.get(text[:17])
        if base is not None:
            seconds, fraction = text[17:19], text[20:23]
            if seconds.isdecimal() and fraction.isdecimal() and seconds < "60":
                return base + int(seconds) * 1000 + int(fraction)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        value = (moment - _EPOCH) // _MILLISECOND
    except OverflowError:
        return None
    if common:
        if len(_minutes) > _MINUTES_CACHED_MAX:
            _minutes.clear()
        _minutes[text[:17]] = value - value % 60_000
    return value


def format_ms(at: int | None) -> str | None:
    """Return ``YYYY-MM-DDTHH:MM:SS.mmmZ``, or None. Out-of-range values give None."""
    if at is None:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=at)
    except OverflowError:
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1000:03d}Z"


def day_of(at: int, *, zone: tzinfo | None = None) -> str:
    """Return the calendar day ``YYYY-MM-DD`` of a time, in ``zone`` or else in local time."""
    moment = _EPOCH + timedelta(milliseconds=at)
    return moment.astimezone(zone).strftime("%Y-%m-%d")
