"""The sample and the committed transcripts, through the whole command, against their truth files.

Truth comes from what the scripted model billed and from the stories, not from the transcripts. The
same files read in any order, in any number of passes and in any size of chunk give the same answers.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import waypost.flows.ingest as ingestion
from waypost.flows.reading import read_file
from waypost.surfaces.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "src" / "waypost" / "sample"
CASES = [SAMPLE, *sorted(path for path in (ROOT / "tests/corpus/transcripts").iterdir() if path.is_dir())]
CLASSES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")
FOLDERS = {"claude": "projects", "codex": "sessions"}

#: What a transcript cannot say or says otherwise: (case, counter) -> what we answer, and why.
EXPLAINED: dict[tuple[str, str], tuple[int, str]] = {
    ("sample", "denied_commands"): (0, "the denied call was no shell command"),
    ("claude-background-command", "failed_commands"): (0, "the exit code is only in a notification's text"),
}
#: Answers whose first event was written and then taken back: only its retry stands in the file.
RETRIED = {"claude-api-error-recovered"}

Line = dict[str, Any]
Run = Callable[..., Line]


def truth_of(case: Path) -> Line:
    name = "TRUTH.json" if case == SAMPLE else "truth.json"
    found: Line = json.loads((case / name).read_text(encoding="utf-8"))["sessions"]
    return found


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command on a home of its own: ``run(home, "sessions")``."""

    def call(home: Path, *arguments: str) -> Line:
        monkeypatch.setenv("WAYPOST_HOME", str(home))
        capfd.readouterr()
        status = main([*arguments, "--json"])
        shown = capfd.readouterr()
        assert (status, shown.err) == (0, "")
        data: Line = json.loads(shown.out)["data"]
        return data

    return call


def ingest(run: Run, home: Path, root: Path) -> Line:
    found = run(
        home, "ingest", "--claude", str(root / "claude"), "--codex", str(root / "codex"), "--jobs", "1"
    )
    assert found["unreadable_files"] == [] and found["problems"] == []
    return found


def answers(run: Run, home: Path, *, turns: bool = True) -> Line:
    """Everything that a person can ask, without what names the place of a file."""
    sessions = sorted(run(home, "sessions", "--limit", "1000")["sessions"], key=lambda one: one["session"])
    found: Line = {"sessions": sessions}
    for by in ("day", "model", "session", "project"):
        report = run(home, "costs", "--by", by, "--utc")
        report["rows"].sort(key=lambda row: row["key"])
        found[by] = report
    if turns:
        for one in sessions:
            page = run(home, "session", one["session"], "--turns", "--limit", "5000")["turns"]
            for turn in page:
                turn["source"]["file"] = Path(turn["source"]["file"]).name
            found[one["session"]] = page
    return found


def totals(found: Line) -> Line:
    names = ("tokens", "shared_tokens", "prompts", "automated_prompts", "commands", "failed_commands")
    return {
        one["native_id"]: {name: one[name] for name in (*names, "denied_commands", "forked_from", "cost")}
        for one in found["sessions"]
    }


def copied(case: Path, to: Path) -> Path:
    for name in FOLDERS:
        if (case / name).is_dir():
            shutil.copytree(case / name, to / name)
    return to


# -- truth -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tokens_are_what_was_billed_and_sessions_are_those_that_ran(
    run: Run, tmp_path: Path, case: Path
) -> None:
    ingest(run, tmp_path / "store", case)
    sessions = {one["native_id"]: one for one in run(tmp_path / "store", "sessions")["sessions"]}
    truth = truth_of(case)
    assert set(sessions) == set(truth)
    for native, true in truth.items():
        found = sessions[native]
        claude = true["harness"] == "claude-code"
        for name in CLASSES:
            expected = true["tokens"][name]
            if case.name not in RETRIED:
                expected += true["tokens_cut_off"][name]
            if claude:
                # The request for a compaction's summary is in no record of Claude Code.
                expected -= true["compaction_tokens"][name]
            assert found["tokens"][name] == expected, (native, name)
        missing = claude and any(true["compaction_tokens"].values())
        assert not missing or found["cost"]["lower_bound"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_prompts_and_commands_are_those_of_the_story(run: Run, tmp_path: Path, case: Path) -> None:
    ingest(run, tmp_path / "store", case)
    sessions = {one["native_id"]: one for one in run(tmp_path / "store", "sessions")["sessions"]}
    counters = {
        "prompts": lambda true: true["prompts"]["human"],
        "automated_prompts": lambda true: true["prompts"]["automated"],
        "commands": lambda true: true["commands"]["run"],
        "failed_commands": lambda true: true["commands"]["failed"],
        "denied_commands": lambda true: true["calls_denied"],
    }
    for name, expected in counters.items():
        found = sum(one[name] for one in sessions.values())
        true = sum(expected(one) for one in truth_of(case).values())
        stated, _ = EXPLAINED.get((case.name, name), (true, ""))
        assert found == stated, name
        if (case.name, name) not in EXPLAINED:
            for native, one in truth_of(case).items():
                assert sessions[native][name] == expected(one), (native, name)


def test_a_fork_pays_its_own_and_shows_what_it_shares(run: Run, tmp_path: Path) -> None:
    ingest(run, tmp_path / "store", SAMPLE)
    sessions = {one["native_id"]: one for one in run(tmp_path / "store", "sessions")["sessions"]}
    truth = truth_of(SAMPLE)
    forks = {native: true["forked_from"] for native, true in truth.items() if true["forked_from"]}
    assert forks
    for native, parent in forks.items():
        shared = sessions[native]["shared_tokens"]
        assert {name: shared[name] for name in CLASSES} == truth[parent]["tokens"]
        assert sessions[native]["forked_from"] == sessions[parent]["session"]
        assert sessions[native]["shared_turns"] > 0
    total = run(tmp_path / "store", "costs")["total"]["tokens"]
    stated = json.loads((SAMPLE / "TRUTH.json").read_text(encoding="utf-8"))["tokens"]
    assert {name: total[name] for name in CLASSES} == stated


def test_sub_agents_name_their_parent(run: Run, tmp_path: Path) -> None:
    ingest(run, tmp_path / "store", SAMPLE)
    sessions = {one["native_id"]: one for one in run(tmp_path / "store", "sessions")["sessions"]}
    truth = truth_of(SAMPLE)
    for native, true in truth.items():
        expected = sessions[true["parent"]]["session"] if true["parent"] else None
        assert sessions[native]["parent"] == expected


# -- order -------------------------------------------------------------------------------------------


def files_below(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.jsonl"))


@pytest.mark.parametrize("order", ["as named", "reversed", "rotated", "odd ones first"])
def test_files_read_in_any_order_give_the_same_totals(run: Run, tmp_path: Path, order: str) -> None:
    expected = None
    for case in (SAMPLE, ROOT / "tests/corpus/transcripts/codex-fork"):
        ingest(run, tmp_path / f"one-{case.name}", case)
        expected = totals(answers(run, tmp_path / f"one-{case.name}", turns=False))
        root = copied(case, tmp_path / case.name)
        paths = files_below(root)
        arranged = {
            "as named": paths,
            "reversed": paths[::-1],
            "rotated": paths[2:] + paths[:2],
            "odd ones first": paths[1::2] + paths[::2],
        }[order]
        for number, path in enumerate(arranged):
            os.utime(path, (1_700_000_000 - number,) * 2)  # the newest is read first
        home = tmp_path / f"two-{case.name}"
        ingest(run, home, root)
        assert totals(answers(run, home, turns=False)) == expected


@pytest.mark.parametrize("seed", range(4))
def test_files_that_arrive_one_pass_at_a_time_give_the_same_totals(
    run: Run, tmp_path: Path, seed: int
) -> None:
    ingest(run, tmp_path / "one", SAMPLE)
    expected = totals(answers(run, tmp_path / "one", turns=False))
    paths = files_below(SAMPLE)
    arranged = list(next(itertools.islice(itertools.permutations(paths), seed * 89_791, None)))
    if seed == 3:
        arranged.reverse()
    for path in arranged:
        to = tmp_path / "root" / path.relative_to(SAMPLE)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
        (tmp_path / "root" / "claude").mkdir(exist_ok=True)
        ingest(run, tmp_path / "two", tmp_path / "root")
    assert totals(answers(run, tmp_path / "two", turns=False)) == expected


# -- chunks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("chunk_bytes", [1, 5_000])
def test_chunks_of_any_size_end_in_the_same_answers(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Path, chunk_bytes: int
) -> None:
    ingest(run, tmp_path / "one", case)
    monkeypatch.setattr(ingestion, "read_file", functools.partial(read_file, chunk_bytes=chunk_bytes))
    ingest(run, tmp_path / "two", case)
    assert answers(run, tmp_path / "two") == answers(run, tmp_path / "one")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_files_that_grow_between_passes_end_in_the_same_answers(run: Run, tmp_path: Path, case: Path) -> None:
    ingest(run, tmp_path / "one", case)
    root = copied(case, tmp_path / "root")
    whole = {path: path.read_bytes() for path in files_below(root)}
    pieces = 5
    for piece in range(1, pieces + 1):
        for path, data in whole.items():
            path.write_bytes(data[: len(data) * piece // pieces])  # cuts fall inside lines
        ingest(run, tmp_path / "two", root)
    report = ingest(run, tmp_path / "two", root)
    assert report["files_changed"] == 0
    assert answers(run, tmp_path / "two") == answers(run, tmp_path / "one")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_chunks_of_any_size_end_in_the_same_commands(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Path
) -> None:
    def commands(home: Path) -> Line:
        return {
            one["session"]: run(home, "session", one["session"], "--executions")["executions"]
            for one in run(home, "sessions")["sessions"]
        }

    ingest(run, tmp_path / "one", case)
    monkeypatch.setattr(ingestion, "read_file", functools.partial(read_file, chunk_bytes=1))
    ingest(run, tmp_path / "two", case)
    assert commands(tmp_path / "two") == commands(tmp_path / "one")
