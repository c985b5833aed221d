"""Time stamps of transcripts: ISO 8601 text to integer milliseconds, and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_ms(text: object) -> int | None:
    """Return milliseconds since the epoch, or None for anything that is no ISO 8601 time.

    A time without zone is read as UTC, as both harnesses mean it. Fractions below a millisecond are
    cut off, towards the past.
    """
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        since = moment - _EPOCH
    except OverflowError:
        return None
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


def format_ms(at: int | None) -> str | None:
    """Return ``YYYY-MM-DDTHH:MM:SS.mmmZ``, or None. Out-of-range values give None."""
    if at is None:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=at)
    except OverflowError:
        return None
    return f"{moment.year:04d}" + moment.strftime("-%m-%dT%H:%M:%S.") + f"{at % 1000:03d}Z"


def day_of(at: int, *, zone: tzinfo | None = None) -> str:
    """Return the calendar day ``YYYY-MM-DD`` of a time, in ``zone`` or else in local time."""
    moment = _EPOCH + timedelta(milliseconds=at)
    return moment.astimezone(zone).date().isoformat()
