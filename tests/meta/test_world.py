"""Clock, randomness and environment enter through ``World`` in ``flows/app.py``, or at a place named here."""

from __future__ import annotations

import ast

import pytest
from source import PACKAGE, files, tree

ENTRANCE = "flows/app.py"
SOURCES = {
    "time": frozenset({"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}),
    "datetime": frozenset({"now", "today", "utcnow"}),
    "date": frozenset({"today"}),
    "os": frozenset({"environ", "environb", "getenv", "urandom", "getrandom"}),
}
MODULES = frozenset({"random", "secrets", "uuid"})
# What a replay could not tell apart, each with the reason why it may stand below or beside World.
ALLOWED = {
    ("machine/files.py", "os.urandom"): "the name of a temporary file, gone when the write ends",
    ("machine/keys.py", "os.urandom"): "a key is never replayed",
    ("machine/store/database.py", "time.time"): "the age of temporary files a killed write left behind",
    ("surfaces/cli/screen.py", "os.environ"): "NO_COLOR and TERM: only how a page is coloured",
    ("surfaces/cli/running.py", "os.environ"): "WAYPOST_TRACEBACK: a developer's switch",
}


def uses(syntax: ast.Module) -> set[str]:
    """Return every clock, source of randomness and environment that a module names."""
    found: set[str] = set()
    for node in ast.walk(syntax):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = (
                owner.id
                if isinstance(owner, ast.Name)
                else owner.attr
                if isinstance(owner, ast.Attribute)
                else ""
            )
            if node.attr in SOURCES.get(name, ()):
                found.add(f"{name}.{node.attr}")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            module = node.module or ""
            found |= {module} & MODULES
            found |= {
                f"{module}.{alias.name}" for alias in node.names if alias.name in SOURCES.get(module, ())
            }
    return found


def test_clock_randomness_and_environment_enter_through_world() -> None:
    found = {
        (path.relative_to(PACKAGE).as_posix(), use)
        for path in files()
        if path.relative_to(PACKAGE).as_posix() != ENTRANCE
        for use in uses(tree(path))
    }
    assert found == set(ALLOWED)


@pytest.mark.parametrize(
    ("text", "use"),
    [
        ("import time\ntime.monotonic()", "time.monotonic"),
        ("from time import time_ns", "time.time_ns"),
        ("import datetime\ndatetime.datetime.now()", "datetime.now"),
        ("from os import environ", "os.environ"),
        ("import secrets", "secrets"),
        ("def f():\n    from random import random", "random"),
    ],
)
def test_a_use_is_seen(text: str, use: str) -> None:
    assert uses(ast.parse(text)) == {use}
