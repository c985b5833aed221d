"""``waypost key``: where the store's key is, rotation, recovery code, keyring."""

from __future__ import annotations

import argparse
import sys

from waypost.errors import UsageError
from waypost.flows import keeping
from waypost.flows.app import App
from waypost.surfaces.cli.running import Document, Result

ACTIONS = ("show", "rotate", "export", "restore", "keyring", "file")
CODE_CHARACTERS_MAX = 400


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=ACTIONS,
        default="show",
        help="show (default): where it is; rotate: new key; export: print a recovery code;"
        " restore: read one from standard input; keyring: move it to the OS keyring; file: move it back",
    )


def run(name: str, app: App, arguments: argparse.Namespace, mode: str) -> Result | Document:
    """Do it."""
    action = arguments.action
    said = ""
    extra: dict[str, object] = {}
    if action == "rotate":
        keeping.rotate_key(app)
        said = "The store was re-encrypted under a new key. Old recovery codes open it no longer."
    elif action == "export":
        code = keeping.recovery_code(app)
        extra["recovery_code"] = code
        said = f"{code}\n\nWrite it down and keep it away from this machine: it opens the store."
    elif action == "restore":
        if sys.stdin.isatty():
            sys.stderr.write("Recovery code: ")
            sys.stderr.flush()
        code = sys.stdin.readline(CODE_CHARACTERS_MAX)
        if not code.strip():
            raise UsageError("bad_recovery_code", "expected a recovery code on standard input, found nothing")
        keeping.restore_key(app, code)
        said = "The key was restored."
    elif action == "keyring":
        extra["keyring_entry"] = keeping.key_to_keyring(app)
        said = "The key is in the OS keyring now; the file only names it."
    elif action == "file":
        keeping.key_to_file(app)
        said = "The key is in its file again."
    place = keeping.key_place(app)
    place.update(extra)

    def show(screen: object) -> None:
        from waypost.surfaces.cli.screen import Screen

        assert isinstance(screen, Screen)
        if said:
            screen.line(said)
        holder = (
            f"the OS keyring, entry {place['keyring_entry']}" if place["holder"] == "keyring" else "a file"
        )
        screen.line(f"Key:   {place['path']} ({holder}, mode {place['mode'] or 'none yet'})")
        screen.line(f"Store: {place['store']}")

    return Result({"action": action, **place}, show)
