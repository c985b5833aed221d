"""Independent second implementation of the usage / prompt / command counts.

Test oracle: slow, plain, keeps everything in memory, shares no code with the product.
It was written from the format reference only (never from the product's source).

    from oracle import Oracle
    sessions = Oracle(claude_dirs=[...], codex_dirs=[...]).run()
    sessions[("claude", "<session id>")] -> dict (see Session.as_dict)

or  python oracle.py --claude DIR --codex DIR      (prints JSON, numbers only)

Definitions that the format alone does not settle (see README.md beside this file):
  commands          shell calls that the model issued (run or not)
  failed_commands   those whose result is an error of any kind (exit code != 0, denied, blocked,
                    interrupted, timed out); the kinds are counted apart in `command_detail`
  patch_via_shell   `apply_patch` given to the shell tool: a file change, NOT in `commands`
"""

import argparse
import json
import os
import re
import sys

TOKEN_FIELDS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "reasoning")


def zero():
    return dict((f, 0) for f in TOKEN_FIELDS)


def add(into, what):
    for f in TOKEN_FIELDS:
        into[f] += what[f]


def number(x):
    """Token counts can be absent, null or (in broken files) something else."""
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        return 0
    return int(x)


def read_lines(path):
    """Every complete or final line that is a JSON object; other lines are counted as bad."""
    good, bad = [], 0
    with open(path, "rb") as f:
        for raw in f.read().split(b"\n"):
            if not raw.strip():
                continue
            try:
                value = json.loads(raw.decode("utf-8", "replace"))
            except ValueError:
                bad += 1
                continue
            if isinstance(value, dict):
                good.append(value)
            else:
                bad += 1
    return good, bad


def text_of(content):
    """Text of a message content: a string, or a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = []
        for block in content:
            if isinstance(block, str):
                parts.append(block)
            elif isinstance(block, dict) and isinstance(block.get("text"), str):
                parts.append(block["text"])
        return "\n".join(parts)
    return ""


class Session(object):
    def __init__(self, harness, native_id):
        self.harness = harness
        self.native_id = native_id
        self.tokens = zero()  # counted here (owner)
        self.shared = zero()  # copied from another session, counted there
        self.responses = 0
        self.shared_responses = 0
        self.lower_bound_responses = 0
        self.lower_bound_reasons = set()
        self.human_prompts = 0
        self.automated_prompts = 0
        self.agent_prompts = 0  # prompt written by a parent agent: neither human nor automated
        self.copied_prompts = 0
        self.commands = 0
        self.failed_commands = 0
        self.copied_commands = 0
        self.patch_via_shell = 0
        self.command_detail = {
            "exit": 0,
            "denied": 0,
            "blocked": 0,
            "interrupted": 0,
            "other_error": 0,
            "open": 0,
            "ok": 0,
            "unknown": 0,
        }
        self.models = set()
        self.started = None
        self.ended = None
        self.is_subagent = False
        self.queued_only_prompts = (
            0  # typed while busy, delivered inside a turn: only in queue-operation, never a user record
        )
        self.compactions = 0  # the compaction call itself may be in no record (Claude: never)

    def see_time(self, t):
        if isinstance(t, str) and t:
            if self.started is None or t < self.started:
                self.started = t
            if self.ended is None or t > self.ended:
                self.ended = t

    def add_command(self, kind):
        self.commands += 1
        self.command_detail[kind] += 1
        if kind in ("exit", "denied", "blocked", "interrupted", "other_error"):
            self.failed_commands += 1

    def as_dict(self):
        return {
            "harness": self.harness,
            "id": self.native_id,
            "tokens": dict(self.tokens),
            "shared": dict(self.shared),
            "responses": self.responses,
            "shared_responses": self.shared_responses,
            "lower_bound": bool(self.lower_bound_reasons),
            "lower_bound_responses": self.lower_bound_responses,
            "lower_bound_reasons": sorted(self.lower_bound_reasons),
            "human_prompts": self.human_prompts,
            "automated_prompts": self.automated_prompts,
            "agent_prompts": self.agent_prompts,
            "copied_prompts": self.copied_prompts,
            "commands": self.commands,
            "failed_commands": self.failed_commands,
            "copied_commands": self.copied_commands,
            "patch_via_shell": self.patch_via_shell,
            "command_detail": dict(self.command_detail),
            "models": sorted(self.models),
            "started": self.started,
            "ended": self.ended,
            "is_subagent": self.is_subagent,
            "compactions": self.compactions,
            "queued_only_prompts": self.queued_only_prompts,
        }


# =====================================================================================================
# Claude Code
# =====================================================================================================


class ClaudeFile(object):
    def __init__(self, path):
        self.path = path
        self.records, self.bad_lines = read_lines(path)
        times = [r["timestamp"] for r in self.records if isinstance(r.get("timestamp"), str)]
        self.opened = times[0] if times else "9999"  # first timestamp in the file of any record
        self.ended = max(times) if times else "9999"
        parts = path.split(os.sep)
        stem = os.path.basename(path)[: -len(".jsonl")]
        self.default_session = stem
        if "subagents" in parts:
            i = len(parts) - 1 - parts[::-1].index("subagents")
            self.default_session = parts[i - 1]


class ClaudeReader(object):
    # 3.1.3 step 6, in the order of the reference
    NOT_A_PERSON_PREFIXES = (
        "<command-name>",
        "<command-message>",
        "<local-command-stdout",
        "<local-command-stderr",
        "<local-command-caveat",
        "<bash-input>",
        "<bash-stdout",
        "<bash-stderr",
        "<task-notification>",
        "<teammate-message",
        "<user-memory-input>",
        "<system-reminder>",
        "Caveat: The messages below",
    )
    STRIP_BLOCKS = ("ide_opened_file", "ide_selection", "system-reminder")

    def __init__(self, roots):
        self.files = []
        seen = set()
        for root in roots:
            for path in self.find(root):
                real = os.path.realpath(path)
                if real not in seen:
                    seen.add(real)
                    self.files.append(ClaudeFile(path))
        self.files.sort(key=lambda f: (f.opened, f.ended, f.path))

    @staticmethod
    def find(root):
        if os.path.isfile(root):
            return [root]
        base = os.path.join(root, "projects")
        if not os.path.isdir(base):
            base = root
        out = []
        for folder, dirs, names in os.walk(base):
            dirs.sort()
            for name in sorted(names):
                if name.endswith(".jsonl") and name != "history.jsonl":
                    out.append(os.path.join(folder, name))
        return out

    # ------------------------------------------------------------------ one record

    def session_of(self, f, record):
        sid = record.get("sessionId")
        return sid if isinstance(sid, str) and sid else f.default_session

    @classmethod
    def classify_user(cls, record, in_agent_file):
        """-> human | automated | agent | tool_result | interrupt | system"""
        message = record.get("message") if isinstance(record.get("message"), dict) else {}
        content = message.get("content")
        if isinstance(content, list):
            for block in content:
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    return "tool_result"  # 1
        person = "human"
        entry = record.get("entrypoint")
        if isinstance(entry, str) and entry.startswith("sdk"):
            person = "automated"
        origin = record.get("origin")
        kind = origin.get("kind") if isinstance(origin, dict) else None
        source = record.get("promptSource")
        if kind is not None:  # 2
            if kind == "human":
                return "automated" if source == "sdk" else person
            return "system"
        if source == "sdk":
            return "automated"
        if source in ("typed", "queued", "pasted"):
            return person
        if source == "system":
            return "system"
        if (
            record.get("isMeta")
            or record.get("isCompactSummary")
            or record.get("isVisibleInTranscriptOnly")
            or record.get("rowSource") == "harness"
        ):  # 3
            return "system"
        if record.get("isSidechain") or record.get("agentId") or in_agent_file:  # 4
            return "agent"
        text = text_of(content).lstrip()
        if text.startswith("[Request interrupted by user"):  # 5
            return "interrupt"
        # 7 before the system-reminder case of 6: a reminder block may be followed by a real prompt
        while True:
            for name in cls.STRIP_BLOCKS:
                if text.startswith("<" + name) and "</" + name + ">" in text:
                    text = text.split("</" + name + ">", 1)[1].lstrip()
                    break
            else:
                break
        for prefix in cls.NOT_A_PERSON_PREFIXES:  # 6
            if text.startswith(prefix):
                return "system"
        has_image = isinstance(content, list) and any(
            isinstance(b, dict) and b.get("type") == "image" for b in content
        )
        if text.strip() or has_image:
            return person
        return "system"

    @staticmethod
    def result_kind(record, block, interrupted_ids, message_id):
        """Outcome of a shell call from its tool_result block."""
        if block.get("is_error") is not True:
            return "ok"
        text = text_of(block.get("content"))
        if text.lstrip().startswith("<tool_use_error>"):
            return "blocked"
        if "[Request interrupted by user" in text or message_id in interrupted_ids:
            return "interrupted"
        if (
            "doesn't want to proceed with this tool use" in text
            or "doesn't want to take this action" in text
            or "haven't granted" in text
            or record.get("toolDenialKind")
        ):
            return "denied"
        if re.match(r"\s*(Error: )?Exit code \d+", text):
            return "exit"
        return "other_error"

    # ------------------------------------------------------------------ whole set

    def run(self):
        sessions = {}
        occurrences = {}  # response key -> list of dict(session, time, opened, usage, stop, file index, position)
        prompts = {}  # (session, uuid-or-position) -> dict
        calls = {}  # (response key, tool_use id) -> set of sessions
        results = {}  # (session, tool_use id) -> list of (record, block)
        interrupted_ids = set()
        session_end = {}
        queue = {}  # (file, session) -> queue-operation records in order
        user_texts = {}  # session -> texts of all user records
        boundaries = {}  # uuid of a compact_boundary -> list of (time, opened, session)

        def session(sid):
            if sid not in sessions:
                sessions[sid] = Session("claude", sid)
            return sessions[sid]

        for file_index, f in enumerate(self.files):
            agent_file = (
                os.path.basename(f.path).startswith("agent-") or (os.sep + "subagents" + os.sep) in f.path
            )
            for position, record in enumerate(f.records):
                kind = record.get("type")
                if kind == "queue-operation":
                    queue.setdefault((file_index, record.get("sessionId") or f.default_session), []).append(
                        record
                    )
                if kind not in ("user", "assistant", "system", "attachment", "progress"):
                    continue
                sid = self.session_of(f, record)
                s = session(sid)
                s.see_time(record.get("timestamp"))
                if isinstance(record.get("timestamp"), str):
                    session_end[sid] = max(session_end.get(sid, ""), record["timestamp"])
                if record.get("interruptedMessageId"):
                    interrupted_ids.add(record["interruptedMessageId"])
                if kind == "system" and record.get("subtype") == "compact_boundary":
                    boundaries.setdefault(record.get("uuid") or (file_index, position), []).append(
                        {"session": sid, "time": record.get("timestamp") or "9999", "opened": f.opened}
                    )
                inner = record
                if kind == "progress":
                    data = record.get("data") if isinstance(record.get("data"), dict) else {}
                    inner = data.get("message") if isinstance(data.get("message"), dict) else {}
                message = inner.get("message") if isinstance(inner.get("message"), dict) else {}
                content = message.get("content")

                if kind == "user" or (kind == "progress" and inner.get("type") == "user"):
                    for block in content if isinstance(content, list) else []:
                        if isinstance(block, dict) and block.get("type") == "tool_result":
                            results.setdefault((sid, block.get("tool_use_id")), []).append((inner, block))
                if kind == "user":
                    user_texts.setdefault(sid, set()).add(text_of(content).strip())
                    what = self.classify_user(record, agent_file)
                    if what in ("human", "automated", "agent"):
                        uuid = record.get("uuid") or "%d:%d" % (file_index, position)
                        key = (sid, uuid)
                        here = {
                            "session": sid,
                            "uuid": uuid,
                            "what": what,
                            "time": record.get("timestamp") or "9999",
                            "opened": f.opened,
                            "text": text_of(content),
                            "places": [(file_index, position)],
                        }
                        if key in prompts:
                            prompts[key]["places"].append((file_index, position))
                            prompts[key]["opened"] = min(prompts[key]["opened"], f.opened)
                        else:
                            prompts[key] = here

                is_response = kind == "assistant" or (
                    kind == "progress" and isinstance(message.get("usage"), dict)
                )
                if is_response and message.get("model") != "<synthetic>" and message:
                    key = (
                        message.get("id")
                        or inner.get("uuid")
                        or record.get("uuid")
                        or "%d:%d" % (file_index, position)
                    )
                    for block in content if isinstance(content, list) else []:
                        if (
                            isinstance(block, dict)
                            and block.get("type") == "tool_use"
                            and block.get("name") == "Bash"
                        ):
                            calls.setdefault((key, block.get("id")), set()).add(sid)
                    if isinstance(message.get("usage"), dict):
                        occurrences.setdefault(key, []).append(
                            {
                                "session": sid,
                                "time": record.get("timestamp") or "9999",
                                "opened": f.opened,
                                "usage": message["usage"],
                                "stop": message.get("stop_reason"),
                                "model": message.get("model"),
                                "place": (file_index, position),
                                "sidechain": bool(record.get("isSidechain"))
                                or agent_file
                                or kind == "progress",
                            }
                        )

        def owner_rank(o):
            return (o["time"], o["opened"], session_end.get(o["session"], "9999"), o["session"])

        for (_file, sid), operations in queue.items():
            waiting = []
            for r in operations:
                if r.get("operation") == "enqueue":
                    waiting.append(text_of(r.get("content")).strip())
                elif r.get("operation") in ("dequeue", "remove", "popAll") and waiting:
                    text = waiting.pop(0)
                    if (
                        r["operation"] == "remove"
                        and sid in sessions
                        and text
                        and not text.startswith(("/", "<"))
                        and text not in user_texts.get(sid, ())
                    ):
                        sessions[sid].queued_only_prompts += 1
        for group in boundaries.values():
            sessions[min(group, key=owner_rank)["session"]].compactions += 1
        owner_of = {}
        for key, group in occurrences.items():
            owner = min(group, key=owner_rank)["session"]
            owner_of[key] = owner
            best = None
            for o in group:  # first seen wins a tie
                if best is None or number(o["usage"].get("output_tokens")) > number(
                    best["usage"].get("output_tokens")
                ):
                    best = o
            final = any(o["stop"] is not None for o in group)
            usage = self.tokens(best["usage"])
            for sid in set(o["session"] for o in group):
                s = sessions[sid]
                if isinstance(best["model"], str):
                    s.models.add(best["model"])
                if sid == owner:
                    add(s.tokens, usage)
                    s.responses += 1
                    if not final:
                        s.lower_bound_responses += 1
                        s.lower_bound_reasons.add("response without stop_reason")
                else:
                    add(s.shared, usage)
                    s.shared_responses += 1

        # ---- commands: at the owner of the response
        for (key, call_id), sids in calls.items():
            owner = owner_of.get(key)
            if owner is None:
                owner = sorted(sids)[0]
            for sid in sids:
                if sid != owner:
                    sessions[sid].copied_commands += 1
            found = results.get((owner, call_id)) or []
            if not found:
                for sid in sorted(sids):
                    found = found or results.get((sid, call_id)) or []
            if not found:
                sessions[owner].add_command("open")
            else:
                record, block = found[0]
                sessions[owner].add_command(self.result_kind(record, block, interrupted_ids, key))

        # ---- prompts: same uuid in several sessions, or (old resume: new uuids) an old text inside the copied prefix
        last_foreign = {}  # (file, session) -> position of the last main-thread response owned by another session
        for key, group in occurrences.items():
            for o in group:
                if owner_of[key] != o["session"] and not o["sidechain"]:
                    place = (o["place"][0], o["session"])
                    last_foreign[place] = max(last_foreign.get(place, -1), o["place"][1])
        by_uuid, by_text = {}, {}
        for p in prompts.values():
            by_uuid.setdefault(p["uuid"], []).append(p)
            by_text.setdefault(p["text"], []).append(p)
        for p in prompts.values():
            s = sessions[p["session"]]
            copied = min(by_uuid[p["uuid"]], key=owner_rank)["session"] != p["session"]
            if not copied:
                file_index, position = p["places"][0]
                inside = position < last_foreign.get((file_index, p["session"]), -1)
                elsewhere = any(q["session"] != p["session"] for q in by_text[p["text"]])
                copied = inside and elsewhere
            if copied:
                s.copied_prompts += 1
            elif p["what"] == "human":
                s.human_prompts += 1
            elif p["what"] == "automated":
                s.automated_prompts += 1
            else:
                s.agent_prompts += 1
        return dict((("claude", sid), s) for sid, s in sessions.items())

    @staticmethod
    def tokens(usage):
        t = zero()
        t["input"] = number(usage.get("input_tokens"))
        t["output"] = number(usage.get("output_tokens"))
        t["cache_read"] = number(usage.get("cache_read_input_tokens"))
        total = number(usage.get("cache_creation_input_tokens"))
        split = usage.get("cache_creation")
        if isinstance(split, dict):
            t["cache_write_5m"] = number(split.get("ephemeral_5m_input_tokens"))
            t["cache_write_1h"] = number(split.get("ephemeral_1h_input_tokens"))
            missing = total - t["cache_write_5m"] - t["cache_write_1h"]
            if missing > 0:
                t["cache_write_5m"] += missing
        else:
            t["cache_write_5m"] = total
        details = usage.get("output_tokens_details")
        if isinstance(details, dict):
            t["reasoning"] = number(details.get("thinking_tokens"))
        return t


# =====================================================================================================
# Codex
# =====================================================================================================


class CodexReader(object):
    SHELL = ("shell", "shell_command", "exec_command", "local_shell", "container.exec")
    HARNESS_TEXT = (
        "<user_instructions>",
        "<environment_context>",
        "# AGENTS.md instructions",
        "<ENVIRONMENT",
        "<turn_aborted>",
        "<user_shell_command>",
        "<subagent_notification>",
        "<skills_instructions>",
        "<multi_agent",
    )

    def __init__(self, roots):
        self.threads = {}  # native id -> list of records (all files of the thread)
        self.meta = {}  # native id -> payload of its first session_meta
        paths, seen = [], set()
        for root in roots:
            for path in self.find(root):
                if os.path.realpath(path) not in seen:
                    seen.add(os.path.realpath(path))
                    paths.append(path)
        loaded = []
        for path in paths:
            records, _bad = read_lines(path)
            records = [self.normal(r) for r in records]
            records = [r for r in records if r is not None]
            if records:
                first = [r["timestamp"] for r in records if r["timestamp"]]
                loaded.append((first[0] if first else "9999", path, records))
        loaded.sort(key=lambda x: (x[0], x[1]))
        for _time, path, records in loaded:
            native = None
            for r in records:
                if r["type"] == "session_meta" and r["payload"].get("id"):
                    native = r["payload"]["id"]
                    break
            if native is None:
                m = re.search(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl$", path)
                native = m.group(1) if m else os.path.basename(path)[: -len(".jsonl")]
            if native not in self.threads:
                self.threads[native] = list(records)
            else:  # the same thread in a second file (archived copy): only lines not seen before
                old = set(json.dumps(r, sort_keys=True) for r in self.threads[native])
                self.threads[native] += [r for r in records if json.dumps(r, sort_keys=True) not in old]
        for native, records in self.threads.items():
            metas = [r["payload"] for r in records if r["type"] == "session_meta"]
            self.meta[native] = metas[0] if metas else {}

    @staticmethod
    def find(root):
        if os.path.isfile(root):
            return [root]
        out = []
        bases = [
            os.path.join(root, d)
            for d in ("sessions", "archived_sessions")
            if os.path.isdir(os.path.join(root, d))
        ]
        for base in bases or [root]:
            for folder, dirs, names in os.walk(base):
                dirs.sort()
                for name in sorted(names):
                    if name.endswith(".jsonl") and name not in ("history.jsonl", "session_index.jsonl"):
                        out.append(os.path.join(folder, name))
        return out

    @staticmethod
    def normal(record):
        """One shape for the bare (0.20-0.29) and the wrapped format."""
        payload = record.get("payload")
        if isinstance(payload, dict):
            return {
                "type": record.get("type"),
                "payload": payload,
                "timestamp": record.get("timestamp"),
                "bare": False,
            }
        if "record_type" in record:
            return {"type": "state", "payload": {}, "timestamp": None, "bare": True}
        if record.get("type") is None and record.get("id") and record.get("timestamp"):
            return {
                "type": "session_meta",
                "payload": record,
                "timestamp": record.get("timestamp"),
                "bare": True,
            }
        if record.get("type") in (
            "message",
            "reasoning",
            "function_call",
            "function_call_output",
            "local_shell_call",
            "custom_tool_call",
            "custom_tool_call_output",
        ):
            return {"type": "response_item", "payload": record, "timestamp": None, "bare": True}
        return None

    # ------------------------------------------------------------------ usage

    @staticmethod
    def tokens(u):
        t = zero()
        cached = number(u.get("cached_input_tokens"))
        write = number(u.get("cache_write_input_tokens"))
        t["input"] = number(u.get("input_tokens")) - cached - write
        t["cache_read"] = cached
        t["cache_write_5m"] = write
        t["output"] = number(u.get("output_tokens"))
        t["reasoning"] = number(u.get("reasoning_output_tokens"))
        return t

    @staticmethod
    def turn_of(record):
        p = record["payload"]
        if record["type"] == "turn_context" and p.get("turn_id"):
            return p["turn_id"]
        if record["type"] == "event_msg" and p.get("type") == "task_started" and p.get("turn_id"):
            return p["turn_id"]
        return None

    def turn_ids(self, native):
        return set(t for t in (self.turn_of(r) for r in self.threads.get(native, [])) if t)

    @classmethod
    def totals(cls, records):
        """(position, total dict, last dict or None) of the token_count events with info, without repeats."""
        out, previous = [], None
        for i, r in enumerate(records):
            p = r["payload"]
            if (
                r["type"] != "event_msg"
                or p.get("type") != "token_count"
                or not isinstance(p.get("info"), dict)
            ):
                continue
            total = p["info"].get("total_token_usage")
            last = p["info"].get("last_token_usage")
            if not isinstance(total, dict):
                total = last if isinstance(last, dict) else {}
            key = (
                number(total.get("input_tokens")),
                number(total.get("output_tokens")),
                number(total.get("total_tokens")),
            )
            if key == previous:
                continue
            previous_total = previous
            previous = key
            out.append((i, total, last if isinstance(last, dict) else None, previous_total))
        return out

    def copied_until(self, native):
        """Record positions below this number are copies of the parent's records (forks by copy)."""
        meta, records = self.meta[native], self.threads[native]
        parent = meta.get("forked_from_id")
        if not parent:
            return 0
        if meta.get("history_base"):
            return 0
        turns = [(i, self.turn_of(r)) for i, r in enumerate(records) if self.turn_of(r)]
        if turns:
            if parent in self.threads:
                known = self.turn_ids(parent)
            else:  # parent not here: ids are UUIDv7, older than the child's own id
                known = set(t for _i, t in turns if t < native)
            for i, t in turns:
                if t not in known:
                    return i
            return len(records)
        if parent in self.threads:  # <= 0.80: longest common prefix of the totals
            mine, theirs = self.totals(records), self.totals(self.threads[parent])
            n = 0
            while n < len(mine) and n < len(theirs) and mine[n][1] == theirs[n][1]:
                n += 1
            return mine[n - 1][0] + 1 if n else 0
        return 0

    def read_usage(self, native, s, copied):
        records = self.threads[native]
        seen = set()
        found = False
        for i, r in enumerate(records):
            if r["type"] != "token_usage_record":
                continue
            found = True
            p = r["payload"]
            rid = p.get("response_id") or "line %d" % i
            if rid in seen or not isinstance(p.get("usage"), dict):
                continue
            seen.add(rid)
            if i < copied or (
                p.get("thread_id") and p["thread_id"] != native and p["thread_id"] in self.threads
            ):
                add(s.shared, self.tokens(p["usage"]))
                s.shared_responses += 1
            else:
                add(s.tokens, self.tokens(p["usage"]))
                s.responses += 1
        if found:
            return
        for i, total, last, _prev in self.totals(records):
            if last is None:
                if i >= copied:
                    s.lower_bound_reasons.add("token_count without last_token_usage")
                continue
            if number(last.get("input_tokens")) + number(last.get("output_tokens")) != number(
                last.get("total_tokens")
            ):
                continue
            if i < copied:
                add(s.shared, self.tokens(last))
                s.shared_responses += 1
            else:
                add(s.tokens, self.tokens(last))
                s.responses += 1
        # 0.39 does not itemise the compaction call; later versions write its usage before `compacted`
        new_usage = set(
            t[0]
            for t in self.totals(records)
            if t[2] and number(t[2].get("input_tokens")) + number(t[2].get("output_tokens"))
        )
        boundary = 0
        for i, r in enumerate(records):
            p = r["payload"]
            if r["type"] == "compacted":
                if i >= copied and not any(boundary < j < i for j in new_usage):
                    s.lower_bound_reasons.add("compaction call not itemised")
                boundary = i
            elif r["type"] == "response_item" and str(p.get("type")).endswith("_output"):
                boundary = i
            elif r["type"] == "response_item" and p.get("role") in ("user", "assistant"):
                boundary = i

    # ------------------------------------------------------------------ prompts

    def read_prompts(self, native, s, copied):
        records, meta = self.threads[native], self.meta[native]
        source = meta.get("source")
        subagent = (
            isinstance(source, dict) and "subagent" in source or meta.get("thread_source") == "subagent"
        )
        s.is_subagent = bool(subagent)
        automated = meta.get("originator") == "codex_exec" or source == "exec"
        items, events, fallback = [], [], []
        for i, r in enumerate(records):
            p = r["payload"]
            if r["type"] == "event_msg" and p.get("type") == "item_completed":
                if isinstance(p.get("item"), dict) and p["item"].get("type") == "UserMessage":
                    items.append(i)
            elif r["type"] == "event_msg" and p.get("type") == "user_message":
                events.append(i)
            elif (
                r["type"] == "response_item"
                and p.get("role") == "user"
                and p.get("type") in ("message", None)
            ):
                text = text_of(p.get("content")).lstrip()
                if text and not text.startswith(self.HARNESS_TEXT):
                    fallback.append(i)
        # a thread resumed by a newer version has user_message first and UserMessage later: never both for one prompt
        chosen = items + events if (items or events) else fallback
        for i in chosen:
            if i < copied:
                s.copied_prompts += 1
            elif subagent:
                s.agent_prompts += 1
            elif automated:
                s.automated_prompts += 1
            else:
                s.human_prompts += 1

    # ------------------------------------------------------------------ commands

    @staticmethod
    def output_kind(output):
        """Outcome of a shell call from the text the model saw."""
        if isinstance(output, dict):
            output = output.get("content") or json.dumps(output)
        if isinstance(output, list):
            output = text_of(output)
        if not isinstance(output, str):
            return "unknown"
        text = output
        try:
            value = json.loads(text)
            if (
                isinstance(value, dict)
                and isinstance(value.get("metadata"), dict)
                and "exit_code" in value["metadata"]
            ):
                return "ok" if value["metadata"]["exit_code"] == 0 else "exit"
        except ValueError:
            pass
        head = text[:2000]
        if "rejected by user" in head or head.startswith("patch rejected"):
            return "denied"
        if head.startswith("aborted by user") or "\naborted by user" in head:
            return "interrupted"
        m = re.search(r"^Process exited with code (-?\d+)", head, re.M)
        if m is None:
            m = re.match(r"Exit code: (-?\d+)", head)
        if m is None:
            m = re.search(r"exit code: (-?\d+), stdout:", head)
        if m:
            return "ok" if int(m.group(1)) == 0 else "exit"
        if re.search(r"^Process running with session ID", head, re.M):
            return "open"
        if "command timed out after" in head or head.startswith("failed in sandbox"):
            return "other_error"
        if head.startswith(
            (
                "execution error",
                "failed to parse function arguments",
                "exec_command failed",
                "unsupported call",
                "failed for `",
                "CreateProcess",
            )
        ):
            return "other_error"
        return "unknown"

    @staticmethod
    def is_patch(name, arguments):
        """`apply_patch` handed to the shell tool."""
        command = arguments.get("command", arguments.get("cmd"))
        if isinstance(command, list):
            if command and command[0] == "apply_patch":
                return True
            command = command[-1] if command else ""
        return isinstance(command, str) and re.match(r"\s*apply_patch\b", command) is not None

    def read_commands(self, native, s, copied):
        records = self.threads[native]
        calls, outputs, items, changes, sessions, stdin = {}, {}, {}, set(), {}, {}
        order = []
        for i, r in enumerate(records):
            p = r["payload"]
            if (
                r["type"] == "event_msg"
                and p.get("type") == "item_completed"
                and isinstance(p.get("item"), dict)
            ):
                item = p["item"]
                if item.get("type") == "CommandExecution":
                    if item.get("id") not in items:
                        order.append((i, "item", item.get("id")))
                    items[item.get("id")] = item
                elif item.get("type") == "FileChange":
                    changes.add(item.get("id"))
            if r["type"] != "response_item":
                continue
            kind, call_id = p.get("type"), p.get("call_id") or p.get("id")
            if kind == "local_shell_call":
                action = p.get("action") if isinstance(p.get("action"), dict) else {}
                calls[call_id] = {"command": action.get("command")}
                order.append((i, "call", call_id))
            elif kind == "function_call" and p.get("name") in self.SHELL:
                arguments = p.get("arguments")
                if isinstance(arguments, str):
                    try:
                        arguments = json.loads(arguments)
                    except ValueError:
                        arguments = {}
                calls[call_id] = arguments if isinstance(arguments, dict) else {}
                order.append((i, "call", call_id))
            elif kind == "function_call" and p.get("name") == "write_stdin":
                arguments = p.get("arguments")
                try:
                    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
                except ValueError:
                    arguments = {}
                if isinstance(arguments, dict):
                    stdin[call_id] = arguments.get("session_id")
            elif kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
                outputs.setdefault(p.get("call_id"), p.get("output"))
        for call_id, output in outputs.items():  # which process does each running call own
            if call_id in calls:
                m = re.search(r"^Process running with session ID (\d+)", text_of(output) or "", re.M)
                if m:
                    sessions[m.group(1)] = call_id
        late = {}
        for call_id, process in stdin.items():
            owner = sessions.get(str(process))
            kind = self.output_kind(outputs.get(call_id)) if call_id in outputs else "unknown"
            if owner and kind in ("ok", "exit", "interrupted", "other_error"):
                late.setdefault(owner, kind)
        done = set()
        for i, where, call_id in order:
            if call_id in done:
                continue
            done.add(call_id)
            if i < copied:
                s.copied_commands += 1
                continue
            if call_id in items:
                item = items[call_id]
                code, status = item.get("exit_code"), item.get("status")
                if isinstance(code, int) and code != 0:
                    kind = "exit"
                elif status == "declined":
                    kind = "denied"
                elif status == "failed":
                    kind = "other_error"
                elif status == "completed" or code == 0:
                    kind = "ok"
                else:
                    kind = "open"
                s.add_command(kind)
                continue
            if call_id in changes or self.is_patch("", calls[call_id]):
                s.patch_via_shell += 1
                continue
            if call_id not in outputs:
                s.add_command("open")
                continue
            kind = self.output_kind(outputs[call_id])
            if kind == "open":
                kind = late.get(call_id, "open")
            s.add_command(kind)

    # ------------------------------------------------------------------ whole set

    def run(self):
        out = {}
        for native, records in self.threads.items():
            s = Session("codex", native)
            copied = self.copied_until(native)
            for r in records:
                s.see_time(r["timestamp"])
            self.read_usage(native, s, copied)
            self.read_prompts(native, s, copied)
            self.read_commands(native, s, copied)
            s.compactions = sum(1 for r in records[copied:] if r["type"] == "compacted")
            open_turns, has_turns, dangling = set(), False, False
            for r in records[copied:]:
                p = r["payload"]
                if r["type"] == "turn_context" and isinstance(p.get("model"), str):
                    s.models.add(p["model"])
                if r["type"] == "event_msg":
                    kind = p.get("type")
                    if kind == "task_started":
                        has_turns = True
                        open_turns.add(p.get("turn_id"))
                    elif kind == "task_complete":
                        open_turns.discard(p.get("turn_id"))
                    elif kind == "turn_aborted":
                        open_turns.discard(p.get("turn_id"))
                        dangling = False
                        s.lower_bound_reasons.add("turn aborted")
                    elif kind == "user_message":
                        dangling = True
                    elif kind == "agent_message":
                        dangling = False
                if (
                    r["type"] == "response_item"
                    and p.get("type") == "message"
                    and p.get("role") == "assistant"
                ):
                    dangling = False
                if r["type"] == "response_item" and p.get("type") in (
                    "function_call",
                    "custom_tool_call",
                    "local_shell_call",
                ):
                    dangling = True
            if open_turns:
                s.lower_bound_reasons.add("turn never finished")
            if not has_turns and dangling:
                s.lower_bound_reasons.add("file ends inside a turn")
            if records and all(r["bare"] for r in records):
                s.lower_bound_reasons.add("bare format has no usage")
            s.lower_bound_responses = 0
            out[("codex", native)] = s
        return out


class Oracle(object):
    def __init__(self, claude_dirs=(), codex_dirs=()):
        self.claude_dirs, self.codex_dirs = list(claude_dirs), list(codex_dirs)

    def run(self):
        out = {}
        if self.claude_dirs:
            out.update(ClaudeReader(self.claude_dirs).run())
        if self.codex_dirs:
            out.update(CodexReader(self.codex_dirs).run())
        return dict((k, s.as_dict()) for k, s in out.items())


def grand_total(sessions):
    t = zero()
    for s in sessions.values():
        add(t, s["tokens"])
    return t


def plain_sum(tokens):
    """All tokens once (reasoning is inside output)."""
    return sum(tokens[f] for f in TOKEN_FIELDS if f != "reasoning")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--claude", action="append", default=[])
    ap.add_argument("--codex", action="append", default=[])
    a = ap.parse_args()
    sessions = Oracle(a.claude, a.codex).run()
    json.dump([sessions[k] for k in sorted(sessions)], sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
