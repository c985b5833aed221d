"""The output contract, through the installed program: one canonical record, the right stream, the right
exit status; text that fits the terminal and cannot act on it."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from waypost.errors import CODES
from waypost.records.codec import encode
from waypost.surfaces.cli.main import COMMANDS

PROGRAM = str(Path(sys.executable).parent / "waypost")
ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")
#: What no text output may carry from a transcript: C0 and C1 controls, bidi controls, zero-width, tags.
ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
HOSTILE = (
    "\x1b[2J\x1b[31mred\x1b]0;owned\x07 \x1b]52;c;ZXZpbA==\x07 back\x08\x08\x08 bell\x07 \x9b31m c1 \x85"
    " \u202egnp.exe\u202c \u2066iso\u2069 zero\u200bwidth\ufeff \u200e\u200f\u061c line\u2028sep\u2029"
    " tag\U000e0041"
)


@dataclass(frozen=True)
class Home:
    """A home with a store in it, and the environment that makes the program use it."""

    folder: Path
    environment: Mapping[str, str]
    session: str


def environment_of(folder: Path) -> dict[str, str]:
    """Return an environment whose every folder lies in ``folder``."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "WAYPOST_HOME": str(folder / "waypost"),
        "TMPDIR": str(folder),
        "TZ": "UTC",
        "LANG": "C.UTF-8",
    }


def run(
    environment: Mapping[str, str], *words: str | bytes, stdin: str = "", cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the program with its output in pipes."""
    return subprocess.run(
        [PROGRAM, *words],
        input=stdin.encode(),
        capture_output=True,
        env={**environment, **more},
        cwd=cwd or environment["HOME"],
        timeout=120,
        check=False,
    )


def record_of(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """Return the one canonical record of a run, from the stream that its status says."""
    stream, other = (done.stdout, done.stderr) if done.returncode == 0 else (done.stderr, done.stdout)
    assert other == b"", f"expected nothing on the other stream, found {other[:300]!r}"
    assert stream.endswith(b"\n") and stream.count(b"\n") == 1, f"expected one line, found {stream[:500]!r}"
    found = json.loads(stream)
    assert encode(found) + b"\n" == stream, "the record is not in canonical form"
    assert found["schema_version"] == {"major": 1}
    if done.returncode == 0:
        assert set(found) == {"command", "data", "schema_version", "status"} and found["status"] == "ok"
    else:
        assert set(found) == {"command", "error", "schema_version", "status"} and found["status"] == "error"
        error = found["error"]
        assert set(error) - {"data"} == {"code", "hint", "message"} and error["message"]
        assert error["code"] in CODES
    return dict(found)


def refused(done: subprocess.CompletedProcess[bytes], status: int, code: str) -> dict[str, Any]:
    """Check a failure and return its error."""
    assert done.returncode == status, (done.returncode, done.stdout[:300], done.stderr[:600])
    error: dict[str, Any] = record_of(done)["error"]
    assert error["code"] == code
    return error


def hostile_transcript(folder: Path) -> None:
    """Write a Claude Code session in which every string that can be shown is hostile."""
    native = "11111111-2222-3333-4444-555555555555"
    common = {
        "sessionId": native,
        "version": "2.1.332",
        "cwd": f"/code/{HOSTILE}",
        "gitBranch": f"b{HOSTILE}",
        "userType": "external",
        "entrypoint": "cli",
        "isSidechain": False,
    }
    lines = [
        {
            **common,
            "type": "user",
            "uuid": "u1",
            "parentUuid": None,
            "timestamp": "2026-11-30T10:00:00.000Z",
            "message": {"role": "user", "content": f"please fix needle {HOSTILE}"},
        },
        {
            **common,
            "type": "assistant",
            "uuid": "a1",
            "parentUuid": "u1",
            "timestamp": "2026-11-30T10:00:05.000Z",
            "message": {
                "id": "msg_1",
                "role": "assistant",
                "model": f"model{HOSTILE}",
                "stop_reason": "tool_use",
                "content": [
                    {"type": "thinking", "thinking": f"hm {HOSTILE}"},
                    {"type": "text", "text": f"needle answer {HOSTILE}"},
                    {
                        "type": "tool_use",
                        "id": f"toolu_{HOSTILE}",
                        "name": f"Tool{HOSTILE}",
                        "input": {f"key{HOSTILE}": f"value {HOSTILE}", "command": f"echo {HOSTILE}"},
                    },
                    {
                        "type": "tool_use",
                        "id": f"bash_{HOSTILE}",
                        "name": "Bash",
                        "input": {"command": HOSTILE},
                    },
                ],
                "usage": {"input_tokens": 10, "output_tokens": 5},
            },
        },
        {
            **common,
            "type": "user",
            "uuid": "u2",
            "parentUuid": "a1",
            "timestamp": "2026-11-30T10:00:06.000Z",
            "message": {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": f"bash_{HOSTILE}",
                        "is_error": True,
                        "content": f"Exit code 1\nneedle {HOSTILE}",
                    }
                ],
            },
        },
        {**common, "type": f"new{HOSTILE}", "timestamp": "2026-11-30T10:00:07.000Z"},
    ]
    place = folder / ".claude" / "projects" / "-work" / f"{native}.jsonl"
    place.parent.mkdir(parents=True)
    place.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


@pytest.fixture(scope="module")
def made_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with the shipped sample and a hostile session in its store; not to be changed."""
    folder = tmp_path_factory.mktemp("contract") / "sam"
    folder.mkdir()
    import waypost.sample

    sample = Path(waypost.sample.__file__ or "").parent
    shutil.copytree(sample / "claude", folder / ".claude")
    shutil.copytree(sample / "codex", folder / ".codex")
    hostile_claude = folder / "hostile"
    hostile_transcript(hostile_claude)
    shutil.copytree(hostile_claude / ".claude", folder / ".claude", dirs_exist_ok=True)
    environment = environment_of(folder)
    done = run(environment, "ingest", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    found = run(environment, "sessions", "--limit", "1")
    return Home(folder, environment, record_of(found)["data"]["sessions"][0]["session"])


@pytest.fixture
def home(made_home: Home, tmp_path: Path) -> Home:
    """A copy of that home for a test that changes it."""
    folder = tmp_path / "sam"
    shutil.copytree(made_home.folder, folder)
    return Home(folder, environment_of(folder), made_home.session)


def invocations(session: str) -> dict[str, list[list[str]]]:
    """Return for every command argument lists with which it succeeds."""
    return {
        "quickstart": [[], ["--sample"], ["--jobs", "1"]],
        "sessions": [[], ["--limit", "2"], ["--harness", "codex"], ["--since", "900d"], ["--own"]],
        "session": [[session], [session[:12], "--turns"], [session, "--executions"], [session, "--events"]],
        "search": [
            ["needle"],
            ["idempotency key"],
            ["nothingatallhasthisword"],
            ["--role", "user", "needle"],
        ],
        "costs": [
            [],
            *(["--by", one] for one in ("week", "project", "model", "harness", "session")),
            ["--utc"],
        ],
        "ingest": [[], ["--claude", "nowhere"], ["--jobs", "2"]],
        "forget": [["--session", session, "--dry-run"], ["--older-than", "900d", "--dry-run"]],
        "key": [[], ["show"]],
        "doctor": [[], ["--deep"]],
        "watch": [["--once"]],
        "export": [[session], [session, "--format", "markdown"]],
    }


#: Commands whose standard output is a document or a stream of records.
DOCUMENTS = frozenset({"watch", "export"})
CASES = [(name, words) for name, lists in invocations("SESSION").items() for words in lists]


def filled(words: list[str], session: str) -> list[str]:
    """Return words with the session of the home in its place."""
    return [word.replace("SESSION", session) for word in words]


def case_id(case: object) -> str:
    """Return the words of a case."""
    return " ".join(case) if isinstance(case, list) else str(case)


def test_every_command_has_a_case_here() -> None:
    assert set(invocations("x")) == set(COMMANDS)


# -- success ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "words"), [case for case in CASES if case[0] not in DOCUMENTS], ids=case_id)
def test_a_success_is_one_canonical_record_on_standard_output(
    name: str, words: list[str], made_home: Home
) -> None:
    done = run(made_home.environment, name, *filled(words, made_home.session))
    assert done.returncode == 0, done.stderr[:600]
    found = record_of(done)
    assert found["command"] == name and found["data"]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in DOCUMENTS])
def test_the_record_is_the_same_wherever_the_mode_is_asked_for(name: str, made_home: Home) -> None:
    words = filled(invocations("SESSION")[name][0], made_home.session)
    before = run(made_home.environment, "--json", name, *words)
    after = run(made_home.environment, name, *words, "--json")
    last = run(made_home.environment, "--text", name, *words, "--json")
    shapes = [_shape(record_of(one)) for one in (before, after, last)]
    assert shapes[0] == shapes[1] == shapes[2]
    text = run(made_home.environment, name, "--text", *words)
    assert text.returncode == 0 and text.stderr == b""
    assert not text.stdout.startswith(b'{"command"')


def _shape(value: object) -> object:
    if isinstance(value, dict):
        return {name: _shape(item) for name, item in value.items() if name != "elapsed_ms"}
    return value


def test_a_mode_after_two_dashes_is_an_argument(made_home: Home) -> None:
    error = refused(run(made_home.environment, "session", "--", "--text"), 4, "session_not_found")
    assert "--text" in error["message"]
    found = record_of(run(made_home.environment, "search", "--", "--json"))
    assert found["command"] == "search"


def test_an_export_is_lines_of_canonical_json(made_home: Home) -> None:
    done = run(made_home.environment, "export", made_home.session)
    assert done.returncode == 0 and done.stderr == b""
    lines = done.stdout.splitlines()
    values = [json.loads(line) for line in lines]
    assert [encode(value) for value in values] == lines
    assert [value["kind"] for value in values] == ["session"] + ["turn"] * (len(values) - 1)
    assert len(values) > 2


def test_watching_gives_one_record_for_each_session_that_moved(tmp_path: Path) -> None:
    hostile_transcript(tmp_path)
    environment = environment_of(tmp_path)
    done = run(environment, "watch", "--once", "--json")
    assert done.returncode == 0
    found = record_of(done)
    assert found["command"] == "watch" and found["data"]["event"] == "session"
    assert run(environment, "watch", "--once", "--json").stdout == b""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_home_without_a_store_is_answered_and_not_made_by_looking(name: str, tmp_path: Path) -> None:
    environment = environment_of(tmp_path)
    words = {"session": ["ses_00000000"], "search": ["word"], "forget": ["--older-than", "1d"]}.get(name, [])
    words = words if name != "watch" else ["--once"]
    done = run(environment, name, *words)
    assert done.returncode == (4 if name == "session" else 0), done.stderr
    if name in ("sessions", "session", "search", "costs", "forget", "key", "doctor", "export"):
        assert not (tmp_path / "waypost").exists(), "looking made a home"


# -- plain text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [[], ["--help"], ["-h"], ["help"], ["--version"], ["-V"], ["--json", "--version"]]
)
def test_help_and_version_are_plain_text(words: list[str], tmp_path: Path) -> None:
    done = run(environment_of(tmp_path), *words)
    assert done.returncode == 0 and done.stderr == b""
    text = done.stdout.decode()
    assert text.startswith("waypost ") and text.endswith("\n") and "\x1b" not in text
    assert not (tmp_path / "waypost").exists()


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_the_help_of_a_command_is_plain_text(name: str, option: str, tmp_path: Path) -> None:
    done = run(environment_of(tmp_path), name, option, "--json", COLUMNS="80")
    assert done.returncode == 0 and done.stderr == b""
    text = done.stdout.decode()
    assert text.startswith(f"usage: waypost {name}") and "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80


# -- failure ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "meant"),
    [("sesions", "sessions"), ("serach", "search"), ("cost", "costs"), ("quikstart", "quickstart")],
)
def test_an_unknown_command_exits_2_and_suggests_the_near_one(word: str, meant: str, tmp_path: Path) -> None:
    error = refused(run(environment_of(tmp_path), word), 2, "bad_arguments")
    assert word in error["message"] and f"waypost {meant}" in error["hint"]


@pytest.mark.parametrize(
    "word",
    ["", "zzzzz", "--nope", "ünïcödé", "a" * 5000, b"\xff\xfe", "\x1b[31m", "../sessions", "{}"],
    ids=ascii,
)
def test_any_other_word_exits_2_with_one_record(word: str | bytes, tmp_path: Path) -> None:
    error = refused(run(environment_of(tmp_path), word), 2, "bad_arguments")
    assert error["hint"] and len(error["message"]) < 200


BAD_REQUESTS: list[tuple[list[str], str]] = [
    (["sessions", "--nope"], "bad_arguments"),
    (["sessions", "--limit", "x"], "bad_arguments"),
    (["sessions", "--limit", "-1"], "bad_arguments"),
    (["sessions", "--limit", "10001"], "bad_arguments"),
    (["sessions", "--harness", "emacs"], "bad_arguments"),
    (["sessions", "--since", "never"], "bad_time"),
    (["sessions", "--since", "²d"], "bad_time"),
    (["sessions", "--since", "0001-01-01"], "bad_time"),
    (["sessions", "--until", ""], "bad_time"),
    (["sessions", "--cursor", "x"], "bad_cursor"),
    (["sessions", "--cursor", ""], "bad_cursor"),
    (["sessions", "--cursor", "ünïcödé"], "bad_cursor"),
    (["sessions", "--cursor", base64.urlsafe_b64encode(b'[1e400,"x"]').decode()], "bad_cursor"),
    (["sessions", "--cursor", base64.urlsafe_b64encode(b'[%d,"x"]' % 10**30).decode()], "bad_cursor"),
    (["sessions", "--cursor", base64.urlsafe_b64encode(b"[" * 3000).decode()], "bad_cursor"),
    (["search", "--cursor", base64.urlsafe_b64encode(b"[-1]").decode(), "needle"], "bad_cursor"),
    (["search", "--cursor", base64.urlsafe_b64encode(b"[%d]" % 10**30).decode(), "needle"], "bad_cursor"),
    (["session"], "bad_arguments"),
    (["session", "SESSION", "extra"], "bad_arguments"),
    (["session", "SESSION", "--events", "--executions"], "bad_arguments"),
    (["session", "SESSION", "--cursor", "WzEsMiwzXQ"], "bad_cursor"),
    (["search"], "bad_arguments"),
    (["search", ""], "bad_query"),
    (["search", '"" !!'], "bad_query"),
    (["search", " ".join(f"w{number}" for number in range(40))], "bad_query"),
    (["search", "--role", "boss", "word"], "bad_arguments"),
    (["costs", "--by", "planet"], "bad_arguments"),
    (["forget"], "bad_arguments"),
    (["forget", "--session", "a", "--project", "b"], "bad_arguments"),
    (["forget", "--older-than", "soon"], "bad_time"),
    (["key", "burn"], "bad_arguments"),
    (["key", "restore"], "bad_recovery_code"),
    (["export", "--format", "pdf"], "bad_arguments"),
    (["ingest", "--jobs", "many"], "bad_arguments"),
]


@pytest.mark.parametrize(("words", "code"), BAD_REQUESTS, ids=lambda one: case_id(one)[:60])
def test_a_bad_request_exits_2(words: list[str], code: str, made_home: Home) -> None:
    error = refused(run(made_home.environment, *filled(words, made_home.session)), 2, code)
    assert error["hint"] or error["message"].startswith("expected"), f"no advice: {error['message']!r}"


NAMES = {
    "empty": "",
    "blank": " ",
    "word": "nosuch",
    "unicode": "sitzung-ü-日本語-🙂",
    "very long": "x" * 20_000,
    "only the prefix": "ses_",
    "short prefix": "ses_0",
    "garbage": "ses_!!!!!!!!!!!!!!!!!!!!!!!!!!",
    "well formed": "ses_" + "z" * 26,
    "capitals": "SES_ABCDEFGH",
    "like": "ses_%%%%%%%%",
    "underscores": "ses_________",
    "quote": "ses_' OR '1'='1",
    "glob": "ses_*[a-z]",
    "path": "../../etc/passwd",
    "absolute path": "/etc/passwd",
    "option": "--help",
    "escape": "\x1b[31mses_",
    "newline": "ses_\nabc",
    "turn": "trn_" + "0" * 36,
    "number": "0",
    "not text": b"ses_\xff\xfe\xff\xfe",
}
SOME_NAMES = ("empty", "word", "very long", "not text")


@pytest.mark.parametrize(
    ("command", "name"),
    [("session", name) for name in NAMES.values()]
    + [(command, NAMES[name]) for command in ("forget", "export") for name in SOME_NAMES],
    ids=lambda one: ascii(one)[:30],
)
def test_an_id_that_names_nothing_exits_4(command: str, name: str | bytes, made_home: Home) -> None:
    if command == "forget":
        words = ["--dry-run", b"--session=" + (name if isinstance(name, bytes) else name.encode())]
    else:
        words = ["--", name]
    error = refused(run(made_home.environment, command, *words), 4, "session_not_found")
    assert error["hint"] and len(error["message"]) < 400


@pytest.mark.parametrize(
    ("command", "name"),
    [("sessions", name) for name in NAMES.values()]
    + [(command, NAMES[name]) for command in ("search", "forget", "export") for name in SOME_NAMES],
    ids=lambda one: ascii(one)[:30],
)
def test_a_project_that_names_nothing_exits_4(command: str, name: str | bytes, made_home: Home) -> None:
    words: list[str | bytes] = [b"--project=" + (name if isinstance(name, bytes) else name.encode())]
    words += ["word"] if command == "search" else ["--dry-run"] if command == "forget" else []
    error = refused(run(made_home.environment, command, *words), 4, "project_not_found")
    assert error["hint"] and len(error["message"]) < 400


@pytest.mark.parametrize(
    "name", ["nosuch", "trn_", NAMES["turn"], NAMES["unicode"], NAMES["not text"]], ids=ascii
)
def test_a_turn_that_names_nothing_exits_4(name: str | bytes, made_home: Home) -> None:
    option = b"--around=" + (name if isinstance(name, bytes) else name.encode())
    refused(run(made_home.environment, "session", made_home.session, option), 4, "turn_not_found")


@pytest.mark.parametrize("place", ["--claude", "--codex"])
def test_a_folder_whose_name_is_no_text_is_answered_with_a_record(place: str, made_home: Home) -> None:
    done = run(made_home.environment, "ingest", place, b"/nowhere/\xff\xfe")
    assert record_of(done)["command"] == "ingest" and done.returncode == 0


def test_a_wrong_key_exits_3_and_changes_nothing(home: Home) -> None:
    key = home.folder / "waypost" / "waypost.key"
    key.write_text("ab" * 32 + "\n")
    store = home.folder / "waypost" / "store" / "waypost.db"
    before = store.read_bytes()
    refused(run(home.environment, "sessions"), 3, "key_wrong")
    assert store.read_bytes() == before and key.read_text() == "ab" * 32 + "\n"


def test_a_key_that_others_may_read_exits_3(home: Home) -> None:
    (home.folder / "waypost" / "waypost.key").chmod(0o644)
    error = refused(run(home.environment, "sessions"), 3, "key_permissions")
    assert "chmod 600" in error["hint"]


def test_a_missing_key_exits_3_and_no_other_takes_its_place(home: Home) -> None:
    key = home.folder / "waypost" / "waypost.key"
    store = home.folder / "waypost" / "store" / "waypost.db"
    before = store.read_bytes()
    key.unlink()
    for command in ("sessions", "ingest"):
        refused(run(home.environment, command), 3, "key_missing")
    assert not key.exists() and store.read_bytes() == before


def test_a_damaged_store_exits_10(home: Home) -> None:
    store = home.folder / "waypost" / "store" / "waypost.db"
    data = bytearray(store.read_bytes())
    for place in range(40_000, len(data), 4096):
        data[place] ^= 1
    store.write_bytes(data)
    refused(run(home.environment, "search", "needle"), 10, "store_damaged")


def test_a_bad_price_file_exits_2_and_names_it(home: Home) -> None:
    (home.folder / "waypost" / "prices.json").write_text('{"version": 1}')
    error = refused(run(home.environment, "costs"), 2, "bad_prices")
    assert "prices.json" in error["message"]


def test_a_reader_that_went_away_is_no_failure(made_home: Home) -> None:
    done = subprocess.run(
        f"'{PROGRAM}' export | head -c 10 >/dev/null; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        env=dict(made_home.environment),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


# -- text for people -------------------------------------------------------------------------------


def terminal(environment: Mapping[str, str], *words: str, columns: int, **more: str) -> tuple[int, str]:
    """Run the program in a terminal of so many columns; returns its status and all it wrote there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen(
        [PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "TERM": "xterm-256color", **more},
        cwd=environment["HOME"],
    )
    os.close(theirs)
    parts = []
    while select.select([ours], [], [], 60)[0]:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        parts.append(data)
    os.close(ours)
    return child.wait(60), b"".join(parts).decode("utf-8")


def cells(line: str) -> int:
    """Return how many cells a line takes, counted without the program's own help."""
    return sum(
        0
        if unicodedata.combining(one) or unicodedata.category(one) in ("Cf", "Mn", "Me")
        else 2
        if unicodedata.east_asian_width(one) in "WF"
        else 1
        for one in line
    )


def lines_of(text: str) -> list[str]:
    """Return lines as they stand on the screen: without colour, without what was wiped away again."""
    return [ESCAPE.sub("", line).rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "export"])
def test_a_page_fits_the_terminal(name: str, columns: int, made_home: Home) -> None:
    for case, words in CASES:
        if case != name:
            continue
        status, text = terminal(
            made_home.environment, name, *filled(words, made_home.session), columns=columns
        )
        assert status == 0, text
        wide = [line for line in lines_of(text) if cells(line) > columns]
        assert not wide, f"{name} {words} at {columns} columns: {wide[:3]}"


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_failure_is_two_readable_lines_on_a_terminal(columns: int, made_home: Home) -> None:
    status, text = terminal(made_home.environment, "session", "nosuch", columns=columns)
    assert status == 4
    lines = [line for line in lines_of(text) if line]
    assert lines[0].startswith("waypost session: ") and lines[1].strip().startswith("→")
    assert "Traceback" not in text and "{" not in text


@pytest.mark.parametrize(("name", "words"), CASES, ids=case_id)
@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_colour_can_be_switched_off(
    name: str, words: list[str], more: dict[str, str], made_home: Home
) -> None:
    status, text = terminal(
        made_home.environment, name, *filled(words, made_home.session), columns=100, **more
    )
    assert status == 0, text
    found = ESCAPE.findall(text)
    if "NO_COLOR" in more and name in ("ingest", "quickstart", "watch"):
        # A progress bar moves the cursor; it may not colour.
        found = [one for one in found if one.endswith("m")]
    assert not found, f"{name} {words}: {sorted(set(found))[:5]}"


@pytest.mark.parametrize(
    ("name", "words"), [case for case in CASES if case != ("export", ["SESSION"])], ids=case_id
)
def test_what_a_transcript_says_cannot_act_on_a_terminal(
    name: str, words: list[str], made_home: Home
) -> None:
    """The hostile session is the newest, so its title, project, model, tool and text are on these pages."""
    done = run(made_home.environment, name, "--text", *filled(words, made_home.session), COLUMNS="200")
    assert done.returncode == 0, done.stderr
    found = ACTING.findall(done.stdout.decode("utf-8"))
    assert not found, f"{name} {words} shows {sorted(set(map(ascii, found)))}"


def test_the_hostile_words_are_there_to_be_seen(made_home: Home) -> None:
    done = run(made_home.environment, "session", made_home.session, "--turns", "--text", COLUMNS="200")
    text = done.stdout.decode()
    assert "\\x1b[31mred" in text and "\\u202e" in text and "\\u200b" in text and "\\x9b" in text


def test_canonical_json_carries_hostile_words_escaped_and_whole(made_home: Home) -> None:
    done = run(made_home.environment, "session", made_home.session)
    assert b"\x1b" not in done.stdout and b"\x07" not in done.stdout
    turns = record_of(done)["data"]["turns"]
    assert turns[0]["text"] == f"please fix needle {HOSTILE}"


def test_a_watch_line_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    hostile_transcript(tmp_path)
    done = run(environment_of(tmp_path), "watch", "--once", "--text")
    assert done.returncode == 0 and done.stdout
    assert not ACTING.findall(done.stdout.decode("utf-8"))


def test_an_ingest_page_names_unknown_types_without_acting(tmp_path: Path) -> None:
    hostile_transcript(tmp_path)
    done = run(environment_of(tmp_path), "ingest", "--text")
    assert b"new" in done.stdout and not ACTING.findall(done.stdout.decode("utf-8"))


def test_an_error_message_cannot_act_on_a_terminal(made_home: Home) -> None:
    for words in (
        ["session", HOSTILE.replace("\0", "")],
        [HOSTILE],
        ["sessions", "--project", f"nosuch{HOSTILE}"],
    ):
        done = run(made_home.environment, "--text", *words)
        assert done.returncode in (2, 4)
        assert not ACTING.findall(done.stderr.decode("utf-8")), words
