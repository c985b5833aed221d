"""``waypost watch``: reads transcripts as they grow; one record for every session that moved."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from waypost.errors import MachineError
from waypost.flows.app import App
from waypost.flows.history import History
from waypost.flows.ingest import Report, Root, ingest
from waypost.machine.watch import Watcher
from waypost.records.codec import encode
from waypost.rules.display import format_count, neutralise, one_line
from waypost.surfaces import views
from waypost.surfaces.cli.ingest import Stop, add_roots, jobs_of, roots_of
from waypost.surfaces.cli.running import Document, Result
from waypost.surfaces.cli.timeline import cost_text, title_text

if TYPE_CHECKING:
    from waypost.flows.history import SessionSummary


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_roots(parser)
    parser.add_argument("--once", action="store_true", help="stop after the first pass")


def run(name: str, app: App, arguments: argparse.Namespace, mode: str) -> Result | Document:
    """Watch until stopped."""
    roots = roots_of(app.world, arguments)

    def write() -> int:
        with Stop() as stop:
            _watch(app, roots, jobs_of(app.world, arguments), stop, mode, once=arguments.once)
        return 0

    return Document(write)


def _watch(app: App, roots: list[Root], jobs: int, stop: Stop, mode: str, *, once: bool) -> None:
    watcher = Watcher([root.path for root in roots])
    first = True
    try:
        while not stop():
            try:
                report = ingest(app, roots, jobs=jobs if first else 1, stop=stop)
            except MachineError as error:
                if error.code != "ingest_busy":
                    raise
            else:
                _tell(app, report, mode)
                first = False
                if once:
                    return
            watcher.wait(stop)
    finally:
        watcher.close()


def _tell(app: App, report: Report, mode: str) -> None:
    if not report.sessions:
        return
    history = History(app)
    for key in sorted(report.sessions):
        stored = history.find_session(key)
        _say(history, history.summaries([stored])[0], mode)


def _say(history: History, summary: SessionSummary, mode: str) -> None:
    if mode == "json":
        data = {"event": "session", **views.session_view(summary, history.prices.version)}
        record = {"command": "watch", "data": data, "schema_version": {"major": 1}, "status": "ok"}
        sys.stdout.buffer.write(encode(record) + b"\n")  # type: ignore[arg-type]
    else:
        counters = summary.counters
        line = (
            f"{summary.stored.project.name}  {format_count(counters.turns)} turns"
            f"  {format_count(counters.commands)} commands  {cost_text(summary)}  {title_text(summary)}"
        )
        sys.stdout.write(one_line(neutralise(line), 120) + "\n")
    sys.stdout.flush()
