"""``waypost forget``: delete sessions for good."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from waypost.errors import RefusedError, UsageError
from waypost.flows.app import App
from waypost.flows.arguments import parse_time
from waypost.flows.history import History
from waypost.flows.keeping import DERIVED, ForgetPlan, forget, plan_forget
from waypost.machine.store.forgetting import Forgotten
from waypost.rules.display import format_count
from waypost.surfaces.cli.running import Document, Result

if TYPE_CHECKING:
    from waypost.surfaces.cli.screen import Screen


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--project", metavar="P", help="every session of a project")
    parser.add_argument("--session", metavar="S", help="one session")
    parser.add_argument("--older-than", metavar="AGE", help="sessions that ended before, such as 90d")
    parser.add_argument("--dry-run", action="store_true", help="say what would go, delete nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask on a terminal")


def run(name: str, app: App, arguments: argparse.Namespace, mode: str) -> Result | Document:
    """Forget what is asked for."""
    chosen = [one for one in (arguments.project, arguments.session, arguments.older_than) if one is not None]
    if len(chosen) != 1:
        raise UsageError(
            "bad_arguments",
            f"expected one of --project, --session and --older-than, found {len(chosen)}",
            hint="waypost forget --session ses_…",
        )
    moment = None
    if arguments.older_than is not None:
        moment = parse_time(arguments.older_than, now_ms=app.world.now_ms(), zone=None)
    plan = plan_forget(History(app), project=arguments.project, session=arguments.session, older_than=moment)
    if arguments.dry_run:
        return Result(_data(plan.counts, dry_run=True), lambda screen: _show(screen, plan.counts, "Would go"))
    if plan.rows and not arguments.yes and sys.stdin.isatty():
        _ask(plan)
    done = forget(app, plan)
    return Result(_data(done, dry_run=False), lambda screen: _show(screen, done, "Gone"))


def _ask(plan: ForgetPlan) -> None:
    count = format_count(plan.counts.sessions)
    sys.stderr.write(f"Delete {count} sessions with everything derived from them, for good? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise RefusedError("confirmation_needed", "nothing was deleted", hint="--yes answers for you")


def _data(counts: Forgotten, *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "sessions": counts.sessions,
        "turns": counts.turns,
        "usage_entries": counts.usage_entries,
        "executions": counts.executions,
        "projects": counts.projects,
        "derived": list(DERIVED),
    }


def _show(screen: Screen, counts: Forgotten, verb: str) -> None:
    screen.line(
        f"{verb}: {format_count(counts.sessions)} sessions, {format_count(counts.turns)} turns,"
        f" {format_count(counts.usage_entries)} usage entries, {format_count(counts.executions)} executions."
    )
    if counts.sessions:
        screen.note("With them: " + ", ".join(DERIVED) + ".")
        screen.note("The agents' own transcript files are not touched; these sessions are not read again.")
