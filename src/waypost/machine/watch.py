"""Waits for files to change: the system's events, with a poll behind them.

Events make an appended line visible in milliseconds; the poll makes sure that a lost event, a network
file system or an exhausted watch limit costs at most ``POLL_S``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

POLL_S: Final = 1.5
DEBOUNCE_MS: Final = 50
STEP_MS: Final = 20


class Watcher:
    """Watches folders from a thread of its own; ``wait`` returns when something may have changed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder for folder in folders if folder.is_dir()]
        self._changed = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        if self._folders:
            self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        import watchfiles

        try:
            for _ in watchfiles.watch(
                *self._folders,
                watch_filter=None,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                stop_event=self._stop,
                rust_timeout=500,
                yield_on_timeout=False,
                raise_interrupt=False,
                recursive=True,
            ):
                self._changed.set()
        except (OSError, RuntimeError):
            return  # out of watches, or a folder vanished: the poll goes on

    def wait(self, stop: Callable[[], bool]) -> None:
        """Wait for a change, a stop, or ``POLL_S``."""
        waited = 0.0
        while waited < POLL_S and not stop():
            if self._changed.wait(0.1):
                break
            waited += 0.1
        self._changed.clear()

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(2.0)
