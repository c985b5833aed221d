"""Importing has no effect, and the paths that start hundreds of times a day import little."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from source import files, module_name

#: Modules that a start-up path may not pay for.
HEAVY = (
    "asyncio",
    "ssl",
    "urllib.request",
    "importlib.metadata",
    "keyring",
    "pydantic",
    "rich",
    "watchfiles",
    "multiprocessing",
    "tomllib",
)

LOOK = """
import os, sys, builtins, io
touched = []
def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        mode, flags = arguments[1], arguments[2] or 0
        if (mode and set(mode) & set("wax+")) or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            touched.append(f"{event} {arguments[0]!r}")
    elif event in ("os.mkdir", "os.rename", "os.remove", "socket.connect", "subprocess.Popen", "os.fork",
                   "os.putenv", "os.chmod", "_thread.start_new_thread"):
        touched.append(f"{event} {arguments[:1]!r}")
sys.dont_write_bytecode = True
sys.addaudithook(hook)
environment = dict(os.environ)
before = set(sys.modules)
for name in sys.argv[1:]:
    touched.clear()
    __import__(name)
    if touched:
        sys.exit(f"importing {name} had an effect: {touched}")
if dict(os.environ) != environment:
    sys.exit("importing changed the environment")
"""

FIRST = """
import os, sys
failed = []
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            __import__(name)
        except BaseException as error:
            os.write(2, f"{name}: {error!r}\\n".encode())
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
sys.exit(f"cannot be imported first: {failed}" if failed else 0)
"""

LOADED = """
import sys
from waypost.surfaces.cli.main import main
status = main(sys.argv[1:])
sys.stdout.flush()
print("\\n".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(status)
"""


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def tree_of(folder: Path) -> set[str]:
    """Return everything below a folder."""
    return {str(path) for path in folder.rglob("*")}


def test_importing_every_module_prints_nothing_and_touches_nothing(hermetic: Path) -> None:
    names = [module_name(path) for path in files()]
    assert len(names) > 40
    before = tree_of(hermetic.parent)
    done = python(LOOK, *names)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")
    assert tree_of(hermetic.parent) == before


def test_every_module_can_be_imported_first(hermetic: Path) -> None:
    """In a process of its own each, so that a cycle hidden by an earlier import shows."""
    done = python(FIRST, *(module_name(path) for path in files()))
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(
    "words",
    [("--version",), ("--help",), ("sessions",), ("sessions", "--json"), ("costs", "--json"), ("nosuch",)],
    ids=" ".join,
)
def test_a_start_without_a_terminal_loads_nothing_heavy(words: tuple[str, ...], hermetic: Path) -> None:
    done = python(LOADED, *words)
    modules = set(done.stderr.splitlines())
    assert "waypost.surfaces.cli.main" in modules, done.stderr
    found = [name for name in HEAVY if name in modules]
    assert not found, f"waypost {' '.join(words)} loads {found}"


def test_a_start_on_a_full_store_loads_nothing_heavy(hermetic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is there: the schema is checked, the key read, sessions shown."""
    made = python(LOADED, "quickstart", "--sample", "--json")
    assert made.returncode == 0, made.stderr
    monkeypatch.setenv("WAYPOST_HOME", str(Path(os.environ["WAYPOST_HOME"]) / "sample"))
    done = python(LOADED, "sessions", "--json")
    assert done.returncode == 0 and '"ses_' in done.stdout
    modules = set(done.stderr.splitlines())
    found = [name for name in HEAVY if name in modules]
    assert not found, f"waypost sessions loads {found}"


def test_the_version_needs_one_module_of_ours(hermetic: Path) -> None:
    done = python(LOADED, "--version")
    ours = {name for name in done.stderr.splitlines() if name.startswith("waypost.")}
    assert ours == {"waypost.surfaces", "waypost.surfaces.cli", "waypost.surfaces.cli.main"}
