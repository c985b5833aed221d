"""Nothing of a transcript lies readable on disk, at any moment, and nobody else may read the files."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import story

from waypost.machine.store import database

SENTENCE = "the heron waits beside the quiet ferry"
PATH = "/home/sam/zyzzyva-works"
COMMAND = "printf kumquat-marmalade"
OUTPUT = "tapioca lighthouse seventeen"
SECRET = "ghp_" + "Zx9Qw7Er5Ty3Ui1Op2As4Df6Gh8Jk0Lm1Nb2"
TITLE = "Grebe ledger overhaul"
MODEL = "claude-obsidian-9"
PLANTED = (SENTENCE, PATH, "zyzzyva", COMMAND, "kumquat", OUTPUT, SECRET, TITLE, "Grebe", MODEL, "ui_view.rs")


def planted(number: int = 1, *, exchanges: int = 1) -> list[story.Line]:
    session = story.native(number)
    lines: list[story.Line] = [{"type": "custom-title", "customTitle": TITLE, "sessionId": session}]
    for step in range(exchanges):
        at = step * 10
        reply = story.answer(session, PATH, at + 3, f"key {SECRET} for ui_view.rs {step}")
        reply["message"]["model"] = MODEL
        lines += [
            story.prompt(session, PATH, at, f"{SENTENCE} {step}"),
            story.answer(session, PATH, at + 1, "", command=f"{COMMAND} {step}"),
            story.result(session, PATH, at + 2, at + 1, f"{OUTPUT} {step}"),
            reply,
        ]
    return lines


def needles() -> list[bytes]:
    return [
        form
        for text in PLANTED
        for form in (text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be"))
    ]


def readable(*folders: Path) -> list[tuple[str, bytes]]:
    return [
        (path.name, needle) for path, data in story.disk(*folders) for needle in needles() if needle in data
    ]


def modes(home: Path) -> dict[str, str]:
    places = [home, *home.rglob("*")]
    return {
        str(path): oct(stat.S_IMODE(path.lstat().st_mode))
        for path in places
        if stat.S_IMODE(path.lstat().st_mode) != (0o700 if path.is_dir() else 0o600)
    }


@pytest.fixture
def home(hermetic: Path) -> Path:
    return hermetic / "waypost"


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    return tmp_path / "tmp"


def test_planted_text_is_in_the_store_and_in_no_file(hermetic: Path, home: Path, temporary: Path) -> None:
    story.write(hermetic / ".claude/projects/-z" / f"{story.native(1)}.jsonl", planted(exchanges=20))
    story.write(
        hermetic / ".codex/sessions/2026/11/30" / f"rollout-2026-11-30T10-00-00-{story.native(2)}.jsonl",
        story.codex(2, PATH, word=SENTENCE),
    )
    story.ingest(home)
    inside = story.everything(home)
    for text in (SENTENCE, PATH, COMMAND, OUTPUT, SECRET, TITLE, MODEL, "kumquat"):
        assert text.encode() in inside, text
    watcher = story.opened(home)  # keeps the log and its index in place
    watcher.execute("SELECT count(*) FROM turn").get  # noqa: B018
    names = {path.name for path, _ in story.disk(home)}
    assert {"waypost.db", "waypost.db-wal", "waypost.db-shm", "waypost.key"} <= names
    assert readable(home, temporary) == []
    watcher.close()
    story.asked(home, "search", "kumquat")
    story.asked(home, "key", "rotate")
    story.asked(home, "forget", "--session", story.codex_key(2))
    assert readable(home, temporary) == []


def test_nothing_is_readable_while_a_transaction_is_open_nor_after_sigkill(
    hermetic: Path, home: Path, temporary: Path
) -> None:
    lines = planted(exchanges=3)
    noise = random.Random(3)
    for number in range(400):  # more than the page cache holds, so that pages spill to the log
        words = "".join(noise.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=60_000))
        lines.append(story.prompt(story.native(1), PATH, 100 + number, f"{SENTENCE} {words}"))
    story.write(hermetic / ".claude/projects/-z" / f"{story.native(1)}.jsonl", lines)
    process = subprocess.Popen(
        [sys.executable, str(story.CHILD), "held", "30", "ingest", "--jobs", "1"],
        env=story.environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == b"open\n"
        log = home / "store" / "waypost.db-wal"
        assert log.stat().st_size > 0
        assert readable(home, temporary) == []
        assert modes(home) == {}
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert readable(home, temporary) == []
    story.ingest(home)
    assert SENTENCE.encode() in story.everything(home)
    assert readable(home, temporary) == []


def test_nothing_is_readable_when_a_rotation_is_killed(hermetic: Path, home: Path, temporary: Path) -> None:
    story.write(hermetic / ".claude/projects/-z" / f"{story.native(1)}.jsonl", planted(exchanges=300))
    story.ingest(home)
    for wait_s in (0.25, 0.3, 0.35):
        process = story.start("key", "rotate", home=home)
        time.sleep(wait_s)
        story.ended(process)
        assert readable(home, temporary) == []
    assert story.rows(home)["turn"] == 1200


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_files_are_0600_and_folders_0700_under_any_umask(hermetic: Path, home: Path, umask: int) -> None:
    story.write(hermetic / ".claude/projects/-z" / f"{story.native(1)}.jsonl", planted())
    story.write(hermetic / ".claude/projects/-z" / f"{story.native(2)}.jsonl", planted(2, exchanges=5))
    before = os.umask(umask)
    try:
        story.asked(home, "ingest", "--jobs", "2")
        watcher = story.opened(home)
        watcher.execute("BEGIN IMMEDIATE; INSERT INTO meta VALUES ('probe', 1)")
        assert modes(home) == {}
        watcher.execute("ROLLBACK")
        watcher.close()
        story.asked(home, "key", "rotate")
        story.asked(home, "forget", "--session", story.claude_key(2))
        code = story.asked(home, "key", "export")["recovery_code"]
        (home / "waypost.key").unlink()
        restored = subprocess.run(
            [sys.executable, str(story.CHILD), "run", "key", "restore"],
            env=story.environment(home),
            input=code + "\n",
            text=True,
            capture_output=True,
            check=False,
        )
        assert restored.returncode == 0, restored.stderr
    finally:
        os.umask(before)
    assert modes(home) == {}
    assert len(list(home.rglob("*"))) >= 4


def test_a_home_that_others_may_enter_is_closed(hermetic: Path, home: Path) -> None:
    home.mkdir(mode=0o755)
    (home / "store").mkdir(mode=0o755)
    story.write(hermetic / ".claude/projects/-z" / f"{story.native(1)}.jsonl", planted())
    story.ingest(home)
    assert modes(home) == {}


def test_pages_of_two_stores_with_the_same_words_have_nothing_in_common(hermetic: Path) -> None:
    story.write(hermetic / ".claude/projects/-z" / f"{story.native(1)}.jsonl", planted(exchanges=5))
    pages: list[set[bytes]] = []
    for name in ("one", "two"):
        story.ingest(hermetic / name)
        data = database.store_path(hermetic / name).read_bytes()
        assert not data.startswith(b"SQLite format 3")
        pages.append({data[at : at + 32] for at in range(0, len(data), 32)})
    assert len(pages[0]) > 500
    assert not {one for one in pages[0] & pages[1] if len(set(one)) > 2}
