"""Inputs for the laws: arbitrary bytes, records with members of the wrong type, damaged real records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from waypost.plugins.api import Line, TranscriptFile

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "src" / "waypost" / "sample"
CASES = ROOT / "tests" / "corpus" / "transcripts"
CLAUDE_FILES = sorted([*SAMPLE.glob("claude/**/*.jsonl"), *CASES.glob("*/claude/**/*.jsonl")])
CODEX_FILES = sorted([*SAMPLE.glob("codex/**/*.jsonl"), *CASES.glob("*/codex/**/*.jsonl")])
assert CLAUDE_FILES and CODEX_FILES

#: The largest figure that these strategies write into a record.
FIGURE_MAX = 10**6

#: Any character, lone surrogates too.
any_text = st.text(st.characters(codec=None, categories=None), max_size=20)
figure = st.integers(min_value=0, max_value=FIGURE_MAX)
leaf = st.one_of(st.none(), st.booleans(), figure, st.floats(), any_text)
anything: st.SearchStrategy[Any] = st.recursive(
    leaf,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(any_text, inner, max_size=3)),
    max_leaves=6,
)


def lines_of(path: Path) -> list[Line]:
    """Return the records of a file with their offsets."""
    found: list[Line] = []
    offset = 0
    for data in path.read_bytes().split(b"\n"):
        if data:
            found.append(Line(offset, data))
        offset += len(data) + 1
    return found


def file_of(path: Path) -> TranscriptFile:
    """Return what a reader may know of a file: its path below the harness's root."""
    parts = path.parts
    start = next(number for number, part in enumerate(parts) if part in ("projects", "sessions"))
    return TranscriptFile("/".join(parts[start:]))


def as_lines(data: list[bytes]) -> list[Line]:
    """Give records the offsets that they would have in a file."""
    found: list[Line] = []
    offset = 0
    for one in data:
        found.append(Line(offset, one))
        offset += len(one) + 1
    return found


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The right type most of the time, anything else sometimes."""
    return st.one_of(strategy, strategy, strategy, anything)


def shaped(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with some of these members, each sometimes of another type, and sometimes one more."""
    named = st.fixed_dictionaries(
        {}, optional={name.rstrip("_"): maybe(value) for name, value in members.items()}
    )
    return st.builds(lambda one, more: {**more, **one}, named, st.dictionaries(any_text, leaf, max_size=1))


name = st.sampled_from(["a", "b", "c", ""])
time = st.sampled_from(["2026-11-30T10:00:00.000Z", "2026-11-30T10:00:01Z", "yesterday", ""])

_usage = shaped(
    input_tokens=figure,
    output_tokens=figure,
    cache_creation_input_tokens=figure,
    cache_read_input_tokens=figure,
    cache_creation=shaped(ephemeral_5m_input_tokens=figure, ephemeral_1h_input_tokens=figure),
    server_tool_use=shaped(web_search_requests=figure),
    output_tokens_details=shaped(thinking_tokens=figure),
)
_block = shaped(
    type=st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "new"]),
    text=st.sampled_from(["hello", "<command-name>/x</command-name>", "[Request interrupted by user]"]),
    thinking=any_text,
    id=name,
    name=st.sampled_from(["Bash", "Edit", "WebSearch", "Task"]),
    input=anything,
    tool_use_id=name,
    content=st.sampled_from(["Exit code 2\nno", "", "The user doesn't want to proceed"]),
    is_error=st.booleans(),
    source=shaped(type=st.just("base64"), media_type=any_text, data=any_text),
)
claude_record = shaped(
    type=st.sampled_from(["user", "assistant", "system", "progress", "queue-operation", "cost-state", "x"]),
    subtype=st.sampled_from(["compact_boundary", "api_error", "y"]),
    uuid=name,
    sessionId=name,
    timestamp=time,
    cwd=any_text,
    version=st.sampled_from(["2.0.14", "2.1.332", "new"]),
    isSidechain=st.booleans(),
    isMeta=st.booleans(),
    agentId=name,
    entrypoint=st.sampled_from(["cli", "sdk-cli"]),
    promptSource=st.sampled_from(["typed", "sdk", "system"]),
    origin=shaped(kind=st.sampled_from(["human", "task-notification"])),
    message=shaped(
        id=name,
        role=name,
        model=st.sampled_from(["claude-sonnet-5", "<synthetic>"]),
        content=st.one_of(any_text, st.lists(maybe(_block), max_size=3)),
        stop_reason=st.sampled_from(["end_turn", None]),
        usage=_usage,
    ),
    toolUseResult=shaped(interrupted=st.booleans(), searchCount=figure, backgroundTaskId=name),
    data=shaped(type=st.just("agent_progress"), message=anything),
    content=any_text,
    operation=st.sampled_from(["enqueue", "dequeue", "remove", "popAll"]),
    planContent=any_text,
    totalCostUSD=st.one_of(figure, st.floats()),
    customTitle=any_text,
)

_tokens = shaped(
    input_tokens=figure,
    cached_input_tokens=figure,
    cache_write_input_tokens=figure,
    output_tokens=figure,
    reasoning_output_tokens=figure,
    total_tokens=figure,
)
_parts = st.lists(shaped(type=st.just("input_text"), text=any_text, image_url=any_text), max_size=2)
_payload = shaped(
    type=st.sampled_from(
        [
            "message",
            "function_call",
            "function_call_output",
            "custom_tool_call",
            "local_shell_call",
            "reasoning",
            "token_count",
            "user_message",
            "item_completed",
            "turn_aborted",
            "task_started",
            "error",
        ]
    ),
    id=name,
    role=st.sampled_from(["user", "assistant", "developer"]),
    content=_parts,
    name=st.sampled_from(["shell", "exec_command", "write_stdin", "apply_patch"]),
    namespace=name,
    arguments=st.sampled_from(['{"cmd": "ls"}', "{", '{"session_id": 1}', '["a"]']),
    call_id=name,
    output=st.sampled_from(["Exit code: 1\nWall time: 2", '{"output":"","metadata":{"exit_code":3}}', ""]),
    message=any_text,
    info=shaped(total_token_usage=_tokens, last_token_usage=_tokens),
    turn_id=name,
    response_id=name,
    usage=_tokens,
    thread_token_usage=_tokens,
    cwd=any_text,
    model=name,
    source=anything,
    forked_from_id=name,
    item=shaped(
        type=st.sampled_from(["CommandExecution", "UserMessage", "FileChange", "McpToolCall", "new"]),
        id=name,
        command=anything,
        exit_code=st.integers(min_value=-2, max_value=255),
        status=st.sampled_from(["completed", "failed", "declined"]),
        duration=shaped(secs=figure, nanos=figure),
        content=_parts,
        aggregated_output=any_text,
    ),
)
codex_record = shaped(
    type=st.sampled_from(
        [
            "session_meta",
            "response_item",
            "event_msg",
            "turn_context",
            "token_usage_record",
            "compacted",
            "message",
            "world_state",
            "new",
        ]
    ),
    timestamp=time,
    payload=_payload,
    record_type=name,
    id=name,
    role=st.just("user"),
)


def encoded(record: object) -> bytes:
    """Write a record as Python's encoder does: NaN and lone surrogates come out as they are."""
    return json.dumps(record).encode()


def _replace(value: Any, path: list[int], new: Any) -> Any:
    """Put ``new`` somewhere into a JSON value; ``path`` picks the way down."""
    if not path or not isinstance(value, dict | list) or not value:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        chosen = list(value)[step % len(value)]
        return {**value, chosen: _replace(value[chosen], rest, new)}
    position = step % len(value)
    return [*value[:position], _replace(value[position], rest, new), *value[position + 1 :]]


@st.composite
def damaged_files(draw: st.DrawFn, paths: list[Path]) -> tuple[Path, list[Line]]:
    """A real file in which some records lost bytes, gained bytes, or hold a value of another type."""
    path = draw(st.sampled_from(paths))
    data = [line.data for line in lines_of(path)]
    for _ in range(draw(st.integers(1, 6))):
        position = draw(st.integers(0, len(data) - 1))
        old = data[position]
        how = draw(st.sampled_from(["cut", "insert", "type", "twice", "gone"]))
        if how == "cut" and old:
            start = draw(st.integers(0, len(old) - 1))
            data[position] = old[:start] + old[start + draw(st.integers(1, 40)) :]
        elif how == "insert":
            start = draw(st.integers(0, len(old)))
            data[position] = (
                old[:start] + draw(st.sampled_from([b"\xff", b'"', b"{", b"}", b"\\", b"0"])) + old[start:]
            )
        elif how == "twice":
            data.insert(position, old)
        elif how == "gone" and len(data) > 1:
            del data[position]
        else:
            try:
                value = json.loads(old)
            except ValueError:
                continue
            way = draw(st.lists(st.integers(0, 40), min_size=1, max_size=5))
            data[position] = encoded(_replace(value, way, draw(anything)))
    return path, as_lines(data)
