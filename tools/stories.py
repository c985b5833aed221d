"""Stories: scripted sessions of the real CLIs, written out as transcripts with their truth.

A story is a YAML file: an invented project, a harness, and one or more runs. Each run is
one start of the CLI with a prompt, a mockmodel scenario and the counts that a person
worked out by hand. Playing it gives transcripts; what the model server billed gives the
token truth. The transcripts are never read to make the truth.

The counts written by hand are checked against the traffic between CLI and model: a story
whose commands did not run as intended is refused.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "agents"))

import agent_cli
from agent_cli import AgentHome, AgentRun
from mockmodel import Exchange, Tokens, billed, parse_scenario, total
from mockmodel.billing import Billed
from scrub import Record, Rewriter, Window, iso_times, strip_claude, strip_codex, vendor_leaks, vendor_windows

Json = Any

CHECKOUT = Path(__file__).resolve().parents[1]
CLAUDE_ARGS = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash")
SECONDS_BETWEEN_RUNS = 2.1
"""No whole second belongs to two runs, so that times in whole seconds can be told apart."""
PROMPT_KINDS = ("human", "automated", "agent", "slash_commands")
COMPACTION_LANE = "compact"
TITLE_LANE = "title"
"""Codex asks for a thread's title in a thread of its own, which it does not write down."""
SHOWN_HOME = "/home/sam"
HARNESS_NAMES = {"claude": "claude-code", "codex": "codex"}
_FAILED = re.compile(r"(?:Exit code|exited with code|exit code:?) ([1-9]\d*)")
_FAILED_LATER = re.compile(
    r"<tool-use-id>([^<]+)</tool-use-id>(?:(?!</task-notification>).)*<status>failed</status>"
)
_DENIED = re.compile(r"haven't granted|requires approval|doesn't want to proceed")


class StoryError(Exception):
    """A story that did not go as it says."""


@dataclass(frozen=True, slots=True)
class Played:
    """One run of a story and the seconds it took."""

    spec: Mapping[str, Json]
    run: AgentRun
    window: Window


@dataclass(slots=True)
class Counts:
    """What one native session did, summed over its runs."""

    harness: str
    story: str
    prompts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PROMPT_KINDS, 0))
    commands: dict[str, int] = field(default_factory=lambda: {"run": 0, "failed": 0, "unfinished": 0})
    denied: int = 0
    parent: str | None = None
    forked_from: str | None = None
    answers: list[Billed] = field(default_factory=list)
    agents: dict[str, list[Billed]] = field(default_factory=dict)
    titles: list[Billed] = field(default_factory=list)


def load(path: Path) -> dict[str, Json]:
    """A story with its project's files filled in."""
    story = yaml.safe_load(path.read_text(encoding="utf-8"))
    project = path.parent / "projects" / f"{story['project']}.yaml"
    if not project.exists():
        project = CHECKOUT / "tools" / "sample" / "projects" / project.name
    data = yaml.safe_load(project.read_text(encoding="utf-8"))
    return {**story, "remote": data["remote"], "files": {**data["files"], **story.get("files", {})}}


def play_and_write(story: Mapping[str, Json], target: Path) -> dict[str, Json]:
    """Play ``story`` in a throw-away home; write its transcripts below ``target``; the truth."""
    root = Path(tempfile.mkdtemp(prefix="story-"))
    try:
        home = _home(story, root)
        played = _play(story, home)
        places = _places(home)
        rewriter = Rewriter(places, [item.window for item in played])
        paths = _write(home, played, rewriter, target)
        return _truth(story, played, rewriter, paths)
    finally:
        shutil.rmtree(root, ignore_errors=True)


# -- playing ------------------------------------------------------------------


def _home(story: Mapping[str, Json], root: Path) -> AgentHome:
    program = agent_cli.find_program(story["harness"])
    if program is None:
        raise StoryError(f"{story['harness']} is not installed: run tools/install_agents.sh")
    path = f"{root / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    home = AgentHome(
        root=root,
        harness=story["harness"],
        program=program,
        environment={
            "PATH": path,
            "TZ": "UTC",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **story.get("env", {}),
        },
        place=f"home/code/{story['project']}",
    )
    (home.home / ".bash_profile").write_text(f"export PATH={path}\n", encoding="utf-8")
    (root / "bin").mkdir()
    pytest = root / "bin" / "pytest"
    pytest.write_text(
        f"#!{sys.executable}\nimport sys\n\nimport pytest\n\nsys.exit(pytest.main())\n", encoding="utf-8"
    )
    pytest.chmod(0o755)
    home.write(story["files"])
    home.commit_all()
    home.git("remote", "add", "origin", story["remote"])
    return home


def _play(story: Mapping[str, Json], home: AgentHome) -> list[Played]:
    played: list[Played] = []
    for spec in story["runs"]:
        scenario = parse_scenario(spec["scenario"], default_name=story["name"])
        continued = _main_id(played[-1].run) if spec.get("continues") else ""
        time.sleep(SECONDS_BETWEEN_RUNS)
        begin = time.time()
        run = (_play_claude if home.harness == "claude" else _play_codex)(home, scenario, spec, continued)
        begin, end = _span(home, begin, time.time())
        if run.report.problems or not run.report.complete:
            raise StoryError(
                f"{story['name']}: {run.report.as_json()}\n{run.process.stdout}\n{run.process.stderr}"
            )
        if run.exit_status != spec.get("exit", 0):
            raise StoryError(f"{story['name']}: exit {run.exit_status}\n{run.process.stderr}")
        shown = datetime.fromisoformat(str(spec["starts"])).timestamp()
        played.append(Played(spec, run, Window(begin=begin, end=end, shown=shown, lasts=spec["seconds"])))
    return played


def _span(home: AgentHome, begin: float, end: float) -> tuple[float, float]:
    """The first and the last time that a run wrote down, between ``begin`` and ``end``."""
    times = [at for path in home.transcripts() for at in iso_times(path.read_text(encoding="utf-8"))]
    inside = [at for at in times if begin <= at <= end]
    return min(inside), max(inside)


def _play_claude(home: AgentHome, scenario: Json, spec: Mapping[str, Json], continued: str) -> AgentRun:
    args = [
        str(word) for word in spec.get("args", ["--permission-mode", "acceptEdits", "--allowedTools", "Bash"])
    ]
    args = ["--model", spec["model"], *(word.replace("{checkout}", str(CHECKOUT)) for word in args)]
    if continued:
        args += ["--resume", continued]
    if spec.get("continues") == "fork":
        args.append("--fork-session")
    if "typed" in spec:
        return agent_cli.run_claude_typed(home, scenario, spec["typed"], args=args, env=spec.get("env"))
    prompts = spec.get("prompts", [])
    stdin = "".join(
        json.dumps({"type": "user", "message": {"role": "user", "content": text}}) + "\n" for text in prompts
    )
    if prompts:
        args += ["--input-format", "stream-json"]
    return agent_cli.run_claude(
        home,
        scenario,
        spec.get("prompt", ""),
        args=args,
        stdin=stdin,
        env=spec.get("env"),
        interrupt_after=spec.get("interrupt_after"),
    )


def _play_codex(home: AgentHome, scenario: Json, spec: Mapping[str, Json], continued: str) -> AgentRun:
    if "typed" in spec:
        return agent_cli.run_codex_typed(
            home,
            scenario,
            spec["typed"],
            args=[str(word) for word in spec.get("args", [])],
            resume=(spec["continues"], continued) if continued else (),
            model=spec["model"],
            env=spec.get("env"),
        )
    return agent_cli.run_codex(
        home,
        scenario,
        spec["prompt"],
        args=[str(word).replace("{checkout}", str(CHECKOUT)) for word in spec.get("args", [])],
        resume=(spec["continues"], continued) if continued else (),
        model=spec["model"],
        env=spec.get("env"),
        interrupt_after=spec.get("interrupt_after"),
    )


def _native_id(exchange: Exchange) -> str:
    """The session (Claude Code) or thread (Codex) that a request says it belongs to."""
    headers = exchange.headers
    return headers.get("x-claude-code-session-id") or headers.get("thread-id", "")


def _is_codex_child(exchange: Exchange) -> bool:
    return "x-openai-subagent" in exchange.headers


def _main_id(run: AgentRun) -> str:
    return next(
        _native_id(item) for item in run.requests if not _is_codex_child(item) and item.lane != TITLE_LANE
    )


# -- writing ------------------------------------------------------------------


def _places(home: AgentHome) -> list[tuple[str, str]]:
    """Real text and what stands for it, longest first."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(home.home))
    return [
        (str(home.home), SHOWN_HOME),
        (slug, SHOWN_HOME.replace("/", "-")),
        (str(home.tmp), "/tmp"),
        (re.sub(r"[^A-Za-z0-9]", "-", str(home.tmp)), "-tmp"),
        (str(CHECKOUT), "/opt/notes"),
        (sys.executable, "/usr/bin/python3"),
    ]


def _write(home: AgentHome, played: Sequence[Played], rewriter: Rewriter, target: Path) -> dict[str, str]:
    """Write every transcript; map real path to published path (both as text)."""
    windows = vendor_windows(item.body for one in played for item in one.run.requests if item.body)
    strip = strip_claude if home.harness == "claude" else strip_codex
    base = home.home / (".claude" if home.harness == "claude" else ".codex")
    out: dict[str, str] = {}
    sizes: dict[str, list[tuple[int, int]]] = {}
    for source in home.transcripts():
        lines = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
        records = _with_offsets(rewriter.lines(strip(lines)), sizes)
        leaks = vendor_leaks(records, windows)
        if leaks:
            raise StoryError(f"vendor text left in {source.name}: {leaks[:3]}")
        name = _published(source.relative_to(base), rewriter, home.harness)
        _write_lines(target / name, records)
        out[str(source)] = name
        meta = source.with_suffix(".meta.json")
        if meta.exists():
            data = rewriter.lines([json.loads(meta.read_text(encoding="utf-8"))])[0]
            (target / name).with_suffix(".meta.json").write_text(json.dumps(data) + "\n", encoding="utf-8")
    return out


def _with_offsets(records: list[Record], sizes: dict[str, list[tuple[int, int]]]) -> list[Record]:
    """A Codex fork names a byte of its parent's file: name the byte of the published file.

    ``sizes`` holds (ordinal, bytes) of every line of the threads written so far, and gets
    those of ``records``.
    """
    meta = records[0].get("payload", {})
    base = meta.get("history_base")
    if base:
        parent = sizes[base["thread_id"]]
        offset = sum(size for ordinal, size in parent if ordinal < base["end_ordinal_exclusive"])
        base = {**base, "end_byte_offset": offset}
        records = [{**records[0], "payload": {**meta, "history_base": base}}, *records[1:]]
    if "id" in meta:
        sizes[meta["id"]] = [(record["ordinal"], len(_line(record).encode())) for record in records]
    return records


def _published(relative: Path, rewriter: Rewriter, harness: str) -> str:
    name = rewriter.text(str(relative))
    if harness == "codex":
        day = re.search(r"rollout-(\d{4})-(\d\d)-(\d\d)T", name)
        if day is None:
            raise StoryError(f"not a rollout: {name}")
        name = f"sessions/{day.group(1)}/{day.group(2)}/{day.group(3)}/{Path(name).name}"
    return f"{harness}/{name}"


def _write_lines(path: Path, records: Iterable[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(map(_line, records)), encoding="utf-8")


def _line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


# -- truth --------------------------------------------------------------------


def _truth(
    story: Mapping[str, Json], played: Sequence[Played], rewriter: Rewriter, paths: Mapping[str, str]
) -> dict[str, Json]:
    sessions: dict[str, Counts] = {}
    for index, one in enumerate(played):
        main = _main_id(one.run)
        before = _main_id(played[index - 1].run) if one.spec.get("continues") == "fork" else None
        for native in dict.fromkeys(_native_id(item) for item in one.run.requests if item.lane != TITLE_LANE):
            exchanges = [item for item in one.run.requests if _native_id(item) == native]
            child = native != main
            counts = sessions.setdefault(native, Counts(HARNESS_NAMES[story["harness"]], story["name"]))
            counts.parent = main if child else counts.parent
            counts.forked_from = counts.forked_from or (None if child else before)
            counts.prompts[_prompt_kind(one.spec, child)] += (
                1 if child else one.spec.get("prompts_sent", max(1, len(one.spec.get("prompts", []))))
            )
            counts.prompts["slash_commands"] += 0 if child else one.spec.get("slash_commands", 0)
            _add_commands(story, one, "child" if child else one.spec["session"], exchanges, counts)
            _add_answers(exchanges, counts)
            if not child:
                counts.titles += billed(item for item in one.run.requests if item.lane == TITLE_LANE)
    return {
        rewriter.text(native): _session_json(native, counts, rewriter, paths)
        for native, counts in sessions.items()
    }


def _prompt_kind(spec: Mapping[str, Json], child: bool) -> str:
    if child:
        return "agent"
    return "human" if "typed" in spec else "automated"


def _add_commands(
    story: Mapping[str, Json], one: Played, label: str, exchanges: Sequence[Exchange], counts: Counts
) -> None:
    """Add the counts written by hand, after the traffic has confirmed them."""
    written = {"run": 0, "failed": 0, "unfinished": 0, **one.spec["commands"].get(label, {})}
    seen, denied = _wire_commands(exchanges)
    wanted_denied = 0 if label == "child" else one.spec.get("denied", 0)
    if seen != written or denied != wanted_denied:
        raise StoryError(
            f"{story['name']}/{label}: written {written} and {wanted_denied} denied, "
            f"seen {seen} and {denied} denied"
        )
    for key, number in written.items():
        counts.commands[key] += number
    counts.denied += denied


def _wire_commands(exchanges: Sequence[Exchange]) -> tuple[dict[str, int], int]:
    """Commands and denials between CLI and model: calls in whole answers, results in later requests."""
    calls: dict[str, str] = {}
    asked: set[str] = set()
    for item in exchanges:
        if item.usage is not None and item.outcome == "answered":
            calls.update(_shell_calls(item.response))
            asked.update(_call_ids(item.response))
    results: dict[str, str] = {}
    for item in exchanges:
        results.update((key, text) for key, text in _results(item.body or {}).items() if key in asked)
    denied = sum(1 for text in results.values() if _DENIED.search(text))
    ran = [key for key in calls if not _DENIED.search(results.get(key, ""))]
    broken = {key for item in exchanges for key in _failed_later(item.body or {})}
    polls = {key for item in exchanges for key in _poll_ids(item.response or {})}
    return {
        "run": len(ran),
        "failed": sum(1 for key in [*ran, *polls] if key in broken or _FAILED.search(results.get(key, ""))),
        "unfinished": sum(1 for key in ran if key not in results),
    }, denied


def _shell_calls(response: Mapping[str, Json]) -> dict[str, str]:
    out: dict[str, str] = {}
    for block in response.get("content") or []:
        if block.get("type") == "tool_use" and block["name"] == "Bash":
            out[block["id"]] = block["input"]["command"]
    for item in response.get("output") or []:
        text = str(item.get("arguments") or item.get("input") or "")
        shell = item.get("name") in {"exec_command", "shell_command", "shell"}
        if (shell and "apply_patch <<" not in text) or (
            item.get("name") == "exec" and "tools.exec_command" in text
        ):
            out[item["call_id"]] = text
    return out


def _call_ids(response: Mapping[str, Json]) -> set[str]:
    blocks = response.get("content") or []
    items = response.get("output") or []
    return {block["id"] for block in blocks if block.get("type") == "tool_use"} | {
        item["call_id"] for item in items if "call_id" in item
    }


def _failed_later(body: Mapping[str, Json]) -> set[str]:
    """Calls of Claude Code whose background command has failed, by the notes about it."""
    texts = [json.dumps(message, ensure_ascii=False) for message in body.get("messages") or []]
    return {match.group(1) for text in texts for match in _FAILED_LATER.finditer(text)}


def _poll_ids(response: Mapping[str, Json]) -> set[str]:
    """Codex calls that wait for a command which an earlier call has started."""
    items = response.get("output") or []
    return {item["call_id"] for item in items if item.get("name") == "write_stdin"}


def _results(body: Mapping[str, Json]) -> dict[str, str]:
    out: dict[str, str] = {}
    for message in body.get("messages") or []:
        if isinstance(message.get("content"), list):
            for block in message["content"]:
                if block.get("type") == "tool_result":
                    out[block["tool_use_id"]] = json.dumps(block.get("content"), ensure_ascii=False)
    for item in body.get("input") or []:
        if str(item.get("type", "")).endswith("_call_output"):
            out[item["call_id"]] = json.dumps(item.get("output"), ensure_ascii=False)
    return out


def _add_answers(exchanges: Sequence[Exchange], counts: Counts) -> None:
    for item in exchanges:
        for answer in billed([item]):
            counts.answers.append(answer)
            agent = item.headers.get("x-claude-code-agent-id")
            if agent:
                counts.agents.setdefault(agent, []).append(answer)


def _session_json(
    native: str, counts: Counts, rewriter: Rewriter, paths: Mapping[str, str]
) -> dict[str, Json]:
    own = sorted(shown for real, shown in paths.items() if native in real)
    return {
        "harness": counts.harness,
        "story": counts.story,
        "transcripts": own,
        "parent": rewriter.text(counts.parent) if counts.parent else None,
        "forked_from": rewriter.text(counts.forked_from) if counts.forked_from else None,
        "prompts": counts.prompts,
        "commands": counts.commands,
        "calls_denied": counts.denied,
        **_billing_json(counts.answers),
        "tokens_cut_off": _announced(counts).as_json(),
        "unrecorded_tokens": total(counts.titles).as_json(),
        "compaction_tokens": total(one for one in counts.answers if one.lane == COMPACTION_LANE).as_json(),
        "subagents": {agent: _billing_json(answers) for agent, answers in sorted(counts.agents.items())},
    }


def _announced(counts: Counts) -> Tokens:
    """What the first event of each cut-off answer said. Only Claude Code is told anything there."""
    if counts.harness != HARNESS_NAMES["claude"]:
        return Tokens()
    cut = (answer.tokens for answer in counts.answers if not answer.whole)
    return sum((replace(tokens, output=1, reasoning=0) for tokens in cut), Tokens())


def _billing_json(answers: Sequence[Billed]) -> dict[str, Json]:
    models = sorted({answer.model for answer in answers if answer.whole})
    return {
        "responses": sum(1 for answer in answers if answer.whole),
        "responses_cut_off": sum(1 for answer in answers if not answer.whole),
        "tokens": total(answers).as_json(),
        "tokens_by_model": {
            model: total(answer for answer in answers if answer.model == model).as_json() for model in models
        },
    }


def sum_tokens(truths: Iterable[Mapping[str, Json]]) -> dict[str, int]:
    """The token totals of several sessions, added up."""
    return sum((Tokens(**truth["tokens"]) for truth in truths), Tokens()).as_json()
