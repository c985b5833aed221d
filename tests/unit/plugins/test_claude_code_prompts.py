"""Who wrote a user record of Claude Code: the rules of the format reference, section 3.1.3, row by row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from waypost.plugins.api import Line, TranscriptFile
from waypost.plugins.registry import transcript_reader
from waypost.records.transcript import Origin, Role, TurnDraft, TurnFlag

READER = transcript_reader("claude_code")
PROMPT, NONE = TurnFlag.PROMPT, TurnFlag(0)
SLASH, SHELL, TAUGHT = TurnFlag.SLASH_COMMAND, TurnFlag.SHELL_LINE, TurnFlag.TAUGHT
INTERRUPTION, SIDECHAIN, IMAGE = TurnFlag.INTERRUPTION, TurnFlag.SIDECHAIN, TurnFlag.IMAGE
HUMAN = (Role.USER, Origin.HUMAN)
AUTOMATED = (Role.USER, Origin.AUTOMATED)
HARNESS = (Role.SYSTEM, Origin.HARNESS)
AGENT = (Role.USER, Origin.AGENT)


def only_turn(record: dict[str, Any], *, relative: str = "projects/-w/s1.jsonl") -> TurnDraft:
    whole = {"type": "user", "uuid": "u1", "sessionId": "s1", "version": "2.1.100", **record}
    chunk = READER.read(TranscriptFile(relative), b"", [Line(0, json.dumps(whole).encode())])
    assert chunk.malformed == [] and len(chunk.turns) == 1
    (turn,), (session,) = chunk.turns, chunk.sessions
    prompt = bool(turn.flags & PROMPT)
    human = turn.origin == Origin.HUMAN
    assert (session.prompts, session.automated_prompts) == (int(prompt and human), int(prompt and not human))
    return turn


def said(content: Any, **more: Any) -> dict[str, Any]:
    return {"message": {"role": "user", "content": content}, **more}


def texts(*words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": one} for one in words]


IMAGE_BLOCK = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
ROWS: list[tuple[str, dict[str, Any], tuple[Role, Origin], TurnFlag]] = [
    ("plain text", said("fix it"), HUMAN, PROMPT),
    ("text blocks", said(texts("fix", "it")), HUMAN, PROMPT),
    ("an image alone", said([IMAGE_BLOCK]), HUMAN, PROMPT | IMAGE),
    ("nothing at all", said(""), HARNESS, NONE),
    ("no content", said(None), HARNESS, NONE),
    # 1
    (
        "a tool result",
        said([{"type": "tool_result", "tool_use_id": "t"}]),
        (Role.TOOL_RESULT, Origin.HARNESS),
        TurnFlag.OK,
    ),
    # 2
    ("origin human", said("go", origin={"kind": "human"}), HUMAN, PROMPT),
    ("origin human, a meta row", said("go", origin={"kind": "human"}, isMeta=True), HUMAN, PROMPT),
    ("origin notification", said("go", origin={"kind": "task-notification"}), HARNESS, NONE),
    ("origin unheard of", said("go", origin={"kind": "robot"}, promptSource="typed"), HARNESS, NONE),
    ("typed", said("go", promptSource="typed"), HUMAN, PROMPT),
    ("queued", said("go", promptSource="queued"), HUMAN, PROMPT),
    ("pasted", said("go", promptSource="pasted"), HUMAN, PROMPT),
    ("typed in a headless run", said("go", promptSource="typed", entrypoint="sdk-cli"), HUMAN, PROMPT),
    ("sent by a program", said("go", promptSource="sdk"), AUTOMATED, PROMPT),
    ("sent by the system", said("go", promptSource="system"), HARNESS, NONE),
    # 3
    ("a meta row", said("go", isMeta=True), HARNESS, NONE),
    ("a compaction summary", said("go", isCompactSummary=True), HARNESS, NONE),
    ("shown only", said("go", isVisibleInTranscriptOnly=True), HARNESS, NONE),
    ("made by the harness", said("go", rowSource="harness"), HARNESS, NONE),
    (
        "an interruption by the harness",
        said("[Request interrupted by user]", rowSource="harness"),
        HARNESS,
        INTERRUPTION,
    ),
    # 4
    ("a sub-agent's row", said("go", isSidechain=True), AGENT, SIDECHAIN),
    ("an agent's row", said("go", agentId="a1"), AGENT, SIDECHAIN),
    # 5
    ("an interruption", said("[Request interrupted by user]"), HARNESS, INTERRUPTION),
    (
        "an interruption of a tool",
        said(texts("[Request interrupted by user for tool use]")),
        HARNESS,
        INTERRUPTION,
    ),
    # 6
    ("a slash command", said("<command-name>/x</command-name>"), HUMAN, SLASH),
    (
        "a slash command, message first",
        said("<command-message>x</command-message>\n<command-name>/x</command-name>"),
        HUMAN,
        SLASH,
    ),
    ("command output", said("<local-command-stdout>done</local-command-stdout>"), HARNESS, NONE),
    ("command errors", said("<local-command-stderr>no</local-command-stderr>"), HARNESS, NONE),
    ("a command caveat", said("<local-command-caveat>x</local-command-caveat>"), HARNESS, NONE),
    ("a shell line", said("<bash-input>ls</bash-input>"), HUMAN, SHELL),
    ("shell output", said("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"), HARNESS, NONE),
    ("shell errors", said("<bash-stderr>a</bash-stderr>"), HARNESS, NONE),
    ("a notification", said("<task-notification>x</task-notification>"), HARNESS, NONE),
    ("a team mate", said('<teammate-message from="x">y</teammate-message>'), HARNESS, NONE),
    ("a memory", said("<user-memory-input>use pnpm</user-memory-input>"), HUMAN, TAUGHT),
    ("a caveat", said("Caveat: The messages below were generated"), HARNESS, NONE),
    ("a hook that stopped", said("Operation stopped by hook: no"), HARNESS, NONE),
    ("a bare command", said("/compact"), HARNESS, NONE),
    ("a bare command that was typed", said("/compact", promptSource="typed"), HUMAN, PROMPT),
    ("a path is no command", said("/etc/hosts looks wrong"), HUMAN, PROMPT),
    ("an approved plan", said("Implement the plan", planContent="# Plan"), HARNESS, NONE),
    # 7
    ("a reminder alone", said("<system-reminder>x</system-reminder>"), HARNESS, NONE),
    ("a reminder, then words", said("<system-reminder>x</system-reminder>\nfix it"), HUMAN, PROMPT),
    ("an opened file, then words", said("<ide_opened_file>a</ide_opened_file>\nfix it"), HUMAN, PROMPT),
    (
        "two contexts alone",
        said("<ide_selection>a</ide_selection> <system-reminder>b</system-reminder>"),
        HARNESS,
        NONE,
    ),
    ("a headless run", said("fix it", entrypoint="sdk-cli"), AUTOMATED, PROMPT),
    ("a TypeScript caller", said("fix it", entrypoint="sdk-ts"), AUTOMATED, PROMPT),
    ("a Python caller", said("fix it", entrypoint="sdk-py"), AUTOMATED, PROMPT),
    ("the desktop program", said("fix it", entrypoint="claude-desktop"), HUMAN, PROMPT),
    ("words about an interruption", said("why [Request interrupted by user]?"), HUMAN, PROMPT),
    ("words about a command", said("what is <command-name>?"), HUMAN, PROMPT),
]


@pytest.mark.parametrize(("record", "who", "flags"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_row_has_the_author_that_the_rules_say(
    record: dict[str, Any], who: tuple[Role, Origin], flags: TurnFlag
) -> None:
    turn = only_turn(record)
    assert (Role(turn.role), Origin(turn.origin)) == who
    assert TurnFlag(turn.flags) == flags


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (
            "<command-message>m</command-message><command-name> /x </command-name>"
            "<command-args>a b</command-args>",
            "/x a b",
        ),
        ("<command-name>/x</command-name><command-args></command-args>", "/x"),
        ("<bash-input> ls -l </bash-input>", "ls -l"),
        ("<user-memory-input>use pnpm</user-memory-input>", "use pnpm"),
        ("<ide_opened_file>a</ide_opened_file>\n<system-reminder>b</system-reminder>\nfix it", "fix it"),
    ],
)
def test_what_a_person_did_is_shown_without_its_envelope(content: str, shown: str) -> None:
    turn = only_turn(said(content))
    assert turn.text == shown
    assert turn.raw is not None
    assert READER.render(turn.raw, part=0, extras=turn.extras).text == shown


@pytest.mark.parametrize("relative", ["projects/-w/s1/subagents/agent-x.jsonl", "projects/-w/agent-x.jsonl"])
def test_rows_of_a_sub_agents_file_are_the_parent_agents(relative: str) -> None:
    turn = only_turn(said("look at this"), relative=relative)
    assert (turn.origin, TurnFlag(turn.flags)) == (Origin.AGENT, SIDECHAIN)


def test_a_row_whose_plan_is_null_is_a_persons() -> None:
    assert only_turn(said("fix it", planContent=None)).flags == PROMPT


def test_a_row_written_twice_is_one_prompt() -> None:
    record = {"type": "user", "uuid": "u1", "sessionId": "s1", "version": "2.1.100", **said("go")}
    data = json.dumps(record).encode()
    lines = [Line(0, data), Line(len(data) + 1, data)]
    chunk = READER.read(TranscriptFile("projects/-w/s1.jsonl"), b"", lines)
    assert sum(session.prompts for session in chunk.sessions) == 1


def test_a_queued_message_that_went_in_mid_turn_is_kept_and_one_that_follows_is_not() -> None:
    def operation(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": "queue-operation", "operation": kind, "sessionId": "s1", **more}

    records = [
        # Words of a session whose folder is not known yet are not kept: its project may have opted out.
        operation("enqueue", content="too early"),
        operation("remove"),
        {"type": "system", "subtype": "turn_duration", "sessionId": "s1", "uuid": "u0", "cwd": "/w"},
        operation("enqueue", content="and also this"),
        operation("remove"),
        operation("enqueue", content="then that"),
        operation("dequeue"),
        operation("enqueue", content="back to the line"),
        operation("popAll"),
        operation("remove"),
        operation("enqueue", content="<task-notification>x</task-notification>"),
        operation("remove"),
        operation("enqueue", content="/clear"),
        operation("remove"),
    ]
    lines = [Line(number * 1000, json.dumps(one).encode()) for number, one in enumerate(records)]
    chunk = READER.read(TranscriptFile("projects/-w/s1.jsonl"), b"", lines)
    assert [(turn.text, TurnFlag(turn.flags), turn.origin) for turn in chunk.turns] == [
        ("and also this", TurnFlag.QUEUED, Origin.HUMAN)
    ]
    assert (chunk.sessions[0].queued_prompts, chunk.sessions[0].prompts) == (1, 0)
