"""``waypost doctor``: what is where, what is wrong, how to mend it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from waypost.flows.app import App
from waypost.flows.keeping import Check, doctor, worst
from waypost.surfaces.cli.running import Document, Result

if TYPE_CHECKING:
    from waypost.surfaces.cli.screen import Screen

_MARKS = {"ok": "✓", "note": "·", "warning": "!", "broken": "✗"}
_STYLES = {"ok": "green", "note": "dim", "warning": "yellow", "broken": "red"}


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--deep", action="store_true", help="also read every page of the store")


def run(name: str, app: App, arguments: argparse.Namespace, mode: str) -> Result | Document:
    """Look."""
    checks = doctor(app, deep=arguments.deep)
    data: dict[str, object] = {
        "state": worst(checks),
        "checks": [
            {"name": one.name, "state": one.state, "found": one.found, "hint": one.hint} for one in checks
        ],
    }
    return Result(data, lambda screen: _show(screen, checks))


def _show(screen: Screen, checks: list[Check]) -> None:
    width = max(len(one.name) for one in checks)
    for one in checks:
        screen.line(f"{_MARKS[one.state]} {one.name:<{width}}  {one.found}", style=_STYLES[one.state])
        if one.hint and one.state != "ok":
            screen.note(f"  {'':<{width}}  → {one.hint}")
