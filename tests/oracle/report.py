"""Oracle against truth, one line per corpus set.   python tests/oracle/report.py [--write]

--write also rewrites tests/oracle/expected/*.json (integers only: no transcript text, no paths).
Columns: sessions; exact = oracle equals truth in every token class; lower = oracle <= truth and flagged lower bound;
differ = anything else (must be 0); none = no independent truth for the session.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from corpus_sets import CORPUS, corpus_sets  # noqa: E402
from oracle import Oracle, add, plain_sum, zero  # noqa: E402
from truth_from_ids import claude_truth, codex_truth  # noqa: E402

COUNTS = (
    "responses",
    "shared_responses",
    "lower_bound_responses",
    "human_prompts",
    "automated_prompts",
    "agent_prompts",
    "copied_prompts",
    "compactions",
    "queued_only_prompts",
    "commands",
    "failed_commands",
    "copied_commands",
    "patch_via_shell",
)
COMPARED = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


def reason(o, t, harness):
    diff = dict((f, o["tokens"][f] - t[f]) for f in COMPARED if o["tokens"][f] != t[f])
    if not diff:
        return None, "exact"
    if harness == "claude" and set(diff) == {"output"} and diff["output"] < 0 and o["lower_bound"]:
        return "%d of %d responses hold only the message_start snapshot (no stop_reason)" % (
            o["lower_bound_responses"],
            o["responses"],
        ), "lower"
    if o["lower_bound"] and all(v <= 0 for v in diff.values()):
        return "; ".join(o["lower_bound_reasons"]), "lower"
    return "UNEXPLAINED " + json.dumps(diff, sort_keys=True), "differ"


def real_cli_truth(name, root):
    """Served tokens of a real-cli case (whole case, not per session)."""
    path = os.path.join(os.path.dirname(os.path.dirname(root)), "truth.json")
    with open(path, encoding="utf-8") as f:
        totals = json.load(f)["answered_token_totals"]
    t = zero()
    t.update(
        input=totals["input"],
        cache_read=totals["cache_read"],
        cache_write_5m=totals["cache_write"],
        output=totals["output"],
    )
    return t, totals["requests"]


def build(name, harness, roots):
    sessions = Oracle(
        claude_dirs=roots if harness == "claude" else [], codex_dirs=roots if harness == "codex" else []
    ).run()
    truth, extra, case = {}, {}, None
    if "local-cli__" in name:
        if harness == "claude":
            truth, ids = claude_truth(roots)
        else:
            truth, ids, gaps = codex_truth(roots)
            extra = {"numbers_in_no_file": gaps}
    if name.startswith("real-cli__"):
        case, requests = real_cli_truth(name, roots[0])
        extra = {"case_truth": case, "case_requests": requests}
    out = {"set": name, "sessions": {}, "differences": {}}
    tally = {"exact": 0, "lower": 0, "differ": 0, "none": 0}
    grand = zero()
    for (h, sid), o in sorted(sessions.items()):
        add(grand, o["tokens"])
        row = {"oracle": {"tokens": o["tokens"], "shared": o["shared"], "lower_bound": int(o["lower_bound"])}}
        row["oracle"].update((c, o[c]) for c in COUNTS)
        row["oracle"].update(("command_" + k, v) for k, v in o["command_detail"].items() if v)
        t = truth.get(sid)
        if t is not None:
            row["truth"] = {"tokens": t["tokens"], "responses": t["responses"]}
            for k in (
                "shared",
                "shared_responses",
                "ids_without_usage",
                "usage_without_id",
                "rule_disagrees",
            ):
                if k in t:
                    row["truth"][k] = t[k]
            why, kind = reason(o, t["tokens"], harness)
            tally[kind] += 1
            if why:
                out["differences"][sid] = why
            if "shared" in t and any(o["shared"][f] != t["shared"][f] for f in COMPARED):
                out["differences"][sid] = (out["differences"].get(sid, "") + " shared differs").strip()
        else:
            tally["none"] += 1
        out["sessions"][sid] = row
    if case is not None:
        d = dict((f, grand[f] - case[f]) for f in ("input", "output", "cache_read") if grand[f] != case[f])
        writes = grand["cache_write_5m"] + grand["cache_write_1h"]
        if writes != case["cache_write_5m"]:
            d["cache_write"] = writes - case["cache_write_5m"]
        extra["case_difference"] = d
    out["grand_total"] = dict(grand, sum=plain_sum(grand))
    out["tally"] = tally
    out.update(extra)
    return out


def main():
    if not os.path.isdir(CORPUS):
        print("corpus not found: %s (set ORACLE_CORPUS)" % CORPUS)
        return 0
    write = "--write" in sys.argv
    bad = 0
    print(
        "%-54s %4s %5s %5s %6s %4s %10s  %5s %5s %5s %5s"
        % ("set", "sess", "exact", "lower", "differ", "none", "tokens", "human", "autom", "cmds", "fail")
    )
    for name, harness, roots in corpus_sets():
        r = build(name, harness, roots)
        o = [s["oracle"] for s in r["sessions"].values()]
        t = r["tally"]
        bad += t["differ"]
        print(
            "%-54s %4d %5d %5d %6d %4d %10d  %5d %5d %5d %5d%s"
            % (
                name,
                len(o),
                t["exact"],
                t["lower"],
                t["differ"],
                t["none"],
                r["grand_total"]["sum"],
                sum(x["human_prompts"] for x in o),
                sum(x["automated_prompts"] for x in o),
                sum(x["commands"] for x in o),
                sum(x["failed_commands"] for x in o),
                "  case: "
                + (json.dumps(r["case_difference"], sort_keys=True) if r["case_difference"] else "exact")
                if "case_difference" in r
                else "",
            )
        )
        for sid, why in sorted(r["differences"].items()):
            print("      %s  %s" % (sid, why))
        if write:
            with open(os.path.join(HERE, "expected", name + ".json"), "w", encoding="utf-8") as f:
                json.dump(r, f, indent=1, sort_keys=True)
                f.write("\n")
    print("unexplained: %d" % bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
