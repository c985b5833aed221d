"""The plugins in use, named one by one."""

from __future__ import annotations

from typing import Final

from waypost.plugins.api import TranscriptReader
from waypost.plugins.harnesses.claude_code.transcript import ClaudeCodeReader
from waypost.plugins.harnesses.codex.transcript import CodexReader

TRANSCRIPT_READERS: Final[tuple[TranscriptReader, ...]] = (ClaudeCodeReader(), CodexReader())


def transcript_reader(name: str) -> TranscriptReader:
    """Return the reader of a harness. Errors: ``KeyError`` for a harness nobody reads."""
    for reader in TRANSCRIPT_READERS:
        if reader.name == name:
            return reader
    raise KeyError(name)
