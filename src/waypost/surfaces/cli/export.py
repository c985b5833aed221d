"""``waypost export``: sessions as JSON lines or Markdown, secrets masked.

Standard output is the document; there is no record around it. JSON lines: for each session one
``{"kind":"session",…}`` and then its ``{"kind":"turn",…}`` lines, each canonical JSON.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from waypost.errors import UsageError
from waypost.flows.app import App
from waypost.flows.arguments import LIMIT_MAX, parse_time
from waypost.flows.history import History, SessionSummary, TurnView
from waypost.records.codec import encode
from waypost.records.transcript import Role
from waypost.rules.display import neutralise
from waypost.surfaces import views
from waypost.surfaces.cli.running import Document, Result

PAGE_TURNS = 500


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", nargs="*", metavar="ID", help="session keys; none: every session selected")
    parser.add_argument("--project", metavar="P", help="only sessions of a project")
    parser.add_argument("--since", metavar="TIME", help="a day, a time, or an age such as 30d")
    parser.add_argument("--format", choices=("jsonl", "markdown"), default="jsonl", help="default: jsonl")
    parser.add_argument("--output", metavar="FILE", help="write there, mode 0600, instead of standard output")


def run(name: str, app: App, arguments: argparse.Namespace, mode: str) -> Result | Document:
    """Write the document."""
    history = History(app)
    selected = list(_selected(history, arguments))
    if not selected and (arguments.id or arguments.project):
        raise UsageError("bad_arguments", "no session was selected")
    lines = _jsonl if arguments.format == "jsonl" else _markdown

    def write() -> int:
        if arguments.output is None:
            for piece in _document(history, selected, lines):
                _write_out(piece)
            return 0
        path = app.world.cwd / Path(arguments.output).expanduser()
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(
                "bad_arguments",
                f"expected a new file at {path}, found: {error.strerror}",
                hint="choose another name",
            ) from error
        with os.fdopen(handle, "wb") as out:
            for piece in _document(history, selected, lines):
                out.write(piece)
        return 0

    return Document(write)


def _write_out(piece: bytes) -> None:
    sys.stdout.buffer.write(piece)


def _selected(history: History, arguments: argparse.Namespace) -> Iterator[SessionSummary]:
    if arguments.id:
        for one in arguments.id:
            yield from history.summaries([history.find_session(one)])
        return
    cursor = None
    since = None
    if arguments.since is not None:
        since = parse_time(arguments.since, now_ms=history.app.world.now_ms(), zone=None)
    while True:
        page = history.sessions(project=arguments.project, since=since, limit=LIMIT_MAX, cursor=cursor)
        yield from page.sessions
        cursor = page.next_cursor
        if cursor is None:
            return


def _turns(history: History, key: str) -> Iterator[TurnView]:
    cursor = None
    while True:
        page = history.session(key, limit=PAGE_TURNS, cursor=cursor)
        yield from page.turns
        cursor = page.next_cursor
        if cursor is None:
            return


def _document(history: History, selected: list[SessionSummary], lines: object) -> Iterator[bytes]:
    assert callable(lines)
    for summary in selected:
        yield from lines(history, summary)


def _jsonl(history: History, summary: SessionSummary) -> Iterator[bytes]:
    prices = history.prices.version
    head = {"kind": "session", "schema_version": {"major": 1}, **views.session_view(summary, prices)}
    yield encode(head) + b"\n"  # type: ignore[arg-type]
    for turn in _turns(history, summary.stored.key):
        line = {"kind": "turn", "session": summary.stored.key, **views.turn_view(turn, prices)}
        yield encode(line) + b"\n"  # type: ignore[arg-type]


def _markdown(history: History, summary: SessionSummary) -> Iterator[bytes]:
    from waypost.surfaces.cli.timeline import cost_text, title_text, turn_text, when

    stored = summary.stored
    head = [
        f"# {neutralise(title_text(summary))}",
        "",
        f"- session: `{stored.key}`",
        f"- project: {neutralise(stored.project.name)}",
        f"- started: {when(stored.started_at)}",
        f"- models: {neutralise(', '.join(summary.models)) or 'unknown'}",
        f"- cost: {cost_text(summary)}",
        "",
    ]
    yield "\n".join(head).encode()
    for turn in _turns(history, stored.key):
        role = Role(turn.stored.role).name.lower().replace("_", " ")
        text = neutralise(turn_text(turn))
        fence = "`" * max(3, _longest_run(text) + 1)
        body = text if turn.stored.role in (Role.USER, Role.ASSISTANT) else f"{fence}\n{text}\n{fence}"
        yield f"\n## {role} · {when(turn.stored.at)}\n\n{body}\n".encode("utf-8", "replace")


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
