"""Reads Codex rollouts, versions 0.20 to 0.171 and, with unknown parts counted, later.

A rollout states thread, directory, model and turn once and lets the lines that follow inherit them,
so the reader carries that context in its state. Two questions need care.

*Who wrote a prompt.* A prompt appears twice: as a response item (the model's view) and as an event
(the person's view), the event after its twin up to 0.142 and as ``item_completed`` later. The item
becomes the turn and the event confirms it; an item that no event confirms was injected by the
harness. A confirmation may arrive in a later run of records, so it is an amendment.

*What a response cost.* ``token_usage_record`` (0.155 and later) is one response. Before, the walk
over ``token_count`` events: skip repeats of the cumulative total, skip fillers whose ``last`` does
not add up, add ``last``. A total that falls is a reset. Copied history is recognised later, from turn
ids and totals, when the parent's file is known (``rules.usage``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from waypost.plugins.api import TranscriptFile
from waypost.plugins.harnesses.codex import render as rendering
from waypost.plugins.harnesses.codex.authors import (
    COMMAND_TOOLS,
    author,
    completed_status,
    is_patch,
    provenance,
    spawn_parent,
    tool_flags,
)
from waypost.plugins.harnesses.codex.figures import Totals, adds_up, difference, totals, uncached
from waypost.plugins.harnesses.codex.outputs import OutputStatus, output_status
from waypost.plugins.harnesses.codex.render import Notes, call_input, message_text, output_text, tool_name
from waypost.plugins.harnesses.codex.shapes import (
    Compacted,
    CompletedItem,
    Git,
    Item,
    Outer,
    Part,
    SessionMeta,
    TokenUsage,
    TurnContext,
    UsageRecord,
    decode,
    decode_outer,
    parts_of,
    text_of,
)
from waypost.plugins.harnesses.payloads import any_json, leaves
from waypost.plugins.harnesses.projection import project
from waypost.records.ids import small_hash
from waypost.records.transcript import (
    MESSAGE_TEXT_BYTES_MAX,
    OPEN_CALLS_MAX,
    RAW_RECORD_BYTES_MAX,
    TOOL_TEXT_BYTES_MAX,
    Amendment,
    Chunk,
    CommandDraft,
    Lifecycle,
    Malformed,
    Origin,
    Outcome,
    OutcomeSource,
    ReadableTurn,
    Role,
    SessionDraft,
    TurnDraft,
    TurnFlag,
    UsageDraft,
)
from waypost.rules.excerpts import excerpt
from waypost.rules.provenance import PACK_MARKER, is_own_analysis
from waypost.rules.timestamps import parse_ms

NAME: Final = "codex"
VERSION: Final = 1
TITLE_CHARACTERS_MAX: Final = 300
CANDIDATES_MAX: Final = 16
#: Tools whose outputs open with a header of the harness; any other output is the tool's own words.
STATUS_TOOLS: Final = COMMAND_TOOLS | {"apply_patch", "write_stdin"}
#: 128 + SIGKILL: what a command ends with when its turn is aborted.
KILLED: Final = 137

#: Texts with which the harness opens what it injects as a user message.
HARNESS_OPENINGS: Final = (
    "<user_instructions>",
    "<environment_context>",
    "# AGENTS.md instructions",
    "<ENVIRONMENT",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skills_instructions>",
    "<multi_agent",
    "<permissions instructions>",
    "<INSTRUCTIONS>",
)
QUIET_EVENTS: Final = frozenset(
    {
        "agent_message",
        "agent_message_delta",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
        "context_compacted",
        "collab_agent_spawn_begin",
        "collab_agent_spawn_end",
        "collab_agent_interaction_end",
        "collab_close_end",
        "collab_waiting_end",
        "entered_review_mode",
        "exec_command_begin",
        "exec_command_end",
        "exited_review_mode",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "patch_apply_begin",
        "patch_apply_end",
        "plan_update",
        "task_complete",
        "thread_name_updated",
        "thread_rolled_back",
        "thread_settings_applied",
        "turn_diff",
        "view_image_tool_call",
        "web_search_begin",
        "web_search_end",
    }
)
QUIET_ITEMS: Final = frozenset({"ghost_snapshot", "additional_tools", "compaction", "web_search_call"})
QUIET_COMPLETED: Final = frozenset(
    {"AgentMessage", "Reasoning", "ContextCompaction", "Plan", "WebSearch", "HookPrompt"}
)
QUIET_TYPES: Final = frozenset({"world_state", "turn_attribution"})
_COMPLETED_TOOLS: Final = {
    "CommandExecution": "exec_command",
    "FileChange": "apply_patch",
    "McpToolCall": "mcp",
    "CollabAgentToolCall": "collab",
    "DynamicToolCall": "dynamic_tool",
}
_THREAD: Final = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl$")

_USER, _ASSISTANT = int(Role.USER), int(Role.ASSISTANT)
_CALL, _RESULT = int(Role.TOOL_CALL), int(Role.TOOL_RESULT)
_SYSTEM, _COMPACTION = int(Role.SYSTEM), int(Role.COMPACTION)
_HUMAN, _AUTOMATED = int(Origin.HUMAN), int(Origin.AUTOMATED)
_AGENT, _HARNESS = int(Origin.AGENT), int(Origin.HARNESS)
_PROMPT, _THINKING = int(TurnFlag.PROMPT), int(TurnFlag.THINKING)
_NO_FLAGS: Final = TurnFlag(0)
_COMMAND, _EDIT = int(TurnFlag.COMMAND), int(TurnFlag.FILE_EDIT)
_IMAGE, _ECHO, _PROJECTED = int(TurnFlag.IMAGE), int(TurnFlag.ECHO), int(TurnFlag.PROJECTED)


class OpenCall(msgspec.Struct, array_like=True, gc=False):
    """A call without output yet. ``stated``: a typed item already said how its command ended."""

    tool: str
    at: int | None
    offset: int
    stated: bool = False
    process: str | None = None


class Candidate(msgspec.Struct, array_like=True, gc=False):
    """A user item whose author is not stated yet."""

    offset: int
    hashes: list[int]
    counted: bool


class State(msgspec.Struct, array_like=True):
    """What the file has said so far."""

    thread: str | None = None
    bare: bool = False
    opened_at: int | None = None
    cwd: str | None = None
    branch: str | None = None
    remote: str | None = None
    model: str | None = None
    cli_version: str | None = None
    entrypoint: str | None = None
    author: int = _HUMAN
    turn_id: str | None = None
    recorded_turn: str | None = None
    total: Totals | None = None
    aborted: bool = False
    resets: int = 0
    model_offset: int | None = None
    calls: dict[str, OpenCall] = msgspec.field(default_factory=dict)
    processes: dict[str, str] = msgspec.field(default_factory=dict)
    candidates: list[Candidate] = msgspec.field(default_factory=list)
    twins: list[int] = msgspec.field(default_factory=list)
    event_prompts: list[int] = msgspec.field(default_factory=list)
    events_seen: bool = False
    prompted: bool = False


_STATE: Final = msgspec.msgpack.Decoder(State)
_PACK: Final = msgspec.msgpack.Encoder()


class CodexReader:
    """The transcript reader of Codex."""

    name = NAME
    version = VERSION

    def claims(self, relative: str) -> bool:
        """Rollout files: any ``.jsonl`` below ``sessions/`` or ``archived_sessions/``."""
        return relative.endswith(".jsonl") and not relative.endswith(("history.jsonl", "session_index.jsonl"))

    def read(self, file: TranscriptFile, state: bytes, lines: Iterable[tuple[int, bytes]]) -> Chunk:
        """Read complete records. See ``TranscriptReader.read``."""
        run = _Run(file, _STATE.decode(state) if state else State())
        for offset, data in lines:
            run.chunk.records += 1
            run.line(offset, data)
        return run.finish()

    def without_words(self, state: bytes) -> bytes:
        """Return the state: it holds ids, hashes, folder and model, no words."""
        return state

    def render(self, raw: bytes, *, part: int, extras: bytes) -> ReadableTurn:
        """Return the readable form of a record; Codex records have one part."""
        outer = decode_outer(raw)
        if outer is None:
            return ReadableTurn(text=raw.decode("utf-8", "replace"))
        return rendering.render(outer, raw, extras=extras)


class _Run:
    """One pass over some complete records of one file."""

    def __init__(self, file: TranscriptFile, state: State) -> None:
        found = _THREAD.search(file.relative)
        name = file.relative.rsplit("/", 1)[-1].removesuffix(".jsonl")
        self.fallback = found[1] if found is not None else name
        self.state = state
        self.chunk = Chunk()
        self.drafts: dict[str, SessionDraft] = {}
        self.usages: dict[int, UsageDraft] = {}
        self.commands: dict[str, CommandDraft] = {}

    def finish(self) -> Chunk:
        chunk = self.chunk
        chunk.sessions = list(self.drafts.values())
        chunk.usages = list(self.usages.values())
        chunk.commands = list(self.commands.values())
        chunk.state = _PACK.encode(self.state)
        return chunk

    def line(self, offset: int, data: bytes) -> None:
        chunk = self.chunk
        try:
            outer = decode_outer(data)
        except ValueError:
            chunk.malformed.append(Malformed(offset, len(data), "not_json"))
            return
        if outer is None:
            chunk.malformed.append(Malformed(offset, len(data), "not_an_object"))
            return
        kind = outer.type
        at = parse_ms(outer.timestamp)
        if kind is None:
            self._bare_head(outer, at, offset, data)
        elif kind == "response_item":
            self._item(decode(Item, outer.payload), outer, at, offset, data)
        elif kind == "event_msg":
            self._event(decode(Item, outer.payload), outer, at, offset, data)
        elif kind == "session_meta":
            self._meta(decode(SessionMeta, outer.payload), at)
        elif kind == "turn_context":
            self._context(decode(TurnContext, outer.payload), at)
        elif kind == "token_usage_record":
            self._usage_record(decode(UsageRecord, outer.payload), at, offset)
        elif kind == "compacted":
            self._compacted(outer, at, offset, data)
        elif self.state.bare or self._is_bare_item(kind):
            self._item(decode(Item, data), outer, at, offset, data)
        elif kind not in QUIET_TYPES:
            self._unknown(kind)

    def _is_bare_item(self, kind: str) -> bool:
        return kind in ("message", "reasoning", "function_call", "function_call_output", "local_shell_call")

    def _unknown(self, name: str) -> None:
        name = name[:80] or "(none)"
        self.chunk.unknown_types[name] = self.chunk.unknown_types.get(name, 0) + 1

    # -- session -----------------------------------------------------------------------------------

    def _session(self, at: int | None) -> SessionDraft:
        state = self.state
        if state.thread is None:
            state.thread = self.fallback
        draft = self.drafts.get(state.thread)
        if draft is None:
            draft = SessionDraft(
                native_id=state.thread,
                opened_at=state.opened_at,
                cwd=state.cwd,
                branch=state.branch,
                remote=state.remote,
                version=state.cli_version,
                entrypoint=state.entrypoint,
            )
            self.drafts[state.thread] = draft
        if at is not None:
            if state.opened_at is None:
                state.opened_at = at
            if draft.opened_at is None:
                draft.opened_at = state.opened_at
            if draft.started_at is None or at < draft.started_at:
                draft.started_at = at
            if draft.ended_at is None or at > draft.ended_at:
                draft.ended_at = at
        return draft

    def _bare_head(self, outer: Outer, at: int | None, offset: int, data: bytes) -> None:
        if outer.record_type is not None:
            return
        if outer.id is not None and outer.timestamp is not None and self.state.thread is None:
            git = decode(Git, outer.git) if len(outer.git) else Git()
            self.state.bare = True
            self.state.thread = outer.id
            self.state.branch, self.state.remote = git.branch, git.repository_url
            draft = self._session(at)
            _add(draft.reasons, "no_usage_recorded")
            return
        self.chunk.malformed.append(Malformed(offset, len(data), "not_codex"))

    def _meta(self, meta: SessionMeta, at: int | None) -> None:
        state = self.state
        native = meta.id
        if state.thread is not None and native is not None and native != state.thread:
            _add(self._session(None).copied_from, native)
            return
        first = state.thread is None
        if first:
            state.thread = native or self.fallback
        source = any_json(meta.source) if len(meta.source) else None
        thread_source = any_json(meta.thread_source) if len(meta.thread_source) else None
        state.cwd = meta.cwd or state.cwd
        state.cli_version = meta.cli_version or state.cli_version
        state.entrypoint = meta.originator or state.entrypoint
        if meta.git is not None:
            state.branch = meta.git.branch or state.branch
            state.remote = meta.git.repository_url or state.remote
        parent = meta.parent_thread_id or spawn_parent(source)
        if first:
            state.author = author(meta, source, thread_source, parent)
        draft = self._session(at if at is not None else parse_ms(meta.timestamp))
        draft.cwd = draft.cwd or state.cwd
        draft.branch, draft.remote = state.branch, state.remote
        draft.version, draft.entrypoint = state.cli_version, state.entrypoint
        draft.parent = draft.parent or parent
        draft.forked_from = draft.forked_from or meta.forked_from_id

    def _context(self, context: TurnContext, at: int | None) -> None:
        state = self.state
        draft = self._session(at)
        if context.cwd:
            state.cwd = context.cwd
            draft.cwd = draft.cwd or context.cwd
        if context.model:
            state.model = context.model
            _add(draft.models, context.model)
        if context.turn_id:
            state.turn_id = context.turn_id

    # -- usage -------------------------------------------------------------------------------------

    def _usage_record(self, record: UsageRecord, at: int | None, offset: int) -> None:
        state = self.state
        draft = self._session(at)
        if record.turn_id:
            state.turn_id = record.turn_id
        state.recorded_turn = state.turn_id or ""
        total = totals(record.thread_token_usage) if record.thread_token_usage is not None else None
        if total is not None:
            state.total = total
        if record.usage is None:
            return
        thread = draft.native_id
        key = (
            small_hash(NAME, "response", record.response_id)
            if record.response_id
            else small_hash(NAME, thread, state.turn_id or "", _place(total), str(offset))
        )
        self._usage(draft, key, record.usage, at, offset, total)

    def _token_count(self, item: Item, at: int | None, offset: int) -> None:
        state = self.state
        draft = self._session(at)
        info = item.info
        if info is None or info.total_token_usage is None:
            return
        total, before = totals(info.total_token_usage), state.total
        if total.same(before):
            return
        state.total = total
        if before is not None and total.total < before.total:
            state.resets += 1
            before = None
        if state.recorded_turn is not None and state.recorded_turn == (state.turn_id or ""):
            return
        last = info.last_token_usage
        if last is None:
            last = difference(info.total_token_usage, before)
        elif not adds_up(last):
            return
        key = small_hash(NAME, draft.native_id, state.turn_id or "", _place(total), str(state.resets))
        self._usage(draft, key, last, at, offset, total)

    def _usage(
        self,
        draft: SessionDraft,
        key: int,
        usage: TokenUsage,
        at: int | None,
        offset: int,
        total: Totals | None,
    ) -> None:
        state = self.state
        fresh, cached, written, output, reasoning = uncached(usage)
        known = self.usages.get(key)
        if known is not None:
            known.last_offset = offset
            if output <= known.output:
                return
        first = state.model_offset if state.model_offset is not None else offset
        if known is not None:
            first = known.offset
        self.usages[key] = UsageDraft(
            draft.native_id,
            key,
            at if known is None else known.at,
            state.model,
            fresh,
            output,
            cached,
            written,
            0,
            reasoning,
            0,
            True,
            first,
            offset,
            small_hash(NAME, "turn", state.turn_id) if state.turn_id else None,
            small_hash(_place(total)) if total is not None else None,
        )

    # -- turns -------------------------------------------------------------------------------------

    def _turn(
        self,
        outer: Outer,
        *,
        at: int | None,
        offset: int,
        data: bytes,
        role: int,
        origin: int,
        flags: int,
        text: str,
        text_bytes_max: int = MESSAGE_TEXT_BYTES_MAX,
        tool: str | None = None,
        call_id: str | None = None,
        exit_code: int | None = None,
        duration_ms: int | None = None,
    ) -> None:
        state = self.state
        draft = self._session(at)
        extras = _PACK.encode(Notes(state.cwd, state.branch, state.model, tool, duration_ms))
        raw: bytes | None = data
        if len(data) > RAW_RECORD_BYTES_MAX:
            extras = project(rendering.render(outer, data, extras=extras), extras=extras, data=data)
            raw, flags = None, flags | _PROJECTED
        if PACK_MARKER in text:
            flags |= _ECHO
        draft.turns += 1
        if origin == _AGENT and role in (_ASSISTANT, _CALL):
            state.model_offset = offset
        self.chunk.turns.append(
            TurnDraft(
                draft.native_id,
                offset,
                len(data),
                0,
                role,
                origin,
                at,
                flags,
                tool,
                small_hash(call_id) if call_id is not None else None,
                exit_code,
                excerpt(text, bytes_max=text_bytes_max).text,
                extras,
                raw,
            )
        )

    def _item(self, item: Item, outer: Outer, at: int | None, offset: int, data: bytes) -> None:
        if at is None and len(item.timestamp):
            at = parse_ms(any_json(item.timestamp))
        kind = item.type or ("message" if item.role else "")
        if item.passthrough is not None and item.passthrough.turn_id:
            self.state.turn_id = item.passthrough.turn_id
        if kind == "message":
            self._message(item, outer, at, offset, data)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._call(item, outer, at, offset, data)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._output(item, outer, at, offset, data)
        elif kind == "reasoning":
            self.state.model_offset = offset
            text = message_text(parts_of(item.summary))[0]
            if text:
                self._turn(
                    outer,
                    at=at,
                    offset=offset,
                    data=data,
                    role=_ASSISTANT,
                    origin=_AGENT,
                    flags=_THINKING,
                    text=text,
                )
        elif kind not in QUIET_ITEMS:
            self._unknown(f"response_item/{kind}")

    def _message(self, item: Item, outer: Outer, at: int | None, offset: int, data: bytes) -> None:
        parts = parts_of(item.content)
        text, found = message_text(parts)
        images = _IMAGE if found else 0
        if item.role == "assistant":
            self._turn(
                outer,
                at=at,
                offset=offset,
                data=data,
                role=_ASSISTANT,
                origin=_AGENT,
                flags=images,
                text=text,
            )
            return
        if item.role != "user":
            return  # developer and system messages are the harness's own prompt
        stated = provenance(item)
        harness = stated == "harness" or text.lstrip().startswith(HARNESS_OPENINGS)
        hashes = _text_hashes(parts)
        state = self.state
        if harness:
            self._turn(
                outer,
                at=at,
                offset=offset,
                data=data,
                role=_SYSTEM,
                origin=_HARNESS,
                flags=images,
                text=text,
            )
        elif any(one in state.event_prompts for one in hashes):
            state.event_prompts = [one for one in state.event_prompts if one not in hashes]
        elif state.author == _AGENT:
            state.twins = (state.twins + hashes)[-CANDIDATES_MAX:]
            self._user_turn(outer, at, offset, data, text, images, prompt=False)
        elif stated == "user" or state.bare:
            state.twins = (state.twins + hashes)[-CANDIDATES_MAX:]
            self._user_turn(outer, at, offset, data, text, images, prompt=True)
        else:
            counted = not state.events_seen
            self._user_turn(outer, at, offset, data, text, images, prompt=counted)
            state.candidates.append(Candidate(offset, hashes, counted))
            del state.candidates[:-CANDIDATES_MAX]

    def _user_turn(
        self, outer: Outer, at: int | None, offset: int, data: bytes, text: str, images: int, *, prompt: bool
    ) -> None:
        who = self.state.author
        origin = who if prompt or who == _AGENT else _HARNESS
        draft = self._session(at)
        if prompt:
            self._prompt(draft, text, 1)
        elif who == _AGENT and text and not self.state.prompted:
            self.state.prompted = True
            draft.title, draft.title_rank = text.strip()[:TITLE_CHARACTERS_MAX], 1
        self._turn(
            outer,
            at=at,
            offset=offset,
            data=data,
            role=_USER,
            origin=origin,
            flags=images | (_PROMPT if prompt else 0),
            text=text,
        )

    def _prompt(self, draft: SessionDraft, text: str, count: int) -> None:
        if self.state.author == _AUTOMATED:
            draft.automated_prompts += count
        else:
            draft.prompts += count
        if count > 0 and text and not self.state.prompted:
            self.state.prompted = True
            draft.own_run = is_own_analysis(text)
            draft.title, draft.title_rank = text.strip()[:TITLE_CHARACTERS_MAX], 1

    def _confirm(self, outer: Outer, text: str, at: int | None, offset: int, data: bytes) -> None:
        """An event says: this was a prompt. Find its twin, or make the event itself the turn."""
        state = self.state
        if text.lstrip().startswith(HARNESS_OPENINGS):
            return
        state.events_seen = True
        draft = self._session(at)
        one = small_hash(text)
        if one in state.twins:
            state.twins.remove(one)
            return
        if state.author == _AGENT:
            return
        match = next((known for known in state.candidates if one in known.hashes), None)
        for known in state.candidates:
            if known is match:
                if not known.counted:
                    self._amend(draft, known.offset, state.author, _PROMPT, 0)
                    self._prompt(draft, text, 1)
            elif known.counted:
                self._amend(draft, known.offset, _HARNESS, 0, _PROMPT)
                self._prompt(draft, "", -1)
                if match is not None and draft.title_rank == 1:
                    draft.title = text.strip()[:TITLE_CHARACTERS_MAX]
        state.candidates.clear()
        if match is None:
            state.event_prompts = [*state.event_prompts, one][-CANDIDATES_MAX:]
            self._user_turn(outer, at, offset, data, text, 0, prompt=True)

    def _amend(self, draft: SessionDraft, offset: int, origin: int, flags: int, before: int) -> None:
        self.chunk.amendments.append(Amendment(draft.native_id, offset, origin, flags, before))

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, item: Item, outer: Outer, at: int | None, offset: int, data: bytes) -> None:
        tool = tool_name(item)
        call_id = item.call_id or item.id or f"{offset}"
        flags = tool_flags(tool)
        value = call_input(item)
        if flags & _COMMAND and is_patch(value):
            tool, flags = "apply_patch", _EDIT
        call = OpenCall(tool, at, offset)
        if tool == "write_stdin" and isinstance(value, dict):
            call.process = str(value.get("session_id"))
        self.state.calls[call_id] = call
        if len(self.state.calls) > OPEN_CALLS_MAX:
            del self.state.calls[next(iter(self.state.calls))]
        if flags & _COMMAND:
            self._command(call_id, offset, at, Lifecycle.RUNNING, Outcome.UNKNOWN, OutcomeSource.NONE)
        self._turn(
            outer,
            at=at,
            offset=offset,
            data=data,
            role=_CALL,
            origin=_AGENT,
            flags=flags,
            text=value if isinstance(value, str) else "\n".join(leaves(value)),
            text_bytes_max=TOOL_TEXT_BYTES_MAX,
            tool=tool,
            call_id=call_id,
        )

    def _command(
        self,
        call_id: str,
        offset: int,
        started_at: int | None,
        lifecycle: Lifecycle,
        outcome: Outcome,
        source: OutcomeSource,
        ended_at: int | None = None,
        exit_code: int | None = None,
        duration_ms: int | None = None,
        denied: TurnFlag = _NO_FLAGS,
    ) -> None:
        known = self.commands.get(call_id)
        if known is not None:
            if known.ended_at is not None:
                return  # how it ended was said already; the store keeps the first word too
            offset = known.offset if offset < 0 else offset
            started_at = started_at if known.started_at is None else known.started_at
        if duration_ms is None and ended_at is not None and started_at is not None:
            duration_ms = ended_at - started_at if ended_at >= started_at else None
        self.commands[call_id] = CommandDraft(
            self._session(None).native_id,
            call_id,
            offset,
            0,
            started_at,
            ended_at,
            int(lifecycle),
            int(outcome),
            int(source),
            exit_code,
            duration_ms,
            bool(denied),
        )

    def _output(self, item: Item, outer: Outer, at: int | None, offset: int, data: bytes) -> None:
        state = self.state
        call_id = item.call_id or f"{offset}"
        call = state.calls.pop(call_id, None)
        tool = call.tool if call is not None else None
        text, found = output_text(item.output)
        asked = tool is None or tool in STATUS_TOOLS
        status = output_status(text) if asked else OutputStatus(_NO_FLAGS)
        flags = int(status.flags) | tool_flags(tool or "") | (_IMAGE if found else 0)
        duration = None
        if call is not None and call.at is not None and at is not None and at >= call.at:
            duration = at - call.at
        if call is not None and tool in COMMAND_TOOLS:
            if status.process is not None:
                state.processes[status.process] = call_id
                if len(state.processes) > OPEN_CALLS_MAX:
                    del state.processes[next(iter(state.processes))]
            if not call.stated:
                self._command_output(call_id, call, at, status.flags, status.exit_code)
        elif call is not None and call.process is not None and status.exit_code is not None:
            started = state.processes.pop(call.process, None)
            if started is not None:
                self._command_output(started, None, at, status.flags, status.exit_code)
        self._turn(
            outer,
            at=at,
            offset=offset,
            data=data,
            role=_RESULT,
            origin=_HARNESS,
            flags=flags,
            text=text,
            text_bytes_max=TOOL_TEXT_BYTES_MAX,
            tool=tool,
            call_id=call_id,
            exit_code=status.exit_code,
            duration_ms=duration,
        )

    def _command_output(
        self, call_id: str, call: OpenCall | None, at: int | None, flags: TurnFlag, exit_code: int | None
    ) -> None:
        lifecycle, outcome, source = Lifecycle.FINISHED, Outcome.UNKNOWN, OutcomeSource.NONE
        if flags & TurnFlag.DENIED:
            lifecycle = Lifecycle.PENDING
        elif flags & TurnFlag.INTERRUPTED:
            lifecycle = Lifecycle.INTERRUPTED
        elif flags & TurnFlag.BACKGROUND:
            lifecycle = Lifecycle.RUNNING
        elif exit_code is not None:
            outcome = Outcome.SUCCEEDED if exit_code == 0 else Outcome.FAILED
            source = OutcomeSource.HARNESS_REPORT
        elif flags & TurnFlag.FAILED:
            outcome, source = Outcome.FAILED, OutcomeSource.HARNESS_REPORT
        self._command(
            call_id,
            call.offset if call is not None else -1,
            call.at if call is not None else None,
            lifecycle,
            outcome,
            source,
            ended_at=None if lifecycle is Lifecycle.RUNNING else at,
            exit_code=exit_code,
            denied=flags & TurnFlag.DENIED,
        )

    # -- events ------------------------------------------------------------------------------------

    def _event(self, item: Item, outer: Outer, at: int | None, offset: int, data: bytes) -> None:
        kind = item.type
        if kind == "token_count":
            self._token_count(item, at, offset)
        elif kind == "user_message":
            self._confirm(outer, text_of(item.message) or "", at, offset, data)
        elif kind == "item_completed":
            completed = decode(CompletedItem, item.item)
            if item.turn_id:
                self.state.turn_id = item.turn_id
            self._completed(completed, outer, at, offset, data)
        elif kind == "task_started":
            self.state.aborted = False
            if item.turn_id:
                self.state.turn_id = item.turn_id
            self._session(at)
        elif kind == "turn_aborted":
            self.state.aborted = True
            _add(self._session(at).reasons, "aborted_turn")
            self._turn(
                outer,
                at=at,
                offset=offset,
                data=data,
                role=_SYSTEM,
                origin=_HARNESS,
                flags=int(TurnFlag.INTERRUPTION),
                text=f"turn aborted: {text_of(item.reason) or 'unknown'}",
            )
        elif kind in ("error", "stream_error", "warning"):
            self._turn(
                outer,
                at=at,
                offset=offset,
                data=data,
                role=_SYSTEM,
                origin=_HARNESS,
                flags=int(TurnFlag.API_ERROR) if kind != "warning" else 0,
                text=text_of(item.message) or kind,
            )
        elif kind not in QUIET_EVENTS:
            self._unknown(f"event_msg/{kind}")
        else:
            self._session(at)

    def _completed(self, item: CompletedItem, outer: Outer, at: int | None, offset: int, data: bytes) -> None:
        kind = item.type
        if kind == "UserMessage":
            self._confirm(outer, message_text(parts_of(item.content))[0], at, offset, data)
            return
        tool = _COMPLETED_TOOLS.get(kind)
        if tool is None:
            if kind not in QUIET_COMPLETED:
                self._unknown(f"item_completed/{kind}")
            return
        call_id = item.id or f"{offset}"
        call = self.state.calls.get(call_id)
        flags, duration = completed_status(item)
        if kind == "CommandExecution":
            started = call.at if call is not None else _started(at, duration)
            self._command_item(item, call_id, call, started, at, flags, duration)
        if call is not None:
            call.stated = True
            return  # its output follows as a response item
        if kind == "McpToolCall" and item.server and item.tool:
            tool = f"mcp__{item.server}__{item.tool}"
        elif kind == "CollabAgentToolCall" and item.tool:
            tool = item.tool
        body = [*leaves(rendering.command_input(item)), rendering.completed_text(item)]
        self._turn(
            outer,
            at=at,
            offset=offset,
            data=data,
            role=_RESULT,
            origin=_HARNESS,
            flags=int(flags) | tool_flags(tool),
            text="\n".join(body),
            text_bytes_max=TOOL_TEXT_BYTES_MAX,
            tool=tool,
            call_id=call_id,
            exit_code=item.exit_code,
            duration_ms=duration,
        )

    def _command_item(
        self,
        item: CompletedItem,
        call_id: str,
        call: OpenCall | None,
        started: int | None,
        at: int | None,
        flags: TurnFlag,
        duration: int | None,
    ) -> None:
        lifecycle, outcome, source = Lifecycle.FINISHED, Outcome.UNKNOWN, OutcomeSource.NONE
        exit_code = item.exit_code
        if flags & TurnFlag.DENIED:
            lifecycle = Lifecycle.PENDING
        elif exit_code is not None and (exit_code < 0 or (self.state.aborted and exit_code == KILLED)):
            lifecycle, exit_code = Lifecycle.INTERRUPTED, None  # the harness ended it for the person
        elif flags & (TurnFlag.OK | TurnFlag.FAILED):
            outcome = Outcome.SUCCEEDED if flags & TurnFlag.OK else Outcome.FAILED
            source = OutcomeSource.HARNESS_REPORT
        self._command(
            call_id,
            call.offset if call is not None else -1,
            started,
            lifecycle,
            outcome,
            source,
            ended_at=at,
            exit_code=exit_code,
            duration_ms=duration,
            denied=flags & TurnFlag.DENIED,
        )

    def _compacted(self, outer: Outer, at: int | None, offset: int, data: bytes) -> None:
        draft = self._session(at)
        _add(draft.reasons, "compaction")
        self._turn(
            outer,
            at=at,
            offset=offset,
            data=data,
            role=_COMPACTION,
            origin=_HARNESS,
            flags=0,
            text=decode(Compacted, outer.payload).message or "",
        )


def _place(total: Totals | None) -> str:
    """Return a place in a thread's running totals as text to hash."""
    return "none" if total is None else f"{total.input},{total.output},{total.total}"


def _add(values: list[str], value: str) -> None:
    if value not in values:
        values.append(value)


def _text_hashes(parts: list[Part]) -> list[int]:
    texts = [part.text for part in parts if part.text]
    joined = "\n".join(texts)
    return list({small_hash(joined), *(small_hash(text) for text in texts)})


def _started(at: int | None, duration: int | None) -> int | None:
    return at - duration if at is not None and duration is not None else None
