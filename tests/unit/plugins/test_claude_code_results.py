"""What a tool result of Claude Code says of its call: status, exit code, denial, a person's words."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from waypost.plugins.api import Line, TranscriptFile
from waypost.plugins.registry import transcript_reader
from waypost.records.transcript import (
    Chunk,
    CommandDraft,
    Lifecycle,
    Outcome,
    OutcomeSource,
    TurnDraft,
    TurnFlag,
)

READER = transcript_reader("claude_code")
FILE = TranscriptFile("projects/-w/s1.jsonl")
DENIED_TEXT = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file"
    " edit, the new_string was NOT written to the file)."
)
FEEDBACK_TEXT = DENIED_TEXT + " To tell you how to proceed, the user said:\nno, use pnpm"
UNGRANTED = "Claude requested permissions to write to /a, but you haven't granted it yet."
INTERRUPTED_TEXT = "[Request interrupted by user for tool use]"
MISUSE = "<tool_use_error>File has not been read yet.</tool_use_error>"


class Read(NamedTuple):
    flags: TurnFlag
    turn: TurnDraft
    command: CommandDraft | None
    chunk: Chunk


def result(
    content: Any, *, error: bool = True, tool: str = "Bash", version: str = "2.1.100", **more: Any
) -> Read:
    base = {"sessionId": "s1", "version": version}
    call = {"type": "tool_use", "id": "t1", "name": tool, "input": {"command": "make"}}
    block = {"type": "tool_result", "tool_use_id": "t1", "content": content, "is_error": error}
    records = [
        {
            "type": "assistant",
            "uuid": "a",
            "timestamp": "2026-11-30T10:00:00.000Z",
            "message": {"id": "m", "model": "x", "content": [call]},
            **base,
        },
        {
            "type": "user",
            "uuid": "u",
            "timestamp": "2026-11-30T10:00:02.500Z",
            "message": {"role": "user", "content": [block]},
            **base,
            **more,
        },
    ]
    lines = [Line(number * 10_000, json.dumps(one).encode()) for number, one in enumerate(records)]
    chunk = READER.read(FILE, b"", lines)
    turn = chunk.turns[1]
    kind = TurnFlag.COMMAND | TurnFlag.FILE_EDIT
    return Read(TurnFlag(turn.flags) & ~kind, turn, chunk.commands[0] if chunk.commands else None, chunk)


STATUS = [
    ("success", dict(content="ok", error=False), TurnFlag.OK, None, Lifecycle.FINISHED, Outcome.SUCCEEDED),
    ("exit 1", dict(content="Exit code 1\nno"), TurnFlag.FAILED, 1, Lifecycle.FINISHED, Outcome.FAILED),
    (
        "exit 128, nothing else",
        dict(content="Exit code 128"),
        TurnFlag.FAILED,
        128,
        Lifecycle.FINISHED,
        Outcome.FAILED,
    ),
    (
        "exit after Error:",
        dict(content="Error: Exit code 6\nx"),
        TurnFlag.FAILED,
        6,
        Lifecycle.FINISHED,
        Outcome.FAILED,
    ),
    ("no code stated", dict(content="boom"), TurnFlag.FAILED, None, Lifecycle.FINISHED, Outcome.FAILED),
    (
        "a code inside the output",
        dict(content="boom\nExit code 3\n"),
        TurnFlag.FAILED,
        None,
        Lifecycle.FINISHED,
        Outcome.FAILED,
    ),
    (
        "a code in words",
        dict(content="Exit code 3 is bad"),
        TurnFlag.FAILED,
        None,
        Lifecycle.FINISHED,
        Outcome.FAILED,
    ),
    (
        "printed by a success",
        dict(content="Exit code 3\n", error=False),
        TurnFlag.OK,
        None,
        Lifecycle.FINISHED,
        Outcome.SUCCEEDED,
    ),
    ("rejected", dict(content=DENIED_TEXT), TurnFlag.DENIED, None, Lifecycle.PENDING, Outcome.UNKNOWN),
    (
        "rejected with words",
        dict(content=FEEDBACK_TEXT),
        TurnFlag.DENIED | TurnFlag.FEEDBACK,
        None,
        Lifecycle.PENDING,
        Outcome.UNKNOWN,
    ),
    ("never granted", dict(content=UNGRANTED), TurnFlag.DENIED, None, Lifecycle.PENDING, Outcome.UNKNOWN),
    (
        "blocked by a classifier",
        dict(content="no", toolDenialKind="classifier"),
        TurnFlag.DENIED,
        None,
        Lifecycle.PENDING,
        Outcome.UNKNOWN,
    ),
    (
        "interrupted",
        dict(content=INTERRUPTED_TEXT),
        TurnFlag.INTERRUPTED,
        None,
        Lifecycle.INTERRUPTED,
        Outcome.UNKNOWN,
    ),
    (
        "a mistake of the model",
        dict(content=MISUSE),
        TurnFlag.FAILED | TurnFlag.REFUSED,
        None,
        Lifecycle.PENDING,
        Outcome.UNKNOWN,
    ),
    (
        "interrupted, stated",
        dict(content="x", error=False, toolUseResult={"interrupted": True}),
        TurnFlag.INTERRUPTED,
        None,
        Lifecycle.INTERRUPTED,
        Outcome.UNKNOWN,
    ),
    (
        "in the background",
        dict(content="x", error=False, toolUseResult={"backgroundTaskId": "b1"}),
        TurnFlag.BACKGROUND,
        None,
        Lifecycle.RUNNING,
        Outcome.UNKNOWN,
    ),
    (
        "2.1.332, interrupted while running",
        dict(content=DENIED_TEXT, version="2.1.332", toolDenialKind="user-rejected"),
        TurnFlag.INTERRUPTED,
        None,
        Lifecycle.INTERRUPTED,
        Outcome.UNKNOWN,
    ),
    (
        "2.1.332, rejected before it ran",
        dict(
            content=DENIED_TEXT, version="2.1.332", toolDenialKind="user-rejected", toolDenialBeforeRun=True
        ),
        TurnFlag.DENIED,
        None,
        Lifecycle.PENDING,
        Outcome.UNKNOWN,
    ),
    (
        "2.1.332, rejected with words",
        dict(content=FEEDBACK_TEXT, version="2.1.332", toolDenialKind="user-rejected"),
        TurnFlag.DENIED | TurnFlag.FEEDBACK,
        None,
        Lifecycle.PENDING,
        Outcome.UNKNOWN,
    ),
]


@pytest.mark.parametrize(
    ("given", "flags", "code", "lifecycle", "outcome"),
    [row[1:] for row in STATUS],
    ids=[row[0] for row in STATUS],
)
def test_a_result_states_what_became_of_its_command(
    given: dict[str, Any], flags: TurnFlag, code: int | None, lifecycle: Lifecycle, outcome: Outcome
) -> None:
    found = result(**given)
    assert found.flags == flags
    assert found.turn.exit_code == code
    command = found.command
    assert command is not None and command.exit_code == code
    assert (Lifecycle(command.lifecycle), Outcome(command.outcome)) == (lifecycle, outcome)
    stated = OutcomeSource.HARNESS_REPORT if outcome != Outcome.UNKNOWN else OutcomeSource.NONE
    assert OutcomeSource(command.source) == stated
    assert command.denied == bool(flags & TurnFlag.DENIED)
    assert (command.offset, command.duration_ms) == (0, 2500)


def test_an_interrupted_command_with_an_exit_code_above_is_interrupted() -> None:
    found = result(f"Exit code 137\n{INTERRUPTED_TEXT}", version="2.1.63")
    assert found.flags == TurnFlag.INTERRUPTED


@pytest.mark.parametrize(
    ("version", "code"),
    [
        ("0.2.126", None),
        ("1.0.128", None),
        ("2.0.14", None),
        ("2.0.15", 3),
        ("2.0.60", 3),
        ("2.1.332", 3),
        ("3.0.0", 3),
        ("unheard of", 3),
    ],
)
def test_an_exit_code_is_read_only_from_versions_that_state_one(version: str, code: int | None) -> None:
    found = result("Exit code 3\nno", version=version)
    assert found.turn.exit_code == code
    assert found.flags == TurnFlag.FAILED
    assert found.command is not None and found.command.outcome == Outcome.FAILED


def test_a_tool_that_is_no_shell_has_no_exit_code_and_is_no_command() -> None:
    found = result("Exit code 3\nno", tool="Edit")
    assert (found.turn.exit_code, found.command, found.flags) == (None, None, TurnFlag.FAILED)
    assert found.turn.flags & TurnFlag.FILE_EDIT


def test_a_persons_words_in_a_rejection_are_cited_word_for_word() -> None:
    found = result(FEEDBACK_TEXT)
    assert found.turn.raw is not None
    shown = READER.render(found.turn.raw, part=0, extras=found.turn.extras)
    assert shown.tool is not None
    assert (shown.tool.feedback, shown.tool.name, shown.tool.duration_ms) == ("no, use pnpm", "Bash", 2500)


def test_a_success_that_prints_the_words_of_a_rejection_is_a_success() -> None:
    found = result(FEEDBACK_TEXT, error=False)
    assert found.flags == TurnFlag.OK
    assert found.turn.raw is not None
    shown = READER.render(found.turn.raw, part=0, extras=found.turn.extras)
    assert shown.tool is not None and shown.tool.feedback is None


def test_a_rejected_plan_is_denied_and_no_command() -> None:
    found = result(FEEDBACK_TEXT, tool="ExitPlanMode")
    assert found.flags == TurnFlag.DENIED | TurnFlag.FEEDBACK and found.command is None


def test_results_of_parallel_calls_pair_in_any_order() -> None:
    calls = [{"type": "tool_use", "id": f"t{one}", "name": "Bash", "input": {}} for one in (1, 2)]
    answers = [
        {"type": "tool_result", "tool_use_id": f"t{one}", "content": f"Exit code {one}", "is_error": True}
        for one in (2, 1)
    ]
    records = [
        {"type": "assistant", "uuid": "a", "sessionId": "s1", "message": {"id": "m", "content": calls}},
        {"type": "user", "uuid": "u", "sessionId": "s1", "message": {"role": "user", "content": answers}},
    ]
    chunk = READER.read(
        FILE, b"", [Line(n * 10_000, json.dumps(one).encode()) for n, one in enumerate(records)]
    )
    assert {one.call_id: (one.exit_code, one.part) for one in chunk.commands} == {"t1": (1, 0), "t2": (2, 1)}


def test_a_call_without_a_result_is_running_and_nothing_is_claimed_of_it() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    record = {"type": "assistant", "uuid": "a", "sessionId": "s1", "message": {"id": "m", "content": [call]}}
    (command,) = READER.read(FILE, b"", [Line(0, json.dumps(record).encode())]).commands
    assert (command.lifecycle, command.outcome, command.exit_code, command.ended_at) == (
        Lifecycle.RUNNING,
        Outcome.UNKNOWN,
        None,
        None,
    )
