"""``waypost sessions`` and ``waypost session``: what agents did."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from waypost.errors import UsageError
from waypost.flows.app import App
from waypost.flows.arguments import checked_limit, harness_name, parse_optional_time
from waypost.flows.history import SESSIONS_LIMIT, TURNS_LIMIT, History
from waypost.surfaces import views
from waypost.surfaces.cli.running import Document, Result

if TYPE_CHECKING:
    from waypost.surfaces.cli.screen import Screen


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    if name == "sessions":
        parser.add_argument("--project", metavar="P", help="a project's name, remote, key or folder")
        parser.add_argument("--harness", metavar="H", help="claude_code or codex")
        parser.add_argument("--since", metavar="TIME", help="a day, a time, or an age such as 7d")
        parser.add_argument("--until", metavar="TIME", help="a day (included), a time, or an age")
        parser.add_argument("--own", action="store_true", help="waypost's own analysis runs instead")
        parser.add_argument("--limit", type=int, default=0, metavar="N", help=f"default {SESSIONS_LIMIT}")
    else:
        parser.add_argument(
            "id", metavar="ID", help="a session key (ses_…), its start, or the agent's own id"
        )
        parser.add_argument("--turns", action="store_true", help="every turn in full, page by page")
        parser.add_argument("--around", metavar="TURN", help="start at a turn (trn_…)")
        parser.add_argument("--executions", action="store_true", help="the commands that the agent ran")
        parser.add_argument("--events", action="store_true", help="the content-free event stream")
        parser.add_argument("--limit", type=int, default=0, metavar="N", help=f"default {TURNS_LIMIT}")
    parser.add_argument("--cursor", metavar="C", help="go on where the last page ended")


def run(name: str, app: App, arguments: argparse.Namespace, mode: str) -> Result | Document:
    """Answer."""
    history = History(app)
    if name == "sessions":
        return _sessions(history, arguments)
    if arguments.executions or arguments.events:
        return _streams(history, arguments)
    limit = checked_limit(arguments.limit, default=TURNS_LIMIT)
    cursor = arguments.cursor
    if arguments.around is not None:
        cursor = history.place_of_turn(history.find_session(arguments.id), arguments.around)
    page = history.session(arguments.id, limit=limit, cursor=cursor)
    data = views.turn_page_view(page, history.prices.version)

    def show(screen: Screen) -> None:
        from waypost.surfaces.cli.timeline import show_session

        show_session(screen, page, full=arguments.turns)

    return Result(data, show)


def _sessions(history: History, arguments: argparse.Namespace) -> Result:
    now = history.app.world.now_ms()
    page = history.sessions(
        project=arguments.project,
        harness=harness_name(arguments.harness),
        since=parse_optional_time(arguments.since, now_ms=now, zone=None),
        until=parse_optional_time(arguments.until, now_ms=now, zone=None, day_end=True),
        limit=checked_limit(arguments.limit, default=SESSIONS_LIMIT),
        cursor=arguments.cursor,
        own_runs=arguments.own,
    )
    data = views.sessions_view(page, history.prices.version)

    def show(screen: Screen) -> None:
        from waypost.surfaces.cli.timeline import show_sessions

        show_sessions(screen, page)

    return Result(data, show)


def _streams(history: History, arguments: argparse.Namespace) -> Result:
    if arguments.executions and arguments.events:
        raise UsageError("bad_arguments", "expected one of --executions and --events, found both")
    key = history.find_session(arguments.id).key
    if arguments.events:
        events = [views.event_view(one) for one in history.events(arguments.id)]

        def show_stream(screen: Screen) -> None:
            from waypost.surfaces.cli.timeline import show_events

            show_events(screen, events)

        return Result({"session": key, "events": events}, show_stream)
    commands = [views.execution_view(key, one, called) for one, called in history.executions(arguments.id)]

    def show(screen: Screen) -> None:
        from waypost.surfaces.cli.timeline import show_commands

        show_commands(screen, commands)

    return Result({"session": key, "executions": commands}, show)
