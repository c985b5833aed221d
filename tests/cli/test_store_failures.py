"""A store that cannot be opened is named by what is wrong with it, and left exactly as it was."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import story

from waypost.machine.store import database


@pytest.fixture
def home(hermetic: Path) -> Path:
    """A home with a store of some hundred pages."""
    story.write(
        hermetic / ".claude/projects/-one" / f"{story.native(1)}.jsonl", story.claude(1, exchanges=400)
    )
    home = hermetic / "waypost"
    story.ingest(home)
    return home


def failure(home: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Run a command that must fail with one record on standard error and nothing beside it."""
    done = story.child("run", *words, home=home)
    assert done.returncode != 0, done.stdout
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    record = json.loads(lines[0])
    assert (record["status"], record["command"]) == ("error", words[0])
    assert record["error"]["message"] and "Traceback" not in done.stderr
    return done.returncode, record["error"]


def wrong_key(home: Path) -> None:
    (home / "waypost.key").write_text("ab" * 32 + "\n")


def missing_key(home: Path) -> None:
    (home / "waypost.key").unlink()


def loose_key(home: Path) -> None:
    (home / "waypost.key").chmod(0o644)


def linked_key(home: Path) -> None:
    (home / "waypost.key").rename(home / "elsewhere")
    (home / "waypost.key").symlink_to(home / "elsewhere")


def garbage_key(home: Path) -> None:
    (home / "waypost.key").write_bytes(b"\xff\x00 not a key")


def empty_key(home: Path) -> None:
    (home / "waypost.key").write_bytes(b"")


def short_key(home: Path) -> None:
    (home / "waypost.key").write_text("ab" * 31 + "\n")


def plain_sqlite(home: Path) -> None:
    path = database.store_path(home)
    for one in path.parent.glob("waypost.db*"):
        one.unlink()
    with sqlite3.connect(path) as plain:
        plain.execute("CREATE TABLE mine (value)")
        plain.execute("INSERT INTO mine VALUES ('kept')")
    plain.close()
    path.chmod(0o600)


def newer_schema(home: Path) -> None:
    store = story.opened(home)
    store.execute(f"PRAGMA user_version={database.SCHEMA + 1}")
    store.close()


CASES: dict[Callable[[Path], None], tuple[str, int]] = {
    wrong_key: ("key_wrong", 3),
    missing_key: ("key_missing", 3),
    loose_key: ("key_permissions", 3),
    linked_key: ("key_permissions", 3),
    garbage_key: ("key_wrong", 3),
    empty_key: ("key_wrong", 3),
    short_key: ("key_wrong", 3),
    plain_sqlite: ("store_unencrypted", 3),
    newer_schema: ("store_newer", 3),
}


@pytest.mark.parametrize("spoil", CASES, ids=lambda one: one.__name__)
def test_a_store_that_cannot_be_opened_is_refused_and_left_alone(
    home: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(home)
    before = story.hashes(home)
    code, status = CASES[spoil]
    for words in (("sessions",), ("ingest",), ("search", "plain"), ("forget", "--older-than", "1d")):
        found, error = failure(home, *words)
        assert (error["code"], found) == (code, status), error
        assert error["hint"]
    for words in (("key", "rotate"), ("key", "export")):
        found, error = failure(home, *words)
        assert (error["code"], found) in ((code, status), ("key_missing", 4)), error
    assert {name: value for name, value in story.hashes(home).items() if name != "ingest.lock"} == {
        name: value for name, value in before.items() if name != "ingest.lock"
    }


def test_doctor_names_what_is_wrong_instead_of_failing(home: Path) -> None:
    wrong_key(home)
    data = story.asked(home, "doctor")
    assert data["state"] == "broken"
    assert [one["name"] for one in data["checks"] if one["state"] == "broken"] == ["store"]


def damaged(home: Path, change: Callable[[bytearray], None]) -> dict[str, str]:
    """Change the bytes of a store at rest and return the hashes of its files."""
    path = database.store_path(home)
    store = story.opened(home)
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    assert (
        not path.with_name("waypost.db-wal").exists() or not path.with_name("waypost.db-wal").stat().st_size
    )
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    return {
        name: value for name, value in story.hashes(home).items() if name.endswith(("waypost.db", ".key"))
    }


def test_a_flipped_bit_anywhere_is_found_out_and_never_read_as_truth(home: Path, tmp_path: Path) -> None:
    pages = database.store_path(home).stat().st_size // database.PAGE_BYTES
    assert pages > 20
    for page in range(1, pages, max(1, pages // 6)):
        copy = tmp_path / f"page-{page}"
        shutil.copytree(home, copy)

        def flip(data: bytearray, page: int = page) -> None:
            data[page * database.PAGE_BYTES + 5000] ^= 4

        before = damaged(copy, flip)
        checks = story.asked(copy, "doctor", "--deep")["checks"]
        assert [one["name"] for one in checks if one["state"] == "broken"] == ["store"], page
        after = {name: value for name, value in story.hashes(copy).items() if name in before}
        assert after == before
        shutil.rmtree(copy)


def test_a_reading_command_that_meets_a_damaged_page_says_so(home: Path) -> None:
    def flip(data: bytearray) -> None:
        for page in range(6, len(data) // database.PAGE_BYTES):
            data[page * database.PAGE_BYTES + 5000] ^= 4

    damaged(home, flip)
    status, error = failure(home, "session", story.claude_key(1), "--turns", "--limit", "500")
    assert (error["code"], status) == ("store_damaged", 10)


def test_a_flipped_bit_on_the_first_page_does_not_open(home: Path) -> None:
    def flip(data: bytearray) -> None:
        data[3000] ^= 1

    before = damaged(home, flip)
    status, error = failure(home, "sessions")
    assert (error["code"], status) in (("key_wrong", 3), ("store_damaged", 10))
    assert before.items() <= story.hashes(home).items()


@pytest.mark.parametrize("part", [0.5, 0.98])
def test_a_store_cut_short_is_named_damaged_and_kept(home: Path, part: float) -> None:
    def cut(data: bytearray) -> None:
        del data[int(len(data) * part) // database.PAGE_BYTES * database.PAGE_BYTES :]

    before = damaged(home, cut)
    done = story.child("run", "doctor", "--deep", home=home)
    assert json.loads(done.stdout)["data"]["state"] == "broken"
    status, error = failure(home, "forget", "--session", story.claude_key(1))
    assert (error["code"], status) == ("store_damaged", 10)
    assert before.items() <= story.hashes(home).items()


def test_a_store_cut_inside_a_page_is_named_and_kept(home: Path) -> None:
    def cut(data: bytearray) -> None:
        del data[database.PAGE_BYTES + 77 :]

    before = damaged(home, cut)
    status, error = failure(home, "sessions")
    assert (error["code"], status) in (("store_damaged", 10), ("key_wrong", 3))
    assert before.items() <= story.hashes(home).items()


def test_garbage_in_place_of_the_store_is_not_overwritten(home: Path) -> None:
    path = database.store_path(home)
    for one in path.parent.glob("waypost.db*"):
        one.unlink()
    path.write_bytes(b"this is somebody's letter, not a database\n" * 1000)
    before = path.read_bytes()
    status, error = failure(home, "ingest")
    assert (error["code"], status) in (("key_wrong", 3), ("store_damaged", 10))
    assert path.read_bytes() == before


def test_reading_commands_make_no_home_and_no_key(hermetic: Path) -> None:
    home = hermetic / "never"
    for words in (("sessions",), ("costs",), ("search", "plain"), ("doctor",), ("key",)):
        story.asked(home, *words)
    assert not home.exists()


def test_a_home_that_is_a_file_is_named(hermetic: Path) -> None:
    home = hermetic / "file"
    home.write_text("mine")
    status, error = failure(home, "ingest")
    assert (error["code"], status) == ("home_unusable", 10)
    assert home.read_text() == "mine"


def test_two_processes_that_make_the_store_at_once_make_one(hermetic: Path) -> None:
    story.write(hermetic / ".claude/projects/-one" / f"{story.native(1)}.jsonl", story.claude(1))
    home = hermetic / "waypost"
    started = [story.start("ingest", "--json", home=home) for _ in range(4)]
    answers = [process.communicate() for process in started]
    codes = sorted(process.returncode for process in started)
    assert codes[0] == 0
    for process, (_, err) in zip(started, answers, strict=True):
        if process.returncode != 0:
            assert (process.returncode, json.loads(err)["error"]["code"]) == (10, "ingest_busy")
    story.ingest(home)
    assert story.rows(home)["turn"] == 8


def test_the_error_is_readable_on_request(home: Path) -> None:
    wrong_key(home)
    done = subprocess.run(
        [str(Path(sys.executable).parent / "waypost"), "sessions", "--text"],
        env=story.environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("waypost sessions: ")
    assert "→" in done.stderr
