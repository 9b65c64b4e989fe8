"""Starts the server on this machine, prints the link, and ends it on a signal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator

import uvicorn

from handrail.app import App
from handrail.errors import RefusedError, UsageError
from handrail.state.files import make_private, read_regular, replace
from handrail.web.entry import KEY_BYTES, Doorkeeper
from handrail.web.server import Address, make_server

LOOPBACK = "127.0.0.1"
FOLDER = "web"
Ready = Callable[[str, Address], None]


def serve(app: App, port: int | None, ready: Ready, new_link: Ready) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is called once with the link; `new_link` each time Enter is pressed."""
    folder = os.path.join(app.places.state, FOLDER)
    make_private(folder)
    listening = _listen(port if port is not None else _last_port(folder), is_chosen=port is not None)
    address = Address(LOOPBACK, listening.getsockname()[1])
    replace(os.path.join(folder, "port"), f"{address.port}\n".encode(), durable=False)
    door = Doorkeeper(_key(folder), app.clock)
    config = uvicorn.Config(
        make_server(app, door, address, close=lambda: signal.raise_signal(signal.SIGTERM)),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=32 * 1024,
        limit_concurrency=256,
    )
    with contextlib.closing(listening):
        asyncio.run(_run(_Server(config), listening, door, address, (ready, new_link)))


async def _run(
    server: uvicorn.Server, listening: socket.socket, door: Doorkeeper, address: Address, tell: tuple[Ready, Ready]
) -> None:
    ready, new_link = tell
    loop = asyncio.get_running_loop()

    def link() -> str:
        return f"{address.url}/enter?token={door.new_token()}"

    def pressed() -> None:
        if sys.stdin.readline():
            new_link(link(), address)
        else:
            loop.remove_reader(sys.stdin)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _leave, server)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started:
        ready(link(), address)
        if sys.stdin is not None and sys.stdin.isatty():
            loop.add_reader(sys.stdin, pressed)
    await serving


class _Server(uvicorn.Server):
    """A server that leaves the signals to us: uvicorn would send them again after its end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _leave(server: uvicorn.Server) -> None:
    """End the server; at the second signal without waiting for open connections."""
    server.force_exit, server.should_exit = server.should_exit, True


def _listen(port: int, *, is_chosen: bool) -> socket.socket:
    """A socket on this machine only. If a remembered port is taken, any other one."""
    for one in (port,) if is_chosen else (port, 0):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, one))
        except OverflowError as error:
            listening.close()
            raise UsageError(f"`--port` has to be 0 to 65535, found {one}") from error
        except OSError as error:
            listening.close()
            if is_chosen:
                message = f"port {one} cannot be used: {error.strerror}"
                raise RefusedError(message, "choose another one, or leave `--port` out") from error
            continue
        listening.listen(128)
        return listening
    raise RefusedError("no port of this machine can be used", "look whether a firewall or a limit forbids it")


def _last_port(folder: str) -> int:
    """The port of the last time, so that a page that is still open finds the server again. 0: any port."""
    try:
        return int(read_regular(os.path.join(folder, "port")))
    except (OSError, ValueError):
        return 0


def _key(folder: str) -> bytes:
    """The key that signs cookies. It is kept, so a restart of the server signs nobody out."""
    path = os.path.join(folder, "key")
    with contextlib.suppress(OSError):
        key = read_regular(path)
        if len(key) == KEY_BYTES:
            return key
    key = secrets.token_bytes(KEY_BYTES)
    replace(path, key, durable=False)
    return key
