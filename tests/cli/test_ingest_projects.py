"""Which project a session belongs to, with real repositories, and projects that want no record."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import story

SSH = "git@github.com:Acme/Demo.git"
HTTPS = "https://user:token@github.com/acme/demo"


@pytest.fixture
def home(hermetic: Path) -> Path:
    return hermetic / "waypost"


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def repository(folder: Path, remote: str | None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def claude(hermetic: Path, number: int, cwd: Path | str) -> Path:
    path = hermetic / ".claude/projects/-any" / f"{story.native(number)}.jsonl"
    return story.write(path, story.claude(number, str(cwd), exchanges=1))


def codex(hermetic: Path, number: int, cwd: Path | str, remote: str | None = None) -> Path:
    name = f"rollout-2026-11-30T10-00-00-{story.native(number)}.jsonl"
    lines = story.codex(number, str(cwd), exchanges=1, remote=remote)
    return story.write(hermetic / ".codex/sessions/2026/11/30" / name, lines)


def projects(home: Path) -> dict[int, str]:
    """The project of every session, by the session's number."""
    return {int(native[-12:]): one["project_key"] for native, one in story.sessions(home).items()}


def test_worktree_subfolder_ssh_and_https_are_one_project(hermetic: Path, home: Path) -> None:
    main = repository(hermetic / "main", SSH)
    git(main, "worktree", "add", "-q", str(hermetic / "tree"))
    (main / "src" / "deep").mkdir(parents=True)
    other = repository(hermetic / "elsewhere" / "clone", HTTPS)
    stranger = repository(hermetic / "stranger", "https://github.com/acme/other")
    for number, cwd in enumerate((main, hermetic / "tree", main / "src" / "deep", other), start=1):
        claude(hermetic, number, cwd)
    claude(hermetic, 5, stranger)
    codex(hermetic, 6, main)
    codex(hermetic, 7, "/gone/away", remote="ssh://git@github.com:22/acme/demo.git")
    story.ingest(home)
    found = projects(home)
    assert len({found[number] for number in (1, 2, 3, 4, 6, 7)}) == 1
    assert found[5] != found[1]
    one = story.sessions(home)[story.native(4)]
    assert (one["project"], one["remote"]) == ("acme/demo", "github.com/acme/demo")
    assert "token" not in json.dumps(one["remote"])
    for name in ("acme/demo", str(main), str(other), found[1]):
        listed = story.asked(home, "sessions", "--project", name)["sessions"]
        assert len(listed) == 6, name


def test_a_repository_without_remote_is_its_main_working_tree(hermetic: Path, home: Path) -> None:
    main = repository(hermetic / "main", None)
    git(main, "worktree", "add", "-q", str(hermetic / "tree"))
    (main / "src").mkdir()
    for number, cwd in enumerate((main, hermetic / "tree", main / "src", hermetic), start=1):
        claude(hermetic, number, cwd)
    story.ingest(home)
    found = projects(home)
    assert found[1] == found[2] == found[3] != found[4]


@pytest.mark.parametrize("first", ["claude", "codex"])
def test_a_stated_repository_joins_a_folder_known_only_by_path(
    hermetic: Path, home: Path, first: str
) -> None:
    steps = [lambda: claude(hermetic, 1, "/gone/work"), lambda: codex(hermetic, 2, "/gone/work", remote=SSH)]
    for step in steps if first == "claude" else reversed(steps):
        step()
        story.ingest(home)
    found = projects(home)
    assert found[1] == found[2]
    assert story.sessions(home)[story.native(1)]["remote"] == "github.com/acme/demo"
    assert story.rows(home)["project"] == 1
    claude(hermetic, 3, "/gone/work")
    story.ingest(home)
    assert projects(home)[3] == found[1]


@pytest.mark.parametrize(
    "text",
    ["capture = false\n", "[privacy]\ncapture = false\n", "capture = true\n[privacy]\ncapture = false\n"],
)
def test_a_project_that_opted_out_is_not_in_the_store(hermetic: Path, home: Path, text: str) -> None:
    main = repository(hermetic / "main", SSH)
    (main / "waypost.toml").write_text(text)
    (main / "src").mkdir()
    claude(hermetic, 1, main)
    codex(hermetic, 2, main / "src")
    claude(hermetic, 3, hermetic / "open")
    report = story.ingest(home)
    assert report["problems"] == []
    assert list(story.sessions(home)) == [story.native(3)]
    assert b"session 1" not in story.everything(home)
    assert b"rollout 2" not in story.everything(home)
    for file in (claude(hermetic, 1, main), codex(hermetic, 2, main / "src")):
        story.append(file, ["", ""])
        file.write_text(file.read_text() + file.read_text())
    story.ingest(home)
    assert list(story.sessions(home)) == [story.native(3)]


@pytest.mark.parametrize("lines", ["title", "queue"])
def test_later_lines_without_a_folder_do_not_undo_the_choice(hermetic: Path, home: Path, lines: str) -> None:
    main = repository(hermetic / "main", SSH)
    (main / "waypost.toml").write_text("capture = false\n")
    file = claude(hermetic, 1, main)
    story.ingest(home)
    session = story.native(1)
    more: dict[str, list[story.Line | str]] = {
        "title": [{"type": "custom-title", "customTitle": "my secret plan", "sessionId": session}],
        "queue": [
            {"type": "queue-operation", "operation": "enqueue", "content": "my secret plan",
             "sessionId": session, "timestamp": story.stamp(9)},
            {"type": "queue-operation", "operation": "remove", "sessionId": session,
             "timestamp": story.stamp(10)},
        ],
    }  # fmt: skip
    story.append(file, more[lines])
    story.ingest(home)
    assert story.sessions(home) == {}
    assert b"secret plan" not in story.everything(home)


@pytest.mark.parametrize(
    "text", ["capture = \n", "[privacy\n", "captrue = false\n", 'capture = "no"\n', "[privacy]\nkeep = 1\n"]
)
def test_a_choice_that_cannot_be_read_counts_as_no_and_is_named(
    hermetic: Path, home: Path, text: str
) -> None:
    main = repository(hermetic / "main", SSH)
    (main / "waypost.toml").write_text(text)
    claude(hermetic, 1, main)
    claude(hermetic, 2, hermetic / "open")
    report = story.ingest(home)
    assert list(story.sessions(home)) == [story.native(2)]
    assert len(report["problems"]) == 1
    assert str(main / "waypost.toml") in report["problems"][0]


def test_capture_true_changes_nothing(hermetic: Path, home: Path) -> None:
    main = repository(hermetic / "main", SSH)
    (main / "waypost.toml").write_text("[privacy]\ncapture = true\n")
    claude(hermetic, 1, main)
    story.ingest(home)
    assert list(story.sessions(home)) == [story.native(1)]
