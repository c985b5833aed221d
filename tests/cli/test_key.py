"""The key: where it is, written down and put back, changed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import story

from waypost.errors import WaypostError
from waypost.machine import keys
from waypost.machine.store import database


@pytest.fixture
def home(hermetic: Path) -> Path:
    story.write(hermetic / ".claude/projects/-one" / f"{story.native(1)}.jsonl", story.claude(1))
    story.ingest(hermetic / "waypost")
    return hermetic / "waypost"


def test_show_names_the_place_and_never_the_key(waypost, home: Path) -> None:  # type: ignore[no-untyped-def]
    shown = waypost("key", "--json")
    assert shown.data["path"] == str(home / "waypost.key")
    assert (shown.data["exists"], shown.data["mode"], shown.data["holder"]) == (True, "0600", "file")
    assert story.key_of(home).hex() not in shown.out


def test_a_recovery_code_puts_a_lost_key_back(waypost, home: Path) -> None:  # type: ignore[no-untyped-def]
    before = story.key_of(home)
    code = waypost("key", "export", "--json").data["recovery_code"]
    (home / "waypost.key").unlink()
    assert waypost("sessions", "--json").error["code"] == "key_missing"
    untidy = code[:14].upper() + code[14:].replace("1", "l").replace("0", "O")
    for text in (untidy, f"  {code}  ", code.replace("-", " ").replace("waypost key 1 ", "waypost-key-1-")):
        (home / "waypost.key").unlink(missing_ok=True)
        assert waypost("key", "restore", "--json", stdin=text + "\n").data["mode"] == "0600"
        assert story.key_of(home) == before
    assert len(story.turns(home, story.claude_key(1))) == 8


def test_every_single_slip_of_the_pen_is_noticed(home: Path) -> None:
    code = keys.recovery_code(story.key_of(home))
    letters = "0123456789abcdefghjkmnpqrstvwxyz"
    start = len("waypost-key-1-")
    tried = 0
    for at in range(start, len(code)):
        if code[at] == "-":
            continue
        for letter in letters[::7]:
            slip = code[:at] + letter + code[at + 1 :]
            if slip != code:
                tried += 1
                with pytest.raises(WaypostError) as caught:
                    keys.from_recovery_code(slip)
                assert caught.value.code == "bad_recovery_code"
    for at in range(start, len(code) - 1):
        swapped = code[:at] + code[at + 1] + code[at] + code[at + 2 :]
        if swapped.replace("-", "") != code.replace("-", ""):
            with pytest.raises(WaypostError):
                keys.from_recovery_code(swapped)
    assert tried > 200


@pytest.mark.parametrize("text", ["", "\n", "hello\n", "waypost-key-1-\n", "waypost-key-2-abcde\n", "é" * 50])
def test_what_is_no_recovery_code_is_a_usage_error_and_changes_nothing(  # type: ignore[no-untyped-def]
    waypost, home: Path, text: str
) -> None:
    before = story.hashes(home)
    ran = waypost("key", "restore", "--json", stdin=text)
    assert (ran.status, ran.error["code"]) == (2, "bad_recovery_code")
    assert story.hashes(home) == before


def test_a_code_of_another_store_is_refused_and_the_key_stays(waypost, home: Path) -> None:  # type: ignore[no-untyped-def]
    before = story.hashes(home)
    ran = waypost("key", "restore", "--json", stdin=keys.recovery_code(bytes(range(32))) + "\n")
    assert (ran.status, ran.error["code"]) == (3, "key_wrong")
    assert {name: one for name, one in story.hashes(home).items() if "db-" not in name} == {
        name: one for name, one in before.items() if "db-" not in name
    }


def test_rotation_changes_the_key_and_old_codes_open_no_more(waypost, home: Path) -> None:  # type: ignore[no-untyped-def]
    before = story.picture(home)
    old = story.key_of(home)
    code = waypost("key", "export", "--json").data["recovery_code"]
    pages = database.store_path(home).read_bytes()
    assert waypost("key", "rotate", "--json").data["action"] == "rotate"
    new = story.key_of(home)
    assert new != old
    assert database.store_path(home).read_bytes() != pages
    assert sorted(path.name for path in home.iterdir()) == ["ingest.lock", "store", "waypost.key"]
    with pytest.raises(WaypostError) as caught:
        database.check_key(database.store_path(home), old)
    assert caught.value.code == "key_wrong"
    ran = waypost("key", "restore", "--json", stdin=code + "\n")
    assert (ran.status, ran.error["code"]) == (3, "key_wrong")
    assert story.key_of(home) == new
    assert story.picture(home) == before
    story.asked(home, "key", "rotate")
    assert story.picture(home) == before


def test_a_key_is_not_rotated_while_transcripts_are_read(waypost, home: Path) -> None:  # type: ignore[no-untyped-def]
    from waypost.machine import files

    before = story.hashes(home)
    with files.exclusive_lock(home / "ingest.lock") as held:
        assert held
        ran = waypost("key", "rotate", "--json")
    assert (ran.status, ran.error["code"]) in ((3, "ingest_busy"), (10, "ingest_busy"))
    assert {name: one for name, one in story.hashes(home).items() if "db-" not in name} == {
        name: one for name, one in before.items() if "db-" not in name
    }


@pytest.mark.parametrize("action", ["rotate", "export"])
def test_without_a_key_there_is_nothing_to_do(waypost, action: str) -> None:  # type: ignore[no-untyped-def]
    ran = waypost("key", action, "--json")
    assert (ran.status, ran.error["code"]) == (3, "key_missing")
    assert ran.error["hint"]


def test_the_keyring_is_asked_only_on_request_and_its_absence_is_named(waypost, home: Path) -> None:  # type: ignore[no-untyped-def]
    before = story.key_of(home)
    ran = waypost("key", "keyring", "--json", env={"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"})
    assert (ran.status, ran.error["code"]) == (10, "keyring_unavailable")
    assert story.key_of(home) == before
    assert waypost("key", "file", "--json").data["holder"] == "file"
    assert story.key_of(home) == before
