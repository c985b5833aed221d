"""A worker process that turns tasks into streams of results, in order, ahead of who consumes them.

Tasks are queued to the worker, so it starts the next while the results of the last are consumed.
Results travel through a pipe as length and bytes. No thread drains it: a thread would fight the
consumer for the interpreter on every read. Instead the pipe is made as large as the system allows, and
the consumer calls ``pump`` at moments that suit it; what is there is kept, up to ``AHEAD_BYTES_MAX``,
beyond which the worker waits in ``write``.

A worker that dies is reported; its tasks can be done by the consumer. It is ended by closing its pipes
and, when it does not notice within ``JOIN_S``, by its pid.
"""

from __future__ import annotations

import contextlib
import fcntl
import multiprocessing
import os
import select
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

JOIN_S: Final = 5.0
AHEAD_BYTES_MAX: Final = 24 * 1024 * 1024
TASKS_AHEAD: Final = 8
PIPE_BYTES: Final = 1024 * 1024
READ_BYTES: Final = 1024 * 1024
_LENGTH_BYTES: Final = 8
_END: Final = b""
_F_SETPIPE_SZ: Final = 1031  # Linux

Work = Callable[[bytes], Iterator[bytes]]


class WorkerDiedError(Exception):
    """The worker ended before its tasks did."""


def _widen(handle: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(handle, _F_SETPIPE_SZ, PIPE_BYTES)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _frame(data: bytes) -> bytes:
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


def _read_exactly(handle: int, count: int) -> bytes | None:
    pieces = bytearray()
    while len(pieces) < count:
        piece = os.read(handle, min(READ_BYTES, count - len(pieces)))
        if not piece:
            return None
        pieces += piece
    return bytes(pieces)


def _serve(tasks: int, results: int, theirs: tuple[int, ...], work: Work) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the consumer decides when to stop
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for handle in theirs:
        os.close(handle)  # else our own copy would keep the pipe open after the consumer died
    try:
        while (head := _read_exactly(tasks, _LENGTH_BYTES)) is not None:
            task = _read_exactly(tasks, int.from_bytes(head, "big"))
            if task is None:
                return
            for result in work(task):
                _write_all(results, _frame(result))
            _write_all(results, _frame(_END))
    except OSError:
        return  # the consumer went away


class Worker:
    """One worker process. ``waiting``: tasks given whose end was not taken yet."""

    def __init__(self, work: Work, *, beside: Sequence[Worker] = ()) -> None:
        """Start a worker; ``beside``: those started before, whose pipes it must not keep open."""
        task_out, self._tasks = os.pipe()
        self._results, result_in = os.pipe()
        _widen(self._results)
        mine = (self._tasks, self._results, *(end for one in beside for end in (one._tasks, one._results)))
        fork = multiprocessing.get_context("fork")  # we hold no thread: 3 ms instead of 90
        self._process = fork.Process(target=_serve, args=(task_out, result_in, mine, work), daemon=True)
        self._process.start()
        os.close(task_out)
        os.close(result_in)
        self._buffer = bytearray()
        self._ready: deque[bytes] = deque()
        self._held = 0
        self._closed = False
        self.waiting = 0

    def give(self, task: bytes) -> None:
        """Queue a task behind those already given. Errors: ``WorkerDiedError``."""
        try:
            _write_all(self._tasks, _frame(task))
        except OSError:
            raise WorkerDiedError from None
        self.waiting += 1

    def pump(self, *, timeout_s: float = 0.0) -> bool:
        """Take in what the worker has written, without waiting longer than ``timeout_s``."""
        moved = False
        while not self._closed and self._held + len(self._buffer) < AHEAD_BYTES_MAX:
            readable, _, _ = select.select([self._results], [], [], timeout_s)
            if not readable:
                break
            piece = os.read(self._results, READ_BYTES)
            timeout_s, moved = 0.0, True
            if not piece:
                self._closed = True
                break
            self._buffer += piece
            self._split()
        return moved

    def _split(self) -> None:
        start = 0
        view = self._buffer
        while len(view) - start >= _LENGTH_BYTES:
            length = int.from_bytes(view[start : start + _LENGTH_BYTES], "big")
            end = start + _LENGTH_BYTES + length
            if len(view) < end:
                break
            self._ready.append(bytes(view[start + _LENGTH_BYTES : end]))
            self._held += length
            start = end
        if start:
            del self._buffer[:start]

    def take(self, *, timeout_s: float) -> bytes | None:
        """Return the next result; empty bytes at the end of a task, None when nothing came in time.

        Errors: ``WorkerDiedError``.
        """
        self.pump(timeout_s=0.0 if self._ready else timeout_s)
        if not self._ready:
            if self._closed:
                raise WorkerDiedError
            if len(self._buffer) >= AHEAD_BYTES_MAX:
                self._read_whole()
            return None
        result = self._ready.popleft()
        self._held -= len(result)
        if result == _END:
            self.waiting -= 1
        return result

    def _read_whole(self) -> None:
        """One result is larger than all we would hold: read it whole."""
        length = _LENGTH_BYTES + int.from_bytes(self._buffer[:_LENGTH_BYTES], "big")
        while len(self._buffer) < length:
            piece = os.read(self._results, READ_BYTES)
            if not piece:
                self._closed = True
                return
            self._buffer += piece
        self._split()

    def end(self) -> None:
        """Stop the worker and reap it."""
        os.close(self._tasks)
        os.close(self._results)
        self._closed = True
        self._process.join(JOIN_S)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(JOIN_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(JOIN_S)
        self._process.close()
