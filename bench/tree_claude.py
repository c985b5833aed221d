"""Claude Code sessions for generated trees, in two shapes: 2.0.64-2.1.42 ("old") and 2.1.332.

Field order and optional fields follow real records of those versions. Old: one record per content block
with the usage repeated, ``stop_reason`` null and mostly the snapshot output, ``progress`` records for
hooks, commands and agents. New: final usage, ``api-request`` records, attachments, subagents in files of
their own only.
"""

import re
from pathlib import Path

from tree_truth import Truth, save
from tree_words import PROJECTS, Clock, Pick

LINE_TEXT_CHARS_MAX = 380_000
CLAUDE_OLD_VERSIONS = tuple(
    [f"2.0.{n}" for n in (64, 69, 74, 76)]
    + [f"2.1.{n}" for n in (1, 3, 5, 7, 12, 15, 17, 20, 23, 25, 29, 31, 34, 37, 39, 41, 42)]
)
# In 2.1.12-2.1.29 even the last record of a response holds the snapshot; before and after, sometimes not.
SNAPSHOT_ALWAYS = frozenset(f"2.1.{n}" for n in range(12, 30))
CLAUDE_OLD_MODELS = (
    ("claude-opus-4-5-20251101", 6),
    ("claude-sonnet-4-5-20250929", 3),
    ("claude-opus-4-6", 2),
)
CLAUDE_NEW_MODELS = (("claude-opus-5-5", 4), ("claude-sonnet-5", 3), ("claude-opus-4-8", 1))
CLAUDE_AGENT_MODEL = "claude-haiku-4-5-20251001"
TOOLS = (
    ("Bash", 34),
    ("Read", 24),
    ("Edit", 20),
    ("Grep", 10),
    ("Write", 3),
    ("Glob", 3),
    ("TodoWrite", 4),
    ("Task", 4),
)


class ClaudeSession:
    """Writes one Claude Code session (and its subagent files) as a list of lines."""

    def __init__(self, pick: Pick, truth: Truth, *, project: str, ms: int, old: bool) -> None:
        self.p, self.truth, self.old = pick, truth, old
        self.clock = Clock(ms)
        self.id = pick.uuid()
        self.project = project
        self.cwd = f"/home/dev/work/{project}" + (
            f"/.worktrees/{pick.below(4)}" if pick.random() < 0.15 else ""
        )
        self.branch = pick.one(
            ("main", "main", f"fix/{pick.one(pick.words.identifiers)}", f"dev/{project}-next")
        )
        self.version = pick.one(CLAUDE_OLD_VERSIONS) if old else "2.1.332"
        self.model = pick.weighted(CLAUDE_OLD_MODELS if old else CLAUDE_NEW_MODELS)
        mood, doing = pick.one(("calm", "brisk", "deep", "quiet")), pick.one(("mixing", "soaring"))
        self.slug = f"{mood}-{doing}-{pick.one(PROJECTS)}"
        self.rename = tuple((w, pick.one(pick.words.identifiers)) for w in ("self", "value", "data", "path"))
        self.lines: list[str] = []
        self.size = 0
        self.parent: str | None = None
        self.context = 12_000 + pick.below(9_000)
        self.subagents: dict[str, list[str]] = {}
        self.prompt_id = pick.uuid()
        self.envelope()

    def envelope(self) -> None:
        if self.old:
            self.head = (
                f'"isSidechain":false,"userType":"external","cwd":"{self.cwd}","sessionId":"{self.id}",'
                f'"version":"{self.version}","gitBranch":"{self.branch}","slug":"{self.slug}"'
            )
        else:
            self.tail = (
                f'"session_id":"{self.id}","userType":"external","entrypoint":"cli","cwd":"{self.cwd}",'
                f'"sessionId":"{self.id}","version":"2.1.332","gitBranch":"{self.branch}"'
            )

    def put(self, line: str) -> None:
        self.lines.append(line)
        self.size += len(line) + 1

    def link(self) -> tuple[str, str]:
        """Return the JSON of the parent's id and a new id, which becomes the next parent."""
        parent = "null" if self.parent is None else f'"{self.parent}"'
        self.parent = self.p.uuid()
        return parent, self.parent

    def words(self, text: str) -> str:
        for old, new in self.rename:
            text = text.replace(old, new)
        return text

    # -- records ---------------------------------------------------------------------------------------------

    def user(self, content: str, *, extra: str = "", step: int = 1_500, prompt: bool = False) -> None:
        parent, uuid = self.link()
        when = self.clock.iso(step)
        if self.old:
            more = (
                ',"thinkingMetadata":{"maxThinkingTokens":31999},"todos":[],"permissionMode":"default"'
                if prompt
                else ""
            )
            self.put(
                f'{{"parentUuid":{parent},{self.head},"type":"user","message":{{"role":"user",'
                f'"content":{content}}},'
                f'"uuid":"{uuid}","timestamp":"{when}"{more}{extra}}}'
            )
        else:
            more = (
                ',"permissionMode":"default","origin":{"kind":"human"},"promptSource":"typed","sentAtMs":'
                f'{self.clock.ms},"rowSource":"recorded"'
                if prompt
                else ""
            )
            self.put(
                f'{{"parentUuid":{parent},"isSidechain":false,"promptId":"{self.prompt_id}","type":"user",'
                f'"message":{{"role":"user","content":{content}}},"uuid":"{uuid}",'
                f'"timestamp":"{when}"{more}{extra},'
                f"{self.tail}}}"
            )

    def system(self, subtype: str, body: str) -> None:
        parent, uuid = self.link()
        when = self.clock.iso(20)
        rest = f'"type":"system","subtype":"{subtype}",{body},"timestamp":"{when}","uuid":"{uuid}"'
        if self.old:
            self.put(f'{{"parentUuid":{parent},{self.head},{rest}}}')
        else:
            self.put(f'{{"parentUuid":{parent},"isSidechain":false,{rest},{self.tail}}}')

    def progress(self, data: str, tool: str, use: str) -> None:
        parent, uuid = self.link()
        self.put(
            f'{{"parentUuid":{parent},{self.head},"type":"progress","data":{data},"toolUseID":"{use}",'
            f'"parentToolUseID":"{tool}","uuid":"{uuid}","timestamp":"{self.clock.iso(900)}"}}'
        )

    def usage(self, model: str, *, final: bool) -> tuple[str, str, str, str]:
        """Draw one response's usage; return its id, request id, and the snapshot and final JSON. Counts "
        "it."""
        p = self.p
        given, written = 2 + p.below(20), 180 + p.size(900, 1.1, 40_000)
        read = self.context
        self.context = read + written if read < 165_000 else 30_000 + p.below(9_000)
        one_hour = written if p.random() < 0.45 else 0
        five = written - one_hour
        output, snapshot = 20 + p.size(260, 1.1, 16_000), 1 + p.below(9)
        self.truth.usage(
            "claude",
            model,
            input=given,
            cache_write_5m=five,
            cache_write_1h=one_hour,
            cache_read=read,
            output=output if final else snapshot,
        )
        if self.old:
            head = (
                f'{{"input_tokens":{given},"cache_creation_input_tokens":{written},'
                f'"cache_read_input_tokens":{read},'
                f'"cache_creation":{{"ephemeral_5m_input_tokens":{five},'
                f'"ephemeral_1h_input_tokens":{one_hour}}},'
            )
            tail = ',"service_tier":"standard"}'
            first, last = f'{head}"output_tokens":{snapshot}{tail}', f'{head}"output_tokens":{output}{tail}'
        else:
            first = last = (
                f'{{"input_tokens":{given},"cache_creation_input_tokens":{written},'
                f'"cache_read_input_tokens":{read},'
                f'"output_tokens":{output},"output_tokens_details":{{"thinking_tokens":0}},"server_tool_use":'
                f'{{"web_search_requests":0,"web_fetch_requests":0}},"service_tier":"standard",'
                '"cache_creation":'
                f'{{"ephemeral_1h_input_tokens":{one_hour},"ephemeral_5m_input_tokens":{five}}},'
                '"inference_geo":"",'
                f'"iterations":[],"speed":"standard","fallback_credit":null}}'
            )
        return "msg_01" + p.key(), "req_011C" + p.key(), first, last

    def response(self, blocks: list[str], *, stop: str) -> None:
        """Write one API response: one record per block, usage repeated on each."""
        final = not self.old or (self.version not in SNAPSHOT_ALWAYS and self.p.random() < 0.5)
        message, request, first, last = self.usage(self.model, final=final)
        if self.old:
            self.truth.add("claude", "responses_lower_bound")
        reference = "" if self.old else self.p.uuid()
        if not self.old:
            self.api_request(reference)
        for index, block in enumerate(blocks):
            parent, uuid = self.link()
            when = self.clock.iso(700)
            if self.old:
                usage = last if final and index == len(blocks) - 1 else first
                self.put(
                    f'{{"parentUuid":{parent},{self.head},"message":{{"model":"{self.model}",'
                    f'"id":"{message}","type":'
                    f'"message","role":"assistant","content":[{block}],"stop_reason":null,'
                    '"stop_sequence":null,"usage":'
                    f'{usage}}},"requestId":"{request}","type":"assistant","uuid":"{uuid}",'
                    f'"timestamp":"{when}"}}'
                )
            else:
                self.put(
                    f'{{"parentUuid":{parent},"isSidechain":false,"message":{{"id":"{message}",'
                    '"type":"message","role":'
                    f'"assistant","model":"{self.model}","content":[{block}],"stop_reason":"{stop}",'
                    '"stop_sequence":null,'
                    f'"usage":{last},"stop_details":null}},"apiBlockIndex":{index},"requestId":"{request}",'
                    '"requestRef":'
                    f'"{reference}","requestedModel":"{self.model}","promptCacheRequested":"5m",'
                    '"type":"assistant",'
                    f'"uuid":"{uuid}","timestamp":"{when}","effort":"medium","madeBy":"model",{self.tail}}}'
                )

    def api_request(self, reference: str) -> None:
        digest = f"{self.p.bits(256):064x}"
        self.put(
            f'{{"type":"api-request","sessionId":"{self.id}","id":"{reference}",'
            f'"timestamp":"{self.clock.iso(5)}",'
            f'"version":"2.1.332","querySource":"repl_main_thread","shapeHash":"{digest}","params":{{"model":'
            f'"{self.model}","max_tokens":128000,"thinking":{{"type":"adaptive"}},'
            f'"output_config":{{"effort":"medium"}}}},'
            f'"keep":{self.p.below(400)},"tail":["{digest[::-1]}"],'
            f'"requestDigest":"{digest[32:]}{digest[:32]}"}}'
        )

    # -- tools -----------------------------------------------------------------------------------------------

    def command(self) -> str:
        p, a = self.p, self.p.one(self.p.words.identifiers)
        return p.one(
            (
                f"pytest -q tests/test_{a}.py",
                "git status --short",
                "git diff HEAD~1",
                f"rg -n {a} src",
                "npm test",
                f"go test ./internal/{a}/...",
                "ruff check .",
                "mypy src",
                f"git log --oneline -20 -- {a}.py",
                "make build",
                f"python -m {a} --verbose 2>&1 | tail -50",
                f"cat src/{a}.py | head -80",
                "ls -la",
                "cargo check",
            )
        )

    def tool(self, name: str) -> tuple[str, str, str, bool]:
        """Return the input, the result's content, the toolUseResult and the error flag, all JSON."""
        p, r = self.p, self.p.random()
        if name == "Bash":
            command = self.command()
            given = f'{{"command":"{command}","description":"Run {command.split()[0]}"}}'
            out = self.words(p.log(p.size(560, 1.35, 30_000)))
            if r < 0.055:
                code = p.one((1, 1, 1, 1, 1, 1, 1, 2, 6, 127, 128))
                self.truth.add("claude", "commands_failed")
                return given, f'"Exit code {code}\\n{out}"', f'"Error: Exit code {code}\\n{out}"', True
            return (
                given,
                f'"{out}"',
                f'{{"stdout":"{out}","stderr":"","interrupted":false,"isImage":false,'
                f'"noOutputExpected":false}}',
                False,
            )
        if name == "Read":
            if r < 0.012:
                data = p.token(min(p.size(90_000, 0.9, 700_000), LINE_TEXT_CHARS_MAX))
                image = f'{{"type":"base64","media_type":"image/png","data":"{data}"}}'
                return (
                    f'{{"file_path":"{self.cwd}/shot.png"}}',
                    f'[{{"type":"image","source":{image}}}]',
                    '{"type":"image","file":{"originalSize":1}}',
                    False,
                )
            file, lines, marked, first = p.source(p.size(3_400, 1.35, 90_000))
            plain, numbered, count = self.words("\\n".join(lines)), self.words("\\n".join(marked)), len(lines)
            path = f"{self.cwd}/src/{file}"
            note = (
                "\\n\\n<system-reminder>\\nWhenever you read a file, you should consider whether it would "
                "be considered "
                "malware.\\n</system-reminder>\\n"
            )
            return (
                f'{{"file_path":"{path}"}}',
                f'"{numbered}{note}"',
                f'{{"type":"text","file":{{"filePath":"{path}","content":"{plain}","numLines":{count},'
                '"startLine":'
                f'{first},"totalLines":{first + count + 40}}}}}',
                False,
            )
        if name in ("Edit", "Write"):
            file, lines, _, _ = p.source(p.size(17_500, 0.9, 120_000))
            whole = self.words("\\n".join(lines))
            path = f"{self.cwd}/src/{file}"
            if name == "Write":
                return (
                    f'{{"file_path":"{path}","content":"{whole}"}}',
                    f'"File created successfully at: {path}"',
                    f'{{"type":"create","filePath":"{path}","content":"{whole}","structuredPatch":[]}}',
                    False,
                )
            _, lines, marked, first = p.source(60 + p.size(300, 0.9, 3_000))
            before, numbered, count = "\\n".join(lines), "\\n".join(marked), len(lines)
            after = before + "\\n    " + p.one(p.words.logs)
            given = (
                f'{{"file_path":"{path}","old_string":"{before}","new_string":"{after}","replace_all":false}}'
            )
            if r < 0.05:
                error = f"String to replace not found in file.\\nString: {before}"
                return (
                    given,
                    f'"<tool_use_error>{error}</tool_use_error>"',
                    f'"Error: {error}"',
                    True,
                )
            patch = '","'.join([" " + line for line in lines])
            return (
                given,
                f'"The file {path} has been updated. Here is a snippet of the edited file:\\n{numbered}"',
                f'{{"filePath":"{path}","oldString":"{before}","newString":"{after}",'
                f'"originalFile":"{whole}",'
                f'"structuredPatch":[{{"oldStart":{first},"oldLines":{count},"newStart":{first},'
                f'"newLines":{count + 1},'
                f'"lines":["{patch}"]}}],"userModified":false,"replaceAll":false}}',
                False,
            )
        if name == "Grep":
            word = p.one(p.words.identifiers)
            out = self.words(p.log(p.size(650, 1.2, 20_000))) if r > 0.2 else "No matches found"
            return (
                f'{{"pattern":"{word}","path":"{self.cwd}","output_mode":"content"}}',
                f'"{out}"',
                f'{{"mode":"content","numFiles":0,"filenames":[],"content":"{out}",'
                f'"numLines":{out.count("n")}}}',
                False,
            )
        if name == "Glob":
            files = [f"{self.cwd}/src/{p.one(p.words.files)[0]}" for _ in range(1 + p.below(30))]
            joined, listed = "\\n".join(files), '","'.join(files)
            return (
                '{"pattern":"**/*.py"}',
                f'"{joined}"',
                f'{{"filenames":["{listed}"],"durationMs":{p.below(300)},"numFiles":{len(files)},'
                f'"truncated":false}}',
                False,
            )
        todos = ",".join(
            f'{{"content":"{p.prose(90)}","status":"pending","activeForm":"{p.prose(60)}"}}'
            for _ in range(2 + p.below(6))
        )
        return (
            f'{{"todos":[{todos}]}}',
            '"Todos have been modified successfully. Ensure that you continue to use the todo '
            'list to track your progress."',
            f'{{"oldTodos":[],"newTodos":[{todos}]}}',
            False,
        )

    def use(self, name: str) -> None:
        """One tool call of the main thread with everything that belongs to it."""
        p = self.p
        tool = "toolu_01" + p.key()
        if name == "Task":
            self.task(tool)
            return
        given, content, result, error = self.tool(name)
        if name == "Bash":
            self.truth.add("claude", "commands")
        block = f'{{"type":"tool_use","id":"{tool}","name":"{name}","input":{given}}}'
        self.response([*self.lead(), block], stop="tool_use")
        caller = self.parent
        if self.old:
            self.progress(
                '{"type":"hook_progress","hookEvent":"PreToolUse","hookName":"PreToolUse:'
                + name
                + '","command":"${CLAUDE_PROJECT_DIR}/.claude/hooks/check.sh"}',
                tool,
                tool,
            ) if p.random() < 0.55 else None
            if name == "Bash":
                lines: list[str] = []
                for n in range(p.size(2.2, 1.2, 60)):
                    lines = [*lines[-2:], *p.choices(p.words.logs, k=2)]
                    shown = "\\n".join(lines)
                    self.progress(
                        f'{{"type":"bash_progress","output":"{shown}","fullOutput":"{shown}",'
                        f'"elapsedTimeSeconds":{n + 2},"totalLines":{len(lines)}}}',
                        "bash-progress-0",
                        tool,
                    )
        if p.random() < 0.011:
            self.reject(tool, caller)
            return
        flag = ',"is_error":true' if error else (',"is_error":false' if name == "Bash" else "")
        extra = f',"toolUseResult":{result},"sourceToolAssistantUUID":"{caller}"'
        if not self.old:
            extra += ',"permissionDecision":{"decision":"accept","source":"config","reasonType":"rule"}'
        self.user(
            f'[{{"tool_use_id":"{tool}","type":"tool_result","content":{content}{flag}}}]',
            extra=extra,
            step=300 + p.below(6_000),
        )

    def reject(self, tool: str, caller: str | None) -> None:
        p = self.p
        self.truth.add("claude", "rejections")
        text = (
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it "
            "was a file edit, "
            "the new_string was NOT written to the file)."
        )
        if p.random() < 0.7:
            self.truth.add("claude", "rejections_with_words")
            text += f" To tell you how to proceed, the user said:\\n{p.prose(120)}"
        extra = f',"toolUseResult":"User rejected tool use","sourceToolAssistantUUID":"{caller}"'
        if not self.old:
            extra += ',"toolDenialKind":"user-rejected","toolDenialBeforeRun":true'
        self.user(
            f'[{{"type":"tool_result","content":"{text}","is_error":true,"tool_use_id":"{tool}"}}]',
            extra=extra,
            step=4_000 + p.below(30_000),
        )
        self.truth.add("claude", "interruptions")
        self.user('[{"type":"text","text":"[Request interrupted by user for tool use]"}]', step=5)

    def task(self, tool: str) -> None:
        """A subagent: its own file in every version, and in the old ones mirrored as progress records."""
        p = self.p
        agent = f"{p.bits(28):07x}" if self.old else f"a{p.bits(64):016x}"
        prompt = self.p.prose(500)
        self.response(
            [
                *self.lead(),
                f'{{"type":"tool_use","id":"{tool}","name":"Task","input":{{"description":"Search the '
                'code","prompt":'
                f'"{prompt}","subagent_type":"Explore"}}}}',
            ],
            stop="tool_use",
        )
        caller = self.parent
        self.truth.add("claude", "subagents")
        lines: list[str] = []
        mirror = self.old
        own = not self.old or p.random() < 0.25
        last: str | None = None

        def emit(kind: str, message: str, more: str) -> None:
            nonlocal last
            uuid, when = p.uuid(), self.clock.iso(800)
            parent = "null" if last is None else f'"{last}"'
            if mirror:
                self.progress(
                    f'{{"message":{{"type":"{kind}","timestamp":"{when}","message":{message}{more},'
                    f'"uuid":"{uuid}"}},'
                    f'"normalizedMessages":[],"type":"agent_progress","prompt":"{prompt}",'
                    f'"agentId":"{agent}"}}',
                    tool,
                    "agent_msg_01" + p.key(),
                )
            if own:
                lines.append(
                    f'{{"parentUuid":{parent},"isSidechain":true,"agentId":"{agent}","type":"{kind}",'
                    f'"message":{message}'
                    f'{more},"uuid":"{uuid}","timestamp":"{when}","userType":"external","cwd":"{self.cwd}",'
                    '"sessionId":'
                    f'"{self.id}","version":"{self.version}","gitBranch":"{self.branch}"}}'
                )
            last = uuid

        emit("user", f'{{"role":"user","content":"{prompt}"}}', "")
        held, self.context = self.context, 14_000 + p.below(6_000)
        for _ in range(4 + p.size(8, 0.7, 40)):
            message, request, _, usage = self.usage(CLAUDE_AGENT_MODEL, final=True)
            self.truth.add("claude", "responses_subagent")
            if self.old:
                self.truth.add("claude", "responses_lower_bound")
            name = p.weighted(TOOLS[:4])
            child = "toolu_01" + p.key()
            given, content, _, error = self.tool(name)
            if name == "Bash":
                self.truth.add("claude", "commands")
                self.truth.add("claude", "commands_subagent")
            stop = "null" if self.old else '"tool_use"'
            emit(
                "assistant",
                f'{{"model":"{CLAUDE_AGENT_MODEL}","id":"{message}","type":"message","role":"assistant",'
                '"content":'
                f'[{{"type":"tool_use","id":"{child}","name":"{name}","input":{given}}}],'
                f'"stop_reason":{stop},'
                f'"stop_sequence":null,"usage":{usage}}}',
                f',"requestId":"{request}"',
            )
            flag = ',"is_error":true' if error else ""
            emit(
                "user",
                f'{{"role":"user","content":[{{"tool_use_id":"{child}","type":"tool_result",'
                f'"content":{content}'
                f"{flag}}}]}}",
                "",
            )
        self.context = held
        if own:
            self.subagents[agent] = lines
            self.size += sum(map(len, lines)) + len(lines)
        report = p.prose(p.size(2_500, 0.7, 14_000))
        self.user(
            f'[{{"tool_use_id":"{tool}","type":"tool_result","content":[{{"type":"text",'
            f'"text":"{report}"}}]}}]',
            extra=f',"toolUseResult":{{"status":"completed","prompt":"{prompt}","agentId":"{agent}",'
            f'"content":'
            f'[{{"type":"text","text":"{report}"}}],"totalDurationMs":{p.below(90_000)},'
            f'"totalToolUseCount":7}},'
            f'"sourceToolAssistantUUID":"{caller}"',
        )

    def lead(self) -> list[str]:
        """The thinking and text blocks that may come before a tool call or an answer."""
        p, r, out = self.p, self.p.random(), []
        if r < 0.4:
            sign = p.token(250 + p.size(330, 0.7, 6_000))
            out.append(
                f'{{"type":"thinking","thinking":"{p.prose(p.size(320, 1.0, 9_000))}","signature":"{sign}"}}'
            )
        if r > 0.65 or 0.25 < r < 0.33:
            out.append(f'{{"type":"text","text":"{p.prose(p.size(140, 0.8, 3_000))}"}}')
        return out

    def shape(self) -> None:
        """What 2.1.332 writes once per session: attachments and the request's shape, vendor text in real "
        "files."""
        p = self.p
        for size in (300, 600, 1_400, 13_000, 2_000):
            parent, uuid = self.link()
            self.put(
                f'{{"parentUuid":{parent},"isSidechain":false,"attachment":{{"type":"skill_listing",'
                '"content":'
                f'"{p.prose(size)}"}},"type":"attachment","uuid":"{uuid}",'
                f'"timestamp":"{self.clock.iso(2)}",{self.tail}}}'
            )
        self.put(
            f'{{"type":"api-request-shape","sessionId":"{self.id}","shapeHash":"{p.bits(256):064x}",'
            '"timestamp":'
            f'"{self.clock.iso(2)}","version":"2.1.332","shape":{{"system":[{{"type":"text",'
            f'"text":"{p.prose(3_000)}"}}],'
            f'"tools":[{{"name":"Bash","description":"{p.prose(30_000)}"}}]}}}}'
        )
        self.put(f'{{"type":"mode","mode":"normal","sessionId":"{self.id}"}}')

    def prompt(self) -> None:
        p = self.p
        self.prompt_id = p.uuid()
        message = p.uuid()
        snapshot = (
            f'{{"type":"file-history-snapshot","messageId":"{message}","snapshot":{{"messageId":"{message}",'
            f'"trackedFileBackups":{{}},"timestamp":"{self.clock.iso(3)}"}},"isSnapshotUpdate":false}}'
        )
        self.put(snapshot)
        if p.random() < 0.012:
            image = p.token(min(p.size(200_000, 0.8, 900_000), LINE_TEXT_CHARS_MAX))
            content = (
                f'[{{"type":"text","text":"{p.prose(90)}"}},{{"type":"image","source":{{"type":"base64",'
                '"media_type":'
                f'"image/png","data":"{image}"}}}}]'
            )
        else:
            content = f'"{p.prose(p.size(110, 1.1, 12_000))}"'
        self.truth.add("claude", "prompts")
        self.user(content, prompt=True, step=20_000 + p.below(240_000))

    def work(self) -> None:
        """One prompt and the responses to it."""
        p = self.p
        self.prompt()
        for _ in range(p.size(6.5, 0.9, 80)):
            self.use(p.weighted(TOOLS))
            if p.random() < 0.25:
                self.put(
                    f'{{"type":"file-history-snapshot","messageId":"{p.uuid()}",'
                    f'"snapshot":{{"trackedFileBackups":{{}},'
                    f'"timestamp":"{self.clock.iso(3)}"}},"isSnapshotUpdate":true}}'
                )
        self.response(
            [*self.lead(), f'{{"type":"text","text":"{p.prose(p.size(600, 0.9, 6_000))}"}}'], stop="end_turn"
        )
        if p.random() < 0.4:
            self.system("turn_duration", f'"durationMs":{p.below(400_000)},"isMeta":false')
        if p.random() < 0.4:
            self.system(
                "stop_hook_summary",
                '"hookCount":1,"hookInfos":[{"command":"${CLAUDE_PROJECT_DIR}/stop.sh"}],'
                '"hookErrors":[],"preventedContinuation":false,"stopReason":"","hasOutput":true',
            )

    def run(self, size: int) -> None:
        self.truth.add("claude", "sessions")
        if not self.old:
            self.shape()
        while self.size < size:
            self.work()

    def fork(self) -> "ClaudeSession":
        """A fork: the first part of this session under a new session id, then work of its own."""
        p = self.p
        child = object.__new__(ClaudeSession)
        child.__dict__.update(self.__dict__)
        child.id = p.uuid()
        cut = min(len(self.lines), 20 + p.below(150))
        child.lines = [line.replace(self.id, child.id) for line in self.lines[:cut]]
        child.subagents = {}
        child.size = sum(map(len, child.lines)) + cut
        child.clock = Clock(self.clock.ms + 3_600_000)
        child.parent = next(
            (
                m.group(1)
                for line in reversed(child.lines)
                if (m := re.search(r'"uuid":"([0-9a-f-]{36})"', line))
            ),
            None,
        )
        child.envelope()
        self.truth.add("claude", "forks")
        self.truth.add("claude", "sessions")
        for _ in range(2 + p.below(3)):
            child.work()
        return child

    def write(self, root: Path) -> int:
        folder = root / "claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", self.cwd)
        folder.mkdir(parents=True, exist_ok=True)
        written = save(folder / f"{self.id}.jsonl", self.lines)
        for agent, lines in self.subagents.items():
            inner = folder / self.id / "subagents"
            inner.mkdir(parents=True, exist_ok=True)
            written += save(inner / f"agent-{agent}.jsonl", lines)
            self.truth.add("claude", "subagent_files")
        self.truth.bytes["claude"] += written
        return written
