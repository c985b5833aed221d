"""The real CLIs leave a transcript that holds what the scripted model billed.

Plain JSON reading on purpose: these tests say what the files hold, so that a failure of
the product's own readers can be told from a change of a CLI's format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from agent_cli import AgentHome, AgentRun

pytestmark = pytest.mark.agents

Record = dict[str, Any]
Runner = Callable[..., AgentRun]


def records(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def claude_usage(lines: Iterable[Record]) -> dict[str, tuple[int, ...]]:
    """Per message id: input, output, cache read, cache write. Every block repeats it."""
    out: dict[str, tuple[int, ...]] = {}
    for line in lines:
        if line["type"] == "assistant" and line["message"]["model"] != "<synthetic>":
            usage = line["message"]["usage"]
            out[line["message"]["id"]] = (
                usage["input_tokens"],
                usage["output_tokens"],
                usage["cache_read_input_tokens"],
                usage["cache_creation_input_tokens"],
            )
    return out


def codex_usage(lines: Iterable[Record]) -> dict[str, tuple[int, ...]]:
    """Per response id: fresh input, output, cache read, cache write."""
    out: dict[str, tuple[int, ...]] = {}
    for line in lines:
        if line["type"] == "token_usage_record":
            usage = line["payload"]["usage"]
            read, written = usage["cached_input_tokens"], usage["cache_write_input_tokens"]
            fresh = usage["input_tokens"] - read - written
            out[line["payload"]["response_id"]] = (fresh, usage["output_tokens"], read, written)
    return out


def wire_usage(run: AgentRun) -> dict[str, tuple[int, ...]]:
    return {
        answer.response_id: (
            answer.tokens.input,
            answer.tokens.output,
            answer.tokens.cache_read,
            answer.tokens.cache_write_5m + answer.tokens.cache_write_1h,
        )
        for answer in run.billed
    }


def test_claude_records_a_failing_command_its_fix_and_every_billed_token(
    run_claude: Runner, scenarios: Path
) -> None:
    run = run_claude(scenarios / "fix-failing-test.yaml", "Make the failing test pass.")
    run.require_ok()
    assert run.exit_status == 0
    assert "return a + b" in (run.home.workspace / "calc.py").read_text()
    [transcript] = run.transcripts
    lines = records(transcript)
    assert claude_usage(lines) == wire_usage(run)
    assert len(run.billed) == 5
    results = [
        block
        for line in lines
        if line["type"] == "user" and isinstance(line["message"]["content"], list)
        for block in line["message"]["content"]
        if block["type"] == "tool_result"
    ]
    assert [bool(block.get("is_error")) for block in results] == [False, True, False, False]
    assert results[1]["content"].startswith("Exit code 1")


def test_claude_says_who_wrote_a_prompt_and_keeps_the_words_of_a_rejection(rejected_write: AgentRun) -> None:
    [transcript] = rejected_write.transcripts
    people = [line for line in records(transcript) if line.get("origin", {}).get("kind") == "human"]
    assert [line["message"]["content"] for line in people] == [
        "Keep the key in a file.",
        "What did you change?",
    ]
    assert {line["promptSource"] for line in people} == {"typed"}
    [rejected] = [line for line in records(transcript) if line.get("toolDenialKind")]
    assert rejected["userFeedback"] == "No, never in a file."
    assert not (rejected_write.home.workspace / "key.py").exists()


def test_codex_records_a_failing_command_its_fix_and_every_billed_token(
    run_codex: Runner, scenarios: Path
) -> None:
    run = run_codex(scenarios / "fix-failing-test.yaml", "Make the failing test pass.")
    run.require_ok()
    assert run.exit_status == 0
    assert "return a + b" in (run.home.workspace / "calc.py").read_text()
    [transcript] = run.transcripts
    lines = records(transcript)
    assert codex_usage(lines) == wire_usage(run)
    items = [
        line["payload"]["item"]
        for line in lines
        if line["type"] == "event_msg" and line["payload"]["type"] == "item_completed"
    ]
    commands = [item for item in items if item["type"] == "CommandExecution"]
    assert [item["exit_code"] for item in commands] == [0, 1, 0]
    assert [item["status"] for item in commands] == ["completed", "failed", "completed"]
    assert any(item["type"] == "FileChange" for item in items)


def test_codex_says_that_a_prompt_was_typed_and_does_not_record_its_title_request(
    run_codex_typed: Runner, scenarios: Path
) -> None:
    steps = ({"text": "What does add do?", "then": "turn"},)
    run = run_codex_typed(scenarios / "titled-codex.yaml", steps)
    assert not run.report.problems
    [transcript] = run.transcripts
    lines = records(transcript)
    assert lines[0]["payload"]["originator"] == "codex-tui"
    assert lines[0]["payload"]["source"] == "cli"
    titles = {answer.response_id for answer in run.billed if answer.lane == "title"}
    assert codex_usage(lines).keys() == wire_usage(run).keys() - titles


def test_codex_code_mode_bills_the_same_and_names_the_real_command(
    run_codex: Runner, scenarios: Path
) -> None:
    run = run_codex(scenarios / "fix-failing-test.yaml", "Make the failing test pass.", model="gpt-6.2-sol")
    run.require_ok()
    [transcript] = run.transcripts
    assert codex_usage(records(transcript)) == wire_usage(run)
    assert "python3 -B test_calc.py" in transcript.read_text()


def test_claude_keeps_a_subagent_in_a_file_of_its_own(run_claude: Runner, scenarios: Path) -> None:
    run = run_claude(
        scenarios / "subagent-claude.yaml", "Find the bug.", args=("--allowedTools", "Agent", "Bash")
    )
    run.require_ok()
    parent, child = sorted(run.transcripts, key=lambda path: "subagents" in path.parts)
    wire = wire_usage(run)
    children = {answer.response_id for answer in run.billed if answer.lane == "child"}
    assert claude_usage(records(child)) == {key: wire[key] for key in children}
    assert claude_usage(records(parent)) == {key: wire[key] for key in wire.keys() - children}
    assert {line["sessionId"] for line in records(child)} == {parent.stem}


def test_codex_keeps_a_subagent_in_a_thread_of_its_own(run_codex: Runner, scenarios: Path) -> None:
    run = run_codex(scenarios / "subagent-codex.yaml", "Find the bug.", model="mock-model")
    run.require_ok()
    assert len(run.transcripts) == 2
    found = [codex_usage(records(path)) for path in run.transcripts]
    assert not found[0].keys() & found[1].keys()
    assert {**found[0], **found[1]} == wire_usage(run)


def test_a_run_needs_nothing_but_loopback_and_leaves_no_process(
    claude_home: AgentHome, run_claude: Runner, scenarios: Path
) -> None:
    run = run_claude(scenarios / "fix-failing-test.yaml", "Make the failing test pass.")
    assert {exchange.path.split("?")[0] for exchange in run.requests} == {"/v1/messages"}
    assert all("mock-key" not in value for item in run.requests for value in item.headers.values())
    assert run.leftovers == ()
    assert run.home is claude_home
    assert not claude_home.home.is_relative_to(claude_home.tmp)
