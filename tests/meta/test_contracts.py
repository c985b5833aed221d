"""The import contracts hold, and each would be seen to fail: a contract that cannot fail holds nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from source import PACKAGE, ROOT

LINT = Path(sys.executable).parent / "lint-imports"

#: Contract name → (file below waypost, the line that breaks it).
VIOLATIONS = {
    "Six floors: imports only go down": ("rules/usage.py", "from waypost.flows import app"),
    "Nouns, judgements and readers do not touch the world": ("rules/usage.py", "import subprocess"),
    "Only the store speaks SQL": ("flows/history.py", "import sqlite3"),
    "Harness readers are independent of each other": (
        "plugins/harnesses/codex/render.py",
        "from waypost.plugins.harnesses.claude_code import shapes",
    ),
}


def contracts() -> list[str]:
    """Return the names of the contracts in pyproject.toml."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return [one["name"] for one in table["tool"]["importlinter"]["contracts"]]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the import linter on the tree in a folder."""
    return subprocess.run(
        [str(LINT), "--no-cache", "--config", str(folder / "pyproject.toml")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the source with the configuration beside it."""
    folder = tmp_path / "copied"
    shutil.copytree(
        PACKAGE,
        folder / "src" / "waypost",
        ignore=shutil.ignore_patterns("__pycache__", "*.jsonl"),
    )
    shutil.copy(ROOT / "pyproject.toml", folder / "pyproject.toml")
    return folder


def test_the_source_keeps_every_contract() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(contracts())} kept, 0 broken" in done.stdout


def test_every_contract_has_a_deliberate_violation_here() -> None:
    assert set(VIOLATIONS) == set(contracts())


def test_the_copy_that_is_to_be_broken_is_whole(copied: Path) -> None:
    done = lint(copied)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_violation_breaks_its_contract(name: str, copied: Path) -> None:
    file, line = VIOLATIONS[name]
    path = copied / "src" / "waypost" / file
    path.write_text(path.read_text("utf-8") + f"\n\n{line}\n", "utf-8")
    done = lint(copied)
    assert done.returncode != 0, done.stdout
    broken = [one for one in done.stdout.splitlines() if one.rstrip().endswith("BROKEN")]
    assert any(one.startswith(name) for one in broken), done.stdout
