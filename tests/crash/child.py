"""Runs the program in a child with a fault: ``child.py MODE …``; see the functions.

Small limits make a small transcript pass through every step that a large one would.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

CRASHED = 77


def small_steps() -> None:
    """Commit after every chunk of about 2 KB, index after every few turns."""
    from waypost.flows import ingest, reading
    from waypost.machine.store import search

    reading.read_file.__kwdefaults__["chunk_bytes"] = 2048
    ingest.COMMIT_BYTES = 1
    search.INDEX_BATCH_TURNS = 5
    ingest.WORKERS_FROM_BYTES = 1


def run(words: Sequence[str]) -> int:
    """Run one command of the program."""
    from waypost.surfaces.cli.main import main

    return main([*words, "--json"])


def points(words: Sequence[str]) -> int:
    """Write the name of every crash point that a command passes to standard error."""
    from waypost.machine import files

    small_steps()
    names: list[str] = []
    files.set_crash_hook(names.append)
    status = run(words)
    sys.stderr.write(json.dumps(names))
    return status


def crash(at: str, words: Sequence[str]) -> int:
    """End at once, without any clean-up, at the ``at``-th crash point."""
    from waypost.machine import files

    small_steps()
    left = int(at)

    def hook(_: str) -> None:
        nonlocal left
        if left == 0:
            os._exit(CRASHED)
        left -= 1

    files.set_crash_hook(hook)
    return run(words)


def captured(words: Sequence[str]) -> dict[str, Any]:
    """Run a command and return the data of its record."""
    kept = os.dup(1)
    with tempfile.TemporaryFile() as out:
        os.dup2(out.fileno(), 1)
        try:
            status = run(words)
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        out.seek(0)
        assert status == 0, words
        data: dict[str, Any] = json.loads(out.read())["data"]
        return data


def seen(searches: Sequence[str]) -> dict[str, Any]:
    """Everything that a person can see of the store, and how many rows its tables have."""
    import story

    listed = captured(("sessions", "--limit", "200"))["sessions"]
    listed.sort(key=lambda one: one["session"])
    names = [one["session"] for one in listed]
    hits = [
        (hit["session"], hit["turn"], hit["snippet"])
        for word in searches
        for hit in captured(("search", word, "--limit", "200"))["hits"]
    ]
    return {
        "sessions": listed,
        "costs": [captured(("costs", "--utc", "--by", group)) for group in ("model", "session")],
        "hits": sorted(hits),
        "turns": [captured(("session", name, "--turns", "--limit", "500"))["turns"] for name in names],
        "executions": [captured(("session", name, "--executions"))["executions"] for name in names],
        "rows": story.rows(Path(os.environ["WAYPOST_HOME"])),
    }


def picture(searches: str, first: Sequence[str]) -> int:
    """Write what is seen of the store, after a command if one is given."""
    if first:
        captured(first)
    sys.stdout.write(json.dumps(seen(json.loads(searches))))
    return 0


def forked(home: str, work: Callable[[], int]) -> int:
    """Do some work in a child of this process with a home of its own; returns its exit status."""
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        status = 99
        try:
            os.environ["WAYPOST_HOME"] = home
            status = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def campaign(template: str, place: str, again: str, words: Sequence[str]) -> int:
    """Crash a command at each of its points in turn, recover, and write what is seen each time.

    ``template`` is a home to start from, or empty. ``again``: how many points recovery passes before it
    is ended as well; empty for a recovery that is left in peace.
    """
    import shutil

    import waypost.flows.ingest
    import waypost.flows.keeping
    import waypost.surfaces.cli.ingest  # noqa: F401 - imported once, before the children are made

    found: list[dict[str, Any]] = []
    for number in range(200):
        home = Path(place) / f"home-{number}"
        if template:
            shutil.copytree(template, home)
        silent = os.open(os.devnull, os.O_WRONLY)

        def crashed(at: int, silent: int = silent) -> int:
            os.dup2(silent, 1)
            return crash(str(at), words)

        status = forked(str(home), lambda at=number: crashed(at))
        assert status in (0, CRASHED), status
        if again and status == CRASHED:
            forked(str(home), lambda: crashed(int(again)))
        os.close(silent)
        result = Path(place) / f"seen-{number}.json"

        def recover(result: Path = result) -> int:
            small_steps()
            for _ in range(50):
                try:
                    captured(words if words[0] == "ingest" else ("ingest",))
                    break
                except AssertionError:  # the dead pass's worker held the lock for a moment longer
                    time.sleep(0.1)
            result.write_text(json.dumps(seen(("plain", "changed"))))
            return 0

        assert forked(str(home), recover) == 0, number
        found.append(json.loads(result.read_text()))
        shutil.rmtree(home)
        if status == 0:
            break
    sys.stdout.write(json.dumps(found))
    return 0


def measured(words: Sequence[str]) -> int:
    """Run a command and write the largest resident memory of this process, in KiB."""
    status = run(words)
    sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
    return status


def powerless(words: Sequence[str]) -> int:
    """Run a command as a user whom file permissions bind, whoever starts the test."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if os.getuid() == 0:
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            if libc.prctl(24, capability, 0, 0, 0) != 0:
                return CRASHED
    os.execv(sys.executable, [sys.executable, __file__, "run", *words])


def held(seconds: str, words: Sequence[str]) -> int:
    """Stop for a while before the first commit, with the write transaction open."""
    from waypost.machine import files

    def hook(name: str) -> None:
        if name == "ingest.before_commit":
            sys.stderr.write("open\n")
            sys.stderr.flush()
            time.sleep(float(seconds))

    files.set_crash_hook(hook)
    return run(words)


def slow(seconds: str, words: Sequence[str]) -> int:
    """Take small steps and wait a while before every commit, so that a signal comes in between."""
    from waypost.machine import files

    small_steps()
    files.set_crash_hook(lambda name: time.sleep(float(seconds)) if name == "ingest.before_commit" else None)
    return run(words)


def main() -> int:
    mode, *rest = sys.argv[1:]
    if mode == "points":
        return points(rest)
    if mode == "crash":
        return crash(rest[0], rest[1:])
    if mode == "small":
        small_steps()
        return run(rest)
    if mode == "picture":
        return picture(rest[0], rest[1:])
    if mode == "campaign":
        return campaign(rest[0], rest[1], rest[2], rest[3:])
    if mode == "measured":
        return measured(rest)
    if mode == "powerless":
        return powerless(rest)
    if mode == "slow":
        return slow(rest[0], rest[1:])
    if mode == "held":
        return held(rest[0], rest[1:])
    return run(rest)


if __name__ == "__main__":
    sys.exit(main())
