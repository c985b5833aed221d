"""Makes a real transcript publishable: vendors' text out, invented places and times in.

Three steps, each on decoded JSON lines, so that the output is valid JSONL again:

1. ``strip_claude`` / ``strip_codex`` drop or blank the records that hold the vendors'
   prompts, tool descriptions and listings. Claude's ``parentUuid`` chain is joined over
   dropped records; Codex records are blanked, not dropped, so that ordinals stay whole.
2. ``Rewriter`` replaces the temporary home by /home/sam and maps the few seconds that a
   scripted run takes onto the time it shall seem to have taken. The map is linear for
   each run: order stays, and so does the identity of times that were copied.
3. ``vendor_leaks`` compares the result with the prompts the model server received.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Json = Any
Record = dict[str, Any]

MARKER = "[vendor text removed]"
CLAUDE_DROPPED = frozenset({"attachment", "api-request", "api-request-shape", "api-request-blob"})
LEAK_WINDOW_CHARS = 48
PROSE_SPACES_MIN = 3
"""Fewer spaces than this in a stretch: a path or an id, not prose."""

_REMINDER = re.compile(
    r"<system-reminder>.*?</system-reminder>"
    r"|(?<=<local-command-caveat>).*?(?=</local-command-caveat>)"
    r"|(?<=\[Subagent hand-back\] ).*?(?= The report follows:)",
    re.DOTALL,
)
_SUMMARY_FRAME = re.compile(r"\AAnother language model .*?:\n", re.DOTALL)
_TAG = re.compile(r"\s*<([a-zA-Z_ ]+)>")
_NOTICE = re.compile(r"<task-notification>.*?</task-notification>", re.DOTALL)
"""Facts that a program tells the model about its own commands: no prose, and readers need them."""
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
_UUID7 = re.compile(r"(?<![0-9a-f])([0-9a-f]{8})-([0-9a-f]{4})-(7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\b")
_ROLLOUT = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9a-f]{8})-([0-9a-f]{4})-7")


# -- 1. vendors' text ---------------------------------------------------------


def strip_claude(lines: Sequence[Record]) -> list[Record]:
    """Claude Code records without the vendor's prompts; the parent chain stays connected."""
    parents = {line["uuid"]: line.get("parentUuid") for line in lines if "uuid" in line}
    dropped = {line["uuid"] for line in lines if line["type"] in CLAUDE_DROPPED and "uuid" in line}
    kept: list[Record] = []
    for line in lines:
        if line["type"] in CLAUDE_DROPPED:
            continue
        parent = line.get("parentUuid")
        for _ in range(len(parents)):
            if parent not in dropped:
                break
            parent = parents[parent]
        if "parentUuid" in line:
            line = {**line, "parentUuid": parent}
        if line.get("isCompactSummary"):
            line = _without_summary_frame(line)
        kept.append(_without_reminders(line))
    return kept


def _without_summary_frame(line: Record) -> Record:
    """A summary's own text, without the sentences that the program puts around it."""
    message = line["message"]
    texts = (
        [message["content"]]
        if isinstance(message["content"], str)
        else [block.get("text", "") for block in message["content"]]
    )
    own = re.search(r"Summary:\n.*?(?=\n\n)", "\n".join(texts) + "\n\n", re.DOTALL)
    text = f"{MARKER}\n\n{own.group(0)}" if own else MARKER
    return {**line, "message": {**message, "content": text}}


def _without_reminders(value: Json) -> Json:
    if isinstance(value, str):
        return _REMINDER.sub(MARKER, value)
    if isinstance(value, Mapping):
        return {key: _without_reminders(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_reminders(item) for item in value]
    return value


def strip_codex(lines: Sequence[Record]) -> list[Record]:
    """Codex records in which the vendor's prompts are blank."""
    return [{**line, "payload": _codex_payload(line["type"], line["payload"])} for line in lines]


def _codex_payload(kind: str, payload: Record) -> Record:
    if kind == "session_meta":
        base = payload.get("base_instructions")
        blank = {**base, "text": MARKER} if isinstance(base, Mapping) else base
        return {**payload, "base_instructions": blank} if base else payload
    if kind == "turn_context" or payload.get("type") == "thread_settings_applied":
        return _without_instructions(payload)
    if kind == "world_state":
        return {**payload, "state": {}}
    if kind == "response_item":
        return _codex_item(payload)
    if kind == "compacted":
        message = _SUMMARY_FRAME.sub(f"{MARKER}\n", payload.get("message") or "")
        history = [_codex_item(item) for item in payload.get("replacement_history") or []]
        return {**payload, "message": message, "replacement_history": history}
    return payload


def _without_instructions(value: Json) -> Json:
    """Settings in which every instruction text is blank."""
    if isinstance(value, Mapping):
        return {
            key: MARKER if key.endswith("_instructions") and item else _without_instructions(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_without_instructions(item) for item in value]
    return value


def _codex_item(item: Record) -> Record:
    if item.get("type") == "additional_tools":
        return {**item, "tools": []}
    if item.get("type") != "message" or item.get("role") not in {"developer", "system", "user"}:
        return item
    passed = item.get("internal_chat_message_metadata_passthrough") or {}
    origins = [meta.get("provenance", {}).get("type") for meta in passed.get("content_item_metadata") or []]
    content = [
        {**part, "text": _blank(part["text"])}
        if "text" in part and (item["role"] != "user" or _is_harness(part["text"], origins, index))
        else part
        for index, part in enumerate(item["content"])
    ]
    return {**item, "content": content}


def _is_harness(text: str, origins: Sequence[str | None], index: int) -> bool:
    if index < len(origins):
        return origins[index] in {"harness", "skills"}
    return text.lstrip().startswith(("<environment_context>", "<user_instructions>", "# AGENTS.md"))


def _blank(text: str) -> str:
    """The marker, inside the tag or after the frame that readers know a harness message by."""
    if _SUMMARY_FRAME.match(text):
        return _SUMMARY_FRAME.sub(f"{MARKER}\n", text)
    tag = _TAG.match(text)
    return f"<{tag.group(1)}>{MARKER}</{tag.group(1)}>" if tag else MARKER


# -- 2. places and times ------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Real seconds [begin, end] of one run and the seconds [shown, shown + lasts] they become."""

    begin: float
    end: float
    shown: float
    lasts: float

    def holds(self, at: float) -> bool:
        return self.begin - 1.0 <= at <= self.end + 0.5

    def map(self, at: float) -> float:
        share = (at - self.begin) / (self.end - self.begin)
        return self.shown + self.lasts * min(max(share, 0.0), 1.0)


def iso_times(text: str) -> list[float]:
    """Every full ISO time in ``text``, in seconds since 1970."""
    return [datetime.fromisoformat(match).timestamp() for match in _ISO.findall(text)]


class Rewriter:
    """Replaces places and times in every string and number of a record."""

    def __init__(self, places: Sequence[tuple[str, str]], windows: Sequence[Window]) -> None:
        self._places = places
        self._windows = windows

    def lines(self, records: Iterable[Record]) -> list[Record]:
        records = list(records)
        seconds = self._seconds(records)
        return [self._record(record, seconds) for record in records]

    def text(self, text: str) -> str:
        for real, shown in self._places:
            text = text.replace(real, shown)
        text = _ISO.sub(lambda match: self._iso(match.group(0)), text)
        text = _UUID7.sub(self._uuid7, text)
        return _ROLLOUT.sub(_rollout_name, text)

    def _record(self, record: Record, seconds: Mapping[int, float]) -> Record:
        payload = record.get("payload")
        if record.get("type") == "event_msg" and payload.get("type") in {"task_complete", "turn_aborted"}:
            begun = self._whole(payload["started_at"], seconds)
            ended = self._map(datetime.fromisoformat(record["timestamp"]).timestamp())
            shown = {"started_at": int(begun), "completed_at": int(ended)}
            spent = {"duration_ms": round((ended - begun) * 1000)}
            record = {**record, "payload": {**payload, **shown, **spent}}
        return self._value(record, seconds)

    def _value(self, value: Json, seconds: Mapping[int, float]) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self._value(item, seconds) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, seconds) for item in value]
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        if self._window(value):
            return (
                round(self._map(value), 6) if isinstance(value, float) else int(self._whole(value, seconds))
            )
        if self._window(value / 1000):
            return round(self._map(value / 1000) * 1000)
        return value

    def _seconds(self, records: Iterable[Record]) -> dict[int, float]:
        """For each whole second, the first exact time inside it: whole seconds alone lose order."""
        times = sorted(at for record in records for at in iso_times(json.dumps(record)))
        out: dict[int, float] = {}
        for at in times:
            out.setdefault(int(at), at)
        return out

    def _whole(self, at: float, seconds: Mapping[int, float]) -> float:
        return self._map(seconds.get(int(at), at))

    def _window(self, at: float) -> Window | None:
        return next((window for window in self._windows if window.holds(at)), None)

    def _map(self, at: float) -> float:
        window = self._window(at)
        return window.map(at) if window else at

    def _iso(self, text: str) -> str:
        at = datetime.fromisoformat(text).timestamp()
        if not self._window(at):
            return text
        digits = len(text.partition(".")[2].rstrip("Z").partition("+")[0])
        moment = datetime.fromtimestamp(self._map(at), UTC)
        body = moment.strftime("%Y-%m-%dT%H:%M:%S")
        fraction = f".{moment.microsecond:06d}".ljust(digits + 1, "0")[: digits + 1] if digits else ""
        return f"{body}{fraction}{'Z' if text.endswith('Z') else '+00:00'}"

    def _uuid7(self, match: re.Match[str]) -> str:
        """Version 7 ids begin with their time in milliseconds."""
        at = int(match.group(1) + match.group(2), 16) / 1000
        if not self._window(at):
            return match.group(0)
        digits = f"{round(self._map(at) * 1000):012x}"
        return f"{digits[:8]}-{digits[8:]}-{match.group(3)}"


def _rollout_name(match: re.Match[str]) -> str:
    """Codex names a file by the start of its thread, which the thread's id begins with too."""
    at = int(match.group(1) + match.group(2), 16) / 1000
    shown = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H-%M-%S")
    return f"rollout-{shown}-{match.group(1)}-{match.group(2)}-7"


# -- 3. the check -------------------------------------------------------------


def vendor_windows(bodies: Iterable[Mapping[str, Json]]) -> set[str]:
    """Every stretch of LEAK_WINDOW_CHARS characters of the prompts a model server received."""
    texts: set[str] = set()
    for body in bodies:
        texts.update(_strings(body.get("system")))
        texts.update(_strings(body.get("tools")))
        texts.update(_strings(body.get("instructions")))
        for item in [*(body.get("messages") or []), *(body.get("input") or [])]:
            if item.get("role") in {"system", "developer"}:
                texts.update(_strings(item))
            elif item.get("role") == "user":
                texts.update(
                    text
                    for text in _strings(item)
                    if text.lstrip().startswith(("<system-reminder>", "<environment_context>"))
                )
    width = LEAK_WINDOW_CHARS
    texts = {_NOTICE.sub("", text) for text in texts}
    stretches = (text[i : i + width] for text in texts for i in range(len(text) - width + 1))
    return {stretch for stretch in stretches if stretch.count(" ") >= PROSE_SPACES_MIN}


def vendor_leaks(records: Iterable[Record], windows: set[str]) -> list[str]:
    """Stretches of vendor text that are still in ``records``."""
    width = LEAK_WINDOW_CHARS
    return [
        text[i : i + width]
        for record in records
        for text in _strings(record)
        for i in range(0, len(text) - width + 1)
        if text[i : i + width] in windows
    ]


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
