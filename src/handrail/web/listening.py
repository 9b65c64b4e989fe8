"""Starts the server, by default for this machine only, prints the link, and ends it on a signal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from handrail.app import App
from handrail.errors import RefusedError, UsageError
from handrail.source.dataclasses import dataclass
from handrail.web.edge import Report
from handrail.web.entry import Doorkeeper
from handrail.web.exposure import Exposure
from handrail.web.kept import Kept
from handrail.web.protocol import LimitedProtocol
from handrail.web.server import Address, Serving, make_server

SEND_BUFFER = 128 * 1024
"""In bytes: what the system keeps for a client that does not read. A slow one gets fewer, larger messages instead."""
Ready = Callable[[str, Address], None]


@dataclass(frozen=True)
class Wanted:
    """How a person wants the page to be served."""

    exposure: Exposure
    port: int | None = None
    is_read_only: bool = False


def serve(app: App, wanted: Wanted, ready: Ready, new_link: Ready, report: Report) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is called once with the link; `new_link` each time Enter is pressed.

    `report` is called with every bug.
    """
    kept = Kept(app.places.state, app.project)
    exposed = wanted.exposure
    port = kept.port if wanted.port is None else wanted.port
    listening = _listen(exposed.host, port, is_chosen=wanted.port is not None)
    with contextlib.closing(listening):
        address = Address(exposed.host, listening.getsockname()[1], exposed.tls, exposed.proxy)
        kept.port = address.port
        door = Doorkeeper(app.clock, kept.cookies, kept.keep)
        serving = Serving(
            close=lambda: signal.raise_signal(signal.SIGTERM),
            report=report,
            credentials=exposed.credentials,
            is_read_only=wanted.is_read_only,
        )
        server = _Server(_config(make_server(app, door, address, serving), exposed), serving.ending)
        asyncio.run(_run(server, listening, door, address, (ready, new_link)))


def _config(application: ASGIApp, exposed: Exposure) -> uvicorn.Config:
    config = uvicorn.Config(
        application,
        http=LimitedProtocol,
        log_config=None,
        log_level="critical",  # a bug is reported, and what clients do wrong is nobody's news
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=32 * 1024,
        limit_concurrency=256,
        ssl_certfile=exposed.cert,
        ssl_keyfile=exposed.key,
    )
    try:
        config.load()
    except OSError as error:  # also if a file is no certificate or key
        reason = error.strerror or str(error)
        raise UsageError(
            f"TLS cannot be used: {reason}", "look at the files of `--tls-cert` and `--tls-key`"
        ) from error
    return config


async def _run(
    server: _Server, listening: socket.socket, door: Doorkeeper, address: Address, tell: tuple[Ready, Ready]
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
        loop.add_signal_handler(number, server.leave)
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

    def __init__(self, config: uvicorn.Config, ending: asyncio.Event) -> None:
        super().__init__(config)
        self.ending = ending

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def leave(self) -> None:
        """End the server; at the second signal without waiting for open connections."""
        self.force_exit, self.should_exit = self.should_exit, True
        self.ending.set()


def _listen(host: str, port: int, *, is_chosen: bool) -> socket.socket:
    """A socket at this address only. If a remembered port is taken, any other one."""
    for one in (port,) if is_chosen else (port, 0):
        listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        try:
            listening.bind((host, one))
        except socket.gaierror as error:
            listening.close()
            raise UsageError(
                f"`--host {host}` is not known: {error.strerror}", "name an address of this machine"
            ) from error
        except OverflowError as error:
            listening.close()
            raise UsageError(f"`--port` has to be 0 to 65535, found {one}") from error
        except OSError as error:
            listening.close()
            if is_chosen:
                message = f"port {one} of {host} cannot be used: {error.strerror}"
                raise RefusedError(message, "choose another one, or leave `--port` out") from error
            continue
        listening.listen(128)
        return listening
    raise RefusedError(f"no port of {host} can be used", "look whether it is an address of this machine")
