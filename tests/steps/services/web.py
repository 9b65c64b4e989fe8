"""A real HTTP server on loopback that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit


class Asked(NamedTuple):
    """One request that the server got."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    content: Any


class Reply(NamedTuple):
    """`content` is sent as JSON unless it is bytes. `write` writes the body itself, to the open connection."""

    content: Any = None
    status: int = 200
    headers: dict[str, str] = {}
    write: Callable[[Any], object] | None = None


class Web:
    """`answer` maps a request to a reply. `asked` has every request in order."""

    def __init__(self, answer: Callable[[Asked], Reply]) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.released = threading.Event()
        """Set when the test is over: a slow answer waits for it."""

    url: str


class _Handler(BaseHTTPRequestHandler):
    web: Web

    def log_message(self, *words: object) -> None:
        """Print nothing."""

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, parts.path, query, headers, json.loads(body) if body else None)
        self.web.asked.append(asked)
        reply = self.web.answer(asked)
        content = reply.content if isinstance(reply.content, bytes) else json.dumps(reply.content).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        if reply.write is None:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if reply.write is None:
            self.wfile.write(content)
        else:
            with suppress(OSError):  # the client may have left
                reply.write(self.wfile)

    do_GET = do_POST = _answer  # noqa: N815 - names that the base class looks for


@contextmanager
def serve(answer: Callable[[Asked], Reply], certificate: Path | None = None) -> Iterator[Web]:
    """Serve on loopback; with a certificate (a PEM file with its key), over TLS."""
    web = Web(answer)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"web": web}))
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    web.url = f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield web
    finally:
        web.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
