"""The mock against the real CLIs, where tools/install_agents.sh has put them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from agent_cli import find_program
from mockmodel import MockModel
from mockmodel.clients import (
    Run,
    claude_env,
    claude_transcripts,
    codex_config,
    codex_env,
    codex_rollouts,
    run,
    write_codex_home,
)

EXAMPLES = Path(__file__).parent.parent / "scenarios"
CLAUDE = str(find_program("claude") or "")
CODEX = str(find_program("codex") or "")
pytestmark = pytest.mark.agents
needs_claude = pytest.mark.skipif(not CLAUDE, reason="claude is not installed: run tools/install_agents.sh")
needs_codex = pytest.mark.skipif(not CODEX, reason="codex is not installed: run tools/install_agents.sh")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    ws = tmp_path / "ws"
    ws.mkdir(exist_ok=True)
    (ws / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    test = 'from calc import add\n\nassert add(2, 3) == 5, add(2, 3)\nprint("all tests passed")\n'
    (ws / "test_calc.py").write_text(test)
    subprocess.run(["git", "init", "-q"], cwd=ws, check=True)
    return ws


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir(exist_ok=True)
    return path


def claude(mock: MockModel, home: Path, ws: Path, *args: str) -> Run:
    words = [CLAUDE, "-p", "Fix it.", "--output-format", "stream-json", "--verbose", *args]
    return run(words, env=claude_env(home, mock.url), cwd=ws)


def codex(mock: MockModel, home: Path, ws: Path, *args: str, stream_retries: int = 0) -> Run:
    config = codex_config(mock.url, request_retries=stream_retries, stream_retries=stream_retries)
    write_codex_home(home, config)
    return run([CODEX, "exec", "--json", *args, "Fix it."], env=codex_env(home), cwd=ws)


@needs_claude
def test_claude_edits_and_tests(home: Path, workspace: Path) -> None:
    with MockModel(EXAMPLES / "fix-failing-test.yaml") as mock:
        args = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash(python3 *)")
        result = claude(mock, home, workspace, *args)
        mock.require_ok()
    assert result.returncode == 0
    last = result.json_lines()[-1]
    assert (last["type"], last["is_error"]) == ("result", False)
    assert last["usage"]["output_tokens"] == 193
    assert "return a + b" in (workspace / "calc.py").read_text()
    assert len(claude_transcripts(home)) == 1


@needs_claude
def test_claude_subagent(home: Path, workspace: Path) -> None:
    with MockModel(EXAMPLES / "subagent-claude.yaml") as mock:
        claude(mock, home, workspace, "--allowedTools", "Agent", "Bash")
        mock.require_ok()
    assert len(claude_transcripts(home)) == 2


@needs_claude
def test_claude_survives_faults(home: Path, workspace: Path) -> None:
    with MockModel(EXAMPLES / "faults.yaml") as mock:
        result = claude(mock, home, workspace)
        mock.require_ok()
    assert result.json_lines()[-1]["result"] == "recovered"


@needs_claude
def test_claude_structured_output(home: Path, workspace: Path) -> None:
    properties = {"verdict": {"enum": ["yes", "no"]}, "n": {"type": "integer"}}
    schema = json.dumps({"type": "object", "properties": properties, "required": ["verdict", "n"]})
    with MockModel(EXAMPLES / "structured-claude.yaml") as mock:
        args = ("--json-schema", schema, "--safe-mode", "--tools", "", "--no-session-persistence")
        result = claude(mock, home, workspace, *args)
        mock.require_ok()
    assert result.json_lines()[-1]["structured_output"] == {"verdict": "yes", "n": 3}
    assert claude_transcripts(home) == []


@needs_codex
@pytest.mark.parametrize("model", ["mock-model", "gpt-5.5", "gpt-6.2-sol"])
def test_codex_edits_and_tests(home: Path, workspace: Path, model: str) -> None:
    with MockModel(EXAMPLES / "fix-failing-test.yaml") as mock:
        result = codex(mock, home, workspace, "-s", "workspace-write", "-m", model)
        mock.require_ok()
    assert result.returncode == 0
    last = result.json_lines()[-1]
    assert last["type"] == "turn.completed"
    assert last["usage"]["output_tokens"] == 193
    assert "return a + b" in (workspace / "calc.py").read_text()
    assert len(codex_rollouts(home)) == 1


@needs_codex
def test_codex_subagent(home: Path, workspace: Path) -> None:
    with MockModel(EXAMPLES / "subagent-codex.yaml") as mock:
        codex(mock, home, workspace, "-s", "workspace-write")
        mock.require_ok()
    assert len(codex_rollouts(home)) == 2


@needs_codex
def test_codex_survives_faults(home: Path, workspace: Path) -> None:
    with MockModel(EXAMPLES / "faults.yaml") as mock:
        result = codex(mock, home, workspace, stream_retries=3)
        mock.require_ok()
    assert result.returncode == 0


@needs_codex
def test_codex_compaction(home: Path, workspace: Path) -> None:
    with MockModel(EXAMPLES / "compaction.yaml") as mock:
        codex(mock, home, workspace, "-c", "model_auto_compact_token_limit=5000")
        mock.require_ok()
        assert [e.lane for e in mock.requests("/v1/responses")] == [
            "main",
            "codex-summary",
            "main",
            "main",
        ]
