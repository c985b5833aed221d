"""The settings laboratory: what each FTS5, SQLite, zstd and decoder setting costs on a given transcript tree.

``python bench/tune.py fts|sqlite|zstd|decode ROOT...`` prints a Markdown table. Every variant runs in the
same process on the same records, held in memory, ``--rounds`` times in interleaved order; the figure is the
least CPU time of the process (user + system): other work on the machine can only add to it.
"""

import argparse
import itertools
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from floor import FTS, RAW_BYTES_MAX, SCHEMA, TEXT_HALF_CHARS_MAX, Plain, Record, open_store, readable

Rows = list[tuple[int, bytes, str]]


def load(roots: list[Path], mb_max: float) -> tuple[list[bytes], Rows]:
    """Read lines and their texts until ``mb_max`` megabytes are held."""
    lines: list[bytes] = []
    rows: Rows = []
    decode = msgspec.json.Decoder(Record).decode
    held = 0
    for path in sorted(p for root in roots for p in root.rglob("*.jsonl")):
        with path.open("rb") as stream:
            for line in stream:
                try:
                    text = readable(decode(line))
                except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
                    continue
                half = TEXT_HALF_CHARS_MAX
                if len(text) > 2 * half:
                    text = text[:half] + "\n" + text[-half:]
                lines.append(line)
                rows.append((len(rows) + 1, line[:RAW_BYTES_MAX], text))
                held += len(line)
        if held > mb_max * 1e6:
            break
    return lines, rows


def interleave(variants: dict[str, Callable[[], dict[str, Any]]], rounds: int) -> dict[str, dict[str, Any]]:
    """Run every variant ``rounds`` times in turn; the least of each time, the last value of the rest."""
    seen: dict[str, list[dict[str, Any]]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, run in variants.items():
            seen[name].append(run())
    out = {}
    for name, results in seen.items():
        merged = dict(results[-1])
        for key in merged:
            if key.endswith("_s") or key.endswith("_us"):
                merged[key] = min(r[key] for r in results)
        merged["spread"] = max(r["cpu_s"] for r in results) / max(min(r["cpu_s"] for r in results), 1e-9)
        out[name] = merged
    return out


def table(results: dict[str, dict[str, Any]], columns: list[str]) -> None:
    print("| variant | " + " | ".join(columns) + " | x first | max/min |")
    print("| --- |" + " ---: |" * (len(columns) + 2))
    first = next(iter(results.values()))["cpu_s"]
    for name, result in results.items():
        cells = [f"{result[c]:.3f}" if isinstance(result[c], float) else str(result[c]) for c in columns]
        print(f"| {name} | {' | '.join(cells)} | {result['cpu_s'] / first:.2f} | {result['spread']:.2f} |")
    print(flush=True)


def insert_run(
    rows: Rows,
    bodies: list[bytes],
    *,
    body: bool = True,
    fts: str | None = "tokenize='unicode61'",
    config: dict[str, int] | None = None,
    batch: int = 1_000,
    page_size: int = 4096,
    pragmas: tuple[str, ...] = (),
    extra: str = "",
    optimize: bool = False,
) -> dict[str, Any]:
    """Insert every row and text under the given settings; queries are timed after it."""
    with tempfile.TemporaryDirectory(prefix="tune-") as directory:
        path = Path(directory) / "t.db"
        cpu, wall = time.process_time(), time.perf_counter()
        db = open_store(path, page_size=page_size, pragmas=pragmas)
        db.execute(SCHEMA)
        if extra:
            db.execute(extra)
        if fts is not None:
            db.execute(FTS.format(options=fts))
            for name, value in (config or {}).items():
                db.execute(f"INSERT INTO find(find, rank) VALUES('{name}', {value})")
        for start in range(0, len(rows), batch):
            chunk = rows[start : start + batch]
            db.execute("BEGIN IMMEDIATE")
            if body:
                db.executemany(
                    "INSERT INTO turn VALUES(?,?,?,?,?)",
                    [
                        (n, n // 300, n * 7919, len(raw), b)
                        for (n, raw, _), b in zip(chunk, bodies[start : start + batch], strict=True)
                    ],
                )
            if fts is not None:
                db.executemany(
                    "INSERT INTO find(rowid, text) VALUES(?,?)", [(n, t) for n, _, t in chunk if t]
                )
            db.execute("COMMIT")
        inserted = time.process_time() - cpu
        if optimize:
            db.execute("INSERT INTO find(find) VALUES('optimize')")
        db.pragma("wal_checkpoint(truncate)")
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        query_us = 0.0
        if fts is not None:
            words = ["error", "import", "return", "path", "the", "tests", "value error", "session id"]
            begin = time.perf_counter()
            for word in words:
                db.execute("SELECT rowid FROM find WHERE find MATCH ? LIMIT 20", (word,)).fetchall()
                db.execute(
                    "SELECT rowid FROM find WHERE find MATCH ? ORDER BY rank LIMIT 20", (word,)
                ).fetchall()
            query_us = (time.perf_counter() - begin) * 1e6 / len(words)
        db.close()
        return {
            "cpu_s": cpu,
            "insert_s": inserted,
            "wall_s": wall,
            "file_mb": path.stat().st_size / 1e6,
            "query_us": query_us,
        }


def tune_fts(rows: Rows, rounds: int, which: str) -> None:
    text_mb = sum(len(t) for _, _, t in rows) / 1e6
    print(f"FTS5 alone, no bodies: {len(rows)} records, {text_mb:.1f} M characters of text\n")
    base: dict[str, dict[str, Any]] = {
        "default, batch 1,000": {},
        "hashsize 4 MiB": {"config": {"hashsize": 4 << 20}},
        "hashsize 16 MiB": {"config": {"hashsize": 16 << 20}},
        "hashsize 64 MiB": {"config": {"hashsize": 64 << 20}},
        "automerge 0": {"config": {"automerge": 0}},
        "automerge 8": {"config": {"automerge": 8}},
        "automerge 16": {"config": {"automerge": 16}},
        "automerge 0 + crisismerge 64": {"config": {"automerge": 0, "crisismerge": 64}},
        "automerge 0 + crisismerge 1999": {"config": {"automerge": 0, "crisismerge": 1999}},
        "pgsz 1000": {"config": {"pgsz": 1000}},
        "pgsz 8000": {"config": {"pgsz": 8000}},
        "pgsz 16000": {"config": {"pgsz": 16000}},
        "detail=column": {"fts": "tokenize='unicode61', detail=column"},
        "detail=none": {"fts": "tokenize='unicode61', detail=none"},
        "ascii tokenizer": {"fts": "tokenize='ascii'"},
        "unicode61 remove_diacritics 0": {"fts": "tokenize='unicode61 remove_diacritics 0'"},
        "unicode61 remove_diacritics 2": {"fts": "tokenize='unicode61 remove_diacritics 2'"},
        "unicode61 tokenchars _": {"fts": "tokenize=\"unicode61 tokenchars '_'\""},
        "porter unicode61": {"fts": "tokenize='porter unicode61'"},
        "batch 200": {"batch": 200},
        "batch 5,000": {"batch": 5_000},
        "batch 20,000": {"batch": 20_000},
        "batch 5,000 + hashsize 16 MiB": {"batch": 5_000, "config": {"hashsize": 16 << 20}},
        "batch 20,000 + hashsize 64 MiB": {"batch": 20_000, "config": {"hashsize": 64 << 20}},
        "batch 20,000 + hashsize 64 MiB + automerge 0": {
            "batch": 20_000,
            "config": {"hashsize": 64 << 20, "automerge": 0},
        },
        "batch 5,000 + hashsize 16 MiB + automerge 0 + optimize": {
            "batch": 5_000,
            "config": {"hashsize": 16 << 20, "automerge": 0},
            "optimize": True,
        },
    }
    keep = {k: v for k, v in base.items() if k.startswith("default") or which in k}
    run = {k: (lambda v=v: insert_run(rows, [], body=False, **v)) for k, v in keep.items()}
    results = interleave(run, rounds)
    for result in results.values():
        result["text MB/cpu-s"] = text_mb / result["cpu_s"]
    table(results, ["cpu_s", "wall_s", "text MB/cpu-s", "file_mb", "query_us"])


def tune_sqlite(rows: Rows, rounds: int, which: str) -> None:
    compress = zstandard.ZstdCompressor(level=1).compress
    bodies = [compress(raw) for _, raw, _ in rows]
    raws = [raw for _, raw, _ in rows]
    print(f"{len(rows)} rows, compressed bodies {sum(map(len, bodies)) / 1e6:.1f} MB; with FTS unless said\n")
    base: dict[str, dict[str, Any]] = {
        "default (4 KiB page, 2 MB cache, checkpoint 1,000)": {},
        "page 8 KiB": {"page_size": 8192},
        "page 16 KiB": {"page_size": 16384},
        "page 32 KiB": {"page_size": 32768},
        "cache 16 MiB": {"pragmas": ("cache_size=-16384",)},
        "cache 64 MiB": {"pragmas": ("cache_size=-65536",)},
        "cache 256 MiB": {"pragmas": ("cache_size=-262144",)},
        "wal_autocheckpoint 4,000": {"pragmas": ("wal_autocheckpoint=4000",)},
        "wal_autocheckpoint 16,000": {"pragmas": ("wal_autocheckpoint=16000",)},
        "wal_autocheckpoint 0": {"pragmas": ("wal_autocheckpoint=0",)},
        "temp_store memory": {"pragmas": ("temp_store=memory",)},
        "secure_delete off": {"pragmas": ("secure_delete=off",)},
        "secure_delete fast": {"pragmas": ("secure_delete=fast",)},
        "locking_mode exclusive": {"pragmas": ("locking_mode=exclusive",)},
        "mmap 256 MiB": {"pragmas": ("mmap_size=268435456",)},
        "cell_size_check off": {"pragmas": ("cell_size_check=off",)},
        "batch 200": {"batch": 200},
        "batch 5,000": {"batch": 5_000},
        "extra index (file,offset)": {"extra": "CREATE INDEX place ON turn(file, offset, length)"},
        "no FTS": {"fts": None},
        "no FTS + extra index (file,offset,length)": {
            "fts": None,
            "extra": "CREATE INDEX place ON turn(file, offset, length)",
        },
        "no FTS + extra UNIQUE index": {
            "fts": None,
            "extra": "CREATE UNIQUE INDEX place ON turn(file, offset, length)",
        },
        "no FTS, uncompressed bodies": {"fts": None, "raw": True},
        "cache 64 MiB + checkpoint 16,000 + secure_delete off": {
            "pragmas": ("cache_size=-65536", "wal_autocheckpoint=16000", "secure_delete=off")
        },
        "page 8 KiB + cache 64 MiB + checkpoint 8,000 + secure_delete off": {
            "page_size": 8192,
            "pragmas": ("cache_size=-65536", "wal_autocheckpoint=8000", "secure_delete=off"),
        },
        "cache 64 MiB + checkpoint 16,000 + secure_delete off + hashsize 16 MiB + batch 5,000": {
            "pragmas": ("cache_size=-65536", "wal_autocheckpoint=16000", "secure_delete=off"),
            "config": {"hashsize": 16 << 20},
            "batch": 5_000,
        },
    }
    keep = {k: v for k, v in base.items() if k.startswith("default") or which in k}
    run = {}
    for name, options in keep.items():
        options = dict(options)
        held = raws if options.pop("raw", False) else bodies
        run[name] = lambda held=held, options=options: insert_run(rows, held, **options)
    table(interleave(run, rounds), ["cpu_s", "wall_s", "file_mb", "query_us"])


def tune_both(rows: Rows, rounds: int, which: str) -> None:
    """Bodies and index together, only the combinations worth a decision."""
    compress = zstandard.ZstdCompressor(level=1).compress
    bodies = [compress(raw) for _, raw, _ in rows]
    far, mib = ("wal_autocheckpoint=16000",), 1 << 20
    base: dict[str, dict[str, Any]] = {
        "default: 1,000 rows, hash 1 MiB, page 4 KiB, checkpoint 1,000": {},
        "1,000 rows, automerge 8": {"config": {"automerge": 8}},
        "1,000 rows, automerge 0, crisismerge 64": {"config": {"automerge": 0, "crisismerge": 64}},
        "1,000 rows, page 16 KiB": {"page_size": 16384},
        "1,000 rows, checkpoint 16,000": {"pragmas": far},
        "5,000 rows, hash 16 MiB": {"batch": 5_000, "config": {"hashsize": 16 * mib}},
        "5,000 rows, hash 16 MiB, checkpoint 16,000": {
            "batch": 5_000,
            "config": {"hashsize": 16 * mib},
            "pragmas": far,
        },
        "10,000 rows, hash 32 MiB, checkpoint 16,000": {
            "batch": 10_000,
            "config": {"hashsize": 32 * mib},
            "pragmas": far,
        },
        "20,000 rows, hash 64 MiB": {"batch": 20_000, "config": {"hashsize": 64 * mib}},
        "20,000 rows, hash 64 MiB, checkpoint 16,000": {
            "batch": 20_000,
            "config": {"hashsize": 64 * mib},
            "pragmas": far,
        },
        "20,000 rows, hash 64 MiB, checkpoint 16,000, page 16 KiB": {
            "batch": 20_000,
            "config": {"hashsize": 64 * mib},
            "pragmas": far,
            "page_size": 16384,
        },
        "20,000 rows, hash 64 MiB, checkpoint 16,000, page 16 KiB, pgsz 16,000": {
            "batch": 20_000,
            "config": {"hashsize": 64 * mib, "pgsz": 16_000},
            "pragmas": far,
            "page_size": 16384,
        },
        "10,000 rows, hash 32 MiB, checkpoint 16,000, page 8 KiB, pgsz 8,000": {
            "batch": 10_000,
            "config": {"hashsize": 32 * mib, "pgsz": 8_000},
            "pragmas": far,
            "page_size": 8192,
        },
    }
    big = {
        "batch": 20_000,
        "config": {"hashsize": 64 * mib},
        "pragmas": ("wal_autocheckpoint=4000",),
        "page_size": 16384,
    }
    base |= {
        "big: 20,000 rows, hash 64 MiB, page 16 KiB, checkpoint 4,000": big,
        "big, checkpoint 1,000": big | {"pragmas": ()},
        "big, 10,000 rows, hash 32 MiB": big | {"batch": 10_000, "config": {"hashsize": 32 * mib}},
        "big, hash 1 MiB": big | {"config": {}},
        "big, ascii": big | {"fts": "tokenize='ascii'"},
        "big, remove_diacritics 0": big | {"fts": "tokenize='unicode61 remove_diacritics 0'"},
        "big, tokenchars _": big | {"fts": "tokenize=\"unicode61 tokenchars '_'\""},
        "big, detail=column": big | {"fts": "tokenize='unicode61', detail=column"},
        "big, detail=none": big | {"fts": "tokenize='unicode61', detail=none"},
        "big, cache 64 MiB": big | {"pragmas": ("wal_autocheckpoint=4000", "cache_size=-65536")},
        "big, extra index": big | {"extra": "CREATE INDEX place ON turn(file, offset, length)"},
        "big, optimize": big | {"optimize": True},
        "big, no FTS": big | {"fts": None, "config": {}},
    }
    keep = {k: v for k, v in base.items() if k.startswith("default") or which in k}
    run = {k: (lambda v=v: insert_run(rows, bodies, **v)) for k, v in keep.items()}
    print(f"{len(rows)} rows with bodies and index\n")
    table(interleave(run, rounds), ["cpu_s", "wall_s", "file_mb", "query_us"])


def tune_live(rows: Rows, rounds: int) -> None:
    """After a cold ingest: one-record commits (a watched session), and reads of one body, per page size."""
    compress = zstandard.ZstdCompressor(level=1).compress
    cold, live = rows[:-400], rows[-400:]
    print("| page, hashsize while live | commit of one record, us | p95 us | read of one body, us | db MB |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for page, size in (
        (4096, 64 << 20),
        (4096, 1 << 20),
        (8192, 1 << 20),
        (16384, 1 << 20),
        (16384, 64 << 20),
    ):
        commits: list[float] = []
        reads: list[float] = []
        stored = 0.0
        for _ in range(rounds):
            with tempfile.TemporaryDirectory(prefix="tune-") as directory:
                path = Path(directory) / "t.db"
                db = open_store(path, page_size=page)
                db.execute(SCHEMA)
                db.execute(FTS.format(options="tokenize='unicode61'"))
                db.execute(f"INSERT INTO find(find, rank) VALUES('hashsize', {64 << 20})")
                for start in range(0, len(cold), 20_000):
                    chunk = cold[start : start + 20_000]
                    db.execute("BEGIN IMMEDIATE")
                    bodies = [(n, n // 300, n * 7919, len(raw), compress(raw)) for n, raw, _ in chunk]
                    db.executemany("INSERT INTO turn VALUES(?,?,?,?,?)", bodies)
                    db.executemany(
                        "INSERT INTO find(rowid, text) VALUES(?,?)", [(n, t) for n, _, t in chunk if t]
                    )
                    db.execute("COMMIT")
                db.execute(f"INSERT INTO find(find, rank) VALUES('hashsize', {size})")
                for n, raw, text in live:
                    begin = time.perf_counter()
                    db.execute("BEGIN IMMEDIATE")
                    db.execute("INSERT INTO turn VALUES(?,?,?,?,?)", (n, 0, 0, len(raw), compress(raw)))
                    db.execute("INSERT INTO find(rowid, text) VALUES(?,?)", (n, text))
                    db.execute("COMMIT")
                    commits.append((time.perf_counter() - begin) * 1e6)
                rng = random.Random(3)
                for n in (rng.randrange(1, len(cold)) for _ in range(1_000)):
                    begin = time.perf_counter()
                    db.execute("SELECT body FROM turn WHERE id = ?", (n,)).fetchall()
                    reads.append((time.perf_counter() - begin) * 1e6)
                db.close()
                stored = path.stat().st_size / 1e6
        commits.sort()
        print(
            f"| {page // 1024} KiB, {size >> 20} MiB | {statistics.median(commits):.0f} "
            f"| {commits[int(len(commits) * 0.95)]:.0f} | {statistics.median(reads):.1f} | {stored:.1f} |",
            flush=True,
        )


def tune_cap(rows: Rows, rounds: int, lines: list[bytes]) -> None:
    """How much text each head+tail cap leaves, and what indexing it costs."""
    decode = msgspec.json.Decoder(Record).decode
    texts = [readable(decode(line)) for line in lines]
    print("| cap, characters | M characters | share of text | records cut | FTS cpu s |")
    print("| --- | ---: | ---: | ---: | ---: |")
    whole = sum(map(len, texts))
    for cap in (1_000, 2_000, 4_000, 8_000, 16_384, 32_768, 1 << 30):
        half = cap // 2
        cut = [t if len(t) <= cap else t[:half] + "\n" + t[-half:] for t in texts]
        rows = [(n, b"", t) for n, t in enumerate(cut, 1)]
        cpu = min(
            insert_run(rows, [], body=False, batch=20_000, config={"hashsize": 64 << 20})["cpu_s"]
            for _ in range(rounds)
        )
        held = sum(map(len, cut))
        print(
            f"| {cap:,} | {held / 1e6:.1f} | {held / whole:.2f} | {sum(len(t) > cap for t in texts)} | "
            f"{cpu:.2f} |",
            flush=True,
        )


def tune_zstd(lines: list[bytes], rounds: int) -> None:
    lines = [line[:RAW_BYTES_MAX] for line in lines]
    total = sum(map(len, lines))
    rng = random.Random(1)
    held_out = rng.sample(lines, min(len(lines) // 2, 20_000))
    held_bytes = sum(map(len, held_out))
    chosen = set(map(id, held_out))
    pool = [line for line in lines if id(line) not in chosen]
    print(
        f"{len(lines)} lines, {total / 1e6:.1f} MB; ratio and speed on {len(held_out)} held-out lines "
        f"({held_bytes / 1e6:.1f} MB); samples cut at 4 KiB unless said\n"
    )
    print(
        "| dictionary | samples | train cpu s | level | ratio | comp MB/cpu-s | us/record | decomp MB/cpu-s |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)

    def measure(label: str, samples: int, train_s: float, data: Any) -> None:
        for level in (1, 3):
            if data is not None:
                data.precompute_compress(level=level)
            compressor = zstandard.ZstdCompressor(level=level, dict_data=data)
            decompressor = zstandard.ZstdDecompressor(dict_data=data)
            times, backs = [], []
            out: list[bytes] = []
            for _ in range(rounds):
                begin = time.process_time()
                out = list(map(compressor.compress, held_out))
                times.append(time.process_time() - begin)
                begin = time.process_time()
                for frame in out:
                    decompressor.decompress(frame)
                backs.append(time.process_time() - begin)
            cpu, back = statistics.median(times), statistics.median(backs)
            print(
                f"| {label} | {samples} | {train_s:.2f} | {level} | {held_bytes / sum(map(len, out)):.2f} "
                f"| {held_bytes / 1e6 / cpu:.0f} | {cpu * 1e6 / len(held_out):.1f} "
                f"| {held_bytes / 1e6 / back:.0f} |",
                flush=True,
            )

    measure("none", 0, 0.0, None)
    for size, count, cut, how in (
        *(
            (size, count, 4096, "trained")
            for size, count in itertools.product((16, 64, 110), (500, 2_000, 4_000))
        ),
        (64, 2_000, 16_384, "trained"),
        (64, 2_000, 2_048, "trained"),
        (110, 4_000, 16_384, "trained"),
        (64, 2_000, 4_096, "raw content"),
        (110, 2_000, 4_096, "raw content"),
    ):
        samples = [line[:cut] for line in rng.sample(pool, min(count, len(pool)))]
        begin = time.process_time()
        if how == "trained":
            data = zstandard.train_dictionary(size * 1024, samples)
        else:
            joined = b"".join(samples)
            data = zstandard.ZstdCompressionDict(
                joined[-size * 1024 :], dict_type=zstandard.DICT_TYPE_RAWCONTENT
            )
        label = f"{size} KiB {how}" + (f", cut {cut}" if cut != 4096 else "")
        measure(label, len(samples), time.process_time() - begin, data)


class Usage(msgspec.Struct):
    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0
    cache_creation: dict[str, int] | None = None


class TypedBlock(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None


class TypedMessage(msgspec.Struct):
    role: str = ""
    id: str | None = None
    model: str | None = None
    content: str | list[TypedBlock] = ""
    stop_reason: str | None = None
    usage: Usage | None = None


class TypedPayload(msgspec.Struct):
    type: str = ""
    id: str | None = None
    role: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    content: Any = None
    output: Any = None
    message: Any = None
    info: Any = None
    turn_id: str | None = None
    model: str | None = None
    cwd: str | None = None
    item: Any = None


class TypedRecord(msgspec.Struct):
    """The fields an ingest of either harness needs, with their types; unknown keys are skipped unbuilt."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
    sessionId: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    version: str | None = None
    gitBranch: str | None = None
    isSidechain: bool = False
    isMeta: bool = False
    agentId: str | None = None
    message: TypedMessage | str | None = None
    toolUseResult: msgspec.Raw = msgspec.Raw(b"")
    data: msgspec.Raw = msgspec.Raw(b"")
    payload: TypedPayload | None = None


class Header(msgspec.Struct):
    type: str = ""
    message: msgspec.Raw = msgspec.Raw(b"")
    payload: msgspec.Raw = msgspec.Raw(b"")


def tune_decode(lines: list[bytes], rounds: int) -> None:
    mb = sum(map(len, lines)) / 1e6
    decoders: dict[str, Callable[[bytes], Any]] = {
        "msgspec untyped": msgspec.json.Decoder().decode,
        "msgspec typed, ingest fields": msgspec.json.Decoder(TypedRecord).decode,
        "msgspec typed, floor fields": msgspec.json.Decoder(Record).decode,
        "msgspec header + Raw": msgspec.json.Decoder(Header).decode,
        "msgspec skip all": msgspec.json.Decoder(Plain).decode,
        "json.loads": json.loads,
    }
    try:
        import orjson

        decoders["orjson"] = orjson.loads
    except ImportError:
        pass

    def run(decode: Callable[[bytes], Any]) -> dict[str, Any]:
        failed = 0
        begin = time.process_time()
        for line in lines:
            try:
                decode(line)
            except (ValueError, msgspec.DecodeError):
                failed += 1
        return {"cpu_s": time.process_time() - begin, "rejected": failed}

    results = interleave({k: (lambda d=d: run(d)) for k, d in decoders.items()}, rounds)
    for result in results.values():
        result["MB/cpu-s"] = mb / result["cpu_s"]
        result["us/line"] = result["cpu_s"] * 1e6 / len(lines)
    print(f"{len(lines)} lines, {mb:.1f} MB\n")
    table(results, ["cpu_s", "MB/cpu-s", "us/line", "rejected"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["fts", "sqlite", "both", "live", "cap", "zstd", "decode"])
    parser.add_argument("roots", nargs="+", type=Path)
    parser.add_argument("--mb", type=float, default=100, help="megabytes to hold in memory")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--which", default="", help="only variants whose name contains this (and the default)"
    )
    args = parser.parse_args()
    lines, rows = load(args.roots, args.mb)
    if args.what == "fts":
        tune_fts(rows, args.rounds, args.which)
    elif args.what == "sqlite":
        tune_sqlite(rows, args.rounds, args.which)
    elif args.what == "both":
        tune_both(rows, args.rounds, args.which)
    elif args.what == "live":
        tune_live(rows, args.rounds)
    elif args.what == "cap":
        tune_cap(rows, args.rounds, lines)
    elif args.what == "zstd":
        tune_zstd(lines, args.rounds)
    else:
        tune_decode(lines, args.rounds)


if __name__ == "__main__":
    main()
