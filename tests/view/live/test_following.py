"""A run that is followed while its files change in ways that no driver causes."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.app import App
from handrail.base.errors import NotFound
from handrail.driven.engines.embedded.run_journal import Ledger
from handrail.driven.runs.run_events import Noticed
from handrail.view.live.hub import MOST_KEPT, Hub, WatchedTopic
from handrail.view.live.run import LiveRun
from handrail.view.live.session import LiveSession
from handrail.view.rows.home import HomeTopic
from handrail.view.rows.rows import ReceivedRows, RowMessage
from support import Project

FLOW = "phases: [{id: a, steps: [{id: one, node: set, params: {x: 1}}, {id: two, node: set, params: {x: 2}}]}]"


class Followed:
    """A run that ended, a follower of it, and a client of the follower."""

    def __init__(self, project: Project) -> None:
        project.write(".handrail/flows/demo.yaml", FLOW)
        self.id = project.json("run", "demo")["run"]
        self.app = App(str(project.folder), os.environ, by="person")
        self.folder = Path(self.app.places.runs(self.app.project)) / self.id
        self.journal = self.folder / "1" / "journal"
        self.live = LiveRun(self.app.runs, self.id)
        self.client = ReceivedRows()
        self.take()

    def take(self) -> list[int]:
        """Look as the hub does, and give the client what is new. Returns the bases of the messages."""
        if self.live.is_stale():
            self.live.refresh()
        messages = list(self.live.messages(self.client.epoch, self.client.seq, 0.0))
        assert all(map(self.client.take, messages))
        return [message["base"] for message in messages]

    @property
    def there(self) -> dict[Any, Any]:
        """The rows of somebody who comes now."""
        found = ReceivedRows()
        assert all(map(found.take, LiveRun(self.app.runs, self.id).messages("", 0, 0.0)))
        return found.rows


@pytest.fixture
def followed(project: Project) -> Followed:
    return Followed(project)


def test_a_journal_that_was_cut_or_replaced_is_read_again(followed: Followed) -> None:
    whole = followed.journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    followed.journal.write_bytes(b"".join(lines[:1]))
    (followed.folder / "summary").unlink()  # it says that there was more
    assert followed.take() == [0]
    assert followed.client.rows == followed.there
    assert followed.client.rows["head", ""]["status"] == "running"
    followed.journal.write_bytes(whole)
    followed.take()
    assert followed.client.rows == followed.there
    assert followed.client.rows["head", ""]["status"] == "completed"


def test_a_run_that_was_removed_is_not_found(followed: Followed) -> None:
    shutil.rmtree(followed.folder)
    with pytest.raises(NotFound):
        followed.take()
    assert followed.live.is_stale()


def test_an_event_is_seen_although_the_journal_keeps_its_size(followed: Followed) -> None:
    """A driver writes into space that was reserved before."""
    app = followed.app
    ledger = Ledger(str(followed.folder / "1"), app.clock, app.runs.secrets)
    ledger.read()
    for text in ("first", "second"):
        ledger.record(Noticed("", text))
    followed.take()
    before, seq = os.stat(followed.journal), followed.client.seq
    while os.stat(followed.journal).st_mtime_ns == before.st_mtime_ns:
        ledger.record(Noticed("", "again"))
    assert os.stat(followed.journal).st_size == before.st_size
    followed.take()
    ledger.close()
    assert followed.client.seq > seq


def test_a_session_whose_files_were_replaced_or_removed(project: Project) -> None:
    project.workflow("demo", ["plan", "build"])
    id_ = project.json("start", "demo", "login page")["session"]
    app = App(str(project.folder), os.environ, by="person")
    journal = Path(app.sessions.choose(id_).journal)
    begun = journal.read_bytes()
    project.json("next", "--summary", "planned")
    live = LiveSession(app.sessions.choose(id_))
    assert live.topic.rows.get("stops", "0")["state"] == "done"  # type: ignore[index]  # it is there
    journal.write_bytes(begun)
    live.refresh()
    assert live.topic.rows.get("stops", "0")["state"] == "current"  # type: ignore[index]  # it is there
    shutil.rmtree(journal.parent)
    with pytest.raises(NotFound):
        live.refresh()


class Still:
    """A topic in which nothing happens."""

    def __init__(self) -> None:
        self.topic = HomeTopic("still")

    def is_stale(self) -> bool:
        return False

    def refresh(self) -> None:
        """Finds nothing."""

    def messages(self, epoch: str, base: int, now: float) -> Iterator[RowMessage]:
        del epoch
        return self.topic.rows.messages("still", base, now)


def test_a_topic_that_takes_long_to_open_holds_up_no_other_and_is_kept_for_a_while() -> None:
    may_open, opened = threading.Event(), list[str]()

    def open_topic(name: str) -> Still:
        opened.append(name)
        if name == "slow":
            assert may_open.wait(30)
        return Still()

    async def watch(hub: Hub, name: str) -> WatchedTopic:
        async with hub.watching(name) as watched:
            return watched

    async def all_() -> None:
        hub = Hub(open_topic)
        slow = [asyncio.ensure_future(watch(hub, "slow")) for _ in range(2)]
        try:
            await asyncio.wait_for(watch(hub, "quick"), 20)
        finally:
            may_open.set()
        await asyncio.gather(*slow)
        await watch(hub, "slow")  # it was left a moment ago, and is not opened again
        for name in range(MOST_KEPT):
            await watch(hub, str(name))
        await watch(hub, "quick")
        assert hub.names == []

    asyncio.run(all_())
    assert sorted(opened) == [*map(str, range(MOST_KEPT)), "quick", "quick", "slow"]
