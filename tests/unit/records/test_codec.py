"""Canonical bytes against the published examples of RFC 8785, and what the codec refuses."""

from __future__ import annotations

import enum
from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import pytest

from waypost.records.codec import DEPTH_MAX, INTEGER_MAX, decode, digest, encode


def test_strings_are_written_as_in_section_3_2_2_2() -> None:
    value = {"string": '\u20ac$\u000f\nA\'B"\\\\"/', "literals": [None, True, False]}
    expected = '{"literals":[null,true,false],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    assert encode(value) == expected.encode()


def test_the_bytes_are_those_of_section_3_2_4() -> None:
    value = {"literals": [None, True, False], "string": '\u20ac$\u000f\nA\'B"\\\\"/'}
    published = (
        "7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72 75 65 2c 66 61 6c 73 65 5d 2c"
        "22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30 30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c"
        "5c 22 2f 22 7d"
    )
    assert encode(value) == bytes.fromhex(published.replace(" ", ""))


def test_members_are_sorted_by_utf_16_code_units_as_in_section_3_2_3() -> None:
    value = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    expected = [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]
    text = encode(value).decode()
    assert sorted(expected, key=text.index) == expected
    # By code points the last two would change places.
    assert "\U0001f600" > "\ufb33" and text.index("Emoji") < text.index("Hebrew")
    assert list(decode(encode(value)).values()) == expected  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (None, b"null"),
        (True, b"true"),
        (False, b"false"),
        (0, b"0"),
        (-0, b"0"),
        (-1, b"-1"),
        (INTEGER_MAX, b"9007199254740991"),
        (-INTEGER_MAX, b"-9007199254740991"),
        ("", b'""'),
        ("\b\t\n\f\r", b'"\\b\\t\\n\\f\\r"'),
        ("\x00\x1f\x7f", b'"\\u0000\\u001f\x7f"'),
        ("</script>\u2028", b'"</script>\xe2\x80\xa8"'),
        ([], b"[]"),
        ({}, b"{}"),
        ((1, "a"), b'[1,"a"]'),
        ({"b": [], "a": {}}, b'{"a":{},"b":[]}'),
        (OrderedDict(b=1, a=2), b'{"a":2,"b":1}'),
        (MappingProxyType({"a": 1}), b'{"a":1}'),
    ],
)
def test_a_value_has_one_spelling(value: Any, data: bytes) -> None:
    assert encode(value) == data


class Colour(enum.IntEnum):
    RED = 3


def test_an_enumerated_integer_is_its_number() -> None:
    assert encode({"colour": Colour.RED}) == b'{"colour":3}'


@pytest.mark.parametrize("value", [1.0, 0.5, float("nan"), float("inf"), b"a", {1}, object(), 1j])
def test_floats_and_other_types_are_refused_at_any_depth(value: Any) -> None:
    for whole in (value, [value], {"a": value}, {"a": [{"b": value}]}):
        with pytest.raises(TypeError, match=type(value).__name__):
            encode(whole)


@pytest.mark.parametrize("value", [INTEGER_MAX + 1, -INTEGER_MAX - 1, 2**64, -(10**400)])
def test_integers_that_a_double_cannot_keep_are_refused(value: int) -> None:
    with pytest.raises(ValueError, match=r"outside|Exceeds"):
        encode([value])


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d", "\ude00\ud83d"])
def test_lone_surrogates_are_refused_in_values_and_names(text: str) -> None:
    for value in (text, [text], {text: 1}, {"a": {text: 1}}):
        with pytest.raises(ValueError, match="surrogate"):
            encode(value)


@pytest.mark.parametrize("name", [1, None, True, ("a",), b"a"])
def test_names_that_are_no_text_are_refused(name: Any) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        encode({name: 1})
    with pytest.raises((TypeError, ValueError, AttributeError)):
        encode({name: 1, "a": 2})


def test_a_record_nested_too_deeply_is_refused() -> None:
    value: Any = 1
    for _ in range(DEPTH_MAX):
        value = [value]
    assert encode(value)
    with pytest.raises(ValueError, match="nested deeper"):
        encode([value])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" 1",
        b"1 ",
        b"1\n",
        b"1.0",
        b"1e2",
        b"-0",
        b"01",
        b"NaN",
        b"Infinity",
        b"9007199254740992",
        b'{"a":1,"a":1}',
        b'{"b":1,"a":2}',
        b'{"a": 1}',
        b'"\\u0041"',
        b'"\\/"',
        b'"\\ud800"',
        b'"\\u000A"',
        b'"\xff"',
        b"\xef\xbb\xbf1",
        b"'a'",
        b"[1,]",
        b'{"\xef\xac\xb3":1,"\xf0\x9f\x98\x80":2}',
    ],
)
def test_any_other_spelling_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(data)


def test_decoding_keeps_its_input_and_encoding_keeps_its_value() -> None:
    value = {"b": [1, {"d": 1, "c": 2}], "a": "x"}
    data = encode(value)
    assert decode(data) == value and list(value) == ["b", "a"]


def test_a_digest_names_its_algorithm() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest(b"") == f"sha256:{empty}"
