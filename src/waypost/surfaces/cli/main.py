"""The command line: finds the command, runs it, prints exactly one record, returns the exit status.

``--version`` and the list of commands need nothing but this file; a command's own module is imported
when it is the one asked for. The error boundary is here and nowhere else.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__version__: Final = "0.1.0"

#: Command, module below ``waypost.surfaces.cli``, one line for the overview.
COMMANDS: Final = {
    "quickstart": ("quickstart", "find your agents' transcripts, read them, show what happened"),
    "sessions": ("sessions", "what your agents did, newest first"),
    "session": ("sessions", "one session as a readable timeline"),
    "search": ("search", "full text over everything that was said and run"),
    "costs": ("costs", "tokens and money by day, week, project, model, harness or session"),
    "ingest": ("ingest", "read what is new in the transcripts, once"),
    "watch": ("watch", "read transcripts as they grow and say what arrives"),
    "export": ("export", "write sessions out as JSON lines or Markdown"),
    "forget": ("forget", "delete sessions from the store, for good"),
    "key": ("key", "where the store's key is; rotate, back up, move it"),
    "doctor": ("doctor", "what is where, what is wrong, how to mend it"),
}

USAGE: Final = "usage: waypost COMMAND [options]     waypost COMMAND --help"


def overview() -> str:
    """Return the help text of the program."""
    width = max(len(name) for name in COMMANDS)
    lines = [
        "waypost keeps coding agents honest and helps them learn.",
        "",
        USAGE,
        "",
        *(f"  {name:<{width}}   {about}" for name, (_, about) in COMMANDS.items()),
        "",
        "  --json, --text   force a canonical record or a readable page (default: readable on a terminal)",
        "  --version        print the version",
        "",
        "Everything stays on this machine. New here? Run: waypost quickstart",
    ]
    return "\n".join(lines)


def _split(arguments: Sequence[str]) -> tuple[list[str], str | None]:
    """Take ``--json`` and ``--text`` out of the words before ``--``."""
    rest: list[str] = []
    mode: str | None = None
    for position, word in enumerate(arguments):
        if word == "--":
            rest.extend(arguments[position:])
            break
        if word in ("--json", "--text"):
            mode = word[2:]
        else:
            rest.append(word)
    return rest, mode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words, mode = _split(sys.argv[1:] if arguments is None else list(arguments))
    if words[:1] in (["--version"], ["-V"]):
        sys.stdout.write(f"waypost {__version__}\n")
        return 0
    if not words or words[0] in ("--help", "-h", "help"):
        sys.stdout.write(overview() + "\n")
        return 0
    from waypost.surfaces.cli.running import run

    return run(words[0], words[1:], mode)


if __name__ == "__main__":
    sys.exit(main())
