"""A record of every HTTP exchange, in memory and (if asked) as JSON Lines on disk."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mockmodel.scenario import Json, Usage

_SECRET_HEADERS = frozenset({"authorization", "x-api-key", "proxy-authorization", "cookie"})


@dataclass(slots=True)
class Exchange:
    """One request and what was answered.

    ``outcome`` is ``answered``, ``client_closed`` (it hung up before the end),
    ``faulted`` (a scripted fault ended it) or ``open`` (still being answered).
    ``usage`` is what the answer's tokens were said to be; :mod:`mockmodel.billing`
    decides what of it counts.
    """

    seq: int
    at: float
    method: str
    path: str
    headers: Mapping[str, str]
    body: Json
    lane: str | None = None
    turn: int | None = None
    status: int = 0
    events: int = 0
    outcome: str = "open"
    seconds: float = 0.0
    response: Json = field(default=None)
    usage: Usage | None = None


class RequestLog:
    """Collects exchanges. Credentials in headers are masked before anything is kept."""

    def __init__(self, path: str | Path | None = None) -> None:
        self._lock = threading.Lock()
        self._path = None if path is None else Path(path)
        self._items: list[Exchange] = []

    def open(self, method: str, path: str, headers: Mapping[str, str], body: Json) -> Exchange:
        with self._lock:
            exchange = Exchange(
                seq=len(self._items) + 1,
                at=time.time(),
                method=method,
                path=path,
                headers={k.lower(): _masked(k, v) for k, v in headers.items()},
                body=body,
            )
            self._items.append(exchange)
            return exchange

    def close(self, exchange: Exchange, outcome: str) -> None:
        exchange.outcome = outcome
        exchange.seconds = round(time.time() - exchange.at, 4)
        if self._path is None:
            return
        line = json.dumps(asdict(exchange), ensure_ascii=False)
        with self._lock, self._path.open("a", encoding="utf-8") as out:
            out.write(line + "\n")

    def items(self) -> list[Exchange]:
        with self._lock:
            return list(self._items)

    def clear(self) -> None:
        with self._lock:
            self._items.clear()


def _masked(name: str, value: str) -> str:
    return f"<{len(value)} characters>" if name.lower() in _SECRET_HEADERS else value
