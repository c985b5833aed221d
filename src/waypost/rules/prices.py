"""What tokens cost: a versioned table keyed by exact model id, with effective dates.

A model that is not in the table has no price: never a family's, never zero. A sum is over the entries
that have one, and a lower bound when any has none. All arithmetic is exact (``Decimal``); amounts are
printed without an exponent and without trailing zeros.

Table format (``prices.json`` and a person's override file, same shape)::

    {"version": "…", "published": "YYYY-MM-DD", "web_search_usd": "0.01",
     "models": [{"id": "…", "input": "5", "output": "25", "cache_read": "0.50",
                 "cache_write_5m": "6.25", "cache_write_1h": "10", "from": null, "until": null,
                 "source": "…"}]}

Prices are decimal strings in US dollars per million tokens; ``from`` and ``until`` are UTC days,
``until`` excluded, null for open. A class without a price is null: tokens of that class then make the
entry unpriced. Several rows of one id must not overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC
from decimal import Context, Decimal, InvalidOperation
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

from waypost.errors import UsageError
from waypost.records.transcript import Tokens
from waypost.rules.timestamps import day_of

_MILLION: Final = Decimal(1_000_000)
_EXACT: Final = Context(prec=60)


class PriceRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model's price over a period."""

    id: str
    input: str
    output: str
    cache_read: str | None = None
    cache_write_5m: str | None = None
    cache_write_1h: str | None = None
    valid_from: str | None = msgspec.field(name="from", default=None)
    until: str | None = None
    source: str = ""


class PriceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A price table as written down."""

    version: str
    published: str
    models: tuple[PriceRow, ...]
    web_search_usd: str = "0.01"
    note: str = ""


class _Rates(NamedTuple):
    valid_from: str
    until: str
    input: Decimal
    output: Decimal
    cache_read: Decimal | None
    cache_write_5m: Decimal | None
    cache_write_1h: Decimal | None


class Priced(NamedTuple):
    """Usage of one model at one time: tokens, web searches, whether any of it is a lower bound."""

    model: str | None
    at: int | None
    tokens: Tokens
    web_searches: int
    lower_bound: bool


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A sum: ``usd`` None when nothing had a price; ``unpriced_models`` sorted."""

    usd: Decimal | None
    lower_bound: bool
    unpriced_models: tuple[str, ...]


class PriceTable:
    """Prices by exact model id and day."""

    def __init__(self, table: PriceFile, override: PriceFile | None = None) -> None:
        self.version = table.version if override is None else f"{table.version}+{override.version}"
        self.published = table.published
        self.web_search = _amount(table.web_search_usd, "web_search_usd")
        self._rates: dict[str, list[_Rates]] = {}
        for row in table.models:
            self._rates.setdefault(row.id, []).append(_rates(row))
        if override is not None:
            replaced: dict[str, list[_Rates]] = {}
            for row in override.models:
                replaced.setdefault(row.id, []).append(_rates(row))
            self._rates.update(replaced)
        for name, rows in self._rates.items():
            rows.sort()
            for one, following in pairwise(rows):
                if one.until > following.valid_from:
                    raise UsageError("bad_prices", f"two prices of {name} overlap at {following.valid_from}")

    def models(self) -> Sequence[str]:
        """Return the ids that have a price."""
        return sorted(self._rates)

    def entry_cost(self, entry: Priced) -> Decimal | None:
        """Return what usage cost, or None when any part of it has no price."""
        searches = self.web_search * entry.web_searches
        if entry.tokens == Tokens():
            return searches
        rates = self._at(entry.model, entry.at)
        if rates is None:
            return None
        total = Decimal(0)
        for count, rate in (
            (entry.tokens.input, rates.input),
            (entry.tokens.output, rates.output),
            (entry.tokens.cache_read, rates.cache_read),
            (entry.tokens.cache_write_5m, rates.cache_write_5m),
            (entry.tokens.cache_write_1h, rates.cache_write_1h),
        ):
            if not count:
                continue
            if rate is None:
                return None
            total = _EXACT.add(total, _EXACT.multiply(Decimal(count), rate))
        return _EXACT.add(_EXACT.divide(total, _MILLION), searches)

    def cost(self, entries: Iterable[Priced]) -> Cost:
        """Return the sum over entries."""
        total = Decimal(0)
        priced = seen = 0
        unpriced: set[str] = set()
        lower_bound = False
        for entry in entries:
            seen += 1
            lower_bound |= entry.lower_bound
            amount = self.entry_cost(entry)
            if amount is None:
                unpriced.add(entry.model or "unknown")
                continue
            priced += 1
            total = _EXACT.add(total, amount)
        return Cost(
            usd=total if priced or not seen else None,
            lower_bound=lower_bound or bool(unpriced),
            unpriced_models=tuple(sorted(unpriced)),
        )

    def _at(self, model: str | None, at: int | None) -> _Rates | None:
        rows = self._rates.get(model) if model is not None else None
        if not rows:
            return None
        if at is None:
            return rows[-1] if len(rows) == 1 else None
        day = day_of(at, zone=UTC)
        return next((row for row in rows if row.valid_from <= day < row.until), None)


def _amount(text: str, where: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise UsageError("bad_prices", f"expected a decimal number at {where}, found {text!r}") from None
    if not value.is_finite() or value < 0:
        raise UsageError("bad_prices", f"expected a price of zero or more at {where}, found {text!r}")
    return value


def _rates(row: PriceRow) -> _Rates:
    def optional(text: str | None, name: str) -> Decimal | None:
        return _amount(text, f"{row.id}.{name}") if text is not None else None

    return _Rates(
        row.valid_from or "0000-00-00",
        row.until or "9999-99-99",
        _amount(row.input, f"{row.id}.input"),
        _amount(row.output, f"{row.id}.output"),
        optional(row.cache_read, "cache_read"),
        optional(row.cache_write_5m, "cache_write_5m"),
        optional(row.cache_write_1h, "cache_write_1h"),
    )


def parse_prices(data: bytes, *, where: str) -> PriceFile:
    """Read a price file. Errors: ``bad_prices`` with the path of what is wrong."""
    try:
        return msgspec.json.decode(data, type=PriceFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            "bad_prices",
            f"{where} cannot be read as a price table: {error}",
            hint="docs/prices.md has the format",
        ) from None


def format_amount(amount: Decimal | None) -> str | None:
    """Return an exact decimal string without exponent or trailing zeros; None for None."""
    if amount is None:
        return None
    text = format(amount, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text
