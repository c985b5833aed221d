"""Reads Claude Code transcripts, versions 0.2.126 to 2.1.332 and, with unknown parts counted, later.

One record becomes no turn, one turn, or one turn per content block. Usage is keyed by ``message.id``
alone (``requestId`` vanishes in copies and differs in replays), the largest output wins, and a
response without any ``stop_reason`` is a snapshot. Sub-agent records, wherever they lie, carry their
parent's session id and belong to it. Record types outside ``TURN_TYPES`` never become turns, whatever
they contain: an ``api-request-blob`` holds a message that was said elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from waypost.plugins.api import TranscriptFile
from waypost.plugins.harnesses.claude_code import render as rendering
from waypost.plugins.harnesses.claude_code.prompts import author
from waypost.plugins.harnesses.claude_code.shapes import (
    Block,
    Message,
    ProgressInner,
    Record,
    decode_progress,
    decode_record,
    decode_result,
)
from waypost.plugins.harnesses.payloads import any_json, leaves
from waypost.plugins.harnesses.projection import project
from waypost.records.ids import small_hash
from waypost.records.transcript import (
    MESSAGE_TEXT_BYTES_MAX,
    OPEN_CALLS_MAX,
    RAW_RECORD_BYTES_MAX,
    TOOL_TEXT_BYTES_MAX,
    Chunk,
    CommandDraft,
    Lifecycle,
    Malformed,
    Origin,
    Outcome,
    OutcomeSource,
    ReadableTurn,
    Role,
    SearchDraft,
    SessionDraft,
    TurnDraft,
    TurnFlag,
    UsageDraft,
)
from waypost.rules.excerpts import excerpt
from waypost.rules.provenance import PACK_MARKER, is_own_analysis
from waypost.rules.timestamps import parse_ms

NAME: Final = "claude_code"
VERSION: Final = 1

#: Types that carry no turn and no usage, known from the field.
QUIET_TYPES: Final = frozenset(
    {
        "agent-name",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "attachment",
        "continued-in",
        "file-history-delta",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "summary",
        "tools-used",
    }
)
COMMAND_TOOLS: Final = frozenset({"Bash"})
EDIT_TOOLS: Final = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
QUIET_SYSTEM: Final = frozenset({"turn_duration", "stop_hook_summary", "microcompact_boundary"})
#: First version whose Bash results state the exit code on their first line; before, only "failed".
EXIT_CODE_VERSION: Final = (2, 0, 15)
#: First version that says whether a denial came before the tool ran.
DENIAL_TIMING_VERSION: Final = (2, 1, 332)
TITLE_CHARACTERS_MAX: Final = 300
QUEUE_MAX: Final = 16
PROMPT_IDS_MAX: Final = 64
FOLDERS_MAX: Final = 64
QUEUED_CHARACTERS_MAX: Final = 8000

_EXIT_CODE: Final = re.compile(r"(?:Error: )?Exit code (\d{1,5})(?:\n|$)")
_DENIAL: Final = "The user doesn't want to "
_UNGRANTED: Final = "haven't granted it yet"
_FEEDBACK: Final = "the user said:\n"
_INTERRUPTED: Final = re.compile(
    r"(?:Error: )?(?:Exit code \d{1,5}\n)?\[Request interrupted by user for tool use\]"
)

_USER, _ASSISTANT = int(Role.USER), int(Role.ASSISTANT)
_CALL, _RESULT = int(Role.TOOL_CALL), int(Role.TOOL_RESULT)
_SYSTEM, _COMPACTION = int(Role.SYSTEM), int(Role.COMPACTION)
_AGENT, _HARNESS = int(Origin.AGENT), int(Origin.HARNESS)
_SIDECHAIN, _THINKING = int(TurnFlag.SIDECHAIN), int(TurnFlag.THINKING)
_COMMAND, _EDIT = int(TurnFlag.COMMAND), int(TurnFlag.FILE_EDIT)
_SEARCH, _IMAGE = int(TurnFlag.WEB_SEARCH), int(TurnFlag.IMAGE)
_PROJECTED, _ECHO = int(TurnFlag.PROJECTED), int(TurnFlag.ECHO)
_PROMPT = int(TurnFlag.PROMPT)
_OK, _FAILED, _DENIED = int(TurnFlag.OK), int(TurnFlag.FAILED), int(TurnFlag.DENIED)
_REFUSED, _FEEDBACK_FLAG = int(TurnFlag.REFUSED), int(TurnFlag.FEEDBACK)
_INTERRUPTED_FLAG, _BACKGROUND = int(TurnFlag.INTERRUPTED), int(TurnFlag.BACKGROUND)
_PENDING, _RUNNING = int(Lifecycle.PENDING), int(Lifecycle.RUNNING)
_FINISHED, _INTERRUPTED_LIFE = int(Lifecycle.FINISHED), int(Lifecycle.INTERRUPTED)
_SUCCEEDED, _OUTCOME_FAILED = int(Outcome.SUCCEEDED), int(Outcome.FAILED)
_UNKNOWN, _HARNESS_REPORT = int(Outcome.UNKNOWN), int(OutcomeSource.HARNESS_REPORT)
_HUMAN = int(Origin.HUMAN)


class OpenCall(msgspec.Struct, array_like=True, gc=False):
    """A tool call whose result has not been read yet."""

    tool: str
    at: int | None
    offset: int
    part: int
    response: int


class Waiting(msgspec.Struct, array_like=True):
    """What records without a folder say of a session that has not spoken yet."""

    title: str | None = None
    title_rank: int = 0
    stated_cost: str | None = None


class State(msgspec.Struct, array_like=True):
    """What a run of records leaves for the next: open calls, the file's last session, first time."""

    calls: dict[str, OpenCall] = msgspec.field(default_factory=dict)
    session: str | None = None
    opened_at: int | None = None
    prompted: list[str] = msgspec.field(default_factory=list)
    queue: list[str] = msgspec.field(default_factory=list)
    prompt_ids: list[int] = msgspec.field(default_factory=list)
    folders: dict[str, str] = msgspec.field(default_factory=dict)
    waiting: dict[str, Waiting] = msgspec.field(default_factory=dict)


_STATE_DECODER: Final = msgspec.msgpack.Decoder(State)
_PACK: Final = msgspec.msgpack.Encoder()
_NO_EXTRAS: Final = b""


def version_tuple(text: str | None) -> tuple[int, ...] | None:
    """Return a version as integers, or None when there is none to read."""
    if not text:
        return None
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", text)
    return tuple(int(group) for group in found.groups()) if found else None


class ClaudeCodeReader:
    """The transcript reader of Claude Code."""

    name = NAME
    version = VERSION

    def claims(self, relative: str) -> bool:
        """Every ``.jsonl`` below ``projects/`` except typed-prompt history and memory files."""
        name = relative.rsplit("/", 1)[-1]
        return name.endswith(".jsonl") and name != "history.jsonl" and "/memory/" not in relative

    def read(self, file: TranscriptFile, state: bytes, lines: Iterable[tuple[int, bytes]]) -> Chunk:
        """Read complete records. See ``TranscriptReader.read``."""
        run = _Run(file, _STATE_DECODER.decode(state) if state else State())
        for offset, data in lines:
            run.chunk.records += 1
            run.line(offset, data)
        return run.finish()

    def without_words(self, state: bytes) -> bytes:
        """Return a state without queued messages and titles."""
        if not state:
            return state
        kept = _STATE_DECODER.decode(state)
        kept.queue, kept.waiting = [], {}
        return _PACK.encode(kept)

    def render(self, raw: bytes, *, part: int, extras: bytes) -> ReadableTurn:
        """Return the readable form of a part of a record."""
        record = decode_record(raw)
        if record is None:
            return ReadableTurn(text=raw.decode("utf-8", "replace"))
        return rendering.render(record, part=part, extras=extras)


class _Run:
    """One pass over some complete records of one file."""

    def __init__(self, file: TranscriptFile, state: State) -> None:
        self.stem = file.relative.rsplit("/", 1)[-1].removesuffix(".jsonl")
        # Sub-agent records say so themselves, except in a few versions, whose files do.
        self.subagent = "/subagents/" in file.relative or self.stem.startswith("agent-")
        self.state = state
        self.chunk = Chunk()
        self.sessions: dict[str, SessionDraft] = {}
        self.usages: dict[tuple[str, int], UsageDraft] = {}
        self.response_name, self.response = "", 0
        self.commands: dict[tuple[str, str], CommandDraft] = {}

    def finish(self) -> Chunk:
        chunk = self.chunk
        chunk.sessions = list(self.sessions.values())
        chunk.usages = list(self.usages.values())
        chunk.commands = list(self.commands.values())
        chunk.state = _PACK.encode(self.state)
        return chunk

    def line(self, offset: int, data: bytes) -> None:
        chunk = self.chunk
        try:
            record = decode_record(data)
        except ValueError:
            chunk.malformed.append(Malformed(offset, len(data), "not_json"))
            return
        if record is None:
            chunk.malformed.append(Malformed(offset, len(data), "not_an_object"))
            return
        kind = record.type
        if kind in ("user", "assistant", "system"):
            native = record.session_id or self._session_without_id(record)
            if native is None:
                chunk.malformed.append(Malformed(offset, len(data), "not_claude_code"))
                return
            at = parse_ms(record.timestamp)
            if self.subagent:
                record.is_sidechain = True
            session = self._session(native, at, record)
            if kind == "assistant":
                self._assistant(session, record, at, offset, data)
            elif kind == "user":
                self._user(session, record, at, offset, data)
            else:
                self._system(session, record, at, offset, data)
        else:
            self._other(kind, record, offset, data)

    def _session_without_id(self, record: Record) -> str | None:
        """Records of a few versions carry no session id but are recognisably Claude Code's."""
        billed = record.message is not None and record.message.usage is not None
        if not (record.uuid or record.version or billed):
            return self.state.session
        return self.state.session or self.stem

    def _session(self, native: str, at: int | None, record: Record) -> SessionDraft:
        session = self.sessions.get(native)
        if session is None:
            session = self._draft(native)
        self.state.session = native
        if at is not None:
            ended = session.ended_at
            if ended is None:
                self._opened(at)
                session.opened_at = self.state.opened_at
                session.started_at = session.ended_at = at
            elif at > ended:
                session.ended_at = at
            elif session.started_at is not None and at < session.started_at:
                session.started_at = at
        if session.cwd is None and record.cwd:
            session.cwd = record.cwd
            if native not in self.state.folders:
                self.state.folders[native] = record.cwd
                if len(self.state.folders) > FOLDERS_MAX:
                    del self.state.folders[next(iter(self.state.folders))]
        if record.git_branch:
            session.branch = record.git_branch
        if record.version:
            session.version = record.version
        if session.entrypoint is None and record.entrypoint:
            session.entrypoint = record.entrypoint
        return session

    def _draft(self, native: str) -> SessionDraft:
        session = self.sessions.get(native)
        if session is None:
            session = SessionDraft(
                native_id=native, opened_at=self.state.opened_at, cwd=self.state.folders.get(native)
            )
            waiting = self.state.waiting.pop(native, None)
            if waiting is not None:
                session.title, session.title_rank = waiting.title, waiting.title_rank
                session.stated_cost = waiting.stated_cost
            self.sessions[native] = session
        return session

    def _beside(self, native: str) -> SessionDraft | Waiting:
        """Return where a record without a folder of its own writes: a session known here, or what waits.

        A session whose folder is not known yet is not begun: its project may have opted out.
        """
        if native in self.sessions or native in self.state.folders:
            return self._draft(native)
        if len(self.state.waiting) >= FOLDERS_MAX:
            self.state.waiting.clear()
        return self.state.waiting.setdefault(native, Waiting())

    def _opened(self, at: int | None) -> None:
        if self.state.opened_at is None and at is not None:
            self.state.opened_at = at

    def _turn(
        self,
        session: SessionDraft,
        *,
        at: int | None,
        offset: int,
        data: bytes,
        part: int,
        role: int,
        origin: int,
        flags: int,
        text: str,
        tool: str | None = None,
        call_id: str | None = None,
        exit_code: int | None = None,
        extras: bytes = _NO_EXTRAS,
        record: Record | None = None,
    ) -> None:
        raw: bytes | None = None
        if len(data) > RAW_RECORD_BYTES_MAX:
            if record is not None:
                shown = rendering.render(record, part=part, extras=extras)
                extras = project(shown, extras=extras, data=data if part == 0 else b"")
            flags |= _PROJECTED
        elif part == 0:
            raw = data
        if PACK_MARKER in text:
            flags |= _ECHO
        session.turns += 1
        self.chunk.turns.append(
            TurnDraft(
                session.native_id,
                offset,
                len(data),
                part,
                role,
                origin,
                at,
                flags,
                tool,
                small_hash(call_id) if call_id is not None else None,
                exit_code,
                text,
                extras,
                raw,
            )
        )

    # -- assistant ---------------------------------------------------------------------------------

    def _assistant(
        self, session: SessionDraft, record: Record, at: int | None, offset: int, data: bytes
    ) -> None:
        message = record.message
        if message is None:
            self.chunk.malformed.append(Malformed(offset, len(data), "no_message"))
            return
        synthetic = message.model == "<synthetic>"
        name = message.id or record.uuid or f"{self.stem}:{offset}"
        if name == self.response_name:
            response = self.response
        else:
            response = small_hash(NAME, name)
            self.response_name, self.response = name, response
        if not synthetic:
            if message.usage is not None:
                self._usage(session, message, response, at, offset)
            if message.model and message.model not in session.models:
                session.models.append(message.model)
        base = _SIDECHAIN if record.is_sidechain or record.agent_id else 0
        if record.is_api_error_message:
            base |= int(TurnFlag.API_ERROR)
        origin = _HARNESS if synthetic else _AGENT
        content = message.content
        if isinstance(content, str):
            content = [Block(type="text", text=content)]
        for part, block in enumerate(content or ()):
            self._assistant_block(session, record, block, at, offset, data, part, base, origin, response)

    def _assistant_block(
        self,
        session: SessionDraft,
        record: Record,
        block: Block,
        at: int | None,
        offset: int,
        data: bytes,
        part: int,
        base: int,
        origin: int,
        response: int,
    ) -> None:
        kind = block.type
        if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            tool = block.name or "unknown"
            call_id = block.id or f"{record.uuid}:{part}"
            flags = base
            if tool in COMMAND_TOOLS:
                flags |= _COMMAND
            elif tool in EDIT_TOOLS:
                flags |= _EDIT
            elif tool == "WebSearch":
                flags |= _SEARCH
            call = OpenCall(tool, at, offset, part, response)
            self._open_call(call_id, call)
            if flags & _COMMAND:
                self._command_call(session, call_id, call)
            text = "\n".join(leaves(any_json(block.input))) if len(block.input) else ""
            self._turn(
                session,
                at=at,
                offset=offset,
                data=data,
                part=part,
                role=_CALL,
                origin=_AGENT,
                flags=flags,
                text=_cut(text, TOOL_TEXT_BYTES_MAX),
                tool=tool,
                call_id=call_id,
                record=record,
            )
            return
        if kind == "thinking":
            base |= _THINKING
        text = block.text or block.thinking or ""
        self._turn(
            session,
            at=at,
            offset=offset,
            data=data,
            part=part,
            role=_ASSISTANT,
            origin=origin,
            flags=base,
            text=_cut(text, MESSAGE_TEXT_BYTES_MAX),
            record=record,
        )

    def _usage(
        self,
        session: SessionDraft,
        message: Message,
        response: int,
        at: int | None,
        offset: int,
        *,
        mirrored: bool = False,
    ) -> None:
        usage = message.usage
        if usage is None:
            return
        key = (session.native_id, response)
        output = usage.output_tokens or 0
        final = message.stop_reason is not None
        known = self.usages.get(key)
        if known is not None:
            known.last_offset = offset
            known.final |= final
            if output <= known.output:
                return
        written = usage.cache_creation_input_tokens or 0
        creation = usage.cache_creation
        hour = (creation.ephemeral_1h_input_tokens or 0) if creation is not None else 0
        # The split always adds up to the total (0 mismatches in 19,196 responses); where a version
        # gives no split, the cheaper five-minute class is the only one that existed.
        searches = usage.server_tool_use.web_search_requests if usage.server_tool_use else 0
        details = usage.output_tokens_details
        draft = UsageDraft(
            session.native_id,
            response,
            at if known is None else known.at,
            message.model,
            max(usage.input_tokens or 0, 0),
            output,
            max(usage.cache_read_input_tokens or 0, 0),
            max(written - hour, 0),
            max(hour, 0),
            (details.thinking_tokens or 0) if details is not None else 0,
            searches or 0,
            final or (known is not None and known.final),
            offset if known is None else known.offset,
            offset,
            None,
            None,
            mirrored,
        )
        self.usages[key] = draft

    # -- user --------------------------------------------------------------------------------------

    def _user(self, session: SessionDraft, record: Record, at: int | None, offset: int, data: bytes) -> None:
        message = record.message
        content = message.content if message is not None else None
        if isinstance(content, list):
            results = [block for block in content if block.type == "tool_result"]
            if results:
                for part, block in enumerate(results):
                    self._result(session, record, block, at, offset, data, part)
                rest = _texts(content)
                if rest:
                    flags = int(TurnFlag.INTERRUPTION) if rest.startswith("[Request interrupted") else 0
                    self._turn(
                        session,
                        at=at,
                        offset=offset,
                        data=data,
                        part=len(results),
                        role=_SYSTEM,
                        origin=_HARNESS,
                        flags=flags,
                        text=rest,
                        record=record,
                    )
                return
            text = _texts(content)
            images = _IMAGE if any(block.type in ("image", "document") for block in content) else 0
        else:
            text, images = content or "", 0
        who = author(record, text)
        flags = int(who.flags) | images
        if record.is_sidechain or record.agent_id:
            flags |= _SIDECHAIN
        if flags & _PROMPT:
            if self._said_before(record.uuid):
                flags &= ~_PROMPT
            else:
                self._prompt(session, who.text, int(who.origin))
        self._turn(
            session,
            at=at,
            offset=offset,
            data=data,
            part=0,
            role=int(who.role),
            origin=int(who.origin),
            flags=flags,
            text=_cut(who.text, MESSAGE_TEXT_BYTES_MAX),
            record=record,
        )

    def _said_before(self, uuid: str | None) -> bool:
        """Tell whether a prompt of this id was counted: a record may be written twice."""
        if uuid is None:
            return False
        one, known = small_hash(uuid), self.state.prompt_ids
        if one in known:
            return True
        known.append(one)
        del known[:-PROMPT_IDS_MAX]
        return False

    def _prompt(self, session: SessionDraft, text: str, origin: int) -> None:
        if origin == _HUMAN:
            session.prompts += 1
        else:
            session.automated_prompts += 1
        if session.native_id not in self.state.prompted:
            self.state.prompted.append(session.native_id)
            session.own_run = is_own_analysis(text)
            if session.title_rank < 1:
                session.title, session.title_rank = text.strip()[:TITLE_CHARACTERS_MAX], 1

    def _result(
        self,
        session: SessionDraft,
        record: Record,
        block: Block,
        at: int | None,
        offset: int,
        data: bytes,
        part: int,
    ) -> None:
        call_id = block.tool_use_id or f"{record.uuid}:{part}"
        call = self.state.calls.pop(call_id, None)
        tool = call.tool if call is not None else None
        text = rendering.result_text(block.content)[0]
        failed = bool(block.is_error)
        status, exit_code = _result_status(record, tool, text, failed)
        flags = status
        if record.is_sidechain or record.agent_id:
            flags |= _SIDECHAIN
        if tool in COMMAND_TOOLS:
            flags |= _COMMAND
            self._command_result(session, call_id, call, at, status, exit_code)
        elif tool in EDIT_TOOLS:
            flags |= _EDIT
        if tool in ("WebSearch", None) and b'"searchCount"' in data:
            count = decode_result(record.tool_use_result).search_count or 0
            if count > 0:
                flags |= _SEARCH
                key = call.response if call is not None else small_hash(NAME, "search", call_id)
                self.chunk.searches.append(SearchDraft(session.native_id, key, at, offset, count))
                _add_reason(session, "web_search")
        started = call.at if call is not None else None
        extras = _PACK.encode((tool, started)) if call is not None else _NO_EXTRAS
        self._turn(
            session,
            at=at,
            offset=offset,
            data=data,
            part=part,
            role=_RESULT,
            origin=_HARNESS,
            flags=flags,
            text=_cut(text, TOOL_TEXT_BYTES_MAX),
            tool=tool,
            call_id=call_id,
            exit_code=exit_code,
            extras=extras,
            record=record,
        )

    def _open_call(self, call_id: str, call: OpenCall) -> None:
        calls = self.state.calls
        calls[call_id] = call
        if len(calls) > OPEN_CALLS_MAX:
            del calls[next(iter(calls))]

    def _command_call(self, session: SessionDraft, call_id: str, call: OpenCall) -> None:
        self.commands[session.native_id, call_id] = CommandDraft(
            session.native_id,
            call_id,
            call.offset,
            call.part,
            call.at,
            None,
            _RUNNING,
            _UNKNOWN,
            0,
            None,
            None,
            False,
        )

    def _command_result(
        self,
        session: SessionDraft,
        call_id: str,
        call: OpenCall | None,
        at: int | None,
        status: int,
        exit_code: int | None,
    ) -> None:
        started = call.at if call is not None else None
        lifecycle, outcome, source = _FINISHED, _UNKNOWN, 0
        if status & (_DENIED | _REFUSED):
            lifecycle = _PENDING
        elif status & _INTERRUPTED_FLAG:
            lifecycle = _INTERRUPTED_LIFE
        elif status & _BACKGROUND:
            lifecycle = _RUNNING
        else:
            outcome = _OUTCOME_FAILED if status & _FAILED else _SUCCEEDED
            source = _HARNESS_REPORT
        duration = at - started if at is not None and started is not None and at >= started else None
        self.commands[session.native_id, call_id] = CommandDraft(
            session.native_id,
            call_id,
            call.offset if call is not None else -1,
            call.part if call is not None else 0,
            started,
            at,
            lifecycle,
            outcome,
            source,
            exit_code,
            duration,
            bool(status & _DENIED),
        )

    # -- the rest ----------------------------------------------------------------------------------

    def _system(
        self, session: SessionDraft, record: Record, at: int | None, offset: int, data: bytes
    ) -> None:
        subtype = record.subtype or ""
        if subtype in QUIET_SYSTEM:
            return
        role, flags = _SYSTEM, 0
        if subtype == "compact_boundary":
            role = _COMPACTION
            _add_reason(session, "compaction")
        elif subtype == "api_error":
            flags = int(TurnFlag.API_ERROR)
        if record.is_sidechain or record.agent_id:
            flags |= _SIDECHAIN
        text = rendering.system_text(record)
        self._turn(
            session,
            at=at,
            offset=offset,
            data=data,
            part=0,
            role=role,
            origin=_HARNESS,
            flags=flags,
            text=_cut(text, MESSAGE_TEXT_BYTES_MAX),
            record=record,
        )

    def _other(self, kind: str, record: Record, offset: int, data: bytes) -> None:
        native = record.session_id
        at: int | None = None
        if self.state.opened_at is None or kind in ("progress", "queue-operation"):
            at = parse_ms(record.timestamp)
            self._opened(at)
        if kind == "progress":
            mirrored = native is not None and b'"agent_progress"' in data
            inner = decode_progress(record.data) if mirrored else None
            if inner is not None and native is not None:
                self._progress(native, record, inner, at, offset)
        elif kind == "cost-state" and native is not None:
            self._beside(native).stated_cost = bytes(record.total_cost).decode("ascii", "replace") or None
        elif kind in ("ai-title", "custom-title") and native is not None:
            title = record.custom_title or record.ai_title or record.title
            rank = 3 if kind == "custom-title" else 2
            draft = self._beside(native)
            if title and rank >= draft.title_rank:
                draft.title, draft.title_rank = title[:TITLE_CHARACTERS_MAX], rank
        elif kind == "queue-operation" and native is not None:
            self._queued(native, record, at, offset, data)
        elif kind not in QUIET_TYPES:
            name = kind[:80] if kind else "(none)"
            self.chunk.unknown_types[name] = self.chunk.unknown_types.get(name, 0) + 1

    def _progress(
        self, native: str, record: Record, inner: ProgressInner, at: int | None, offset: int
    ) -> None:
        """A sub-agent's record mirrored into its parent's file (2.0.7x to 2.1.6x).

        It gives usage and commands, each counted once with the sub-agent's own file where that
        exists, since both are keyed by the provider's ids. It gives no turns.
        """
        message = inner.message
        if message is None:
            return
        blocks = message.content if isinstance(message.content, list) else []
        session = self._session(native, at, record)
        if message.usage is not None and message.model != "<synthetic>" and (message.id or inner.uuid):
            response = small_hash(NAME, message.id or inner.uuid or "")
            self._usage(session, message, response, at, offset, mirrored=True)
            if message.model and message.model not in session.models:
                session.models.append(message.model)
        for block in blocks:
            if block.type == "tool_use" and block.name in COMMAND_TOOLS and block.id:
                call = OpenCall(block.name, at, offset, 0, 0)
                self._open_call(block.id, call)
                self._command_call(session, block.id, call)
            elif block.type == "tool_result" and block.tool_use_id:
                known = self.state.calls.pop(block.tool_use_id, None)
                if known is not None:
                    text = rendering.result_text(block.content)[0]
                    status, code = _result_status(Record(), known.tool, text, bool(block.is_error))
                    self._command_result(session, block.tool_use_id, known, at, status, code)

    def _queued(self, native: str, record: Record, at: int | None, offset: int, data: bytes) -> None:
        """A queued message that was removed from the queue went to the model mid-turn.

        It is then in no user record. ``dequeue`` means that a user record follows, ``popAll`` that the
        words went back to the input line.
        """
        queue = self.state.queue
        content = any_json(record.content) if len(record.content) else None
        if record.operation == "enqueue":
            queue.append(content[:QUEUED_CHARACTERS_MAX] if isinstance(content, str) else "")
            del queue[:-QUEUE_MAX]
            return
        if record.operation == "popAll":
            queue.clear()
            return
        waiting = queue.pop(0) if queue else ""
        text = content if isinstance(content, str) else waiting
        if record.operation != "remove" or not text.strip() or text.lstrip().startswith(("/", "<")):
            return
        if native not in self.sessions and native not in self.state.folders:
            return
        session = self._session(native, at, record)
        session.queued_prompts += 1
        self._turn(
            session,
            at=at,
            offset=offset,
            data=data,
            part=0,
            role=_USER,
            origin=_HUMAN,
            flags=int(TurnFlag.QUEUED),
            text=text,
            extras=_PACK.encode(text),
            record=record,
        )


def _cut(text: str, bytes_max: int) -> str:
    return text if len(text) * 4 <= bytes_max else excerpt(text, bytes_max=bytes_max).text


def _texts(content: list[Block]) -> str:
    return "\n".join(block.text for block in content if block.text)


def _add_reason(session: SessionDraft, reason: str) -> None:
    if reason not in session.reasons:
        session.reasons.append(reason)


def _result_status(record: Record, tool: str | None, text: str, failed: bool) -> tuple[int, int | None]:
    """Return the flags that a result gives its call, and the exit code where the format states one."""
    if not failed:
        if tool in COMMAND_TOOLS:
            stated = decode_result(record.tool_use_result)
            if stated.interrupted:
                return _INTERRUPTED_FLAG, None
            if stated.background_task_id:
                return _BACKGROUND, None
        return _OK, None
    if _INTERRUPTED.match(text):
        return _INTERRUPTED_FLAG, None
    if text.startswith(_DENIAL) or _UNGRANTED in text[:2000]:
        status = _INTERRUPTED_FLAG if _during_run(record, text) else _DENIED
        words = record.user_feedback or _FEEDBACK in text
        return (status | _FEEDBACK_FLAG if words else status), None
    if record.tool_denial_kind is not None:
        return (_DENIED | _FEEDBACK_FLAG if record.user_feedback else _DENIED), None
    if text.startswith("<tool_use_error>"):
        return _FAILED | _REFUSED, None
    exit_code = None
    if tool in COMMAND_TOOLS:
        version = version_tuple(record.version)
        found = _EXIT_CODE.match(text) if version is None or version >= EXIT_CODE_VERSION else None
        exit_code = int(found[1]) if found is not None else None
    return _FAILED, exit_code


def _during_run(record: Record, text: str) -> bool:
    """Tell an escape while a tool ran from a rejection, where the version makes them look alike."""
    version = version_tuple(record.version)
    return (
        version is not None
        and version >= DENIAL_TIMING_VERSION
        and record.tool_denial_kind == "user-rejected"
        and not record.tool_denial_before_run
        and not record.user_feedback
        and text.startswith(_DENIAL)
        and _FEEDBACK not in text
    )
