"""The usage / prompt parts of the public bug reports (D1-D18 of the reference) and the worked examples.

python tests/oracle/check_cases.py     (writes small JSONL files into a temporary folder; exit 1 on a failure)
"""

import itertools
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from corpus_sets import CORPUS  # noqa: E402
from oracle import Oracle, grand_total, plain_sum  # noqa: E402

failures = []


def check(name, got, want):
    ok = got == want
    print("%-4s %s" % ("ok" if ok else "FAIL", name) + ("" if ok else "  got %r want %r" % (got, want)))
    if not ok:
        failures.append(name)


class Store(object):
    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="oracle-case-")

    def write(self, path, lines):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines))

    def claude(self):
        return dict((k[1], v) for k, v in Oracle(claude_dirs=[self.root]).run().items())

    def codex(self):
        return dict((k[1], v) for k, v in Oracle(codex_dirs=[self.root]).run().items())

    def __enter__(self):
        return self

    def __exit__(self, *a):
        shutil.rmtree(self.root)


def t(n):
    return "2026-06-01T10:00:%02d.000Z" % n


def answer(sid, uid, mid, out, when, stop=None, req=None, read=0, inp=0, write=0, content=None, **more):
    m = {
        "role": "assistant",
        "model": "claude-x",
        "content": content or [{"type": "text", "text": "a"}],
        "stop_reason": stop,
        "usage": {
            "input_tokens": inp,
            "output_tokens": out,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": write,
        },
    }
    if mid:
        m["id"] = mid
    r = {"type": "assistant", "uuid": uid, "sessionId": sid, "timestamp": t(when), "message": m}
    if req:
        r["requestId"] = req
    r.update(more)
    return r


def user(sid, uid, content, when, **more):
    r = {
        "type": "user",
        "uuid": uid,
        "sessionId": sid,
        "timestamp": t(when),
        "message": {"role": "user", "content": content},
    }
    r.update(more)
    return r


def meta(native, when, **more):
    p = {"id": native, "timestamp": t(when), "cwd": "/w", "originator": "codex_cli_rs", "source": "cli"}
    p.update(more)
    return {"timestamp": t(when), "type": "session_meta", "payload": p}


def event(kind, when, **more):
    return {"timestamp": t(when), "type": "event_msg", "payload": dict(more, type=kind)}


def usage(i, o, cached=0, reasoning=0):
    return {
        "input_tokens": i,
        "cached_input_tokens": cached,
        "output_tokens": o,
        "reasoning_output_tokens": reasoning,
        "total_tokens": i + o,
    }


def count(when, total, last):
    return event("token_count", when, info={"total_token_usage": total, "last_token_usage": last})


def main():
    with Store() as s:
        s.write(
            "projects/p/s1.jsonl",
            [
                answer("s1", "u%d" % i, "m1", out, i, stop, "r1", 22137, 3, 2285)
                for i, out, stop in ((1, 2, None), (2, 2, None), (3, 300, "tool_use"))
            ],
        )
        r = s.claude()["s1"]
        check(
            "D1 largest output",
            (
                r["tokens"]["input"],
                r["tokens"]["cache_write_5m"],
                r["tokens"]["cache_read"],
                r["tokens"]["output"],
                r["responses"],
                r["lower_bound"],
            ),
            (3, 2285, 22137, 300, 1, False),
        )
    with Store() as s:
        s.write(
            "projects/p/s1.jsonl",
            [
                answer("s1", "u1", "m1", 10, 1),
                answer("s1", "u2", "m1", 25, 2),
                answer("s2", "x1", None, 1, 3),
                answer("s2", "x2", None, 2, 4),
                answer("s2", "x2", None, 2, 4),
            ],
        )
        r = s.claude()
        check(
            "D2 no requestId",
            (r["s1"]["responses"], r["s1"]["tokens"]["output"], r["s1"]["lower_bound"]),
            (1, 25, True),
        )
        check("D2 uuid fallback", (r["s2"]["responses"], r["s2"]["tokens"]["output"]), (2, 3))
    for names, shift in itertools.product((("a", "b"), ("b", "a")), (0, 20)):
        with Store() as s:
            s.write(
                "projects/p/%s.jsonl" % names[0],
                [
                    user("s1", "p1", "hello", 0),
                    answer("s1", "a1", "m1", 100, 1, "end_turn", "r1"),
                    answer("s1", "a2", "m2", 50, 2, "end_turn", "r2"),
                ],
            )
            s.write(
                "projects/p/%s.jsonl" % names[1],
                [
                    {"type": "queue-operation", "sessionId": "s2", "timestamp": t(9), "operation": "enqueue"},
                    user("s2", "p1" if not shift else "p9", "hello", 0 + shift),
                    answer("s2", "b1", "m1", 100, 1 + shift, "end_turn"),
                    answer("s2", "b2", "m2", 50, 2 + shift, "end_turn"),
                    user("s2", "p2", "more", 3 + shift),
                    answer("s2", "b3", "m3", 7, 40, "end_turn"),
                ],
            )
            r = s.claude()
            check(
                "D3 fork %s shift %d" % (names, shift),
                (
                    grand_total(r)["output"],
                    r["s1"]["tokens"]["output"],
                    r["s2"]["tokens"]["output"],
                    r["s2"]["shared"]["output"],
                    r["s1"]["human_prompts"],
                    r["s2"]["human_prompts"],
                    r["s2"]["copied_prompts"],
                ),
                (157, 150, 7, 150, 1, 1, 1),
            )
    with Store() as s:
        s.write("projects/p/s1.jsonl", [answer("s1", "u1", "m1", 1, 1, "end_turn", "r1", 90000)])
        s.write(
            "projects/p/s1/subagents/agent-x.jsonl",
            [
                answer("s1", "u2", "m1", 1, 2, "end_turn", "r9", 90000, isSidechain=True, agentId="x"),
                answer("s1", "u3", "m2", 1, 3, "end_turn", "r10", 91000, isSidechain=True, agentId="x"),
            ],
        )
        r = s.claude()
        check(
            "D4 side question",
            (sorted(r), r["s1"]["responses"], r["s1"]["tokens"]["cache_read"]),
            (["s1"], 2, 181000),
        )
    with Store() as s:
        s.write(
            "sessions/2026/06/01/rollout-P.jsonl",
            [
                meta("P", 0),
                event("task_started", 1, turn_id="t1"),
                count(2, usage(90, 10), usage(90, 10)),
                event("task_complete", 2, turn_id="t1"),
                event("task_started", 3, turn_id="t2"),
                count(4, usage(220, 30), usage(130, 20)),
                event("task_complete", 4, turn_id="t2"),
            ],
        )
        s.write(
            "sessions/2026/06/01/rollout-C.jsonl",
            [
                meta("C", 10, forked_from_id="P"),
                meta("P", 10),
                event("task_started", 10, turn_id="t1"),
                count(10, usage(90, 10), usage(90, 10)),
                event("task_started", 10, turn_id="t2"),
                count(10, usage(220, 30), usage(130, 20)),
                event("task_started", 11, turn_id="t3"),
                count(11, usage(220, 30), usage(130, 20)),
                count(12, usage(255, 35), usage(35, 5)),
                event("task_complete", 12, turn_id="t3"),
            ],
        )
        s.write(
            "sessions/2026/06/01/rollout-H.jsonl",
            [
                meta("H", 10, forked_from_id="P", history_base={"thread_id": "P"}),
                event("task_started", 11, turn_id="t4"),
                count(12, usage(255, 35), usage(35, 5)),
                event("task_complete", 12, turn_id="t4"),
            ],
        )
        r = s.codex()
        check(
            "D5 fork by copy",
            (plain_sum(r["P"]["tokens"]), plain_sum(r["C"]["tokens"]), plain_sum(r["C"]["shared"])),
            (250, 40, 250),
        )
        check("D5 history_base", (plain_sum(r["H"]["tokens"]), plain_sum(r["H"]["shared"])), (40, 0))
        os.remove(os.path.join(s.root, "sessions/2026/06/01/rollout-P.jsonl"))
    with Store() as s:
        s.write(
            "sessions/rollout-R.jsonl",
            [
                meta("R", 0),
                count(1, usage(1000, 60, 700), usage(1000, 60, 700)),
                count(2, usage(1800, 125, 1400), usage(800, 65, 700)),
            ],
        )
        r = s.codex()["R"]["tokens"]
        check("D6 resumed thread", (r["input"], r["cache_read"], r["output"]), (300 + 100, 1400, 125))
    with Store() as s:
        lines = [meta("N", 0), event("token_count", 1, info=None)]
        for total, last in ((42976, 42976), (42976, 42976), (87290, 44314), (87290, 44314)):
            lines.append(
                count(
                    2,
                    usage(total - 100, 100),
                    usage(last - 100 if last == total else last, 100 if last == total else 0),
                )
            )
        s.write("sessions/rollout-N.jsonl", lines)
        r = s.codex()["N"]
        check("D7 repeats", (r["responses"], plain_sum(r["tokens"])), (2, 87290))
    with Store() as s:
        s.write(
            "sessions/rollout-K.jsonl",
            [meta("K", 0), count(1, usage(11527, 100, 9600), usage(11527, 100, 9600))],
        )
        r = s.codex()["K"]["tokens"]
        check(
            "D8 cached inside input",
            (r["input"], r["cache_read"], r["output"], r["input"] * 5 + 9600 * 0.5 + 100 * 30),
            (1927, 9600, 100, 17435),
        )
    with Store() as s:
        s.write(
            "projects/p/s1.jsonl",
            [{"type": "brand-new", "x": 1}]
            + [{"type": "file-history-snapshot", "messageId": "x"}] * 30
            + [
                {
                    "type": "api-request-blob",
                    "sessionId": "s1",
                    "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                },
                user("s1", "u1", "real", 1),
            ],
        )
        r = s.claude()
        check("D9 unknown types", (sorted(r), r["s1"]["human_prompts"]), (["s1"], 1))
    with Store() as s:
        one, two = json.dumps(user("s1", "u1", "one", 1)), json.dumps(user("s1", "u2", "two", 2))
        s.write("projects/p/s1.jsonl", [one, two[:30], two])
        check("D10 torn line", s.claude()["s1"]["human_prompts"], 2)
    with Store() as s:
        s.write(
            "sessions/rollout-Z.jsonl",
            [
                meta("Z", 0),
                {
                    "timestamp": t(1),
                    "type": "compacted",
                    "payload": {
                        "message": "m",
                        "replacement_history": [
                            {
                                "type": "message",
                                "role": "user",
                                "content": [{"type": "input_text", "text": "x" * 2000000}],
                            }
                        ],
                    },
                },
                event("user_message", 2, message="go"),
                count(3, usage(10, 1), usage(10, 1)),
            ],
        )
        r = s.codex()["Z"]
        check("D11 replacement_history is no turn", (r["human_prompts"], plain_sum(r["tokens"])), (1, 11))
    with Store() as s:
        s.write(
            "projects/p/s1.jsonl",
            [
                user("s1", "u1", "analyse", 1, entrypoint="sdk-cli", promptSource="sdk"),
                answer("s1", "a1", "m1", 1, 2, "end_turn", entrypoint="sdk-cli"),
            ],
        )
        check(
            "D12 headless prompt is automated",
            (s.claude()["s1"]["human_prompts"], s.claude()["s1"]["automated_prompts"]),
            (0, 1),
        )
    with Store() as s:
        s.write(
            "projects/p/s1.jsonl",
            [
                user("s1", "1", "Caveat: The messages below ...", 1, isMeta=True),
                user("s1", "2", "<command-name>/compact</command-name>", 2),
                user("s1", "3", "<local-command-stdout>x</local-command-stdout>", 3),
                user("s1", "4", [{"type": "tool_result", "tool_use_id": "q", "content": "x"}], 4),
                user("s1", "5", "<task-notification>x</task-notification>", 5),
                user("s1", "6", [{"type": "text", "text": "[Request interrupted by user]"}], 6),
                user("s1", "7", "no, use pnpm", 7),
                user("s1", "8", "<system-reminder>r</system-reminder>\nand this", 8),
                user("s1", "9", "sub prompt", 9, isSidechain=True),
            ],
        )
        r = s.claude()["s1"]
        check(
            "D13 person test (plus a reminder with text, a side chain)",
            (r["human_prompts"], r["agent_prompts"]),
            (2, 1),
        )
    with Store() as s:
        s.write("projects/p/s1.jsonl", [user("s1", "1", "x", 1)])
        os.utime(os.path.join(s.root, "projects/p/s1.jsonl"), (0, 0))
        r = s.claude()["s1"]
        check("D17 dates from records", (r["started"], r["ended"]), (t(1), t(1)))
    with Store() as s:  # a forked file whose parent is not there: turn ids are older than the child
        s.write(
            "sessions/rollout-C.jsonl",
            [
                meta("5b00", 10, forked_from_id="5a00"),
                meta("5a00", 10),
                event("task_started", 10, turn_id="5a01"),
                count(10, usage(90, 10), usage(90, 10)),
                event("task_started", 11, turn_id="5b01"),
                count(12, usage(125, 15), usage(35, 5)),
            ],
        )
        check("fork without its parent", plain_sum(s.codex()["5b00"]["tokens"]), 40)

    base = os.path.join(CORPUS, "transcripts")
    if os.path.isdir(base):
        r = list(
            Oracle(claude_dirs=[os.path.join(base, "claude/entireio__cli/20-02395c1048-0.full.jsonl")])
            .run()
            .values()
        )[0]
        k = r["tokens"]
        check(
            "worked example entireio 20",
            (
                k["input"],
                k["cache_write_5m"] + k["cache_write_1h"],
                k["cache_read"],
                k["output"],
                r["lower_bound_responses"],
            ),
            (106, 52763, 580415, 1978, 13),
        )
        for version, want in (
            ("0.39.0", 54096),
            ("0.58.0", 76340),
            ("0.65.0", 102420),
            ("0.80.0", 113300),
            ("0.117.0", 172670),
            ("0.128.0", 303814),
            ("0.142.0", 163410),
            ("0.171.0", 271326),
            ("0.128.0/paced", 101538),
            ("0.171.0/paced", 63756),
        ):
            got = plain_sum(
                grand_total(
                    Oracle(codex_dirs=[os.path.join(base, "codex/local-cli__codex-" + version)]).run()
                )
            )
            check("codex %s" % version, got, want)
        for version, want in (
            ("0.2.126", 203808),
            ("1.0.24", 201948),
            ("1.0.128", 367972),
            ("2.0.14", 361156),
        ):
            got = plain_sum(
                grand_total(
                    Oracle(
                        claude_dirs=[os.path.join(base, "claude/local-cli__claude-code-%s/cc" % version)]
                    ).run()
                )
            )
            check("claude %s" % version, got, want)
    print("%d failures" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
