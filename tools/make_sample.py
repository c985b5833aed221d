"""Makes the transcripts shipped in the package and those of the regression corpus anew.

    .venv/bin/python tools/make_sample.py sample    # src/waypost/sample
    .venv/bin/python tools/make_sample.py corpus    # tests/corpus/transcripts
    .venv/bin/python tools/make_sample.py corpus claude-compact codex-mcp-call

Needs the real CLIs (tools/install_agents.sh). Stories are in tools/sample and
tools/sample/corpus. Ids differ from one making to the next; texts, counts and tokens do
not. Nothing is replaced unless every story of the set went as written.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from stories import CHECKOUT, StoryError, load, play_and_write, sum_tokens

STORIES = CHECKOUT / "tools" / "sample"
SAMPLE = CHECKOUT / "src" / "waypost" / "sample"
CORPUS = CHECKOUT / "tests" / "corpus" / "transcripts"
SAMPLE_BYTES_MAX = 200_000
CORPUS_BYTES_MAX = 400_000

ABOUT = (
    "What the scripted model billed and what the stories say was done; not read from the transcripts. "
    "Keyed by native session id (Claude Code) or thread id (Codex). Token counts are disjoint, except "
    "that reasoning is a part of output. A Claude Code session includes its sub-agents; a Codex "
    "sub-agent is a session of its own with a parent. History copied into a fork counts for the "
    "session it came from. unrecorded_tokens went into requests that no file holds, such as one for a "
    "title; they are in no other count. Requests for a compaction summary are included, and shown "
    "apart. Answers that were cut off are counted but not in tokens; tokens_cut_off is what their first "
    "event said."
)


def main(words: list[str]) -> int:
    if not words or words[0] not in {"sample", "corpus"}:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if words[0] == "sample":
            make_sample()
        else:
            make_corpus(set(words[1:]))
    except StoryError as error:
        print(f"make_sample: {error}", file=sys.stderr)
        return 1
    return 0


def make_sample() -> None:
    """All stories of tools/sample into one home-like folder with one TRUTH.json."""
    with tempfile.TemporaryDirectory(prefix="sample-") as folder:
        made = Path(folder)
        sessions: dict[str, Any] = {}
        for path in sorted(STORIES.glob("*.yaml")):
            sessions |= play_and_write(load(path), made)
            print(f"played {path.stem}")
        _write_truth(made / "TRUTH.json", sessions)
        _check_size(made, SAMPLE_BYTES_MAX)
        for harness in ("claude", "codex"):
            shutil.rmtree(SAMPLE / harness, ignore_errors=True)
            shutil.copytree(made / harness, SAMPLE / harness)
        shutil.copy(made / "TRUTH.json", SAMPLE / "TRUTH.json")


def make_corpus(only: set[str]) -> None:
    """Each story of tools/sample/corpus into a folder of its own with a truth.json."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        made = Path(folder)
        for path in sorted((STORIES / "corpus").glob("*.yaml")):
            if only and path.stem not in only:
                continue
            sessions = play_and_write(load(path), made / path.stem)
            _write_truth(made / path.stem / "truth.json", sessions)
            print(f"played {path.stem}")
        _check_size(made, CORPUS_BYTES_MAX)
        for case in sorted(made.iterdir()):
            shutil.rmtree(CORPUS / case.name, ignore_errors=True)
            shutil.copytree(case, CORPUS / case.name)


def _write_truth(path: Path, sessions: dict[str, Any]) -> None:
    """JSON with one line per session."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(one)}" for key, one in sessions.items())
    tokens = json.dumps(sum_tokens(sessions.values()))
    text = f'{{"about": {json.dumps(ABOUT)},\n"tokens": {tokens},\n"sessions": {{\n{lines}\n}}}}\n'
    json.loads(text)
    path.write_text(text, encoding="utf-8")


def _check_size(folder: Path, bytes_max: int) -> None:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > bytes_max:
        raise StoryError(f"{size} bytes made, more than {bytes_max}")
    print(f"{size} bytes")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
