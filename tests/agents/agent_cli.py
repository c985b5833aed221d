"""The real Claude Code and Codex programs, run once against a scripted model.

``AgentHome`` is an empty home with a workspace beside it; ``run_claude`` and ``run_codex``
play one scenario in it and return what happened, together with what the scripted model
billed: the ground truth that a transcript reader is compared with.

Isolation: the environment is built from nothing, the key is fake, the model listens on
127.0.0.1, every other address is sent to a closed loopback port by the proxy variables,
``TMPDIR`` lies beside ``HOME`` (Codex refuses a home below it), and a mark in the
environment finds every process of the run afterwards, also those with a session of their
own (a background command, a command that outlived a killed CLI).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mockmodel import Billed, Exchange, MockModel, Report, Scenario, Tokens, billed, total
from mockmodel.clients import (
    FAKE_KEY,
    Run,
    claude_env,
    claude_transcripts,
    codex_config,
    codex_env,
    codex_rollouts,
    run,
    write_codex_home,
)
from terminal import Terminal

CHECKOUT = Path(__file__).resolve().parents[2]
AGENTS_FOLDER = CHECKOUT / ".tools" / "agents"
RUN_SECONDS_MAX = 120.0
TYPED_SECONDS_MAX = 20.0
MARK = "WAYPOST_AGENT_RUN"
CLOSED_PROXY = "http://127.0.0.1:9"

_OVERRIDES = {name: os.environ.get(f"WAYPOST_TEST_{name.upper()}", "") for name in ("claude", "codex")}
_tags = itertools.count(1)


def find_program(name: str) -> Path | None:
    """``claude`` or ``codex``: from WAYPOST_TEST_CLAUDE / WAYPOST_TEST_CODEX, else .tools/agents."""
    if _OVERRIDES[name]:
        return Path(_OVERRIDES[name])
    if name == "codex":
        # npm's `codex` is a Node launcher; the program itself starts faster and takes signals directly.
        for native in sorted((AGENTS_FOLDER / "node_modules/@openai").glob("codex-*/vendor/*/bin/codex")):
            return native
    link = AGENTS_FOLDER / "node_modules" / ".bin" / name
    return link if link.exists() else None


@dataclass(slots=True)
class AgentHome:
    """A home folder of one harness, a workspace, and a temporary folder beside both.

    ``environment`` is added to every run; ``place`` is the workspace below ``root``.
    """

    root: Path
    harness: str
    program: Path
    environment: dict[str, str] = field(default_factory=dict)
    place: str = "workspace"

    def __post_init__(self) -> None:
        for folder in (self.home, self.tmp, self.workspace):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    @property
    def workspace(self) -> Path:
        return self.root / self.place

    def transcripts(self) -> list[Path]:
        """The session files written so far, oldest first; sub-agents' files are among them."""
        return claude_transcripts(self.home) if self.harness == "claude" else codex_rollouts(self.home)

    def write(self, files: Mapping[str, str]) -> None:
        """Put text files into the workspace."""
        for name, text in files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def git(self, *args: str) -> str:
        """Run git in the workspace with a pinned identity and clock."""
        done = subprocess.run(
            ["git", *args],
            cwd=self.workspace,
            env=git_env(self.home),
            check=True,
            capture_output=True,
            text=True,
            timeout=30,
        )
        return done.stdout

    def commit_all(self, message: str = "Start") -> None:
        """Make the workspace a git repository with one commit on ``main``."""
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)


def git_env(home: Path) -> dict[str, str]:
    """A whole environment for git: nobody's configuration, one invented author."""
    who = {"NAME": "Sam Rivera", "EMAIL": "sam@example.com", "DATE": "2026-11-02T09:00:00+00:00"}
    identity = {f"GIT_{role}_{key}": text for role in ("AUTHOR", "COMMITTER") for key, text in who.items()}
    return {
        "PATH": os.defpath,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        **identity,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """One finished run: the process, the transcripts, and the scripted model's own record.

    ``leftovers`` are the ids of processes that outlived the CLI; they have been killed.
    """

    home: AgentHome
    process: Run
    requests: tuple[Exchange, ...]
    billed: tuple[Billed, ...]
    report: Report
    transcripts: tuple[Path, ...]
    leftovers: tuple[int, ...]

    @property
    def exit_status(self) -> int:
        return self.process.returncode

    @property
    def tokens(self) -> Tokens:
        """What was billed for answers that were sent whole."""
        return total(self.billed)

    def require_ok(self) -> None:
        """Raise ``AssertionError`` unless the whole scenario was played as written."""
        if not self.report.ok:
            raise AssertionError(f"{self.report.as_json()}\n{self.process.stdout}\n{self.process.stderr}")


def run_claude(
    home: AgentHome,
    scenario: Scenario | str | Path,
    prompt: str,
    *,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    interrupt_after: float | None = None,
    signal_number: int = signal.SIGINT,
    timeout: float = RUN_SECONDS_MAX,
) -> AgentRun:
    """``claude -p PROMPT`` with edits and every Bash command allowed.

    ``args`` come last, so that they can override the permission defaults. An empty
    ``prompt`` leaves the prompt to ``stdin`` (``--input-format stream-json``).
    """
    words = [
        str(home.program),
        "-p",
        *([prompt] if prompt else []),
        "--output-format",
        "stream-json",
        "--verbose",
        *(args or ("--permission-mode", "acceptEdits", "--allowedTools", "Bash")),
    ]
    with MockModel(scenario, tag=_tag("C")) as mock:
        whole_env = claude_env(home.home, mock.url, TMPDIR=str(home.tmp), **_env(home, env))
        process, leftovers = _run(home, words, whole_env, stdin, interrupt_after, signal_number, timeout)
        return _finished(home, process, leftovers, mock)


def run_claude_typed(
    home: AgentHome,
    scenario: Scenario | str | Path,
    steps: Sequence[Mapping[str, object]],
    *,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> AgentRun:
    """An interactive Claude Code session, typed into: prompts count as a person's.

    A step is ``{"text": TEXT, "then": "turn" or "quiet"}`` (type it, press Enter, wait for
    the end of the turn or for a silent screen, such as a permission dialog) or
    ``{"keys": [KEY, ...]}``. The session is left with two interrupts.
    """
    _skip_onboarding(home)
    words = [str(home.program), *(args or ("--permission-mode", "acceptEdits", "--allowedTools", "Bash"))]
    with MockModel(scenario, tag=_tag("C")) as mock:
        whole_env = claude_env(home.home, mock.url, TMPDIR=str(home.tmp), **_env(home, env))
        return _typed(home, words, whole_env, steps, mock)


def run_codex_typed(
    home: AgentHome,
    scenario: Scenario | str | Path,
    steps: Sequence[Mapping[str, object]],
    *,
    args: Sequence[str] = (),
    resume: Sequence[str] = (),
    model: str = "gpt-5.4",
    env: Mapping[str, str] | None = None,
) -> AgentRun:
    """An interactive Codex session, typed into; steps as for Claude Code.

    Without ``--no-daemon`` a server would outlive the session. Older models of the
    catalogue open a dialog that offers newer ones: the default model is not in it. The
    scenario needs a lane for the title request, whose turn metadata say ``thread_title``.
    """
    with MockModel(scenario, tag=_tag("X")) as mock:
        policy = 'sandbox_mode = "workspace-write"\napproval_policy = "never"\n'
        trust = f'\n[projects."{home.workspace}"]\ntrust_level = "trusted"\n'
        write_codex_home(home.home, codex_config(mock.url, model=model, extra=policy) + trust)
        words = [str(home.program), *resume, "--no-daemon", *args]
        whole_env = codex_env(home.home, **{"TMPDIR": str(home.tmp), **_env(home, env)})
        return _typed(home, words, whole_env, steps, mock)


def _typed(
    home: AgentHome,
    words: Sequence[str],
    env: Mapping[str, str],
    steps: Sequence[Mapping[str, object]],
    mock: MockModel,
) -> AgentRun:
    mark = uuid.uuid4().hex
    started = time.monotonic()
    leftovers: tuple[int, ...] = ()
    try:
        with Terminal(words, env={**env, MARK: mark}, cwd=home.workspace) as terminal:
            terminal.wait_quiet(seconds_max=TYPED_SECONDS_MAX)
            for step in steps:
                _type_step(terminal, step, home)
            terminal.press("interrupt")
            terminal.wait_until(lambda: False, seconds_max=0.3)
            terminal.press("interrupt")
            status = terminal.wait_exit(seconds_max=TYPED_SECONDS_MAX)
    finally:
        leftovers = _kill_marked(mark)
    process = Run(
        args=tuple(words),
        returncode=-signal.SIGKILL if status is None else status,
        stdout=terminal.output.decode(errors="replace"),
        stderr="",
        seconds=round(time.monotonic() - started, 3),
    )
    return _finished(home, process, leftovers, mock)


def _skip_onboarding(home: AgentHome) -> None:
    """What the first-start dialogs would have written: theme, key and folder are accepted."""
    path = home.home / ".claude.json"
    if path.exists():
        return
    accepted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    settings = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": "2.1.332",
        "theme": "dark",
        "customApiKeyResponses": {"approved": [FAKE_KEY[-20:]], "rejected": []},
        "projects": {str(home.workspace): accepted},
    }
    path.write_text(json.dumps(settings), encoding="utf-8")


def _type_step(terminal: Terminal, step: Mapping[str, object], home: AgentHome) -> None:
    for key in cast(Sequence[str], step.get("keys", ())):
        terminal.press(key)
        terminal.wait_quiet(seconds_max=TYPED_SECONDS_MAX)
    if "text" not in step:
        return
    ended = _turns_ended(home)
    terminal.type(str(step["text"]))
    terminal.wait_quiet(seconds_max=TYPED_SECONDS_MAX)
    terminal.press("enter")
    if step.get("then") == "turn":
        terminal.wait_until(lambda: _turns_ended(home) > ended, seconds_max=TYPED_SECONDS_MAX)
    terminal.wait_quiet(seconds_max=TYPED_SECONDS_MAX)


def _turns_ended(home: AgentHome) -> int:
    """How many turns the transcripts call ended: the last record that a turn writes."""
    mark = '"subtype":"turn_duration"' if home.harness == "claude" else '"type":"task_complete"'
    return sum(path.read_text(encoding="utf-8").count(mark) for path in home.transcripts())


def run_codex(
    home: AgentHome,
    scenario: Scenario | str | Path,
    prompt: str,
    *,
    args: Sequence[str] = (),
    resume: Sequence[str] = (),
    model: str = "gpt-5.5",
    config: str = "",
    env: Mapping[str, str] | None = None,
    interrupt_after: float | None = None,
    signal_number: int = signal.SIGINT,
    timeout: float = RUN_SECONDS_MAX,
) -> AgentRun:
    """``codex exec PROMPT`` with a writable workspace.

    ``resume`` holds the words after ``exec`` that continue a thread, for example
    ``("resume", "--last")``; ``config`` is TOML for the top of ``config.toml``. The
    model decides which tools are offered: ``gpt-5.5`` patches and runs commands,
    ``gpt-6.2-sol`` writes JavaScript that does (code mode).
    """
    with MockModel(scenario, tag=_tag("X")) as mock:
        toml = codex_config(mock.url, model=model, extra=f'sandbox_mode = "workspace-write"\n{config}')
        write_codex_home(home.home, toml)
        words = [str(home.program), "exec", *resume, "--json", *args, prompt]
        whole_env = codex_env(home.home, **{"TMPDIR": str(home.tmp), **_env(home, env)})
        process, leftovers = _run(home, words, whole_env, "", interrupt_after, signal_number, timeout)
        return _finished(home, process, leftovers, mock)


def _tag(letter: str) -> str:
    """Different in every run of every process: readers join records on these ids."""
    return f"{letter}{uuid.uuid4().hex[:10]}{next(_tags):02d}"


def _env(home: AgentHome, extra: Mapping[str, str] | None) -> dict[str, str]:
    proxies = {name: CLOSED_PROXY for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
    identity = {key: text for key, text in git_env(home.home).items() if key.startswith("GIT_")}
    return {
        **proxies,
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        **identity,
        **home.environment,
        **(extra or {}),
    }


def _run(
    home: AgentHome,
    words: Sequence[str],
    env: Mapping[str, str],
    stdin: str,
    interrupt_after: float | None,
    signal_number: int,
    timeout: float,
) -> tuple[Run, tuple[int, ...]]:
    mark = uuid.uuid4().hex
    leftovers: tuple[int, ...] = ()
    try:
        process = run(
            words,
            env={**env, MARK: mark},
            cwd=home.workspace,
            stdin=stdin,
            timeout=timeout,
            interrupt_after=interrupt_after,
            signal_number=signal_number,
        )
    finally:
        leftovers = _kill_marked(mark)
    return process, leftovers


def _kill_marked(mark: str) -> tuple[int, ...]:
    pids = tuple(marked(mark))
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return pids


def marked(mark: str) -> list[int]:
    """Every process whose environment carries this run's mark (Linux; elsewhere none)."""
    wanted = f"{MARK}={mark}".encode()
    found: list[int] = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if wanted in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
    return found


def _finished(home: AgentHome, process: Run, leftovers: tuple[int, ...], mock: MockModel) -> AgentRun:
    exchanges = tuple(mock.requests())
    return AgentRun(
        home=home,
        process=process,
        requests=exchanges,
        billed=billed(exchanges),
        report=mock.report(),
        transcripts=tuple(home.transcripts()),
        leftovers=leftovers,
    )
