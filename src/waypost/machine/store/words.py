"""Interned names (models, tools) and the small sealed records of sessions, projects and files."""

from __future__ import annotations

from typing import Final

import apsw
import msgspec

from waypost.records.ids import small_hash

WORD_CHARACTERS_MAX: Final = 200


class SessionFacts(msgspec.Struct, array_like=True):
    """What a session is called and where it ran."""

    title: str | None = None
    cwd: str | None = None
    branch: str | None = None
    version: str | None = None
    entrypoint: str | None = None
    remote: str | None = None
    models: list[str] = msgspec.field(default_factory=list)
    stated_cost: str | None = None


class ProjectFacts(msgspec.Struct, array_like=True):
    """What a project is: ``identity`` is ``remote:…`` or ``path:…``; roots are folders seen."""

    identity: str
    name: str
    remote: str | None = None
    roots: list[str] = msgspec.field(default_factory=list)


class FileFacts(msgspec.Struct, array_like=True):
    """Where a transcript lies."""

    root: str
    relative: str


PACK: Final = msgspec.msgpack.Encoder()
SESSION: Final = msgspec.msgpack.Decoder(SessionFacts)
PROJECT: Final = msgspec.msgpack.Decoder(ProjectFacts)
FILE: Final = msgspec.msgpack.Decoder(FileFacts)


class Words:
    """Names to row ids and back, cached for the life of a connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._ids: dict[str, int] = {}
        self._texts: dict[int, str] = {}

    def forget_cache(self) -> None:
        """Drop the cache after a transaction was undone."""
        self._ids.clear()

    def intern(self, text: str | None) -> int | None:
        """Return the id of a name, adding it when it is new; None for None."""
        if text is None:
            return None
        known = self._ids.get(text)
        if known is not None:
            return known
        short = text[:WORD_CHARACTERS_MAX]
        digest = small_hash("word", short)
        found = self._connection.execute("SELECT id FROM word WHERE hash = ?", (digest,)).get
        if found is None:
            self._connection.execute("INSERT INTO word(hash, text) VALUES (?, ?)", (digest, short))
            found = self._connection.last_insert_rowid()
        self._ids[text] = int(found)
        return int(found)

    def text(self, word: int | None) -> str | None:
        """Return the name behind an id."""
        if word is None:
            return None
        if word not in self._texts:
            found = self._connection.execute("SELECT text FROM word WHERE id = ?", (word,)).get
            self._texts[word] = str(found) if found is not None else "unknown"
        return self._texts[word]
