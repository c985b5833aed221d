"""Records as plain dictionaries: the one shape behind ``--json``, exports, pages and MCP.

Values are what canonical JSON carries: text, integers, booleans, None, lists, dictionaries. Money is an
exact decimal string, a time ``YYYY-MM-DDTHH:MM:SS.mmmZ``. Secrets are masked here, so that nothing is
shown or exported unmasked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.records.ids import agent_execution_key
from waypost.records.transcript import Lifecycle, Origin, Outcome, OutcomeSource, Role, Tokens, TurnFlag
from waypost.rules.prices import Cost, format_amount
from waypost.rules.redaction import redact
from waypost.rules.timestamps import format_ms

if TYPE_CHECKING:
    from waypost.flows.history import (
        CostReport,
        Hit,
        HitPage,
        SessionPage,
        SessionSummary,
        TurnPage,
        TurnView,
    )
    from waypost.machine.store.turns import StoredEvent, StoredExecution

Plain = dict[str, object]

_ROLES = {int(role): role.name.lower() for role in Role}
_ORIGINS = {int(origin): origin.name.lower() for origin in Origin}
_FLAG_NAMES = {
    TurnFlag.PROMPT: "prompt",
    TurnFlag.SLASH_COMMAND: "slash_command",
    TurnFlag.SHELL_LINE: "shell_line",
    TurnFlag.TAUGHT: "taught",
    TurnFlag.INTERRUPTION: "interruption",
    TurnFlag.THINKING: "thinking",
    TurnFlag.SIDECHAIN: "sub_agent",
    TurnFlag.API_ERROR: "api_error",
    TurnFlag.QUEUED: "queued",
    TurnFlag.FEEDBACK: "feedback",
    TurnFlag.ECHO: "delivered_pack",
}


def masked(text: str | None) -> str | None:
    """Return text with secrets masked."""
    return redact(text).text if text else text


def plain_value(value: object, depth: int = 0) -> object:
    """Return JSON from a transcript as a canonical value: secrets masked, other numbers as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return masked(value.encode("utf-8", "replace").decode())
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if depth > 48:
        return None
    if isinstance(value, dict):
        return {
            str(name).encode("utf-8", "replace").decode(): plain_value(item, depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain_value(item, depth + 1) for item in value]
    return str(value)


def tokens_view(tokens: Tokens) -> Plain:
    """``tokens``: disjoint classes except ``reasoning``, which is part of ``output``; and their sum."""
    return {
        "input": tokens.input,
        "output": tokens.output,
        "cache_read": tokens.cache_read,
        "cache_write_5m": tokens.cache_write_5m,
        "cache_write_1h": tokens.cache_write_1h,
        "reasoning": tokens.reasoning,
        "total": tokens.total,
    }


def cost_view(cost: Cost, price_table: str) -> Plain:
    """``cost``: an exact sum over what has a price."""
    return {
        "usd": format_amount(cost.usd),
        "lower_bound": cost.lower_bound,
        "unpriced_models": list(cost.unpriced_models),
        "price_table": price_table,
    }


def session_view(summary: SessionSummary, price_table: str) -> Plain:
    """A session with its counters and totals."""
    stored, counters = summary.stored, summary.counters
    facts = stored.facts
    view: Plain = {
        "session": stored.key,
        "harness": stored.harness,
        "native_id": stored.native_id,
        "parent": stored.parent,
        "forked_from": stored.forked,
        "project": stored.project.name,
        "project_key": stored.project_key,
        "remote": stored.project.remote,
        "cwd": facts.cwd,
        "branch": facts.branch,
        "title": masked(facts.title),
        "version": facts.version,
        "entrypoint": facts.entrypoint,
        "started_at": format_ms(stored.started_at),
        "ended_at": format_ms(stored.ended_at),
        "models": list(summary.models),
        "prompts": counters.prompts,
        "automated_prompts": counters.automated_prompts,
        "queued_prompts": counters.queued_prompts,
        "turns": counters.turns,
        "shared_turns": counters.copied_turns,
        "commands": counters.commands,
        "failed_commands": counters.failed_commands,
        "denied_commands": counters.denied_commands,
        "tokens": tokens_view(summary.tokens),
        "shared_tokens": tokens_view(summary.shared_tokens),
        "cost": cost_view(summary.cost, price_table),
        "coverage": {
            "complete": summary.complete,
            "malformed_records": counters.malformed_records,
            "reasons": list(summary.reasons),
        },
    }
    if summary.stated_usd is not None:
        view["stated_usd"] = summary.stated_usd
        view["not_visible_usd"] = format_amount(summary.not_visible_usd)
    return view


def sessions_view(page: SessionPage, price_table: str) -> Plain:
    """A page of sessions."""
    return {
        "sessions": [session_view(one, price_table) for one in page.sessions],
        "next_cursor": page.next_cursor,
    }


def _ok(flags: int) -> bool | None:
    if flags & TurnFlag.OK:
        return True
    return False if flags & (TurnFlag.FAILED | TurnFlag.DENIED | TurnFlag.REFUSED) else None


def turn_view(turn: TurnView, price_table: str) -> Plain:
    """A turn: who, what, where it was read, what it cost."""
    stored, shown = turn.stored, turn.readable
    tool: Plain | None = None
    if shown.tool is not None:
        tool = {
            "name": shown.tool.name or stored.tool,
            "call_id": shown.tool.call_id,
            "input": plain_value(shown.tool.input),
            "result": masked(shown.tool.result),
            "ok": _ok(stored.flags),
            "exit_code": stored.exit_code,
            "denied": bool(stored.flags & TurnFlag.DENIED),
            "interrupted": bool(stored.flags & TurnFlag.INTERRUPTED),
            "duration_ms": shown.tool.duration_ms,
            "feedback": masked(shown.tool.feedback),
        }
    return {
        "turn": turn.id,
        "order": turn.order,
        "role": _ROLES[stored.role],
        "origin": _ORIGINS[stored.origin],
        "at": format_ms(stored.at),
        "model": shown.model,
        "cwd": shown.cwd,
        "branch": shown.branch,
        "parent": turn.parent,
        "native_id": shown.native_id,
        "response": shown.response_id,
        "agent": shown.agent,
        "text": masked(shown.text),
        "media": [
            {"media_type": one.media_type, "bytes": one.bytes, "sha256": one.sha256} for one in shown.media
        ],
        "flags": [name for flag, name in _FLAG_NAMES.items() if stored.flags & flag],
        "tokens": tokens_view(turn.tokens) if turn.tokens is not None else None,
        "cost": cost_view(turn.cost, price_table) if turn.cost is not None else None,
        "shared": turn.shared,
        "copied": turn.copied,
        "tool": tool,
        "source": {
            "file": f"{turn.file.root}/{turn.file.relative}",
            "offset": stored.offset,
            "length": stored.length,
            "parser": turn.file.harness,
            "parser_version": stored.parser,
            "stale": turn.file.stale,
        },
        "truncated": shown.truncated,
    }


def turn_page_view(page: TurnPage, price_table: str) -> Plain:
    """A session and a page of its turns."""
    return {
        "session": session_view(page.summary, price_table),
        "turns": [turn_view(one, price_table) for one in page.turns],
        "malformed": [
            {"file": one.relative, "offset": one.offset, "length": one.length, "reason": one.reason}
            for one in page.malformed
        ],
        "next_cursor": page.next_cursor,
    }


def command_text(value: object) -> str | None:
    """Return the command of a shell call's input; None where it names none."""
    if isinstance(value, dict):
        found = next((value[name] for name in ("command", "cmd") if name in value), None)
        if isinstance(found, list):
            return " ".join(str(one) for one in found)
        return found if isinstance(found, str) else None
    return value if isinstance(value, str) else None


def execution_view(session: str, one: StoredExecution, called: object) -> Plain:
    """A command that an agent ran."""
    return {
        "command": masked(command_text(called)),
        "execution": agent_execution_key(session, one.call_id),
        "origin": "agent",
        "call_id": one.call_id,
        "started_at": format_ms(one.started_at),
        "ended_at": format_ms(one.ended_at),
        "duration_ms": one.duration_ms,
        "lifecycle": Lifecycle(one.lifecycle).name.lower(),
        "outcome": Outcome(one.outcome).name.lower(),
        "outcome_source": OutcomeSource(one.source).name.lower(),
        "exit_code": one.exit_code,
        "denied": one.denied,
    }


def event_view(one: StoredEvent) -> Plain:
    """A content-free observation."""
    return {
        "at": format_ms(one.at),
        "type": one.type,
        "phase": one.phase,
        "tool": one.tool,
        "call": f"{one.call & (2**64 - 1):016x}" if one.call is not None else None,
        "ok": _ok(one.flags),
        "exit_code": one.exit_code,
    }


def hit_view(hit: Hit) -> Plain:
    """A search hit."""
    return {
        "session": hit.session,
        "turn": hit.turn,
        "at": format_ms(hit.at),
        "role": _ROLES[hit.role],
        "project": hit.project,
        "title": masked(hit.title),
        "snippet": masked(hit.snippet),
    }


def hits_view(page: HitPage) -> Plain:
    """Search hits, best first."""
    return {
        "hits": [hit_view(one) for one in page.hits],
        "next_cursor": page.next_cursor,
        "partial": page.partial,
        "turns_not_indexed": page.behind,
    }


def costs_view(report: CostReport) -> Plain:
    """Usage by group and in all."""
    return {
        "by": report.by,
        "rows": [
            {
                "key": row.key,
                "label": masked(row.label),
                "tokens": tokens_view(row.tokens),
                "cost": cost_view(row.cost, report.price_table),
            }
            for row in report.rows
        ],
        "total": {
            "tokens": tokens_view(report.tokens),
            "cost": cost_view(report.cost, report.price_table),
        },
    }
