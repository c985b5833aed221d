"""``waypost ingest``: one pass over the transcripts."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from waypost.errors import MachineError, UsageError
from waypost.flows.app import App, World
from waypost.flows.ingest import Progress, ProgressListener, Report, Root, default_roots, ingest
from waypost.rules.display import format_bytes, format_count, format_duration_ms
from waypost.surfaces.cli.running import Document, Result

if TYPE_CHECKING:
    from waypost.surfaces.cli.screen import Screen


JOBS_MAX: Final = 64


def add_roots(parser: argparse.ArgumentParser) -> None:
    """Declare where transcripts are looked for."""
    parser.add_argument(
        "--claude", action="append", metavar="DIR", help="a Claude configuration folder (repeatable)"
    )
    parser.add_argument("--codex", action="append", metavar="DIR", help="a Codex home (repeatable)")
    parser.add_argument(
        "--jobs",
        type=int,
        default=0,
        metavar="N",
        help="processes that read beside the one that writes; 1: all in one process (default: up to 2)",
    )


def roots_of(world: World, arguments: argparse.Namespace) -> list[Root]:
    """Return the roots asked for; naming any replaces all defaults."""
    defaults = default_roots(world)
    stated = [Root("claude_code", world.cwd / Path(one).expanduser()) for one in arguments.claude or ()]
    stated += [Root("codex", world.cwd / Path(one).expanduser()) for one in arguments.codex or ()]
    return stated or defaults


def jobs_of(world: World, arguments: argparse.Namespace) -> int:
    """Return how many processes to use. Errors: ``bad_arguments`` below zero or above ``JOBS_MAX``."""
    if not 0 <= arguments.jobs <= JOBS_MAX:
        raise UsageError("bad_arguments", f"expected --jobs between 1 and {JOBS_MAX}, found {arguments.jobs}")
    return int(arguments.jobs) if arguments.jobs > 0 else min(2, world.cpus)


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_roots(parser)


class Stop:
    """Turns Ctrl-C and SIGTERM into a question that a pass asks between steps."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, object] = {}

    def __call__(self) -> bool:
        return self.asked

    def __enter__(self) -> Stop:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]


def report_data(report: Report) -> dict[str, object]:
    """Return what a pass did as a record's data."""
    return {
        "files_seen": report.files_seen,
        "files_changed": report.files_changed,
        "absent_folders": report.absent_folders,
        "bytes_read": report.bytes_read,
        "records_read": report.records_read,
        "sessions": len(report.sessions),
        "turns": report.turns,
        "usage_entries": report.usage_entries,
        "malformed_records": report.malformed_records,
        "unknown_record_types": dict(sorted(report.unknown_record_types.items())),
        "unreadable_files": report.unreadable_files,
        "problems": report.problems,
        "elapsed_ms": report.elapsed_ms,
    }


def progress_bar() -> tuple[ProgressListener | None, Callable[[], None]]:
    """Return a listener that draws a bar on a terminal, and what removes it; None elsewhere."""
    if not sys.stderr.isatty():
        return None, lambda: None
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("reading", total=None)
    bar.start()

    def listen(progress: Progress) -> None:
        words = f"{progress.stage}, {progress.sessions} sessions"
        bar.update(task, description=words, completed=progress.done, total=progress.total)

    return listen, bar.stop


def run_pass(app: App, roots: list[Root], jobs: int) -> Report:
    """Run a pass with a bar and a clean stop. Errors: ``interrupted`` after a stop."""
    listen, finish = progress_bar()
    with Stop() as stop:
        try:
            report = ingest(app, roots, jobs=jobs, progress=listen, stop=stop)
        finally:
            finish()
    if report.interrupted:
        raise MachineError(
            "interrupted",
            "stopped on request; what was read is kept",
            hint="run it again to go on where it stopped",
            data=report_data(report),
        )
    return report


def show_report(screen: Screen, report: Report) -> None:
    """Say what a pass did."""
    for folder in report.absent_folders:
        screen.note(f"{folder} does not exist.")
    if not report.files_seen:
        screen.line("No transcripts found.")
        screen.note("waypost doctor shows where they are looked for.")
        return
    if not report.files_changed:
        screen.line(f"Nothing new in {format_count(report.files_seen)} files.")
        return
    screen.line(
        f"Read {format_bytes(report.bytes_read)} from {format_count(report.files_changed)} of"
        f" {format_count(report.files_seen)} files in {format_duration_ms(report.elapsed_ms)}:"
        f" {format_count(len(report.sessions))} sessions, {format_count(report.turns)} turns,"
        f" {format_count(report.usage_entries)} responses."
    )
    if report.malformed_records:
        screen.line(f"{format_count(report.malformed_records)} records could not be read; they are counted.")
    if report.unknown_record_types:
        known = ", ".join(f"{name} ×{count}" for name, count in sorted(report.unknown_record_types.items()))
        screen.note(f"Record types that nobody knows yet: {known}")
    for problem in (*report.unreadable_files, *report.problems):
        screen.line(f"! {problem}", style="yellow")


def run(name: str, app: App, arguments: argparse.Namespace, mode: str) -> Result | Document:
    """Do one pass."""
    report = run_pass(app, roots_of(app.world, arguments), jobs_of(app.world, arguments))
    return Result(report_data(report), lambda screen: show_report(screen, report))
