"""The physical floor of a cold ingest: what one process must spend on any transcript tree, and nothing more.

For every line of every ``*.jsonl`` file: read it, decode the JSON, compress the raw bytes (first 64 KiB),
insert one row into an encrypted database, insert its readable text (16 KiB head and tail) into a contentless
full text index. No field is interpreted, no record is linked, priced, redacted or judged. A real ingest can
approach this number and never beat it, so the honest figure for it is a ratio to this one.

The settings are the best that ``tune.py`` found for this storage design (10,000 rows per transaction,
FTS5 ``hashsize`` 32 MiB, 16 KiB pages, a checkpoint every 4,000 pages); ``--block 65536`` packs records
into one compressed block and is lower still.

Limits: lines longer than 16 MiB are stored as a row without text. One JSON object on stdout.
"""

import argparse
import json
import resource
import secrets
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import apsw
import msgspec
import zstandard

RAW_BYTES_MAX = 64 * 1024
TEXT_HALF_CHARS_MAX = 8 * 1024
BATCH_ROWS = 10_000
LINE_BYTES_MAX = 16 * 1024 * 1024

SCHEMA = """
CREATE TABLE turn(id INTEGER PRIMARY KEY, file INTEGER NOT NULL, offset INTEGER NOT NULL,
                  length INTEGER NOT NULL, body ANY) STRICT;
CREATE TABLE block(last_turn INTEGER PRIMARY KEY, body BLOB) STRICT;
"""
FTS = "CREATE VIRTUAL TABLE find USING fts5(text, content='', contentless_delete=1, {options})"


class Block(msgspec.Struct):
    """One content block; ``content`` of a tool result may itself hold blocks."""

    text: Any = None
    thinking: Any = None
    content: Any = None
    input: Any = None


class Message(msgspec.Struct):
    """A Claude message: a string or a list of blocks."""

    content: str | list[Block] | None = None


class Payload(msgspec.Struct):
    """A Codex payload: the fields that hold words, whatever its type."""

    content: Any = None
    message: Any = None
    arguments: Any = None
    input: Any = None
    output: Any = None


class Record(msgspec.Struct):
    """The union of both harnesses; everything else is skipped by the decoder without being built."""

    message: Message | str | None = None
    payload: Payload | None = None


class Plain(msgspec.Struct):
    """What is left when a known key has an unknown shape: the line is still valid JSON."""


def readable(record: Record) -> str:
    """Return the words of a record, joined by newlines."""
    message = record.message
    parts: list[str] = []
    if message.__class__ is Message:
        content = message.content
        if content.__class__ is str:
            return content
        for block in content or ():
            if block.text:
                parts.append(block.text)
            elif block.thinking:
                parts.append(block.thinking)
            elif block.content:
                inner = block.content
                if inner.__class__ is str:
                    parts.append(inner)
                else:
                    parts.extend([b["text"] for b in inner if "text" in b])
            elif block.input:
                parts.extend([v for v in block.input.values() if v.__class__ is str])
    elif record.payload is not None:
        payload = record.payload
        for part in payload.content or ():
            if part.__class__ is dict and "text" in part:
                parts.append(part["text"])
        for value in (payload.message, payload.arguments, payload.input, payload.output):
            if value.__class__ is str:
                parts.append(value)
    return parts[0] if len(parts) == 1 else "\n".join(parts)


def open_store(path: Path, *, page_size: int = 4096, pragmas: tuple[str, ...] = ()) -> apsw.Connection:
    """Create an encrypted file the way the product does: aegis, raw key, WAL, synchronous NORMAL."""
    db = apsw.Connection(str(path))
    db.pragma("cipher", "aegis")
    db.pragma("key", "raw:" + secrets.token_hex(32))
    db.pragma("page_size", page_size)
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "normal")
    for pragma in pragmas:
        db.execute("PRAGMA " + pragma)
    return db


def ingest(files: list[Path], db: apsw.Connection, args: argparse.Namespace) -> dict[str, int]:
    """Run the loop. It is written flat on purpose: every call in it is part of the measured minimum."""
    compress = None
    if not args.no_compress:
        dictionary = zstandard.ZstdCompressionDict(args.dict.read_bytes()) if args.dict else None
        if dictionary is not None:
            dictionary.precompute_compress(level=args.level)
        compress = zstandard.ZstdCompressor(level=args.level, dict_data=dictionary).compress
    index = not args.no_index
    decode = msgspec.json.Decoder(Record).decode
    decode_plain = msgspec.json.Decoder(Plain).decode
    half, cap, line_max, batch_rows = TEXT_HALF_CHARS_MAX, RAW_BYTES_MAX, LINE_BYTES_MAX, args.batch
    rows: list[tuple[Any, ...]] = []
    words: list[tuple[int, str]] = []
    blocks: list[tuple[int, bytes]] = []
    held: list[bytes] = []
    block_max = args.block
    turn = lines = bad = read = text_chars = held_at = 0

    def flush() -> None:
        db.execute("BEGIN IMMEDIATE")
        if blocks:
            db.executemany("INSERT INTO block VALUES(?,?)", blocks)
            blocks.clear()
        db.executemany("INSERT INTO turn VALUES(?,?,?,?,?)", rows)
        if words:
            db.executemany("INSERT INTO find(rowid, text) VALUES(?,?)", words)
        db.execute("COMMIT")
        rows.clear()
        words.clear()

    for number, path in enumerate(files):
        offset = 0
        with open(path, "rb", buffering=1 << 20) as stream:
            for line in stream:
                size = len(line)
                text = ""
                try:
                    if size <= line_max:
                        text = readable(decode(line))
                except msgspec.ValidationError:
                    decode_plain(line)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    bad += 1
                turn += 1
                raw = line if size <= cap else line[:cap]
                if block_max:
                    # Consecutive records share a compressed block; the row says where in it they begin.
                    rows.append((turn, number, offset, size, held_at))
                    held.append(raw)
                    held_at += len(raw)
                    if held_at >= block_max:
                        joined = b"".join(held)
                        blocks.append((turn, compress(joined) if compress else joined))
                        held.clear()
                        held_at = 0
                else:
                    rows.append((turn, number, offset, size, compress(raw) if compress else raw))
                if text and index:
                    if len(text) > 2 * half:
                        text = text[:half] + "\n" + text[-half:]
                    text_chars += len(text)
                    words.append((turn, text))
                offset += size
                if len(rows) >= batch_rows:
                    flush()
        read += offset
    if held:
        blocks.append((turn, compress(b"".join(held)) if compress else b"".join(held)))
    lines = turn
    if rows:
        flush()
    return {"bytes": read, "lines": lines, "bad": bad, "text_chars": text_chars}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("roots", nargs="+", type=Path)
    parser.add_argument("--no-index", action="store_true", help="leave the full text index out")
    parser.add_argument("--no-compress", action="store_true", help="store the capped raw bytes as they are")
    parser.add_argument("--level", type=int, default=1, help="zstd level")
    parser.add_argument("--dict", type=Path, help="a trained zstd dictionary")
    parser.add_argument(
        "--block", type=int, default=0, help="compress blocks of at least this many raw bytes"
    )
    parser.add_argument("--batch", type=int, default=BATCH_ROWS, help="rows per transaction")
    parser.add_argument("--page-size", type=int, default=16_384)
    parser.add_argument("--pragma", action="append", help="name=value (default wal_autocheckpoint=4000)")
    parser.add_argument("--fts", default="tokenize='unicode61'", help="options of the FTS5 table")
    parser.add_argument("--fts-config", action="append", help="name=value (default hashsize=33554432)")
    parser.add_argument("--label", default="floor")
    args = parser.parse_args()
    files = sorted(p for root in args.roots for p in (root.rglob("*.jsonl") if root.is_dir() else [root]))
    with tempfile.TemporaryDirectory(prefix="floor-") as directory:
        path = Path(directory) / "floor.db"
        wall, cpu = time.perf_counter(), time.process_time()
        db = open_store(
            path, page_size=args.page_size, pragmas=tuple(args.pragma or ["wal_autocheckpoint=4000"])
        )
        db.execute(SCHEMA)
        if not args.no_index:
            db.execute(FTS.format(options=args.fts))
            for setting in args.fts_config or ["hashsize=33554432"]:
                name, value = setting.split("=")
                db.execute(f"INSERT INTO find(find, rank) VALUES('{name}', {int(value)})")
        counts = ingest(files, db, args)
        db.pragma("wal_checkpoint(truncate)")
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        db.close()
        stored = path.stat().st_size
    mb = counts["bytes"] / 1e6
    result = {
        "label": args.label,
        "mb": round(mb, 1),
        "files": len(files),
        "lines": counts["lines"],
        "bad_lines": counts["bad"],
        "text_mchars": round(counts["text_chars"] / 1e6, 1),
        "cpu_s": round(cpu, 3),
        "wall_s": round(wall, 3),
        "mb_per_cpu_s": round(mb / cpu, 1),
        "mb_per_s": round(mb / wall, 1),
        "db_over_source": round(stored / max(counts["bytes"], 1), 3),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "python": sys.version.split()[0],
        "sqlite": apsw.sqlite_lib_version(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
