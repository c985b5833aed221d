"""Fixtures that drive the real Claude Code and Codex programs against a scripted model.

``tools/install_agents.sh`` puts the programs into ``.tools/agents``; WAYPOST_TEST_CLAUDE
and WAYPOST_TEST_CODEX name others. Without them the tests that need one are skipped.

``run_claude(scenario, prompt, ...)`` and ``run_codex(scenario, prompt, ...)`` play one
scenario in the homes ``claude_home`` and ``codex_home`` and return an ``AgentRun``: exit
status, transcripts, the model's request log, and what it billed per answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import agent_cli
from agent_cli import AgentHome, AgentRun

CALC = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": ('from calc import add\n\nassert add(2, 3) == 5, add(2, 3)\nprint("all tests passed")\n'),
}


def _home(harness: str, tmp_path: Path) -> AgentHome:
    program = agent_cli.find_program(harness)
    if program is None:
        pytest.skip(f"{harness} is not installed: run tools/install_agents.sh")
    home = AgentHome(root=tmp_path / harness, harness=harness, program=program)
    home.write(CALC)
    home.commit_all()
    return home


@pytest.fixture
def scenarios() -> Path:
    """The folder of scenarios that tests share."""
    return Path(__file__).parent / "scenarios"


@pytest.fixture
def claude_home(tmp_path: Path) -> Iterator[AgentHome]:
    """An empty home for Claude Code; its workspace is a git repository with a failing test."""
    yield _home("claude", tmp_path)


@pytest.fixture
def codex_home(tmp_path: Path) -> Iterator[AgentHome]:
    """An empty home for Codex; its workspace is a git repository with a failing test."""
    yield _home("codex", tmp_path)


@pytest.fixture
def run_claude(claude_home: AgentHome) -> Callable[..., AgentRun]:
    """``run_claude(scenario, prompt, ...)``: see :func:`agent_cli.run_claude`."""
    return partial(agent_cli.run_claude, claude_home)


@pytest.fixture
def run_claude_typed(claude_home: AgentHome) -> Callable[..., AgentRun]:
    """``run_claude_typed(scenario, steps, ...)``: see :func:`agent_cli.run_claude_typed`."""
    return partial(agent_cli.run_claude_typed, claude_home)


@pytest.fixture
def rejected_write(run_claude_typed: Callable[..., AgentRun], scenarios: Path) -> AgentRun:
    """A person asks for a file, rejects it in words of their own, and asks on."""
    steps = (
        {"text": "Keep the key in a file.", "then": "quiet"},
        {"keys": ("down", "down", "tab")},
        {"text": "No, never in a file.", "then": "turn"},
        {"text": "What did you change?", "then": "turn"},
    )
    run = run_claude_typed(scenarios / "rejected-write.yaml", steps, args=("--permission-mode", "default"))
    run.require_ok()
    return run


@pytest.fixture
def run_codex_typed(codex_home: AgentHome) -> Callable[..., AgentRun]:
    """``run_codex_typed(scenario, steps, ...)``: see :func:`agent_cli.run_codex_typed`."""
    return partial(agent_cli.run_codex_typed, codex_home)


@pytest.fixture
def run_codex(codex_home: AgentHome) -> Callable[..., AgentRun]:
    """``run_codex(scenario, prompt, ...)``: see :func:`agent_cli.run_codex`."""
    return partial(agent_cli.run_codex, codex_home)
