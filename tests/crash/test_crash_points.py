"""A pass that ends at any point, in any way, goes on to the same store."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import story

from waypost.machine import keys
from waypost.machine.store import database

CLAUDE = ".claude/projects/-home-sam-one"
CODEX = ".codex/sessions/2026/11/30"


def rollout(number: int) -> str:
    return f"rollout-2026-11-30T10-00-00-{story.native(number)}.jsonl"


def tree(home: Path) -> None:
    """Two Claude sessions, one a sub-agent's parent, and a rollout with a fork of it."""
    story.write(home / CLAUDE / f"{story.native(1)}.jsonl", story.claude(1, exchanges=2))
    story.write(
        home / CLAUDE / f"{story.native(2)}.jsonl",
        [*story.claude(2, exchanges=1), "{broken", '{"type":"news"}'],
    )
    story.write(home / CODEX / rollout(3), story.codex(3))
    fork = story.codex(4, forked=3)[:1] + story.codex(3) + story.codex(4, exchanges=1)[1:]
    story.write(home / CODEX / rollout(4), fork)


def campaign(folder: Path, template: Path | None, *words: str, again: str = "") -> list[dict[str, Any]]:
    done = story.child(
        "campaign", str(template or ""), str(folder), again, *words, home=folder / "unused", timeout_s=200
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    return [name for name in expected if found[name] != expected[name]]


@pytest.mark.parametrize(("jobs", "again"), [("1", "3"), ("2", "")], ids=["alone-twice", "worker"])
def test_a_first_pass_ended_at_any_point_goes_on_to_the_same_store(
    hermetic: Path, tmp_path: Path, jobs: str, again: str
) -> None:
    tree(hermetic)
    expected = story.picture(hermetic / "whole", words=("plain", "changed"), first=("ingest", "--jobs", "1"))
    assert expected["rows"]["turn"] == 8 + 4 + 4 + 6  # counted by hand: 4 and 2 turns per exchange
    assert expected["rows"]["turn_text"] == 22
    assert len(expected["hits"]) == 22 - 4  # the fork's copies of the rollout are no hits of their own
    found = campaign(tmp_path, None, "ingest", "--jobs", jobs, again=again)
    assert len(found) > 12
    wrong = {at: differences(expected, one) for at, one in enumerate(found)}
    assert not {at: names for at, names in wrong.items() if names}


@pytest.mark.parametrize("again", ["1"], ids=["twice"])
def test_reading_a_replaced_file_ended_at_any_point_leaves_no_duplicates(
    hermetic: Path, tmp_path: Path, again: str
) -> None:
    tree(hermetic)
    before = hermetic / "before"
    story.ingest(before)
    changed = story.claude(1, exchanges=4, word="changed")
    story.write(
        hermetic / CLAUDE / f"{story.native(1)}.jsonl", changed[:8] + story.claude(1, exchanges=3)[4:]
    )
    story.append(hermetic / CODEX / rollout(3), story.codex(3, exchanges=3)[11:])
    whole = hermetic / "whole"
    shutil.copytree(before, whole)
    expected = story.picture(whole, words=("plain", "changed"), first=("ingest", "--jobs", "1"))
    found = campaign(tmp_path, before, "ingest", "--jobs", "1", again=again)
    assert len(found) > 6
    wrong = {at: differences(expected, one) for at, one in enumerate(found)}
    assert not {at: names for at, names in wrong.items() if names}


def test_forgetting_ended_at_any_point_forgets_or_can_be_asked_again(hermetic: Path, tmp_path: Path) -> None:
    tree(hermetic)
    before = hermetic / "before"
    story.ingest(before)
    old = story.picture(before, words=("plain", "changed"))
    new_home = hermetic / "new"
    shutil.copytree(before, new_home)
    story.asked(new_home, "forget", "--session", story.claude_key(1))
    new = story.picture(new_home, words=("plain", "changed"))
    found = campaign(tmp_path, before, "forget", "--session", story.claude_key(1))
    assert len(found) >= 3
    assert all(one in (old, new) for one in found), [
        (differences(old, one), differences(new, one)) for one in found
    ]
    assert found[-1] == new


def test_a_rotation_of_the_key_ended_at_any_point_leaves_a_key_that_opens_the_store(
    hermetic: Path, tmp_path: Path
) -> None:
    tree(hermetic)
    before = hermetic / "before"
    story.ingest(before)
    expected = story.picture(before, words=("plain", "changed"))
    names = json.loads(
        story.child("points", "key", "rotate", home=Path(shutil.copytree(before, hermetic / "tried"))).stderr
    )
    assert {"rekey.staged", "rekey.rewritten", "private.written", "private.renamed"} <= set(names)
    assert campaign(tmp_path, before, "key", "rotate") == [expected] * (len(names) + 1)


def test_an_ended_rotation_leaves_no_second_key_behind(hermetic: Path, tmp_path: Path) -> None:
    tree(hermetic)
    before = hermetic / "before"
    story.ingest(before)
    for at in range(9):
        home = tmp_path / f"home-{at}"
        shutil.copytree(before, home)
        story.child("crash", str(at), "key", "rotate", home=home)
        store = database.open_store(home, create=False)
        assert store is not None
        store.close()
        assert keys.load_next(home) is None
        database.check_key(database.store_path(home), story.key_of(home))


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_pass_killed_at_random_moments_goes_on_to_the_same_store(
    hermetic: Path, tmp_path: Path, jobs: str
) -> None:
    for number in range(10, 16):
        story.write(
            hermetic / CLAUDE / f"{story.native(number)}.jsonl",
            story.claude(number, exchanges=20, word=f"plain{number}"),
        )
        story.write(hermetic / CODEX / rollout(number + 100), story.codex(number + 100, exchanges=30))
    begin = time.monotonic()
    assert story.child("small", "ingest", "--jobs", jobs, home=hermetic / "whole").returncode == 0
    took = time.monotonic() - begin
    expected = story.picture(hermetic / "whole")
    random_moments = random.Random(jobs)
    home = hermetic / "killed"
    killed = 0
    for _ in range(4):
        process = story.subprocess.Popen(
            [sys.executable, str(story.CHILD), "small", "ingest", "--jobs", jobs],
            env=story.environment(home),
            stdout=story.subprocess.DEVNULL,
            stderr=story.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            time.sleep(0.15 + random_moments.random() * took * 0.4)
            killed += process.poll() is None
        finally:
            os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
            process.wait()
    assert killed >= 2
    report = json.loads(story.child("small", "ingest", "--jobs", jobs, home=home).stdout)
    assert report["status"] == "ok"
    assert differences(expected, story.picture(home)) == []


def test_a_rotation_killed_while_pages_are_rewritten_leaves_a_key_that_opens_the_store(
    hermetic: Path, tmp_path: Path
) -> None:
    padding = "".join(random.Random(7).choices("abcdefghijklmnop0123456789", k=20_000))
    lines = [
        line
        for number in range(120)
        for line in [
            story.prompt(story.native(1), "/home/sam/one", number, f"plain {number} {padding[number:]}")
        ]
    ]
    story.write(hermetic / CLAUDE / f"{story.native(1)}.jsonl", lines)
    before = hermetic / "before"
    story.ingest(before)
    begin = time.monotonic()
    shutil.copytree(before, tmp_path / "timed")
    assert story.child("run", "key", "rotate", home=tmp_path / "timed").returncode == 0
    took = time.monotonic() - begin
    for number in range(5):
        home = tmp_path / f"killed-{number}"
        shutil.copytree(before, home)
        process = story.start("key", "rotate", home=home)
        time.sleep(took * (0.3 + 0.7 * number / 5))
        story.ended(process)
        assert story.rows(home)["turn"] == 120
        database.check_key(database.store_path(home), story.key_of(home))
