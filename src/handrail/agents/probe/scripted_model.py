"""A scripted model on loopback, and its turns. `protocols` has one class per protocol.

Every request of the conversation gets the next turn of the script. Side requests (titles, routers, token counts) get
no turn. All requests are recorded.
"""

from __future__ import annotations

import json
import shlex
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

Json: TypeAlias = dict[str, Any]
ScriptedCall: TypeAlias = tuple[str, Json | str]
StreamEvent: TypeAlias = tuple[str, Json | str]
"""One event of a stream: its name (may be empty) and its data."""


class Usage(NamedTuple):
    """Tokens of one request. `input` is the whole prompt; `cached` is the part from the cache."""

    input: int = 100
    output: int = 10
    cached: int = 0


class Turn(NamedTuple):
    """One answer: text, then tool calls with the agent's own tool names. Arguments that are a text: a freeform call."""

    text: str = ""
    tools: tuple[ScriptedCall, ...] = ()
    slow: float = 0.0
    """Seconds between the pieces of the stream."""
    usage: Usage = Usage()
    finish: Literal["", "length", "refusal"] = ""
    """Why the model stopped, if it did not finish normally."""
    delay: float = 0.0
    """Seconds before the first byte."""
    hang: bool = False
    """Sends its content, and then nothing more until the server closes."""
    drop: bool = False
    """Closes the connection before the answer is complete; before the first byte if there is no content."""
    failure: Callable[[ScriptedModel], ServiceError] | None = None
    """Makes the response of a service that refuses the request."""
    before: Callable[[], None] | None = None
    """Called when the request has come, before the answer."""


def tool_turn(*tools: ScriptedCall, text: str = "", usage: Usage | None = None) -> Turn:
    return Turn(text, tools, usage=usage or Usage())


def pieces(turn: Turn, text: str) -> list[str]:
    """The pieces of a text in a stream: small ones if the turn is slow, so that it can be interrupted."""
    size = 10 if turn.slow else max(1, len(text))
    return [text[start : start + size] for start in range(0, len(text), size)]


def named_event(name: str, **fields: object) -> StreamEvent:
    """An event of a stream whose data begin with its name."""
    return name, {"type": name, **fields}


def printed_events(output: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that a program printed, one per line."""
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except ValueError:  # the line was cut off
                continue


def value_printed(name: str, kind: str | None = None) -> Callable[[str], str | None]:
    """A function: the first value of a key in what a program printed, in events of this type; None if none has it."""

    def find(output: str) -> str | None:
        events = (event for event in printed_events(output) if name in event and kind in (None, event.get("type")))
        return next((str(event[name]) for event in events), None)

    return find


def tool_call(tool: str, *names: str | None, **fixed: Any) -> Callable[..., ScriptedCall]:
    """A function that makes a call of a tool. Its arguments get these names; None leaves one out."""

    def call(*values: object) -> ScriptedCall:
        pairs = zip(names, values, strict=True)
        return tool, {name: str(value) for name, value in pairs if name is not None} | fixed

    return call


def with_members(**members: Any) -> Callable[[str], str]:
    """A function that sets members of an object of JSON."""
    return lambda text: json.dumps({**json.loads(text), **members})


def printing(answer: Json) -> str:
    return f"printf '%s' {shlex.quote(json.dumps(answer))}"


LARGEST = 64 * 1024 * 1024
MOST_REQUESTS = 1000
LONGEST = 120.0


class ReceivedRequest(NamedTuple):
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


class ServiceError(NamedTuple):
    """The response of a service that refuses a request."""

    status: int
    body: Json
    headers: Mapping[str, str]


class ScriptedModel(ABC):
    """The server. Use it as a context manager, or call `close`."""

    version: ClassVar[str] = ""
    """The path that clients expect after the address."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = deque(turns)
        self.requests: list[ReceivedRequest] = []
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.server = _ModelServer(("127.0.0.1", 0), type("BoundHandler", (_Handler,), {"scripted": self}))
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}{self.version}"

    def script(self, *turns: Turn) -> None:
        with self.lock:
            self.turns = deque(turns)

    def close(self) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.hang_up()
        self.server.server_close()
        self.thread.join(5)

    def received(self) -> list[ReceivedRequest]:
        """The requests of the conversation, in order."""
        with self.lock:
            return [request for request in self.requests if not request.side]

    def answer(self, request: ReceivedRequest) -> Turn | Json:
        """The next turn, or the answer to a side request. Both record the request."""
        aside = self.side(request)
        with self.lock:
            if len(self.requests) >= MOST_REQUESTS:
                return Turn(failure=lambda _: ServiceError(500, {"error": {"message": "too many requests"}}, {}))
            self.requests.append(request._replace(side=aside is not None))
            if aside is not None:
                return aside
            return self.turns.popleft() if self.turns else Turn("(the script is over)")

    def conversation(self, _request: ReceivedRequest) -> str | None:
        """The id of the conversation that a request belongs to. None if the protocol does not say."""
        return None

    @abstractmethod
    def side(self, request: ReceivedRequest) -> Turn | Json | None:
        """The answer to a side request. A plain object is sent unchanged."""

    @abstractmethod
    def whole(self, request: ReceivedRequest, turn: Turn) -> Json:
        """The answer in one piece."""

    @abstractmethod
    def opening(self, whole: Json, turn: Turn) -> Iterator[StreamEvent]:
        """The stream of an answer without its final events."""

    @abstractmethod
    def ending(self, whole: Json) -> Iterator[StreamEvent]:
        """The final events of the stream."""

    def streams(self, request: ReceivedRequest) -> bool:
        return bool(request.body.get("stream"))


class _ModelServer(ThreadingHTTPServer):
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

    scripted: ScriptedModel
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
        request = ReceivedRequest(self.command, self.path, headers, body, False, time.monotonic())
        answer = self.scripted.answer(request)
        if not isinstance(answer, Turn):
            return self.reply(answer)
        if answer.before is not None:
            answer.before()
        self.pause(answer.delay)
        if answer.failure is not None:
            error = answer.failure(self.scripted)
            return self.reply(error.body, error.status, error.headers)
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
