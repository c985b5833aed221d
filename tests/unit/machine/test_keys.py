"""The key file and the recovery code."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from waypost.errors import WaypostError
from waypost.machine import files, keys


def code_of(action: object) -> str:
    with pytest.raises(WaypostError) as caught:
        action()  # type: ignore[operator]
    return caught.value.code


def test_a_made_key_is_read_back_and_not_made_twice(tmp_path: Path) -> None:
    assert keys.load(tmp_path) is None
    key = keys.create(tmp_path)
    assert len(key) == keys.KEY_BYTES
    assert keys.load(tmp_path) == key
    assert (tmp_path / "waypost.key").stat().st_mode & 0o777 == 0o600
    assert code_of(lambda: keys.create(tmp_path)) == "key_exists"
    assert keys.load(tmp_path) == key


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o610, 0o601])
def test_a_key_that_others_may_read_is_refused_and_not_mended(tmp_path: Path, mode: int) -> None:
    keys.create(tmp_path)
    (tmp_path / "waypost.key").chmod(mode)
    assert code_of(lambda: keys.load(tmp_path)) == "key_permissions"
    assert (tmp_path / "waypost.key").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"zz" * 32, b"ab" * 31, b"ab" * 33, b"\xff" * 64, b"keyrings", b"\0" * 5000]
)
def test_what_is_no_key_is_refused(tmp_path: Path, data: bytes) -> None:
    files.write_private(tmp_path / "waypost.key", data)
    assert code_of(lambda: keys.load(tmp_path)) == "key_wrong"


def test_folders_pipes_and_links_are_no_key(tmp_path: Path) -> None:
    path = tmp_path / "waypost.key"
    path.mkdir()
    assert code_of(lambda: keys.load(tmp_path)) == "key_permissions"
    path.rmdir()
    path.symlink_to("/etc/hostname")
    assert code_of(lambda: keys.load(tmp_path)) == "key_permissions"
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    assert code_of(lambda: keys.load(tmp_path)) == "key_permissions"


def test_a_staged_key_stands_beside_the_current_one_until_settled(tmp_path: Path) -> None:
    old, new = keys.create(tmp_path), os.urandom(32)
    keys.stage(tmp_path, new)
    assert (keys.load(tmp_path), keys.load_next(tmp_path)) == (old, new)
    keys.settle(tmp_path, new)
    assert (keys.load(tmp_path), keys.load_next(tmp_path)) == (new, None)
    keys.stage(tmp_path, old)
    keys.discard_next(tmp_path)
    keys.discard_next(tmp_path)
    assert (keys.load(tmp_path), keys.load_next(tmp_path)) == (new, None)
    assert [path.name for path in tmp_path.glob("*key*")] == ["waypost.key"]


def test_every_recovery_code_is_read_back() -> None:
    source = random.Random(1)
    for key in (bytes(32), b"\xff" * 32, *(source.randbytes(32) for _ in range(200))):
        code = keys.recovery_code(key)
        assert keys.from_recovery_code(code) == key
        assert keys.from_recovery_code(code.upper().replace("-", " - ") + "\n") == key
        assert key.hex() not in code
