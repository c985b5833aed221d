"""Prints a Markdown table: tokens counted from each corpus folder against what was billed.

    python tools/corpus_report.py [CORPUS]

Truth is what a scripted model billed, read from the request numbers inside response ids
(``tests/oracle/truth_from_ids.py``) or from a case's ``truth.json``; a session of a folder without
either is in the column ``no truth``. *exact*: every token class equals truth. *lower bound*: no class
is above truth and the session says that it is a lower bound. *explained*: listed below the table.
*wrong*: anything else. A real-cli case
has truth for the whole case only, so it counts as one.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Cases in which what was billed is not what the format can say; listed below the table.
EXPLAINED = {
    "real-cli__claude__interrupt-stream-sigint": (
        "the cut-off answer has its first event's figures; truth counts finished answers only"
    ),
    "real-cli__claude__success-v1.0.100": "three requests for a title and the like are in no record",
    "real-cli__codex__success-v0.130.0": "this version writes no cache writes: 300 tokens stand as input",
}
CLASSES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
FOLDERS = {"claude": ("projects",), "codex": ("sessions", "archived_sessions")}
Tokens = dict[str, int]
Tally = Counter[str]


def read(harness: str, root: Path) -> dict[str, dict[str, Any]]:
    """Ingest one folder into a store of its own; return its sessions by native id."""
    from waypost.flows.app import World, opened
    from waypost.flows.history import History
    from waypost.flows.ingest import Root, ingest
    from waypost.surfaces import views

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not any((root / one).is_dir() for one in FOLDERS[harness]):
            shutil.copytree(root, folder / "root" / FOLDERS[harness][0] / "loose")
            root = folder / "root"
        world = World(home=folder / "store", cwd=folder, environment={"HOME": name})
        with opened(world) as app:
            ingest(app, [Root("claude_code" if harness == "claude" else "codex", root)], jobs=1)
        with opened(world) as app:
            history = History(app)
            found = [
                views.session_view(one, "")
                for own in (False, True)
                for one in history.sessions(limit=10_000, own_runs=own).sessions
            ]
    return {str(one["native_id"]): one for one in found}


def verdict(found: Tokens, truth: Tokens, *, lower_bound: bool) -> str:
    """Say how a count compares with what was billed."""
    differences = [found[name] - truth[name] for name in CLASSES]
    if not any(differences):
        return "exact"
    return "lower bound" if lower_bound and max(differences) <= 0 else "wrong"


def sum_of(sessions: list[dict[str, Any]]) -> Tokens:
    """Add up the tokens of sessions."""
    return {name: sum(one["tokens"][name] for one in sessions) for name in CLASSES}


def local_cli(harness: str, root: Path, sessions: dict[str, dict[str, Any]]) -> Tally:
    """Compare each session with the truth inside its ids."""
    from truth_from_ids import claude_truth, codex_truth

    truths = (claude_truth if harness == "claude" else codex_truth)([str(root)])[0]
    tally: Tally = Counter()
    for native, one in sessions.items():
        if native not in truths:
            tally["no truth"] += 1
            continue
        bound = bool(one["cost"]["lower_bound"])
        tally[verdict(one["tokens"], truths[native]["tokens"], lower_bound=bound)] += 1
    return tally


def real_cli(root: Path, sessions: dict[str, dict[str, Any]]) -> Tally:
    """Compare a whole case with what its model served; cache writes are not split there."""
    billed = json.loads((root.parents[1] / "truth.json").read_text(encoding="utf-8"))["answered_token_totals"]
    found = sum_of(list(sessions.values()))
    found["cache_write_5m"] += found.pop("cache_write_1h")
    truth = {name: billed[name] for name in ("input", "output", "cache_read")}
    truth["cache_write_5m"] = billed["cache_write"]
    bound = any(one["cost"]["lower_bound"] for one in sessions.values())
    kind = verdict({**found, "cache_write_1h": 0}, {**truth, "cache_write_1h": 0}, lower_bound=bound)
    return Counter({kind: 1})


def committed(folder: Path) -> tuple[int, Tally]:
    """Compare the transcripts of this repository with their truth files."""
    truth_file = next(path for path in folder.iterdir() if path.name.lower() == "truth.json")
    truth = json.loads(truth_file.read_text(encoding="utf-8"))["sessions"]
    sessions: dict[str, dict[str, Any]] = {}
    for harness in FOLDERS:
        if (folder / harness).is_dir():
            sessions |= read(harness, folder / harness)
    tally: Tally = Counter()
    for native, one in truth.items():
        found = sessions[native]
        # An answer that was cut off stands with its first event's figures, or only its retry stands.
        billed = {name: one["tokens"][name] + one["tokens_cut_off"][name] for name in CLASSES}
        kinds = [
            verdict(found["tokens"], stated, lower_bound=bool(found["cost"]["lower_bound"]))
            for stated in (one["tokens"], billed)
        ]
        best = next(kind for kind in ("exact", "lower bound", "wrong") if kind in kinds)
        tally[best] += 1
    return len(sessions), tally


def main() -> int:
    corpus = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT.parent / "shared" / "corpus").resolve()
    os.environ["ORACLE_CORPUS"] = str(corpus)
    sys.path.insert(0, str(ROOT / "tests" / "oracle"))
    rows: list[tuple[str, int, Tally]] = []
    for folder in [ROOT / "src/waypost/sample", *sorted((ROOT / "tests/corpus/transcripts").iterdir())]:
        if folder.is_dir():
            rows.append((f"{folder.parent.name}/{folder.name}", *committed(folder)))
    if (corpus / "transcripts").is_dir():
        from corpus_sets import corpus_sets

        for name, harness, roots in corpus_sets():
            root = Path(roots[0])
            sessions = read(harness, root)
            if "local-cli__" in name:
                tally = local_cli(harness, root, sessions)
            elif name in EXPLAINED:
                tally = Counter({"explained": 1})
            elif name.startswith("real-cli__"):
                tally = real_cli(root, sessions)
            else:
                tally = Counter({"no truth": len(sessions)})
            rows.append((name.replace("__", "/"), len(sessions), tally))
    columns = ("exact", "lower bound", "explained", "wrong", "no truth")
    print(f"| folder | sessions | {' | '.join(columns)} |")
    print("| --- |" + " ---: |" * (len(columns) + 1))
    total: Tally = Counter()
    count = 0
    for name, sessions_count, tally in rows:
        total += tally
        count += sessions_count
        print(f"| {name} | {sessions_count} | {' | '.join(str(tally[one]) for one in columns)} |")
    print(f"| **all** | {count} | {' | '.join(str(total[one]) for one in columns)} |")
    print()
    for name, reason in EXPLAINED.items():
        print(f"- {name.replace('__', '/')}: {reason}")
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
