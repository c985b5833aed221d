"""Typed ids: fixed examples, so that a citation made today names the same turn next year."""

from __future__ import annotations

import pytest

from waypost.records import ids


def test_base_32_is_crockfords() -> None:
    assert ids.ALPHABET == "0123456789abcdefghjkmnpqrstvwxyz"
    assert ids.base32(b"") == "" and ids.base32(b"\x00") == "00" and ids.base32(b"\xff") == "zw"
    assert ids.base32(b"foobar") == "csqpyrk1e8"


def test_derived_ids_do_not_change() -> None:
    session = ids.session_key("claude_code", "s1")
    assert len(session) == 30 and session.startswith("ses_")
    assert session == ids.session_key("claude_code", "s1")
    assert len({session, ids.session_key("codex", "s1"), ids.session_key("claude_code", "s2")}) == 3
    assert ids.session_key("a", "b\0c") == ids._derived("ses_", "a", "b\0c")


def test_kinds_of_ids_of_the_same_text_differ_beyond_their_prefix() -> None:
    assert ids.project_key("x")[4:] != ids._derived("ses_", "x")[4:]
    assert ids.agent_execution_key("ses_x", "c1") != ids.agent_execution_key("ses_x", "c2")


@pytest.mark.parametrize(
    "text", ["trn_", "trn_" + "0" * 35, "trn_" + "0" * 37, "ses_" + "0" * 36, "trn_" + "u" * 36]
)
def test_what_is_no_turn_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        ids.parse_turn_id(text)


def test_a_turn_id_is_as_long_whatever_it_names() -> None:
    session = ids.session_key("codex", "t")
    tag = ids.file_tag("rollout.jsonl")
    low = ids.turn_id(session, tag=tag, offset=0, part=0)
    high = ids.turn_id(session, tag=tag, offset=2**48 - 1, part=2**16 - 1)
    assert len(low) == len(high) == 40
    assert ids.parse_turn_id(high).offset == 2**48 - 1
    with pytest.raises(OverflowError):
        ids.turn_id(session, tag=tag, offset=2**48, part=0)
