"""The closed list of failures, each with its code, exit status, HTTP status and hint.

A class says who must act; ``code`` says what happened. Negative results that a flow can go on with
are values, not exceptions. The command line prints an error as one canonical record and exits with
``exit_status``; the web and MCP faces use ``http_status``.

| class              | exit | HTTP | who acts                                        |
| ------------------ | ---: | ---: | ----------------------------------------------- |
| UsageError         |    2 |  400 | the caller corrects the request                 |
| RefusedError       |    3 |  409 | a person decides: a safety rule or conflict     |
| SchemaError        |    3 |  409 | the program is upgraded, or the record repaired |
| NotFoundError      |    4 |  404 | the caller names something that exists          |
| VerificationError  |    5 |  422 | the change is corrected                         |
| MachineError       |   10 |  503 | the machine is mended: disk, key, store, tool   |
| InternalError      |   10 |  500 | us                                              |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class WaypostError(Exception):
    """A failure that ends the flow.

    ``code``: stable lower_snake_case word. ``message``: what was expected, what was found, where.
    ``hint``: what to do next. ``data``: what a success would have shown, as far as it got.
    """

    exit_status: ClassVar[int] = 10
    http_status: ClassVar[int] = 500

    def __init__(
        self, code: str, message: str, *, hint: str = "", data: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.data = data


class UsageError(WaypostError):
    """The request itself is wrong: an unknown option, a malformed value, a bad configuration file."""

    exit_status = 2
    http_status = 400


class RefusedError(WaypostError):
    """A safety rule or a conflict stops us; nothing was changed."""

    exit_status = 3
    http_status = 409


class SchemaError(WaypostError):
    """A stored record or store has a schema this program does not know; nothing was changed."""

    exit_status = 3
    http_status = 409


class NotFoundError(WaypostError):
    """An id, path or name that names nothing."""

    exit_status = 4
    http_status = 404


class VerificationError(WaypostError):
    """The verification ran and did not pass."""

    exit_status = 5
    http_status = 422


class MachineError(WaypostError):
    """The machine would not do what was asked: no space, no permission, a damaged store, a missing tool."""

    exit_status = 10
    http_status = 503


class InternalError(WaypostError):
    """A mistake of ours. The message names the exception; the traceback goes to the log on request."""

    exit_status = 10
    http_status = 500


#: Every error code in use, with the class that carries it. A test compares this table with the
#: source and with the documentation.
CODES: Mapping[str, type[WaypostError]] = {
    "bad_arguments": UsageError,
    "bad_configuration": UsageError,
    "bad_cursor": UsageError,
    "bad_prices": UsageError,
    "bad_query": UsageError,
    "bad_recovery_code": UsageError,
    "bad_time": UsageError,
    "confirmation_needed": RefusedError,
    "key_exists": RefusedError,
    "key_missing": RefusedError,
    "key_permissions": RefusedError,
    "key_wrong": RefusedError,
    "project_ambiguous": RefusedError,
    "store_newer": SchemaError,
    "store_unencrypted": RefusedError,
    "record_schema": SchemaError,
    "command_not_found": NotFoundError,
    "project_not_found": NotFoundError,
    "session_not_found": NotFoundError,
    "turn_not_found": NotFoundError,
    "cipher_missing": MachineError,
    "home_unusable": MachineError,
    "ingest_busy": MachineError,
    "keyring_unavailable": MachineError,
    "store_busy": MachineError,
    "store_damaged": MachineError,
    "store_full": MachineError,
    "internal": InternalError,
    "interrupted": MachineError,
}
