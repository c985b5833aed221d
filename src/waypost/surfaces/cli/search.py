"""``waypost search``: full text over everything."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from waypost.flows.app import App
from waypost.flows.arguments import checked_limit
from waypost.flows.history import HITS_LIMIT, History, HitPage
from waypost.records.transcript import Role
from waypost.surfaces import views
from waypost.surfaces.cli.running import Document, Result

if TYPE_CHECKING:
    from waypost.surfaces.cli.screen import Screen


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("query", nargs="+", metavar="QUERY", help="words, all required; quotes make phrases")
    parser.add_argument("--project", metavar="P", help="a project's name, remote, key or folder")
    parser.add_argument(
        "--role", metavar="R", help="user, assistant, tool_call, tool_result, tool, system or compaction"
    )
    parser.add_argument("--limit", type=int, default=0, metavar="N", help=f"default {HITS_LIMIT}")
    parser.add_argument("--cursor", metavar="C", help="go on where the last page ended")


def run(name: str, app: App, arguments: argparse.Namespace, mode: str) -> Result | Document:
    """Search."""
    # The shell already took a person's quotes: a word with white space in it was a phrase.
    words = arguments.query
    text = words[0] if len(words) == 1 else " ".join(f'"{word}"' if " " in word else word for word in words)
    page = History(app).search(
        text,
        project=arguments.project,
        role=arguments.role,
        limit=checked_limit(arguments.limit, default=HITS_LIMIT),
        cursor=arguments.cursor,
    )
    return Result(views.hits_view(page), lambda screen: _show(screen, page))


def _show(screen: Screen, page: HitPage) -> None:
    from waypost.surfaces.cli.timeline import when

    if not page.hits:
        screen.line("Nothing found.")
    for hit in page.hits:
        title = " ".join((views.masked(hit.title) or "").split())
        role = Role(hit.role).name.lower().replace("_", " ")
        screen.line(f"{when(hit.at)}  {hit.project}  {role}  {title}", style="dim")
        screen.block(views.masked(hit.snippet) or "", indent=2)
        screen.note(f"  waypost session {hit.session} --around {hit.turn}")
    if page.partial:
        screen.note("Many turns match; the newest were ranked. More words narrow it down.")
    if page.behind:
        screen.note(f"{page.behind:,} turns are not searchable yet; waypost ingest goes on.")
    if page.next_cursor:
        screen.note(f"More: --cursor {page.next_cursor}")
