"""The published comparison: our totals, the peers' totals and the truth, in one Markdown table.

``python bench/compare.py TREE [--peers FILE]`` ingests the tree into a new store, asks ``waypost costs
--json`` (``data.total.tokens``, ``data.total.cost.usd``), takes the peers' lines from FILE (the output of
``peers.py``) or runs ``peers.py`` itself, and prints each total with its difference from ours. A tool that
lacks a price for a model counts it as zero dollars; such models are named, because a difference made by
them is not a difference in counting.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from peers import CLASSES, TOOLS, measure
from timed import run

WAYPOST = Path(
    os.environ.get("WAYPOST", Path(__file__).resolve().parent.parent / ".venv" / "bin" / "waypost")
)
NOTES = {
    "ccusage": "counts agent progress; a response is message id + request id",
    "tokscale": "does not count responses that exist only as agent progress; bills one-hour cache writes "
    "at the 5-minute price",
    "agentsview": "does not count responses that exist only as agent progress",
}


def ours(tree: Path) -> tuple[int | None, float | None, str]:
    """Return our tokens, dollars and a note; ``None`` with the reason when the program cannot answer."""
    with tempfile.TemporaryDirectory(prefix="compare-") as home:
        env = {
            "HOME": home,
            "WAYPOST_HOME": f"{home}/waypost",
            "PATH": os.environ.get("PATH", ""),
            "LANG": "C.UTF-8",
        }
        roots = [w for h in ("claude", "codex") if (tree / h).is_dir() for w in (f"--{h}", str(tree / h))]
        step = run([str(WAYPOST), "ingest", "--json", *roots], env=env)
        if step.code == 0:
            step = run([str(WAYPOST), "costs", "--json"], env=env)
        if step.code != 0:
            return None, None, f"not available ({step.why()})"
        try:
            total = json.loads(step.out)["data"]["total"]
            tokens, dollars = total["tokens"], total["cost"]["usd"]
        except (ValueError, KeyError, TypeError) as error:
            return None, None, f"not available (unexpected answer: {error!r})"
        if isinstance(tokens, dict):
            tokens = tokens["total"] if "total" in tokens else sum(tokens.values())
        return int(tokens), None if dollars is None else float(dollars), ""


def peers_totals(lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Add up each tool's Claude and Codex totals; the first answer per harness counts (cold, not warm)."""
    tools: dict[str, dict[str, Any]] = {}
    seen: set[tuple[str, str]] = set()
    for line in lines:
        harness = line["command"].split()[0]
        key = (line["tool"], harness)
        if "tokens" not in line or key in seen:
            continue
        seen.add(key)
        held = tools.setdefault(
            line["tool"], {"tokens": 0, "usd": 0.0, "unpriced": set(), "version": line["version"]}
        )
        held["tokens"] += sum(line["tokens"][c] for c in CLASSES)
        held["usd"] += line["cost_usd"] or 0.0
        held["unpriced"] |= set(line.get("unpriced", []))
    return tools


def difference(value: float, base: float | None) -> str:
    return "-" if not base else f"{value - base:+,.0f} ({(value / base - 1) * 100:+.2f} %)"


def table(tree: Path, lines: list[dict[str, Any]]) -> str:
    truth_file = tree / "TRUTH.json"
    truth = (
        json.loads(truth_file.read_text(encoding="utf-8"))["tokens"]["total"] if truth_file.exists() else None
    )
    tokens, dollars, note = ours(tree)
    base = tokens if tokens is not None else truth
    head = "waypost" if tokens is not None else "truth"
    rows = [
        f"| total of | tokens | difference to {head} | dollars | difference to {head} | remark |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    if truth is not None:
        rows.append(
            f"| truth (by construction) | {truth:,} | {difference(truth, base)} | - | - | tokens counted "
            "while writing |"
        )
    shown = "-" if tokens is None else f"{tokens:,}"
    price = "unknown" if dollars is None else f"{dollars:,.2f}"
    rows.append(f"| waypost | {shown} | - | {price} | - | {note} |")
    for tool, held in sorted(peers_totals(lines).items()):
        remark = NOTES.get(tool, "")
        if held["unpriced"]:
            remark += f"; no price for {', '.join(sorted(held['unpriced']))}"
        money = (
            "-"
            if not dollars
            else f"{held['usd'] - dollars:+,.2f} ({(held['usd'] / dollars - 1) * 100:+.2f} %)"
        )
        rows.append(
            f"| {tool} {held['version']} | {held['tokens']:,} | {difference(held['tokens'], base)} "
            f"| {held['usd']:,.2f} | {money} | {remark} |"
        )
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path)
    parser.add_argument("--peers", type=Path, help="JSON lines printed by peers.py; run now if not given")
    parser.add_argument("--tools", type=Path, default=TOOLS)
    args = parser.parse_args()
    if args.peers:
        lines = [
            json.loads(line) for line in args.peers.read_text(encoding="utf-8").splitlines() if line.strip()
        ]
    else:
        lines = measure(args.tree, tools=args.tools, runs=1)
    print(table(args.tree, lines), end="")


if __name__ == "__main__":
    main()
