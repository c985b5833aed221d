"""A reading worker: results in order, a death that is noticed, an end that leaves nothing."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from waypost.machine.workers import Worker, WorkerDiedError


def echo(task: bytes) -> Iterator[bytes]:
    """Three results per task; a task names what else happens."""
    if task == b"die":
        os.kill(os.getpid(), signal.SIGKILL)
    if task.startswith(b"large"):
        yield task * (30 * 1024 * 1024 // len(task))
    for number in range(3):
        yield task + str(number).encode()


def results(worker: Worker, *, seconds: float = 20.0) -> list[bytes]:
    found: list[bytes] = []
    begin = time.monotonic()
    while worker.waiting:
        assert time.monotonic() - begin < seconds
        one = worker.take(timeout_s=0.2)
        if one is not None:
            found.append(one)
    return found


def test_results_come_in_the_order_of_tasks_with_an_empty_one_after_each() -> None:
    worker = Worker(echo)
    try:
        worker.give(b"a")
        worker.give(b"b")
        assert results(worker) == [b"a0", b"a1", b"a2", b"", b"b0", b"b1", b"b2", b""]
        assert worker.take(timeout_s=0.01) is None
    finally:
        worker.end()


def test_a_result_larger_than_the_bound_passes() -> None:
    worker = Worker(echo)
    try:
        worker.give(b"large")
        found = results(worker)
        assert len(found[0]) == 30 * 1024 * 1024 // 5 * 5
        assert found[1:] == [b"large0", b"large1", b"large2", b""]
    finally:
        worker.end()


def test_a_death_is_noticed_after_what_was_made_before_it() -> None:
    worker = Worker(echo)
    try:
        worker.give(b"a")
        worker.give(b"die")
        found = []
        with pytest.raises(WorkerDiedError):
            for _ in range(100):
                found.append(worker.take(timeout_s=0.2))
        assert [one for one in found if one is not None] == [b"a0", b"a1", b"a2", b""]
    finally:
        worker.end()


def test_ending_in_the_middle_leaves_no_process_and_no_descriptor() -> None:
    before = sorted(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else []
    worker = Worker(echo)
    for _ in range(3):
        worker.give(b"large")
    worker.take(timeout_s=0.1)
    worker.end()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    assert before == (sorted(os.listdir("/proc/self/fd")) if before else [])
