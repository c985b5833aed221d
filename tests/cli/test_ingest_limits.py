"""Large records and large files: bounded memory, nothing lost but what is over the named limit."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))

import story

MIB = 1024 * 1024
RSS_MIB_MAX = 200


@pytest.fixture
def home(hermetic: Path) -> Path:
    return hermetic / "waypost"


def measured(home: Path, *words: str) -> tuple[dict[str, object], int]:
    """Run a pass in a child; its report and its largest resident memory in MiB."""
    done = story.child("measured", "ingest", *words, home=home)
    assert done.returncode == 0, done.stdout + done.stderr
    rss = int(done.stderr) // 1024
    print(f"largest resident memory with {' '.join(words)}: {rss} MiB")
    return json.loads(done.stdout)["data"], rss


def test_a_rollout_of_100_mb_with_huge_lines_stays_below_the_limit(hermetic: Path, home: Path) -> None:
    noise = random.Random(5)
    image = noise.randbytes(5 * MIB)
    encoded = base64.b64encode(image).decode()
    words = [f"word{number}" for number in range(4000)]
    filler = [" ".join(noise.choices(words, k=2500)) for _ in range(16)]
    name = f"rollout-2026-11-30T10-00-00-{story.native(1)}.jsonl"
    path = hermetic / ".codex/sessions/2026/11/30" / name
    lines = story.codex(1)
    picture = {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "plain picture"},
            {"type": "input_image", "image_url": f"data:image/png;base64,{encoded}"},
        ],
    }
    history = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x " * 10_000}]}
    compacted = {"message": "plain summary", "replacement_history": [history] * (20 * MIB // 20_100)}
    story.write(path, lines[:6])
    with path.open("a") as out:
        for number in range(6):
            out.write(json.dumps({"timestamp": story.stamp(50), "type": "response_item", "payload": picture}))
            out.write("\n")
            for step in range(110 if number else 80):
                text = f"{number} {step} {filler[(number + step) % 16]}" * 3
                payload = {"type": "message", "role": "assistant"}
                payload["content"] = [{"type": "output_text", "text": text[:60_000]}]  # type: ignore[assignment]
                out.write(
                    json.dumps({"timestamp": story.stamp(60), "type": "response_item", "payload": payload})
                )
                out.write("\n")
        out.write(
            json.dumps({"timestamp": story.stamp(70), "type": "compacted", "payload": compacted}) + "\n"
        )
    story.append(path, lines[6:])
    size = path.stat().st_size
    assert size > 90 * MIB
    print(f"rollout: {size / MIB:.0f} MiB")
    report, rss = measured(home, "--jobs", "1")
    assert rss < RSS_MIB_MAX
    assert report["bytes_read"] == size
    assert report["malformed_records"] == 0
    found = story.asked(home, "search", "rollout")["hits"]
    assert {hit["snippet"][:11] for hit in found} == {"please look"}
    first = story.asked(home, "session", story.codex_key(1), "--limit", "5")["turns"]
    pictures = [one["media"] for one in first if one["media"]]
    assert pictures[0] == [
        {"media_type": "image/png", "bytes": len(image), "sha256": hashlib.sha256(image).hexdigest()}
    ]
    around = story.asked(home, "search", "plain summary")["hits"][0]
    last = story.asked(home, "session", story.codex_key(1), "--around", around["turn"])["turns"]
    roles = [one["role"] for one in last]
    assert roles[roles.index("compaction") :][-2:] == ["user", "assistant"]
    store = home / "store" / "waypost.db"
    assert store.stat().st_size < size / 2  # neither images nor the repeated history are kept


@pytest.mark.parametrize("end", ["\n", ""], ids=["ended", "growing"])
def test_a_record_over_64_mib_is_passed_over_and_counted(hermetic: Path, home: Path, end: str) -> None:
    path = hermetic / ".claude/projects/-one" / f"{story.native(1)}.jsonl"
    story.write(path, story.claude(1, exchanges=1))
    with path.open("a") as out:
        out.write('{"type":"user","text":"')
        for _ in range(65):
            out.write("y" * MIB)
        out.write('"}' + end)
    if end:
        story.append(path, story.claude(1)[4:])
    report, rss = measured(home, "--jobs", "1")
    assert rss < 350
    assert report["malformed_records"] == (1 if end else 0)
    assert report["turns"] == (8 if end else 4)
    again = story.ingest(home)
    assert (again["records_read"], again["malformed_records"]) == (0, 0)
    if end:
        coverage = story.sessions(home)[story.native(1)]["coverage"]
        assert coverage["malformed_records"] == 1
        assert coverage["complete"] is False
