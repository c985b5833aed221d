"""Runs one command: arguments, world, store, output record, error boundary."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, Protocol

from waypost.errors import InternalError, MachineError, UsageError, WaypostError
from waypost.records.codec import encode
from waypost.surfaces.cli.main import COMMANDS

if TYPE_CHECKING:
    from waypost.flows.app import App
    from waypost.surfaces.cli.screen import Screen


NAME_CHARACTERS_MAX: Final = 60


class Result(NamedTuple):
    """What a command found: the record's data, and how to show it to a person."""

    data: Mapping[str, object]
    show: Callable[[Screen], None]


class Document(NamedTuple):
    """A command whose standard output is a document or a stream of its own."""

    write: Callable[[], int]


class Command(Protocol):
    """A module of the command line."""

    def configure(self, name: str, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""

    def run(self, name: str, app: App, arguments: argparse.Namespace, mode: str) -> Result | Document:
        """Do it."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError("bad_arguments", message, hint=f"{self.prog} --help")


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return the parser of a command."""
    module = importlib.import_module(f"waypost.surfaces.cli.{COMMANDS[name][0]}")
    parser = _Parser(
        prog=f"waypost {name}",
        description=COMMANDS[name][1][0].upper() + COMMANDS[name][1][1:] + ".",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.configure(name, parser)
    return parser


def _record(name: str, data: Mapping[str, object]) -> bytes:
    record = {"command": name, "data": data, "schema_version": {"major": 1}, "status": "ok"}
    return _encoded(record)


def _encoded(record: object) -> bytes:
    """Encode a record; text that is none (a path with other bytes) is shown with question marks."""
    try:
        return encode(record) + b"\n"  # type: ignore[arg-type]
    except UnicodeEncodeError:
        return encode(_clean(record)) + b"\n"  # type: ignore[arg-type]


def _clean(value: object) -> object:
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, Mapping):
        return {_plain(str(name)): _clean(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


def _plain(text: str) -> str:
    """Return text as a record may carry it: arguments can hold bytes that are no text."""
    return text.encode("utf-8", "replace").decode()


def error_record(name: str, error: WaypostError) -> bytes:
    """Return the canonical record of a failure."""
    body: dict[str, object] = {
        "code": error.code,
        "hint": _plain(error.hint),
        "message": _plain(error.message),
    }
    if error.data is not None:
        body["data"] = error.data
    record = {"command": _plain(name), "error": body, "schema_version": {"major": 1}, "status": "error"}
    return _encoded(record)


def _write(stream_number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(stream_number, view) :]


def run(name: str, words: Sequence[str], mode: str | None) -> int:
    """Run a command with its arguments; prints one record and returns the exit status."""
    out_mode = mode or ("text" if sys.stdout.isatty() else "json")
    error_mode = mode or ("text" if sys.stderr.isatty() else "json")
    try:
        return _run(name, words, out_mode)
    except WaypostError as error:
        failure = error
    except KeyboardInterrupt:
        failure = MachineError(
            "interrupted", "stopped on request; what was read is kept", hint="run it again to go on"
        )
    except BrokenPipeError:
        # The reader went away (head, less): not our failure. Keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except MemoryError:
        failure = MachineError("store_full", "not enough memory")
    except OSError as error:
        failure = MachineError(
            "home_unusable",
            f"{error.strerror or error}: {error.filename or 'unknown file'}",
            hint="waypost doctor looks at folders, keys and the store",
        )
    except Exception as error:
        if os.environ.get("WAYPOST_TRACEBACK"):
            raise
        failure = InternalError(
            "internal",
            f"a mistake of ours: {type(error).__name__}: {error}",
            hint="set WAYPOST_TRACEBACK=1 and run it again to see where; please report it",
        )
    _report(name, failure, error_mode)
    return failure.exit_status


def _report(name: str, failure: WaypostError, mode: str) -> None:
    sys.stdout.flush()
    if mode == "json":
        _write(2, error_record(name, failure))
        return
    from waypost.rules.display import neutralise

    lines = [f"waypost {neutralise(name[:NAME_CHARACTERS_MAX])}: {neutralise(failure.message)}"]
    if failure.hint:
        lines.append(f"  → {neutralise(failure.hint)}")
    _write(2, ("\n".join(lines) + "\n").encode("utf-8", "replace"))


def _run(name: str, words: Sequence[str], mode: str) -> int:
    if name not in COMMANDS:
        raise _unknown(name)
    parser = parser_of(name)
    arguments = parser.parse_args(list(words))
    from waypost.flows.app import opened, real_world

    module = importlib.import_module(f"waypost.surfaces.cli.{COMMANDS[name][0]}")
    with opened(real_world()) as app:
        result = module.run(name, app, arguments, mode)
        if isinstance(result, Document):
            return result.write()
        assert isinstance(result, Result)
        if mode == "json":
            _write(1, _record(name, result.data))
        else:
            from waypost.surfaces.cli.screen import Screen

            result.show(Screen())
    return 0


def _unknown(name: str) -> UsageError:
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean: waypost {close[0]}" if close else "waypost --help lists the commands"
    shown = name[:NAME_CHARACTERS_MAX]
    return UsageError("bad_arguments", f"there is no command {shown!r}", hint=hint)
