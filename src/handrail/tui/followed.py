"""A screen that follows one run or session: its rows, its name, and the way to the others."""

from __future__ import annotations

from handrail.topics.rows import Row
from handrail.tui.feed import Feed
from handrail.tui.frame import Views


class Followed(Views):
    """`topic` is `run:ID` or `session:ID`. `feed` is None until the screen is mounted."""

    def __init__(self, topic: str) -> None:
        super().__init__()
        self.topic = topic
        self.feed: Feed | None = None

    def on_mount(self) -> None:
        self.feed = Feed(self.top.hub, self.topic, self.top.project.clock, self.stale)
        self.run_worker(self.feed.run(), exit_on_error=True)

    @property
    def id_there(self) -> str:
        """The id of the run or session."""
        return self.topic.partition(":")[2]

    @property
    def head(self) -> Row:
        return self.feed.head if self.feed is not None else {}

    @property
    def called(self) -> str:
        return str(self.head.get("name") or self.id_there)

    def section(self, name: str) -> list[Row]:
        return self.feed.section(name) if self.feed is not None else []

    def action_catalog(self) -> None:
        self.top.catalog()

    def action_previous_run(self) -> None:
        self.top.neighbour(self.topic, -1)

    def action_next_run(self) -> None:
        self.top.neighbour(self.topic, 1)
