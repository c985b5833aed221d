"""One ingestion pass: find transcripts, read what is new, write it, settle, index.

Newest files first, so that what a person is doing now appears before last year. While a backlog is
being read, files that grow are looked at again every ``LIVE_S`` and go ahead of it. Every chunk is
one transaction with the file's new offset; killed anywhere, the next pass goes on and ends in the
same store. An unchanged pass opens no write transaction at all.
"""

from __future__ import annotations

import contextlib
import gc
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from waypost.errors import MachineError
from waypost.flows.app import App, World
from waypost.flows.history import readable, searched_text
from waypost.flows.projects import ProjectFinder
from waypost.flows.reading import DECODER, ENCODER, TASK_DECODER, ReadResult, ReadTask, read_file
from waypost.machine import files, transcripts
from waypost.machine.store import search, settling, turns
from waypost.machine.store.database import guarded, transaction
from waypost.machine.store.words import Words
from waypost.machine.store.writing import IngestWriter, KnownFile, path_hash
from waypost.machine.transcripts import Fingerprint, FoundFile
from waypost.plugins.registry import TRANSCRIPT_READERS, transcript_reader

if TYPE_CHECKING:
    from waypost.machine.workers import Worker

LIVE_S: Final = 0.7
HOT_FILES_MAX: Final = 256
COMMIT_BYTES: Final = 32 * 1024 * 1024
COMMIT_S: Final = 1.0
WORKERS_FROM_BYTES: Final = 4 * 1024 * 1024
INDEX_PAGE_TURNS: Final = 2000
INDEX_SLICE_TURNS: Final = 500
REPORT_S: Final = 0.1
#: The size on record of a file that was not read to its end: no file has it, so the next pass goes on.
UNFINISHED_SIZE: Final = -1
_SUBFOLDERS: Final = {"claude_code": ("projects",), "codex": ("sessions", "archived_sessions")}


class Root(NamedTuple):
    """A folder of one harness: a Claude configuration folder or a Codex home."""

    harness: str
    path: Path


@dataclass
class Report:
    """What a pass did; counts are of this pass."""

    files_seen: int = 0
    files_changed: int = 0
    absent_folders: list[str] = field(default_factory=list)
    bytes_read: int = 0
    records_read: int = 0
    sessions: set[str] = field(default_factory=set)
    turns: int = 0
    usage_entries: int = 0
    malformed_records: int = 0
    unknown_record_types: dict[str, int] = field(default_factory=dict)
    unreadable_files: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    elapsed_ms: int = 0
    interrupted: bool = False


@dataclass
class Progress:
    """How far a pass is: bytes of transcripts, then turns of the index."""

    stage: str
    done: int
    total: int
    sessions: int


ProgressListener = Callable[[Progress], None]


def default_roots(world: World) -> list[Root]:
    """Return where the harnesses keep their transcripts unless told otherwise."""
    environment = world.environment
    stated = environment.get("CLAUDE_CONFIG_DIR")
    if stated:
        folders = [Path(part) for part in stated.split(",") if part.strip()]
    else:
        folders = [world.user_home / ".claude", world.user_home / ".config" / "claude"]
    codex = environment.get("CODEX_HOME")
    roots = [Root("claude_code", folder) for folder in folders]
    return [*roots, Root("codex", Path(codex) if codex else world.user_home / ".codex")]


def scan(roots: Sequence[Root]) -> list[tuple[str, FoundFile]]:
    """Find every transcript below the roots, each once, newest content first."""
    found: dict[tuple[str, str, str], tuple[str, FoundFile]] = {}
    seen: set[tuple[int, int]] = set()
    readers = {reader.name: reader for reader in TRANSCRIPT_READERS}
    for root in roots:
        try:
            base = root.path.resolve(strict=True)
        except OSError:
            continue
        reader = readers[root.harness]
        for file in transcripts.walk(base, below=_SUBFOLDERS[root.harness]):
            if reader.claims(file.logical) and (file.device, file.inode) not in seen:
                seen.add((file.device, file.inode))
                place = (root.harness, file.root, file.logical)
                if place not in found or found[place][1].compressed:
                    # While it is being compressed a file lies there twice: the plain one is whole.
                    found[place] = (root.harness, file)
    return sorted(found.values(), key=lambda one: -one[1].mtime_ns)


@contextlib.contextmanager
def ingest_lock(app: App) -> Iterator[None]:
    """Hold the home's ingestion lock. Errors: ``ingest_busy`` when another process is ingesting."""
    files.private_folder(app.world.home)
    path = app.world.home / "ingest.lock"
    with files.exclusive_lock(path) as held:
        if not held:
            raise MachineError(
                "ingest_busy",
                "another waypost is reading transcripts into this store",
                hint="its results appear as it goes; waypost sessions works meanwhile",
            )
        yield
        path.touch()


class IngestPass:
    """A pass over some roots. ``stop`` is asked between steps; true ends the pass cleanly."""

    def __init__(
        self,
        app: App,
        roots: Sequence[Root],
        *,
        jobs: int,
        progress: ProgressListener | None = None,
        stop: Callable[[], bool] = lambda: False,
        finder: ProjectFinder | None = None,
    ) -> None:
        self.app = app
        self.world = app.world
        self.roots = roots
        self.jobs = max(1, jobs)
        self.report = Report()
        self._progress = progress
        self._stop = stop
        self._finder = finder or ProjectFinder()
        self._total = 0
        self._last_report = 0.0
        self._texts: list[tuple[int, str]] = []
        self._characters = 0
        self._bulk = False
        self._pending: dict[int, tuple[str, FoundFile]] = {}
        self._busy: set[int] = set()
        self._seen: dict[int, tuple[int, int, int, int]] = {}
        self._replacements: dict[int, list[int]] = {}
        self._open_bytes = 0
        self._opened = 0.0
        self._looked = 0.0
        self._indexing = False
        self._workers: list[Worker] = []

    def run(self) -> Report:
        """Do the pass. The caller holds the ingestion lock."""
        started = self.world.monotonic()
        with guarded(), _seldom_collected():
            self.store = self.app.made_store()
            self.writer = IngestWriter(self.store)
            first_usage = self.writer.last_usage()
            self._replacements = self.writer.unfinished_replacements()
            self.report.absent_folders = [str(root.path) for root in self.roots if not root.path.exists()]
            self._plan(scan(self.roots), count=True)
            self._total = sum(found.size for _, found in self._pending.values())
            try:
                self._read_everything()
            finally:
                self._commit()
            if settling.pending(self.store):
                with transaction(self.store):
                    settling.settle(self.store)
                self.writer.refresh()
            self._index(finish=True)
            self.report.usage_entries = self.writer.usages_after(first_usage)
        self.report.problems.extend(self._finder.problems)
        self.report.interrupted = self._stop()
        self.report.elapsed_ms = int((self.world.monotonic() - started) * 1000)
        return self.report

    # -- what to read ------------------------------------------------------------------------------

    def _plan(self, found: Sequence[tuple[str, FoundFile]], *, count: bool = False) -> None:
        """Note every file whose size, time or identity is not what was last read."""
        marks = self.writer.known_marks()
        if count:
            self.report.files_seen = len(found)
        for harness, file in found:
            key = path_hash(harness, file)
            known = marks.get(key)
            current = (file.device, file.inode, file.size, file.mtime_ns)
            self._seen[key] = current
            if known is not None and known[1:] == current:
                continue
            if key not in self._busy:
                self._pending[key] = (harness, file)

    def _task(self, harness: str, found: FoundFile) -> tuple[ReadTask, int | None]:
        """Return the reading task of a file and its row, following a move if there was one."""
        known = self._known(harness, found)
        mark = known.fingerprint if known is not None else Fingerprint(0, b"", 0, b"")
        task = ReadTask(
            harness,
            found.root,
            found.relative,
            found.device,
            found.inode,
            found.size,
            found.mtime_ns,
            known.offset if known is not None else 0,
            mark.head_bytes,
            mark.head,
            mark.tail_bytes,
            mark.tail,
            known.state if known is not None else b"",
        )
        return task, known.id if known is not None else None

    def _known(self, harness: str, found: FoundFile) -> KnownFile | None:
        row = self.writer.file_row(harness, found)
        return self.writer.known_file(row) if row is not None else self._moved(harness, found)

    def _moved(self, harness: str, found: FoundFile) -> KnownFile | None:
        """Look for a known file that is gone from its path and whose content this one continues."""
        candidates = self.writer.same_file(harness, found)
        for known in candidates:
            if known.offset == 0 or Path(known.root, known.relative).exists():
                continue
            try:
                with transcripts.TranscriptHandle(found) as handle:
                    same = handle.continues(known.offset, known.fingerprint)
            except Exception:  # unreadable now: it is planned as a new file and reported there
                continue
            if same:
                self._begin()
                self.writer.move_file(known.id, harness, found)
                return known
        return None

    # -- reading and writing -----------------------------------------------------------------------

    def _read_everything(self) -> None:
        small = sum(found.size for _, found in self._pending.values()) < WORKERS_FROM_BYTES
        if self.jobs == 1 or small:
            self._read_alone()
            return
        from waypost.machine.workers import Worker, WorkerDiedError

        workers = self._workers
        for _ in range(self.jobs):
            workers.append(Worker(work, beside=tuple(workers)))
        try:
            self._read_with(workers)
        except WorkerDiedError:
            self.report.problems.append("a reading worker died; its files are read by the main process")
            self._busy.clear()
            self._plan(scan(self.roots))
            self._read_alone()
        finally:
            self._workers = []
            for worker in workers:
                worker.end()

    def _next(self) -> tuple[str, FoundFile] | None:
        if not self._pending or self._stop():
            return None
        key = next(iter(self._pending))
        return self._pending.pop(key)

    def _read_alone(self) -> None:
        while (one := self._next()) is not None:
            task, row = self._task(*one)
            key = path_hash(task.harness, task.found())
            self._busy.add(key)
            for result in read_file(task):
                row = self._write(task, row, result)
                self._live()
                if self._stop():
                    return
            self._busy.discard(key)

    def _read_with(self, workers: list[Worker]) -> None:
        """Let workers read and decode while this process writes and indexes."""
        from waypost.machine.workers import TASKS_AHEAD

        given: dict[Worker, deque[tuple[ReadTask, int | None]]] = {worker: deque() for worker in workers}
        while True:
            for worker in workers:
                while worker.waiting < TASKS_AHEAD and (one := self._next()) is not None:
                    task, row = self._task(*one)
                    given[worker].append((task, row))
                    self._busy.add(path_hash(task.harness, task.found()))
                    worker.give(ENCODER.encode(task))
            active = [worker for worker in workers if worker.waiting]
            if not active or self._stop():
                return
            for worker in active:
                data = worker.take(timeout_s=LIVE_S / len(active))
                if data is None:
                    continue
                task, row = given[worker][0]
                if data:
                    given[worker][0] = (task, self._write(task, row, DECODER.decode(data)))
                else:
                    given[worker].popleft()
                    self._busy.discard(path_hash(task.harness, task.found()))
            self._live()

    def _live(self) -> None:
        """Every ``LIVE_S``, read files that grew or appeared since they were planned, ahead of the rest."""
        if self.world.monotonic() - self._looked < LIVE_S:
            return
        hot: list[tuple[str, FoundFile]] = []
        for harness, file in scan(self.roots)[:HOT_FILES_MAX]:
            key = path_hash(harness, file)
            current = (file.device, file.inode, file.size, file.mtime_ns)
            if key in self._busy or self._seen.get(key) == current:
                continue
            if key in self._pending and file.size > COMMIT_BYTES:
                continue  # large and already in line
            self._seen[key] = current
            self._pending.pop(key, None)
            hot.append((harness, file))
        for harness, file in hot:
            task, row = self._task(harness, file)
            for result in read_file(task):
                row = self._write(task, row, result)
        if hot:
            self._commit()
        self._looked = self.world.monotonic()

    def _begin(self) -> None:
        if self.writer.begin():
            self._opened = self.world.monotonic()

    def _commit(self) -> None:
        self.writer.commit()
        self._open_bytes = 0

    def _write(self, task: ReadTask, row: int | None, result: ReadResult) -> int | None:
        """Write one result; returns the file's row."""
        found = task.found()
        if result.error:
            self.report.unreadable_files.append(f"{found.path}: {result.error}")
            return row
        self._begin()
        report = self.report
        try:
            if row is not None and result.restarted:
                self.writer.retire_file(row)
                new = self.writer.add_file(task.harness, found)
                self._replacements[new] = [row, *self._replacements.pop(row, [])]
                row = new
            if row is None:
                row = self.writer.add_file(task.harness, found)
            reader = transcript_reader(task.harness)
            applied = self.writer.apply(
                row, task.harness, reader.version, result.chunk, result.payloads, self._finder
            )
            state = result.chunk.state
            if self.writer.keeps_nothing_of(row):
                state = reader.without_words(state)
            self.writer.progress(
                row,
                found._replace(
                    device=result.device,
                    inode=result.inode,
                    size=found.size if result.last else UNFINISHED_SIZE,
                ),
                offset=result.offset,
                fingerprint=result.fingerprint(),
                state=state,
            )
            if result.last:
                for old in self._replacements.pop(row, []):
                    self.writer.name_replacement(old, row)
        except BaseException:
            self.writer.undo()
            raise
        report.bytes_read += result.bytes_read
        report.records_read += result.chunk.records
        report.sessions |= applied.sessions
        report.turns += applied.turns
        report.malformed_records += len(result.chunk.malformed)
        for name, count in result.chunk.unknown_types.items():
            report.unknown_record_types[name] = report.unknown_record_types.get(name, 0) + count
        if result.last:
            report.files_changed += 1
        self._texts.extend(applied.texts)
        self._characters += sum(len(text) for _, text in applied.texts)
        self._open_bytes += result.bytes_read
        if self._open_bytes > COMMIT_BYTES or self.world.monotonic() - self._opened > COMMIT_S:
            self._commit()
            self._index(finish=False)
        self._tell("reading", report.bytes_read, max(self._total, report.bytes_read))
        return row

    # -- the text index ----------------------------------------------------------------------------

    def _index(self, *, finish: bool) -> None:
        """Index what was written, in large steps; the rest of an earlier pass first."""
        enough = len(self._texts) >= search.INDEX_BATCH_TURNS or (
            self._characters >= search.INDEX_BATCH_CHARACTERS
        )
        if self._indexing or (not enough and not finish):
            return
        self._commit()
        first = self._texts[0][0] if self._texts else None
        if self._catch_up(first) and self._texts:
            texts, self._texts, self._characters = self._texts, [], 0
            self._bulk = self._bulk or len(texts) > INDEX_PAGE_TURNS
            self._indexing = True
            self._add(texts)
            self._indexing = False
        if finish and self._texts:
            self._index(finish=True)  # what arrived while the rest was indexed
        elif finish and self._bulk:
            with transaction(self.store):
                search.set_pace(self.store, search.LIVE)

    def _add(self, texts: list[tuple[int, str]]) -> None:
        """Add texts slice by slice; between slices look at the workers and at live files."""
        start = 0
        while start < len(texts):
            with transaction(self.store):
                if self._bulk and start == 0:
                    search.set_pace(self.store, search.BULK)
                while start < len(texts):
                    search.add(self.store, texts[start : start + INDEX_SLICE_TURNS])
                    start += INDEX_SLICE_TURNS
                    for worker in self._workers:
                        worker.pump()
                    if self.world.monotonic() - self._looked >= LIVE_S:
                        break
            self._live()

    def _catch_up(self, until: int | None) -> bool:
        """Index turns below ``until`` that an interrupted pass left; false when stopped meanwhile."""
        while True:
            done = search.indexed_to(self.store)
            if until is not None and done >= until - 1:
                return True
            words = Words(self.store)
            batch = turns.after_number(self.store, words, done, limit=INDEX_PAGE_TURNS)
            if until is not None:
                batch = [one for one in batch if one[0].number < until]
            if not batch:
                return True
            if self._stop():
                return False
            with transaction(self.store):
                search.add(
                    self.store,
                    [(turn.number, searched_text(readable(turn, harness))) for turn, harness in batch],
                )

    def _tell(self, stage: str, done: int, total: int) -> None:
        if self._progress is None:
            return
        now = self.world.monotonic()
        if now - self._last_report >= REPORT_S:
            self._last_report = now
            self._progress(Progress(stage, done, total, len(self.report.sessions)))


@contextlib.contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let the cycle collector run seldom: what a pass makes is freed by counting (5 % of a cold pass)."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def work(task: bytes) -> Iterator[bytes]:
    """What a reading worker does with a task."""
    with _seldom_collected():
        for result in read_file(TASK_DECODER.decode(task)):
            yield ENCODER.encode(result)


def ingest(
    app: App,
    roots: Sequence[Root],
    *,
    jobs: int,
    progress: ProgressListener | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Report:
    """Run one pass under the home's ingestion lock."""
    with ingest_lock(app):
        return IngestPass(app, roots, jobs=jobs, progress=progress, stop=stop).run()
