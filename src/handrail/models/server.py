"""A scripted model on loopback. Each protocol has its own module beside this file and renders the same turns.

Every request of the conversation gets the next turn of the script. Side requests (titles, routers, token counts) get no
turn. All requests are recorded.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

from handrail.models.turn import Json, Turn

LARGEST = 64 * 1024 * 1024
MOST_REQUESTS = 1000
LONGEST = 120.0

Event: TypeAlias = tuple[str, Json | str]
"""One event of a stream: its name (may be empty) and its data."""


class Received(NamedTuple):
    """A received request. `at` is a time of the monotonic clock."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json
    side: bool
    at: float

    @property
    def text(self) -> str:
        """Every text of the request, without keys."""
        return "\n".join(_texts(self.body))


class Error(NamedTuple):
    """The response of the service if it refuses a request."""

    body: Json
    headers: Mapping[str, str]


class Scripted(ABC):
    """The server. Use it as a context manager, or call `close`."""

    version: ClassVar[str] = ""
    """The path that clients expect after the address."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = deque(turns)
        self.requests: list[Received] = []
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.server = _Server(("127.0.0.1", 0), type("BoundHandler", (_Handler,), {"scripted": self}))
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}{self.version}"

    def script(self, *turns: Turn) -> None:
        """Set the next turns of the model."""
        with self.lock:
            self.turns = deque(turns)

    def close(self) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.hang_up()
        self.server.server_close()
        self.thread.join(5)

    def received(self) -> list[Received]:
        """The requests of the conversation, in order."""
        with self.lock:
            return [request for request in self.requests if not request.side]

    def answer(self, request: Received) -> Turn | Json:
        """The next turn, or the answer to a side request. Both record the request."""
        aside = self.side(request)
        with self.lock:
            if len(self.requests) >= MOST_REQUESTS:
                return Turn(status=500)
            self.requests.append(request._replace(side=aside is not None))
            if aside is not None:
                return aside
            return self.turns.popleft() if self.turns else Turn("(the script is over)")

    def conversation(self, request: Received) -> str | None:
        """The id of the conversation that a request belongs to. None if the protocol does not say."""
        del request
        return None

    @abstractmethod
    def side(self, request: Received) -> Turn | Json | None:
        """The answer to a side request. A plain object is sent unchanged."""

    @abstractmethod
    def whole(self, request: Received, turn: Turn) -> Json:
        """The answer in one piece."""

    @abstractmethod
    def opening(self, whole: Json, turn: Turn) -> Iterator[Event]:
        """The stream of an answer without its final events."""

    @abstractmethod
    def ending(self, whole: Json) -> Iterator[Event]:
        """The final events of the stream."""

    @abstractmethod
    def error(self, turn: Turn) -> Error:
        """The body and the headers of an error."""

    def streams(self, request: Received) -> bool:
        return bool(request.body.get("stream"))


class _Server(ThreadingHTTPServer):
    """Tracks its open connections, so that closing the server also closes them."""

    daemon_threads = True

    def __init__(self, *argv: Any) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(*argv)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: clients may close the connection at any time."""

    def hang_up(self) -> None:
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Handler(BaseHTTPRequestHandler):
    """Answers one request per connection."""

    scripted: Scripted
    protocol_version = "HTTP/1.1"
    server_version = "scripted"
    sys_version = ""
    timeout = LONGEST

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Print nothing."""

    def do_HEAD(self) -> None:
        self.reply({})

    def do_GET(self) -> None:
        self.take({})

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        if size > LARGEST:
            return self.reply({"error": {"message": "too large"}}, 413)
        try:
            body = json.loads(self.rfile.read(size) or b"{}")
        except ValueError:
            return self.reply({"error": {"message": "not JSON"}}, 400)
        return self.take(body)

    def take(self, body: Json) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Received(self.command, self.path, headers, body, False, time.monotonic())
        answer = self.scripted.answer(request)
        if not isinstance(answer, Turn):
            return self.reply(answer)
        if answer.before is not None:
            answer.before()
        self.pause(answer.delay)
        if answer.status != 200:
            error = self.scripted.error(answer)
            return self.reply(error.body, answer.status, {**error.headers, **answer.headers})
        if answer.drop and not answer.text and not answer.tools:
            return self.hang_up()
        whole = self.scripted.whole(request, answer)
        return self.stream(whole, answer) if self.scripted.streams(request) else self.reply(whole)

    def reply(self, value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        kind = {"content-type": "application/json", "content-length": str(len(data)), "connection": "close"}
        for name, text in {**kind, **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def stream(self, whole: Json, turn: Turn) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in self.scripted.opening(whole, turn):
            self.event(*event)
            self.pause(turn.slow)
        if turn.hang:
            self.pause(LONGEST)
        if turn.hang or turn.drop:
            return self.hang_up()
        for event in self.scripted.ending(whole):
            self.event(*event)
        return None

    def event(self, name: str, data: Json | str) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode())
        self.wfile.flush()

    def pause(self, seconds: float) -> None:
        """Sleep until the time is over or the server closes."""
        if seconds:
            self.scripted.closing.wait(min(seconds, LONGEST))

    def hang_up(self) -> None:
        """Reset the connection without the end that the protocol requires."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.connection.close()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
