"""Worker processes that turn one task into a stream of results, in order, with back-pressure.

A worker holds one task at a time. Its results travel through a pipe, so a slow consumer makes it wait
in ``write``. A worker that dies is reported; its task can be done by the parent. Workers are told to
end by closing their pipe and are reaped; one that does not end within ``JOIN_S`` is ended by its pid.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Final

JOIN_S: Final = 5.0
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


class WorkerDied(Exception):
    """A worker ended before its task did."""


class Worker:
    """One worker process."""

    def __init__(self, work: Work) -> None:
        self.connection, theirs = multiprocessing.Pipe(duplex=True)
        self._process: BaseProcess
        if sys.platform == "linux":
            fork = multiprocessing.get_context("fork")  # we hold no threads yet: 3 ms instead of 90
            self._process = fork.Process(target=_serve, args=(theirs, work), daemon=True)
        else:
            spawn = multiprocessing.get_context("spawn")
            self._process = spawn.Process(target=_serve, args=(theirs, work), daemon=True)
        self._process.start()
        theirs.close()
        self.busy = False

    def give(self, task: bytes) -> None:
        """Start a task. The worker must be idle."""
        self.connection.send_bytes(task)
        self.busy = True

    def take(self) -> bytes | None:
        """Return the next result, waiting for it; None when the task is done.

        Errors: ``WorkerDied``.
        """
        try:
            result = self.connection.recv_bytes()
        except (EOFError, OSError):
            self.busy = False
            raise WorkerDied from None
        if result == _END:
            self.busy = False
            return None
        return result

    def end(self) -> None:
        """Stop the worker and reap it."""
        self.connection.close()
        self._process.join(JOIN_S)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(JOIN_S)
        self._process.close()


def ready(workers: list[Worker], *, timeout_s: float) -> list[Worker]:
    """Return the busy workers that have something to take."""
    by_connection = {worker.connection: worker for worker in workers if worker.busy}
    if not by_connection:
        return []
    return [by_connection[one] for one in wait(list(by_connection), timeout_s) if isinstance(one, Connection)]
