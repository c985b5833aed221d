"""What tokens cost: exact ids, effective dates, a person's own prices, and what has no price."""

from __future__ import annotations

import importlib.resources
import json
from decimal import Decimal
from typing import Any

import pytest

from waypost.errors import UsageError
from waypost.records.transcript import Tokens
from waypost.rules.prices import Priced, PriceTable, format_amount, parse_prices
from waypost.rules.timestamps import parse_ms

ONE_MILLION = Tokens(input=1_000_000)


def row(name: str, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "input": "3",
        "output": "15",
        "cache_read": "0.30",
        "cache_write_5m": "3.75",
        "cache_write_1h": "6",
        **more,
    }


def table(*rows: dict[str, Any], override: list[dict[str, Any]] | None = None, **more: Any) -> PriceTable:
    def parsed(version: str, models: Any) -> Any:
        body = {"version": version, "published": "2026-11-30", "models": list(models), **more}
        return parse_prices(json.dumps(body).encode(), where="prices.json")

    return PriceTable(parsed("1", rows), parsed("mine", override) if override is not None else None)


def cost(
    prices: PriceTable, model: str | None, tokens: Tokens, day: str | None = "2026-11-30"
) -> Decimal | None:
    at = parse_ms(f"{day}T12:00:00.000Z") if day is not None else None
    return prices.entry_cost(Priced(model, at, tokens, 0, False))


def test_every_class_of_tokens_has_its_own_price_and_reasoning_is_part_of_output() -> None:
    tokens = Tokens(
        input=1, output=10, cache_read=100, cache_write_5m=1000, cache_write_1h=10_000, reasoning=9
    )
    assert cost(table(row("m")), "m", tokens) == Decimal("0.063933")  # 3 + 150 + 30 + 3,750 + 60,000


@pytest.mark.parametrize("name", ["m-2", "M", "m ", "", "anthropic/m", None])
def test_a_model_that_is_not_in_the_table_has_no_price(name: str | None) -> None:
    prices = table(row("m"))
    assert cost(prices, name, ONE_MILLION) is None
    at = parse_ms("2026-11-30T12:00:00.000Z")
    both = prices.cost([Priced("m", at, ONE_MILLION, 0, False), Priced(name, at, ONE_MILLION, 0, False)])
    assert both.usd == Decimal(3) and both.lower_bound
    assert both.unpriced_models == (name or "unknown",)
    alone = prices.cost([Priced(name, at, ONE_MILLION, 0, False)])
    assert alone.usd is None and alone.lower_bound


def test_nothing_spent_costs_nothing_even_with_an_unknown_model() -> None:
    prices = table(row("m"))
    assert cost(prices, "unheard-of", Tokens()) == 0
    assert (prices.cost([]).usd, prices.cost([]).lower_bound) == (0, False)


@pytest.mark.parametrize("missing", ["cache_read", "cache_write_5m", "cache_write_1h"])
def test_a_class_without_a_price_makes_an_entry_unpriced_only_where_it_was_used(missing: str) -> None:
    prices = table(row("m", **{missing: None}))
    assert cost(prices, "m", ONE_MILLION) == 3
    assert cost(prices, "m", Tokens(input=1_000_000, **{missing: 1})) is None


DATED = (row("m", until="2026-06-01"), row("m", input="5", **{"from": "2026-06-01"}, until="2026-07-01"))


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("2020-01-01", 3),
        ("2026-05-31", 3),
        ("2026-06-01", 5),
        ("2026-06-30", 5),
        ("2026-07-01", None),
        (None, None),
    ],
)
def test_a_price_holds_from_its_day_until_before_its_end(day: str | None, expected: int | None) -> None:
    for rows in (DATED, DATED[::-1]):
        assert cost(table(*rows), "m", ONE_MILLION, day) == expected


def test_a_day_ends_at_midnight_utc() -> None:
    prices = table(*DATED)
    for time, expected in (("2026-05-31T23:59:59.999Z", 3), ("2026-06-01T00:00:00.000Z", 5)):
        assert prices.entry_cost(Priced("m", parse_ms(time), ONE_MILLION, 0, False)) == expected


def test_without_a_time_the_only_price_counts() -> None:
    assert cost(table(row("m")), "m", ONE_MILLION, None) == 3


def test_own_prices_replace_every_row_of_a_model_and_leave_the_others() -> None:
    prices = table(*DATED, row("n"), override=[row("m", input="1"), row("x", input="7")])
    assert cost(prices, "m", ONE_MILLION, "2020-01-01") == 1
    assert cost(prices, "m", ONE_MILLION, "2026-06-15") == 1
    assert (cost(prices, "n", ONE_MILLION), cost(prices, "x", ONE_MILLION)) == (3, 7)
    assert (prices.version, list(prices.models())) == ("1+mine", ["m", "n", "x"])


@pytest.mark.parametrize(
    "rows",
    [
        [row("m"), row("m")],
        [row("m", until="2026-06-02"), row("m", **{"from": "2026-06-01"})],
        [
            row("m", **{"from": "2026-01-01"}, until="2026-12-31"),
            row("m", **{"from": "2026-03-01"}, until="2026-04-01"),
        ],
        [row("m", **{"from": "2026-01-01"}), row("m", **{"from": "2026-03-01"})],
    ],
)
def test_overlapping_prices_are_refused(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(UsageError) as refused:
        table(*rows)
    assert refused.value.code == "bad_prices" and "overlap" in refused.value.message
    with pytest.raises(UsageError):
        table(row("n"), override=rows)


@pytest.mark.parametrize("price", ["-1", "NaN", "Infinity", "five", "", "1,5"])
@pytest.mark.parametrize("name", ["input", "output", "cache_read", "cache_write_1h"])
def test_a_price_is_a_finite_number_of_zero_or_more(price: str, name: str) -> None:
    with pytest.raises(UsageError) as refused:
        table(row("m", **{name: price}))
    assert refused.value.code == "bad_prices" and f"m.{name}" in refused.value.message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b'{"version":"1","published":"x","models":[{"id":"m"}]}',
        b'{"version":"1","published":"x","models":[{"id":"m","input":3,"output":"1"}]}',
        b'{"version":"1","published":"x","models":[],"surprise":1}',
    ],
)
def test_a_file_that_is_no_price_table_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(UsageError) as refused:
        parse_prices(data, where="/home/me/prices.json")
    assert refused.value.code == "bad_prices" and "/home/me/prices.json" in refused.value.message


def test_a_web_search_has_a_price_of_its_own() -> None:
    assert table(row("m")).entry_cost(Priced("m", None, Tokens(), 3, False)) == Decimal("0.03")
    assert table(row("m"), web_search_usd="0.5").entry_cost(Priced("m", None, Tokens(), 3, False)) == Decimal(
        "1.5"
    )
    assert table(row("m")).entry_cost(Priced("n", None, ONE_MILLION, 3, False)) is None


MEASURED = [
    ("claude-opus-5-5", "4", "20", "0.20", "5", "8"),
    ("claude-opus-5", "5", "25", "0.50", "6.25", "10"),
    ("claude-opus-4-5-20251101", "5", "25", "0.50", "6.25", "10"),
    ("claude-sonnet-5-5", "2", "10", "0.10", "2.50", "4"),
    ("claude-sonnet-5", "2", "10", "0.20", "2.50", "4"),
    ("claude-sonnet-4-5-20250929", "3", "15", "0.30", "3.75", "6"),
    ("claude-haiku-5-5", "0.10", "0.50", "0.01", "0.125", "0.20"),
    ("claude-haiku-4-5-20251001", "1", "5", "0.10", "1.25", "2"),
    ("claude-3-5-haiku-20241022", "0.80", "4", "0.08", "1", "1.60"),
    ("claude-fable-5", "10", "50", "1.00", "12.50", "20"),
    ("claude-mythos-5", "10", "50", "1.00", "12.50", "20"),
    ("claude-fable-5-1", "10", "50", "0.25", "12.50", "20"),
    ("claude-fable-5-2", "8", "40", "0.20", "10", "16"),
]


@pytest.mark.parametrize("measured", MEASURED, ids=lambda one: one[0])
def test_shipped_prices_are_those_that_were_measured(measured: tuple[str, ...]) -> None:
    data = (importlib.resources.files("waypost.rules") / "prices.json").read_bytes()
    prices = PriceTable(parse_prices(data, where="prices.json"))
    names = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
    for name, price in zip(names, measured[1:], strict=True):
        assert cost(prices, measured[0], Tokens(**{name: 1_000_000})) == Decimal(price), name


def test_no_shipped_price_is_zero() -> None:
    data = (importlib.resources.files("waypost.rules") / "prices.json").read_bytes()
    for one in parse_prices(data, where="prices.json").models:
        for price in (one.input, one.output, one.cache_read, one.cache_write_5m, one.cache_write_1h):
            assert price is None or Decimal(price) > 0, one.id
        assert one.source


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (None, None),
        (Decimal("0"), "0"),
        (Decimal("0.00"), "0"),
        (Decimal("1.50"), "1.5"),
        (Decimal("100"), "100"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1E-9"), "0.000000001"),
        (Decimal("-0.25"), "-0.25"),
        (Decimal("-0.000000"), "0"),
    ],
)
def test_an_amount_is_printed_without_exponent_or_trailing_zeros(
    amount: Decimal | None, shown: str | None
) -> None:
    assert format_amount(amount) == shown
