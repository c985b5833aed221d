"""ISO 8601 text to milliseconds: what both harnesses write, and what is no time."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest

from waypost.rules.timestamps import day_of, format_ms, parse_ms

NOON = 1_796_040_000_000  # 2026-11-30T12:00:00Z


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-30T12:00:00.000Z", NOON),
        ("2026-11-30T12:00:59.999Z", NOON + 59_999),
        ("2026-11-30T12:00:00Z", NOON),
        ("2026-11-30T12:00:00.123456Z", NOON + 123),
        ("2026-11-30T12:00:00.123456789Z", NOON + 123),
        ("2026-11-30T13:00:00.000+01:00", NOON),
        ("2026-11-30T12:00:00", NOON),
        ("2026-11-30", NOON - 12 * 3_600_000),
        ("1970-01-01T00:00:00.000Z", 0),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_a_time_is_its_milliseconds_since_the_epoch(text: str, at: int) -> None:
    assert parse_ms(text) == at
    assert parse_ms(text) == at


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        NOON,
        1.5,
        b"2026-11-30T12:00:00.000Z",
        [],
        "",
        "now",
        "2026-11-30T12:00:60.000Z",
        "2026-11-30T12:00:0x.000Z",
        "2026-11-30T12:00:00.00xZ",
        "2026-11-30T24:30:00.000Z",
        "2026-13-30T12:00:00.000Z",
        "2026-11-30T12:00:\u0661\u0662.000Z",
        "2026-11-30T12:00:00.\uff10\uff11\uff12Z",
        "2026-11-30T12:00:00.\u00b2\u00b2\u00b2Z",
    ],
)
def test_what_is_no_time_gives_none_also_when_its_minute_is_known(value: object) -> None:
    assert parse_ms(value) is None
    assert parse_ms("2026-11-30T12:00:01.000Z") == NOON + 1000
    assert parse_ms(value) is None


def test_a_time_is_printed_with_milliseconds_in_utc() -> None:
    assert format_ms(NOON + 7) == "2026-11-30T12:00:00.007Z"
    assert format_ms(-1) == "1969-12-31T23:59:59.999Z"
    assert format_ms(None) is None
    assert format_ms(2**62) is None


def test_a_day_is_that_of_the_zone() -> None:
    late = NOON + 11 * 3_600_000 + 59 * 60_000
    assert day_of(late, zone=UTC) == "2026-11-30"
    assert day_of(late, zone=timezone(timedelta(hours=1))) == "2026-12-01"
    assert day_of(late, zone=timezone(timedelta(hours=-12))) == "2026-11-30"
