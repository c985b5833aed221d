"""Private files, folders and locks: the hands on the file system."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from waypost.errors import MachineError
from waypost.machine import files


def test_a_private_file_is_old_or_new_and_never_open_to_others(tmp_path: Path) -> None:
    path = tmp_path / "private" / "key"
    path.parent.mkdir()
    files.write_private(path, b"old")
    seen: list[tuple[str, bytes, set[int]]] = []

    def hook(name: str) -> None:
        modes = {stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
        seen.append((name, path.read_bytes(), modes))

    before = os.umask(0)
    files.set_crash_hook(hook)
    try:
        files.write_private(path, b"new")
    finally:
        files.set_crash_hook(None)
        os.umask(before)
    assert [(name, data) for name, data, _ in seen] == [
        ("private.written", b"old"),
        ("private.synced", b"old"),
        ("private.renamed", b"new"),
    ]
    assert {mode for _, _, modes in seen for mode in modes} == {0o600}
    assert [one.name for one in path.parent.iterdir()] == ["key"]


def test_a_failed_private_write_leaves_the_old_content_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "private" / "key"
    path.parent.mkdir()
    files.write_private(path, b"old")

    def hook(name: str) -> None:
        if name == "private.written":
            raise OSError(28, "No space left on device")

    files.set_crash_hook(hook)
    try:
        with pytest.raises(OSError):
            files.write_private(path, b"new")
    finally:
        files.set_crash_hook(None)
    assert path.read_bytes() == b"old"
    assert [one.name for one in path.parent.iterdir()] == ["key"]


def test_a_lock_is_held_once_and_ends_with_its_holder(tmp_path: Path) -> None:
    with files.exclusive_lock(tmp_path / "lock") as first, files.exclusive_lock(tmp_path / "lock") as second:
        assert (first, second) == (True, False)
    with files.exclusive_lock(tmp_path / "lock") as third:
        assert third
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), files.exclusive_lock(tmp_path / "link"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_private_folder_is_tightened_and_a_file_in_its_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "loose").mkdir(mode=0o755)
    files.private_folder(tmp_path / "loose")
    assert stat.S_IMODE((tmp_path / "loose").stat().st_mode) == 0o700
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError) as caught:
        files.private_folder(tmp_path / "file" / "below")
    assert caught.value.code == "home_unusable"


def test_reading_text_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345\xff")
    assert files.read_text(tmp_path / "a", bytes_max=6) == "12345�"
    assert files.read_text(tmp_path / "a", bytes_max=5) is None
    assert files.read_text(tmp_path / "b", bytes_max=5) is None
