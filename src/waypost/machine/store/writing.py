"""Writes what a reader made of a transcript: turns, usage and progress in one transaction.

The caller opens the transaction. Everything a chunk says, and the file's new offset and identity, are
committed together, so a process that dies leaves a store from which the next pass goes on exactly.
Rows are inserted once: reading the same record again cannot happen, since the offset says where to go
on; a copied record in another file becomes rows of that file, and settling finds that they are copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import apsw
import msgspec

from waypost.machine.files import crash_point
from waypost.machine.store.rows import fetch
from waypost.machine.store.words import FILE, PACK, SESSION, FileFacts, ProjectFacts, SessionFacts, Words
from waypost.machine.transcripts import Fingerprint, FoundFile
from waypost.records.ids import file_tag, project_key, session_key, small_hash
from waypost.records.transcript import Chunk, CommandDraft, SessionDraft, UsageDraft

ProjectResolver = Callable[[str | None, str | None], ProjectFacts | None]

_TURN: Final = (
    "INSERT INTO turn(id, session_id, file_id, offset, part, length, role, origin, at, flags, tool, call,"
    " exit_code, parser, payload) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_USAGE: Final = """
INSERT INTO usage_entry(file_id, session_id, key, at, model, input, output, cache_read, cache_write_5m,
    cache_write_1h, reasoning, web_stated, web_observed, final, first_offset, last_offset, turn_key, total,
    mirrored, owner) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,0,?13,?14,?15,?16,?17,?18,?2)
ON CONFLICT(session_id, file_id, key) DO UPDATE SET
    input = iif(excluded.output > output, excluded.input, input),
    cache_read = iif(excluded.output > output, excluded.cache_read, cache_read),
    cache_write_5m = iif(excluded.output > output, excluded.cache_write_5m, cache_write_5m),
    cache_write_1h = iif(excluded.output > output, excluded.cache_write_1h, cache_write_1h),
    reasoning = iif(excluded.output > output, excluded.reasoning, reasoning),
    web_stated = max(web_stated, excluded.web_stated),
    model = iif(excluded.output > output, excluded.model, model),
    output = max(output, excluded.output),
    final = max(final, excluded.final),
    last_offset = max(last_offset, excluded.last_offset)
"""
_SEARCH: Final = """
INSERT INTO usage_entry(file_id, session_id, key, at, model, input, output, cache_read, cache_write_5m,
    cache_write_1h, reasoning, web_stated, web_observed, final, first_offset, last_offset, owner)
VALUES (?1,?2,?3,?4,NULL,0,0,0,0,0,0,0,?5,0,?6,?6,?2)
ON CONFLICT(session_id, file_id, key) DO UPDATE SET web_observed = web_observed + excluded.web_observed
"""
_EXECUTION: Final = """
INSERT INTO execution(id, session_id, file_id, call, call_id, offset, part, started_at, ended_at,
    lifecycle, outcome, source, exit_code, duration_ms, denied)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
ON CONFLICT(id) DO UPDATE SET
    offset = iif(offset >= 0, offset, excluded.offset),
    started_at = coalesce(started_at, excluded.started_at),
    lifecycle = iif(ended_at IS NULL, excluded.lifecycle, lifecycle),
    outcome = iif(ended_at IS NULL, excluded.outcome, outcome),
    source = iif(ended_at IS NULL, excluded.source, source),
    exit_code = iif(ended_at IS NULL, coalesce(excluded.exit_code, exit_code), exit_code),
    duration_ms = iif(ended_at IS NOT NULL, duration_ms, coalesce(excluded.duration_ms,
        iif(excluded.ended_at >= started_at, excluded.ended_at - started_at, NULL), duration_ms)),
    denied = max(denied, excluded.denied),
    ended_at = coalesce(ended_at, excluded.ended_at)
"""


class KnownFile(NamedTuple):
    """A file as the store knows it."""

    id: int
    harness: str
    root: str
    relative: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    offset: int
    fingerprint: Fingerprint
    state: bytes


class Applied(NamedTuple):
    """What a chunk added: the ids of its indexable turns with their text, and counts."""

    texts: list[tuple[int, str]]
    sessions: set[str]
    turns: int
    usages: int


class _Known:
    """A session row in memory."""

    __slots__ = ("ended_at", "facts", "lineage", "reasons", "row", "started_at", "title_rank")

    def __init__(self, row: int) -> None:
        self.row = row
        self.started_at: int | None = None
        self.ended_at: int | None = None
        self.title_rank = 0
        self.reasons: set[str] = set()
        self.lineage: set[str] = set()
        self.facts = SessionFacts()


def path_hash(harness: str, found: FoundFile) -> int:
    """Return the key of a file: harness, root, and the path without compression suffix."""
    return small_hash(harness, found.root, found.logical)


class IngestWriter:
    """The only writer of transcript rows on a connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.words = Words(connection)
        self._sessions: dict[str, _Known | None] = {}
        self._projects: dict[str, int] = {}
        self._forgotten: set[str] = set()
        self._next_turn = self._stored_turn = 1
        self.refresh()

    def refresh(self) -> None:
        """Read counters and exclusions again: after a rollback, or when another process wrote."""
        run = self.connection.execute
        self._sessions.clear()
        self._projects.clear()
        self.words.forget_cache()
        self._forgotten = {str(row[0]) for row in run("SELECT key FROM forgotten")}
        stored = run("SELECT value FROM meta WHERE name = 'next_turn'").get
        self._next_turn = self._stored_turn = int(stored) if stored is not None else 1

    def begin(self) -> bool:
        """Open the write transaction; false when it is open already."""
        if self.connection.in_transaction:
            return False
        self.connection.execute("BEGIN IMMEDIATE")
        return True

    def commit(self) -> None:
        """Commit what was written since ``begin``, if anything."""
        if self.connection.in_transaction:
            if self._next_turn != self._stored_turn:
                self.connection.execute(
                    "INSERT OR REPLACE INTO meta VALUES ('next_turn', ?)", (self._next_turn,)
                )
                self._stored_turn = self._next_turn
            crash_point("ingest.before_commit")
            self.connection.execute("COMMIT")
            crash_point("ingest.after_commit")

    def undo(self) -> None:
        """Undo what was written since ``begin``."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self.refresh()

    def last_usage(self) -> int:
        """Return the number of the newest usage entry."""
        return int(self.connection.execute("SELECT coalesce(max(id), 0) FROM usage_entry").get)

    def usages_after(self, number: int) -> int:
        """Return how many usage entries are newer than ``number``."""
        found = self.connection.execute("SELECT count(*) FROM usage_entry WHERE id > ?", (number,)).get
        return int(found)

    def file_row(self, harness: str, found: FoundFile) -> int | None:
        """Return the row of the file at a path."""
        row = self.connection.execute(
            "SELECT id FROM source_file WHERE path_hash = ?", (path_hash(harness, found),)
        ).get
        return int(row) if row is not None else None

    def same_file(self, harness: str, found: FoundFile) -> list[KnownFile]:
        """Return known files that this one may be under a new path: same inode or same base name."""
        rows = fetch(
            self.connection,
            "SELECT id FROM source_file WHERE harness = ? AND replaced_by IS NULL"
            " AND ((device = ? AND inode = ?) OR tag = ?) LIMIT 16",
            (harness, found.device, found.inode, file_tag(found.logical.rsplit("/", 1)[-1])),
        )
        return [self.known_file(row[0]) for row in rows]

    def known_marks(self) -> dict[int, tuple[int, int, int, int, int]]:
        """Return (id, device, inode, size, mtime_ns) of every current file by path hash."""
        return {
            row[0]: (row[1], row[2], row[3], row[4], row[5])
            for row in self.connection.execute(
                "SELECT path_hash, id, device, inode, size, mtime_ns FROM source_file"
                " WHERE replaced_by IS NULL"
            )
        }

    def known_file(self, file_id: int) -> KnownFile:
        """Return all that the store knows of a file."""
        row = fetch(
            self.connection,
            "SELECT id, harness, sealed, device, inode, size, mtime_ns, offset, head_bytes, head,"
            " tail_bytes, tail, state FROM source_file WHERE id = ?",
            (file_id,),
        )[0]
        facts = FILE.decode(row[2])
        fingerprint = Fingerprint(row[8], row[9], row[10], row[11])
        return KnownFile._make((*row[:2], facts.root, facts.relative, *row[3:8], fingerprint, row[12]))

    # -- files -------------------------------------------------------------------------------------

    def add_file(self, harness: str, found: FoundFile) -> int:
        """Insert a file that was never read."""
        self.connection.execute(
            "INSERT INTO source_file(harness, path_hash, tag, sealed, device, inode, size, mtime_ns, offset,"
            " head_bytes, head, tail_bytes, tail, state) VALUES (?,?,?,?,?,?,0,0,0,0,x'',0,x'',x'')",
            (
                harness,
                path_hash(harness, found),
                file_tag(found.logical.rsplit("/", 1)[-1]),
                PACK.encode(FileFacts(found.root, found.relative)),
                found.device,
                found.inode,
            ),
        )
        return int(self.connection.last_insert_rowid())

    def move_file(self, file_id: int, harness: str, found: FoundFile) -> None:
        """A known file has a new path: moved, archived or compressed."""
        self.connection.execute(
            "UPDATE source_file SET path_hash = ?, tag = ?, sealed = ? WHERE id = ?",
            (
                path_hash(harness, found),
                file_tag(found.logical.rsplit("/", 1)[-1]),
                PACK.encode(FileFacts(found.root, found.relative)),
                file_id,
            ),
        )

    def retire_file(self, file_id: int) -> None:
        """The path now holds other content: what was read from it becomes stale."""
        self.connection.execute(
            "UPDATE source_file SET path_hash = ?, replaced_by = 0 WHERE id = ?",
            (small_hash("retired", str(file_id)), file_id),
        )

    def unfinished_replacements(self) -> dict[int, list[int]]:
        """Return retired files by the file that took their place and was not read to its end yet."""
        found: dict[int, list[int]] = {}
        for row in fetch(
            self.connection, "SELECT id, harness, sealed FROM source_file WHERE replaced_by = 0"
        ):
            facts = FILE.decode(row[2])
            new = self.file_row(row[1], FoundFile(facts.root, facts.relative, 0, 0, 0, 0))
            if new is not None:
                found.setdefault(new, []).append(row[0])
        return found

    def name_replacement(self, file_id: int, replacement: int) -> None:
        """Say which file took a retired one's place, so that settling can compare them."""
        self.connection.execute("UPDATE source_file SET replaced_by = ? WHERE id = ?", (replacement, file_id))
        self.connection.execute(
            "INSERT OR IGNORE INTO unsettled SELECT session_id FROM file_session WHERE file_id = ?",
            (file_id,),
        )

    def progress(
        self, file_id: int, found: FoundFile, *, offset: int, fingerprint: Fingerprint, state: bytes
    ) -> None:
        """Record how far a file was read and what it looked like."""
        self.connection.execute(
            "UPDATE source_file SET device=?, inode=?, size=?, mtime_ns=?, offset=?, head_bytes=?, head=?,"
            " tail_bytes=?, tail=?, state=? WHERE id=?",
            (
                found.device,
                found.inode,
                found.size,
                found.mtime_ns,
                offset,
                fingerprint.head_bytes,
                fingerprint.head,
                fingerprint.tail_bytes,
                fingerprint.tail,
                state,
                file_id,
            ),
        )

    # -- chunks ------------------------------------------------------------------------------------

    def apply(
        self,
        file_id: int,
        harness: str,
        parser_version: int,
        chunk: Chunk,
        payloads: Sequence[bytes],
        project_of: ProjectResolver,
    ) -> Applied:
        """Write a chunk; ``payloads`` are the sealed values of its turns, in order."""
        rows: dict[str, tuple[int, str] | None] = {}
        for draft in chunk.sessions:
            rows[draft.native_id] = self._session(harness, draft, project_of)
            self._file_session(file_id, rows[draft.native_id], draft)
        texts = self._turns(file_id, chunk, payloads, rows, parser_version)
        usages = self._usages(file_id, chunk, rows)
        self._executions(file_id, chunk.commands, rows)
        run = self.connection.execute
        for change in chunk.amendments:
            known = rows.get(change.session)
            if known is not None:
                run(
                    "UPDATE turn SET origin = ?, flags = (flags & ~?) | ?"
                    " WHERE session_id = ? AND file_id = ? AND offset = ? AND part = 0",
                    (change.origin, change.flags_before, change.flags, known[0], file_id, change.offset),
                )
        for bad in chunk.malformed:
            run(
                "INSERT OR REPLACE INTO malformed_record VALUES (?,?,?,?)",
                (file_id, bad.offset, bad.length, bad.reason),
            )
        for name, count in chunk.unknown_types.items():
            run(
                "INSERT INTO unknown_type VALUES (?,?,?) ON CONFLICT(file_id, name) DO UPDATE SET"
                " count = count + excluded.count",
                (file_id, name, count),
            )
        if chunk.records:
            run("UPDATE source_file SET records = records + ? WHERE id = ?", (chunk.records, file_id))
        return Applied(texts, {known[1] for known in rows.values() if known}, len(texts), usages)

    def _turns(
        self,
        file_id: int,
        chunk: Chunk,
        payloads: Sequence[bytes],
        rows: dict[str, tuple[int, str] | None],
        parser_version: int,
    ) -> list[tuple[int, str]]:
        values = []
        texts: list[tuple[int, str]] = []
        number = self._next_turn
        intern = self.words.intern
        for draft, payload in zip(chunk.turns, payloads, strict=True):
            known = rows.get(draft.session)
            if known is None:
                continue
            values.append(
                (
                    number,
                    known[0],
                    file_id,
                    draft.offset,
                    draft.part,
                    draft.length,
                    draft.role,
                    draft.origin,
                    draft.at,
                    draft.flags,
                    intern(draft.tool),
                    draft.call,
                    draft.exit_code,
                    parser_version,
                    payload,
                )
            )
            texts.append((number, draft.text))
            number += 1
        if values:
            self.connection.executemany(_TURN, values)
            self._next_turn = number
        return texts

    def _usages(self, file_id: int, chunk: Chunk, rows: dict[str, tuple[int, str] | None]) -> int:
        values = [
            self._usage_row(file_id, known[0], draft)
            for draft in chunk.usages
            if (known := rows.get(draft.session)) is not None
        ]
        if values:
            self.connection.executemany(_USAGE, values)
        touched = {row[1] for row in values}
        for search in chunk.searches:
            known = rows.get(search.session)
            if known is not None:
                self.connection.execute(
                    _SEARCH, (file_id, known[0], search.key, search.at, search.count, search.offset)
                )
                touched.add(known[0])
        for session in touched:
            self.connection.execute("INSERT OR IGNORE INTO unsettled VALUES (?)", (session,))
        return len(values)

    def _usage_row(self, file_id: int, session: int, draft: UsageDraft) -> tuple[int | None, ...]:
        return (
            file_id,
            session,
            draft.key,
            draft.at,
            self.words.intern(draft.model),
            draft.input,
            draft.output,
            draft.cache_read,
            draft.cache_write_5m,
            draft.cache_write_1h,
            draft.reasoning,
            draft.web_searches,
            int(draft.final),
            draft.offset,
            draft.last_offset,
            draft.turn_key,
            draft.total,
            int(draft.mirrored),
        )

    def _executions(
        self, file_id: int, commands: Sequence[CommandDraft], rows: dict[str, tuple[int, str] | None]
    ) -> None:
        values = [
            (
                small_hash(known[1], draft.call_id),
                known[0],
                file_id,
                small_hash(draft.call_id),
                draft.call_id,
                draft.offset,
                draft.part,
                draft.started_at,
                draft.ended_at,
                draft.lifecycle,
                draft.outcome,
                draft.source,
                draft.exit_code,
                draft.duration_ms,
                int(draft.denied),
            )
            for draft in commands
            if (known := rows.get(draft.session)) is not None
        ]
        if values:
            self.connection.executemany(_EXECUTION, values)

    # -- sessions ----------------------------------------------------------------------------------

    def _session(
        self, harness: str, draft: SessionDraft, project_of: ProjectResolver
    ) -> tuple[int, str] | None:
        key = session_key(harness, draft.native_id)
        if key in self._sessions:
            known = self._sessions[key]
            if known is None:
                return None
        else:
            known = self._load(key)
            if known is None:
                if key in self._forgotten:
                    self._sessions[key] = None
                    return None
                facts = project_of(draft.cwd, draft.remote)
                if facts is None:
                    self._sessions[key] = None
                    return None
                known = self._insert(key, harness, draft, facts)
            self._sessions[key] = known
        if not self._update(known, harness, draft, project_of):
            self._expel(known.row)
            self._sessions[key] = None
            return None
        return known.row, key

    def _expel(self, row: int) -> None:
        """Take a session out again whose folder, once it was stated, turned out to have opted out."""
        for table in ("turn", "usage_entry", "execution", "file_session", "unsettled"):
            if table == "turn":
                self.connection.execute(
                    "DELETE FROM turn_text WHERE rowid IN (SELECT id FROM turn WHERE session_id = ?)", (row,)
                )
            self.connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (row,))
        self.connection.execute("DELETE FROM session WHERE id = ?", (row,))

    def keeps_nothing_of(self, file_id: int) -> bool:
        """Tell whether no session of a file is in the store: forgotten, opted out, or not begun yet."""
        found = self.connection.execute(
            "SELECT 1 FROM file_session WHERE file_id = ? LIMIT 1", (file_id,)
        ).get
        return found is None

    def _load(self, key: str) -> _Known | None:
        row = self.connection.execute(
            "SELECT id, started_at, ended_at, title_rank, reasons, lineage, sealed"
            " FROM session WHERE key = ?",
            (key,),
        ).fetchone()
        if row is None:
            return None
        known = _Known(row[0])
        known.started_at, known.ended_at, known.title_rank = row[1], row[2], row[3]
        known.reasons, known.lineage = set(row[4].split()), set(row[5].split("\n")) - {""}
        known.facts = SESSION.decode(row[6])
        return known

    def _insert(self, key: str, harness: str, draft: SessionDraft, facts: ProjectFacts) -> _Known:
        self.connection.execute(
            "INSERT INTO session(key, harness, native_id, project_id, own_run, sealed) VALUES (?,?,?,?,?,?)",
            (
                key,
                harness,
                draft.native_id,
                self.project(facts),
                int(draft.own_run),
                PACK.encode(SessionFacts()),
            ),
        )
        return _Known(int(self.connection.last_insert_rowid()))

    def project(self, facts: ProjectFacts) -> int:
        """Return the row of a project, adding it or a folder newly seen."""
        known = self._projects.get(facts.identity + "\n" + "\n".join(facts.roots))
        if known is not None:
            return known
        key = project_key(facts.identity)
        row = self.connection.execute("SELECT id, sealed FROM project WHERE key = ?", (key,)).fetchone()
        if row is None:
            self.connection.execute(
                "INSERT INTO project(key, sealed) VALUES (?, ?)", (key, PACK.encode(facts))
            )
            number = int(self.connection.last_insert_rowid())
        else:
            number = row[0]
            stored = msgspec.msgpack.decode(row[1], type=ProjectFacts)
            new = [root for root in facts.roots if root not in stored.roots]
            if new:
                stored.roots.extend(new)
                stored.roots.sort()
                self.connection.execute(
                    "UPDATE project SET sealed = ? WHERE id = ?", (PACK.encode(stored), number)
                )
        self._projects[facts.identity + "\n" + "\n".join(facts.roots)] = number
        return number

    def _update(self, known: _Known, harness: str, draft: SessionDraft, project_of: ProjectResolver) -> bool:
        facts = known.facts
        before = (
            known.started_at,
            known.ended_at,
            known.title_rank,
            set(known.reasons),
            set(known.lineage),
            PACK.encode(facts),
        )
        if draft.started_at is not None:
            known.started_at = min(draft.started_at, known.started_at or draft.started_at)
        if draft.ended_at is not None:
            known.ended_at = max(draft.ended_at, known.ended_at or draft.ended_at)
        if draft.title and (draft.title_rank > known.title_rank or draft.title_rank == known.title_rank > 1):
            facts.title, known.title_rank = draft.title, draft.title_rank
        if draft.cwd and facts.cwd is None:
            facts.cwd = draft.cwd
            resolved = project_of(draft.cwd, draft.remote)
            if resolved is None:
                return False
            self.connection.execute(
                "UPDATE session SET project_id = ? WHERE id = ?", (self.project(resolved), known.row)
            )
        facts.branch = draft.branch or facts.branch
        facts.version = draft.version or facts.version
        facts.entrypoint = facts.entrypoint or draft.entrypoint
        facts.remote = facts.remote or draft.remote
        facts.stated_cost = draft.stated_cost or facts.stated_cost
        facts.models = sorted({*facts.models, *draft.models})
        known.reasons |= set(draft.reasons)
        related = (draft.parent, draft.forked_from, *draft.copied_from)
        known.lineage |= {native for native in related if native}
        after = (
            known.started_at,
            known.ended_at,
            known.title_rank,
            known.reasons,
            known.lineage,
            PACK.encode(facts),
        )
        if before == after and not draft.parent and not draft.forked_from and not draft.own_run:
            return True
        self.connection.execute(
            "UPDATE session SET started_at=?, ended_at=?, title_rank=?, reasons=?, lineage=?, sealed=?,"
            " parent=coalesce(parent, ?), forked=coalesce(forked, ?), own_run=max(own_run, ?) WHERE id=?",
            (
                known.started_at,
                known.ended_at,
                known.title_rank,
                " ".join(sorted(known.reasons)),
                "\n".join(sorted(known.lineage)),
                after[5],
                session_key(harness, draft.parent) if draft.parent else None,
                session_key(harness, draft.forked_from) if draft.forked_from else None,
                int(draft.own_run),
                known.row,
            ),
        )
        return True

    def _file_session(self, file_id: int, known: tuple[int, str] | None, draft: SessionDraft) -> None:
        if known is None:
            return
        self.connection.execute(
            "INSERT INTO file_session(session_id, file_id, opened_at, ended_at, turns, prompts,"
            " automated_prompts, queued_prompts) VALUES (?,?,?,?,?,?,?,?)"
            " ON CONFLICT(session_id, file_id) DO UPDATE SET"
            " opened_at = coalesce(opened_at, excluded.opened_at),"
            " ended_at = max(coalesce(ended_at, excluded.ended_at), coalesce(excluded.ended_at, ended_at)),"
            " turns = turns + excluded.turns, prompts = prompts + excluded.prompts,"
            " automated_prompts = automated_prompts + excluded.automated_prompts,"
            " queued_prompts = queued_prompts + excluded.queued_prompts",
            (
                known[0],
                file_id,
                draft.opened_at,
                draft.ended_at,
                draft.turns,
                draft.prompts,
                draft.automated_prompts,
                draft.queued_prompts,
            ),
        )
