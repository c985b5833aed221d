"""The committed transcripts are publishable and agree with their truth files.

Plain JSON reading, no CLI needed. The truth files come from what the scripted model
billed (tools/make_sample.py), so this compares two independent accounts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SAMPLE = CHECKOUT / "src" / "waypost" / "sample"
CORPUS = CHECKOUT / "tests" / "corpus" / "transcripts"
SETS = [SAMPLE, *sorted(path for path in CORPUS.iterdir() if path.is_dir())]
VENDOR_SIGNS = re.compile(
    r"You are Codex|You are a Claude|You are an agent|Claude Agent SDK|<system-reminder>|input_schema|"
    r"Another language model|collaboration_mode>#|\bIMPORTANT: "
)
PRIVATE_SIGNS = re.compile(
    r"/root\b|pyenv|/work/|\bstory-[a-z0-9_]{8}\b|mock-key|-fc-v\d|\.internal\b|\.corp\b"
)

Record = dict[str, Any]
Counts = dict[str, int]


def truth_of(folder: Path) -> dict[str, Any]:
    name = "TRUTH.json" if folder == SAMPLE else "truth.json"
    return json.loads((folder / name).read_text(encoding="utf-8"))


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.jsonl"))


def records(path: Path) -> list[Record]:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def used(folder: Path) -> Iterator[tuple[str, str, Counts]]:
    """(session, response, tokens) of every answer in every file; a fork repeats its parent's."""
    for path in files(folder):
        for record in records(path):
            if record["type"] == "assistant" and record["message"]["model"] != "<synthetic>":
                usage = record["message"]["usage"]
                yield (
                    record["sessionId"],
                    record["message"]["id"],
                    {
                        "input": usage["input_tokens"],
                        "output": usage["output_tokens"],
                        "cache_read": usage["cache_read_input_tokens"],
                        "cache_write_5m": usage["cache_creation"]["ephemeral_5m_input_tokens"],
                        "cache_write_1h": usage["cache_creation"]["ephemeral_1h_input_tokens"],
                        "reasoning": usage["output_tokens_details"]["thinking_tokens"],
                    },
                )
            if record["type"] == "token_usage_record":
                usage = record["payload"]["usage"]
                read, written = usage["cached_input_tokens"], usage["cache_write_input_tokens"]
                yield (
                    record["payload"]["thread_id"],
                    record["payload"]["response_id"],
                    {
                        "input": usage["input_tokens"] - read - written,
                        "output": usage["output_tokens"],
                        "cache_read": read,
                        "cache_write_5m": written,
                        "cache_write_1h": 0,
                        "reasoning": usage["reasoning_output_tokens"],
                    },
                )


@pytest.mark.parametrize("folder", SETS, ids=lambda path: path.name)
def test_tokens_in_the_files_are_the_tokens_billed(folder: Path) -> None:
    truth = truth_of(folder)["sessions"]
    forks = {native for native, session in truth.items() if session["forked_from"]}
    owners: dict[str, str] = {}
    tokens: dict[str, Counts] = {}
    for native, response, counts in sorted(used(folder), key=lambda one: one[0] in forks):
        owners.setdefault(response, native)
        tokens.setdefault(response, counts)
        assert tokens[response] == counts
    for native, session in truth.items():
        own = [tokens[response] for response, owner in owners.items() if owner == native]
        summed = {key: sum(one[key] for one in own) for key in session["tokens"]}
        if session["harness"] == "claude-code" and folder.name == "claude-interrupt-stream":
            # The partial answer has a record with the figures of its first event.
            cut = session["tokens_cut_off"]
            billed = {key: session["tokens"][key] + cut[key] for key in summed}
        elif session["harness"] == "claude-code":
            # Claude Code writes no assistant record for the summary request of a compaction.
            billed = {key: session["tokens"][key] - session["compaction_tokens"][key] for key in summed}
        else:
            billed = session["tokens"]
        assert summed == billed


@pytest.mark.parametrize("folder", SETS, ids=lambda path: path.name)
def test_every_transcript_belongs_to_a_session_and_every_session_has_one(folder: Path) -> None:
    named = {name for session in truth_of(folder)["sessions"].values() for name in session["transcripts"]}
    assert named == {path.relative_to(folder).as_posix() for path in files(folder)}


@pytest.mark.parametrize("folder", SETS, ids=lambda path: path.name)
def test_nothing_of_a_vendor_or_of_a_machine_is_in_the_files(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.suffix in {".json", ".jsonl"}:
            text = path.read_text(encoding="utf-8")
            assert not VENDOR_SIGNS.findall(text), path
            assert not PRIVATE_SIGNS.findall(text), path


@pytest.mark.parametrize("folder", SETS, ids=lambda path: path.name)
def test_parents_are_present_and_ordinals_are_whole(folder: Path) -> None:
    for path in files(folder):
        lines = records(path)
        known = {line.get("uuid") for line in lines}
        assert all(line.get("parentUuid") in known for line in lines if line.get("parentUuid"))
        ordinals = [line["ordinal"] for line in lines if "ordinal" in line]
        assert ordinals == list(range(ordinals[0], ordinals[0] + len(ordinals))) if ordinals else True


def test_the_sets_stay_small() -> None:
    def size(folder: Path) -> int:
        return sum(path.stat().st_size for path in folder.rglob("*.json*"))

    assert size(SAMPLE) < 200_000
    assert size(CORPUS) < 400_000
