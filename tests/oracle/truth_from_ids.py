"""Truth of the `local-cli__*` files from the request numbers inside the ids, without looking at usage fields.

Claude  msg_mock<pid>_<n>              input 100+n, write 5m 600, write 1h 400+n, read 10000+n, output 200+n
Codex   resp_mock<pid>_<n>, msg_<n>, fc_<n>, ctc_<n>, rs_<n>, call_<n>
                                       input 5000+n of which cached 4000+n, output 300+n of which reasoning 50+n
                                       (a compaction summary in the prompt: input 1000+n, cached 500+n)

Limits, by format and not by choice:
* Codex <= 0.128 strips the ids of plain answers, so an answer without a tool call has no id at all. Those are listed as
  `usage_without_id`, and their four usage numbers are checked to encode one and the same n ("fingerprint").
* Codex compaction calls and aborted calls may have no id: see `numbers_in_no_file` (gaps between the smallest and largest n;
  a gap can also be a request of another test of the same mock process).
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import ClaudeReader, CodexReader, TOKEN_FIELDS, add, number, zero  # noqa: E402


def claude_bill(n):
    t = zero()
    t.update(input=100 + n, output=200 + n, cache_read=10000 + n, cache_write_5m=600, cache_write_1h=400 + n)
    return t


def codex_bill(n, after_compaction):
    t = zero()
    whole, cached = (1000 + n, 500 + n) if after_compaction else (5000 + n, 4000 + n)
    t.update(input=whole - cached, cache_read=cached, output=300 + n, reasoning=50 + n)
    return t


def claude_truth(roots):
    """{session id: {tokens, responses, shared, shared_responses}} and the list of all ids."""
    reader = ClaudeReader(roots)
    places = {}
    ends = {}
    for f in reader.files:
        for r in f.records:
            if r.get("type") not in ("assistant", "progress", "user", "system", "attachment"):
                continue
            sid = reader.session_of(f, r)
            time = r.get("timestamp") or "9999"
            ends[sid] = max(ends.get(sid, ""), time)
            for mid in (
                re.findall(r'"id": "(msg_mock\d+_\d+)"', json.dumps(r))
                if r["type"] in ("assistant", "progress")
                else []
            ):
                places.setdefault(mid, []).append((time, f.opened, sid))
    sessions = dict(
        (sid, {"tokens": zero(), "shared": zero(), "responses": 0, "shared_responses": 0}) for sid in ends
    )
    for mid, where in places.items():
        bill = claude_bill(int(mid.rsplit("_", 1)[1]))
        owner = min(where, key=lambda w: (w[0], w[1], ends[w[2]], w[2]))[2]
        for sid in set(w[2] for w in where):
            if sid == owner:
                add(sessions[sid]["tokens"], bill)
                sessions[sid]["responses"] += 1
            else:
                add(sessions[sid]["shared"], bill)
                sessions[sid]["shared_responses"] += 1
    return sessions, sorted(places)


ITEM_ID = re.compile(r"(?:msg|fc|ctc|rs|call)_(\d+)$")
RESPONSE_ID = re.compile(r"resp_mock(\d+)_(\d+)$")


def codex_truth(roots):
    reader = CodexReader(roots)
    owner = {}  # n -> (first record time, thread)
    found = {}  # thread -> {n: after compaction?}
    fingerprints = {}  # thread -> {n: after compaction?} from the usage numbers
    odd = {}  # thread -> usage entries that encode no single n
    for native, records in reader.threads.items():
        found[native], fingerprints[native], odd[native] = {}, {}, 0
        compacted = False
        pids = set()
        for r in records:
            for m in [RESPONSE_ID.match(str(r["payload"].get("response_id")))]:
                if m:
                    pids.add(m.group(1))
        pid = pids.pop() if len(pids) == 1 else ""
        root = native  # no pid in the file: two mock processes can have used the same n in one home, so
        while (
            not pid and reader.meta.get(root, {}).get("forked_from_id") in reader.threads
        ):  # only fork families share n
            root = reader.meta[root]["forked_from_id"]
        group = pid or root
        for r in records:
            p = r["payload"]
            if r["type"] == "compacted":
                compacted = True
                continue  # replacement_history repeats old ids
            if r["type"] == "world_state":
                continue
            ns = set()
            candidates = [p.get("id"), p.get("call_id")]
            if isinstance(p.get("item"), dict):
                candidates.append(p["item"].get("id"))
            for c in candidates:
                m = ITEM_ID.match(c) if isinstance(c, str) else None
                if m:
                    ns.add(int(m.group(1)))
            m = RESPONSE_ID.match(str(p.get("response_id")))
            if m:
                ns.add(int(m.group(2)))
            for n in ns:
                found[native].setdefault(n, compacted)
                rank = (r["timestamp"] or "", native)
                if (group, n) not in owner or rank < owner[(group, n)]:
                    owner[(group, n)] = rank
            usage = None
            if r["type"] == "token_usage_record":
                usage = p.get("usage")
            elif (
                r["type"] == "event_msg"
                and p.get("type") == "token_count"
                and isinstance(p.get("info"), dict)
            ):
                usage = p["info"].get("last_token_usage")
            if isinstance(usage, dict) and number(usage.get("input_tokens")):
                n = number(usage.get("output_tokens")) - 300
                whole, cached = number(usage.get("input_tokens")), number(usage.get("cached_input_tokens"))
                if number(usage.get("reasoning_output_tokens")) == 50 + n and (whole, cached) == (
                    5000 + n,
                    4000 + n,
                ):
                    fingerprints[native].setdefault(n, False)
                elif number(usage.get("reasoning_output_tokens")) == 50 + n and (whole, cached) == (
                    1000 + n,
                    500 + n,
                ):
                    fingerprints[native].setdefault(n, True)
                else:
                    odd[native] += 1
        found[native] = (group, pid, found[native])
    # a fingerprint that also occurs in the thread it was copied from belongs there
    fp_owner = {}
    for native in sorted(
        reader.threads,
        key=lambda t: (min([r["timestamp"] for r in reader.threads[t] if r["timestamp"]] or [""]), t),
    ):
        for n in fingerprints[native]:
            fp_owner.setdefault((found[native][0], n), native)
    sessions = {}
    everything = set()
    for native in reader.threads:
        group, pid, numbers = found[native]
        s = {
            "tokens": zero(),
            "responses": 0,
            "ids_without_usage": 0,
            "usage_without_id": 0,
            "odd_usage": odd[native],
            "from_ids_only": zero(),
            "rule_disagrees": 0,
        }
        for n, after in numbers.items():
            everything.add((pid, n))
            if owner[(group, n)][1] != native:
                continue
            if n in fingerprints[native] and fingerprints[native][n] != after:
                s["rule_disagrees"] += 1  # the compaction summary was not (or already) in the prompt
                after = fingerprints[native][n]
            add(s["from_ids_only"], codex_bill(n, after))
            add(s["tokens"], codex_bill(n, after))
            s["responses"] += 1
            if n not in fingerprints[native]:
                s["ids_without_usage"] += 1
        for n, after in fingerprints[native].items():
            everything.add((pid, n))
            if n in numbers or fp_owner[(group, n)] != native:
                continue
            add(s["tokens"], codex_bill(n, after))
            s["responses"] += 1
            s["usage_without_id"] += 1
        sessions[native] = s
    gaps = 0
    for pid in set(k[0] for k in everything):
        ns = [n for q, n in everything if q == pid]
        gaps += max(ns) - min(ns) + 1 - len(ns)
    return sessions, sorted(everything), gaps


def main():
    from corpus_sets import corpus_sets

    for name, harness, roots in corpus_sets():
        if "local-cli__" not in name:
            continue
        if harness == "claude":
            sessions, ids = claude_truth(roots)
            extra = ""
        else:
            sessions, ids, gaps = codex_truth(roots)
            extra = (
                " ids_without_usage=%d usage_without_id=%d odd=%d rule_disagrees=%d numbers_in_no_file=%d"
                % (
                    sum(s["ids_without_usage"] for s in sessions.values()),
                    sum(s["usage_without_id"] for s in sessions.values()),
                    sum(s["odd_usage"] for s in sessions.values()),
                    sum(s["rule_disagrees"] for s in sessions.values()),
                    gaps,
                )
            )
        total = zero()
        for s in sessions.values():
            add(total, s["tokens"])
        print(
            "%-52s sessions %3d responses %3d total %9d%s"
            % (name, len(sessions), len(ids), sum(total[f] for f in TOKEN_FIELDS if f != "reasoning"), extra)
        )


if __name__ == "__main__":
    main()
