"""Laws of both transcript readers: no input raises, no count is invented, any split reads the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from strategies import (
    CLAUDE_FILES,
    CODEX_FILES,
    FIGURE_MAX,
    as_lines,
    claude_record,
    codex_record,
    damaged_files,
    encoded,
    file_of,
    lines_of,
)

from waypost.plugins.api import Line, TranscriptFile
from waypost.plugins.harnesses.projection import unproject
from waypost.plugins.registry import transcript_reader
from waypost.records.transcript import Chunk, Lifecycle, TurnFlag

CLAUDE, CODEX = transcript_reader("claude_code"), transcript_reader("codex")
FIGURES = (
    "input",
    "output",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "reasoning",
    "web_searches",
)
FILES = {
    "claude_code": TranscriptFile("projects/-work/s1.jsonl"),
    "codex": TranscriptFile("sessions/2026/11/30/rollout-s1.jsonl"),
}
laws = settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])


def read(reader: Any, lines: Sequence[Line], file: TranscriptFile | None = None) -> Chunk:
    chunk: Chunk = reader.read(file or FILES[reader.name], b"", lines)
    return chunk


def check(reader: Any, chunk: Chunk, lines: Sequence[Line], *, figure_max: int = FIGURE_MAX) -> None:
    """What holds of any chunk; no figure is above the largest that was written."""
    assert chunk.records == len(lines)
    places = {line.offset: len(line.data) for line in lines}
    for bad in chunk.malformed:
        assert places[bad.offset] == bad.length
    for usage in chunk.usages:
        for figure in FIGURES:
            assert 0 <= getattr(usage, figure) <= figure_max
        assert usage.last_offset in places
    seen = set()
    for turn in chunk.turns:
        assert places[turn.offset] == turn.length
        assert (turn.session, turn.offset, turn.part) not in seen
        seen.add((turn.session, turn.offset, turn.part))
    names = {session.native_id for session in chunk.sessions}
    assert {one.session for one in (*chunk.turns, *chunk.usages, *chunk.commands)} <= names
    assert sum(session.turns for session in chunk.sessions) == len(chunk.turns)
    # What was read can be shown, and its state carried on.
    raws = {turn.offset: turn.raw for turn in chunk.turns if turn.part == 0}
    for turn in chunk.turns:
        raw = raws.get(turn.offset)
        if turn.flags & TurnFlag.PROJECTED:
            unproject(turn.extras)
        elif raw is not None:
            reader.render(raw, part=turn.part, extras=turn.extras)
    assert reader.read(FILES[reader.name], chunk.state, []).records == 0


@pytest.mark.parametrize("reader", [CLAUDE, CODEX], ids=lambda reader: reader.name)
@given(data=st.lists(st.binary(max_size=60).filter(lambda one: b"\n" not in one), max_size=6))
@example(data=[b"", b"null", b"[]", b"1", b'"x"', b"{", b"\xff\xfe", b"\xef\xbb\xbf{}"])
@example(data=[b"[" * 100_000, b'{"a":' * 100_000])
@laws
def test_arbitrary_bytes_are_counted_and_nothing_is_made_of_them(reader: Any, data: list[bytes]) -> None:
    lines = as_lines(data)
    chunk = read(reader, lines)
    check(reader, chunk, lines)
    assert chunk.usages == [] and chunk.turns == [] and chunk.commands == []
    known = len(chunk.malformed) + sum(chunk.unknown_types.values())
    assert known == len(lines)


@given(records=st.lists(claude_record, max_size=5))
@laws
def test_claude_records_with_members_of_any_type_are_read(records: list[Any]) -> None:
    lines = as_lines([encoded(record) for record in records])
    chunk = read(CLAUDE, lines)
    check(CLAUDE, chunk, lines)
    asked = [one for one in records if one.get("type") in ("assistant", "progress")]
    assert len(chunk.usages) <= len(asked)


@given(records=st.lists(codex_record, max_size=6))
@laws
def test_codex_records_with_members_of_any_type_are_read(records: list[Any]) -> None:
    lines = as_lines([encoded(record) for record in records])
    chunk = read(CODEX, lines)
    check(CODEX, chunk, lines)
    asked = [one for one in records if one.get("type") in ("event_msg", "token_usage_record")]
    assert len(chunk.usages) <= len(asked)


@given(damaged=damaged_files(CLAUDE_FILES))
@laws
def test_damaged_claude_files_are_read(damaged: tuple[Path, list[Line]]) -> None:
    path, lines = damaged
    # A cut may join two figures into one.
    check(CLAUDE, read(CLAUDE, lines, file_of(path)), lines, figure_max=2**200)


@given(damaged=damaged_files(CODEX_FILES))
@laws
def test_damaged_codex_files_are_read(damaged: tuple[Path, list[Line]]) -> None:
    path, lines = damaged
    # A cut may join two figures into one.
    check(CODEX, read(CODEX, lines, file_of(path)), lines, figure_max=2**200)


def test_negative_figures_of_claude_count_nothing() -> None:
    usage = {
        "input_tokens": -5,
        "output_tokens": -7,
        "output_tokens_details": {"thinking_tokens": -3},
        "server_tool_use": {"web_search_requests": -2},
    }
    message = {"id": "m1", "model": "claude-sonnet-5", "content": [], "usage": usage}
    lines = as_lines([encoded({"type": "assistant", "uuid": "u", "sessionId": "s1", "message": message})])
    check(CLAUDE, read(CLAUDE, lines), lines)


HUGE = 2**63
HUGE_RECORDS = {
    "claude output": (
        CLAUDE,
        {
            "type": "assistant",
            "uuid": "u",
            "sessionId": "s1",
            "message": {"id": "m", "model": "x", "content": [], "usage": {"output_tokens": HUGE}},
        },
    ),
    "codex total": (
        CODEX,
        {
            "type": "event_msg",
            "payload": {
                "type": "token_count",
                "info": {
                    "total_token_usage": {"input_tokens": HUGE},
                    "last_token_usage": {"input_tokens": HUGE},
                },
            },
        },
    ),
    "codex exit code": (
        CODEX,
        {
            "type": "event_msg",
            "payload": {
                "type": "item_completed",
                "item": {"type": "CommandExecution", "id": "c", "exit_code": HUGE},
            },
        },
    ),
}


@pytest.mark.parametrize("case", HUGE_RECORDS)
def test_figures_beyond_any_reason_never_reach_the_store(case: str) -> None:
    reader, record = HUGE_RECORDS[case]
    chunk = read(reader, as_lines([encoded(record)]))
    for one in (*chunk.turns, *chunk.usages, *chunk.commands):
        for value in msgspec.structs.astuple(one):
            assert not isinstance(value, int) or -(2**63) <= value < 2**63


# -- splits ------------------------------------------------------------------------------------------

Merged = dict[str, Any]


def merged(chunks: Sequence[Chunk]) -> Merged:
    """What the store makes of chunks: turns in order, usages and commands by key, counters added."""
    usages: dict[tuple[str, int], dict[str, Any]] = {}
    commands: dict[tuple[str, str], dict[str, Any]] = {}
    sessions: dict[str, dict[str, Any]] = {}
    for chunk in chunks:
        for usage in chunk.usages:
            new = msgspec.structs.asdict(usage)
            known = usages.setdefault((usage.session, usage.key), new)
            if known is new:
                continue
            larger = new["output"] > known["output"]
            known["web_searches"] = max(known["web_searches"], new["web_searches"])
            for figure in (*FIGURES[:-1], "model"):
                if larger:
                    known[figure] = new[figure]
            known["final"] |= new["final"]
            known["last_offset"] = max(known["last_offset"], new["last_offset"])
        for command in chunk.commands:
            new = msgspec.structs.asdict(command)
            new["duration_ms"] = None
            known = commands.setdefault((command.session, command.call_id), new)
            if known is new:
                continue
            if known["ended_at"] is None:
                for one in ("lifecycle", "outcome", "source"):
                    known[one] = new[one]
                known["exit_code"] = new["exit_code"] if new["exit_code"] is not None else known["exit_code"]
                known["ended_at"] = new["ended_at"]
            known["offset"] = known["offset"] if known["offset"] >= 0 else new["offset"]
            known["started_at"] = (
                known["started_at"] if known["started_at"] is not None else new["started_at"]
            )
            known["denied"] |= new["denied"]
        for session in chunk.sessions:
            known = sessions.setdefault(session.native_id, {})
            for counter in ("prompts", "automated_prompts", "queued_prompts", "turns"):
                known[counter] = known.get(counter, 0) + getattr(session, counter)
            known["reasons"] = known.get("reasons", set()) | set(session.reasons)
            known["models"] = known.get("models", set()) | set(session.models)
            known["opened_at"] = known.get("opened_at") or session.opened_at
            ended = [at for at in (known.get("ended_at"), session.ended_at) if at is not None]
            known["ended_at"] = max(ended, default=None)
    turns = {
        (turn.session, turn.offset, turn.part): msgspec.structs.asdict(turn)
        for chunk in chunks
        for turn in chunk.turns
    }
    for chunk in chunks:
        for change in chunk.amendments:
            turn = turns[change.session, change.offset, 0]
            turn["origin"] = change.origin
            turn["flags"] = (turn["flags"] & ~change.flags_before) | change.flags
    unknown: dict[str, int] = {}
    for chunk in chunks:
        for name, count in chunk.unknown_types.items():
            unknown[name] = unknown.get(name, 0) + count
    return {
        "turns": list(turns.values()),
        "usages": usages,
        "searches": [one for chunk in chunks for one in chunk.searches],
        "sessions": sessions,
        "malformed": [one for chunk in chunks for one in chunk.malformed],
        "unknown": unknown,
        "records": sum(chunk.records for chunk in chunks),
        "state": chunks[-1].state,
        "commands": commands,
    }


def in_runs(reader: Any, file: TranscriptFile, lines: Sequence[Line], cuts: Sequence[int]) -> list[Chunk]:
    chunks: list[Chunk] = []
    state = b""
    bounds = [0, *sorted(cuts), len(lines)]
    for start, end in pairwise(bounds):
        chunk = reader.read(file, state, lines[start:end])
        state = chunk.state
        chunks.append(chunk)
    return chunks


ALL_FILES = [*((CLAUDE, path) for path in CLAUDE_FILES), *((CODEX, path) for path in CODEX_FILES)]


@pytest.mark.parametrize(
    ("reader", "path"), ALL_FILES, ids=[f"{path.parts[-5][:30]}-{path.stem[-12:]}" for _, path in ALL_FILES]
)
@given(data=st.data())
@settings(deadline=None, max_examples=12)
def test_any_split_into_runs_reads_the_same(reader: Any, path: Path, data: st.DataObject) -> None:
    lines, file = lines_of(path), file_of(path)
    cuts = data.draw(st.lists(st.integers(0, len(lines)), max_size=8))
    one = merged(in_runs(reader, file, lines, []))
    for split in (cuts, range(1, len(lines))):
        many = merged(in_runs(reader, file, lines, list(split)))
        commands, same = many.pop("commands"), dict(one)
        assert set(commands) == set(same.pop("commands"))
        assert many == same
        for key, command in commands.items():
            expected = one["commands"][key]
            for fact in ("lifecycle", "outcome", "source", "exit_code", "ended_at", "denied"):
                assert command[fact] == expected[fact]
            assert command["lifecycle"] in set(Lifecycle)


@given(damaged=damaged_files([*CLAUDE_FILES, *CODEX_FILES]), cut=st.integers(0, 400))
@laws
def test_any_split_of_a_damaged_file_reads_the_same(damaged: tuple[Path, list[Line]], cut: int) -> None:
    path, lines = damaged
    reader = CLAUDE if path in CLAUDE_FILES else CODEX
    file = file_of(path)
    one, two = (merged(in_runs(reader, file, lines, cuts)) for cuts in ([], [min(cut, len(lines))]))
    assert set(one.pop("commands")) == set(two.pop("commands"))
    if reader is CODEX:  # see the law below
        assert set(one.pop("usages")) == set(two.pop("usages"))
    assert one == two


def test_a_codex_response_written_twice_reads_the_same_in_one_run_and_in_two() -> None:
    def record(output: int) -> bytes:
        usage = {"input_tokens": 9, "output_tokens": output, "total_tokens": 9 + output}
        payload = {"turn_id": "t", "response_id": "r", "usage": usage}
        return encoded({"type": "token_usage_record", "payload": payload})

    lines = as_lines([record(5), record(7)])
    one, two = (merged(in_runs(CODEX, FILES["codex"], lines, cuts)) for cuts in ([], [1]))
    assert one["usages"] == two["usages"]
