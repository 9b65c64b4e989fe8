"""Topics are read once for all who watch them, also if they come one after the other."""

from __future__ import annotations

import asyncio
import os
import threading

from handrail.app import App
from handrail.view.live.hub import Hub, LiveTopic, open_topic
from support import Project

FLOW = "phases: [{id: a, steps: [{id: b, node: set, params: {n: 1}}]}]"


def test_a_topic_that_is_watched_again_is_not_read_again_and_is_up_to_date(project: Project) -> None:
    app = App(str(project.folder), os.environ)
    opened: list[str] = []

    def opening(name: str) -> LiveTopic:
        opened.append(name)
        return open_topic(app, name)

    async def entries() -> int:
        async with hub.watching("home") as home:
            messages, _ = await home.messages("", 0, 0.0)
            return len(messages[0]["set"].get("entries", []))

    hub = Hub(opening)
    project.write(".handrail/flows/demo.yaml", FLOW)
    assert asyncio.run(entries()) == 0
    project.json("run", "demo")
    assert asyncio.run(entries()) == 1
    assert opened == ["home"]


def test_a_topic_that_takes_long_to_open_holds_up_no_other(project: Project) -> None:
    app = App(str(project.folder), os.environ)
    may_open = threading.Event()

    def opening(name: str) -> LiveTopic:
        if name == "catalog":
            may_open.wait()
        return open_topic(app, name)

    async def enter(hub: Hub, name: str) -> str:
        async with hub.watching(name):
            return name

    async def story() -> list[str]:
        hub = Hub(opening)
        slow = asyncio.create_task(enter(hub, "catalog"))
        await asyncio.sleep(0)
        first = await enter(hub, "home")
        may_open.set()
        return [first, await slow]

    assert asyncio.run(story()) == ["home", "catalog"]
