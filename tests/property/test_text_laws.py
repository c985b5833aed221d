"""Laws of canonical bytes, ids, excerpts and time stamps."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import rfc8785
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from waypost.records import ids
from waypost.records.codec import INTEGER_MAX, decode, encode
from waypost.rules.excerpts import excerpt
from waypost.rules.timestamps import day_of, format_ms, parse_ms

laws = settings(deadline=None, max_examples=150)
text = st.text(max_size=12)
any_text = st.text(st.characters(codec=None, categories=None), max_size=400)
whole = st.integers(-INTEGER_MAX, INTEGER_MAX)
plain: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), whole, text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(text, inner, max_size=4)),
    max_leaves=12,
)

# -- canonical bytes ---------------------------------------------------------------------------------


@given(value=plain)
@laws
def test_decoding_what_was_encoded_gives_it_back(value: Any) -> None:
    data = encode(value)
    assert decode(data) == value and encode(decode(data)) == data
    assert json.loads(data) == value


@given(value=plain)
@laws
def test_canonical_bytes_are_those_of_another_implementation(value: Any) -> None:
    assert encode(value) == rfc8785.dumps(value)


@given(members=st.dictionaries(text, plain, max_size=6), data=st.data())
@laws
def test_the_order_of_members_does_not_matter(members: dict[str, Any], data: st.DataObject) -> None:
    shuffled = dict(data.draw(st.permutations(list(members.items()))))
    assert encode(shuffled) == encode(members)


@given(value=plain)
@laws
def test_only_the_canonical_spelling_is_read(value: Any) -> None:
    loose = json.dumps(value, indent=1, ensure_ascii=True).encode()
    if loose == encode(value):
        assert decode(loose) == value
    else:
        with pytest.raises(ValueError, match="canonical"):
            decode(loose)


@given(data=st.binary(max_size=30))
@laws
def test_bytes_that_are_no_record_raise_value_error_only(data: bytes) -> None:
    try:
        value = decode(data)
    except ValueError:
        return
    assert encode(value) == data


# -- ids -----------------------------------------------------------------------------------------------


@given(data=st.binary(max_size=40))
@laws
def test_base_32_reads_back_and_keeps_the_order_of_equal_lengths(data: bytes) -> None:
    shown = ids.base32(data)
    assert ids.unbase32(shown, byte_count=len(data)) == data
    assert set(shown) <= set("0123456789abcdefghjkmnpqrstvwxyz")
    other = bytes(reversed(data))
    assert (ids.base32(other) < shown) == (other < data)


@given(shown=st.text(st.sampled_from(ids.ALPHABET + "ilouAZ-"), max_size=6), count=st.integers(0, 4))
@laws
def test_base_32_has_one_spelling(shown: str, count: int) -> None:
    try:
        data = ids.unbase32(shown, byte_count=count)
    except ValueError:
        return
    assert ids.base32(data) == shown


@given(
    harness=text,
    native=any_text,
    name=any_text,
    offset=st.integers(0, 2**48 - 1),
    part=st.integers(0, 2**16 - 1),
)
@laws
def test_a_turn_id_reads_back(harness: str, native: str, name: str, offset: int, part: int) -> None:
    session = ids.session_key(harness, native)
    tag = ids.file_tag(name)
    address = ids.parse_turn_id(ids.turn_id(session, tag=tag, offset=offset, part=part))
    assert address == (ids.unbase32(session[4:], byte_count=16)[:10], tag, offset, part)
    assert ids.session_key(harness, native) == session != ids.session_key(harness, native + "x")


@given(shown=st.one_of(any_text, text.map(lambda one: "trn_" + one)))
@laws
def test_text_that_is_no_turn_id_raises_value_error(shown: str) -> None:
    try:
        address = ids.parse_turn_id(shown)
    except ValueError:
        return
    assert address.offset < 2**48


@given(first=st.integers(0, 2**48 - 1), second=st.integers(0, 2**48 - 1))
@laws
def test_ordered_ids_sort_by_time(first: int, second: int) -> None:
    assume(first < second)
    early = ids.ordered_id("run_", time_ms=first, randomness=b"\xff" * 10)
    late = ids.ordered_id("run_", time_ms=second, randomness=b"\x00" * 10)
    assert early < late and len(early) == 4 + 26


@given(parts=st.lists(any_text, min_size=1, max_size=3))
@laws
def test_a_small_hash_fits_a_column_and_is_stable(parts: list[str]) -> None:
    assert -(2**63) <= ids.small_hash(*parts) < 2**63
    assert ids.small_hash(*parts) == ids.small_hash(*parts)


# -- excerpts ------------------------------------------------------------------------------------------

wide = st.lists(st.sampled_from(["a", "é", "語", "😀", "\n", "…"]), max_size=120).map("".join)


@given(words=st.one_of(wide, any_text), limit=st.integers(2, 90))
@example(words="語" * 100, limit=3)
@example(words="😀" * 100, limit=7)
@laws
def test_an_excerpt_keeps_to_its_limit_and_says_exactly_what_it_left_out(words: str, limit: int) -> None:
    found = excerpt(words, bytes_max=limit)
    size = len(words.encode("utf-8", "replace"))
    if size <= limit:
        assert found == (words, 0)
        return
    marker = f"\n… [{found.dropped} bytes left out] …\n"
    assert found.text.count(marker) >= 1 and found.dropped > 0
    head, _, tail = found.text.partition(marker)
    kept = len(head.encode()) + len(tail.encode())
    assert kept <= limit and kept + found.dropped == size
    clean = words.encode("utf-8", "replace").decode()
    assert clean.startswith(head) and clean.endswith(tail)
    # Nothing that would have fitted is left out: a character has at most four bytes.
    assert len(head.encode()) > limit // 2 - 4 and len(tail.encode()) > limit // 2 - 4


# -- time stamps -----------------------------------------------------------------------------------------

moments = st.datetimes(
    min_value=datetime(1000, 1, 3), max_value=datetime(9999, 12, 29), timezones=st.just(UTC)
).map(lambda one: one.replace(microsecond=one.microsecond // 1000 * 1000))
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def exact(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


@given(moment=moments, zone=zones)
@laws
def test_a_time_stamp_in_any_zone_and_precision_is_the_same_millisecond(
    moment: datetime, zone: timezone
) -> None:
    expected = exact(moment)
    for shown in (
        moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        moment.isoformat(timespec="microseconds"),
        moment.astimezone(zone).isoformat(timespec="milliseconds"),
        moment.replace(tzinfo=None).isoformat(timespec="milliseconds"),
    ):
        assert parse_ms(shown) == expected
        assert parse_ms(shown) == expected  # read again, now that its minute is known


@given(moment=moments)
@laws
def test_a_printed_time_reads_back(moment: datetime) -> None:
    at = exact(moment)
    assert parse_ms(format_ms(at)) == at


def test_a_year_below_1000_has_four_digits() -> None:
    at = exact(datetime(999, 1, 1, tzinfo=UTC))
    assert format_ms(at) == "0999-01-01T00:00:00.000Z"
    assert day_of(at, zone=UTC) == "0999-01-01"


@given(moment=moments, zone=zones)
@laws
def test_a_day_is_the_calendar_day_of_the_zone(moment: datetime, zone: timezone) -> None:
    assert day_of(exact(moment), zone=zone) == moment.astimezone(zone).date().isoformat()


@given(value=st.one_of(st.none(), st.integers(), st.floats(), any_text, st.lists(st.integers())))
@laws
def test_what_is_no_time_gives_none(value: object) -> None:
    found = parse_ms(value)
    assert found is None or (isinstance(value, str) and isinstance(found, int))


@given(moment=moments, position=st.integers(0, 23), character=st.characters())
@laws
def test_a_damaged_time_reads_as_the_library_reads_it(
    moment: datetime, position: int, character: str
) -> None:
    shown = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    damaged = shown[:position] + character + shown[position + 1 :]
    try:
        stated = datetime.fromisoformat(damaged)
        expected = exact(stated if stated.tzinfo else stated.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        expected = None
    assert parse_ms(damaged) == expected
    parse_ms(shown)  # its minute is known now
    assert parse_ms(damaged) == expected
