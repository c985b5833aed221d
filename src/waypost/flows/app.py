"""The composition root: the world, the store, the readers, the prices.

``World`` is everything that differs between a run and its replay: clock, randomness, environment,
working directory, home. Flows get it as an argument and look at nothing else.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from waypost.errors import MachineError

if TYPE_CHECKING:
    from waypost.machine.store.database import Store
    from waypost.rules.prices import PriceTable


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class World(NamedTuple):
    """What a run finds outside itself."""

    home: Path
    cwd: Path
    environment: Mapping[str, str]
    now_ms: Callable[[], int] = _now_ms
    monotonic: Callable[[], float] = time.monotonic
    randomness: Callable[[int], bytes] = os.urandom
    cpus: int = 2

    @property
    def user_home(self) -> Path:
        """The person's home folder."""
        return Path(self.environment.get("HOME") or "/")


def default_home(environment: Mapping[str, str]) -> Path:
    """Return ``WAYPOST_HOME``, else the platform's data folder for this program."""
    stated = environment.get("WAYPOST_HOME")
    if stated:
        return Path(stated)
    home = Path(environment.get("HOME") or "/")
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "waypost"
    data = environment.get("XDG_DATA_HOME")
    base = Path(data) if data and Path(data).is_absolute() else home / ".local" / "share"
    return base / "waypost"


def real_world() -> World:
    """Return the world of this process."""
    environment = dict(os.environ)
    cwd = Path.cwd()
    home = default_home(environment)
    return World(
        home=home if home.is_absolute() else cwd / home,
        cwd=cwd,
        environment=environment,
        cpus=os.cpu_count() or 1,
    )


class App:
    """What flows work with; opened on first use, closed by ``close``."""

    def __init__(self, *, world: World) -> None:
        self.world = world
        self._store: Store | None = None

    def store(self) -> Store | None:
        """Return the store, or None where none was made yet."""
        return self._open(create=False)

    def made_store(self) -> Store:
        """Return the store, making it with its key where there is none."""
        store = self._open(create=True)
        if store is None:
            raise MachineError("store_damaged", "the store could not be made")
        return store

    def _open(self, *, create: bool) -> Store | None:
        from waypost.machine.store.database import open_store

        if self._store is None:
            self._store = open_store(self.world.home, create=create)
        return self._store

    def prices(self) -> PriceTable:
        """Return the shipped price table with a person's ``prices.json`` in the home over it."""
        from waypost.machine.files import package_file
        from waypost.rules.prices import PriceTable, parse_prices

        shipped = package_file("waypost.rules", "prices.json")
        override = None
        path = self.world.home / "prices.json"
        with contextlib.suppress(FileNotFoundError):
            override = parse_prices(path.read_bytes(), where=str(path))
        return PriceTable(parse_prices(shipped or b"", where="prices.json"), override)

    def close(self) -> None:
        """Close what was opened."""
        if self._store is not None:
            self._store.close()
            self._store = None


@contextlib.contextmanager
def opened(world: World) -> Iterator[App]:
    """Give an app and close it afterwards."""
    app = App(world=world)
    try:
        yield app
    except Exception as error:
        if type(error).__module__ != "apsw":
            raise
        from waypost.machine.store.database import guarded

        with guarded():
            raise
    finally:
        app.close()
