"""What a Codex tool output states of its command: exit code, denial, interruption, still running.

Four spellings by version: a JSON text with ``metadata.exit_code`` (0.20 to 0.58 ``shell``), an
``Exit code: N`` first line (0.65 to 0.80), ``Process exited with code N`` in a header that ends at
``Output:`` (0.104 and later), and a typed ``CommandExecution`` item (0.155 and later, not read
here). Only the header is searched: what a command prints decides nothing.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from waypost.plugins.harnesses.payloads import any_json
from waypost.records.transcript import TurnFlag

_HEADER_CHARACTERS_MAX: Final = 2000
_FIRST_LINE: Final = re.compile(r"Exit code: (-?\d{1,10})\nWall time:")
_EXITED: Final = re.compile(r"^Process exited with code (-?\d{1,10})$", re.MULTILINE)
_SANDBOX: Final = re.compile(r"failed in sandbox [^\n]{0,200}?, exit code: (-?\d{1,10}), stdout: ")
_RUNNING: Final = re.compile(r"^Process running with session ID (\S+)$", re.MULTILINE)
_ABORTED: Final = re.compile(r"^aborted by user\b", re.MULTILINE)
_DENIALS: Final = ("exec command rejected by user", "patch rejected", "rejected by user")


class OutputStatus(NamedTuple):
    """Flags, the stated exit code, and the process session that goes on, if any."""

    flags: TurnFlag
    exit_code: int | None = None
    process: str | None = None


def _from_code(code: int) -> OutputStatus:
    if not -(2**31) <= code < 2**31:
        return OutputStatus(TurnFlag(0))
    return OutputStatus(TurnFlag.OK if code == 0 else TurnFlag.FAILED, code)


def _from_json(text: str) -> OutputStatus | None:
    value = any_json(text.encode("utf-8", "replace"))
    metadata = value.get("metadata") if isinstance(value, dict) else None
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    if isinstance(code, int) and not isinstance(code, bool):
        return _from_code(code)
    return None


def output_status(text: str) -> OutputStatus:
    """Read the status that an output states; flags are empty where it states none."""
    if text.startswith('{"output"'):
        stated = _from_json(text)
        if stated is not None:
            return stated
    start = text[:_HEADER_CHARACTERS_MAX]
    if start.startswith(_DENIALS):
        return OutputStatus(TurnFlag.DENIED)
    if start.startswith("aborted by user"):
        return OutputStatus(TurnFlag.INTERRUPTED)
    if start.startswith("exec_command failed for"):
        return OutputStatus(TurnFlag.FAILED)  # the process could not be made
    found = _FIRST_LINE.match(start) or _SANDBOX.match(start)
    if found is not None:
        return _from_code(int(found[1]))
    if start.startswith(("Chunk ID:", "Wall time:", "Command:")):
        header = start.split("\nOutput:", 1)[0]
        found = _EXITED.search(header)
        if found is not None:
            return _from_code(int(found[1]))
        found = _RUNNING.search(header)
        if found is not None:
            return OutputStatus(TurnFlag.BACKGROUND, None, found[1])
        if _ABORTED.search(header):
            return OutputStatus(TurnFlag.INTERRUPTED)
    return OutputStatus(TurnFlag(0))
