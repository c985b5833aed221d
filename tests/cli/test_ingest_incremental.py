"""What happens to a transcript between two passes: grown, torn, cut, replaced, moved, compressed, gone."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import sys
from pathlib import Path

import pytest
import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import story

CLAUDE = ".claude/projects/-home-sam-one"
CODEX = ".codex/sessions/2026/11/30"
KEY = story.claude_key(1)


@pytest.fixture
def home(hermetic: Path) -> Path:
    return hermetic / "waypost"


@pytest.fixture
def file(hermetic: Path) -> Path:
    return story.write(hermetic / CLAUDE / f"{story.native(1)}.jsonl", story.claude(1))


@pytest.fixture
def rollout(hermetic: Path) -> Path:
    name = f"rollout-2026-11-30T10-00-00-{story.native(2)}.jsonl"
    return story.write(hermetic / CODEX / name, story.codex(2))


def nothing(home: Path) -> bool:
    """Whether a pass finds nothing to do."""
    report = story.ingest(home)
    return not (report["files_changed"] or report["bytes_read"] or report["records_read"])


def fresh(home: Path, words: tuple[str, ...] = ("plain",)) -> None:
    """The store looks like one that reads everything for the first time."""
    now, anew = story.picture(home, words=words), home.parent / "anew"
    assert now == story.picture(anew, words=words, first=("ingest",))
    shutil.rmtree(anew)


def test_a_pass_over_unchanged_files_reads_and_writes_nothing(home: Path, file: Path, rollout: Path) -> None:
    first = story.ingest(home)
    assert (first["files_changed"], first["turns"], first["sessions"]) == (2, 12, 2)
    content = story.content_hash(home)
    watcher = story.opened(home)
    version = watcher.execute("PRAGMA data_version").get
    log = home / "store" / "waypost.db-wal"
    before = (log.stat().st_size, (home / "store" / "waypost.db").read_bytes(), log.read_bytes())
    second = story.ingest(home)
    assert second["files_seen"] == 2
    assert (second["files_changed"], second["bytes_read"], second["records_read"]) == (0, 0, 0)
    assert watcher.execute("PRAGMA data_version").get == version
    assert before == (log.stat().st_size, (home / "store" / "waypost.db").read_bytes(), log.read_bytes())
    watcher.close()
    assert story.content_hash(home) == content


def test_appended_lines_are_read_once_and_alone(home: Path, file: Path, rollout: Path) -> None:
    story.ingest(home)
    more = story.claude(1, exchanges=3)[8:]
    story.append(file, more)
    report = story.ingest(home)
    assert (report["files_changed"], report["turns"], report["records_read"]) == (1, 4, 4)
    assert report["bytes_read"] == len(story.text_of(more))
    story.append(rollout, story.codex(2, exchanges=3)[11:])
    assert story.ingest(home)["turns"] == 2
    fresh(home)


def test_a_torn_last_line_waits_for_its_rest_and_becomes_one_turn(home: Path, file: Path) -> None:
    line = story.text_of(story.claude(1, exchanges=3)[8:9], end="")
    story.append(file, [line[:60]], end="")
    assert story.ingest(home)["turns"] == 8
    assert story.ingest(home)["turns"] == 0
    story.append(file, [line[60:]], end="")
    assert story.ingest(home)["turns"] == 1
    story.append(file, [""])
    assert story.ingest(home)["turns"] == 0
    assert len(story.turns(home, KEY)) == 9
    fresh(home)


def test_a_whole_last_line_counts_without_its_line_end(home: Path, file: Path) -> None:
    lines = story.claude(1, exchanges=3)[8:]
    story.append(file, lines[:1], end="")
    report = story.ingest(home)
    assert (report["turns"], report["malformed_records"]) == (9, 0)
    assert nothing(home)
    with file.open("a") as out:
        out.write("\n" + story.text_of(lines[1:]))
    assert story.ingest(home)["turns"] == 3
    fresh(home)


def test_a_file_cut_short_keeps_what_was_read_and_marks_it_stale(home: Path, file: Path) -> None:
    story.ingest(home)
    story.write(file, story.claude(1)[:4])
    story.ingest(home)
    stale = [one["source"]["stale"] for one in story.turns(home, KEY)]
    assert (stale.count(False), stale.count(True)) == (4, 4)
    assert story.sessions(home)[story.native(1)]["turns"] == 8
    assert nothing(home)
    story.append(file, story.claude(1, exchanges=2, word="other")[4:])
    assert story.ingest(home)["turns"] == 4
    assert len(story.turns(home, KEY)) == 12


@pytest.mark.parametrize("exchanges", [1, 2, 4], ids=["shorter", "equal", "longer"])
def test_a_file_replaced_under_its_name_makes_old_citations_stale_without_duplicates(
    home: Path, file: Path, exchanges: int
) -> None:
    story.ingest(home)
    before = story.turns(home, KEY)
    other = story.claude(1, exchanges=exchanges, word="other")
    file.unlink()
    story.write(file, other)
    report = story.ingest(home)
    assert report["turns"] == 4 * exchanges
    now = story.turns(home, KEY)
    stale = [one for one in now if one["source"]["stale"]]
    live = [one for one in now if not one["source"]["stale"]]
    assert len(live) == 4 * exchanges
    assert [one["text"] for one in stale] == [one["text"] for one in before]
    assert all("other" in one["text"] for one in live if one["text"])
    assert nothing(home)
    # Responses keep their ids, so none of them is counted twice.
    total = story.sessions(home)[story.native(1)]["tokens"]["output"]
    assert total == 7 * 2 * max(2, exchanges)


def test_other_content_of_the_same_size_is_noticed(home: Path, file: Path) -> None:
    story.ingest(home)
    size = file.stat().st_size
    file.write_text(file.read_text().replace("plain", "other"))
    os.utime(file, (1, 1))
    assert file.stat().st_size == size
    assert story.ingest(home)["turns"] == 8
    assert sorted({one["source"]["stale"] for one in story.turns(home, KEY)}) == [False, True]
    assert nothing(home)


def test_the_same_content_under_a_new_time_is_not_read_again(home: Path, file: Path) -> None:
    story.ingest(home)
    os.utime(file, (5, 5))
    report = story.ingest(home)
    assert (report["records_read"], report["turns"]) == (0, 0)
    assert nothing(home)
    fresh(home)


def test_a_file_moved_by_rename_goes_on_where_it_was(home: Path, file: Path, hermetic: Path) -> None:
    story.ingest(home)
    place = hermetic / ".claude/projects/-home-sam-two" / "renamed.jsonl"
    place.parent.mkdir()
    file.rename(place)
    story.append(place, story.claude(1, exchanges=3)[8:])
    report = story.ingest(home)
    assert (report["turns"], report["records_read"]) == (4, 4)
    found = story.turns(home, KEY)
    assert len(found) == 12
    assert {one["source"]["file"] for one in found} == {str(place)}
    assert not any(one["source"]["stale"] for one in found)
    assert nothing(home)


def test_a_file_moved_by_copy_and_deletion_goes_on_where_it_was(
    home: Path, file: Path, hermetic: Path
) -> None:
    story.ingest(home)
    place = hermetic / ".claude/projects/-home-sam-two" / file.name
    place.parent.mkdir()
    shutil.copy(file, place)
    file.unlink()
    assert story.ingest(home)["records_read"] == 0
    assert len(story.turns(home, KEY)) == 8
    assert nothing(home)
    fresh(home)


def test_an_archived_rollout_is_not_read_again(home: Path, rollout: Path, hermetic: Path) -> None:
    story.ingest(home)
    place = hermetic / ".codex" / "archived_sessions" / rollout.name
    place.parent.mkdir()
    rollout.rename(place)
    assert story.ingest(home)["records_read"] == 0
    assert {one["source"]["file"] for one in story.turns(home, story.codex_key(2))} == {str(place)}
    assert nothing(home)
    fresh(home)


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
def test_a_compressed_file_in_place_of_the_plain_one_goes_on_where_it_was(
    home: Path, rollout: Path, suffix: str
) -> None:
    story.ingest(home)
    more = story.codex(2, exchanges=3)
    pack = zstandard.ZstdCompressor().compress if suffix == ".zst" else gzip.compress
    place = rollout.with_name(rollout.name + suffix)
    place.write_bytes(pack(story.text_of(more).encode()))
    rollout.unlink()
    report = story.ingest(home)
    assert (report["turns"], report["records_read"]) == (2, 5)
    assert nothing(home)
    assert len(story.turns(home, story.codex_key(2))) == 6


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
def test_a_file_that_lies_there_plain_and_compressed_is_read_once(
    home: Path, rollout: Path, suffix: str
) -> None:
    pack = zstandard.ZstdCompressor().compress if suffix == ".zst" else gzip.compress
    rollout.with_name(rollout.name + suffix).write_bytes(pack(rollout.read_bytes()))
    assert story.ingest(home)["turns"] == 4
    assert nothing(home)
    assert len(story.turns(home, story.codex_key(2))) == 4


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
def test_a_damaged_compressed_file_is_named_and_the_others_are_read(
    home: Path, file: Path, rollout: Path, suffix: str
) -> None:
    pack = zstandard.ZstdCompressor().compress if suffix == ".zst" else gzip.compress
    data = bytearray(pack(rollout.read_bytes()))
    if suffix == ".zst":
        data[:8] = b"\0" * 8  # a frame that merely ends early is a file still being written
    else:
        data[len(data) // 2 :] = b"\0" * 40
    place = rollout.with_name(rollout.name + suffix)
    place.write_bytes(data)
    rollout.unlink()
    report = story.ingest(home)
    assert [one.split(":")[0] for one in report["unreadable_files"]] == [str(place)]
    assert report["turns"] >= 8
    assert story.native(1) in story.sessions(home)


def test_two_copies_of_a_rollout_count_once(home: Path, rollout: Path, hermetic: Path) -> None:
    story.ingest(home)
    one = story.sessions(home)[story.native(2)]
    copy = hermetic / ".codex" / "sessions" / "2026" / "11" / "29" / rollout.name
    copy.parent.mkdir()
    shutil.copy(rollout, copy)
    story.ingest(home)
    two = story.sessions(home)[story.native(2)]
    assert (two["tokens"], two["cost"], two["prompts"]) == (one["tokens"], one["cost"], one["prompts"])
    assert two["turns"] - two["shared_turns"] == one["turns"] or two["turns"] == one["turns"]
    assert nothing(home)


def test_a_file_that_vanishes_leaves_its_session_in_the_store(home: Path, file: Path, rollout: Path) -> None:
    story.ingest(home)
    file.unlink()
    assert nothing(home)
    assert len(story.turns(home, KEY)) == 8


def test_links_fifos_and_folders_named_like_transcripts_are_passed_over(
    home: Path, file: Path, hermetic: Path
) -> None:
    outside = hermetic / "outside"
    story.write(outside / f"{story.native(8)}.jsonl", story.claude(8))
    projects = file.parent
    (projects / f"{story.native(8)}.jsonl").symlink_to(outside / f"{story.native(8)}.jsonl")
    (projects.parent / "-linked").symlink_to(outside)
    (projects / "folder.jsonl").mkdir()
    (projects / "loop").symlink_to(projects.parent)
    os.mkfifo(projects / "pipe.jsonl")
    (projects / "null.jsonl").symlink_to("/dev/zero")
    if os.getuid() == 0:
        with contextlib.suppress(PermissionError):
            os.mknod(projects / "device.jsonl", 0o20600, os.makedev(1, 5))
    report = story.ingest(home)
    assert (report["files_seen"], report["sessions"], report["unreadable_files"]) == (1, 1, [])
    assert list(story.sessions(home)) == [story.native(1)]


def test_a_transcript_folder_that_is_itself_a_link_is_read_as_its_owner_laid_it_out(
    home: Path, file: Path, hermetic: Path
) -> None:
    (hermetic / ".claude").rename(hermetic / "dotfiles")
    (hermetic / ".claude").symlink_to(hermetic / "dotfiles")
    assert story.ingest(home)["sessions"] == 1


def test_a_file_that_may_not_be_read_is_named_and_the_others_are_read(
    home: Path, file: Path, rollout: Path
) -> None:
    file.chmod(0)
    done = story.child("powerless", "ingest", home=home)
    if done.returncode == 77:
        pytest.skip("this user cannot give up its power over file permissions")
    data = story.json.loads(done.stdout)["data"]
    assert [one.split(":")[0] for one in data["unreadable_files"]] == [str(file)]
    assert data["sessions"] == 1
    file.chmod(0o600)
    assert story.ingest(home)["turns"] == 8


def test_two_names_of_one_file_are_read_once(home: Path, file: Path) -> None:
    os.link(file, file.with_name("second.jsonl"))
    report = story.ingest(home)
    assert (report["files_seen"], report["turns"]) == (1, 8)
    assert nothing(home)


def test_an_empty_file_and_blank_lines_are_nothing(home: Path, file: Path) -> None:
    story.write(file.with_name("empty.jsonl"), [])
    story.append(file, ["", "\r", ""])
    report = story.ingest(home)
    assert (report["turns"], report["malformed_records"]) == (8, 0)
    assert nothing(home)
