"""Laws of counting once: attribution, copied history, lineage; and exact prices."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.records.transcript import Tokens
from waypost.rules.prices import Priced, PriceFile, PriceRow, PriceTable, format_amount
from waypost.rules.usage import (
    Ancestor,
    Entry,
    Relative,
    Sighting,
    attribute,
    copied_entries,
    lineage,
)

laws = settings(deadline=None, max_examples=150)
when = st.one_of(st.none(), st.integers(0, 5))

sightings = st.lists(
    st.builds(
        Sighting,
        entry=st.just(0),
        session=st.integers(1, 3),
        at=when,
        opened_at=when,
        ended_at=when,
        native_id=st.sampled_from("abc"),
        path=st.sampled_from("xyz"),
        output=st.integers(0, 3),
        mirrored=st.booleans(),
    ),
    min_size=1,
    max_size=6,
    # The store holds one entry per response, session and file: no two are the same place.
    unique_by=lambda one: (one.native_id, one.path),
).map(lambda found: [one._replace(entry=number) for number, one in enumerate(found)])


@given(data=st.data(), found=sightings)
@laws
def test_attribution_does_not_depend_on_order(data: st.DataObject, found: list[Sighting]) -> None:
    shuffled = data.draw(st.permutations(found))
    assert attribute(shuffled) == attribute(found)


@given(found=sightings)
@laws
def test_the_owner_is_an_original_at_the_earliest_time_and_the_largest_has_the_most_output(
    found: list[Sighting],
) -> None:
    owner, largest = attribute(found)
    assert owner in found and largest in found
    originals = [one for one in found if not one.mirrored]
    assert not owner.mirrored or not originals
    rivals = originals or found
    dated = [one.at for one in rivals if one.at is not None]
    assert owner.at == (min(dated) if dated else None)
    assert largest.output == max(one.output for one in found)
    assert largest is owner or largest.output > owner.output


@given(found=sightings, later=st.data())
@laws
def test_a_later_copy_never_takes_a_response_away(found: list[Sighting], later: st.DataObject) -> None:
    owner = attribute(found).owner
    copy = later.draw(st.sampled_from(found))._replace(entry=99, at=6, path="zz", native_id="zz")
    if owner.mirrored or owner.at is None:
        return
    assert attribute([*found, copy]).owner == owner


turn = st.one_of(st.none(), st.integers(1, 4))
entries = st.lists(st.builds(Entry, turn, st.one_of(st.none(), st.integers(1, 4))), max_size=6)


def ancestor(session: int, found: list[Entry]) -> Ancestor:
    return Ancestor(session, {one.turn for one in found if one.turn is not None}, found)


@given(own=entries, first=entries, second=entries)
@laws
def test_only_ancestors_own_and_every_entry_gets_an_answer(
    own: list[Entry], first: list[Entry], second: list[Entry]
) -> None:
    answers = copied_entries(own, [ancestor(1, first), ancestor(2, second)])
    assert len(answers) == len(own) and set(answers) <= {None, 1, 2}
    assert copied_entries(own, []) == [None] * len(own)
    turns = {1: first, 2: second}
    for entry, source in zip(own, answers, strict=True):
        if entry.turn is not None:
            named = [number for number, found in turns.items() if entry.turn in {one.turn for one in found}]
            assert source == (named[0] if named else None)


@given(parent=st.lists(st.integers(1, 9), max_size=6), own=st.lists(st.integers(1, 9), max_size=6))
@laws
def test_without_turn_ids_the_longest_common_start_is_copied_and_nothing_after_it(
    parent: list[int], own: list[int]
) -> None:
    def of(totals: list[int]) -> list[Entry]:
        return [Entry(None, total) for total in totals]

    common = 0
    while common < min(len(parent), len(own)) and parent[common] == own[common]:
        common += 1
    expected = [1] * common + [None] * (len(own) - common)
    assert copied_entries(of(own), [ancestor(1, of(parent))]) == expected
    # Equal totals further on prove nothing.
    assert copied_entries(of([0, *own]), [ancestor(1, of(parent))]) == [None] * (len(own) + 1)


families = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdefxy"), max_size=2), when),
    max_size=6,
    unique_by=lambda one: one[0],
).map(
    lambda found: [
        Relative(number, name, tuple(parents), at) for number, (name, parents, at) in enumerate(found)
    ]
)


@given(family=families, data=st.data())
@laws
def test_lineage_is_the_chain_of_parents_in_any_order_of_the_family(
    family: list[Relative], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(family))
    for one in family:
        found = lineage(one, family)
        assert found == lineage(one, shuffled)
        known = {member.native_id: member.session for member in family}
        direct = [known[name] for name in one.parents if name in known and name != one.native_id]
        assert set(direct) <= set(found)
        if direct and one.parents[0] in known and one.parents[0] != one.native_id:
            assert found[0] == known[one.parents[0]]


def test_lineage_names_every_session_once() -> None:
    family = [Relative(0, "b", ("a",), None), Relative(1, "c", ("a", "b"), None)]
    assert lineage(family[1], family) == [0]


@given(family=families)
@laws
def test_two_siblings_of_an_unknown_parent_never_copy_from_each_other(family: list[Relative]) -> None:
    known = {member.native_id for member in family}
    orphans = [one for one in family if len(one.parents) == 1 and one.parents[0] not in known]
    for one in orphans:
        for other in orphans:
            if one is other or one.parents != other.parents:
                continue
            forward = other.session in lineage(one, family)
            backward = one.session in lineage(other, family)
            assert forward != backward


# -- prices ------------------------------------------------------------------------------------------

price = st.decimals(min_value=0, max_value=200, places=4, allow_nan=False, allow_infinity=False).map(str)
count = st.integers(0, 10**12)


@given(
    rates=st.tuples(price, price, price, price, price), tokens=st.tuples(count, count, count, count, count)
)
@laws
def test_a_price_is_the_exact_fraction(rates: tuple[str, ...], tokens: tuple[int, ...]) -> None:
    table = PriceTable(PriceFile("1", "2026-01-01", (PriceRow("m", *rates),)))
    spent = Tokens(
        input=tokens[0],
        output=tokens[1],
        cache_read=tokens[2],
        cache_write_5m=tokens[3],
        cache_write_1h=tokens[4],
    )
    expected = sum(
        (Fraction(rate) * number for rate, number in zip(rates, tokens, strict=True)), Fraction(0)
    ) / Fraction(10**6)
    one = Priced("m", None, spent, 3, False)
    amount = table.entry_cost(one)
    assert amount is not None and Fraction(amount) == expected + Fraction(3, 100)
    total = table.cost([one] * 7)
    assert total.usd is not None and Fraction(total.usd) == 7 * (expected + Fraction(3, 100))
    shown = format_amount(amount)
    assert shown is not None and Fraction(shown) == Fraction(amount)


@given(
    amount=st.decimals(min_value=-(10**9), max_value=10**9, places=9, allow_nan=False, allow_infinity=False)
)
@laws
def test_a_printed_amount_is_exact_and_has_one_spelling(amount: Decimal) -> None:
    shown = format_amount(amount)
    assert shown is not None and Decimal(shown) == amount
    assert "E" not in shown and (shown == "0" or (not shown.endswith(".") and "." not in shown[-1]))
    assert "." not in shown or not shown.endswith("0")
    assert format_amount(amount + Decimal("0.000000000000")) == shown
