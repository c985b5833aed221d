"""Stores of every schema ever written open with this program and say what they said."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import story

from waypost.machine.store import database

STORES = story.CHECKOUT / "tests" / "corpus" / "stores"
KEPT = sorted(STORES.glob("schema-*"))
TRUTH = json.loads((story.SAMPLE / "TRUTH.json").read_text())


@pytest.fixture(params=KEPT, ids=lambda path: path.name)
def home(request: pytest.FixtureRequest, hermetic: Path) -> Path:
    """A copy of a kept store."""
    home = hermetic / "waypost"
    (home / "store").mkdir(parents=True, mode=0o700)
    shutil.copy(request.param / "waypost.db", home / "store" / "waypost.db")
    shutil.copy(request.param / "waypost.key", home / "waypost.key")
    (home / "waypost.key").chmod(0o600)
    (home / "store" / "waypost.db").chmod(0o600)
    return home


def test_every_schema_has_a_kept_store() -> None:
    assert [path.name for path in KEPT] == [f"schema-{one}" for one in range(1, database.SCHEMA + 1)]
    assert all((path / "waypost.db").stat().st_size < 700_000 for path in KEPT)


def layout(home: Path) -> list[tuple[object, ...]]:
    store = story.opened(home)
    try:
        found: list[tuple[object, ...]] = store.execute(
            "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"
        ).fetchall()
        return found
    finally:
        store.close()


def test_a_kept_store_ends_with_the_layout_of_a_new_one(home: Path, hermetic: Path) -> None:
    # When this fails on the newest schema a released migration was edited; before a release, make it anew.
    new = hermetic / "new"
    story.write(hermetic / ".claude/projects/-one" / f"{story.native(1)}.jsonl", story.claude(1))
    story.ingest(new)
    assert layout(home) == layout(new)


def test_a_kept_store_says_what_was_billed(home: Path) -> None:
    found = story.sessions(home)
    assert sorted(found) == sorted(TRUTH["sessions"])
    for native, truth in TRUTH["sessions"].items():
        one = found[native]
        tokens = {name: one["tokens"][name] for name in truth["tokens"]}
        assert tokens == truth["tokens"], native
        assert one["harness"] == truth["harness"].replace("-", "_")
        assert one["commands"] == truth["commands"]["run"]
        assert one["prompts"] == truth["prompts"]["human"]
    total = story.asked(home, "costs", "--utc")["total"]["tokens"]
    assert {name: total[name] for name in TRUTH["tokens"]} == TRUTH["tokens"]


def test_a_kept_store_can_be_read_searched_and_written(home: Path, hermetic: Path) -> None:
    hits = story.asked(home, "search", "idempotency")["hits"]
    assert hits and all("idempotency" in hit["snippet"].lower() for hit in hits)
    assert story.asked(home, "doctor", "--deep")["checks"][2]["state"] == "ok"
    for native, one in story.sessions(home).items():
        assert len(story.turns(home, one["session"])) == one["turns"], native
    story.write(hermetic / ".claude/projects/-one" / f"{story.native(1)}.jsonl", story.claude(1))
    assert story.ingest(home)["turns"] == 8
    assert len(story.sessions(home)) == len(TRUTH["sessions"]) + 1


def test_a_kept_store_shows_what_the_sample_shows_when_read_anew(home: Path, hermetic: Path) -> None:
    anew = hermetic / "anew"
    story.ingest(anew, "--claude", str(story.SAMPLE / "claude"), "--codex", str(story.SAMPLE / "codex"))
    old, new = story.sessions(home), story.sessions(anew)
    for native, one in new.items():
        for name in ("tokens", "shared_tokens", "turns", "commands", "failed_commands", "prompts", "title"):
            assert old[native][name] == one[name], (native, name)
