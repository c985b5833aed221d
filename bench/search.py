"""Search latency in one process: ``python bench/search.py HOME`` prints one JSON line.

To be wired by whoever owns the product's search: :func:`open_search` must return a function that takes the
words and returns how many hits it found, calling the same in-process entry the command line calls, with the
store under HOME already open. Until then the line says ``not_available``.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

QUERIES = (
    "error",
    "lock",
    "assertionerror",
    "value error",
    "timeout",
    '"before the lock"',
    "import path",
    "session",
    "connection refused",
    "unlikelywordthatisnowhere",
    "test failed",
    "encode",
)
ROUNDS = 5


def open_search(home: Path) -> Callable[[str], int]:
    """Open the store under ``home`` and return the product's search as a function of the words."""
    raise NotImplementedError("bench/search.py: open_search is not wired to the product yet")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("home", type=Path)
    args = parser.parse_args()
    try:
        begin = time.perf_counter()
        search = open_search(args.home)
        opened_ms = (time.perf_counter() - begin) * 1e3
    except (NotImplementedError, ImportError) as error:
        print(json.dumps({"not_available": str(error)}))
        return
    times: list[float] = []
    hits: dict[str, int] = {}
    for _ in range(ROUNDS):
        for words in QUERIES:
            begin = time.perf_counter()
            hits[words] = search(words)
            times.append((time.perf_counter() - begin) * 1e3)
    times.sort()
    print(
        json.dumps(
            {
                "open_ms": round(opened_ms, 2),
                "queries": len(times),
                "median_ms": round(statistics.median(times), 3),
                "p95_ms": round(times[int(len(times) * 0.95)], 3),
                "max_ms": round(times[-1], 3),
                "hits": hits,
            }
        )
    )


if __name__ == "__main__":
    main()
