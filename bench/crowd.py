"""Many clients follow one busy run over HTTP. Used by the measurement and, with smaller numbers, by the tests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handrail.base.jsonlite import decode_line, encode_line
from handrail.driven.runs.run_events import AgentActed, event_to_json
from handrail.view.rows.rows import ReceivedRows
from handrail.web.access import Doorkeeper
from handrail.web.changes import MOST_IN_BROWSER

SLOW_BYTES, SLOW_SECONDS = 1024, 1.0
BURST, PAUSE = 100, 0.01
"""So many events are written at once, and so many seconds lie between two writes. No real run is as fast."""
_TEXTS = ("edit src/cart.py", "read docs/guide.md", "run make test", "search retry")


def busy_journal(journal: Path, events: int) -> list[bytes]:
    """The records of a run, with calls of tools between them, so that there are so many events in total."""
    records = [record for line in journal.read_bytes().splitlines() if (record := decode_line(line)) is not None]
    (head,), written = records[:1], [event for record in records for event in record["events"]]
    working = [number for number, event in enumerate(written) if event["type"] == "StepStarted"]
    more, found = events - len(written), list[dict[str, Any]]()
    for number, event in enumerate(written):
        found.append(event)
        if number in working:
            place = working.index(number)
            count = more * (place + 1) // len(working) - more * place // len(working)
            acted = [AgentActed(event["path"], "tool", _TEXTS[one % len(_TEXTS)]) for one in range(count)]
            found += [{**event_to_json(one), "t": event["t"]} for one in acted]
    first, *others = found
    return [
        encode_line({**head, "events": [first]}),
        *(encode_line({"n": number, "events": [event]}) for number, event in enumerate(others, 1)),
    ]


@dataclass
class Client:
    """Reads the stream of a topic until it has all events, and counts what it gets."""

    port: int
    cookie: str
    topic: str
    last: int
    is_slow: bool = False
    received: ReceivedRows = field(default_factory=ReceivedRows)
    got: int = 0
    messages: int = 0
    bases: list[int] = field(default_factory=list)
    others_are_done: asyncio.Event = field(default_factory=asyncio.Event)
    _id: str = ""

    async def follow(self) -> None:
        """Read until the last event has arrived. If the server closes the connection, connect again."""
        while self.received.seq < self.last:
            await self.read()

    async def read(self) -> None:
        reader, writer = await self._connect()
        text = b""
        try:
            while self.received.seq < self.last and (chunk := await self._chunk(reader)):
                self.got += len(chunk)
                text += chunk
                *events, text = text.split(b"\n\n")
                for event in events:
                    self._take(event)
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        wire = socket.socket()
        if self.is_slow:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.setblocking(False)
        await asyncio.get_running_loop().sock_connect(wire, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=wire, limit=8192 if self.is_slow else 1 << 20)
        host = f"127.0.0.1:{self.port}"
        about = f"Host: {host}\r\nOrigin: http://{host}\r\nCookie: handrail-{self.port}={self.cookie}\r\n"
        about += f"Accept: text/event-stream\r\nLast-Event-ID: {self._id}\r\n"
        writer.write(f"GET /api/changes?topics={self.topic} HTTP/1.0\r\n{about}\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(head.decode())
        return reader, writer

    async def _chunk(self, reader: asyncio.StreamReader) -> bytes:
        if not self.is_slow or self.others_are_done.is_set():
            return await reader.read(1 << 16)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.others_are_done.wait(), SLOW_SECONDS)
        return await reader.read(SLOW_BYTES)

    def _take(self, event: bytes) -> None:
        fields = dict(line.split(b": ", 1) for line in event.split(b"\n") if b": " in line)
        self._id = fields.get(b"id", b"").decode()
        self.messages += 1
        if fields.get(b"event") == b"gone":
            raise ValueError(fields[b"data"].decode())
        if fields.get(b"event") == b"rows":
            message = json.loads(fields[b"data"])
            self.bases.append(message["base"])
            if not self.received.take(message):
                raise ValueError(f"message {message['base']} does not follow {self.received.seq}")


@dataclass(frozen=True)
class Crowd:
    """What all clients got. `slow_was_behind`: the slow one had not finished when all others had."""

    clients: list[Client]
    slow_was_behind: bool
    seconds: float

    @property
    def quick(self) -> list[Client]:
        return [client for client in self.clients if not client.is_slow]

    @property
    def are_equal(self) -> bool:
        return all(client.received.rows == self.clients[0].received.rows for client in self.clients)


async def crowd(port: int, door: Doorkeeper, topic: str, journal: Path, records: list[bytes], clients: int) -> Crowd:
    """Clients that follow a run while its journal is written at full speed. The last client is slow."""
    cookies = [door.new_cookie() for _ in range(0, clients, MOST_IN_BROWSER)]
    events = len(records)
    all_ = [
        Client(port, cookies[n // MOST_IN_BROWSER], topic, events, is_slow=n == clients - 1) for n in range(clients)
    ]
    begun = time.perf_counter()
    *quick, slow = [asyncio.ensure_future(client.follow()) for client in all_]
    while not all(client.messages for client in all_[:-1]):
        await asyncio.sleep(0.01)
    with open(journal, "ab") as file:
        for at in range(1, events, BURST):
            file.write(b"".join(records[at : at + BURST]))
            file.flush()
            await asyncio.sleep(PAUSE)
    await asyncio.gather(*quick)
    behind = not slow.done() and all_[-1].received.seq < events
    all_[-1].others_are_done.set()
    await slow
    return Crowd(all_, behind, time.perf_counter() - begun)
