"""A program on a pseudo-terminal, typed into by a script.

Interactive sessions differ from headless ones in what they record: a prompt is typed by
a person, a permission is asked for. This drives them without looking at the screen:
waits are for silence or for a condition of the caller's, and each has a limit.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

KEYS = {
    "enter": b"\r",
    "escape": b"\x1b",
    "tab": b"\t",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "interrupt": b"\x03",
}
ROWS, COLUMNS = 40, 120
READ_BYTES_MAX = 65_536
QUIET_SECONDS = 1.0
ANSWERS = {
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62;c",
    b"\x1b[?u": b"\x1b[?0u",
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}
"""What a terminal replies to the questions that programs ask it at their start."""


class Terminal:
    """One running program. Use it as a context manager: leaving it kills the program."""

    def __init__(self, words: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
        self.output = bytearray()
        self.exit_status: int | None = None
        whole_env = {**env, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(words[0], list(words), whole_env)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self.exit_status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                _, status = os.waitpid(self.pid, 0)
                self.exit_status = os.waitstatus_to_exitcode(status)
        os.close(self._fd)

    def type(self, text: str) -> None:
        """Send the characters of ``text``; Enter is a key of its own."""
        os.write(self._fd, text.encode())

    def press(self, key: str) -> None:
        os.write(self._fd, KEYS[key])

    def wait_until(self, condition: Callable[[], bool], *, seconds_max: float) -> bool:
        """Read output until ``condition`` holds; False when the time is up or the program ended."""
        end = time.monotonic() + seconds_max
        while time.monotonic() < end:
            if condition():
                return True
            if not self._read(0.05):
                return condition()
        return False

    def wait_quiet(self, *, seconds_max: float) -> None:
        """Read output until there was none for QUIET_SECONDS."""
        end = time.monotonic() + seconds_max
        size, since = len(self.output), time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < QUIET_SECONDS:
            if not self._read(0.05):
                return
            if len(self.output) != size:
                size, since = len(self.output), time.monotonic()

    def wait_exit(self, *, seconds_max: float) -> int | None:
        """The exit status, or None when the program still runs after ``seconds_max``."""
        end = time.monotonic() + seconds_max
        while time.monotonic() < end and self.exit_status is None:
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_status = os.waitstatus_to_exitcode(status)
        return self.exit_status

    def _read(self, seconds: float) -> bool:
        """Take in what there is; False at the end of the program's output."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._fd, READ_BYTES_MAX)
        except OSError:
            return False
        self.output += data
        for question, answer in ANSWERS.items():
            if question in data:
                os.write(self._fd, answer)
        return bool(data)
