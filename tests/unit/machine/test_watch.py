"""Waiting for files to change, with and without the system's events."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from waypost.machine.watch import POLL_S, Watcher


def test_a_change_ends_the_wait_before_the_poll(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    watcher = Watcher([tmp_path])
    try:
        time.sleep(0.4)
        watcher.wait(lambda: True)
        timer = threading.Timer(0.2, lambda: (tmp_path / "deep" / "a.jsonl").write_text("{}\n"))
        timer.start()
        begin = time.monotonic()
        watcher.wait(lambda: False)
        took = time.monotonic() - begin
        timer.join()
    finally:
        watcher.close()
    assert 0.1 < took < POLL_S - 0.2


def test_without_a_folder_to_watch_the_poll_goes_on(tmp_path: Path) -> None:
    watcher = Watcher([tmp_path / "missing"])
    begin = time.monotonic()
    watcher.wait(lambda: False)
    assert POLL_S * 0.9 <= time.monotonic() - begin < POLL_S * 3
    begin = time.monotonic()
    watcher.wait(lambda: True)
    assert time.monotonic() - begin < 0.5
    watcher.close()


def test_closing_ends_the_thread(tmp_path: Path) -> None:
    watcher = Watcher([tmp_path])
    time.sleep(0.3)
    watcher.close()
    assert [one.name for one in threading.enumerate() if one.name == "watch" and one.is_alive()] == []
