"""Tests of the mock itself, over real HTTP, without any CLI."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mockmodel import MockModel, ScenarioError, Tokens, billed, load_scenario, parse_scenario, total

EXAMPLES = sorted((Path(__file__).parent.parent / "scenarios").iterdir())


def post(url: str, body: Any, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    request = urllib.request.Request(
        url,
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json", **(headers or {})},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as err:
        return err.code, err.read().decode()


def sse(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def anthropic(text: str = "hi", *, stream: bool = True, tools: tuple[str, ...] = ()) -> Any:
    return {
        "model": "m",
        "stream": stream,
        "tools": [{"name": name} for name in tools],
        "messages": [{"role": "user", "content": text}],
    }


def openai(text: str = "hi", *, tools: tuple[Any, ...] = (), extra: tuple[Any, ...] = ()) -> Any:
    user = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"model": "m", "stream": True, "tools": list(tools), "input": [user, *extra]}


def scenario(*turns: Any, **more: Any) -> Any:
    return parse_scenario({"turns": list(turns), **more})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_parse(path: Path) -> None:
    assert load_scenario(path).lanes


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "needs 'turns' or 'lanes'"),
        ({"turns": [{"txt": "x"}]}, "unknown keys: txt"),
        ({"turns": [{"actions": [{"fly": "x"}]}]}, "unknown action 'fly'"),
        ({"turns": [{"actions": [{"edit": {"path": "a", "old": "b"}}]}]}, "new: is missing"),
        ({"turns": [{"expect": {"request": "("}}]}, "bad regular expression"),
        ({"turns": [{"times": 0}]}, "0 would never be served"),
        ({"turns": [{"error": {"status": 200}}]}, "at least 400"),
        ({"turns": [{"error": {"status": 500}, "text": "x"}]}, "stands alone"),
        ({"turns": [{"fault": "explode"}]}, "one of disconnect"),
    ],
)
def test_bad_scenarios(data: Any, message: str) -> None:
    with pytest.raises(ScenarioError, match=message.replace("(", r"\(")):
        parse_scenario(data)


def test_anthropic_stream() -> None:
    turn = {
        "text": "Hello, world",
        "reasoning": "because",
        "actions": [{"run": "ls"}, {"mcp": {"server": "s", "tool": "t"}}],
        "usage": {"input": 10, "cache_read": 20, "cache_write": 30, "output": 5},
    }
    with MockModel(scenario(turn, chunk_chars=4)) as mock:
        status, text = post(mock.url + "/v1/messages?beta=true", anthropic())
        events = sse(text)
        assert status == 200
        assert events[0]["type"] == "message_start"
        assert events[-1]["type"] == "message_stop"
        deltas = [e["delta"] for e in events if e["type"] == "content_block_delta"]
        assert "".join(d.get("text", "") for d in deltas) == "Hello, world"
        starts = [e["content_block"] for e in events if e["type"] == "content_block_start"]
        assert [s["type"] for s in starts] == ["thinking", "text", "tool_use", "tool_use"]
        assert [s.get("name") for s in starts[2:]] == ["Bash", "mcp__s__t"]
        usage = events[-2]["usage"]
        assert usage["input_tokens"] == 10
        assert usage["cache_read_input_tokens"] == 20
        assert usage["cache_creation_input_tokens"] == 30
        assert events[-2]["delta"]["stop_reason"] == "tool_use"
        mock.require_ok()


def test_anthropic_whole_and_count_tokens() -> None:
    with MockModel(scenario({"text": "x"})) as mock:
        status, text = post(mock.url + "/v1/messages/count_tokens", anthropic())
        assert status == 200 and json.loads(text)["input_tokens"] > 0
        status, text = post(mock.url + "/v1/messages", anthropic(stream=False))
        assert json.loads(text)["content"] == [{"type": "text", "text": "x"}]


def test_openai_stream_counts_the_cache_as_input() -> None:
    turn = {"text": "x", "usage": {"input": 10, "cache_read": 20, "cache_write": 30, "output": 5}}
    with MockModel(scenario(turn)) as mock:
        _, text = post(mock.url + "/v1/responses", openai())
        events = sse(text)
        assert [e["sequence_number"] for e in events] == list(range(len(events)))
        usage = events[-1]["response"]["usage"]
        assert usage["input_tokens"] == 60
        assert usage["total_tokens"] == 65
        assert usage["input_tokens_details"] == {"cached_tokens": 20, "cache_write_tokens": 30}


EXEC = {"type": "function", "name": "exec_command"}
PATCH = {"type": "custom", "name": "apply_patch"}
CODE = {
    "type": "additional_tools",
    "tools": [
        {
            "type": "namespace",
            "name": "functions",
            "tools": [{"type": "custom", "name": "exec"}],
        }
    ],
}


@pytest.mark.parametrize(
    ("request_body", "kind", "name", "needle"),
    [
        (openai(tools=(EXEC,)), "function_call", "exec_command", "apply_patch <<"),
        (openai(tools=(EXEC, PATCH)), "custom_tool_call", "apply_patch", "*** Update File: a"),
        (openai(extra=(CODE,)), "custom_tool_call", "exec", "tools.apply_patch("),
    ],
)
def test_codex_edit_fits_the_tools_on_offer(request_body: Any, kind: str, name: str, needle: str) -> None:
    edit = {"edit": {"path": "a", "old": "x", "new": "y"}}
    with MockModel(scenario({"actions": [edit]})) as mock:
        _, text = post(mock.url + "/v1/responses", request_body)
        item = sse(text)[-1]["response"]["output"][0]
        assert (item["type"], item["name"]) == (kind, name)
        assert needle in item.get("input", item.get("arguments", ""))


def test_lanes_times_capture_and_templates() -> None:
    data = {
        "vars": {"who": "Ada"},
        "lanes": [{"name": "side", "when": {"no_tool": "."}, "turns": [{"text": "s"}]}],
        "turns": [
            {"error": {"status": 500}, "times": 2},
            {"capture": {"n": r"number (\d+)"}, "text": "{{who}} says {{n}} {{unknown}}"},
        ],
    }
    with MockModel(parse_scenario(data)) as mock:
        url = mock.url + "/v1/messages"
        assert "text_delta" in post(url, anthropic())[1]
        body = anthropic("number 42", stream=False, tools=("Bash",))
        assert [post(url, body)[0] for _ in range(2)] == [500, 500]
        assert json.loads(post(url, body)[1])["content"][0]["text"] == "Ada says 42 {{unknown}}"
        assert [(e.lane, e.turn) for e in mock.requests()] == [
            ("side", 0),
            ("main", 0),
            ("main", 0),
            ("main", 1),
        ]
        mock.require_ok()


def test_a_captured_number_can_be_sent_as_an_integer() -> None:
    wait = {"tool": {"name": "wait", "input": {"id": "{{n|int}}", "text": "{{n}}"}}}
    with MockModel(scenario({"capture": {"n": r"number (\d+)"}, "actions": [wait]})) as mock:
        _, text = post(mock.url + "/v1/responses", openai("number 42"))
        item = sse(text)[-1]["response"]["output"][0]
        assert json.loads(item["arguments"]) == {"id": 42, "text": "42"}


def test_billing_counts_whole_answers_only_and_a_tag_is_in_every_id() -> None:
    usage = {"input": 3, "output": 5, "cache_read": 7, "cache_write": 11, "cache_write_1h": 13}
    turns = (
        {"text": "x", "usage": usage},
        {"text": "x" * 99, "usage": usage, "fault": {"kind": "truncate", "after_events": 2}},
        {"error": {"status": 500}},
    )
    with MockModel(scenario(*turns), tag="T7") as mock:
        for _ in turns:
            post(mock.url + "/v1/messages", anthropic())
        answers = billed(mock.requests())
    assert [(one.response_id, one.whole) for one in answers] == [("msg_T70001", True), ("msg_T70002", False)]
    assert total(answers) == Tokens(input=3, output=5, cache_read=7, cache_write_5m=11, cache_write_1h=13)


def test_unmet_expectation_fails_loudly() -> None:
    with MockModel(scenario({"text": "x", "expect": {"request": "wanted"}})) as mock:
        status, text = post(mock.url + "/v1/responses", openai("other"))
        assert status == 400 and "request lacks 'wanted'" in text
        with pytest.raises(AssertionError, match="request lacks"):
            mock.require_ok()


def test_exhausted_and_unserved_turns_are_reported() -> None:
    with MockModel(scenario({"text": "x"}, {"text": "y", "optional": True})) as mock:
        assert not mock.report().ok
        for _ in range(2):
            post(mock.url + "/v1/messages", anthropic())
        assert mock.report().ok
        status, text = post(mock.url + "/v1/messages", anthropic())
        assert status == 403 and "no turn left" in text
        assert not mock.report().ok


@pytest.mark.parametrize("kind", ["malformed", "truncate", "error_event"])
def test_stream_faults(kind: str) -> None:
    turn = {"text": "x" * 200, "fault": {"kind": kind, "after_events": 2}}
    with MockModel(scenario(turn)) as mock:
        _, text = post(mock.url + "/v1/messages", anthropic())
        assert "message_stop" not in text
        assert ("this is not json" in text) == (kind == "malformed")
        assert ("overloaded_error" in text) == (kind == "error_event")
        assert mock.requests()[0].outcome == "faulted"


def test_disconnect_and_stall() -> None:
    turns = ({"text": "x", "fault": "disconnect"}, {"text": "x", "fault": {"kind": "stall"}})
    with MockModel(scenario(*turns)) as mock:
        for _ in turns:
            with pytest.raises((OSError, http.client.HTTPException)):
                request = urllib.request.Request(
                    mock.url + "/v1/messages", data=json.dumps(anthropic()).encode()
                )
                with urllib.request.urlopen(request, timeout=0.5) as response:
                    response.read()


def test_keys_never_reach_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with MockModel(scenario({"text": "x"}), log_path=log) as mock:
        post(mock.url + "/v1/messages", anthropic(), {"x-api-key": "hunter2", "x-other": "seen"})
    text = log.read_text()
    assert "hunter2" not in text
    assert json.loads(text)["headers"]["x-other"] == "seen"
