"""``waypost.toml``: a project's choices. Read, never executed; unknown keys are errors.

Known so far::

    [privacy]
    capture = false     # no session of this project is read into the store
"""

from __future__ import annotations

import tomllib
from typing import NamedTuple

from waypost.errors import UsageError


class Configuration(NamedTuple):
    """A project's choices, with their defaults."""

    capture: bool = True


def parse_configuration(text: str, *, where: str) -> Configuration:
    """Read a configuration file. Errors: ``bad_configuration`` with file and key.

    ``capture`` may stand at the top of the file or below ``[privacy]``.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError("bad_configuration", f"{where} is no TOML: {error}") from None
    privacy = table.pop("privacy", {})
    if not isinstance(privacy, dict):
        raise UsageError("bad_configuration", f"{where}: expected a table at privacy")
    values: dict[str, object] = {}
    for prefix, source in (("", table), ("privacy.", privacy)):
        for name, value in source.items():
            if name != "capture":
                raise UsageError(
                    "bad_configuration",
                    f"{where}: unknown key {prefix}{name}",
                    hint="known keys: privacy.capture",
                )
            values[prefix + name] = value
    for name, value in values.items():
        if not isinstance(value, bool):
            raise UsageError("bad_configuration", f"{where}: expected true or false at {name}")
    return Configuration(capture=all(bool(value) for value in values.values()))
