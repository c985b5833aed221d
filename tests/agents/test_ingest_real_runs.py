"""The real programs run, the product reads what they wrote; truth is what the scripted model billed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.agents
Runner = Callable[..., Any]
CLASSES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


def own_tokens(sessions: list[dict[str, Any]]) -> dict[str, int]:
    return {name: sum(one["tokens"][name] for one in sessions) for name in CLASSES}


def read(waypost: Runner, run: Any, harness: str) -> dict[str, Any]:
    root = run.home.home / (".claude" if harness == "claude" else ".codex")
    report = waypost("ingest", f"--{harness}", str(root), "--json").data
    assert report["malformed_records"] == 0
    assert report["unknown_record_types"] == {}
    found: dict[str, Any] = waypost("sessions", "--json").data
    return found


def test_a_claude_run_is_on_record_to_the_token(run_claude: Runner, scenarios: Path, waypost: Runner) -> None:
    run = run_claude(scenarios / "fix-failing-test.yaml", "Make the failing test pass.")
    run.require_ok()
    [session] = read(waypost, run, "claude")["sessions"]
    billed = asdict(run.tokens)
    assert own_tokens([session]) == {name: billed[name] for name in CLASSES}
    assert (session["prompts"], session["automated_prompts"]) == (0, 1)
    assert session["title"] == "Make the failing test pass."
    assert session["failed_commands"] == 1
    assert session["coverage"]["complete"]
    page = waypost("session", session["session"], "--json").data
    results = [turn["tool"] for turn in page["turns"] if turn["role"] == "tool_result"]
    assert [one["ok"] for one in results] == [True, False, True, True]
    assert [one["exit_code"] for one in results] == [None, 1, None, None]
    assert {turn["source"]["parser"] for turn in page["turns"]} == {"claude_code"}


def test_a_codex_run_is_on_record_to_the_token(run_codex: Runner, scenarios: Path, waypost: Runner) -> None:
    run = run_codex(scenarios / "fix-failing-test.yaml", "Make the failing test pass.")
    run.require_ok()
    [session] = read(waypost, run, "codex")["sessions"]
    billed = asdict(run.tokens)
    assert own_tokens([session]) == {name: billed[name] for name in CLASSES}
    assert session["tokens"]["reasoning"] == billed["reasoning"]
    assert (session["prompts"], session["automated_prompts"]) == (0, 1)
    assert session["failed_commands"] == 1
    executions = waypost("session", session["session"], "--executions", "--json").data["executions"]
    assert [one["exit_code"] for one in executions if one["outcome"] == "failed"] == [1]
    assert {one["outcome_source"] for one in executions} <= {"harness_report", "none"}


def test_a_rejection_keeps_the_persons_words_and_makes_no_prompt_of_them(
    rejected_write: Any, waypost: Runner
) -> None:
    [session] = read(waypost, rejected_write, "claude")["sessions"]
    assert session["prompts"] == 2
    turns = waypost("session", session["session"], "--json").data["turns"]
    assert [turn["text"] for turn in turns if turn["origin"] == "human"] == [
        "Keep the key in a file.",
        "What did you change?",
    ]
    [denied] = [turn["tool"] for turn in turns if turn["tool"] and turn["tool"]["denied"]]
    assert denied["feedback"] == "No, never in a file."


def test_a_resumed_run_is_read_from_where_it_was_left(
    run_codex: Runner, scenarios: Path, waypost: Runner
) -> None:
    run = run_codex(scenarios / "fix-failing-test.yaml", "Make the failing test pass.")
    first = read(waypost, run, "codex")["sessions"]
    again = waypost("ingest", "--codex", str(run.home.home / ".codex"), "--json").data
    assert (again["files_changed"], again["bytes_read"], again["turns"]) == (0, 0, 0)
    assert waypost("sessions", "--json").data["sessions"] == first
