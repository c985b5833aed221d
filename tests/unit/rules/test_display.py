"""Tests of neutralising, cutting and measuring untrusted text, and of the figure formats."""

import unicodedata
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.rules.display import (
    display_width,
    format_bytes,
    format_count,
    format_duration_ms,
    format_tokens,
    format_usd,
    neutralise,
    one_line,
)

BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
TAGS = {chr(code) for code in range(0xE0000, 0xE0080)}
NEVER = BIDI | TAGS | set("\u200b\u2028\u2029\u2060\ufeff\ufff9\ufffa\ufffb\xad")
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
tricky = st.sampled_from(
    [
        *"\u200d\u200c\ufe0f\ufe0e\u202e\x1b\r\n\t a1#\u0627\u0915\u094d\u2764\u0301",
        *"\ud800\udfff\ue000\uffff\u180b",
        *("\U0001f468", "\U0001f3fb", "\U000e0041", "\U000e0100", "\u4e2d", "\r\n", FAMILY),
    ]
)
any_text = st.one_of(
    st.text(st.characters(codec=None, categories=None)), st.lists(tricky, max_size=20).map("".join)
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\x00b\x7f", "a\\x00b\\x7f"),
        ("over\rwritten", "over\\x0dwritten"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("\r\r\n", "\\x0d\n"),
        ("user\u202enimda", "user\\u202enimda"),
        ("\u2066a\u2069\u061c\u200e", "\\u2066a\\u2069\\u061c\\u200e"),
        ("pay\u200bpal", "pay\\u200bpal"),
        ("a\u200db", "a\\u200db"),
        ("1\u200d2", "1\\u200d2"),
        ("\ufeffstart", "\\ufeffstart"),
        ("x\U000e0041\U000e007f", "x\\U000e0041\\U000e007f"),
        ("\ufff9a\ufffab\ufffb", "\\ufff9a\\ufffab\\ufffb"),
        ("one\u2028two\u2029", "one\\u2028two\\u2029"),
        ("\ud800", "\\ud800"),
        ("\ue000\U000f0000\ufdd0\uffff\U0010ffff", "\\ue000\\U000f0000\\ufdd0\\uffff\\U0010ffff"),
        ("a\ufe0f\ufe0f", "a\ufe0f\\ufe0f"),
        (" \ufe0f", " \\ufe0f"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_instead(text: str, shown: str) -> None:
    assert neutralise(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain\n\ttext",
        "naïve 中文 עברית العربية",
        FAMILY,
        "\u2764\ufe0f\u200d\U0001f525",
        "\U0001f44d\U0001f3fb",
        "1\ufe0f\u20e3",
        "می\u200cخواهم",
        "क्\u200dष",
        "क्\u200cष",
        "葛\U000e0100",
        "e\u0301",
        "back\\slash \\x1b",
    ],
)
def test_ordinary_text_of_any_script_comes_back_as_the_same_object(text: str) -> None:
    assert neutralise(text) is text


@given(any_text)
@settings(max_examples=600, deadline=None)
def test_no_acting_character_survives_and_a_second_pass_changes_nothing(text: str) -> None:
    shown = neutralise(text)
    assert not NEVER & set(shown)
    for character in shown:
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs", "Co", "Zl", "Zp")
    assert neutralise(shown) == shown
    shown.encode("utf-8")


@given(any_text, st.integers(min_value=-1, max_value=30))
@settings(max_examples=600, deadline=None)
def test_one_line_fits_is_neutral_and_is_stable(text: str, width: int) -> None:
    line = one_line(text, width)
    assert display_width(line) <= max(0, width)
    assert len(line.splitlines()) <= 1
    assert neutralise(line) == line
    assert one_line(line, width) == line


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("short", 10, "short"),
        ("  a \n b\t\tc ", 10, "a b c"),
        ("exactly ten", 11, "exactly ten"),
        ("exactly ten", 10, "exactly t…"),
        ("words are cut", 6, "words…"),
        ("中文字符", 8, "中文字符"),
        ("中文字符", 7, "中文字…"),
        ("中文字符", 6, "中文…"),
        ("anything", 1, "…"),
        ("anything", 0, ""),
        ("\x1b[2J", 20, "\\x1b[2J"),
        (" " * 100_000 + "x", 5, "x"),
        ("x" + " " * 100_000 + "y", 5, "x…"),
        ("a" * 10_000_000, 4, "aaa…"),
    ],
)
def test_one_line_collapses_and_cuts_by_cells(text: str, width: int, line: str) -> None:
    assert one_line(text, width) == line


def test_piled_up_marks_do_not_make_a_long_line() -> None:
    assert len(one_line("a" + "\u0301" * 100_000, 10)) <= 81


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("", 0),
        ("abc", 3),
        ("中文", 4),
        ("e\u0301", 1),
        ("ｆｕｌｌ", 8),
        ("각", 2),
        ("\u1100\u1161\u11a8", 2),
        ("\U0001f600", 2),
        (FAMILY, 2),
        ("\u2764", 1),
        ("\u2764\ufe0f", 2),
        ("1\ufe0f\u20e3", 2),
        ("\U0001f44d\U0001f3fb", 2),
        ("a\nb", 2),
    ],
)
def test_width_is_counted_in_cells(text: str, cells: int) -> None:
    assert display_width(text) == cells


def test_counts_have_separators() -> None:
    assert [format_count(count) for count in (0, 999, 12345, -1234567, None)] == [
        "0",
        "999",
        "12,345",
        "-1,234,567",
        "unknown",
    ]


def test_tokens_are_rounded_to_one_decimal_of_the_unit_that_fits() -> None:
    shown = {0: "0", 999: "999", 1000: "1.0 k", 12_345: "12.3 k", 999_949: "999.9 k", 999_950: "1.0 M"}
    shown |= {1_234_567: "1.2 M", 4_000_000_000: "4.0 G", 5_000_000_000_000: "5,000.0 G", -1500: "-1.5 k"}
    assert {tokens: format_tokens(tokens) for tokens in shown} == shown
    assert format_tokens(None) == "unknown"


def test_bytes_use_binary_units() -> None:
    shown = {
        0: "0 B",
        1023: "1023 B",
        1024: "1.0 KiB",
        1536: "1.5 KiB",
        20 << 20: "20.0 MiB",
        (1 << 20) - 1: "1.0 MiB",
    }
    assert {count: format_bytes(count) for count in shown} == shown
    assert format_bytes(None) == "unknown"


def test_durations_show_at_most_two_units() -> None:
    shown = {0: "0 ms", 950: "950 ms", 1500: "1.5 s", 59_999: "59.9 s", 60_000: "1 min", 65_000: "1 min 5 s"}
    shown |= {
        3_600_000: "1 h",
        7_380_000: "2 h 3 min",
        86_400_000: "1 d",
        363_600_000: "4 d 5 h",
        -1500: "-1.5 s",
    }
    assert {duration: format_duration_ms(duration) for duration in shown} == shown
    assert format_duration_ms(None) == "unknown"


@pytest.mark.parametrize(
    ("amount", "exact", "bound"),
    [
        (Decimal("1.23"), "$1.23", "≥ $1.23"),
        ("1.239", "$1.24", "≥ $1.23"),
        ("1234.5", "$1,234.50", "≥ $1,234.50"),
        ("0", "$0.00", "≥ $0.00"),
        ("0.00421", "$0.0042", "≥ $0.0042"),
        ("0.00001", "< $0.0001", "> $0"),
        ("-2", "-$2.00", "≥ -$2.00"),
        (None, "unknown", "unknown"),
        ("not a number", "unknown", "unknown"),
        ("NaN", "unknown", "unknown"),
        ("Infinity", "unknown", "unknown"),
        ("1e999999", "unknown", "unknown"),
    ],
)
def test_money_is_exact_or_a_lower_bound_or_unknown(
    amount: Decimal | str | None, exact: str, bound: str
) -> None:
    assert format_usd(amount, lower_bound=False) == exact
    assert format_usd(amount, lower_bound=True) == bound
