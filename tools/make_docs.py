"""Writes the generated pages: ``docs/commands.md`` from the parsers, ``docs/limits.md`` from the source.

    python tools/make_docs.py            write them
    python tools/make_docs.py --check    exit 1 when one is out of date

A command without a paragraph here, a limit without a meaning here, and an entry that names nothing are
errors, so the pages cannot fall behind the program.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "waypost"
COMMANDS_PAGE = ROOT / "docs" / "commands.md"
LIMITS_PAGE = ROOT / "docs" / "limits.md"

#: What a person may want to know of a command beyond its options, and an example of it.
ABOUT: dict[str, tuple[str, str]] = {
    "quickstart": (
        "Looks for Claude Code and Codex transcripts, reads what is new, and shows one page: what the"
        " agents did, what it cost, where it went, the latest sessions. On a machine without transcripts,"
        " or with `--sample`, it does the same with a small set shipped in the package, in a store of its"
        " own (`sample/` in the home), so that invented sessions never mix with yours.",
        "waypost quickstart --sample",
    ),
    "sessions": (
        "One line for each session, newest first. Prompts, commands, failures and cost are of that session"
        " alone: what was copied from another session is counted there.",
        "waypost sessions --project webshop --since 7d",
    ),
    "session": (
        "One session as a timeline. A session can be named by its key, by the first eight or more"
        " characters of its key, or by the id that the agent itself uses. Long turns are shortened unless"
        " `--turns` is given. In JSON the answer is the same with and without `--turns`.",
        "waypost session ses_vacqd2ws --turns",
    ),
    "search": (
        "Every word is required; quotes make a phrase; no other character has a meaning, so pasted code is"
        " safe to search for. Case and accents do not matter. The newest 1,000 matches are ranked; where"
        " there are more, the answer says so.",
        'waypost search "idempotency key" --role user',
    ),
    "costs": (
        "Adds up tokens and list prices. Days and weeks are local unless `--utc` is given, by the time in"
        " each record and never by the time of a file. A week is named by its Monday.",
        "waypost costs --by project --since 30d",
    ),
    "ingest": (
        "One pass over the transcripts; what was read before is not read again. Ctrl-C stops cleanly and"
        " the next pass goes on. Naming a folder with `--claude` or `--codex` reads the named folders"
        " only.",
        "waypost ingest --codex /mnt/backup/.codex",
    ),
    "watch": (
        "Reads transcripts as they grow, within two seconds, and writes a line (or, with `--json`, a"
        " record) for every session that moved. It goes on until it is stopped.",
        "waypost watch --json",
    ),
    "export": (
        "Writes sessions as JSON lines or Markdown, secrets masked. Standard output is the document"
        " itself; there is no record around it. An existing `--output` file is never overwritten.",
        "waypost export ses_vacqd2ws --format markdown --output pay-twice.md",
    ),
    "forget": (
        "Deletes sessions with everything derived from them and rewrites the store, so that nothing of"
        " them stays in its free space. Exactly one of `--project`, `--session` and `--older-than` is"
        " needed. A question is asked only on a terminal; in a script the command deletes at once, so try"
        " `--dry-run` first. The agents' own files are not touched.",
        "waypost forget --older-than 90d --dry-run",
    ),
    "key": (
        "`show` says where the key is and never shows it. `rotate` re-encrypts the store under a new key."
        " `export` prints a recovery code. `restore` reads such a code from standard input. `keyring` and"
        " `file` move the key to the OS keyring and back; the keyring needs the extra `waypost[keyring]`.",
        "waypost key export",
    ),
    "doctor": (
        "Looks at the home, the key, the store, the index, the transcripts and the agents, and says for"
        " each what was found and how to mend it. It changes nothing.",
        "waypost doctor --deep",
    ),
}

#: What each limit means: "module.NAME" below ``waypost`` → unit and meaning.
LIMITS: dict[str, tuple[str, str]] = {
    "machine.store.database.STALE_TEMPORARY_S": (
        "seconds",
        "age at which a left-over temporary file is removed",
    ),
    "plugins.harnesses.claude_code.transcript.FOLDERS_MAX": (
        "sessions",
        "sessions of one file whose folder a reader remembers",
    ),
    "plugins.harnesses.claude_code.transcript.PROMPT_IDS_MAX": (
        "prompts",
        "latest prompts of a file checked for being written twice",
    ),
    "surfaces.cli.ingest.JOBS_MAX": ("processes", "largest `--jobs`"),
    "surfaces.cli.screen.FLEXIBLE_MIN": (
        "columns",
        "width kept for a table's text before columns are left out",
    ),
    "flows.history.HITS_LIMIT": ("hits", "page of `search` unless `--limit` says otherwise"),
    "flows.arguments.LIMIT_MAX": ("rows", "largest `--limit` that a command takes"),
    "flows.history.MALFORMED_SHOWN_MAX": ("records", "unreadable records listed with a session"),
    "flows.history.SESSIONS_LIMIT": ("sessions", "page of `sessions` unless `--limit` says otherwise"),
    "flows.arguments.SHOWN_CHARACTERS_MAX": ("characters", "of what was typed, repeated in a message"),
    "flows.history.SNIPPET_CHARACTERS": ("characters", "length of a search snippet"),
    "flows.history.TURNS_LIMIT": ("turns", "page of `session` unless `--limit` says otherwise"),
    "flows.ingest.COMMIT_BYTES": ("bytes", "source bytes read before a transaction is committed"),
    "flows.ingest.COMMIT_S": ("seconds", "longest time that a transaction of a pass stays open"),
    "flows.ingest.HOT_FILES_MAX": ("files", "newest files looked at for growth while a backlog is read"),
    "flows.ingest.INDEX_PAGE_TURNS": ("turns", "turns fetched at once when the text index catches up"),
    "flows.ingest.INDEX_SLICE_TURNS": ("turns", "turns indexed between two looks at what workers have done"),
    "flows.ingest.LIVE_S": ("seconds", "pause between two looks at growing files during a backlog"),
    "flows.ingest.REPORT_S": ("seconds", "shortest pause between two steps of the progress bar"),
    "flows.ingest.WORKERS_FROM_BYTES": ("bytes", "below this much to read, one process does it alone"),
    "flows.projects.CONFIGURATION_BYTES_MAX": ("bytes", "how much of a `waypost.toml` is read"),
    "flows.reading.CHUNK_BYTES": ("bytes", "records read, decoded and handed on together, about"),
    "machine.transcripts.DECOMPRESSED_BYTES_MAX": ("bytes", "a compressed transcript is read up to here"),
    "machine.transcripts.HEAD_BYTES": ("bytes", "start of a file that is hashed to know it again"),
    "machine.transcripts.READ_BUFFER_BYTES": ("bytes", "read from a file at once"),
    "machine.transcripts.RECORD_BYTES_MAX": ("bytes", "a longer record is passed over and counted, not read"),
    "machine.transcripts.TAIL_BYTES": (
        "bytes",
        "bytes before the last offset that are hashed to know a file again",
    ),
    "machine.transcripts.WALK_DEPTH_MAX": ("folders", "depth below a transcript root that is searched"),
    "machine.transcripts.WALK_ENTRIES_MAX": ("entries", "directory entries looked at below a root"),
    "machine.keys.KEY_BYTES": ("bytes", "length of the store's key"),
    "machine.repository.CONFIG_BYTES_MAX": ("bytes", "how much of a repository's git configuration is read"),
    "machine.repository.LEVELS_MAX": ("folders", "parents searched for a repository or a `waypost.toml`"),
    "machine.store.database.BUSY_MS": ("milliseconds", "wait for another process that holds the store"),
    "machine.store.database.CACHE_KIB": ("KiB", "pages that the store keeps in memory"),
    "machine.store.database.PAGE_BYTES": ("bytes", "page of the store"),
    "machine.store.database.WAL_PAGES": ("pages", "length of the write-ahead log before it is merged"),
    "machine.store.payloads.PAYLOAD_BYTES_MAX": ("bytes", "largest sealed value that is opened"),
    "machine.store.search.CANDIDATES_MAX": ("matches", "newest matches of a query that are ranked"),
    "machine.store.search.INDEX_BATCH_CHARACTERS": ("characters", "text gathered before it is indexed"),
    "machine.store.search.INDEX_BATCH_TURNS": ("turns", "turns gathered before they are indexed"),
    "machine.store.search.OPAQUE_TEXT_MIN": (
        "characters",
        "in a shorter text, opaque runs stay in the index",
    ),
    "machine.store.search.SCANNED_MAX": ("matches", "matches looked at when filters leave most of them out"),
    "machine.store.search.TERMS_MAX": ("words", "words and phrases of one query"),
    "machine.store.sessions.QUARTER_MS": ("milliseconds", "usage is added up in steps of this length"),
    "machine.store.words.WORD_CHARACTERS_MAX": ("characters", "length of a model's or tool's name"),
    "machine.watch.DEBOUNCE_MS": ("milliseconds", "file events gathered before they are passed on"),
    "machine.watch.POLL_S": ("seconds", "look at the files at least this often, events or not"),
    "machine.watch.STEP_MS": ("milliseconds", "pause between two looks at the event queue"),
    "machine.workers.AHEAD_BYTES_MAX": ("bytes", "results that a worker may be ahead"),
    "machine.workers.JOIN_S": ("seconds", "a worker that does not end in this time is ended"),
    "machine.workers.PIPE_BYTES": ("bytes", "size asked for a worker's pipe"),
    "machine.workers.READ_BYTES": ("bytes", "read from a worker at once"),
    "machine.workers.TASKS_AHEAD": ("files", "files given to a worker before the first is done"),
    "machine.workers._LENGTH_BYTES": ("bytes", "the length in front of each result of a worker"),
    "plugins.harnesses.claude_code.transcript.QUEUED_CHARACTERS_MAX": (
        "characters",
        "a queued message remembered until its record comes",
    ),
    "plugins.harnesses.claude_code.transcript.QUEUE_MAX": ("messages", "queued messages remembered"),
    "plugins.harnesses.claude_code.transcript.TITLE_CHARACTERS_MAX": ("characters", "length of a title"),
    "plugins.harnesses.codex.outputs._HEADER_CHARACTERS_MAX": (
        "characters",
        "start of a command's output in which its status is looked for",
    ),
    "plugins.harnesses.codex.transcript.CANDIDATES_MAX": (
        "records",
        "prompts whose author is not stated yet, remembered",
    ),
    "plugins.harnesses.codex.transcript.TITLE_CHARACTERS_MAX": ("characters", "length of a title"),
    "plugins.harnesses.payloads.DEPTH_MAX": ("levels", "nesting of a tool's input that is indexed"),
    "plugins.harnesses.payloads.LEAVES_MAX": ("values", "values of a tool's input that are indexed"),
    "plugins.harnesses.payloads.SCRUB_DEPTH_MAX": ("levels", "nesting of a record that needs loose decoding"),
    "records.codec.DEPTH_MAX": ("levels", "nesting of a canonical record"),
    "records.codec.INTEGER_MAX": ("", "largest integer in a canonical record"),
    "records.transcript.MESSAGE_TEXT_BYTES_MAX": ("bytes", "text of a message in a readable turn"),
    "records.transcript.OPEN_CALLS_MAX": ("calls", "tool calls without a result that a reader remembers"),
    "records.transcript.RAW_RECORD_BYTES_MAX": ("bytes", "a raw record up to here is kept whole"),
    "records.transcript.TOOL_TEXT_BYTES_MAX": ("bytes", "tool input, and tool result, in a readable turn"),
    "rules.display.kept_chars_per_cell_max": ("characters", "kept for each cell of a line"),
    "rules.display.scan_chars_extra": ("characters", "read beyond what the cells of a line need"),
    "rules.display.scan_chars_per_cell_max": ("characters", "read for each cell of a line"),
    "rules.projects.url_chars_max": ("characters", "length of a remote's address"),
    "rules.redaction.context_chars_max": ("characters", "text around a finding that may decide about it"),
    "rules.redaction.opaque_run_chars_max": ("characters", "a base64 run from here on is dropped when shown"),
    "rules.redaction.pem_chars_max": ("characters", "length of a private key block"),
    "rules.redaction.rounds_max": ("rounds", "repeats until masked text holds nothing more to mask"),
    "rules.redaction.value_chars_max": ("characters", "length of an assigned secret"),
    "rules.usage.ANCESTORS_MAX": ("sessions", "sessions that a fork may have copied from"),
    "surfaces.cli.export.PAGE_TURNS": ("turns", "turns fetched at once by an export"),
    "surfaces.cli.key.CODE_CHARACTERS_MAX": ("characters", "how much of a recovery code is read"),
    "surfaces.cli.quickstart.RECENT": ("sessions", "latest sessions on the quickstart page"),
    "surfaces.cli.running.NAME_CHARACTERS_MAX": ("characters", "of a command's name, repeated in a message"),
    "surfaces.cli.screen.WIDTH_MAX": ("columns", "a wider terminal is treated as this wide"),
    "surfaces.cli.screen.WIDTH_MIN": ("columns", "a narrower terminal is treated as this wide"),
    "surfaces.cli.timeline._TEXT_LINES_MAX": ("lines", "lines of a message in a timeline without `--turns`"),
}

#: Words that make a constant's name the name of a limit.
WORDS = frozenset(
    {
        "max",
        "min",
        "limit",
        "bytes",
        "kib",
        "ms",
        "s",
        "chars",
        "characters",
        "turns",
        "pages",
        "extra",
        "recent",
        "seconds",
        "lines",
        "columns",
        "ahead",
    }
)

COMMANDS_HEAD = """# Commands

*Written by `tools/make_docs.py` from the program's own parsers; a test fails when it is out of date.*

Every command answers with exactly one record: canonical JSON when its output goes to a file or a pipe, a
readable page on a terminal. `--json` and `--text` force either, anywhere before `--`. Words after `--` are
never options. [Output](output.md) has the records and exit codes.

`TIME` is a day (`2026-11-30`), a time (`2026-11-30T16:00`) or an age (`30m`, `12h`, `90d`, `2w`). What is
at `--since` itself is included, what is at `--until` is not: `--until 2026-12-01` ends with November.
Sessions are taken when any part of them lies between. `P` is a project's name, the last part of its name,
its remote, its `prj_` key, or a folder in it (`.` for this one).
"""

LIMITS_HEAD = """# Limits

*Written by `tools/make_docs.py` from the source; a test fails when it is out of date.*

Every loop, read, queue and wait has a limit with a name. What goes over one is cut, passed over or refused,
and counted or said where it happens; nothing is lost without a trace.

| limit | value | unit | what it bounds |
| --- | ---: | --- | --- |
"""


class Limit(NamedTuple):
    """A named number in the source."""

    name: str
    value: int | float


def _number(node: ast.expr, known: dict[str, int | float]) -> int | float | None:
    """Return the value of an arithmetic expression over numbers and earlier names, else None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return None if isinstance(node.value, bool) else node.value
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.BinOp):
        left, right = _number(node.left, known), _number(node.right, known)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Pow):
            return left**right
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
    return None


def limits() -> list[Limit]:
    """Return every module-level number whose name is the name of a limit."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        known: dict[str, int | float] = {}
        for node in ast.parse(path.read_text("utf-8")).body:
            target: ast.expr
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target, value = node.targets[0], node.value
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                target, value = node.target, node.value
            else:
                continue
            if not isinstance(target, ast.Name):
                continue
            number = _number(value, known)
            if number is None:
                continue
            known[target.id] = number
            if WORDS & set(target.id.lower().strip("_").split("_")):
                found.append(Limit(f"{module}.{target.id}", number))
    return found


def _amount(limit: Limit, unit: str) -> str:
    value = limit.value
    if unit == "bytes" and isinstance(value, int):
        for name, size in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
            if value >= size and value % size == 0:
                return f"{value // size:,} {name}"
    return f"{value:,}"


def limits_page() -> str:
    """Return ``docs/limits.md``. Errors: ``SystemExit`` for a limit without a meaning, or the reverse."""
    found = limits()
    names = {limit.name for limit in found}
    unexplained = sorted(names - LIMITS.keys())
    gone = sorted(LIMITS.keys() - names)
    if unexplained or gone:
        raise SystemExit(
            f"tools/make_docs.py, LIMITS: no meaning for {unexplained or 'none'}; not in the source:"
            f" {gone or 'none'}"
        )
    rows = []
    for limit in sorted(found):
        unit, meaning = LIMITS[limit.name]
        rows.append(f"| `{limit.name}` | {_amount(limit, unit)} | {unit} | {meaning} |\n")
    return LIMITS_HEAD + "".join(rows)


def _option(action: argparse.Action) -> tuple[str, str]:
    value = action.metavar if isinstance(action.metavar, str) else None
    if action.choices is not None:
        value = " \\| ".join(str(one) for one in action.choices)
    if action.option_strings:
        name = ", ".join(f"`{one}`" for one in action.option_strings)
        if action.nargs != 0 and value:
            name += f" {value}" if action.choices is not None else f" `{value}`"
    else:
        name = value if action.choices is not None and value else f"`{value or action.dest}`"
        if action.nargs in ("*", "?"):
            name += " (optional)"
    return name, action.help or ""


def commands_page() -> str:
    """Return ``docs/commands.md``. Errors: ``SystemExit`` when commands and paragraphs differ."""
    from waypost.surfaces.cli.main import COMMANDS
    from waypost.surfaces.cli.running import parser_of

    if set(ABOUT) != set(COMMANDS):
        raise SystemExit(f"tools/make_docs.py, ABOUT: differs from COMMANDS by {set(ABOUT) ^ set(COMMANDS)}")
    parts = [COMMANDS_HEAD]
    for name, (_, summary) in COMMANDS.items():
        about, example = ABOUT[name]
        parts.append(f"\n## waypost {name}\n\n{summary[0].upper()}{summary[1:]}.\n\n{about}\n\n")
        parts.append(f"```console\n$ {example}\n```\n\n| argument | meaning |\n| --- | --- |\n")
        actions = parser_of(name)._actions  # the parsers' one public listing is their help text
        # Positional arguments first.
        for action in sorted(actions, key=lambda one: bool(one.option_strings)):
            if action.dest != "help":
                parts.append("| {} | {} |\n".format(*_option(action)))
        parts.append("| `-h`, `--help` | print the arguments as plain text |\n")
    return "".join(parts)


def main() -> int:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when a page is out of date"
    )
    arguments = parser.parse_args()
    old = []
    for path, text in ((COMMANDS_PAGE, commands_page()), (LIMITS_PAGE, limits_page())):
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        old.append(path)
        if not arguments.check:
            path.write_text(text, "utf-8")
    for path in old:
        print(f"{path.relative_to(ROOT)}: {'out of date' if arguments.check else 'written'}")
    return int(bool(old) and arguments.check)


if __name__ == "__main__":
    sys.exit(main())
