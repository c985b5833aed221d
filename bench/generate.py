"""Transcript trees of realistic shape and any size, with their totals known by construction.

``python bench/generate.py OUT --mb 350 --seed 1 [--claude-share 0.8]`` writes

* ``OUT/claude/projects/<dir>/<session>.jsonl`` and ``<session>/subagents/agent-*.jsonl``: Claude Code, four
  fifths in the 2.0.64-2.1.42 shape (one record per block, progress records, snapshot usage), one fifth in
  the 2.1.332 shape (final usage, subagent files, attachments, request records);
* ``OUT/codex/sessions/YYYY/MM/DD/rollout-*.jsonl``: Codex, 0.128 and 0.171 shapes;
* ``OUT/TRUTH.json``: sessions, prompts, responses, commands and tokens per class, counted while writing.

``--many N`` writes N small session files (for the unchanged pass); ``--giant`` one Codex rollout of ``--mb``
megabytes (default 2,000) with a 20 MiB ``compacted`` line and inline images.

Shape: the shares of bytes, record sizes and error rates follow measurements of real sessions (tool results
about 60 %, progress 20 %, assistant 18 %, typed text 1 % of the bytes; median line below 1 KB, 99th
percentile above 34 KB). Words come from this interpreter's standard library (code and docstrings) and
generated logs, so compression and full text search meet a real vocabulary. The same seed, size and
interpreter version give the same bytes.

What TRUTH counts, so that it can be compared: a Claude response is one ``message.id`` wherever it appears
(forks and agent progress repeat it) with the largest output recorded; a Codex response is one
``last_token_usage`` that is not a repeat nor copied from a parent. Token classes do not overlap: Codex
input excludes what was cached.
"""

import argparse
import json
import random
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tree_claude import ClaudeSession
from tree_codex import CodexSession
from tree_truth import Truth
from tree_words import PROJECTS, Pick, Words

START = datetime(2026, 5, 12, tzinfo=UTC)
DAYS = 200
CLAUDE_OLD_SHARE = 0.8
CODEX_OLD_SHARE = 0.6
SESSION_BYTES_MEDIAN, SESSION_SIGMA, SESSION_BYTES_MAX = 520_000, 1.25, 9_000_000
TORN_PER_MB = 6 / 350


def generate(out: Path, *, mb: float, seed: int, claude_share: float) -> Truth:
    """Write a tree of about ``mb`` megabytes."""
    rng = random.Random(seed)
    words = Words(rng)
    pick, truth = Pick(rng, words), Truth()
    base = pick.prose(20_000)
    total = int(mb * 1e6)
    budget = {"claude": int(total * claude_share), "codex": int(total * (1 - claude_share))}
    typical = min(SESSION_BYTES_MEDIAN, max(20_000, total // 40))
    torn = 0
    for harness, limit in budget.items():
        written = 0
        while written < limit:
            size = min(pick.size(typical, SESSION_SIGMA, SESSION_BYTES_MAX), limit - written)
            day = pick.random()
            ms = int((START + timedelta(days=day * DAYS)).timestamp() * 1000)
            project = pick.one(PROJECTS)
            if harness == "claude":
                session = ClaudeSession(pick, truth, project=project, ms=ms, old=day < CLAUDE_OLD_SHARE)
                session.run(size)
                if torn < written / 1e6 * TORN_PER_MB:
                    torn += 1
                    at = len(session.lines) // 2
                    session.lines.insert(at, session.lines[at - 1][:97])
                    truth.add("claude", "bad_lines")
                written += session.write(out)
                if pick.random() < 0.04:
                    written += session.fork().write(out)
            else:
                rollout = CodexSession(
                    pick, truth, project=project, ms=ms, old=day < CODEX_OLD_SHARE, base=base
                )
                rollout.run(size)
                written += rollout.write(out)
                if rollout.old and pick.random() < 0.06:
                    written += rollout.fork().write(out)
    return truth


def many(out: Path, *, count: int, seed: int) -> Truth:
    """Write ``count`` small Claude sessions of one prompt each, for the unchanged pass."""
    rng = random.Random(seed)
    pick, truth = Pick(rng, Words(rng, source_bytes_max=1_000_000)), Truth()
    for number in range(count):
        ms = int(START.timestamp() * 1000) + number * (DAYS * 86_400_000 // max(count, 1))
        session = ClaudeSession(pick, truth, project=PROJECTS[number % len(PROJECTS)], ms=ms, old=True)
        truth.add("claude", "sessions")
        session.prompt()
        session.response([f'{{"type":"text","text":"{pick.prose(200)}"}}'], stop="end_turn")
        session.write(out)
    return truth


def giant(out: Path, *, mb: float, seed: int) -> Truth:
    """Write one Codex rollout of ``mb`` megabytes, streaming: images inline, one 20 MiB compacted line."""
    rng = random.Random(seed)
    pick, truth = Pick(rng, Words(rng)), Truth()
    ms = int(START.timestamp() * 1000)
    session = CodexSession(pick, truth, project="quarry", ms=ms, old=True, base=pick.prose(20_000))
    session.open()
    written, compacted = 0, False
    with session.path(out).open("wb") as stream:
        while written < mb * 1e6:
            session.work()
            if pick.random() < 0.2:
                image = "".join(pick.token(250_000) for _ in range(1 + pick.below(8)))
                session.item(
                    '{"type":"message","role":"user","content":[{"type":"input_image","image_url":'
                    f'"data:image/png;base64,{image}"}}]}}'
                )
                truth.add("codex", "inline_images")
            if not compacted and written > mb * 5e5:
                compacted = True
                history, held = [], 0
                while held < 20 * 1024 * 1024:
                    text = "\\n".join(pick.source(30_000)[1])
                    history.append(
                        f'{{"type":"message","role":"user","content":[{{"type":"input_text",'
                        f'"text":"{text}"}}]}}'
                    )
                    held += len(history[-1])
                session.put(
                    "compacted",
                    f'{{"message":"{pick.prose(900)}","replacement_history":[{",".join(history)}]}}',
                )
                session.put("event_msg", '{"type":"context_compacted"}')
            data = ("\n".join(session.lines) + "\n").encode()
            stream.write(data)
            written += len(data)
            session.lines.clear()
    truth.bytes["codex"] = written
    return truth


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--mb", type=float, help="megabytes to write (default 350; 2,000 with --giant)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--claude-share", type=float, default=0.8)
    parser.add_argument("--many", type=int, metavar="N", help="N small session files instead")
    parser.add_argument("--giant", action="store_true", help="one huge Codex rollout instead")
    args = parser.parse_args()
    if args.out.exists() and any(args.out.iterdir()):
        sys.exit(f"{args.out} is not empty; choose a new directory, so that TRUTH.json describes all of it")
    args.out.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    if args.many:
        mode, truth = f"many {args.many}", many(args.out, count=args.many, seed=args.seed)
    elif args.giant:
        mode, truth = "giant", giant(args.out, mb=args.mb or 2_000, seed=args.seed)
    else:
        mode = f"tree {args.mb or 350} MB"
        truth = generate(args.out, mb=args.mb or 350, seed=args.seed, claude_share=args.claude_share)
    document = truth.document(seed=args.seed, mode=mode)
    (args.out / "TRUTH.json").write_text(
        json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    took = time.perf_counter() - begin
    size = sum(truth.bytes.values()) / 1e6
    print(
        json.dumps(
            {
                "out": str(args.out),
                "mb": round(size, 1),
                "seconds": round(took, 2),
                "mb_per_s": round(size / took, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
