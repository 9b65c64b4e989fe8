"""Measures what following a run in the page costs: bytes per client, memory of the server, and how little when idle."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.crowd import Client, Crowd, busy_journal, crowd
from bench.flowplace import Flows, many
from bench.measure import BenchError, talk
from bench.place import environment
from bench.rows import Bound, Part, Row, Table
from handrail.web.access import Doorkeeper, ServerFolder

STEPS, CLIENTS = 100, 20
EVENTS = (10_000, 20_000, 40_000)
IDLE_SECONDS, IDLE_MESSAGES, IDLE_BYTES = 60.0, 5, 2048
ABOUT = f"""\
{CLIENTS} clients follow one run of {STEPS} steps over HTTP while 10,000 events per second are written. One of them
reads 1 KB per second until the others have finished, and then as fast as it can. All end with equal rows. Each size has
a new server. *Idle* clients watch a run that does nothing for {IDLE_SECONDS:.0f} seconds."""


class Measured(NamedTuple):
    crowd: Crowd
    memory: int
    """The most memory that the server used, in KB."""

    @property
    def bytes(self) -> int:
        return max(client.got for client in self.crowd.quick)


def measure(folder: Path) -> Part:
    found = {events: _followed(folder / f"streams-{events}", events) for events in EVENTS}
    small, middle, large = (found[events] for events in EVENTS)
    messages, size = _idled(folder / "streams-idle")
    rows = [
        Row(f"bytes per client, {EVENTS[1]:,} events", "events", middle.bytes / EVENTS[1], bound=Bound(300)),
        Row(f"bytes per client, {EVENTS[2]:,} events", f"{EVENTS[1]:,}", large.bytes / middle.bytes, bound=Bound(2.2)),
        Row(
            f"memory of the server, {EVENTS[2]:,} events",
            f"{EVENTS[0]:,}",
            large.memory / small.memory,
            bound=Bound(1.3),
        ),
        Row("messages to an idle client", "the most allowed", messages / IDLE_MESSAGES, bound=Bound(1)),
        Row("bytes to an idle client", "the most allowed", size / IDLE_BYTES, bound=Bound(1)),
    ]
    head = ["Events", "Bytes per quick client", "Messages", "Bytes of the slow one", "Messages", "Server, MB"]
    lines = [[f"{events:,}", *_cells(one)] for events, one in found.items()]
    return Part("Following a run in the page", ABOUT, rows, (Table("What each client got", head, lines),))


def _cells(measured: Measured) -> list[str]:
    most, slow = max(measured.crowd.quick, key=lambda client: client.got), measured.crowd.clients[-1]
    numbers = (most.got, most.messages, slow.got, slow.messages)
    return [*(f"{one:,}" for one in numbers), f"{measured.memory / 1024:.0f}"]


def _followed(folder: Path, events: int) -> Measured:
    talk(f"{CLIENTS} clients, {events:,} events")
    flows = Flows(folder, {"busy": many(STEPS)})
    attempt = flows.run("busy").folder
    journal = attempt / "journal"
    records = busy_journal(journal, events)
    journal.write_bytes(records[0])
    (attempt.parent / "summary").unlink()  # it says where the records end
    with server(folder) as (process, port, door):
        found = asyncio.run(crowd(port, door, "run:r1", journal, records, CLIENTS))
        memory = _memory(process.pid)
    if not found.are_equal or not found.slow_was_behind:
        raise BenchError("the clients did not end with equal rows, or the slow one was not behind")
    return Measured(found, memory)


def _idled(folder: Path) -> tuple[int, int]:
    talk(f"{CLIENTS} idle clients, {IDLE_SECONDS:.0f} seconds")
    Flows(folder, {"busy": many(STEPS)}).run("busy")
    with server(folder) as (_, port, door):
        return asyncio.run(_idle(port, door))


async def _idle(port: int, door: Doorkeeper) -> tuple[int, int]:
    """The most messages and bytes that a client got, without the first message."""
    clients = [Client(port, door.new_cookie(), "run:r1", sys.maxsize) for _ in range(CLIENTS)]
    following = [asyncio.ensure_future(client.read()) for client in clients]
    while not all(client.messages for client in clients):
        await asyncio.sleep(0.05)
    before = [(client.messages, client.got) for client in clients]
    await asyncio.sleep(IDLE_SECONDS)
    more = [(c.messages - was[0], c.got - was[1]) for c, was in zip(clients, before, strict=True)]
    for one in following:
        one.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    return max(count for count, _ in more), max(size for _, size in more)


@contextmanager
def server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int, Doorkeeper]]:
    """`handrail web` for the project in a folder: its process, its port, and who gives out cookies for it."""
    argv = [sys.executable, "-P", "-m", "handrail", "--project", str(folder / "project"), "web", "--no-open", "--json"]
    home = folder / "home"
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=environment(home), stdout=pipe, stdin=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            port = json.loads(process.stdout.readline())["port"]
            (port_file,) = home.rglob("web/*/port")
            kept = ServerFolder(str(port_file.parents[2]), str(folder / "project"))
            yield process, port, Doorkeeper(time.time, kept.cookies, kept.keep)
        finally:
            process.terminate()


def _memory(pid: int) -> int:
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"), re.MULTILINE)
    if found is None:
        raise BenchError("the memory of the server cannot be read here")
    return int(found[1])
