"""Public bug reports of other tools (reference, section 4), each as the smallest input and its answer.

Every case goes through the whole command: transcripts at their native places, ``ingest``, then what a
person would ask. Most run it inside this process, since a start costs more than the case. Expected
values are the reference's, written down here as numbers.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from waypost.surfaces.cli.main import main

Line = dict[str, Any]
SONNET = "claude-sonnet-4-5-20250929"  # 3 / 15 / 0.30 / 3.75 / 6 dollars per million


def said(
    session: str,
    message: str | None,
    output: int,
    *,
    at: str = "2026-11-30T10:00:01.000Z",
    request: str | None = "r1",
    stop: str | None = "end_turn",
    uuid: str | None = None,
    content: list[Line] | None = None,
    figures: Line | None = None,
    **more: Any,
) -> Line:
    """An assistant record."""
    record: Line = {
        "type": "assistant",
        "uuid": uuid or f"{session}-{message}-{output}",
        "sessionId": session,
        "timestamp": at,
        "cwd": "/work",
        "version": "2.1.100",
        "message": {
            "role": "assistant",
            "model": SONNET,
            "content": content or [{"type": "text", "text": f"words of {message}"}],
            "stop_reason": stop,
            "usage": {"input_tokens": 0, "output_tokens": output, **(figures or {})},
        },
        **more,
    }
    if message is not None:
        record["message"]["id"] = message
    if request is not None:
        record["requestId"] = request
    return record


def asked(session: str, text: str, *, at: str = "2026-11-30T10:00:00.000Z", **more: Any) -> Line:
    """A user record."""
    return {
        "type": "user",
        "uuid": f"{session}-u-{at}",
        "sessionId": session,
        "timestamp": at,
        "cwd": "/work",
        "version": "2.1.100",
        "message": {"role": "user", "content": text},
        **more,
    }


def codex(kind: str, payload: Line, at: str) -> Line:
    """A rollout line."""
    return {"timestamp": at, "type": kind, "payload": payload}


def meta(thread: str, at: str, **more: Any) -> Line:
    return codex("session_meta", {"id": thread, "cwd": "/work", "cli_version": "0.142.0", **more}, at)


def context(at: str, model: str = "gpt-5.5", **more: Any) -> Line:
    return codex("turn_context", {"cwd": "/work", "model": model, **more}, at)


def spent(input_tokens: int, cached: int, output: int) -> Line:
    return {
        "input_tokens": input_tokens,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": 0,
        "total_tokens": input_tokens + output,
    }


def counted(total: Line | None, last: Line | None, at: str) -> Line:
    """A ``token_count`` event."""
    info: Line | None = None
    if total is not None:
        info = {"total_token_usage": total}
        if last is not None:
            info["last_token_usage"] = last
    return codex("event_msg", {"type": "token_count", "info": info}, at)


def started(turn: str, at: str) -> Line:
    return codex("event_msg", {"type": "task_started", "turn_id": turn}, at)


def newest(path: Path, *, among: list[Path]) -> None:
    """Make one file the first to be read: files are read newest first."""
    for number, one in enumerate([path, *(other for other in among if other != path)]):
        os.utime(one, (1_790_000_000 - number * 60,) * 2)


class Asked:
    """The command, run in this process, with what this file asks of it."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self.capture = capture

    def data(self, *arguments: str) -> Line:
        self.capture.readouterr()
        status = main([*arguments, "--json"])
        shown = self.capture.readouterr()
        assert (status, shown.err) == (0, "")
        data: Line = json.loads(shown.out)["data"]
        return data

    def ingest(self) -> Line:
        data = self.data("ingest", "--jobs", "1")
        assert data["unreadable_files"] == [] and data["problems"] == []
        return data

    def sessions(self, *more: str) -> dict[str, Line]:
        return {one["native_id"]: one for one in self.data("sessions", *more)["sessions"]}

    def session(self, name: str) -> list[Line]:
        turns: list[Line] = self.data("session", name, "--turns")["turns"]
        return turns

    def costs(self, *more: str) -> Line:
        return self.data("costs", *more)

    def hits(self, text: str) -> list[Line]:
        found: list[Line] = self.data("search", text)["hits"]
        return found


def read_in_order(ask: Asked, names: list[str], write: Callable[[str], Path], passes: int) -> None:
    """Have files read in the order of their names: in a pass each, or in one by their ages."""
    if passes == 2:
        for name in names:
            write(name)
            ask.ingest()
        return
    paths = [write(name) for name in names]
    newest(paths[0], among=paths)
    ask.ingest()


@pytest.fixture
def ask(capfd: pytest.CaptureFixture[str]) -> Asked:
    return Asked(capfd)


# -- D1, D2: one response, several records ---------------------------------------------------------


def test_d1_the_last_snapshot_of_a_response_wins_and_no_block_is_lost(ask: Asked, transcripts: Any) -> None:
    figures = {"input_tokens": 3, "cache_creation_input_tokens": 2285, "cache_read_input_tokens": 22137}
    blocks: list[Line] = [
        {"type": "thinking", "thinking": "first think"},
        {"type": "text", "text": "then say"},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/a"}},
    ]
    transcripts.claude(
        "s1",
        [
            said("s1", "m1", 2, uuid="a", stop=None, content=[blocks[0]], figures=figures),
            said("s1", "m1", 2, uuid="b", stop=None, content=[blocks[1]], figures=figures),
            said("s1", "m1", 300, uuid="c", stop="tool_use", content=[blocks[2]], figures=figures),
        ],
    )
    assert ask.ingest()["usage_entries"] == 1
    found = ask.sessions()["s1"]
    assert found["tokens"] == {
        "input": 3,
        "output": 300,
        "cache_read": 22137,
        "cache_write_5m": 2285,
        "cache_write_1h": 0,
        "reasoning": 0,
        "total": 3 + 300 + 22137 + 2285,
    }
    assert found["coverage"]["complete"] and not found["cost"]["lower_bound"]
    turns = ask.session("s1")
    assert [one["text"] or one["tool"]["name"] for one in turns] == ["first think", "then say", "Read"]
    assert sum(one["tokens"]["output"] for one in turns if one["tokens"]) == 300


@pytest.mark.parametrize("outputs", [(10, 25), (25, 10)])
def test_d2_records_without_a_request_id_are_one_response(
    ask: Asked, transcripts: Any, outputs: tuple[int, int]
) -> None:
    transcripts.claude("s1", [said("s1", "m1", one, request=None, uuid=f"u{one}") for one in outputs])
    assert ask.ingest()["usage_entries"] == 1
    assert ask.sessions()["s1"]["tokens"]["output"] == 25


def test_d2_without_a_message_id_the_uuid_is_the_response(ask: Asked, transcripts: Any) -> None:
    same, other = (said("s1", None, 10, request=None, uuid=one) for one in ("u1", "u2"))
    transcripts.claude("s1", [same, other, same])
    assert ask.ingest()["usage_entries"] == 2
    assert ask.sessions()["s1"]["tokens"]["output"] == 20


# -- D3, D4: one response, several files -----------------------------------------------------------


@pytest.mark.parametrize("request_kept", [True, False], ids=["request id kept", "request id removed"])
@pytest.mark.parametrize("time_kept", [True, False], ids=["time kept", "time of the copy"])
@pytest.mark.parametrize("first", ["s1", "s2"])
@pytest.mark.parametrize("passes", [1, 2])
def test_d3_a_copied_response_is_paid_once_by_its_first_session(
    ask: Asked, transcripts: Any, request_kept: bool, time_kept: bool, first: str, passes: int
) -> None:
    def write(name: str) -> Path:
        if name == "s1":
            return transcripts.claude(
                "s1",
                [
                    said("s1", "m1", 100, request="r1", at="2026-11-29T10:00:01.000Z"),
                    said("s1", "m2", 50, request="r2", at="2026-11-29T10:00:02.000Z"),
                ],
            )
        day = "2026-11-29T" if time_kept else "2026-11-30T"
        ids = ("r1", "r2") if request_kept else (None, None)
        return transcripts.claude(
            "s2",
            [
                said("s2", "m1", 100, request=ids[0], at=f"{day}10:00:01.000Z"),
                said("s2", "m2", 50, request=ids[1], at=f"{day}10:00:02.000Z"),
                said("s2", "m3", 7, request="r3", at="2026-11-30T10:00:03.000Z"),
            ],
        )

    read_in_order(ask, [first, "s2" if first == "s1" else "s1"], write, passes)
    found = ask.sessions()
    assert (found["s1"]["tokens"]["output"], found["s1"]["shared_tokens"]["output"]) == (150, 0)
    assert (found["s2"]["tokens"]["output"], found["s2"]["shared_tokens"]["output"]) == (7, 150)
    assert found["s2"]["forked_from"] == found["s1"]["session"]
    report = ask.costs("--by", "day", "--utc")
    assert report["total"]["tokens"]["output"] == 157
    assert {row["key"]: row["tokens"]["output"] for row in report["rows"]} == {
        "2026-11-29": 150,
        "2026-11-30": 7,
    }


@pytest.mark.parametrize("parent_first", [True, False])
def test_d4_a_side_question_that_replays_its_parent_pays_only_its_own_response(
    ask: Asked, transcripts: Any, parent_first: bool
) -> None:
    def read(tokens: int) -> Line:
        return {"cache_read_input_tokens": tokens}

    parent = transcripts.claude(
        "s1", [asked("s1", "go"), said("s1", "m1", 5, request="r1", figures=read(90_000))]
    )
    side = transcripts.claude(
        "s1/subagents/agent-x",
        [
            said("s1", "m1", 5, request="r9", figures=read(90_000), isSidechain=True, agentId="x", uuid="x1"),
            said(
                "s1",
                "m2",
                6,
                request="r10",
                at="2026-11-30T10:00:09.000Z",
                figures=read(91_000),
                isSidechain=True,
                agentId="x",
            ),
        ],
    )
    newest(parent if parent_first else side, among=[parent, side])
    ask.ingest()
    found = ask.sessions()
    assert list(found) == ["s1"]
    assert found["s1"]["tokens"]["cache_read"] == 181_000
    assert found["s1"]["tokens"]["output"] == 11


# -- D5 to D8: Codex ---------------------------------------------------------------------------------

PARENT = "01a00000-0000-7000-8000-00000000000a"
CHILD = "01a00000-0000-7000-8000-00000000000b"
THEN, NOW = "2026-11-29T10:00:0", "2026-11-30T10:00:0"


def parent_lines(*, turns: bool) -> list[Line]:
    named = [started("t1", THEN + "1.000Z")] if turns else []
    again = [started("t2", THEN + "3.000Z")] if turns else []
    return [
        meta(PARENT, THEN + "0.000Z"),
        context(THEN + "0.500Z"),
        *named,
        counted(spent(80, 0, 20), spent(80, 0, 20), THEN + "2.000Z"),
        *again,
        counted(spent(200, 0, 50), spent(120, 0, 30), THEN + "4.000Z"),
    ]


def child_lines(kind: str) -> list[Line]:
    if kind == "history base":
        return [
            meta(CHILD, NOW + "0.000Z", forked_from_id=PARENT, history_base={"thread_id": PARENT}),
            context(NOW + "0.500Z"),
            started("t3", NOW + "5.000Z"),
            counted(spent(230, 0, 60), spent(30, 0, 10), NOW + "6.000Z"),
        ]
    turns = kind == "turn ids"
    return [
        meta(CHILD, NOW + "0.000Z", forked_from_id=PARENT),
        meta(PARENT, NOW + "0.000Z"),
        context(NOW + "0.500Z"),
        *([started("t1", NOW + "0.600Z")] if turns else []),
        counted(spent(80, 0, 20), spent(80, 0, 20), NOW + "0.700Z"),
        *([started("t2", NOW + "0.800Z")] if turns else []),
        counted(spent(200, 0, 50), spent(120, 0, 30), NOW + "0.900Z"),
        *([started("t3", NOW + "5.000Z")] if turns else []),
        counted(spent(230, 0, 60), spent(30, 0, 10), NOW + "6.000Z"),
    ]


@pytest.mark.parametrize("kind", ["turn ids", "no turn ids", "history base"])
@pytest.mark.parametrize("first", ["parent", "child"])
@pytest.mark.parametrize("passes", [1, 2])
def test_d5_a_codex_fork_pays_only_what_it_added(
    ask: Asked, transcripts: Any, kind: str, first: str, passes: int
) -> None:
    def write(name: str) -> Path:
        if name == "parent":
            return transcripts.codex(PARENT, parent_lines(turns=kind != "no turn ids"))
        return transcripts.codex(CHILD, child_lines(kind))

    read_in_order(ask, [first, "child" if first == "parent" else "parent"], write, passes)
    found = ask.sessions()
    assert found[PARENT]["tokens"]["total"] == 250
    assert found[CHILD]["tokens"]["total"] == 40
    assert found[CHILD]["shared_tokens"]["total"] == (0 if kind == "history base" else 250)
    assert found[CHILD]["forked_from"] == found[PARENT]["session"]
    report = ask.costs("--by", "day", "--utc")
    assert {row["key"]: row["tokens"]["total"] for row in report["rows"]} == {
        "2026-11-29": 250,
        "2026-11-30": 40,
    }


def test_d6_a_resumed_thread_is_charged_for_what_its_totals_grew_by(ask: Asked, transcripts: Any) -> None:
    lines = resumed(last=True)
    transcripts.codex(PARENT, lines)
    assert ask.ingest()["usage_entries"] == 2
    check_resumed(ask)


def test_d6_the_same_where_a_version_gives_totals_only(ask: Asked, transcripts: Any) -> None:
    transcripts.codex(PARENT, resumed(last=False))
    assert ask.ingest()["usage_entries"] == 2
    check_resumed(ask)


def resumed(*, last: bool) -> list[Line]:
    def answer(text: str, at: str) -> Line:
        content = [{"type": "output_text", "text": text}]
        return codex("response_item", {"type": "message", "role": "assistant", "content": content}, at)

    return [
        meta(PARENT, NOW + "0.000Z"),
        context(NOW + "0.000Z"),
        started("t1", NOW + "1.000Z"),
        answer("first", NOW + "2.000Z"),
        counted(spent(1000, 700, 60), spent(1000, 700, 60) if last else None, NOW + "2.000Z"),
        started("t2", NOW + "3.000Z"),
        answer("second", NOW + "4.000Z"),
        counted(spent(1800, 1400, 125), spent(800, 700, 65) if last else None, NOW + "4.000Z"),
    ]


def check_resumed(ask: Asked) -> None:
    by_text = {one["text"]: one["tokens"] for one in ask.session(PARENT)}
    second = by_text["second"]
    assert (second["input"] + second["cache_read"], second["cache_read"], second["output"]) == (800, 700, 65)
    first = by_text["first"]
    assert (first["input"] + first["cache_read"], first["cache_read"], first["output"]) == (1000, 700, 60)


def test_d7_repeated_totals_and_empty_events_count_nothing(ask: Asked, transcripts: Any) -> None:
    one = spent(42_900, 0, 76)
    two = spent(87_200, 0, 90)
    transcripts.codex(
        PARENT,
        [
            meta(PARENT, NOW + "0.000Z"),
            context(NOW + "0.000Z"),
            counted(None, None, NOW + "1.000Z"),
            counted(one, one, NOW + "2.000Z"),
            counted(one, one, NOW + "3.000Z"),
            counted(two, spent(44_300, 0, 14), NOW + "4.000Z"),
            counted(two, spent(44_300, 0, 14), NOW + "5.000Z"),
        ],
    )
    assert ask.ingest()["usage_entries"] == 2
    assert ask.sessions()[PARENT]["tokens"]["total"] == 87_290


def priced_thread(model: str) -> list[Line]:
    usage = spent(11_527, 9_600, 100)
    return [
        meta(PARENT, NOW + "0.000Z"),
        context(NOW + "0.000Z", model=model),
        counted(usage, usage, NOW + "1.000Z"),
    ]


def test_d8_cached_input_is_part_of_input_and_priced_once(ask: Asked, transcripts: Any) -> None:
    transcripts.codex(PARENT, priced_thread("gpt-5.5"))
    ask.ingest()
    found = ask.sessions()[PARENT]
    assert (found["tokens"]["input"], found["tokens"]["cache_read"]) == (1_927, 9_600)
    assert (found["cost"]["usd"], found["cost"]["lower_bound"]) == ("0.017435", False)


def test_d8_an_unknown_model_has_no_price_and_its_tokens_count(ask: Asked, transcripts: Any) -> None:
    transcripts.codex(PARENT, priced_thread("gpt-9-foo"))
    ask.ingest()
    for cost in (ask.sessions()[PARENT]["cost"], ask.costs()["total"]["cost"]):
        assert (cost["usd"], cost["lower_bound"], cost["unpriced_models"]) == (None, True, ["gpt-9-foo"])
    assert ask.costs()["total"]["tokens"]["total"] == 11_627


# -- D9 to D11: shapes nobody promised ----------------------------------------------------------------


def test_d9_unknown_records_are_counted_by_name_and_become_nothing_else(ask: Asked, transcripts: Any) -> None:
    blob = {"role": "user", "content": [{"type": "text", "text": "hi there"}]}
    transcripts.claude(
        "s1",
        [
            {"type": "brand-new", "x": 1},
            *({"type": "file-history-snapshot", "messageId": str(one), "snapshot": {}} for one in range(30)),
            {"type": "api-request-blob", "message": blob},
            asked("s1", "the only question"),
        ],
    )
    report = ask.ingest()
    assert report["unknown_record_types"] == {"brand-new": 1}
    assert (report["records_read"], report["turns"], report["malformed_records"]) == (33, 1, 0)
    found = ask.sessions()["s1"]
    assert (found["prompts"], found["turns"], found["coverage"]["complete"]) == (1, 1, True)
    assert ask.session("s1")[0]["flags"] == ["prompt"]
    assert ask.hits("there") == [] and len(ask.hits("question")) == 1


def test_d10_a_torn_line_is_recorded_and_its_copy_read_once(ask: Asked, transcripts: Any) -> None:
    lines = [asked("s1", f"words {one}", at=f"2026-11-30T10:00:0{one}.000Z") for one in (1, 2, 3)]
    one, two, three = (json.dumps(line) for line in lines)
    torn = two[: len(two) // 2]
    path: Path = transcripts.claude("s1", [one, torn, two, three[:-9]], end="")
    report = ask.ingest()
    assert (report["turns"], report["malformed_records"]) == (2, 1)
    with path.open("a") as handle:
        handle.write(three[-9:] + "\n")
    report = ask.ingest()
    assert (report["records_read"], report["turns"], report["malformed_records"]) == (1, 1, 0)
    found = ask.sessions()["s1"]
    assert (found["prompts"], found["coverage"]["malformed_records"]) == (3, 1)
    turns = ask.session("s1")
    assert [one["text"] for one in turns] == ["words 1", "words 2", "words 3"]
    data = path.read_bytes()
    for turn, line in zip(turns, lines, strict=True):
        source = turn["source"]
        assert json.loads(data[source["offset"] : source["offset"] + source["length"]]) == line


@pytest.mark.parametrize("how", ["shorter", "rotated"])
def test_d10_a_replaced_file_is_read_again_and_old_citations_are_stale(
    ask: Asked, transcripts: Any, how: str
) -> None:
    old = [asked("s1", f"old words {one}", at=f"2026-11-30T10:00:0{one}.000Z") for one in (1, 2, 3)]
    new = [asked("s1", "new words", at="2026-11-30T11:00:00.000Z"), old[1]]
    if how == "rotated":
        new += [asked("s1", f"more words {one}", at=f"2026-11-30T11:00:0{one}.000Z") for one in range(1, 6)]
    transcripts.claude("s1", list(old))
    ask.ingest()
    transcripts.claude("s1", list(new))
    ask.ingest()
    turns = ask.session("s1")
    fresh = [one["text"] for one in turns if not one["source"]["stale"]]
    stale = [one["text"] for one in turns if one["source"]["stale"]]
    assert fresh == [line["message"]["content"] for line in new]
    assert sorted(stale) == ["old words 1", "old words 3"]
    assert len(ask.hits("words")) == len(turns)


def memory_of_ingest(home: Path) -> int:
    """Peak resident bytes of one pass in a process of its own."""
    script = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    program = str(Path(sys.executable).parent / "waypost")
    done = subprocess.run(
        [sys.executable, "-c", script, program, "ingest", "--jobs", "1", "--json"],
        env={**os.environ, "WAYPOST_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return int(done.stdout) * (1 if sys.platform == "darwin" else 1024)


def test_d11_huge_records_are_kept_by_size_and_hash_in_flat_memory(
    ask: Asked, transcripts: Any, tmp_path: Path
) -> None:
    def item(role: str, content: list[Line], at: str) -> Line:
        return codex("response_item", {"type": "message", "role": role, "content": content}, at)

    picture = bytes(range(256)) * (5 * 4096)
    url = "data:image/png;base64," + base64.b64encode(picture).decode()
    old = [{"type": "message", "role": "user", "content": "x" * 1000}] * (20 * 1024)
    huge = codex("compacted", {"message": "summary", "replacement_history": old}, NOW + "2.000Z")
    assert len(json.dumps(huge)) > 20 * 1024 * 1024
    lines = [
        meta(PARENT, NOW + "0.000Z"),
        context(NOW + "0.000Z"),
        huge,
        item("user", [{"type": "input_image", "image_url": url}], NOW + "3.000Z"),
        item("assistant", [{"type": "output_text", "text": "a normal turn"}], NOW + "4.000Z"),
    ]
    transcripts.codex(PARENT, [lines[0], lines[1], lines[4]])
    floor = memory_of_ingest(tmp_path / "floor")
    transcripts.codex(PARENT, list(lines))
    # The largest record, what it decodes to and a copy on the way: not a multiple of the file.
    assert memory_of_ingest(tmp_path / "peak") - floor < 5 * 21 * 1024 * 1024
    ask.ingest()
    compaction, image, normal = ask.session(PARENT)
    assert compaction["role"] == "compaction" and compaction["text"] == "summary"
    assert compaction["source"]["length"] == len(json.dumps(huge))
    assert image["media"] == [
        {"media_type": "image/png", "bytes": len(picture), "sha256": hashlib.sha256(picture).hexdigest()}
    ]
    assert normal["text"] == "a normal turn"
    store = (Path(os.environ["WAYPOST_HOME"])).rglob("*")
    assert sum(path.stat().st_size for path in store if path.is_file()) < 4 * 1024 * 1024


# -- D12, D13: whose words -----------------------------------------------------------------------------


def test_d12_our_own_runs_are_shown_only_when_asked_for(ask: Asked, transcripts: Any) -> None:
    prompt = "[waypost analysis run exp_1]\nexp_0001 exp_0002: which of these held?"
    transcripts.claude(
        "own",
        [asked("own", prompt, entrypoint="sdk-cli"), said("own", "m1", 5, entrypoint="sdk-cli")],
    )
    transcripts.claude("theirs", [asked("theirs", "please look at [waypost analysis run exp_1]")])
    ask.ingest()
    assert list(ask.sessions()) == ["theirs"]
    assert list(ask.sessions("--own")) == ["own"]


def test_d12_a_delivered_pack_is_marked_where_a_transcript_echoes_it(ask: Asked, transcripts: Any) -> None:
    pack = '<waypost-mission-pack id="1">use pnpm</waypost-mission-pack>'
    transcripts.claude("s1", [asked("s1", pack), said("s1", "m1", 5)])
    ask.ingest()
    echoed, answer = ask.session("s1")
    assert "delivered_pack" in echoed["flags"] and "delivered_pack" not in answer["flags"]


def test_d13_of_all_rows_in_the_user_role_one_is_a_person(ask: Asked, transcripts: Any) -> None:
    def row(number: int, text: Any, **more: Any) -> Line:
        return asked("s1", text, at=f"2026-11-30T10:00:{number:02d}.000Z", **more)

    result = [{"type": "tool_result", "tool_use_id": "t0", "content": "no, use yarn"}]
    lines = [
        row(1, "Caveat: The messages below were generated by the user", isMeta=True),
        row(2, "<command-name>/compact</command-name>\n<command-args></command-args>"),
        row(3, "<local-command-stdout>Compacted.</local-command-stdout>"),
        row(4, result),
        row(5, "<task-notification>\n<task-id>b1</task-id>\n</task-notification>"),
        row(6, [{"type": "text", "text": "[Request interrupted by user]"}]),
        row(7, "no, use pnpm"),
    ]
    path: Path = transcripts.claude("s1", list(lines))
    ask.ingest()
    found = ask.sessions()["s1"]
    assert (found["prompts"], found["automated_prompts"], found["turns"]) == (1, 0, 7)
    turns = ask.session("s1")
    assert [one["origin"] for one in turns] == [
        "harness",
        "human",
        "harness",
        "harness",
        "harness",
        "harness",
        "human",
    ]
    flags = [one["flags"] for one in turns]
    assert [name for names in flags for name in names] == ["slash_command", "interruption", "prompt"]
    prompt = turns[-1]
    assert prompt["text"] == "no, use pnpm" and turns[1]["text"] == "/compact"
    source = prompt["source"]
    cited = path.read_bytes()[source["offset"] : source["offset"] + source["length"]]
    assert json.loads(cited)["message"]["content"] == "no, use pnpm"


def test_d13_a_generic_chat_file_is_no_transcript(ask: Asked, transcripts: Any) -> None:
    lines: list[Line] = [
        {"role": "user", "content": "hello"},
        {"type": "user", "message": {"role": "user", "content": "hello"}},
        {"type": "assistant", "message": {"role": "assistant", "content": "hello yourself"}},
    ]
    transcripts.claude("chat", list(lines))
    report = ask.ingest()
    assert (report["turns"], report["sessions"]) == (0, 0)
    assert report["malformed_records"] + sum(report["unknown_record_types"].values()) == 3
    assert ask.sessions() == {} and ask.hits("hello") == []


# -- D17, D18 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "days"),
    [
        ("UTC", {"2026-06-15": 10, "2026-06-30": 20}),
        ("Asia/Tokyo", {"2026-06-15": 10, "2026-07-01": 20}),
        ("America/New_York", {"2026-06-15": 10, "2026-06-30": 20}),
        ("Asia/Kathmandu", {"2026-06-15": 10, "2026-07-01": 20}),
    ],
)
def test_d17_tokens_are_dated_by_their_record_not_by_their_file(
    waypost: Callable[..., Any], transcripts: Any, zone: str, days: dict[str, int]
) -> None:
    path = transcripts.claude(
        "s1",
        [
            said("s1", "m1", 10, at="2026-06-15T12:00:00.000Z"),
            said("s1", "m2", 20, at="2026-06-30T18:20:00.000Z"),
        ],
    )
    os.utime(path, (1_784_800_000,) * 2)  # 23 July 2026
    waypost("ingest", "--json")
    report = waypost("costs", "--by", "day", "--json", env={"TZ": zone}).data
    assert {row["key"]: row["tokens"]["output"] for row in report["rows"]} == days
    report = waypost("costs", "--by", "day", "--utc", "--json", env={"TZ": zone}).data
    assert {row["key"] for row in report["rows"]} == {"2026-06-15", "2026-06-30"}


@pytest.mark.parametrize("stated", [0, 1], ids=["usage says none", "usage says one"])
def test_d18_a_web_search_is_charged_once_and_the_session_is_a_lower_bound(
    ask: Asked, transcripts: Any, stated: int
) -> None:
    call = [{"type": "tool_use", "id": "t1", "name": "WebSearch", "input": {"query": "q"}}]
    figures = {"input_tokens": 1000, "server_tool_use": {"web_search_requests": stated}}
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "found"}]
    transcripts.claude(
        "s1",
        [
            asked("s1", "search"),
            said("s1", "m1", 100, content=call, stop="tool_use", figures=figures),
            asked(
                "s1", result, at="2026-11-30T10:00:05.000Z", toolUseResult={"searchCount": 1, "query": "q"}
            ),
        ],
    )
    ask.ingest()
    # 1,000 x 3 + 100 x 15 = 4,500 millionths, and one cent.
    cost = ask.sessions()["s1"]["cost"]
    assert (cost["usd"], cost["lower_bound"]) == ("0.0145", True)
    total = ask.costs()["total"]["cost"]
    assert (total["usd"], total["lower_bound"]) == ("0.0145", True)
