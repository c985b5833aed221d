"""The HTTP server: loopback only, one scenario, both APIs on one port."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, cast
from urllib.parse import urlsplit

from mockmodel import anthropic_api, openai_api
from mockmodel.player import Pick, Player, Report
from mockmodel.requestlog import Exchange, RequestLog
from mockmodel.scenario import Fault, HttpError, Json, Scenario, ScenarioError, load_scenario
from mockmodel.wire import Rendered, RequestView, SseEvent, fill

ADMIN = "/__mock__"
_MESSAGES = "/v1/messages"
_RESPONSES = "/v1/responses"


class MockModel:
    """A running mock. Use it as a context manager::

    with MockModel(load_scenario("fix.yaml")) as mock:
        subprocess.run([...], env={"ANTHROPIC_BASE_URL": mock.url, ...})
        mock.require_ok()

    ``tag`` goes into every response, message and call id. Ids count from one in every
    server, so sessions that share a home need a tag each: readers join on these ids.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path,
        *,
        port: int = 0,
        variables: Mapping[str, str] | None = None,
        log_path: str | Path | None = None,
        tag: str = "mock",
    ) -> None:
        if not isinstance(scenario, Scenario):
            scenario = load_scenario(scenario)
        self.player = Player(scenario, variables)
        self.log = RequestLog(log_path)
        self.tag = tag
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.mock = self
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Base address. Codex wants ``url + "/v1"``, Claude Code ``url`` itself."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> MockModel:
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        self.stopping.set()
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join(timeout=5)
            self._thread = None
        self._server.server_close()

    def __enter__(self) -> MockModel:
        return self.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.stop()

    def report(self) -> Report:
        return self.player.report()

    def requests(self, path_prefix: str = "") -> list[Exchange]:
        """The exchanges so far, the mock's own admin calls left out."""
        return [
            item
            for item in self.log.items()
            if item.path.startswith(path_prefix) and not item.path.startswith(ADMIN)
        ]

    def require_ok(self) -> None:
        """Raise ``AssertionError`` unless the whole scenario was played as written."""
        report = self.report()
        if not report.ok:
            raise AssertionError(json.dumps(report.as_json(), indent=2))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    mock: MockModel

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is normal here; anything else is a problem to report."""
        import sys

        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            self.mock.player.note(f"server error: {error!r}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "mockmodel"

    # -- plumbing ----------------------------------------------------------

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Silent: the request log is the log."""

    @property
    def mock(self) -> MockModel:
        return cast(_Server, self.server).mock

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _read_body(self) -> Json:
        length = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(length) if length else b""
        raw = _decompress(raw, (self.headers.get("content-encoding") or "").lower())
        if not raw:
            return None
        try:
            return json.loads(raw)
        except ValueError:
            return {"__unparsed__": raw[:2000].decode("utf-8", "replace")}

    def _send_json(self, exchange: Exchange, status: int, body: Json, **headers: str) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        exchange.status = status
        exchange.response = body
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        # Logged first, so that a client which has its answer also finds it in the log.
        self.mock.log.close(exchange, "answered")
        if self.command != "HEAD":
            self.wfile.write(data)

    # -- routes ------------------------------------------------------------

    def do_HEAD(self) -> None:
        exchange = self.mock.log.open("HEAD", self.path, self._headers(), None)
        self._send_json(exchange, 200, None)

    def do_GET(self) -> None:
        exchange = self.mock.log.open("GET", self.path, self._headers(), None)
        path = urlsplit(self.path).path
        if path == f"{ADMIN}/health":
            self._send_json(exchange, 200, {"scenario": self.mock.player.scenario.name})
        elif path == f"{ADMIN}/report":
            self._send_json(exchange, 200, self.mock.report().as_json())
        elif path == "/v1/models":
            api = anthropic_api if "anthropic-version" in self._headers() else openai_api
            self._send_json(exchange, 200, api.models())
        else:
            self._send_json(exchange, 404, {"error": {"message": f"mockmodel: no GET {path}"}})

    def do_POST(self) -> None:
        body = self._read_body()
        exchange = self.mock.log.open("POST", self.path, self._headers(), body)
        path = urlsplit(self.path).path
        if path == _MESSAGES:
            self._answer(exchange, anthropic_api)
        elif path == _RESPONSES:
            self._answer(exchange, openai_api)
        elif path == f"{_MESSAGES}/count_tokens":
            self._send_json(exchange, 200, anthropic_api.count_tokens(body or {}))
        elif path == f"{ADMIN}/reset":
            self.mock.player.reset()
            self._send_json(exchange, 200, {"reset": True})
            self.mock.log.clear()
        else:
            self._send_json(exchange, 404, {"error": {"message": f"mockmodel: no POST {path}"}})

    # -- model calls -------------------------------------------------------

    def _answer(self, exchange: Exchange, api: ModuleType) -> None:
        if not isinstance(exchange.body, Mapping) or "__unparsed__" in exchange.body:
            self.mock.player.note(f"unreadable body on {exchange.path}", exchange.seq)
            self._refuse(exchange, api, "unreadable request body")
            return
        view: RequestView = api.view(exchange.body, exchange.headers)
        pick = self.mock.player.pick(view)
        exchange.lane, exchange.turn = pick.lane, pick.index
        if pick.turn is None:
            self._refuse(exchange, api, pick.refusal or "refused")
            return
        if pick.turn.delay:
            self.mock.stopping.wait(pick.turn.delay)
        if pick.turn.error is not None:
            error = pick.turn.error
            self._send_json(exchange, error.status, api.error_body(error), **error.headers)
            return
        try:
            rendered = self._render(api, pick, view)
        except (ScenarioError, KeyError, TypeError) as err:
            self.mock.player.note(f"cannot render turn: {err!r}", pick.number)
            self._refuse(exchange, api, f"cannot render turn: {err!r}")
            return
        exchange.response = api.whole(rendered)
        exchange.usage = rendered.usage
        if view.stream:
            self._stream(exchange, api, rendered)
        elif rendered.turn.fault is not None:
            self._break_whole(exchange, api, rendered.turn.fault)
        else:
            self._send_json(exchange, 200, exchange.response)

    def _render(self, api: ModuleType, pick: Pick, view: RequestView) -> Rendered:
        turn, scenario = pick.turn, self.mock.player.scenario
        assert turn is not None
        calls = tuple(
            api.lower(
                action, fill(action.args, pick.variables), api.call_id(self.mock.tag, pick.number, i), view
            )
            for i, action in enumerate(turn.actions)
        )
        return Rendered(
            number=pick.number,
            turn=turn,
            tag=self.mock.tag,
            model=view.model or "mock-model",
            text=cast(str, fill(turn.text, pick.variables)),
            reasoning=cast(str, fill(turn.reasoning, pick.variables)),
            calls=calls,
            usage=turn.usage or scenario.usage,
            chunk_chars=scenario.chunk_chars,
        )

    def _refuse(self, exchange: Exchange, api: ModuleType, why: str) -> None:
        """An error that the client does not retry, naming what the scenario did not foresee."""
        error = HttpError(api.REFUSAL_STATUS, "invalid_request_error", f"mockmodel: {why}")
        self._send_json(exchange, error.status, api.error_body(error))

    def _stream(self, exchange: Exchange, api: ModuleType, rendered: Rendered) -> None:
        exchange.status = 200
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        fault = rendered.turn.fault
        outcome = "answered" if fault is None else "faulted"
        alive = True
        try:
            for event in cast(Iterator[SseEvent], api.events(rendered)):
                if fault is not None and exchange.events >= fault.after_events:
                    self._break(api, fault.kind, fault.seconds)
                    break
                if exchange.events and rendered.turn.chunk_delay:
                    self.mock.stopping.wait(rendered.turn.chunk_delay)
                self._chunk(event.encode())
                exchange.events += 1
        except (ConnectionError, TimeoutError):
            outcome = "faulted" if fault and fault.kind == "disconnect" else "client_closed"
            alive = False
            self.close_connection = True
        self.mock.log.close(exchange, outcome)
        if alive:
            self._chunk(b"")

    def _break(self, api: ModuleType, kind: str, seconds: float) -> None:
        """Act out a scripted fault in place of the rest of the stream."""
        if kind == "disconnect":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError("scripted disconnect")
        if kind == "malformed":
            self._chunk(b"event: response.completed\ndata: {this is not json\n\n")
        elif kind == "error_event":
            self._chunk(api.error_event("scripted stream error").encode())
        elif kind == "stall":
            self._stall(seconds)
        # "truncate": nothing more; the stream ends cleanly but too early.

    def _break_whole(self, exchange: Exchange, api: ModuleType, fault: Fault) -> None:
        """Act out a fault on a request that asked for no stream (Claude Code's fallback)."""
        if fault.kind == "error_event":
            error = HttpError(529, "overloaded_error", "scripted stream error")
            self._send_json(exchange, error.status, api.error_body(error))
            return
        outcome = "faulted"
        try:
            if fault.kind == "stall":
                self._stall(fault.seconds)
            elif fault.kind in ("malformed", "truncate"):
                data = b"{this is not json" if fault.kind == "malformed" else b'{"type":'
                exchange.status = 200
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data) + 2 * (fault.kind == "truncate")))
                self.end_headers()
                self.wfile.write(data)
        except (ConnectionError, TimeoutError):
            outcome = "client_closed"
        self.close_connection = True
        self.mock.log.close(exchange, outcome)

    def _stall(self, seconds: float) -> None:
        """Send nothing until the time is up, the client leaves or the mock stops."""
        deadline = time.monotonic() + seconds
        self.connection.settimeout(0.1)
        while time.monotonic() < deadline and not self.mock.stopping.is_set():
            try:
                if self.connection.recv(1, socket.MSG_PEEK) == b"":
                    raise ConnectionAbortedError("client left")
            except TimeoutError:
                continue
        self.connection.settimeout(None)

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def _decompress(raw: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(raw)
    if encoding == "deflate":
        return zlib.decompress(raw)
    return raw
