"""Who writes a Codex thread's prompts, and what a tool call is: a command, an edit, something else."""

from __future__ import annotations

from typing import Final

from waypost.plugins.harnesses.codex.shapes import CompletedItem, Item, SessionMeta
from waypost.records.transcript import Origin, TurnFlag

COMMAND_TOOLS: Final = frozenset(
    {"shell", "shell_command", "exec_command", "local_shell", "container.exec", "unified_exec"}
)
EDIT_TOOLS: Final = frozenset({"apply_patch"})
_HUMAN, _AUTOMATED, _AGENT = int(Origin.HUMAN), int(Origin.AUTOMATED), int(Origin.AGENT)
_COMMAND, _EDIT = int(TurnFlag.COMMAND), int(TurnFlag.FILE_EDIT)


def spawn_parent(source: object) -> str | None:
    """Return the thread that started this one, from the spelling of versions before ``parent_thread_id``."""
    if isinstance(source, dict):
        subagent = source.get("subagent")
        spawn = subagent.get("thread_spawn") if isinstance(subagent, dict) else None
        parent = spawn.get("parent_thread_id") if isinstance(spawn, dict) else None
        return parent if isinstance(parent, str) else None
    return None


def author(meta: SessionMeta, source: object, thread_source: object, parent: str | None) -> int:
    """Who writes this thread's prompts: a parent agent, a calling program, or a person."""
    if parent or thread_source == "subagent" or (isinstance(source, dict) and "subagent" in source):
        return _AGENT
    if meta.originator == "codex_exec" or source in ("exec", "mcp"):
        return _AUTOMATED
    return _HUMAN


def provenance(item: Item) -> str | None:
    """Return ``user`` or ``harness`` where the record says so (0.155 and later)."""
    metadata = item.passthrough.content_item_metadata if item.passthrough is not None else None
    kinds = {one.provenance.type for one in metadata or () if one.provenance is not None}
    if "user" in kinds:
        return "user"
    return "harness" if kinds else None


def is_patch(value: object) -> bool:
    """Tell whether a shell call is ``apply_patch`` in disguise: an edit, not a command."""
    if not isinstance(value, dict):
        return False
    command = value.get("cmd", value.get("command"))
    if isinstance(command, list) and command:
        command = command[2] if len(command) > 2 and command[1] in ("-lc", "-c") else command[0]
    return isinstance(command, str) and command.lstrip().startswith("apply_patch")


def completed_status(item: CompletedItem) -> tuple[TurnFlag, int | None]:
    """Return the flags and the duration in milliseconds that a typed item states."""
    duration = None
    if item.duration is not None:
        duration = (item.duration.secs or 0) * 1000 + (item.duration.nanos or 0) // 1_000_000
    if item.status == "declined":
        return TurnFlag.DENIED, duration
    if item.exit_code is not None:
        return (TurnFlag.OK if item.exit_code == 0 else TurnFlag.FAILED), duration
    if item.status == "completed":
        return TurnFlag.OK, duration
    if item.status == "failed":
        return TurnFlag.FAILED, duration
    return TurnFlag(0), duration


def tool_flags(tool: str) -> int:
    """Return whether a tool runs a command or edits files."""
    if tool in COMMAND_TOOLS:
        return _COMMAND
    return _EDIT if tool in EDIT_TOOLS else 0
