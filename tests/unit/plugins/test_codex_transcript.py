"""Codex rollouts: who wrote a prompt, and how commands end, by the record shapes of each version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from waypost.plugins.api import Line, TranscriptFile
from waypost.plugins.registry import transcript_reader
from waypost.records.transcript import (
    Chunk,
    CommandDraft,
    Lifecycle,
    Origin,
    Outcome,
    OutcomeSource,
    Role,
    TurnFlag,
)

READER = transcript_reader("codex")
FILE = TranscriptFile("sessions/2026/11/30/rollout-2026-11-30T10-00-00-s1.jsonl")
Record = dict[str, Any]


def of(kind: str, payload: Record, second: int = 0) -> Record:
    return {"timestamp": f"2026-11-30T10:00:{second:02d}.000Z", "type": kind, "payload": payload}


def meta(**more: Any) -> Record:
    return of(
        "session_meta", {"id": "s1", "cwd": "/work", "originator": "codex-tui", "source": "cli", **more}
    )


def item(text: str, *, provenance: str | None = None) -> Record:
    payload: Record = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    if provenance is not None:
        kinds = [{"provenance": {"type": provenance}}]
        payload["internal_chat_message_metadata_passthrough"] = {"content_item_metadata": kinds}
    return of("response_item", payload)


def event(text: str) -> Record:
    return of("event_msg", {"type": "user_message", "message": text})


def completed_message(text: str) -> Record:
    content = [{"type": "text", "text": text}]
    return of(
        "event_msg",
        {"type": "item_completed", "item": {"type": "UserMessage", "id": "i", "content": content}},
    )


def read(records: list[Record], *, runs: bool = False) -> list[Chunk]:
    lines = [Line(number * 10_000, json.dumps(one).encode()) for number, one in enumerate(records)]
    state, chunks = b"", []
    for part in [[line] for line in lines] if runs else [lines]:
        chunk = READER.read(FILE, state, part)
        state = chunk.state
        chunks.append(chunk)
    return chunks


def prompts(chunks: list[Chunk]) -> tuple[list[str], list[str], int, int]:
    """Texts of prompts and of other user turns after every amendment, and both counters."""
    flags = {turn.offset: turn.flags for chunk in chunks for turn in chunk.turns}
    for chunk in chunks:
        for change in chunk.amendments:
            flags[change.offset] = (flags[change.offset] & ~change.flags_before) | change.flags
    users = [turn for chunk in chunks for turn in chunk.turns if turn.role == Role.USER]
    asked = [turn.text for turn in users if flags[turn.offset] & TurnFlag.PROMPT]
    rest = [turn.text for turn in users if not flags[turn.offset] & TurnFlag.PROMPT]
    sessions = [session for chunk in chunks for session in chunk.sessions]
    return asked, rest, sum(one.prompts for one in sessions), sum(one.automated_prompts for one in sessions)


CONTEXT = item("<environment_context>x</environment_context>")
CASES = [
    ("event after its twin", [meta(), item("go"), event("go")], ["go"], [], 1, 0),
    ("event before its twin", [meta(), event("go"), item("go")], ["go"], [], 1, 0),
    ("no events at all", [meta(), item("go"), item("on")], ["go", "on"], [], 2, 0),
    (
        "the same words twice",
        [meta(), item("go"), event("go"), item("go"), event("go")],
        ["go", "go"],
        [],
        2,
        0,
    ),
    (
        "injected text that no event confirms",
        [meta(), item("injected"), item("go"), event("go")],
        ["go"],
        ["injected"],
        1,
        0,
    ),
    (
        "injected after events are known",
        [meta(), item("go"), event("go"), item("injected")],
        ["go"],
        ["injected"],
        1,
        0,
    ),
    (
        "injected between",
        [meta(), item("a"), event("a"), item("x"), item("b"), event("b")],
        ["a", "b"],
        ["x"],
        2,
        0,
    ),
    ("context rows", [meta(), CONTEXT, item("go"), event("go")], ["go"], [], 1, 0),
    ("an event of the harness", [meta(), event("<turn_aborted>x"), item("go")], ["go"], [], 1, 0),
    ("provenance user", [meta(), item("go", provenance="user"), completed_message("go")], ["go"], [], 1, 0),
    (
        "provenance harness",
        [meta(), item("x", provenance="harness"), item("go", provenance="user")],
        ["go"],
        [],
        1,
        0,
    ),
    (
        "completed item first",
        [meta(), completed_message("go"), item("go", provenance="user")],
        ["go"],
        [],
        1,
        0,
    ),
    ("codex exec", [meta(originator="codex_exec", source="exec"), item("go"), event("go")], ["go"], [], 0, 1),
    ("an MCP caller", [meta(originator="x", source="mcp"), item("go"), event("go")], ["go"], [], 0, 1),
    ("a sub-agent by parent", [meta(parent_thread_id="p"), item("go"), event("go")], [], ["go"], 0, 0),
    (
        "a sub-agent by source",
        [meta(source={"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}), item("go"), event("go")],
        [],
        ["go"],
        0,
        0,
    ),
    ("a review", [meta(source={"subagent": "review"}), item("go"), event("go")], [], ["go"], 0, 0),
    (
        "a sub-agent by thread source",
        [meta(thread_source="subagent"), event("go"), item("go")],
        [],
        ["go"],
        0,
        0,
    ),
]


@pytest.mark.parametrize("runs", [False, True], ids=["one run", "a run per record"])
@pytest.mark.parametrize(
    ("records", "asked", "rest", "human", "automated"),
    [row[1:] for row in CASES],
    ids=[row[0] for row in CASES],
)
def test_a_prompt_is_counted_once_and_only_if_somebody_sent_it(
    records: list[Record], asked: list[str], rest: list[str], human: int, automated: int, runs: bool
) -> None:
    assert prompts(read(records, runs=runs)) == (asked, rest, human, automated)


def test_bare_records_of_the_oldest_versions_are_read() -> None:
    def message(text: str) -> Record:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    records = [
        {
            "id": "s1",
            "timestamp": "2025-08-01T10:00:00.000Z",
            "instructions": None,
            "git": {"branch": "main"},
        },
        {"record_type": "state"},
        message("<user_instructions>x</user_instructions>"),
        message("# AGENTS.md instructions for /work"),
        message("go"),
        {"type": "function_call", "name": "shell", "call_id": "c", "arguments": '{"command":["ls"]}'},
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": '{"output":"","metadata":{"exit_code":2}}',
        },
    ]
    (chunk,) = read(records)
    assert prompts([chunk])[0] == ["go"] and chunk.malformed == []
    (session,) = chunk.sessions
    assert (session.native_id, session.branch, session.reasons) == ("s1", "main", ["no_usage_recorded"])
    assert [one.exit_code for one in chunk.commands] == [2]


# -- commands ------------------------------------------------------------------------------------------


def call(name: str, arguments: Any, call_id: str = "c1", *, second: int = 1, **more: Any) -> Record:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return of(
        "response_item",
        {"type": "function_call", "name": name, "arguments": text, "call_id": call_id, **more},
        second,
    )


def output(text: Any, call_id: str = "c1", *, second: int = 2) -> Record:
    return of("response_item", {"type": "function_call_output", "call_id": call_id, "output": text}, second)


def ended(call_id: str, *, second: int = 3, **more: Any) -> Record:
    found = {"type": "CommandExecution", "id": call_id, "command": ["/bin/bash", "-lc", "make"], **more}
    return of("event_msg", {"type": "item_completed", "item": found}, second)


def commands(records: list[Record]) -> dict[str, CommandDraft]:
    (chunk,) = read([meta(), *records])
    return {one.call_id: one for one in chunk.commands}


def came_to(one: CommandDraft) -> tuple[Lifecycle, Outcome, int | None]:
    return Lifecycle(one.lifecycle), Outcome(one.outcome), one.exit_code


def exited(code: int) -> str:
    return f"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\nx"


RUNNING = "Chunk ID: 1\nWall time: 10 seconds\nProcess running with session ID 77\nOutput:\n"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("shell", {"command": ["bash", "-lc", "make"]}),
        ("shell_command", {"command": "make"}),
        ("exec_command", {"cmd": "make"}),
        ("container.exec", {"cmd": ["make"]}),
        ("shell", "not json"),
    ],
)
def test_every_shell_tool_is_a_command_and_its_output_states_the_end(name: str, arguments: Any) -> None:
    found = commands([call(name, arguments), output(exited(2))])
    assert came_to(found["c1"]) == (Lifecycle.FINISHED, Outcome.FAILED, 2)
    assert (found["c1"].source, found["c1"].duration_ms) == (OutcomeSource.HARNESS_REPORT, 1000)


@pytest.mark.parametrize(
    ("text", "expected", "denied"),
    [
        ("exec command rejected by user", (Lifecycle.PENDING, Outcome.UNKNOWN, None), True),
        ("aborted by user after 2s", (Lifecycle.INTERRUPTED, Outcome.UNKNOWN, None), False),
        ("exec_command failed for `x`: no", (Lifecycle.FINISHED, Outcome.FAILED, None), False),
        (RUNNING, (Lifecycle.RUNNING, Outcome.UNKNOWN, None), False),
        ("words only", (Lifecycle.FINISHED, Outcome.UNKNOWN, None), False),
    ],
)
def test_an_output_without_a_code_claims_no_outcome_that_it_does_not_state(
    text: str, expected: tuple[Lifecycle, Outcome, int | None], denied: bool
) -> None:
    found = commands([call("exec_command", {"cmd": "make"}), output(text)])["c1"]
    assert came_to(found) == expected and found.denied == denied


def test_an_output_in_parts_is_read_like_text() -> None:
    parts = [{"type": "input_text", "text": exited(3)}]
    assert came_to(commands([call("exec_command", {"cmd": "x"}), output(parts)])["c1"])[2] == 3


def test_an_output_without_a_known_call_is_no_command() -> None:
    assert commands([output(exited(3))]) == {}


def test_a_later_write_completes_the_command_that_went_on() -> None:
    found = commands(
        [
            call("exec_command", {"cmd": "make"}, second=1),
            output(RUNNING, second=2),
            call("write_stdin", {"session_id": 77, "chars": ""}, "c2", second=5),
            output(exited(3), "c2", second=6),
        ]
    )
    assert set(found) == {"c1"}
    assert came_to(found["c1"]) == (Lifecycle.FINISHED, Outcome.FAILED, 3)


def test_a_write_to_another_process_completes_nothing() -> None:
    found = commands(
        [
            call("exec_command", {"cmd": "make"}),
            output(RUNNING),
            call("write_stdin", {"session_id": 78, "chars": ""}, "c2"),
            output(exited(0), "c2"),
        ]
    )
    assert came_to(found["c1"]) == (Lifecycle.RUNNING, Outcome.UNKNOWN, None)


def test_a_command_that_ends_later_keeps_its_start_and_place() -> None:
    found = commands(
        [
            call("exec_command", {"cmd": "make"}, second=1),
            output(RUNNING, second=2),
            call("write_stdin", {"session_id": 77, "chars": ""}, "c2", second=5),
            output(exited(3), "c2", second=6),
        ]
    )["c1"]
    assert (found.offset, found.started_at is not None) == (10_000, True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("shell", {"command": ["apply_patch", "*** Begin Patch"]}),
        ("shell", {"command": ["bash", "-lc", "apply_patch <<'EOF'\n*** Begin Patch"]}),
        ("shell_command", {"command": "apply_patch <<'EOF'\n*** Begin Patch"}),
        ("exec_command", {"cmd": "  apply_patch <<'EOF'"}),
    ],
)
def test_a_patch_given_to_a_shell_is_an_edit_and_no_command(name: str, arguments: Any) -> None:
    (chunk,) = read([meta(), call(name, arguments), output(exited(0))])
    assert chunk.commands == []
    assert [(turn.tool, bool(turn.flags & TurnFlag.FILE_EDIT)) for turn in chunk.turns] == [
        ("apply_patch", True)
    ] * 2
    assert not any(turn.flags & TurnFlag.COMMAND for turn in chunk.turns)


def test_words_about_a_patch_are_a_command() -> None:
    assert set(commands([call("shell", {"command": ["bash", "-lc", "echo apply_patch"]})])) == {"c1"}


def test_in_code_mode_the_typed_items_are_the_commands() -> None:
    script = {
        "type": "custom_tool_call",
        "name": "exec",
        "input": "await tools.exec('make')",
        "call_id": "c1",
    }
    done = {"type": "custom_tool_call_output", "call_id": "c1", "output": "Process exited with code 0"}
    items = [
        ended(
            "e1",
            exit_code=0,
            status="completed",
            aggregated_output="a",
            duration={"secs": 1, "nanos": 500_000_000},
        ),
        ended("e2", exit_code=2, status="failed", aggregated_output="b", duration={"secs": 0, "nanos": 0}),
        ended("e3", status="declined"),
        ended("e4", exit_code=-1, status="failed"),
        ended("e5"),
    ]
    found = commands([of("response_item", script), *items, of("response_item", done)])
    assert {key: came_to(one) for key, one in found.items()} == {
        "e1": (Lifecycle.FINISHED, Outcome.SUCCEEDED, 0),
        "e2": (Lifecycle.FINISHED, Outcome.FAILED, 2),
        "e3": (Lifecycle.PENDING, Outcome.UNKNOWN, None),
        "e4": (Lifecycle.INTERRUPTED, Outcome.UNKNOWN, None),
        "e5": (Lifecycle.FINISHED, Outcome.UNKNOWN, None),
    }
    assert found["e3"].denied and found["e1"].duration_ms == 1500
    first = found["e1"]
    assert first.started_at is not None and first.ended_at is not None
    assert first.ended_at - first.started_at == 1500


def test_an_item_and_an_output_of_one_call_are_one_command_and_one_result() -> None:
    (chunk,) = read(
        [
            meta(),
            call("exec_command", {"cmd": "make"}, second=1),
            ended("c1", exit_code=4, status="failed", second=2),
            output("no status in these words", second=3),
        ]
    )
    (command,) = chunk.commands
    assert came_to(command) == (Lifecycle.FINISHED, Outcome.FAILED, 4) and command.offset == 10_000
    assert [Role(turn.role) for turn in chunk.turns] == [Role.TOOL_CALL, Role.TOOL_RESULT]


def test_names_with_a_namespace_have_one_spelling() -> None:
    server = {"type": "McpToolCall", "id": "m1", "server": "notes", "tool": "add", "status": "completed"}
    (chunk,) = read(
        [
            meta(),
            call("add", {}, namespace="mcp__notes"),
            call("mcp__notes__add", {}, "c2"),
            of("event_msg", {"type": "item_completed", "item": server}),
        ]
    )
    assert [turn.tool for turn in chunk.turns] == ["mcp__notes__add"] * 3
    assert [turn.origin for turn in chunk.turns] == [Origin.AGENT, Origin.AGENT, Origin.HARNESS]


def test_what_another_tool_prints_is_no_exit_code() -> None:
    (chunk,) = read(
        [meta(), call("mcp__notes__add", {}), output('{"output":"x","metadata":{"exit_code":3}}')]
    )
    assert chunk.turns[-1].exit_code is None


# -- usage ---------------------------------------------------------------------------------------------


def test_a_total_that_falls_is_a_reset_and_what_follows_still_counts() -> None:
    def counted(total: int, last: int) -> Record:
        usage = {"input_tokens": total, "output_tokens": 0, "total_tokens": total}
        latest = {"input_tokens": last, "output_tokens": 0, "total_tokens": last}
        info = {"total_token_usage": usage, "last_token_usage": latest}
        return of("event_msg", {"type": "token_count", "info": info})

    (chunk,) = read([meta(), counted(26_530, 26_530), counted(5_312, 5_312), counted(26_530, 21_218)])
    assert [one.input for one in chunk.usages] == [26_530, 5_312, 21_218]


def test_a_filler_whose_parts_do_not_make_its_total_counts_nothing() -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    filler = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 200_000}
    info = {"total_token_usage": usage, "last_token_usage": filler}
    (chunk,) = read([meta(), of("event_msg", {"type": "token_count", "info": info})])
    assert chunk.usages == []


def test_a_usage_record_is_one_response_and_its_token_count_is_not_another() -> None:
    usage = {
        "input_tokens": 100,
        "cached_input_tokens": 60,
        "cache_write_input_tokens": 10,
        "output_tokens": 7,
        "reasoning_output_tokens": 3,
        "total_tokens": 107,
    }
    record = {"turn_id": "t1", "response_id": "r1", "usage": usage, "thread_token_usage": usage}
    info = {"total_token_usage": usage, "last_token_usage": usage}
    (chunk,) = read(
        [
            meta(),
            of("token_usage_record", record),
            of("token_usage_record", record),
            of("event_msg", {"type": "token_count", "info": info}),
        ]
    )
    (one,) = chunk.usages
    assert (one.input, one.cache_read, one.cache_write_5m, one.output, one.reasoning) == (30, 60, 10, 7, 3)
