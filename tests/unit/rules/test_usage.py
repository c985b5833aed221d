"""Counting each response once: who owns it, what a fork copied, from whom it can have copied."""

from __future__ import annotations

from itertools import permutations

import pytest

from waypost.rules.usage import (
    ANCESTORS_MAX,
    Ancestor,
    Entry,
    Relative,
    Sighting,
    attribute,
    copied_entries,
    lineage,
)


def seen(entry: int, **more: object) -> Sighting:
    base = Sighting(entry, entry, 10, 10, 20, f"s{entry}", f"f{entry}", 5)
    return base._replace(**more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"at": 9}, {"mirrored": True, "at": 1}, id="a mirrored sighting never owns"),
        pytest.param({"at": 9, "opened_at": 99}, {"at": 10}, id="the earliest record"),
        pytest.param({"at": 10}, {"at": None, "opened_at": 1}, id="a record without time comes last"),
        pytest.param({"opened_at": 9, "ended_at": 99}, {"opened_at": 10}, id="then the file opened first"),
        pytest.param(
            {"ended_at": 19, "native_id": "z"}, {"ended_at": 20}, id="then the session that ended first"
        ),
        pytest.param({"native_id": "a", "path": "z"}, {"native_id": "b"}, id="then the native id"),
        pytest.param({"native_id": "a", "path": "a"}, {"native_id": "a", "path": "a/b"}, id="then the path"),
    ],
)
def test_the_owner_is_found_by_the_first_rule_that_tells_two_apart(
    first: dict[str, object], second: dict[str, object]
) -> None:
    one, two = seen(1, **first), seen(2, **second)
    for order in permutations([one, two]):
        assert attribute(order).owner == one


def test_the_largest_output_is_counted_and_a_tie_is_the_owners() -> None:
    owner, copy = seen(1, at=1, output=7), seen(2, output=300)
    assert attribute([copy, owner]) == (owner, copy)
    tie = seen(3, output=7)
    assert attribute([tie, owner]) == (owner, owner)


def test_an_entry_of_a_turn_that_an_ancestor_had_is_copied_from_the_nearest() -> None:
    near = Ancestor(1, {10, 11}, [])
    far = Ancestor(2, {10, 12}, [])
    own = [Entry(10, 1), Entry(12, 2), Entry(13, 3), Entry(11, 4)]
    assert copied_entries(own, [near, far]) == [1, 2, None, 1]


def test_equal_totals_of_two_honest_sessions_with_turn_ids_are_not_copies() -> None:
    parent = Ancestor(1, {10}, [Entry(10, 100)])
    assert copied_entries([Entry(20, 100)], [parent]) == [None]


def test_without_turn_ids_copies_end_where_totals_first_differ() -> None:
    parent = Ancestor(1, set(), [Entry(None, 1), Entry(None, 2), Entry(None, 3)])
    own = [Entry(None, 1), Entry(None, 2), Entry(None, 9), Entry(None, 3)]
    assert copied_entries(own, [parent]) == [1, 1, None, None]
    assert copied_entries([Entry(None, 2)], [parent]) == [None]
    assert copied_entries([Entry(None, None)], [Ancestor(1, set(), [Entry(None, None)])]) == [None]


def test_a_chain_of_forks_copies_from_parent_then_grandparent() -> None:
    family = [Relative(1, "a", (), 1), Relative(2, "b", ("a",), 2), Relative(3, "c", ("b",), 3)]
    assert lineage(family[2], family) == [2, 1]
    assert lineage(family[0], family) == []


def test_where_the_parents_file_is_unknown_older_siblings_stand_in() -> None:
    family = [
        Relative(1, "a", ("gone",), 5),
        Relative(2, "b", ("gone",), 3),
        Relative(3, "c", ("gone",), None),
    ]
    assert lineage(family[2], family) == [2, 1]
    assert lineage(family[0], family) == [2]
    assert lineage(family[1], family) == []


def test_two_sessions_that_name_each_other_end_the_search() -> None:
    family = [Relative(1, "a", ("b", "a"), 1), Relative(2, "b", ("a",), 2)]
    assert lineage(family[0], family) == [2]


def test_a_very_long_chain_is_cut() -> None:
    family = [Relative(number, str(number), (str(number - 1),), number) for number in range(1, 500)]
    assert len(lineage(family[-1], family)) == ANCESTORS_MAX
