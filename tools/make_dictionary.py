"""Trains the shipped compression dictionary from transcripts of our own.

    python tools/make_dictionary.py OUT TREE [TREE ...]

The trees are the sample set, the regression corpus and a generated tree (bench/generate.py): records
made by the real programs from our own stories, and synthetic ones. No person's words may enter: a
dictionary outlives every deletion. Same input, same bytes.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import msgspec
import zstandard

SAMPLES = 2400
SAMPLE_BYTES = 4096
DICTIONARY_BYTES = 64 * 1024


def lines_of(tree: Path) -> list[bytes]:
    """Return the records below a folder."""
    found = []
    for path in sorted(tree.rglob("*.jsonl")):
        with path.open("rb") as source:
            found.extend(line.strip() for line in source if line.strip())
    return found


def main() -> None:
    """Train and write."""
    out, *trees = map(Path, sys.argv[1:])
    chooser = random.Random(7)
    samples: list[bytes] = []
    for tree in trees:
        records = lines_of(tree)
        chooser.shuffle(records)
        for record in records[: SAMPLES // len(trees)]:
            samples.append(msgspec.msgpack.encode((b"", record[:SAMPLE_BYTES])))
    dictionary = zstandard.train_dictionary(DICTIONARY_BYTES, samples, dict_id=0x57500001, level=1)
    out.write_bytes(dictionary.as_bytes())
    print(f"{out}: {len(dictionary.as_bytes())} bytes from {len(samples)} samples")


if __name__ == "__main__":
    main()
