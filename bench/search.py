"""Search latency in one process: ``python bench/search.py HOME`` prints one JSON line.

Each query goes through the same in-process entry as the command line: parse, match, rank, filter copies,
open the turns of the first page, cut snippets. ``--grow N`` first copies the store's turns under new numbers
until it holds N of them, so that a store of a million turns can be made in minutes.
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
    from waypost.flows.app import App, World
    from waypost.flows.history import History

    app = App(world=World(home=home, cwd=home, environment={}))
    history = History(app)
    return lambda words: len(history.search(words).hits)


def grow(home: Path, wanted: int) -> None:
    """Copy turns, with their text in the index, until the store holds ``wanted`` of them."""
    from waypost.flows.app import App, World
    from waypost.flows.history import readable, searched_text
    from waypost.machine.store import search as index
    from waypost.machine.store import turns
    from waypost.machine.store.database import transaction
    from waypost.machine.store.words import Words

    store = App(world=World(home=home, cwd=home, environment={})).made_store()
    texts: list[str] = []
    words, last = Words(store), 0
    while batch := turns.after_number(store, words, last, limit=5000):
        texts.extend(searched_text(readable(turn, harness)) for turn, harness in batch)
        last = batch[-1][0].number
    count = int(store.execute("SELECT count(*) FROM turn").get)
    index.set_pace(store, index.BULK)
    shift = last
    while count < wanted:
        with transaction(store):
            store.execute(
                "INSERT INTO turn SELECT id + ?1, session_id, file_id, offset + ?1 * 1000003, part, length,"
                " role, origin, at, flags, tool, call, exit_code, parser, payload FROM turn WHERE id <= ?2",
                (shift, last),
            )
            for number, text in enumerate(texts, start=1):
                if text:
                    store.execute("INSERT INTO turn_text(rowid, text) VALUES (?, ?)", (number + shift, text))
            store.execute("INSERT OR REPLACE INTO meta VALUES ('next_turn', ?)", (shift + last + 1,))
            store.execute("INSERT OR REPLACE INTO meta VALUES ('indexed_to', ?)", (shift + last,))
        shift += last
        count = int(store.execute("SELECT count(*) FROM turn").get)
    store.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("home", type=Path)
    parser.add_argument("--grow", type=int, default=0, metavar="N", help="copy turns until there are N")
    args = parser.parse_args()
    if args.grow:
        grow(args.home, args.grow)
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
