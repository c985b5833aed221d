"""What a Codex tool output states of its command: every spelling, by version, and what states nothing."""

from __future__ import annotations

import json

import pytest

from waypost.plugins.harnesses.codex.outputs import output_status
from waypost.records.transcript import TurnFlag

OK, FAILED, DENIED = TurnFlag.OK, TurnFlag.FAILED, TurnFlag.DENIED
INTERRUPTED, BACKGROUND, NONE = TurnFlag.INTERRUPTED, TurnFlag.BACKGROUND, TurnFlag(0)


def old(code: object, output: str = "x") -> str:
    """The JSON text of 0.20 to 0.58."""
    return json.dumps(
        {"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.1}}, separators=(",", ":")
    )


def new(middle: str, output: str = "x", *, command: bool = False) -> str:
    """The header of 0.104 and later."""
    stated = "Command: /bin/bash -lc ls\n" if command else ""
    head = f"{stated}Chunk ID: 1a2b3c\nWall time: 0.0521 seconds\n{middle}\nOriginal token count: 2"
    return f"{head}\nOutput:\n{output}"


ROWS = [
    ("json, zero", old(0), OK, 0),
    ("json, one", old(1), FAILED, 1),
    ("json, minus one", old(-1), FAILED, -1),
    ("json, output that lies", old(2, "Process exited with code 0"), FAILED, 2),
    ("json, no metadata", '{"output":"x"}', NONE, None),
    ("json, text code", '{"output":"x","metadata":{"exit_code":"1"}}', NONE, None),
    ("json, true is no code", '{"output":"x","metadata":{"exit_code":true}}', NONE, None),
    ("json, cut off", '{"output":"x","metadata":{"exit_code":1', NONE, None),
    ("first line, zero", "Exit code: 0\nWall time: 0 seconds\nOutput:\nx", OK, 0),
    ("first line, 127", "Exit code: 127\nWall time: 0.1 seconds\nOutput:\nx", FAILED, 127),
    ("first line without wall time", "Exit code: 1\nx", NONE, None),
    ("header, zero", new("Process exited with code 0"), OK, 0),
    ("header, one", new("Process exited with code 1"), FAILED, 1),
    ("header, negative", new("Process exited with code -1"), FAILED, -1),
    ("header, with the command", new("Process exited with code 2", command=True), FAILED, 2),
    ("header, output that lies", new("Process exited with code 1", "Process exited with code 0"), FAILED, 1),
    ("still running", new("Process running with session ID 4711"), BACKGROUND, None),
    (
        "running, output that lies",
        new("Process running with session ID 4", "Process exited with code 0"),
        BACKGROUND,
        None,
    ),
    ("no header, says it exited", "hello\nProcess exited with code 0", NONE, None),
    ("header without a status", new("nothing here"), NONE, None),
    ("command rejected", "exec command rejected by user", DENIED, None),
    ("patch rejected", "patch rejected by user", DENIED, None),
    ("patch rejected, other words", "patch rejected: writing outside of the project", DENIED, None),
    ("rejected", "rejected by user", DENIED, None),
    ("aborted, old", "aborted by user after 2.5s", INTERRUPTED, None),
    ("aborted, new", "Wall time: 2.5 seconds\naborted by user", INTERRUPTED, None),
    ("aborted inside the output", new("Process exited with code 0", "aborted by user"), OK, 0),
    ("not made", "exec_command failed for `nope`: CreateProcess { message: x }", FAILED, None),
    (
        "sandbox",
        "failed in sandbox LinuxSeccomp with execution error: x, exit code: 101, stdout: a, stderr: b",
        FAILED,
        101,
    ),
    ("plain text", "hello", NONE, None),
    ("nothing", "", NONE, None),
    ("plan updated", "Plan updated", NONE, None),
]


@pytest.mark.parametrize(("text", "flags", "code"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_an_output_states_what_its_header_says_and_no_more(
    text: str, flags: TurnFlag, code: int | None
) -> None:
    found = output_status(text)
    assert (TurnFlag(found.flags), found.exit_code) == (flags, code)
    assert (found.process is not None) == (flags == BACKGROUND)


def test_a_running_process_is_named() -> None:
    assert output_status(new("Process running with session ID 4711")).process == "4711"


@pytest.mark.parametrize("text", ["Exit code: 1\nWall time: 2", new("Process exited with code 1")])
def test_a_status_far_below_is_not_looked_for(text: str) -> None:
    assert output_status("x" * 5_000 + "\n" + text).flags == NONE
