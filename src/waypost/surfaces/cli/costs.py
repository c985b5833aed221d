"""``waypost costs``: tokens and money by group."""

from __future__ import annotations

import argparse
from datetime import UTC
from typing import TYPE_CHECKING

from waypost.flows.app import App
from waypost.flows.arguments import parse_optional_time
from waypost.flows.history import GROUPINGS, CostReport, CostRow, History
from waypost.surfaces import views
from waypost.surfaces.cli.running import Document, Result

if TYPE_CHECKING:
    from waypost.surfaces.cli.screen import Screen


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--by", choices=GROUPINGS, default="day", help="default: day")
    parser.add_argument("--since", metavar="TIME", help="a day, a time, or an age such as 30d")
    parser.add_argument("--until", metavar="TIME", help="a day (included), a time, or an age")
    parser.add_argument("--utc", action="store_true", help="days in UTC instead of local time")


def run(name: str, app: App, arguments: argparse.Namespace, mode: str) -> Result | Document:
    """Add up."""
    now = app.world.now_ms()
    zone = UTC if arguments.utc else None
    report = History(app).costs(
        arguments.by,
        since=parse_optional_time(arguments.since, now_ms=now, zone=zone),
        until=parse_optional_time(arguments.until, now_ms=now, zone=zone, day_end=True),
        utc=arguments.utc,
    )
    return Result(views.costs_view(report), lambda screen: show_costs(screen, report))


def _cells(label: str, row: CostRow | CostReport) -> list[str]:
    from waypost.rules.display import format_tokens, format_usd
    from waypost.rules.prices import format_amount

    tokens = row.tokens
    return [
        label,
        format_tokens(tokens.input),
        format_tokens(tokens.output),
        format_tokens(tokens.cache_read),
        format_tokens(tokens.cache_write_5m + tokens.cache_write_1h),
        format_tokens(tokens.total),
        format_usd(format_amount(row.cost.usd), row.cost.lower_bound),
    ]


def show_costs(screen: Screen, report: CostReport) -> None:
    """Write usage by group and in all."""
    from waypost.surfaces.cli.screen import Column

    if not report.rows:
        screen.line("No usage on record.")
        return
    rows = [_cells(" ".join((views.masked(row.label) or "").split()), row) for row in report.rows]
    screen.table(
        [
            Column(report.by, flexible=True),
            Column("input", right=True, drop=2),
            Column("output", right=True, drop=1),
            Column("cache read", right=True, drop=3),
            Column("cache write", right=True, drop=4),
            Column("tokens", right=True),
            Column("cost", right=True),
        ],
        [*rows, _cells("total", report)],
    )
    if report.cost.unpriced_models:
        screen.note(
            "No price known for: " + ", ".join(report.cost.unpriced_models) + " (their tokens are counted)."
        )
    if report.cost.lower_bound:
        screen.note("≥ at least: some responses or prices are not in the transcripts.")
    screen.note(f"Prices of {report.price_table}.")
