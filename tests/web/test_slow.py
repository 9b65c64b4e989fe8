"""Clients that send or read too slowly are disconnected, and hold up nobody else."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from handrail.web.server import LimitedProtocol
from web.wire import PATIENCE, send

LARGE = b"x" * 65536


class Hasty(LimitedProtocol):
    request_seconds = 0.2
    reading_seconds = 0.2


async def endless(scope: Scope, receive: Receive, transmit: Send) -> None:
    """Answers `/quick` at once, reads the body of `/body`, and never ends anything else."""
    await transmit({"type": "http.response.start", "status": 200, "headers": []})
    if scope["path"] == "/body":
        while (await receive()).get("more_body"):
            pass
    is_endless = scope["path"] == "/endless"
    while is_endless:
        await transmit({"type": "http.response.body", "body": LARGE, "more_body": True})
        await asyncio.sleep(0)
    await transmit({"type": "http.response.body", "body": b"quick"})


@pytest.fixture
def port() -> Iterator[int]:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    config = uvicorn.Config(endless, http=Hasty, log_config=None, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    serving = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    serving.start()
    yield listening.getsockname()[1]
    server.should_exit = server.force_exit = True
    serving.join(PATIENCE)
    assert not serving.is_alive()
    listening.close()


def is_cut(wire: socket.socket) -> bool:
    """True once the server has closed the connection."""
    with contextlib.suppress(ConnectionError):
        while wire.recv(65536):
            pass
    return True


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET /quick HT", b"GET /quick HTTP/1.1\r\nHost: x\r\nX: ", b"POST /body HTTP/1.1\r\nHost: x\r\n\r\n"],
)
def test_a_request_that_does_not_come_is_given_up(port: int, begun: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as wire:
        wire.sendall(begun)
        assert is_cut(wire)
    assert send(port, b"GET /quick HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").body.endswith(
        "quick\r\n0\r\n\r\n"
    )


def test_a_byte_now_and_then_wins_no_time(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as wire:
        wire.settimeout(0.02)
        sent = 0
        with contextlib.suppress(ConnectionError):
            wire.sendall(b"GET /quick HTTP/1.1\r\n")
            while True:
                wire.sendall(b"X")
                sent += 1
                with contextlib.suppress(TimeoutError):
                    if wire.recv(1) == b"":
                        break
    assert sent


def test_a_body_that_stops_is_given_up(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as wire:
        wire.sendall(b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nab")
        assert is_cut(wire)


def test_a_reader_that_does_not_read_is_cut_off(port: int) -> None:
    stuck = socket.socket()
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stuck.settimeout(PATIENCE)
    stuck.connect(("127.0.0.1", port))
    stuck.sendall(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as reader:
        reader.sendall(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        total = 0
        while total < 20_000_000:  # another one reads on meanwhile
            total += len(reader.recv(1 << 20))
    waits = threading.Event()
    waits.wait(0.5)
    assert is_cut(stuck)
    stuck.close()
