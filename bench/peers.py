"""Other tools on the same tree: ccusage, tokscale and agentsview, timed and asked for their totals.

``python bench/peers.py --install`` puts the pinned versions into ``.tools/peers`` (npm for the first two, a
private virtual environment for the third). ``python bench/peers.py TREE [--runs 3]`` then runs them on a
tree made by ``generate.py`` and prints one JSON line per command: medians of wall and CPU time, and the
totals the tool printed.

Every run gets a private HOME (the tree is linked in as ``.claude`` and ``.codex``), telemetry switched off,
and a proxy that refuses everything, so nothing reaches the network and no run reads another's cache unless
it says "warm".
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from timed import Timed, run, summary

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools" / "peers"
CCUSAGE, TOKSCALE, AGENTSVIEW = "20.0.24", "4.17.0", "0.46.1"
# The tokscale launcher package lags behind its binaries on some registries: take the binary's own package.
NPM = (f"ccusage@{CCUSAGE}", f"@tokscale/cli-linux-x64-gnu@{TOKSCALE}")
CLASSES = ("input", "cache_write", "cache_read", "output")


def install(tools: Path) -> None:
    """Install the pinned versions; linux x64 with glibc only, which is where the comparison is published "
    "from."""
    tools.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(tools), *NPM], check=True)
    home = tools / "av"
    venv.create(home, with_pip=True)
    subprocess.run([str(home / "bin" / "pip"), "install", "--quiet", f"agentsview=={AGENTSVIEW}"], check=True)


def environment(home: Path) -> dict[str, str]:
    """An environment built from nothing: private HOME, no telemetry, no network."""
    refuse = "http://127.0.0.1:9"
    return {
        "HOME": str(home),
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "AGENTSVIEW_TELEMETRY_ENABLED": "0",
        "AGENTSVIEW_NO_DAEMON": "1",
        "DO_NOT_TRACK": "1",
        "HTTP_PROXY": refuse,
        "HTTPS_PROXY": refuse,
        "http_proxy": refuse,
        "https_proxy": refuse,
    }


def make_home(parent: Path, tree: Path, name: str) -> Path:
    home = parent / name
    home.mkdir()
    for harness in ("claude", "codex"):
        if (tree / harness).is_dir():
            (home / f".{harness}").symlink_to((tree / harness).resolve())
    return home


def ccusage_totals(out: bytes) -> dict[str, Any]:
    totals = json.loads(out)["totals"]
    tokens = {
        "input": totals["inputTokens"],
        "cache_write": totals.get("cacheCreationTokens", 0),
        "cache_read": totals.get("cacheReadTokens", 0),
        "output": totals["outputTokens"],
    }
    return {
        "tokens": tokens,
        "cost_usd": totals.get("totalCost", totals.get("costUSD")),
        "unpriced": totals.get("unpricedModels", []),
    }


def tokscale_totals(out: bytes) -> dict[str, Any]:
    data = json.loads(out[out.index(b"{") :])
    tokens = {
        "input": data["totalInput"],
        "cache_write": data["totalCacheWrite"],
        "cache_read": data["totalCacheRead"],
        # Its output leaves reasoning out and lists it beside; Codex bills it as output, and so do the others.
        "output": data["totalOutput"] + sum(e["reasoning"] for e in data["entries"]),
    }
    # A zero beside millions of tokens is a missing price, not a gift.
    unpriced = sorted({e["model"] for e in data["entries"] if e["cost"] == 0 and e["cacheRead"] > 0})
    return {
        "tokens": tokens,
        "cost_usd": data["totalCost"],
        "unpriced": unpriced,
        "own_clock_ms": data.get("processingTimeMs"),
    }


def agentsview_totals(out: bytes) -> dict[str, Any]:
    totals = json.loads(out[out.index(b"{") :])["totals"]
    tokens = {
        "input": totals["inputTokens"],
        "cache_write": totals["cacheCreationTokens"],
        "cache_read": totals["cacheReadTokens"],
        "output": totals["outputTokens"],
    }
    return {"tokens": tokens, "cost_usd": totals["totalCost"]["microdollars"] / 1e6}


def no_totals(_: bytes) -> dict[str, Any]:
    return {}


def measure(tree: Path, *, tools: Path, runs: int) -> list[dict[str, Any]]:
    """Run every command ``runs`` times and return one summary for each; a missing tool is "not available"."""
    ccusage = str(tools / "node_modules" / "@ccusage" / "ccusage-linux-x64" / "bin" / "ccusage")
    tokscale = str(tools / "node_modules" / "@tokscale" / "cli-linux-x64-gnu" / "bin" / "tokscale")
    agentsview = str(tools / "av" / "bin" / "agentsview")
    daily = [agentsview, "usage", "daily", "--all", "--offline", "--no-sync", "--json"]
    report = ["daily", "--json", "--offline"]
    # tool, version, label, argv, reader of the totals, whether it keeps the home of the run before
    plan: list[tuple[str, str, str, list[str], Callable[[bytes], dict[str, Any]], bool]] = [
        ("ccusage", CCUSAGE, "claude daily", [ccusage, "claude", *report], ccusage_totals, False),
        ("ccusage", CCUSAGE, "codex daily", [ccusage, "codex", *report], ccusage_totals, False),
        (
            "tokscale",
            TOKSCALE,
            "claude models, cold",
            [tokscale, "models", "--json", "-c", "claude"],
            tokscale_totals,
            False,
        ),
        (
            "tokscale",
            TOKSCALE,
            "claude models, warm",
            [tokscale, "models", "--json", "-c", "claude"],
            tokscale_totals,
            True,
        ),
        (
            "tokscale",
            TOKSCALE,
            "codex models",
            [tokscale, "models", "--json", "-c", "codex"],
            tokscale_totals,
            False,
        ),
        ("agentsview", AGENTSVIEW, "sync, cold", [agentsview, "sync"], no_totals, False),
        ("agentsview", AGENTSVIEW, "sync, unchanged", [agentsview, "sync"], no_totals, True),
        (
            "agentsview",
            AGENTSVIEW,
            "claude usage daily",
            [*daily, "--agent", "claude"],
            agentsview_totals,
            True,
        ),
        (
            "agentsview",
            AGENTSVIEW,
            "codex usage daily",
            [*daily, "--agent", "codex"],
            agentsview_totals,
            True,
        ),
    ]
    seen: list[list[Timed]] = [[] for _ in plan]
    with tempfile.TemporaryDirectory(prefix="peers-") as temporary:
        for number in range(runs):
            home = Path(temporary)
            for index, (_, _, _, argv, _, keep) in enumerate(plan):
                if not keep:
                    home = make_home(Path(temporary), tree, f"{number}-{index}")
                seen[index].append(run(argv, env=environment(home), cwd=Path(temporary)))
    results = []
    for (tool, version, label, _, totals, _), timed in zip(plan, seen, strict=True):
        line: dict[str, Any] = {"tool": tool, "version": version, "command": label}
        if timed[-1].code != 0:
            line["not_available"] = timed[-1].why()
        else:
            line |= summary(timed) | totals(timed[-1].out)
        results.append(line)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path, nargs="?")
    parser.add_argument("--install", action="store_true", help="install the pinned versions first")
    parser.add_argument("--tools", type=Path, default=TOOLS)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    if args.install:
        if shutil.which("npm") is None:
            sys.exit("npm was not found; ccusage and tokscale are published on npm only")
        install(args.tools)
    if args.tree is None:
        return
    mb = sum(p.stat().st_size for p in args.tree.rglob("*.jsonl")) / 1e6
    for line in measure(args.tree, tools=args.tools, runs=args.runs):
        if "wall_s" in line:
            line["mb_per_s"] = round(mb / line["wall_s"], 1)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
