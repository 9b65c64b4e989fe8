"""Many clients on a busy run: all end with the same rows, and what they get grows with the changes only."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.crowd import Client, busy_journal, crowd

from browser.site import Site
from handrail.app import App
from handrail.view.live.run import LiveRun
from handrail.view.rows.rows import ReceivedRows
from handrail.web.access import Doorkeeper, ServerFolder

PATIENCE = 60.0
STEPS, EVENTS, CLIENTS = 40, 2_000, 20
FLOW = f"""
phases:
- repeat: {{var: n, to: {STEPS // 4}}}
  phases:
  - id: "p${{n}}"
    steps: [{", ".join(f"{{id: s{n}, node: set, params: {{x: {n}}}}}" for n in range(4))}]
"""


class Load:
    """A server, and runs whose journals were cut before it started."""

    def __init__(self, folder: Path) -> None:
        self.site = Site(folder)
        self.site.write(".handrail/flows/busy.yaml", FLOW)
        self.busy, self.halved = Cut(self.site, 1), Cut(self.site, EVENTS // 2)
        self.site.serve()
        self.port = int(self.site.base.rpartition(":")[2])
        kept = ServerFolder(str(self.site.home / "state"), str(self.site.folder))
        self.door = Doorkeeper(time.time, kept.cookies, kept.keep)


class Cut:
    """A run whose journal has only its first events. `whole` are the records of all."""

    def __init__(self, site: Site, events: int) -> None:
        self.site = site
        self.run = site.made("busy")
        self.topic = f"run:{self.run}"
        (self.journal,) = site.home.glob(f"state/runs/*/{self.run}/1/journal")
        self.whole = busy_journal(self.journal, EVENTS)
        assert len(self.whole) == EVENTS
        self.journal.write_bytes(b"".join(self.whole[:events]))
        (self.journal.parents[1] / "summary").unlink()  # it says where the records end

    def view(self) -> ReceivedRows:
        found = ReceivedRows()
        app = App(str(self.site.folder), self.site.env, by="person")
        for message in LiveRun(app.runs, self.run).messages("", 0, 0.0):
            assert found.take(json.loads(json.dumps(message)))
        return found


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Load]:
    found = Load(tmp_path_factory.mktemp("load"))
    yield found
    found.site.stop()


@pytest.mark.whole
def test_all_clients_end_with_the_same_rows_and_the_slow_one_holds_up_nobody(load: Load) -> None:
    busy = load.busy
    found = asyncio.run(crowd(load.port, load.door, busy.topic, busy.journal, busy.whole, CLIENTS))
    assert len(found.clients) == CLIENTS
    assert found.are_equal
    assert found.clients[0].received.rows == busy.view().rows
    assert found.slow_was_behind
    assert max(client.got for client in found.quick) <= 300 * EVENTS
    assert found.clients[-1].messages <= max(client.messages for client in found.quick)


def test_a_client_goes_on_where_it_was_after_the_server_was_killed(load: Load) -> None:
    cut, half = load.halved, EVENTS // 2
    client = Client(load.port, load.door.new_cookie(), cut.topic, half)
    asyncio.run(asyncio.wait_for(client.follow(), PATIENCE))
    load.site.stop(signal.SIGKILL)
    load.site.serve()
    assert load.site.base.endswith(f":{load.port}")
    with open(cut.journal, "ab") as file:
        file.write(b"".join(cut.whole[half:]))
    client.last = EVENTS
    asyncio.run(asyncio.wait_for(client.follow(), PATIENCE))
    assert client.bases[0] == 0
    assert min(client.bases[1:]) >= half
    assert client.received.rows == cut.view().rows


OPENED: list[str] = []
"""The files that were opened while `OPENED` is watched."""
WATCHING: list[bool] = []


def test_an_idle_run_is_not_read(load: Load) -> None:
    app = App(str(load.site.folder), load.site.env, by="person")
    live = LiveRun(app.runs, load.busy.run)
    live.refresh()

    def hook(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "open" and WATCHING:
            OPENED.append(str(arguments[0]))

    sys.addaudithook(hook)
    WATCHING.append(True)
    for _ in range(5):
        live.refresh()
    WATCHING.clear()
    assert [path for path in OPENED if path.endswith("/journal")] == []
