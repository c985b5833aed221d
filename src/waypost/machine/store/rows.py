"""Rows out of the engine: the one place where a value's type is taken on trust."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw


def fetch(
    connection: apsw.Connection, statement: str, values: Sequence[int | str | bytes | None] = ()
) -> list[tuple[Any, ...]]:
    """Run a query and return all its rows. Column types are those of the migrations."""
    return connection.execute(statement, values).fetchall()
