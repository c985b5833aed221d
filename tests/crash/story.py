"""What tests of the store share: small transcripts, child processes, and one picture of a store.

``picture`` is everything a person could see of a store; two stores that show the same picture are the
same to them. It is taken by the program's own command line in one process, so that it stays cheap.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from waypost.machine import keys
from waypost.machine.store import database
from waypost.machine.store.payloads import unseal
from waypost.records.ids import session_key

HERE = Path(__file__).resolve().parent
CHILD = HERE / "child.py"
CHECKOUT = HERE.parent.parent
SAMPLE = CHECKOUT / "src" / "waypost" / "sample"
Line = dict[str, Any]

MODEL = "claude-sonnet-5-5"


def stamp(number: int) -> str:
    """A time of day, one second apart."""
    return f"2026-11-30T{10 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z"


def native(number: int) -> str:
    """A session id in the shape of both agents."""
    return f"00000000-0000-4000-8000-{number:012d}"


def claude_key(number: int) -> str:
    """The key of ``native(number)`` as a Claude Code session."""
    return session_key("claude_code", native(number))


def codex_key(number: int) -> str:
    """The key of ``native(number)`` as a Codex session."""
    return session_key("codex", native(number))


def prompt(session: str, cwd: str, number: int, text: str) -> Line:
    """A typed prompt of Claude Code."""
    return {
        "type": "user",
        "uuid": f"u-{session}-{number}",
        "sessionId": session,
        "cwd": cwd,
        "version": "2.1.332",
        "timestamp": stamp(number),
        "userType": "external",
        "entrypoint": "cli",
        "origin": {"kind": "human"},
        "promptSource": "typed",
        "message": {"role": "user", "content": text},
    }


def answer(
    session: str, cwd: str, number: int, text: str, *, command: str | None = None, output: int = 7
) -> Line:
    """A response of Claude Code with its own id: a text, or a shell command."""
    block: Line = {"type": "text", "text": text}
    if command is not None:
        block = {"type": "tool_use", "id": f"toolu_{session[-4:]}{number}", "name": "Bash"}
        block["input"] = {"command": command}
    return {
        "type": "assistant",
        "uuid": f"a-{session}-{number}",
        "sessionId": session,
        "cwd": cwd,
        "version": "2.1.332",
        "timestamp": stamp(number),
        "message": {
            "id": f"msg_{session[-4:]}_{number}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [block],
            "stop_reason": "tool_use" if command else "end_turn",
            "usage": {
                "input_tokens": 10,
                "output_tokens": output,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 0,
            },
        },
    }


def result(session: str, cwd: str, number: int, call: int, text: str) -> Line:
    """What the command of ``answer(…, call, …)`` printed."""
    line = prompt(session, cwd, number, "")
    line.pop("origin"), line.pop("promptSource")
    line["message"]["content"] = [
        {"type": "tool_result", "tool_use_id": f"toolu_{session[-4:]}{call}", "content": text}
    ]
    return line


def claude(number: int, cwd: str = "/home/sam/one", *, exchanges: int = 2, word: str = "plain") -> list[Line]:
    """A Claude Code session: a prompt, a command and an answer per exchange (four turns each)."""
    session = native(number)
    lines: list[Line] = []
    for step in range(exchanges):
        at = step * 10
        lines += [
            prompt(session, cwd, at, f"please look at {word} number {step} of session {number}"),
            answer(session, cwd, at + 1, "", command=f"echo {word} {step}"),
            result(session, cwd, at + 2, at + 1, f"{word} {step} was printed"),
            answer(session, cwd, at + 3, f"I looked at {word} {step}"),
        ]
    return lines


def codex(
    number: int,
    cwd: str = "/home/sam/one",
    *,
    exchanges: int = 2,
    word: str = "plain",
    remote: str | None = None,
    forked: int | None = None,
) -> list[Line]:
    """A Codex rollout (0.128 shape): a prompt and an answer with usage per exchange (two turns each)."""
    meta: Line = {"id": native(number), "timestamp": stamp(0), "cwd": cwd, "originator": "codex-tui"}
    meta |= {"cli_version": "0.128.0", "source": "cli"}
    if remote:
        meta["git"] = {"branch": "main", "repository_url": remote}
    if forked is not None:
        meta["forked_from_id"] = native(forked)
    lines = [_codex(0, "session_meta", meta)]
    total = [0, 0]
    for step in range(exchanges):
        at = step * 10 + 1
        turn = f"turn-{number}-{step}"
        text = f"please look at {word} number {step} of rollout {number}"
        total[0] += 100 + step
        total[1] += 10
        lines += [
            _codex(at, "turn_context", {"cwd": cwd, "model": "gpt-5.3-codex", "turn_id": turn}),
            _codex(at, "response_item", _message("user", "input_text", text)),
            _codex(at, "event_msg", {"type": "user_message", "message": text}),
            _codex(at + 1, "response_item", _message("assistant", "output_text", f"I looked at {word}")),
            _codex(
                at + 2,
                "event_msg",
                {
                    "type": "token_count",
                    "info": {
                        "total_token_usage": _usage(*total),
                        "last_token_usage": _usage(100 + step, 10),
                    },
                },
            ),
        ]
    return lines


def _codex(at: int, kind: str, payload: Line) -> Line:
    return {"timestamp": stamp(at), "type": kind, "payload": payload}


def _message(role: str, kind: str, text: str) -> Line:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _usage(given: int, output: int) -> Line:
    return {
        "input_tokens": given,
        "cached_input_tokens": 0,
        "output_tokens": output,
        "reasoning_output_tokens": 0,
        "total_tokens": given + output,
    }


def text_of(lines: Sequence[Line | str], *, end: str = "\n") -> str:
    """Records as a file's text."""
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines) + end


def write(path: Path, lines: Sequence[Line | str], *, end: str = "\n") -> Path:
    """Write records to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(lines, end=end) if lines else "", encoding="utf-8")
    return path


def append(path: Path, lines: Sequence[Line | str], *, end: str = "\n") -> Path:
    """Append records to a file."""
    with path.open("a", encoding="utf-8") as out:
        out.write(text_of(lines, end=end))
    return path


# -- processes -------------------------------------------------------------------------------------


def environment(home: Path) -> dict[str, str]:
    """The environment of a child whose store lies in ``home``."""
    return {**os.environ, "WAYPOST_HOME": str(home)}


def child(*arguments: str, home: Path, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
    """Run ``child.py`` to its end."""
    return subprocess.run(
        [sys.executable, str(CHILD), *arguments],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def start(*arguments: str, home: Path) -> subprocess.Popen[bytes]:
    """Start the installed command in a process group of its own."""
    return subprocess.Popen(
        [str(Path(sys.executable).parent / "waypost"), *arguments],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[bytes]) -> None:
    """End a process that a test started, if it still runs, and reap it."""
    if process.poll() is None:
        process.kill()
    process.communicate()


def picture(home: Path, *, words: Sequence[str] = ("plain",), first: Sequence[str] = ()) -> dict[str, Any]:
    """Everything that a person can see of a store; runs the command ``first`` before, if one is given."""
    done = child("picture", json.dumps(words), *first, home=home)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def asked(home: Path, *words: str) -> dict[str, Any]:
    """The data of one command."""
    done = child("run", *words, home=home)
    assert done.returncode == 0, done.stdout + done.stderr
    data: dict[str, Any] = json.loads(done.stdout)["data"]
    return data


def ingest(home: Path, *words: str) -> dict[str, Any]:
    """Run a pass over the default roots and return its report, without what is a matter of time."""
    report = asked(home, "ingest", *words)
    del report["elapsed_ms"]
    return report


def sessions(home: Path) -> dict[str, dict[str, Any]]:
    """The sessions of a store by native id."""
    return {one["native_id"]: one for one in asked(home, "sessions", "--limit", "200")["sessions"]}


def turns(home: Path, key: str) -> list[dict[str, Any]]:
    """The turns of a session."""
    found: list[dict[str, Any]] = asked(home, "session", key, "--turns", "--limit", "500")["turns"]
    return found


def texts(home: Path, key: str) -> list[str]:
    """What was said in a session."""
    return [one["text"] for one in turns(home, key) if one["text"]]


# -- the store from inside -------------------------------------------------------------------------


def opened(home: Path) -> apsw.Connection:
    """Open a store as the program does."""
    store = database.open_store(home, create=False)
    assert store is not None
    return store


TABLES = (
    "execution",
    "file_session",
    "forgotten",
    "malformed_record",
    "meta",
    "project",
    "session",
    "source_file",
    "turn",
    "unknown_type",
    "unsettled",
    "usage_entry",
    "word",
)


def rows(home: Path) -> dict[str, int]:
    """Count the rows of every table and of the index."""
    store = opened(home)
    try:
        found = {name: int(store.execute(f"SELECT count(*) FROM {name}").get) for name in TABLES}
        found["turn_text"] = int(store.execute("SELECT count(*) FROM turn_text_docsize").get)
        return found
    finally:
        store.close()


def content_hash(home: Path) -> str:
    """Hash every row of every table, index tables too."""
    store = opened(home)
    try:
        names = [
            row[0]
            for row in store.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
                " ORDER BY name"
            )
        ]
        digest = hashlib.sha256()
        for name in names:
            for row in store.execute(f"SELECT * FROM {name}"):
                digest.update(repr((name, row)).encode())
        return digest.hexdigest()
    finally:
        store.close()


def everything(home: Path) -> bytes:
    """All that a store holds, decrypted and decompressed, with the index's vocabulary."""
    store = opened(home)
    try:
        pieces: list[bytes] = []
        for name in TABLES:
            for row in store.execute(f"SELECT * FROM {name}"):
                for value in row:
                    pieces.append(value if isinstance(value, bytes) else str(value).encode())
        for (payload,) in store.execute("SELECT payload FROM turn"):
            notes, raw = unseal(payload)
            pieces += [notes, raw or b""]
        store.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, turn_text, row)")
        pieces += [str(row[0]).encode() for row in store.execute("SELECT term FROM vocabulary")]
        for name in ("turn_text_data", "turn_text_idx", "turn_text_docsize", "turn_text_config"):
            for row in store.execute(f"SELECT * FROM {name}"):
                pieces += [value if isinstance(value, bytes) else str(value).encode() for value in row]
        return b"\n".join(pieces)
    finally:
        store.close()


def key_of(home: Path) -> bytes:
    """The key on disk."""
    key = keys.load(home)
    assert key is not None
    return key


def disk(*folders: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file below some folders with its content."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                try:
                    yield path, path.read_bytes()
                except FileNotFoundError:
                    continue


def hashes(folder: Path) -> dict[str, str]:
    """The hash of every file below a folder."""
    return {str(path.relative_to(folder)): hashlib.sha256(data).hexdigest() for path, data in disk(folder)}


def wait_until(condition: Callable[[], bool], *, seconds: float, step_s: float = 0.02) -> float:
    """Wait for a condition; returns how long it took. Fails after ``seconds``."""
    import time

    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds, f"not within {seconds} s"
        time.sleep(step_s)
    return time.monotonic() - begin
