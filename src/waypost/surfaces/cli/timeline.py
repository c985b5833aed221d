"""Sessions and their turns as a person reads them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from waypost.flows.history import SessionPage, SessionSummary, TurnPage, TurnView
from waypost.records.codec import encode
from waypost.records.transcript import Origin, Role, TurnFlag
from waypost.rules.display import format_count, format_duration_ms, format_tokens, format_usd, one_line
from waypost.rules.prices import format_amount
from waypost.surfaces import views
from waypost.surfaces.cli.screen import Column, Screen

HARNESS_LABELS: Final = {"claude_code": "claude", "codex": "codex"}
_TEXT_LINES_MAX: Final = 12


def show_events(screen: Screen, events: list[dict[str, object]]) -> None:
    """Write the content-free stream, one observation a line."""
    for one in events:
        screen.line("  ".join(_word(value) for value in one.values() if value is not None))


def show_commands(screen: Screen, commands: list[dict[str, object]]) -> None:
    """Write the commands of a session as a table."""
    screen.table(
        [
            Column("started"),
            Column("outcome"),
            Column("exit", right=True),
            Column("lifecycle"),
            Column("call"),
        ],
        [
            [
                str(one["started_at"] or ""),
                str(one["outcome"]),
                "" if one["exit_code"] is None else str(one["exit_code"]),
                str(one["lifecycle"]),
                " ".join(str(one["command"] or one["call_id"]).split()),
            ]
            for one in commands
        ],
    )


def number(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{format_count(count)} {noun}" + ("" if count == 1 else "s")


def when(at: int | None) -> str:
    """Return a local time as people write it."""
    if at is None:
        return "unknown"
    return datetime.fromtimestamp(at / 1000).astimezone().strftime("%Y-%m-%d %H:%M")


def failures(summary: SessionSummary) -> str:
    """Return failed commands, empty when there are none."""
    return format_count(summary.counters.failed_commands) if summary.counters.failed_commands else "·"


def cost_text(summary: SessionSummary) -> str:
    """Return a session's cost for a table."""
    return format_usd(format_amount(summary.cost.usd), summary.cost.lower_bound)


def title_text(summary: SessionSummary) -> str:
    """Return what a session is called, else what little is known of it."""
    title = views.masked(summary.stored.facts.title)
    return " ".join(title.split()) if title else "(no prompt)"


def sessions_table(screen: Screen, sessions: Sequence[SessionSummary]) -> None:
    """Write sessions as a table."""
    screen.table(
        [
            Column("started", style="dim"),
            Column("project", drop=1),
            Column("agent", drop=5),
            Column("prompts", right=True, drop=6),
            Column("commands", right=True, drop=4),
            Column("failed", right=True, drop=3),
            Column("cost", right=True, drop=2),
            Column("title", flexible=True),
            Column("session", style="dim"),
        ],
        [
            [
                when(one.stored.started_at),
                one_line(one.stored.project.name, 24),
                HARNESS_LABELS.get(one.stored.harness, one.stored.harness),
                format_count(one.counters.prompts + one.counters.automated_prompts),
                format_count(one.counters.commands),
                failures(one),
                cost_text(one),
                title_text(one),
                one.stored.key[:12],
            ]
            for one in sessions
        ],
    )


def show_sessions(screen: Screen, page: SessionPage) -> None:
    """Write a page of sessions."""
    if not page.sessions:
        screen.line("No sessions.")
        screen.note("waypost quickstart finds transcripts and reads them.")
        return
    sessions_table(screen, page.sessions)
    if any(one.cost.lower_bound for one in page.sessions):
        screen.note("≥ at least: some responses or prices are not in the transcript.")
    if page.next_cursor:
        screen.note(f"More: waypost sessions --cursor {page.next_cursor}")


def show_session(screen: Screen, page: TurnPage, *, full: bool) -> None:
    """Write a session: a head, then its timeline."""
    summary = page.summary
    stored, counters = summary.stored, summary.counters
    screen.line(title_text(summary), style="bold")
    span = ""
    if stored.started_at is not None and stored.ended_at is not None:
        span = f", {format_duration_ms(stored.ended_at - stored.started_at)}"
    models = ", ".join(summary.models) or "unknown model"
    screen.note(
        f"{stored.key}  {stored.project.name}  {HARNESS_LABELS.get(stored.harness, stored.harness)}  {models}"
    )
    screen.note(f"{when(stored.started_at)}{span}  {stored.facts.cwd or ''}  {stored.facts.branch or ''}")
    tokens = summary.tokens
    screen.line(
        f"{number(counters.prompts + counters.automated_prompts, 'prompt')},"
        f" {number(counters.commands, 'command')} ({format_count(counters.failed_commands)} failed),"
        f" {format_tokens(tokens.total)} tokens ({format_tokens(tokens.output)} out), {cost_text(summary)}"
    )
    if summary.reasons:
        screen.note(
            "Totals may be incomplete: " + ", ".join(one.replace("_", " ") for one in summary.reasons)
        )
    if summary.shared_tokens.total:
        screen.note(f"{format_tokens(summary.shared_tokens.total)} tokens were copied from another session.")
    screen.line()
    for turn in page.turns:
        _show_turn(screen, turn, full=full)
    if page.next_cursor:
        screen.note(f"More: waypost session {stored.key} --turns --cursor {page.next_cursor}")


def _label(turn: TurnView) -> tuple[str, str]:
    role, flags = turn.stored.role, turn.stored.flags
    if role == Role.USER:
        who = {Origin.HUMAN: "you", Origin.AUTOMATED: "caller", Origin.AGENT: "parent agent"}
        return who.get(Origin(turn.stored.origin), "harness"), "bold cyan"
    if role == Role.ASSISTANT:
        return ("thinking", "dim") if flags & TurnFlag.THINKING else ("agent", "")
    if role == Role.TOOL_CALL:
        return turn.stored.tool or "tool", "magenta"
    if role == Role.TOOL_RESULT:
        if flags & TurnFlag.DENIED:
            return "denied", "yellow"
        if flags & TurnFlag.INTERRUPTED:
            return "interrupted", "yellow"
        if flags & TurnFlag.FAILED:
            code = turn.stored.exit_code
            return (f"failed, exit {code}" if code is not None else "failed"), "red"
        return "result", "dim"
    return ("compacted" if role == Role.COMPACTION else "harness"), "dim"


def _show_turn(screen: Screen, turn: TurnView, *, full: bool) -> None:
    label, style = _label(turn)
    clock = ""
    if turn.stored.at is not None:
        clock = datetime.fromtimestamp(turn.stored.at / 1000).astimezone().strftime("%H:%M:%S")
    cost = ""
    if turn.cost is not None:
        cost = "  " + format_usd(format_amount(turn.cost.usd), turn.cost.lower_bound)
    copied = "  (copied)" if turn.copied else ""
    screen.line(f"{clock}  {label}{cost}{copied}", style=style)
    text = turn_text(turn)
    quiet = turn.stored.role in (Role.TOOL_RESULT, Role.SYSTEM, Role.COMPACTION) or (
        turn.stored.flags & TurnFlag.THINKING
    )
    if text:
        lines = 0 if full else (4 if quiet else _TEXT_LINES_MAX)
        screen.block(text, indent=10, lines_max=lines, style="dim" if quiet else "")


def turn_text(turn: TurnView) -> str:
    """Return what a turn says, for reading."""
    shown = turn.readable
    if shown.tool is None:
        return (views.masked(shown.text) or "").strip()
    if turn.stored.role == Role.TOOL_RESULT:
        return (views.masked(shown.tool.result) or "").strip()
    value = views.plain_value(shown.tool.input)
    if isinstance(value, dict):
        command = views.command_text(value)
        if command is not None:
            return command
        return "\n".join(f"{name}: {_word(item)}" for name, item in value.items())
    return _word(value) if value is not None else ""


def _word(value: object) -> str:
    """Return a JSON value as people write it."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    return encode(value).decode()  # type: ignore[arg-type]
