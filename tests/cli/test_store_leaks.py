"""Fifty rounds of everything leave the process as it was."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import story

from waypost.flows.app import World, opened
from waypost.flows.history import History
from waypost.flows.ingest import default_roots, ingest
from waypost.machine.watch import Watcher

ROUNDS = 50


def world(hermetic: Path) -> World:
    environment = {"HOME": str(hermetic), "TZ": "UTC"}
    return World(home=hermetic / "waypost", cwd=hermetic, environment=environment)


def held() -> tuple[int, int, list[str]]:
    """Open descriptors, threads and children of this process."""
    descriptors = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    listed = children.read_text().split() if children.exists() else []
    return len(list(descriptors.iterdir())), threading.active_count(), listed


def no_more(now: tuple[int, int, list[str]], before: tuple[int, int, list[str]]) -> bool:
    """Nothing is held that was not held before; what other tests left may go meanwhile."""
    return now[0] <= before[0] and now[1] <= before[1] and set(now[2]) <= set(before[2])


def names(*folders: Path) -> list[str]:
    return sorted(str(path) for folder in folders for path in folder.rglob("*"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_fifty_passes_leave_nothing_behind(
    hermetic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    from waypost.flows import ingest as flow

    monkeypatch.setattr(flow, "WORKERS_FROM_BYTES", 1)
    file = story.write(hermetic / ".claude/projects/-one" / f"{story.native(1)}.jsonl", story.claude(1))
    before: tuple[tuple[int, int, list[str]], list[str]] | None = None
    for number in range(ROUNDS + 1):
        with opened(world(hermetic)) as app:
            ingest(app, default_roots(app.world), jobs=jobs)
            History(app).sessions()
        story.append(file, [story.prompt(story.native(1), "/home/sam/one", 100 + number, "more")])
        now = (held(), names(hermetic / "waypost", tmp_path / "tmp"))
        before = before or now
    assert before is not None
    assert no_more(now[0], before[0])
    assert now[1] == before[1]
    with opened(world(hermetic)) as app:
        ingest(app, default_roots(app.world), jobs=jobs)
    assert story.rows(hermetic / "waypost")["turn"] == 8 + ROUNDS + 1


def test_fifty_failed_openings_leave_nothing_behind(hermetic: Path) -> None:
    story.write(hermetic / ".claude/projects/-one" / f"{story.native(1)}.jsonl", story.claude(1))
    story.ingest(hermetic / "waypost")
    (hermetic / "waypost" / "waypost.key").write_text("cd" * 32 + "\n")
    from waypost.errors import RefusedError

    before = None
    for _ in range(ROUNDS + 1):
        with opened(world(hermetic)) as app, pytest.raises(RefusedError):
            app.store()
        before = before or held()
    assert before is not None
    assert no_more(held(), before)


def test_fifty_watchers_leave_nothing_behind(hermetic: Path) -> None:
    before = None
    for _ in range(ROUNDS + 1):
        watcher = Watcher([hermetic])
        watcher.wait(lambda: True)
        watcher.close()
        before = before or held()
    assert before is not None
    # The event library lets go of its descriptors a moment after the watch has ended.
    for _ in range(50):
        if no_more(held(), before):
            break
        time.sleep(0.1)
    assert no_more(held(), before)
