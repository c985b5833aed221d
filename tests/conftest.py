"""Hermetic guard and factories for every test.

Each test has a home of its own, TMPDIR beside it, a reduced environment, a fixed time zone and git
identity. Touching the network beyond loopback raises. Nothing of the real home is read.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "PYTHONHASHSEED", "CI")


@pytest.fixture(autouse=True)
def hermetic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the test an empty home and keep it away from the real one and from the network."""
    home = tmp_path / "home"
    home.mkdir()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    for name in list(os.environ):
        if name not in KEPT and not name.startswith(("PYTEST_", "COVERAGE_", "WAYPOST_TEST_", "COV_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("WAYPOST_HOME", str(home / "waypost"))
    monkeypatch.setenv("TZ", "UTC")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "test@example.invalid")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.chdir(home)

    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not str(address[0]).startswith(
            ("127.", "::1", "localhost")
        ):
            raise AssertionError(f"a test tried to reach {address!r}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    yield home


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        """The one record it printed, on whichever stream its status says."""
        stream, other = (self.out, self.err) if self.status == 0 else (self.err, self.out)
        assert other == "", f"expected nothing on the other stream, found {other!r}"
        lines = stream.splitlines()
        assert len(lines) == 1, f"expected one record, found {len(lines)} lines: {stream[:500]!r}"
        found: dict[str, Any] = json.loads(lines[0])
        return found

    @property
    def data(self) -> dict[str, Any]:
        """The data of a success."""
        assert self.status == 0, self.err
        found: dict[str, Any] = self.record["data"]
        return found

    @property
    def error(self) -> dict[str, Any]:
        """The error of a failure."""
        assert self.status != 0, self.out
        found: dict[str, Any] = self.record["error"]
        return found


Waypost = Callable[..., Ran]


@pytest.fixture
def waypost(hermetic: Path) -> Waypost:
    """Run the installed command: ``waypost("sessions", "--json", env={…}, stdin="…")``."""
    program = Path(sys.executable).parent / "waypost"

    def run(
        *arguments: str,
        env: dict[str, str] | None = None,
        stdin: str = "",
        cwd: Path | None = None,
        timeout_s: float = 120.0,
    ) -> Ran:
        done = subprocess.run(
            [str(program), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, **(env or {})},
            cwd=cwd or hermetic,
            timeout=timeout_s,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def shared_corpus() -> Path:
    """The study corpus beside the checkout; the test is skipped where it is absent."""
    stated = os.environ.get("WAYPOST_TEST_CORPUS")
    path = Path(stated) if stated else ROOT.parent / "shared" / "corpus"
    if not (path / "transcripts").is_dir():
        pytest.skip("the study corpus is not here")
    return path


class Transcripts:
    """Writes small transcripts: a Claude configuration folder and a Codex home."""

    def __init__(self, folder: Path) -> None:
        self.claude_root = folder / ".claude"
        self.codex_root = folder / ".codex"

    def claude(self, name: str, lines: list[dict[str, Any] | str], *, end: str = "\n") -> Path:
        """Write ``projects/-work/NAME.jsonl``; NAME may hold folders. Strings are written as they are."""
        return _write(self.claude_root / "projects" / "-work" / f"{name}.jsonl", lines, end)

    def codex(self, name: str, lines: list[dict[str, Any] | str], *, end: str = "\n") -> Path:
        """Write ``sessions/2026/11/30/rollout-2026-11-30T10-00-00-NAME.jsonl``."""
        folder = self.codex_root / "sessions" / "2026" / "11" / "30"
        return _write(folder / f"rollout-2026-11-30T10-00-00-{name}.jsonl", lines, end)


def _write(path: Path, lines: list[dict[str, Any] | str], end: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(text) + end if text else "", encoding="utf-8")
    return path


@pytest.fixture
def transcripts(hermetic: Path) -> Transcripts:
    """Transcripts in the test's own home, where the command finds them by default."""
    return Transcripts(hermetic)
