"""``waypost quickstart``: find, read, show. On a machine without transcripts, the same on a sample."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

from waypost.flows.app import App, opened
from waypost.flows.history import CostReport, History, SessionPage
from waypost.flows.ingest import Report, Root, scan
from waypost.rules.display import format_bytes, format_count, format_tokens, format_usd
from waypost.rules.prices import format_amount
from waypost.surfaces import views
from waypost.surfaces.cli.ingest import add_roots, jobs_of, report_data, roots_of, run_pass
from waypost.surfaces.cli.running import Document, Result
from waypost.surfaces.cli.timeline import sessions_table

if TYPE_CHECKING:
    from waypost.surfaces.cli.screen import Screen

RECENT = 8
GROUPS_SHOWN = 5


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_roots(parser)
    parser.add_argument("--sample", action="store_true", help="use the transcripts shipped with waypost")


class Overview(NamedTuple):
    """What the summary shows."""

    sample: bool
    asked: bool
    roots: list[Root]
    found: list[tuple[Root, int, int]]
    report: Report
    page: SessionPage
    by_model: CostReport
    by_project: CostReport
    prompts: int
    commands: int
    failed: int
    sessions: int
    home: str


def run(name: str, app: App, arguments: argparse.Namespace, mode: str) -> Result | Document:
    """Find, read, show."""
    roots = roots_of(app.world, arguments)
    found = _found(roots)
    if not arguments.sample and any(count for _, count, _ in found):
        overview = _overview(app, arguments, roots, found, sample=False, asked=False)
    else:
        from importlib.resources import as_file, files

        # The sample has a store of its own, so that invented sessions never mix with real ones.
        world = app.world._replace(home=app.world.home / "sample")
        with as_file(files("waypost.sample")) as folder, opened(world) as sample_app:
            roots = [Root("claude_code", folder / "claude"), Root("codex", folder / "codex")]
            overview = _overview(
                sample_app, arguments, roots, _found(roots), sample=True, asked=arguments.sample
            )
    return Result(_data(overview), lambda screen: _show(screen, overview))


def _found(roots: list[Root]) -> list[tuple[Root, int, int]]:
    found = []
    for root in roots:
        files = scan([root])
        found.append((root, len(files), sum(file.size for _, file in files)))
    return found


def _overview(
    app: App,
    arguments: argparse.Namespace,
    roots: list[Root],
    found: list[tuple[Root, int, int]],
    *,
    sample: bool,
    asked: bool,
) -> Overview:
    report = run_pass(app, roots, jobs_of(app.world, arguments))
    history = History(app)
    page = history.sessions(limit=RECENT)
    prompts = commands = failed = sessions = 0
    cursor = None
    while True:
        every = history.sessions(limit=1000, cursor=cursor)
        for one in every.sessions:
            sessions += 1
            prompts += one.counters.prompts + one.counters.automated_prompts
            commands += one.counters.commands
            failed += one.counters.failed_commands
        cursor = every.next_cursor
        if cursor is None:
            break
    return Overview(
        sample,
        asked,
        roots,
        found,
        report,
        page,
        history.costs("model"),
        history.costs("project"),
        prompts,
        commands,
        failed,
        sessions,
        str(app.world.home),
    )


def _data(overview: Overview) -> dict[str, object]:
    costs = views.costs_view(overview.by_model)
    return {
        "sample": overview.sample,
        "roots": [
            {"harness": root.harness, "path": str(root.path), "files": count, "bytes": size}
            for root, count, size in overview.found
        ],
        "ingest": report_data(overview.report),
        "sessions": overview.sessions,
        "prompts": overview.prompts,
        "commands": overview.commands,
        "failed_commands": overview.failed,
        "recent": views.sessions_view(overview.page, overview.by_model.price_table)["sessions"],
        "by_model": costs["rows"],
        "by_project": views.costs_view(overview.by_project)["rows"],
        "total": costs["total"],
        "home": overview.home,
    }


def _show(screen: Screen, overview: Overview) -> None:
    from waypost.surfaces.cli.screen import Column

    if overview.sample and not overview.asked:
        screen.line("No transcripts of Claude Code or Codex on this machine yet.")
        screen.line("Here is a small sample, so that you can see what you will get.")
    elif overview.sample:
        screen.line("The sample shipped with waypost: invented projects, made by the real agents.")
    for root, count, size in overview.found:
        if count:
            label = "Claude Code" if root.harness == "claude_code" else "Codex"
            where = "sample" if overview.sample else str(root.path)
            screen.note(f"{label:<12} {format_count(count)} transcripts, {format_bytes(size)}  {where}")
    total = overview.by_model
    screen.heading("What your agents did" if not overview.sample else "What the agents did")
    screen.table(
        [Column(""), Column("", right=True), Column("", flexible=True)],
        [
            ["sessions", format_count(overview.sessions), ""],
            ["prompts", format_count(overview.prompts), ""],
            [
                "commands run",
                format_count(overview.commands),
                f"{format_count(overview.failed)} failed" if overview.failed else "",
            ],
            [
                "tokens",
                format_tokens(total.tokens.total),
                f"{format_tokens(total.tokens.output)} of them output",
            ],
            [
                "cost",
                format_usd(format_amount(total.cost.usd), total.cost.lower_bound),
                f"at list prices of {total.price_table}",
            ],
        ],
    )
    for heading, report in (("By project", overview.by_project), ("By model", overview.by_model)):
        screen.heading(heading)
        screen.table(
            [Column("", flexible=True), Column("", right=True), Column("", right=True)],
            [
                [
                    row.label,
                    f"{format_tokens(row.tokens.total)} tokens",
                    format_usd(format_amount(row.cost.usd), row.cost.lower_bound),
                ]
                for row in report.rows[:GROUPS_SHOWN]
            ],
        )
    screen.heading("Latest sessions")
    sessions_table(screen, overview.page.sessions)
    if total.cost.lower_bound:
        screen.note("≥ at least: some responses or prices are not in the transcripts.")
    screen.line()
    screen.line("Next:")
    if overview.sample:
        screen.note(f"  export WAYPOST_HOME={overview.home}")
    first = overview.page.sessions[0].stored.key if overview.page.sessions else "ses_…"
    for command, about in (
        (f"waypost session {first[:12]}", "one session, turn by turn"),
        ('waypost search "idempotency key"', "full text over everything"),
        ("waypost costs --by day", "day, week, project, model, harness, session"),
        ("waypost watch", "live, as your agents work"),
    ):
        screen.note(f"  {command:<33}  {about}")
    screen.note(f"Everything is in one encrypted store in {overview.home}; nothing leaves this machine.")
