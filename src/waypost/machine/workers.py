"""A worker process that turns tasks into streams of results, in order, ahead of who consumes them.

Tasks are queued to the worker, so it starts the next while the results of the last are consumed. A
thread drains its pipe into a queue bounded in bytes: the worker runs ahead by at most
``AHEAD_BYTES_MAX`` and then waits in ``write``. A worker that dies is reported; its tasks can be done by
the parent. It is told to end by closing its pipe and is reaped; one that does not end within
``JOIN_S`` is ended by its pid.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final

JOIN_S: Final = 5.0
AHEAD_BYTES_MAX: Final = 24 * 1024 * 1024
TASKS_AHEAD: Final = 4
_END: Final = b""

Work = Callable[[bytes], Iterator[bytes]]


def _serve(connection: Connection, work: Work) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    while True:
        try:
            task = connection.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            for result in work(task):
                connection.send_bytes(result)
            connection.send_bytes(_END)
        except (BrokenPipeError, OSError):
            return


class WorkerDiedError(Exception):
    """The worker ended before its tasks did."""


class Worker:
    """One worker process. ``waiting``: tasks given whose end was not taken yet."""

    def __init__(self, work: Work) -> None:
        self._connection, theirs = multiprocessing.Pipe(duplex=True)
        self._process: BaseProcess
        if sys.platform == "linux":
            fork = multiprocessing.get_context("fork")  # before our thread starts: 3 ms instead of 90
            self._process = fork.Process(target=_serve, args=(theirs, work), daemon=True)
        else:
            spawn = multiprocessing.get_context("spawn")
            self._process = spawn.Process(target=_serve, args=(theirs, work), daemon=True)
        self._process.start()
        theirs.close()
        self._results: deque[bytes | None] = deque()
        self._held = 0
        self._changed = threading.Condition()
        self._ended = False
        self.waiting = 0
        self._thread = threading.Thread(target=self._drain, name="drain", daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while True:
            try:
                result = self._connection.recv_bytes()
            except (EOFError, OSError):
                with self._changed:
                    self._results.append(None)
                    self._changed.notify_all()
                return
            with self._changed:
                while self._held > AHEAD_BYTES_MAX and not self._ended:
                    self._changed.wait(1.0)
                self._results.append(result)
                self._held += len(result)
                self._changed.notify_all()

    def give(self, task: bytes) -> None:
        """Queue a task behind those already given. Errors: ``WorkerDiedError``."""
        try:
            self._connection.send_bytes(task)
        except OSError:
            raise WorkerDiedError from None
        self.waiting += 1

    def take(self, *, timeout_s: float) -> bytes | None:
        """Return the next result; empty bytes at the end of a task, None when nothing came in time.

        Errors: ``WorkerDiedError``.
        """
        with self._changed:
            if not self._results:
                self._changed.wait(timeout_s)
            if not self._results:
                return None
            result = self._results.popleft()
            if result is None:
                raise WorkerDiedError
            self._held -= len(result)
            self._changed.notify_all()
        if result == _END:
            self.waiting -= 1
        return result

    def end(self) -> None:
        """Stop the worker and reap it."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if self._process.is_alive():
            self._process.terminate()  # it holds nothing: every result it made is in our hands or lost
        self._process.join(JOIN_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(JOIN_S)
        self._connection.close()
        self._thread.join(JOIN_S)
        self._process.close()
