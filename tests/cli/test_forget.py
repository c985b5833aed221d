"""Forgetting: what was said is gone from everything the store holds, and does not come back."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import story

PLANTED = ("heron", "kumquat", "zyzzyva", "tapioca")


@pytest.fixture
def home(hermetic: Path) -> Path:
    return hermetic / "waypost"


def write(hermetic: Path, number: int, lines: list[story.Line]) -> Path:
    return story.write(hermetic / ".claude/projects/-home-sam" / f"{story.native(number)}.jsonl", lines)


def planted(number: int = 1) -> list[story.Line]:
    session, cwd = story.native(number), "/home/sam/zyzzyva"
    return [
        {"type": "ai-title", "aiTitle": "heron title", "sessionId": session},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": session, "content": "heron queue",
         "timestamp": story.stamp(0)},
        story.prompt(session, cwd, 1, "the heron waits"),
        story.answer(session, cwd, 2, "", command="printf kumquat"),
        story.result(session, cwd, 3, 2, "tapioca"),
        story.answer(session, cwd, 4, "the heron left"),
        story.answer(session, cwd, 5, "", command="sleep kumquat"),
    ]  # fmt: skip


def left(home: Path) -> list[str]:
    inside = story.everything(home).lower()
    return [word for word in PLANTED if word.encode() in inside]


def test_a_forgotten_session_leaves_no_word_in_the_store(hermetic: Path, home: Path) -> None:
    write(hermetic, 1, planted())
    write(hermetic, 2, story.claude(2))
    story.ingest(home)
    kept = story.turns(home, story.claude_key(2))
    assert left(home) == list(PLANTED)
    dry = story.asked(home, "forget", "--session", story.claude_key(1), "--dry-run")
    assert (dry["dry_run"], dry["sessions"], dry["turns"]) == (True, 1, 5)
    assert left(home) == list(PLANTED)
    done = story.asked(home, "forget", "--session", story.claude_key(1))
    assert (done["dry_run"], done["sessions"], done["turns"], done["executions"]) == (False, 1, 5, 2)
    assert left(home) == []
    assert list(story.sessions(home)) == [story.native(2)]
    assert story.turns(home, story.claude_key(2)) == kept
    assert story.asked(home, "search", "heron")["hits"] == []
    assert len(story.asked(home, "search", "plain")["hits"]) == 8
    again = story.child("run", "session", story.claude_key(1), home=home)
    assert (again.returncode, json.loads(again.stderr)["error"]["code"]) == (4, "session_not_found")


def test_a_dry_run_changes_no_row(hermetic: Path, home: Path) -> None:
    write(hermetic, 1, planted())
    story.ingest(home)
    before = story.content_hash(home)
    for choice in (("--session", story.claude_key(1)), ("--project", "zyzzyva"), ("--older-than", "0d")):
        assert story.asked(home, "forget", *choice, "--dry-run")["sessions"] == 1, choice
    assert story.content_hash(home) == before


def test_a_forgotten_transcript_is_not_read_again_even_when_it_grows(hermetic: Path, home: Path) -> None:
    file = write(hermetic, 1, planted())
    story.ingest(home)
    story.asked(home, "forget", "--session", story.claude_key(1))
    session, cwd = story.native(1), "/home/sam/zyzzyva"
    story.append(
        file,
        [
            {"type": "queue-operation", "operation": "enqueue", "sessionId": session,
             "content": "one more heron", "timestamp": story.stamp(20)},
            {"type": "custom-title", "customTitle": "heron again", "sessionId": session},
            story.prompt(session, cwd, 21, "the heron is back"),
            story.answer(session, cwd, 22, "", command="printf kumquat again"),
        ],
    )  # fmt: skip
    report = story.ingest(home)
    assert (report["sessions"], report["turns"], report["usage_entries"]) == (0, 0, 0)
    assert story.sessions(home) == {}
    file.touch()
    story.ingest(home)
    file.rename(file.with_name("other.jsonl"))
    story.ingest(home)
    assert story.sessions(home) == {}


def test_what_a_forgotten_transcript_says_later_leaves_no_word(hermetic: Path, home: Path) -> None:
    file = write(hermetic, 1, planted())
    story.ingest(home)
    story.asked(home, "forget", "--session", story.claude_key(1))
    line = {"type": "queue-operation", "operation": "enqueue", "sessionId": story.native(1)}
    story.append(file, [{**line, "content": "one more heron", "timestamp": story.stamp(20)}])
    story.ingest(home)
    assert left(home) == []


def test_a_project_is_forgotten_with_all_its_sessions(hermetic: Path, home: Path) -> None:
    write(hermetic, 1, planted(1))
    write(hermetic, 2, planted(2))
    write(hermetic, 3, story.claude(3))
    story.ingest(home)
    done = story.asked(home, "forget", "--project", "zyzzyva")
    assert (done["sessions"], done["projects"]) == (2, 1)
    assert left(home) == []
    assert list(story.sessions(home)) == [story.native(3)]
    assert story.ingest(home)["turns"] == 0


def test_age_selects_by_a_sessions_last_record(hermetic: Path, home: Path) -> None:
    old = [json.loads(json.dumps(line).replace("2026-11-30T", "2024-02-03T")) for line in planted()]
    write(hermetic, 1, old)
    write(hermetic, 2, story.claude(2))
    story.ingest(home)
    done = story.asked(home, "forget", "--older-than", "2024-06-01")
    assert done["sessions"] == 1
    assert left(home) == []
    assert list(story.sessions(home)) == [story.native(2)]


def test_totals_move_to_the_next_session_that_shows_a_response(hermetic: Path, home: Path) -> None:
    one = story.claude(1)
    text = json.dumps(one).replace(story.native(1), story.native(2))
    two = [*json.loads(text), *story.claude(2, exchanges=3)[8:]]
    for line in two[:8]:  # a resumed file repeats the responses under its own session id
        if "id" in line["message"]:
            line["message"]["id"] = line["message"]["id"].replace("_0002_", "_0001_")
    write(hermetic, 1, one)
    write(hermetic, 2, two)
    story.ingest(home)
    before = story.sessions(home)
    whole = story.asked(home, "costs", "--utc")["total"]
    assert before[story.native(1)]["tokens"]["output"] == 7 * 4
    assert before[story.native(2)]["tokens"]["output"] == 7 * 2
    assert before[story.native(2)]["shared_tokens"]["output"] == 7 * 4
    story.asked(home, "forget", "--session", story.claude_key(1))
    after = story.sessions(home)[story.native(2)]
    assert after["tokens"]["output"] == 7 * 6
    assert after["shared_tokens"]["output"] == 0
    assert after["cost"]["usd"] == whole["cost"]["usd"]
    assert story.asked(home, "costs", "--utc")["total"] == whole


def forks(hermetic: Path) -> None:
    folder = hermetic / ".codex/sessions/2026/11/30"
    parent = story.codex(3)
    fork = story.codex(4, forked=3)[:1] + parent + story.codex(4, exchanges=1)[1:]
    for number, lines in ((3, parent), (4, fork)):
        story.write(folder / f"rollout-2026-11-30T10-00-00-{story.native(number)}.jsonl", lines)


def test_a_fork_pays_for_its_history_when_its_parent_is_forgotten(hermetic: Path, home: Path) -> None:
    forks(hermetic)
    story.ingest(home)
    before = story.sessions(home)
    assert before[story.native(3)]["tokens"]["output"] == 20
    fork = before[story.native(4)]
    assert (fork["tokens"]["output"], fork["shared_tokens"]["output"]) == (10, 20)
    assert (fork["turns"], fork["shared_turns"], fork["prompts"]) == (6, 4, 1)
    whole = story.asked(home, "costs", "--utc")["total"]["tokens"]
    story.asked(home, "forget", "--session", story.codex_key(3))
    after = story.sessions(home)[story.native(4)]
    assert (after["tokens"]["output"], after["shared_tokens"]["output"]) == (30, 0)
    assert story.asked(home, "costs", "--utc")["total"]["tokens"] == whole
    assert (after["turns"], after["shared_turns"], after["prompts"]) == (6, 0, 3)
    assert not any(one["copied"] for one in story.turns(home, story.codex_key(4)))


def test_forgetting_a_fork_leaves_its_parent_as_it_was(hermetic: Path, home: Path) -> None:
    forks(hermetic)
    story.ingest(home)
    before = story.sessions(home)[story.native(3)]
    story.asked(home, "forget", "--session", story.codex_key(4))
    assert story.sessions(home) == {story.native(3): before}


def test_exactly_one_selection_is_asked_for(hermetic: Path, home: Path) -> None:
    write(hermetic, 1, planted())
    story.ingest(home)
    before = story.content_hash(home)
    for words in ((), ("--project", "zyzzyva", "--session", "x"), ("--older-than", "never")):
        done = story.child("run", "forget", *words, home=home)
        assert done.returncode == 2
        assert json.loads(done.stderr)["error"]["code"] in ("bad_arguments", "bad_time")
    for words, code in (
        (("--session", "ses_nothing"), "session_not_found"),
        (("--project", "no-such"), "project_not_found"),
    ):
        done = story.child("run", "forget", *words, home=home)
        assert (done.returncode, json.loads(done.stderr)["error"]["code"]) == (4, code)
    assert story.content_hash(home) == before
