"""Tests of secret redaction: the corpus, the D14 text, and laws over arbitrary text."""

import base64
import hashlib
import random
import re
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.rules import redaction
from waypost.rules.redaction import RULES, Finding, redact

CORPUS = Path(__file__).parents[2] / "corpus" / "redaction"


def cases(name: str) -> list[str]:
    lines = (CORPUS / name).read_text(encoding="utf-8").splitlines()
    return [line.replace("¦", "").replace("⏎", "\n") for line in lines if line and not line.startswith("# ")]


MASKED = [tuple(line.split(" | ", 1)) for line in cases("masked.txt")]
KEPT = cases("kept.txt")
MARKED = re.compile("«(.*?)»", re.DOTALL)
AKIA = "AK" + "IAQ3EGTZ5LD6NPV2XR"
PEM = (
    "-----BEGIN PRIV"
    + "ATE KEY-----\n"
    + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 20
    + "-----END PRIV"
    + "ATE KEY-----"
)
# Prefixes that prove themselves: these are masked even with letters right before and after them.
DISTINCTIVE = [
    AKIA,
    "gh" + "p_7F9a2B4c6D8e0F1g3H5i7J9k1L3m5N7p9Q1r",
    "github" + "_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789aBcDeFgHiJkLmNoPqRsTuVwXyZ01234",
    "glpat" + "-Zx8Yw7Vu6Ts5Rq4Po3Nm",
    "xoxb" + "-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx",
    "sk-" + "ant-api03-aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789-aBcDeFgHiJkLmNoPqRsTuVwXyZ_01AA",
    "sk-" + "proj-aBcDeFgHiJkLmNoPqRsT_0123456789-T3BlbkFJaBcDeFgHiJkLmNoPqRsT",
    "AI" + "zaSyD-aBcDeFgHiJkLmNoPqRsTuVwXyZ01234",
    "np" + "m_7F9a2B4c6D8e0F1g3H5i7J9k1L3m5N7p9Q1r",
    "hf" + "_aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH",
    PEM,
]
any_text = st.text(st.characters(codec=None, categories=None), max_size=200)
fragments = st.sampled_from(
    [text for _, text in MASKED]
    + KEPT
    + DISTINCTIVE
    + ["\ud800", "\\n", '"', "'", "=", ": ", "password", "token=", "\n", " "]
)
spliced = st.lists(st.one_of(fragments, any_text), max_size=6).map("".join)


@pytest.mark.parametrize(("rule", "marked"), MASKED)
def test_a_secret_is_masked_and_its_surroundings_stay(rule: str, marked: str) -> None:
    text = marked.replace("«", "").replace("»", "")
    result = redact(text)
    assert result.text == MARKED.sub(f"[redacted:{rule}]", marked)
    secret = MARKED.search(marked)
    assert secret is not None
    assert result.found == (Finding(rule, secret.start(), secret.end() - 2),)
    assert redact(result.text).text is result.text


@pytest.mark.parametrize("text", KEPT)
def test_what_only_looks_like_a_secret_comes_back_as_the_same_object(text: str) -> None:
    result = redact(text)
    assert result.text is text
    assert result.found == ()
    assert result.dropped == ()


def test_d14_masks_the_key_id_and_the_pem_block_and_drops_the_ciphertext() -> None:
    ciphertext = base64.b64encode(random.Random(14).randbytes(7_500_000)).decode()
    before = [
        'if apiKey == "" {',
        "api_key=$(cat f)",
        "<API_TOKEN>",
        "2f1c9d0e8b7a6f5e4d3c2b1a09f8e7d6c5b4a392",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "sk-ant-...",
    ]
    text = "\n".join([*before, AKIA, PEM, ciphertext, "end"])
    result = redact(text)
    digest = hashlib.sha256(ciphertext.encode()).hexdigest()
    dropped = f"[dropped: {len(ciphertext)} characters of base64, sha256:{digest}]"
    assert result.text == "\n".join(
        [*before, "[redacted:aws-access-key-id]", "[redacted:private-key]", dropped, "end"]
    )
    assert [finding.rule for finding in result.found] == ["aws-access-key-id", "private-key"]
    assert [text[finding.start : finding.end] for finding in result.found] == [AKIA, PEM]
    assert [text[finding.start : finding.end] for finding in result.dropped] == [ciphertext]


@pytest.mark.parametrize("prefix", ["", " ", "x", "x " * 3000, "\u4e2d"])
@pytest.mark.parametrize("extra", [-1, 0, 1, 2047, 5000])
def test_a_run_is_dropped_exactly_from_the_threshold_on(prefix: str, extra: int) -> None:
    length = redaction.opaque_run_chars_max + extra
    run = base64.b64encode(random.Random(length).randbytes(length)).decode()[:length]
    text = f"{prefix}({run})."
    result = redact(text)
    if extra < 0:
        assert result.dropped == ()
        return
    start = len(prefix) + 1
    assert result.dropped == (Finding("opaque-run", start, start + length),)
    assert result.text.startswith(f"{prefix}([dropped: {length} characters of base64, sha256:")
    assert result.text.endswith(").")


def test_a_private_key_on_one_line_longer_than_the_threshold_is_masked_as_a_key() -> None:
    body = base64.b64encode(random.Random(3).randbytes(6000)).decode()
    text = "a -----BEGIN PRIV" + f"ATE KEY-----{body}-----END PRIV" + "ATE KEY----- b"
    result = redact(text)
    assert result.text == "a [redacted:private-key] b"
    assert result.found == (Finding("private-key", 2, len(text) - 2),)
    assert result.dropped == ()


def test_a_begin_line_without_an_end_does_not_swallow_the_text_after_it() -> None:
    text = "-----BEGIN PRIV" + "ATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n\nThen we went home.\n"
    assert redact(text).text == "[redacted:private-key]\n\nThen we went home.\n"


def test_a_token_uncovered_by_masking_its_neighbour_is_masked_too() -> None:
    text = AKIA + "sk-" + "0a1b2c3d4e5f60718293a4b5c6d7e8f9 end"
    result = redact(text)
    assert result.text == "[redacted:aws-access-key-id][redacted:sk-key] end"
    assert [text[finding.start : finding.end] for finding in result.found] == [AKIA, text[len(AKIA) : -4]]


def test_overlapping_findings_become_one_mask_named_by_the_more_specific_rule() -> None:
    result = redact(f"aws_token = '{AKIA}/extra-9'")
    assert result.text == "aws_token = '[redacted:aws-access-key-id]'"


@pytest.mark.parametrize("rule", sorted({rule.name for rule in RULES}))
@pytest.mark.parametrize("after", [" ", "=", ": ", '": "', " = '", "@", "", "/", ":"])
def test_a_mask_is_never_taken_for_the_name_of_a_secret(rule: str, after: str) -> None:
    mask = f"[redacted:{rule}]"
    text = f"{mask}{after}2f1c9d0e8b7a6f5e4d3c2b1a09f8e7d6c5b4a392 x"
    assert redact(text).text is text
    for before in (
        "curl -u ",
        "h:5432:",
        "https://",
        "https://user:",
        "Bearer ",
        "--token ",
        "token=",
        "password: '",
    ):
        text = f"{before}{mask}{after}{mask}@h"
        assert redact(text).text is text


@given(spliced)
@settings(max_examples=400, deadline=None)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once.text).text == once.text


@given(any_text)
@settings(max_examples=300, deadline=None)
def test_arbitrary_unicode_never_raises_and_offsets_describe_the_text(text: str) -> None:
    check_offsets(text)


@given(spliced)
@settings(max_examples=300, deadline=None)
def test_everything_outside_the_findings_is_kept(text: str) -> None:
    check_offsets(text)


def check_offsets(text: str) -> None:
    result = redact(text)
    parts, at = [], 0
    for finding in result.found:
        assert at <= finding.start < finding.end <= len(text)
        parts += [text[at : finding.start], f"[redacted:{finding.rule}]"]
        at = finding.end
    assert "".join([*parts, text[at:]]) == result.text
    if not result.found:
        assert result.text is text


@given(any_text, st.sampled_from(DISTINCTIVE), any_text)
@settings(max_examples=400, deadline=None)
def test_a_distinctive_secret_is_masked_wherever_it_stands(before: str, secret: str, after: str) -> None:
    result = redact(before + secret + after)
    assert secret not in result.text
    start, end = len(before), len(before) + len(secret)
    assert any(finding.start <= start and end <= finding.end for finding in result.found)


@pytest.mark.parametrize(
    "word", ["undefined", "example", "your", "token", "test", "none", "xxxx", "placeholder"]
)
@pytest.mark.parametrize("secret", DISTINCTIVE)
def test_a_placeholder_word_beside_a_secret_does_not_excuse_it(secret: str, word: str) -> None:
    for shape in (word, word.upper(), word.title()):
        for gap in ("", "-", "_", " ", "="):
            assert secret not in redact(secret + gap + shape).text, (gap, shape)
            if gap not in ("", "_"):
                assert secret not in redact(shape + gap + secret).text, (shape, gap)


@pytest.mark.parametrize(
    "text",
    [
        "hf" + "_yourHuggingFaceTokenGoesHerePlease",
        "hf" + "_YOURHUGGINGFACETOKENGOESHEREPLEASE",
        "gh" + "p_your_personal_access_token_goes_here_ok",
    ],
)
def test_words_in_the_shape_of_a_token_are_kept(text: str) -> None:
    assert redact(text).text == text


@given(any_text, st.sampled_from(MASKED), any_text)
@settings(max_examples=400, deadline=None)
def test_every_secret_of_the_corpus_is_masked_on_a_line_of_its_own(
    before: str, case: tuple[str, str], after: str
) -> None:
    secret = MARKED.search(case[1])
    assert secret is not None
    text = f"{before}\n{case[1].replace('«', '').replace('»', '')}\n{after}"
    start = len(before) + 1 + secret.start()
    end = start + len(secret[1])
    assert any(finding.start <= start and end <= finding.end for finding in redact(text).found)


def test_random_words_and_identifiers_are_not_secrets() -> None:
    source = random.Random(5)
    words = ["".join(source.choices(string.ascii_lowercase, k=source.randint(1, 9))) for _ in range(20_000)]
    text = " ".join(words) + "_".join(words[:200]) + ".".join(words[:200])
    assert redact(text).text is text


def test_every_rule_has_anchors_its_corpus_case_contains() -> None:
    proven = {rule for rule, _ in MASKED}
    for rule in RULES:
        assert rule.anchors
        assert all(anchor == anchor.lower() for anchor in rule.anchors if rule.folded)
    rare = {
        "google-oauth",
        "groq-token",
        "xai-token",
        "digitalocean-token",
        "atlassian-token",
        "age-identity",
    }
    assert {rule.name for rule in RULES} - proven <= rare


def test_no_pattern_has_an_unbounded_repeat_that_can_be_given_back() -> None:
    """An unbounded repeat must be possessive: then no character is walked twice in one attempt."""
    for rule in RULES:
        unbounded = re.findall(
            r"(?<!\\)(?:[*+]|\{[0-9]+,\})(?![+])", re.sub(r"\[(?:\\.|[^\]\\])*\]", "C", rule.pattern.pattern)
        )
        # One repeat of a group cannot be possessive: before CPython 3.11.4 such a group kept what a failed
        # last turn had consumed. Each of its turns begins with a dash that nothing before it can take.
        allowed = ["*"] if rule.name == "private-key" else []
        plain = [repeat for repeat in unbounded if repeat != "+"]
        assert plain == allowed, (rule.name, rule.pattern.pattern)
