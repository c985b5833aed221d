"""Counting each API response once, however often it is written down.

A response is copied when a session is resumed into a new file, forked, backgrounded or replayed by a
side question; a Codex fork copies its parent's history with new time stamps. Tokens belong to the
session that paid for them: its *owner*. Every other place that shows the same response *shares* it.

Two kinds of evidence say that two records are one response. Where the provider's response id is
written down, it is the key, and all sightings of a key are one response (``attribute``). Where only
cumulative totals are written down, lineage decides: a fork's entry is copied when its turn id occurs
in an ancestor, or, in formats without turn ids, while its totals repeat the ancestor's from the start
(``copied_entries``). Equal numbers alone prove nothing: two honest sessions can have equal totals.

All functions give the same answer for any order in which files were read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

_LATE: Final = 2**62
ANCESTORS_MAX: Final = 64


class Sighting(NamedTuple):
    """One place where a response is written: a usage entry of one session in one file."""

    entry: int
    session: int
    at: int | None
    opened_at: int | None
    ended_at: int | None
    native_id: str
    path: str
    output: int
    mirrored: bool = False


class Attribution(NamedTuple):
    """``owner`` pays and keeps the count; its figures become those of ``largest``."""

    owner: Sighting
    largest: Sighting


def _rank(one: Sighting) -> tuple[bool, int, int, int, str, str]:
    return (
        one.mirrored,
        one.at if one.at is not None else _LATE,
        one.opened_at if one.opened_at is not None else _LATE,
        one.ended_at if one.ended_at is not None else _LATE,
        one.native_id,
        one.path,
    )


def attribute(sightings: Sequence[Sighting]) -> Attribution:
    """Decide who owns a response and which record of it is complete.

    Owner: never a mirrored sighting where there is another; the earliest record time (older versions
    stamp copies with the time of copying); then the file that was opened first (a fork's first line is
    later than the times it copies); then the session that ended first; then the native id; then the
    path, so that a session's main file comes before its sub-agents'. Largest: the most output tokens,
    the owner's figures on a tie, since a streaming
    snapshot always shows less output than the final record.
    """
    ordered = sorted(sightings, key=_rank)
    owner = ordered[0]
    largest = max(ordered, key=lambda one: (one.output, one is owner))
    return Attribution(owner, largest)


class Entry(NamedTuple):
    """A usage entry known by lineage: the hash of its turn id, if any, and of its running totals."""

    turn: int | None
    total: int | None


class Ancestor(NamedTuple):
    """A session whose history may have been copied, nearest first in a sequence."""

    session: int
    turns: Collection[int]
    entries: Sequence[Entry]


def copied_entries(own: Sequence[Entry], ancestors: Sequence[Ancestor]) -> list[int | None]:
    """Return for each entry of a fork the ancestor session it was copied from, or None for its own."""
    found: list[int | None] = []
    prefix: Ancestor | None = None
    position = 0
    for index, entry in enumerate(own):
        if entry.turn is not None:
            found.append(next((one.session for one in ancestors if entry.turn in one.turns), None))
            continue
        if index == 0:
            prefix = next((one for one in ancestors if _repeats(one, 0, entry)), None)
        copied = prefix is not None and position == index and _repeats(prefix, index, entry)
        if copied:
            position += 1
        found.append(prefix.session if copied and prefix is not None else None)
    return found


def _repeats(ancestor: Ancestor, index: int, entry: Entry) -> bool:
    return index < len(ancestor.entries) and ancestor.entries[index] == entry and entry.total is not None


class Relative(NamedTuple):
    """A session in a family of forks."""

    session: int
    native_id: str
    parents: tuple[str, ...]
    started_at: int | None


def lineage(one: Relative, family: Sequence[Relative]) -> list[int]:
    """Return the sessions that ``one`` may have copied from, nearest first.

    Its chain of parents; where a parent's own file is not known, the earlier siblings that name the
    same parent, since what they share was copied from it and must be counted at one of them.
    """
    by_native = {member.native_id: member for member in family}
    found: list[int] = []
    queue = list(one.parents)
    seen = {one.native_id}
    while queue and len(found) < ANCESTORS_MAX:
        name = queue.pop(0)
        if name in seen:
            continue
        seen.add(name)
        parent = by_native.get(name)
        if parent is not None:
            if parent.session not in found:
                found.append(parent.session)
            queue.extend(parent.parents)
            continue
        siblings = [member for member in family if name in member.parents and _older(member, one)]
        siblings.sort(key=_seniority)
        found.extend(member.session for member in siblings if member.session not in found)
    return found


def _seniority(one: Relative) -> tuple[int, str]:
    return (one.started_at if one.started_at is not None else _LATE, one.native_id)


def _older(one: Relative, other: Relative) -> bool:
    return _seniority(one) < _seniority(other)
