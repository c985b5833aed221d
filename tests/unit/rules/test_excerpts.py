"""Head and tail of a long text, and the exact number of bytes left out."""

from __future__ import annotations

import pytest

from waypost.rules.excerpts import excerpt


@pytest.mark.parametrize("text", ["", "a", "a" * 100, "語" * 33, "😀" * 25, "é" * 50])
def test_a_text_within_the_limit_is_kept_whole(text: str) -> None:
    assert excerpt(text, bytes_max=100) == (text, 0)


@pytest.mark.parametrize(
    ("text", "limit", "head", "tail", "dropped"),
    [
        ("a" * 101, 100, "a" * 50, "a" * 50, 1),
        ("0123456789", 4, "01", "89", 6),
        ("語" * 10, 12, "語語", "語語", 18),
        ("語" * 10, 13, "語語", "語語", 18),
        ("語" * 10, 10, "語", "語", 24),
        ("語" * 10, 4, "", "", 30),
        ("😀" * 3, 10, "😀", "😀", 4),
        ("ab" + "語" * 4, 6, "ab", "語", 9),
    ],
)
def test_cuts_fall_between_characters(text: str, limit: int, head: str, tail: str, dropped: int) -> None:
    found = excerpt(text, bytes_max=limit)
    assert found.text == f"{head}\n… [{dropped} bytes left out] …\n{tail}"
    assert found.dropped == dropped == len(text.encode()) - len((head + tail).encode())


def test_a_huge_text_is_cut_like_a_long_one() -> None:
    # Above twice the limit only the ends are encoded; the answer must not depend on that.
    for size in (39, 40, 41, 42, 1000):
        text = "é" * size
        found = excerpt(text, bytes_max=20)
        assert found.dropped == size * 2 - 20
        assert found.text.startswith("é" * 5 + "\n") and found.text.endswith("\n" + "é" * 5)


def test_lone_surrogates_in_a_cut_text_do_not_raise_and_can_be_encoded() -> None:
    found = excerpt("\ud800" * 1000, bytes_max=20)
    assert found.dropped > 0 and found.text.encode()


@pytest.mark.parametrize("limit", [0, 1])
def test_a_limit_below_two_keeps_nothing(limit: int) -> None:
    assert excerpt("a" * 50, bytes_max=limit).dropped == 50
