"""A scripted model on loopback with Anthropic's Messages protocol, so that the real program runs offline.

Every request with tools gets the next turn of the script. All requests are recorded for assertions.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from handrail.models import turn as protocols
from handrail.models.anthropic import ending, message, opening
from real.waiting import until


class Turn(NamedTuple):
    """One answer of the model: text, then tool calls. `slow` streams the text in pieces with pauses.

    A `held` answer sends its text and ends only after a call of `Model.release`.
    """

    text: str = ""
    tools: tuple[tuple[str, dict[str, Any]], ...] = ()
    slow: float = 0.0
    status: int = 200
    held: bool = False


class Model:
    """The server. `main` is the script of the conversation, `sub` is the script of subagents."""

    def __init__(self, main: Iterable[Turn], sub: Iterable[Turn] = ()) -> None:
        self.scripts = {"main": deque(main), "sub": deque(sub)}
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("BoundHandler", (Handler,), {"model": self}))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def release(self) -> None:
        """End the held answer and all later ones."""
        self.released.set()

    def close(self) -> None:
        self.release()
        self.server.shutdown()
        self.server.server_close()

    def script(self, *turns: Turn) -> None:
        """Set the next turns of the model."""
        with self.lock:
            self.scripts["main"] = deque(turns)

    def script_subagents(self, *turns: Turn) -> None:
        with self.lock:
            self.scripts["sub"] = deque(turns)

    def next_turn(self, body: dict[str, Any], subagent: bool) -> Turn:
        with self.lock:
            self.requests.append({"subagent": subagent, **body})
            if not body.get("tools"):
                return Turn("ok")
            script = self.scripts["sub" if subagent else "main"]
            return script.popleft() if script else Turn("(the script is over)")

    def wait(self, count: int) -> None:
        """Wait for this number of requests of the conversation."""
        until(lambda: len(self.received()) >= count, lambda: f"{count} requests; {len(self.received())} came")

    def received(self, *, subagent: bool = False) -> list[dict[str, Any]]:
        """The requests of the conversation, in order, without side requests (which have no tools)."""
        return [r for r in self.requests if r.get("tools") and r["subagent"] == subagent]

    def last_texts(self) -> str:
        """All texts of the newest request of the conversation, joined."""
        return texts(self.received()[-1])


def texts(request: dict[str, Any]) -> str:
    return "\n".join(_texts(request.get("messages", [])))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name in ("text", "content"):
            if name in value:
                yield from _texts(value[name])


def tool_results(request: dict[str, Any]) -> list[str]:
    """The texts of every tool result in a request, oldest first."""
    lists = [message["content"] for message in request["messages"] if isinstance(message["content"], list)]
    blocks = [block for blocks in lists for block in blocks if block.get("type") == "tool_result"]
    return ["\n".join(_texts(block.get("content", ""))) for block in blocks]


class Handler(BaseHTTPRequestHandler):
    """Answers the program's requests with the turns of the script."""

    model: Model
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Print nothing."""

    def reply(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_HEAD(self) -> None:
        self.reply({})

    def do_GET(self) -> None:
        self.reply({"data": [], "has_more": False, "first_id": None, "last_id": None})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self.reply({"input_tokens": len(raw) // 4})
        if path != "/v1/messages":
            return self.reply(_error("not_found_error"), 404)
        body = json.loads(raw)
        turn = self.model.next_turn(body, bool(self.headers.get("x-claude-code-agent-id")))
        if turn.status != 200:
            return self.reply(_error("invalid_request_error"), turn.status)
        if not body.get("stream"):
            return self.reply(message(body, plain(turn)))
        return self.stream(body, turn)

    def stream(self, body: dict[str, Any], turn: Turn) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        try:
            whole = message(body, plain(turn))
            for name, event in (*opening(whole, plain(turn)), *ending(whole)):
                self.wfile.write(f"event: {name}\ndata: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
                if name == "content_block_delta":
                    time.sleep(turn.slow)
                    self.hold(turn)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.close_connection = True

    def hold(self, turn: Turn) -> None:
        """Wait until the answer is released. Pings keep the client waiting."""
        while turn.held and not self.model.released.wait(0.5):
            self.wfile.write(b'event: ping\ndata: {"type": "ping"}\n\n')
            self.wfile.flush()


def _error(kind: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": "scripted"}}


def plain(turn: Turn) -> protocols.Turn:
    """The turn for the protocol; only this model knows how to hold an answer."""
    return protocols.Turn(turn.text, turn.tools, turn.slow, turn.status)
