"""All of it: ``python bench/run.py [--mb 350] [--quick]`` writes results.json and results.md to bench/out.

Steps: the floor and our ingest, interleaved so that a busy minute hits both; reports and start-up against
an empty interpreter; the pass over an unchanged tree, over many small files and after one appended record;
search in process; growth by doubling. Medians and ratios; every step that cannot run says "not available"
and why, and the rest goes on.
"""

import argparse
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

from timed import Timed, run, summary

HERE = Path(__file__).resolve().parent
WAYPOST = os.environ.get("WAYPOST", str(HERE.parent / ".venv" / "bin" / "waypost"))
PYTHON = sys.executable
FLOORS: dict[str, list[str]] = {
    "floor": [],
    "floor, 64 KiB blocks": ["--block", "65536"],
    "floor without index": ["--no-index"],
    "floor without compression": ["--no-compress"],
    "floor without either": ["--no-index", "--no-compress"],
}


def environment(home: Path) -> dict[str, str]:
    """An environment built from nothing. Byte code may be written: start-up is measured as installed."""
    return {
        "HOME": str(home),
        "WAYPOST_HOME": str(home / "waypost"),
        "PATH": os.environ.get("PATH", ""),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }


def roots(tree: Path) -> list[str]:
    return [w for h in ("claude", "codex") if (tree / h).is_dir() for w in (f"--{h}", str(tree / h))]


def size_mb(tree: Path) -> float:
    return sum(p.stat().st_size for p in tree.rglob("*.jsonl")) / 1e6


def ensure_tree(out: Path, name: str, options: list[str]) -> Path:
    """Generate a tree once and keep it: the generator is deterministic, so its name says what is in it."""
    tree = out / "trees" / name
    if not (tree / "TRUTH.json").exists():
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run(
            [PYTHON, str(HERE / "generate.py"), str(tree), *options], check=True, stdout=subprocess.DEVNULL
        )
    return tree


def ingest(tree: Path, home: Path, jobs: int) -> Timed:
    return run([WAYPOST, "ingest", "--json", *roots(tree), "--jobs", str(jobs)], env=environment(home))


def settled(runs: list[Timed], **more: Any) -> dict[str, Any]:
    """A summary, or the reason there is none."""
    failed = [r for r in runs if r.code != 0]
    if failed or not runs:
        return {"not_available": failed[0].why() if failed else "not run"}
    return summary(runs) | more


def rate(step: dict[str, Any], mb: float) -> dict[str, Any]:
    if "wall_s" in step:
        step["mb_per_s"] = round(mb / step["wall_s"], 1)
        step["mb_per_cpu_s"] = round(mb / step["cpu_s"], 1)
    return step


def cold(tree: Path, rounds: int, temporary: Path) -> tuple[dict[str, Any], Path | None]:
    """Floors and cold ingests in turn. Returns the steps and a home that holds a finished store, if any."""
    mb = size_mb(tree)
    floors: dict[str, list[dict[str, Any]]] = {name: [] for name in FLOORS}
    ours: dict[int, list[Timed]] = {1: [], 2: []}
    kept: Path | None = None
    for number in range(rounds):
        for name, options in FLOORS.items():
            if number and name != "floor" and rounds < 3:
                continue
            step = run([PYTHON, str(HERE / "floor.py"), str(tree), *options], env=environment(temporary))
            if step.code == 0:
                floors[name].append(json.loads(step.out))
        for jobs, timed in ours.items():
            home = temporary / f"cold-{number}-{jobs}"
            home.mkdir()
            timed.append(ingest(tree, home, jobs))
            if timed[-1].code == 0 and kept is None:
                kept = home
            elif home != kept:
                shutil.rmtree(home)
    steps: dict[str, Any] = {}
    for name, lines in floors.items():
        if not lines:
            steps[name] = {"not_available": "floor.py failed"}
            continue
        cpu = [line["cpu_s"] for line in lines]
        steps[name] = rate(
            {
                "runs": len(lines),
                "wall_s": statistics.median(line["wall_s"] for line in lines),
                "cpu_s": statistics.median(cpu),
                "cpu_max_over_min": round(max(cpu) / min(cpu), 2),
                "rss_mb": max(line["rss_mb"] for line in lines),
                "db_over_source": lines[-1]["db_over_source"],
            },
            mb,
        )
    for jobs, timed in ours.items():
        step = rate(settled(timed), mb)
        if "cpu_s" in step and "cpu_s" in steps["floor"]:
            step["x_floor_cpu"] = round(step["cpu_s"] / steps["floor"]["cpu_s"], 2)
            step["x_floor_wall"] = round(step["wall_s"] / steps["floor"]["wall_s"], 2)
        steps[f"ingest, {jobs} job{'s' if jobs > 1 else ''}"] = step
    return steps, kept


def stored_ratio(home: Path, mb: float) -> float:
    return round(sum(p.stat().st_size for p in (home / "waypost").rglob("*") if p.is_file()) / 1e6 / mb, 3)


def reports(tree: Path, home: Path, rounds: int) -> dict[str, Any]:
    """Commands over a finished store and start-up, each interleaved with an empty interpreter."""
    commands = {
        "python -I -c pass": [PYTHON, "-I", "-c", "pass"],
        "waypost --version": [WAYPOST, "--version"],
        "waypost sessions": [WAYPOST, "sessions"],
        "waypost costs": [WAYPOST, "costs", "--json"],
        "ingest, unchanged": [WAYPOST, "ingest", "--json", *roots(tree)],
    }
    env = environment(home)
    seen: dict[str, list[Timed]] = {name: [] for name in commands}
    for number in range(rounds * 3 + 1):
        for name, argv in commands.items():
            timed = run(argv, env=env)
            if number:  # the first round only warms the byte code
                seen[name].append(timed)
    steps = {name: settled(timed) for name, timed in seen.items()}
    empty = steps["python -I -c pass"]
    for step in steps.values():
        if "cpu_s" in step and "cpu_s" in empty:
            step["x_empty_cpu"] = round(step["cpu_s"] / max(empty["cpu_s"], 1e-9), 2)
    return steps


def search(home: Path) -> dict[str, Any]:
    timed = run([PYTHON, str(HERE / "search.py"), str(home / "waypost")], env=environment(home))
    return json.loads(timed.out) if timed.code == 0 else {"not_available": timed.why()}


def appended(tree: Path, temporary: Path) -> dict[str, Any]:
    """Ingest a copy of a small tree, append one record to one file, ingest again."""
    copy, home = temporary / "append-tree", temporary / "append-home"
    shutil.copytree(tree, copy)
    home.mkdir()
    first = ingest(copy, home, 1)
    if first.code != 0:
        return {"not_available": first.why()}
    runs = []
    target = max((copy / "claude").rglob("*.jsonl"), key=lambda p: p.stat().st_size)
    for _ in range(3):
        record = next(line for line in target.read_bytes().splitlines() if b'"type":"user"' in line)
        fresh = re.sub(rb'"uuid":"[^"]+"', b'"uuid":"' + str(uuid.uuid4()).encode() + b'"', record)
        with target.open("ab") as stream:
            stream.write(fresh + b"\n")
        runs.append(ingest(copy, home, 1))
    return settled(runs)


def unchanged_many(out: Path, count: int, temporary: Path) -> dict[str, Any]:
    tree = ensure_tree(out, f"many-{count}", ["--many", str(count)])
    home = temporary / "many"
    home.mkdir()
    first = ingest(tree, home, 1)
    if first.code != 0:
        return {"not_available": first.why()}
    return settled(
        [ingest(tree, home, 1) for _ in range(3)], files=count, first_wall_s=round(first.wall_s, 3)
    )


def growth(out: Path, mb: float, temporary: Path) -> dict[str, Any]:
    """Cold ingest at an eighth, a quarter, a half and all of ``mb``; the exponent of cost against size "
    "(1 = linear)."""
    points = []
    for part in (8, 4, 2, 1):
        tree = ensure_tree(out, f"tree-{mb / part:g}", ["--mb", f"{mb / part:g}"])
        home = temporary / f"grow-{part}"
        home.mkdir()
        timed = ingest(tree, home, 1)
        shutil.rmtree(home)
        if timed.code != 0:
            return {"not_available": timed.why()}
        points.append(
            {
                "mb": round(size_mb(tree), 1),
                "cpu_s": round(timed.cpu_s, 3),
                "wall_s": round(timed.wall_s, 3),
                "rss_mb": round(timed.rss_mb, 1),
            }
        )
    exponent = math.log(points[-1]["cpu_s"] / points[0]["cpu_s"]) / math.log(
        points[-1]["mb"] / points[0]["mb"]
    )
    return {"points": points, "exponent": round(exponent, 3)}


def markdown(results: dict[str, Any]) -> str:
    machine = results["machine"]
    lines = [
        f"Tree: {results['mb']:.1f} MB. {machine['python']}, {machine['cpus']} CPUs, {machine['system']}; "
        "load "
        f"{machine['load_before']} before and {machine['load_after']} after. Medians; the noise column is "
        "the largest CPU "
        "figure over the smallest of the same step, and ratios inside one table mean more than absolute "
        "times.",
        "",
        "| step | runs | wall s | CPU s | MB/s | MB/CPU-s | peak MB | x floor CPU | x empty | noise |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, step in results["steps"].items():
        if "not_available" in step:
            lines.append(f"| {name} | not available: {step['not_available']} | | | | | | | | |")
        elif "cpu_s" in step:
            cells = [
                step.get(k, "")
                for k in (
                    "runs",
                    "wall_s",
                    "cpu_s",
                    "mb_per_s",
                    "mb_per_cpu_s",
                    "rss_mb",
                    "x_floor_cpu",
                    "x_empty_cpu",
                    "cpu_max_over_min",
                )
            ]
            lines.append(f"| {name} | " + " | ".join(map(str, cells)) + " |")
    for name in ("search, in process", "growth by doubling"):
        step = results["steps"][name]
        if "not_available" not in step:
            lines += ["", f"{name}: `{json.dumps({k: v for k, v in step.items() if k != 'hits'})}`"]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=float, default=350)
    parser.add_argument(
        "--tree", type=Path, help="an existing tree with claude/ and codex/ instead of a generated one"
    )
    parser.add_argument("--quick", action="store_true", help="40 MB, one round, no growth, 300 small files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=HERE / "out")
    args = parser.parse_args()
    mb, rounds, count = (40.0, 1, 300) if args.quick else (args.mb, args.rounds, 3_000)
    args.out.mkdir(parents=True, exist_ok=True)
    before = os.getloadavg()[0]
    tree = args.tree or ensure_tree(args.out, f"tree-{mb:g}", ["--mb", f"{mb:g}"])
    small = ensure_tree(args.out, "tree-10", ["--mb", "10"])
    results: dict[str, Any] = {"mb": size_mb(tree), "quick": args.quick, "steps": {}}
    steps = results["steps"]
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        temporary = Path(directory)
        cold_steps, home = cold(tree, rounds, temporary)
        steps |= cold_steps
        if home is not None:
            steps["ingest, 1 job"]["db_over_source"] = stored_ratio(home, results["mb"])
        empty_home = temporary / "empty"
        empty_home.mkdir()
        steps |= reports(tree, home or empty_home, rounds)
        steps["search, in process"] = (
            search(home) if home else {"not_available": "no store: ingest did not run"}
        )
        steps["ingest after one appended record"] = appended(small, temporary)
        steps[f"ingest, {count} small files unchanged"] = unchanged_many(args.out, count, temporary)
        if args.quick:
            steps["growth by doubling"] = {"not_available": "left out with --quick"}
        else:
            steps["growth by doubling"] = growth(args.out, mb, temporary)
    results["machine"] = {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "load_before": round(before, 2),
        "load_after": round(os.getloadavg()[0], 2),
    }
    (args.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (args.out / "results.md").write_text(markdown(results), encoding="utf-8")
    print(markdown(results), end="")


if __name__ == "__main__":
    main()
