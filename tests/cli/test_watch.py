"""Live: what an agent writes is visible at once, also while an archive is read; stopping is clean."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import story

VISIBLE_S_MAX = 4.0  # promised: two seconds; doubled for a busy machine


@pytest.fixture
def home(hermetic: Path) -> Path:
    return hermetic / "waypost"


@pytest.fixture
def file(hermetic: Path) -> Path:
    return story.write(
        hermetic / ".claude/projects/-one" / f"{story.native(1)}.jsonl", story.claude(1, exchanges=1)
    )


@contextmanager
def running(*words: str, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = story.start(*words, home=home)
    try:
        yield process
    finally:
        story.ended(process)


class Events:
    """The records that a watching process writes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self.stream = process.stdout
        os.set_blocking(self.stream.fileno(), False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.stream, selectors.EVENT_READ)
        self.rest = b""

    def wait_for(self, turns: int, *, number: int = 1, seconds: float = 20.0) -> float:
        """Wait for a record that shows so many turns of a session; returns how long it took."""
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            self.selector.select(timeout=0.05)
            piece = self.stream.read()
            self.rest += piece or b""
            while b"\n" in self.rest:
                line, self.rest = self.rest.split(b"\n", 1)
                record: dict[str, Any] = json.loads(line)
                assert (record["command"], record["data"]["event"]) == ("watch", "session")
                if record["data"]["native_id"] == story.native(number) and record["data"]["turns"] == turns:
                    return time.monotonic() - begin
        raise AssertionError(f"no record with {turns} turns within {seconds} s")


def test_an_appended_line_is_visible_at_once_to_watchers_and_others(home: Path, file: Path) -> None:
    with running("watch", "--json", home=home) as process:
        events = Events(process)
        events.wait_for(4)
        time.sleep(0.3)
        took = []
        for step in (1, 2, 3):
            story.append(file, story.claude(1, exchanges=4)[step * 4 : step * 4 + 4])
            took.append(events.wait_for(4 + step * 4, seconds=VISIBLE_S_MAX))
            assert story.sessions(home)[story.native(1)]["turns"] == 4 + step * 4
        print("appended line visible after", [f"{one * 1000:.0f} ms" for one in took])
        new = file.with_name(f"{story.native(2)}.jsonl")
        story.write(new, story.claude(2, exchanges=1))
        print(f"new file visible after {events.wait_for(4, number=2, seconds=VISIBLE_S_MAX) * 1000:.0f} ms")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert process.stderr is not None and process.stderr.read() == b""
    assert story.picture(home) == story.picture(home.parent / "anew", first=("ingest",))


def test_once_stops_after_the_first_pass(home: Path, file: Path) -> None:
    done = story.child("run", "watch", "--once", home=home)
    assert done.returncode == 0
    assert [json.loads(line)["data"]["turns"] for line in done.stdout.splitlines()] == [4]


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 60 MB of realistic transcripts."""
    out = tmp_path_factory.mktemp("archive") / "tree"
    subprocess.run(
        [
            sys.executable,
            str(story.CHECKOUT / "bench" / "generate.py"),
            str(out),
            "--mb",
            "60",
            "--seed",
            "4",
        ],
        check=True,
        capture_output=True,
    )
    return out


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_live_line_is_visible_while_an_archive_is_read(
    hermetic: Path, home: Path, archive: Path, jobs: str
) -> None:
    live = hermetic / ".claude"
    roots = ("--claude", str(archive / "claude"), "--codex", str(archive / "codex"), "--claude", str(live))
    (live / "projects").mkdir(parents=True)
    with running("ingest", "--json", "--jobs", jobs, *roots, home=home) as process:
        story.wait_until((home / "store" / "waypost.db-wal").exists, seconds=10)
        time.sleep(0.5)
        assert process.poll() is None, "the archive was read too fast to measure"
        file = live / "projects" / "-one" / f"{story.native(1)}.jsonl"
        took = []
        for step in (1, 2):
            begin = time.monotonic()
            if step == 1:
                story.write(file, story.claude(1, exchanges=1))
            else:
                story.append(file, story.claude(1, exchanges=2)[4:])
            if process.poll() is not None:
                break

            def visible(step: int = step) -> bool:
                data = story.asked(home, "sessions", "--limit", "200", "--project", "/home/sam/one")
                return bool(data["sessions"]) and data["sessions"][0]["turns"] == 4 * step

            def known() -> bool:
                return story.child("run", "session", story.claude_key(1), home=home).returncode == 0

            story.wait_until(lambda: known() and visible(), seconds=VISIBLE_S_MAX + 1)
            took.append(time.monotonic() - begin)
            if process.poll() is not None and step == 1:
                break
        print(f"with --jobs {jobs}, while reading: visible after", [f"{one * 1000:.0f} ms" for one in took])
        assert took and max(took) < VISIBLE_S_MAX
        out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, b"")
        assert json.loads(out)["data"]["malformed_records"] < 5


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, "1"), (signal.SIGTERM, "2")])
def test_a_stopped_pass_says_so_and_the_next_completes_the_same_store(
    hermetic: Path, home: Path, number: signal.Signals, jobs: str
) -> None:
    for one in range(1, 9):
        story.write(
            hermetic / ".claude/projects/-one" / f"{story.native(one)}.jsonl",
            story.claude(one, exchanges=8, word="plain" if one == 7 else f"plainly{one}"),
        )
    process = subprocess.Popen(
        [sys.executable, str(story.CHILD), "slow", "0.05", "ingest", "--jobs", jobs],
        env=story.environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        story.wait_until((home / "store" / "waypost.db-wal").exists, seconds=10)
        time.sleep(0.15)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        story.ended(process)
    assert (process.returncode, out) == (10, b"")
    error = json.loads(err)["error"]
    assert error["code"] == "interrupted"
    assert 0 <= error["data"]["turns"] < 8 * 32
    story.ingest(home)
    assert story.picture(home) == story.picture(hermetic / "anew", first=("ingest",))


def test_a_second_pass_at_the_same_time_is_refused_and_reading_goes_on(
    hermetic: Path, home: Path, file: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, str(story.CHILD), "held", "20", "ingest"],
        env=story.environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None and process.stderr.readline() == b"open\n"
        done = story.child("run", "ingest", home=home)
        assert (done.returncode, done.stdout) == (10, "")
        assert json.loads(done.stderr)["error"]["code"] == "ingest_busy"
        assert story.asked(home, "sessions")["sessions"] == []
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert story.ingest(home)["turns"] == 4


def test_a_killed_pass_leaves_no_worker_behind(hermetic: Path, home: Path, archive: Path) -> None:
    roots = ("--claude", str(archive / "claude"), "--codex", str(archive / "codex"))
    with running("ingest", "--json", "--jobs", "2", *roots, home=home) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if not children.exists():
            pytest.skip("this system does not list the children of a process")
        story.wait_until(lambda: bool(children.read_text().split()), seconds=10)
        worker = int(children.read_text().split()[0])
        process.kill()
        process.wait()

        def gone() -> bool:
            try:
                return Path(f"/proc/{worker}/stat").read_text().split()[2] == "Z"
            except OSError:
                return True

        story.wait_until(gone, seconds=10)
