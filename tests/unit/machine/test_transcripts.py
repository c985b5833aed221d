"""Finding transcripts and reading their complete records."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
import zstandard

from waypost.machine import transcripts
from waypost.machine.transcripts import FoundFile, TranscriptHandle


def found(path: Path) -> FoundFile:
    details = path.stat()
    return FoundFile(
        str(path.parent), path.name, details.st_dev, details.st_ino, details.st_size, details.st_mtime_ns
    )


def offsets(path: Path, *, bytes_max: int = 10_000, start: int = 0) -> tuple[list[tuple[int, bytes]], int]:
    """Every record from an offset on, and where reading stopped."""
    seen: list[tuple[int, bytes]] = []
    with TranscriptHandle(found(path)) as handle:
        handle.seek(start)
        while not handle.exhausted:
            seen += handle.records(bytes_max=bytes_max)
        return seen, handle.offset


@pytest.mark.parametrize("bytes_max", [1, 3, 7, 10_000])
def test_every_complete_record_comes_once_with_its_offset(tmp_path: Path, bytes_max: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":1}\n\n\r\n{"b":2}\r\n{"c"')
    assert offsets(path, bytes_max=bytes_max) == ([(0, b'{"a":1}'), (11, b'{"b":2}')], 20)
    assert offsets(path, bytes_max=bytes_max, start=11) == ([(11, b'{"b":2}')], 20)


@pytest.mark.parametrize(
    ("tail", "counts"),
    [
        (b'{"c":3}', True),
        (b'{"c":3} ', True),
        (b'{"c":{}', False),
        (b"[1]", False),
        (b"12", False),
        (b"{}x", False),
    ],
)
def test_a_last_line_without_end_counts_only_when_nothing_could_extend_it(
    tmp_path: Path, tail: bytes, counts: bool
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":1}\n' + tail)
    seen, end = offsets(path)
    assert len(seen) == 1 + counts
    assert end == (8 + len(tail) if counts else 8)


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
def test_compressed_files_have_the_offsets_of_their_content(tmp_path: Path, suffix: str) -> None:
    text = b"".join(json.dumps({"n": number}).encode() + b"\n" for number in range(500))
    plain, packed = tmp_path / "a.jsonl", tmp_path / f"a.jsonl{suffix}"
    plain.write_bytes(text)
    if suffix == ".gz":
        packed.write_bytes(gzip.compress(text[:3000]) + gzip.compress(text[3000:]))
    else:
        pack = zstandard.ZstdCompressor().compress
        packed.write_bytes(pack(text[:3000]) + pack(text[3000:]))
    assert offsets(packed, bytes_max=100) == offsets(plain, bytes_max=100)
    line = text.index(b'{"n": 300}')
    assert offsets(packed, start=line) == offsets(plain, start=line)
    assert found(packed).logical == found(plain).logical == "a.jsonl"


def test_content_that_continues_is_told_from_content_that_does_not(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = b"".join(json.dumps({"n": number, "t": "x" * 200}).encode() + b"\n" for number in range(800))
    path.write_bytes(text)
    with TranscriptHandle(found(path)) as handle:
        while not handle.exhausted:
            handle.records(bytes_max=50_000)
        end, mark = handle.offset, handle.fingerprint()
    assert end == len(text) > transcripts.HEAD_BYTES * 2

    def continues(data: bytes) -> bool:
        path.write_bytes(data)
        with TranscriptHandle(found(path)) as handle:
            return handle.continues(end, mark)

    assert continues(text)
    assert continues(text + b'{"more":1}\n')
    assert not continues(text[:-10])
    assert not continues(b"{" + text)
    assert not continues(text.replace(b'"n": 0,', b'"n": 9,', 1))
    assert not continues(text[:-50] + b"y" * 50)
    assert not continues(b"")


def test_a_pipe_a_folder_and_a_link_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text("{}\n")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    assert [one.relative for one in transcripts.walk(tmp_path)] == ["real.jsonl"]
    for name in ("pipe.jsonl", "folder.jsonl", "link.jsonl"):
        before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
        with pytest.raises(OSError):
            TranscriptHandle(FoundFile(str(tmp_path), name, 0, 0, 0, 0))
        after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
        assert before == after


def test_walking_is_bounded_in_depth_and_survives_what_is_missing(tmp_path: Path) -> None:
    deep = tmp_path
    for level in range(transcripts.WALK_DEPTH_MAX + 4):
        deep = deep / f"d{level}"
    deep.mkdir(parents=True)
    (deep / "too-deep.jsonl").write_text("{}\n")
    (tmp_path / "d0" / "near.jsonl").write_text("{}\n")
    assert [one.relative for one in transcripts.walk(tmp_path)] == ["d0/near.jsonl"]
    assert list(transcripts.walk(tmp_path / "missing")) == []
    assert list(transcripts.walk(tmp_path, below=("missing",))) == []
