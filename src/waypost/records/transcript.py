"""What an agent's transcript says, in one shape for every harness.

A *reader* (``plugins.harnesses``) turns complete transcript records into a ``Chunk`` of drafts; the
store keeps them; a reader turns a kept raw record back into a ``ReadableTurn`` when somebody looks.
Drafts carry native ids and offsets, never store ids, so a chunk can be made in another process.

Times are integer milliseconds since the epoch (UTC). Token counts are integers. ``None`` means that
the transcript does not say: nothing here is inferred.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final

import msgspec

#: Tool input and tool result are kept to this many bytes each in a readable turn, head and tail.
TOOL_TEXT_BYTES_MAX: Final = 16 * 1024
#: Message text is kept to this many bytes in a readable turn, head and tail.
MESSAGE_TEXT_BYTES_MAX: Final = 256 * 1024
#: A raw record up to this size is kept whole beside its turn; above it, its hash and byte range.
RAW_RECORD_BYTES_MAX: Final = 64 * 1024
#: Open tool calls that a reader remembers across chunks; the oldest are forgotten first.
OPEN_CALLS_MAX: Final = 512


class Role(IntEnum):
    """Who speaks in a turn."""

    USER = 1
    ASSISTANT = 2
    TOOL_CALL = 3
    TOOL_RESULT = 4
    SYSTEM = 5
    COMPACTION = 6


class Origin(IntEnum):
    """What made the words: a person, a program that called the agent, the agent, or its harness."""

    HUMAN = 1
    AUTOMATED = 2
    AGENT = 3
    HARNESS = 4


class TurnFlag(IntFlag):
    """Facts about a turn that are not text."""

    PROMPT = 1 << 0  # a prompt that opens work: typed by a person, or sent by a calling program
    SLASH_COMMAND = 1 << 1
    SHELL_LINE = 1 << 2  # the person ran a shell line themselves
    TAUGHT = 1 << 3  # the person wrote into the agent's memory
    INTERRUPTION = 1 << 4
    THINKING = 1 << 5
    SIDECHAIN = 1 << 6  # belongs to a sub-agent of the session
    COMMAND = 1 << 7  # a shell command
    FILE_EDIT = 1 << 8
    OK = 1 << 9
    FAILED = 1 << 10
    DENIED = 1 << 11
    INTERRUPTED = 1 << 12
    REFUSED = 1 << 13  # the harness would not run the call: a mistake of the model
    FEEDBACK = 1 << 14  # the result carries the person's own words
    API_ERROR = 1 << 15
    BACKGROUND = 1 << 16
    PROJECTED = 1 << 17  # the raw record was over the cap: payload holds the readable form
    ECHO = 1 << 18  # holds text that this product delivered earlier
    WEB_SEARCH = 1 << 19
    IMAGE = 1 << 20
    QUEUED = 1 << 21  # a person's words that went in while the agent worked, outside any user record


class Lifecycle(IntEnum):
    """How far an execution got."""

    PENDING = 1
    RUNNING = 2
    FINISHED = 3
    INTERRUPTED = 4


class Outcome(IntEnum):
    """What an execution came to, from a status with a trusted source; never from text."""

    SUCCEEDED = 1
    FAILED = 2
    UNKNOWN = 3


class OutcomeSource(IntEnum):
    """Who stated the status."""

    NONE = 0
    PROCESS_WAIT = 1
    SHELL_MARKER = 2
    HARNESS_REPORT = 3


class TurnDraft(msgspec.Struct, array_like=True, gc=False):
    """One turn as read. ``raw`` is set on part 0 only: the record's bytes, or None over the cap.

    Once extras and raw are sealed they are dropped, so that only the sealed form crosses processes.
    """

    session: str
    offset: int
    length: int
    part: int
    role: int
    origin: int
    at: int | None
    flags: int
    tool: str | None
    call: int | None  # hash of the tool-call id
    exit_code: int | None
    text: str  # what the search index reads
    extras: bytes  # reader's own notes for rendering, msgpack
    raw: bytes | None


class UsageDraft(msgspec.Struct, array_like=True, gc=False):
    """Tokens of one API response. ``key`` is the same wherever the response is copied to.

    ``input`` is uncached input; the classes are disjoint except ``reasoning``, which is part of
    ``output``. ``turn_key`` and ``total`` serve the copied-history rules of harnesses whose usage
    records carry no response id. ``mirrored``: written a second time beside the file it belongs to.
    """

    session: str
    key: int
    at: int | None
    model: str | None
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    reasoning: int
    web_searches: int
    final: bool
    offset: int
    last_offset: int
    turn_key: int | None
    total: int | None
    mirrored: bool = False


class SearchDraft(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Web searches that a tool result reports, credited to the response that asked for them."""

    session: str
    key: int
    at: int | None
    offset: int
    count: int


class CommandDraft(msgspec.Struct, array_like=True, gc=False):
    """One command that an agent ran, or asked to run."""

    session: str
    call_id: str
    offset: int
    part: int
    started_at: int | None
    ended_at: int | None
    lifecycle: int
    outcome: int
    source: int
    exit_code: int | None
    duration_ms: int | None
    denied: bool


class SessionDraft(msgspec.Struct, array_like=True, gc=False):
    """What a chunk adds to a session. Counters are increments; other fields are what was seen."""

    native_id: str
    opened_at: int | None = None  # first time stamp of any record in this file
    started_at: int | None = None
    ended_at: int | None = None
    cwd: str | None = None
    branch: str | None = None
    remote: str | None = None
    version: str | None = None
    title: str | None = None
    title_rank: int = 0
    parent: str | None = None
    forked_from: str | None = None
    agent: str | None = None
    entrypoint: str | None = None
    stated_cost: str | None = None
    own_run: bool = False
    prompts: int = 0
    automated_prompts: int = 0
    queued_prompts: int = 0
    turns: int = 0
    models: list[str] = msgspec.field(default_factory=list)
    reasons: list[str] = msgspec.field(default_factory=list)
    copied_from: list[str] = msgspec.field(default_factory=list)


class Malformed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record that could not be read: where it is and why."""

    offset: int
    length: int
    reason: str


class Amendment(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A later record says who wrote an earlier turn."""

    session: str
    offset: int
    origin: int
    flags: int
    flags_before: int


class Chunk(msgspec.Struct, gc=False):
    """What a reader made of a run of complete records of one file."""

    turns: list[TurnDraft] = msgspec.field(default_factory=list)
    usages: list[UsageDraft] = msgspec.field(default_factory=list)
    searches: list[SearchDraft] = msgspec.field(default_factory=list)
    commands: list[CommandDraft] = msgspec.field(default_factory=list)
    sessions: list[SessionDraft] = msgspec.field(default_factory=list)
    amendments: list[Amendment] = msgspec.field(default_factory=list)
    malformed: list[Malformed] = msgspec.field(default_factory=list)
    unknown_types: dict[str, int] = msgspec.field(default_factory=dict)
    records: int = 0
    state: bytes = b""


class Media(msgspec.Struct, frozen=True):
    """What stands for a binary payload: media type, decoded size in bytes, SHA-256."""

    media_type: str
    bytes: int
    sha256: str


class ReadableTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call or its result. ``input`` is decoded JSON, or text where it was cut or is text."""

    name: str | None = None
    call_id: str | None = None
    input: object = None
    result: str | None = None
    ok: bool | None = None
    exit_code: int | None = None
    denied: bool = False
    interrupted: bool = False
    duration_ms: int | None = None
    feedback: str | None = None


class ReadableTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn as a person or an analysis reads it. ``truncated``: bytes dropped from text and tool."""

    text: str = ""
    model: str | None = None
    cwd: str | None = None
    branch: str | None = None
    native_id: str | None = None
    parent_native_id: str | None = None
    response_id: str | None = None
    agent: str | None = None
    tool: ReadableTool | None = None
    media: tuple[Media, ...] = ()
    truncated: int = 0


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """Token totals; disjoint classes except ``reasoning``, which is part of ``output``."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0

    def plus(self, other: Tokens) -> Tokens:
        """Return the sum of two totals."""
        return Tokens(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write_5m=self.cache_write_5m + other.cache_write_5m,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
            reasoning=self.reasoning + other.reasoning,
        )

    @property
    def total(self) -> int:
        """All tokens, each counted once."""
        return self.input + self.output + self.cache_read + self.cache_write_5m + self.cache_write_1h
