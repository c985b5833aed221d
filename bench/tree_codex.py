"""Codex rollouts for generated trees, in two shapes: 0.128 ("old", token_count events only) and 0.171.

Totals are repeated when only rate limits change; an old fork copies its parent with new times and continues
from its total. The new shape adds ordinals, ``token_usage_record`` and ``item_completed`` events.
"""

from datetime import UTC, datetime
from pathlib import Path

from tree_claude import ClaudeSession
from tree_truth import Truth, save
from tree_words import Clock, Pick, escape

CODEX_MODELS = (("gpt-5.2-codex", 3), ("gpt-5.3-codex", 3), ("gpt-5-codex", 1))


class CodexSession:
    """Writes one Codex rollout as a list of lines."""

    def __init__(self, pick: Pick, truth: Truth, *, project: str, ms: int, old: bool, base: str) -> None:
        self.p, self.truth, self.old, self.base = pick, truth, old, base
        self.clock = Clock(ms)
        self.started = ms
        self.id = pick.uuid7(ms)
        self.cwd = f"/home/dev/work/{project}"
        self.model = pick.weighted(CODEX_MODELS)
        self.version = "0.128.0" if old else "0.171.0"
        self.lines: list[str] = []
        self.size = 0
        self.ordinal = 0
        self.total = [0, 0, 0, 0]
        self.context = 9_000 + pick.below(4_000)
        self.turn = ""
        self.limits = 0
        self.rename = tuple((w, pick.one(pick.words.identifiers)) for w in ("self", "value", "data", "path"))

    words = ClaudeSession.words
    command = ClaudeSession.command

    def put(self, kind: str, payload: str, step: int = 3) -> None:
        mark = ""
        if not self.old:
            mark = f'"ordinal":{self.ordinal},'
            self.ordinal += 1
        line = f'{{"timestamp":"{self.clock.iso(step)}",{mark}"type":"{kind}","payload":{payload}}}'
        self.lines.append(line)
        self.size += len(line) + 1

    def item(self, body: str, step: int = 3) -> None:
        """A response_item; the new shape carries metadata on each."""
        if not self.old:
            body = body[:-1] + f',"internal_chat_message_metadata_passthrough":{{"turn_id":"{self.turn}"}}}}'
        self.put("response_item", body, step)

    def done(self, item: str) -> None:
        self.put(
            "event_msg",
            f'{{"type":"item_completed","thread_id":"{self.id}","turn_id":"{self.turn}","item":{item},'
            f'"started_at_ms":{self.clock.ms},"completed_at_ms":{self.clock.ms + 4}}}',
        )

    def meta(self, forked: str = "") -> None:
        more = f'"forked_from_id":"{forked}",' if forked else ""
        source = "" if self.old else f'"account_scoped":true,"session_id":"{self.id}",'
        self.put(
            "session_meta",
            f'{{{source}"id":"{self.id}",{more}"timestamp":"{self.clock.iso()}","cwd":"{self.cwd}",'
            f'"originator":"codex-tui","cli_version":"{self.version}","source":"cli",'
            '"model_provider":"openai",'
            f'"base_instructions":{{"text":"{self.base}"}},"git":{{"commit_hash":"{self.p.bits(160):040x}",'
            '"branch":'
            f'"main","repository_url":"https://example.invalid/acme/demo.git"}}}}',
        )

    def usage(self) -> None:
        """Count one response and write its token_count (and, in the new shape, its record)."""
        p = self.p
        given, cached = self.context + 40 + p.below(900), self.context - self.context % 128
        output = 30 + p.size(300, 1.0, 12_000)
        reasoning = int(output * p.random() * 0.7)
        self.context = given + output if given < 180_000 else 24_000
        for index, value in enumerate((given, cached, output, reasoning)):
            self.total[index] += value
        self.truth.usage(
            "codex", self.model, input=given - cached, cache_read=cached, output=output, reasoning=reasoning
        )
        self.last = self.numbers(given, cached, output, reasoning)
        if not self.old:
            self.put(
                "token_usage_record",
                f'{{"thread_id":"{self.id}","turn_id":"{self.turn}","session_id":"{self.id}",'
                f'"root_turn_id":"{self.turn}","response_id":"resp_{p.bits(160):040x}","usage":{self.last},'
                f'"turn_token_usage":{self.last},"thread_token_usage":{self.numbers(*self.total)}}}',
            )
        self.count()
        if p.random() < 0.5:
            self.count()
            self.truth.add("codex", "token_count_repeats")

    def numbers(self, given: int, cached: int, output: int, reasoning: int) -> str:
        write = "" if self.old else '"cache_write_input_tokens":0,'
        return (
            f'{{"input_tokens":{given},"cached_input_tokens":{cached},{write}"output_tokens":{output},'
            f'"reasoning_output_tokens":{reasoning},"total_tokens":{given + output}}}'
        )

    def count(self) -> None:
        self.limits += 1
        used = (self.limits * 37 % 1000) / 10
        self.put(
            "event_msg",
            f'{{"type":"token_count","info":{{"total_token_usage":{self.numbers(*self.total)},'
            f'"last_token_usage":{self.last},"model_context_window":258400}},'
            f'"rate_limits":{{"limit_id":"codex",'
            f'"limit_name":null,"primary":{{"used_percent":{used},"window_minutes":300,'
            f'"resets_at":1796057278}},'
            f'"secondary":null,"credits":null,"plan_type":"pro","rate_limit_reached_type":null}}}}',
        )

    def call(self) -> None:
        p = self.p
        call = "call_" + p.key()
        command = self.command()
        if p.random() < 0.6:
            secret = p.token(400 + p.size(700, 0.8, 12_000))
            self.item(
                f'{{"type":"reasoning","summary":[{{"type":"summary_text","text":"**{p.prose(60)}**"}}],'
                '"content":null,'
                f'"encrypted_content":"{secret}"}}',
                2_000,
            )
        arguments = escape(f'{{"cmd": "{command}", "workdir": "{self.cwd}", "yield_time_ms": 1000}}')
        self.item(
            f'{{"type":"function_call","name":"exec_command","arguments":"{arguments}","call_id":"{call}"}}',
            600,
        )
        self.truth.add("codex", "commands")
        code = p.one((1, 1, 2, 127)) if p.random() < 0.09 else 0
        if code:
            self.truth.add("codex", "commands_failed")
        chars = p.size(750, 1.4, 40_000)
        out = self.words("\\n".join(p.source(chars)[1]) if p.random() < 0.5 else p.log(chars))
        if not self.old:
            self.done(
                f'{{"type":"CommandExecution","id":"{call}","process_id":"{p.below(90_000)}",'
                '"command":["/bin/bash",'
                f'"-lc","{command}"],"cwd":"file://{self.cwd}","parsed_cmd":[{{"type":"unknown",'
                f'"cmd":"{command}"}}],'
                f'"source":"unified_exec_startup","status":"{"failed" if code else "completed"}",'
                '"aggregated_output":'
                f'"{out}","exit_code":{code},"duration":{{"secs":0,"nanos":{p.below(10**9)}}}}}'
            )
        self.item(
            f'{{"type":"function_call_output","call_id":"{call}","output":"Chunk ID: '
            f"{p.bits(24):06x}\\nWall time: "
            f"{p.random() * 9:.4f} seconds\\nProcess exited with code {code}\\nOriginal token count: "
            f"{chars // 4}\\n"
            f'Output:\\n{out}\\n"}}',
            900,
        )
        self.usage()

    def work(self) -> None:
        p = self.p
        self.turn = p.uuid7(self.clock.ms)
        self.put(
            "event_msg",
            f'{{"type":"task_started","turn_id":"{self.turn}","started_at":{self.clock.ms // 1000},'
            f'"model_context_window":258400,"collaboration_mode_kind":"default"}}',
            30_000 + p.below(200_000),
        )
        context = (
            f'{{"turn_id":"{self.turn}","cwd":"{self.cwd}","approval_policy":"on-request",'
            f'"sandbox_policy":{{"type":'
            f'"workspace-write"}},"permission_profile":{{"type":"disabled"}},"model":"{self.model}",'
            '"personality":'
            f'"pragmatic","collaboration_mode":{{"mode":"default","settings":{{"model":"{self.model}",'
            f'"reasoning_effort":"medium","developer_instructions":null}}}},"summary":"auto"}}'
        )
        self.put("turn_context", context)
        text = p.prose(p.size(110, 1.1, 9_000))
        self.truth.add("codex", "prompts")
        self.item(f'{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}')
        if self.old:
            self.put(
                "event_msg",
                f'{{"type":"user_message","message":"{text}","images":[],"local_images":[],'
                '"text_elements":[]}',
            )
        else:
            self.done(
                f'{{"type":"UserMessage","id":"{p.uuid()}","content":[{{"type":"text","text":"{text}",'
                '"text_elements":[]}]}'
            )
        for _ in range(1 + p.size(5, 0.9, 60)):
            self.call()
        answer = p.prose(p.size(500, 0.9, 6_000))
        if self.old:
            self.put(
                "event_msg",
                f'{{"type":"agent_message","message":"{answer}","phase":null,"memory_citation":null}}',
            )
        else:
            self.done(
                f'{{"type":"AgentMessage","id":"msg_{p.bits(64):x}","content":[{{"type":"Text",'
                f'"text":"{answer}"}}]}}'
            )
        self.item(
            f'{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{answer}"}}]}}',
            900,
        )
        self.usage()
        self.put(
            "event_msg",
            f'{{"type":"task_complete","turn_id":"{self.turn}","last_agent_message":null,'
            f'"completed_at":{self.clock.ms // 1000},"duration_ms":9000}}',
        )

    def open(self) -> None:
        self.truth.add("codex", "sessions")
        self.meta()
        self.item(
            '{"type":"message","role":"developer","content":[{"type":"input_text","text":"<permissions '
            "instructions>\\n"
            f'{self.p.prose(4_000)}\\n</permissions instructions>"}}]}}'
        )
        self.item(
            '{"type":"message","role":"user","content":[{"type":"input_text",'
            '"text":"<environment_context>\\n  <cwd>'
            f'{self.cwd}</cwd>\\n  <shell>bash</shell>\\n</environment_context>"}}]}}'
        )

    def run(self, size: int) -> None:
        self.open()
        while self.size < size:
            self.work()

    def fork(self) -> "CodexSession":
        """A 0.128 fork: own meta, the parent's records with new times, then work on top of the parent's "
        "total."""
        p = self.p
        child = object.__new__(CodexSession)
        child.__dict__.update(self.__dict__)
        child.clock = Clock(self.clock.ms + 60_000)
        child.started = child.clock.ms
        child.id = p.uuid7(child.clock.ms)
        child.lines, child.size, child.total = [], 0, list(self.total)
        child.meta(forked=self.id)
        for line in self.lines:
            child.lines.append(f'{{"timestamp":"{child.clock.iso()}"{line[line.index(",") :]}')
        child.size = sum(map(len, child.lines))
        self.truth.add("codex", "forks")
        self.truth.add("codex", "sessions")
        for _ in range(2):
            child.work()
        return child

    def path(self, root: Path) -> Path:
        day = datetime.fromtimestamp(self.started / 1000, tz=UTC)
        folder = root / "codex" / "sessions" / f"{day:%Y/%m/%d}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"rollout-{day:%Y-%m-%dT%H-%M-%S}-{self.id}.jsonl"

    def write(self, root: Path) -> int:
        written = save(self.path(root), self.lines)
        self.truth.bytes["codex"] += written
        return written
