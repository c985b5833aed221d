"""Every set of the study corpus against an independent oracle (``tests/oracle``).

The corpus is not in the repository; without it every test here is skipped. Each set is one store.
What differs from the oracle is listed with its reason, and a listed difference that goes away fails
too, so the list says exactly what is known.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from waypost.flows.app import World, opened
from waypost.flows.history import History
from waypost.flows.ingest import Root, ingest
from waypost.surfaces import views

ORACLE = Path(__file__).resolve().parents[1] / "oracle"
EXPECTED = sorted((ORACLE / "expected").glob("*.json"))
CLASSES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")
CLAUDE_HOMES = ("cc", "cctui", "cctui2", "paced")

REASONING_IN_TOTAL = (
    "hand-made: last.total counts reasoning again, which the reference's rule takes for a filler"
)
COLLIDING = "hand-made: two files call different answers by the same ids"
HOOK_STOP = "the text of a hook that stopped the prompt is the harness's, not a person's"
PLAN = "an approved plan that the harness hands to a new session is not typed by a person"
BARE_SLASH = "the bare echo of a slash command is not a prompt"
NO_NAME = "rows without session id, uuid and version are not Claude Code's, or not before one that is"
ESCAPE = "escape during a command reads like a rejection in this version"
SIGNAL = "ended by a signal: interrupted, where the oracle says failed or denied"

#: (set, session, field) -> (ours, why)
EXPLAINED: dict[tuple[str, str, str], tuple[int, str]] = {
    ("codex__kvsankar__agent-history", "compact-codex-001", "input"): (1500, REASONING_IN_TOTAL),
    ("codex__kvsankar__agent-history", "compact-codex-001", "output"): (1000, REASONING_IN_TOTAL),
    ("codex__kvsankar__agent-history", "compact-codex-001", "cache_read"): (500, REASONING_IN_TOTAL),
    ("codex__kvsankar__agent-history", "compact-codex-001", "reasoning"): (200, REASONING_IN_TOTAL),
    ("codex__kvsankar__agent-history", "golden-codex-001", "input"): (90, REASONING_IN_TOTAL),
    ("codex__kvsankar__agent-history", "golden-codex-001", "output"): (75, REASONING_IN_TOTAL),
    ("codex__kvsankar__agent-history", "golden-codex-001", "cache_read"): (60, REASONING_IN_TOTAL),
    ("codex__kvsankar__agent-history", "golden-codex-001", "reasoning"): (8, REASONING_IN_TOTAL),
    ("codex__kvsankar__agent-history", "rejection-codex-001", "input"): (150, REASONING_IN_TOTAL),
    ("codex__kvsankar__agent-history", "rejection-codex-001", "output"): (100, REASONING_IN_TOTAL),
    ("codex__kvsankar__agent-history", "rejection-codex-001", "cache_read"): (50, REASONING_IN_TOTAL),
    ("codex__kvsankar__agent-history", "rejection-codex-001", "reasoning"): (20, REASONING_IN_TOTAL),
    ("codex__ryoppippi__ccusage", "session-alpha", "input"): (2750, REASONING_IN_TOTAL),
    ("codex__ryoppippi__ccusage", "session-alpha", "output"): (425, REASONING_IN_TOTAL),
    ("codex__ryoppippi__ccusage", "session-alpha", "cache_read"): (750, REASONING_IN_TOTAL),
    ("codex__ryoppippi__ccusage", "session-alpha", "reasoning"): (275, REASONING_IN_TOTAL),
    ("claude__daaain__claude-code-log", "todowrite_session", "shared input"): (438, COLLIDING),
    ("claude__daaain__claude-code-log", "test_session", "prompts"): (3, COLLIDING),
    ("claude__entireio__cli", "1ecba475-5b18-4058-a0cb-e87703f6f792", "prompts"): (3, HOOK_STOP),
    ("claude__entireio__cli", "4b3ddf27-d7f7-4773-b4f2-b94b999c661d", "prompts"): (10, HOOK_STOP),
    ("claude__entireio__cli", "2a80b8d9-b65a-4c2e-8bf4-0df4958640fd", "prompts"): (1, PLAN),
    ("claude__entireio__cli", "7505c804-ef06-4be0-a866-480597e6bbc1", "prompts"): (2, PLAN),
    ("claude__entireio__cli", "c010174c-a7cd-4bcc-b7d4-61258d6c463f", "prompts"): (1, PLAN),
    ("claude__local-cli__claude-code-2.1.250__cctui", "c6d6d669-0e0a-46c8-84eb-2e10ae6ece80", "prompts"): (
        10,
        BARE_SLASH,
    ),
    ("claude__local-cli__claude-code-2.1.250__cctui", "c6d6d669-0e0a-46c8-84eb-2e10ae6ece80", "denied"): (
        2,
        ESCAPE,
    ),
    ("claude__kenn-io__agentsview", "tool_call_pending", "prompts"): (0, NO_NAME),
    ("claude__kenn-io__agentsview", "truncated", "prompts"): (0, NO_NAME),
    ("claude__kenn-io__agentsview", "valid_session", "prompts"): (1, NO_NAME),
    ("codex__local-cli__codex-0.171.0", "01a22d3f-be7d-75b3-ac2d-a1309b103d09", "failed"): (0, SIGNAL),
    ("codex__local-cli__codex-0.171.0", "01a22d3f-cda9-7d13-bf62-31cce497d488", "failed"): (0, SIGNAL),
    ("codex__local-cli__codex-0.171.0", "01a22d43-f81a-73d1-9120-418a5abe5745", "failed"): (3, SIGNAL),
    ("real-cli__codex__interrupt-tool-sigint", "01a22d61-ff6d-73f2-95e5-4ba74ddb2e4a", "failed"): (0, SIGNAL),
    ("real-cli__claude__interrupt-tool-sigint", "d0bd4236-5388-4105-8185-dcf00271bbed", "denied"): (
        0,
        SIGNAL,
    ),
}
#: Sessions that the oracle names by file and we do not recognise as Claude Code's.
UNRECOGNISED = {
    ("claude__kenn-io__agentsview", "queued_system_messages"),
    ("claude__kvsankar__agent-history", "session_with_compaction"),
    ("claude__palimondo__BookMinder", "file_ops_session"),
    ("claude__palimondo__BookMinder", "minimal_session"),
    ("claude__ysamlan__agent-log-gif", "demo_session"),
}

pytestmark = pytest.mark.corpus
Line = dict[str, Any]


def roots_of(name: str, corpus: Path) -> tuple[str, Path]:
    """The harness of a set and the folder that is its configuration or home."""
    kind, _, rest = name.partition("__")
    if kind == "real-cli":
        harness, _, case = rest.partition("__")
        return harness, corpus / "real-cli" / harness / case / "home" / f".{harness}"
    folder, home = rest, ""
    if rest.rsplit("__", 1)[-1] in CLAUDE_HOMES:
        folder, home = rest.rsplit("__", 1)
    return kind, corpus / "transcripts" / kind / folder / home


def at_native_place(harness: str, root: Path, to: Path) -> Path:
    """Some sets are loose files: give them the folder that the product looks in."""
    names = ("projects",) if harness == "claude" else ("sessions", "archived_sessions")
    if any((root / name).is_dir() for name in names):
        return root
    shutil.copytree(root, to / names[0] / "loose")
    return to


def read(harness: str, root: Path, folder: Path) -> tuple[dict[str, Line], Line]:
    """Sessions by native id, and the whole cost."""
    world = World(home=folder / "store", cwd=folder, environment={"HOME": str(folder)})
    name = "claude_code" if harness == "claude" else "codex"
    with opened(world) as app:
        report = ingest(app, [Root(name, at_native_place(harness, root, folder / "root"))], jobs=1)
        assert report.unreadable_files == [] and report.problems == []
    with opened(world) as app:
        history = History(app)
        shown: Iterator[Line] = (
            views.session_view(one, "none")
            for own in (False, True)
            for one in history.sessions(limit=10_000, own_runs=own).sessions
        )
        sessions = {one["native_id"]: one for one in shown}
        total = views.costs_view(history.costs("session", utc=True))["total"]
    return sessions, total  # type: ignore[return-value]


def fields(found: Line) -> dict[str, int]:
    return {
        **{name: found["tokens"][name] for name in CLASSES},
        **{f"shared {name}": found["shared_tokens"][name] for name in CLASSES},
        "prompts": found["prompts"],
        "automated": found["automated_prompts"],
        "queued": found["queued_prompts"],
        "commands": found["commands"],
        "failed": found["failed_commands"],
        "denied": found["denied_commands"],
    }


def oracle_fields(said: Line) -> dict[str, int]:
    return {
        **{name: said["tokens"][name] for name in CLASSES},
        **{f"shared {name}": said["shared"][name] for name in CLASSES},
        "prompts": said["human_prompts"],
        "automated": said["automated_prompts"],
        "queued": said["queued_only_prompts"],
        "commands": said["commands"],
        "failed": said.get("command_exit", 0) + said.get("command_other_error", 0),
        "denied": said.get("command_denied", 0),
    }


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.stem)
def test_a_set_counts_what_the_oracle_counts(path: Path, shared_corpus: Path, tmp_path: Path) -> None:
    name = path.stem
    harness, root = roots_of(name, shared_corpus)
    if not root.is_dir():
        pytest.skip(f"the corpus has no {root.name}")
    sessions, total = read(harness, root, tmp_path)
    expected: dict[str, Line] = json.loads(path.read_text(encoding="utf-8"))["sessions"]
    unrecognised = {session for one, session in UNRECOGNISED if one == name}
    assert set(sessions) == set(expected) - unrecognised
    assert all(not any(expected[one]["oracle"]["tokens"].values()) for one in unrecognised)
    found = {
        (name, session, field): value
        for session, one in sessions.items()
        for field, value in fields(one).items()
    }
    said = {
        (name, session, field): value
        for session in sessions
        for field, value in oracle_fields(expected[session]["oracle"]).items()
    }
    different = {key: value for key, value in found.items() if value != said[key]}
    explained = {key: value for key, (value, _) in EXPLAINED.items() if key[0] == name}
    assert different == explained
    for field in CLASSES:
        assert total["tokens"][field] == sum(one["tokens"][field] for one in sessions.values())


def test_claude_answers_without_a_stop_reason_make_a_session_a_lower_bound(
    shared_corpus: Path, tmp_path: Path
) -> None:
    harness, root = roots_of("claude__entireio__cli", shared_corpus)
    sessions, _ = read(harness, root, tmp_path)
    expected = json.loads((ORACLE / "expected" / "claude__entireio__cli.json").read_text())["sessions"]
    for native, one in sessions.items():
        said = expected[native]["oracle"]
        snapshot = "output_snapshot" in one["coverage"]["reasons"]
        assert snapshot == bool(said["lower_bound_responses"]), native
        assert ("compaction" in one["coverage"]["reasons"]) == bool(said["compactions"]), native
        assert not snapshot or one["cost"]["lower_bound"]


def test_the_corpus_holds_every_set_that_the_oracle_read(shared_corpus: Path) -> None:
    missing = [path.stem for path in EXPECTED if not roots_of(path.stem, shared_corpus)[1].is_dir()]
    assert len(EXPECTED) > 90 and missing == []
