"""One topic that a screen follows: its rows as they are now. Reads nothing itself; the hub does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from handrail.errors import HandrailError
from handrail.live.hub import Hub, Watched
from handrail.topics.rows import HEAD, Message, Received, Row

LOOK = 10.0
"""In seconds: how often a topic without changes is asked whether a program of it is still there."""
KEPT = 2_000
"""Lines of a tail."""


class Feed:
    """The rows of a topic. `changed` is called after every message, and when the topic cannot be read any more."""

    def __init__(self, hub: Hub, topic: str, clock: Callable[[], float], changed: Callable[[], None]) -> None:
        self.hub = hub
        self.topic = topic
        self.clock = clock
        self.changed = changed
        self.received = Received()
        self.tail: deque[Row] = deque(maxlen=KEPT)
        self.lost = 0
        self.live: dict[str, Any] = {}
        self.error: HandrailError | None = None
        self.is_ready = False

    @property
    def head(self) -> Row:
        return self.received.rows.get((HEAD, ""), {})

    def section(self, name: str) -> list[Row]:
        return [row for (section, _), row in self.received.rows.items() if section == name]

    async def run(self) -> None:
        """Follow the topic until this is cancelled."""
        try:
            async with self.hub.watching(self.topic) as watched:
                await self._follow(watched)
        except HandrailError as error:
            self.error = error
            self.changed()

    async def _follow(self, watched: Watched) -> None:
        place, printed = ("", 0), 0
        while True:
            messages, reached = await watched.messages(*place, self.clock(), printed)
            before = self.live
            for message in messages:
                self._take(message)
            lines = next((message["tail"]["seq"] for message in messages if message.get("tail")), printed)
            if (reached, lines) != (place, printed) or self.live != before or not self.is_ready:
                self.is_ready = True
                self.changed()
            place, printed = reached, lines
            watched.check()
            if (watched.place, watched.tail) == (place, printed):
                await watched.change(LOOK)

    def _take(self, message: Message) -> None:
        self.received.take(message)
        self.live = message.get("live") or {}
        tail = message.get("tail")
        if tail:
            if not tail["base"]:
                self.tail.clear()
                self.lost = 0
            self.lost += tail.get("lost") or 0
            self.tail.extend(tail.get("rows") or ())
