"""What screens need from the application that shows them. Its implementation is `app.py`."""

from __future__ import annotations

from typing import Any, Protocol

from handrail.app import App as Project
from handrail.errors import HandrailError
from handrail.live.actions import Actions
from handrail.live.hub import Hub
from handrail.topics.rows import Row
from handrail.tui.drawing.words import Times
from handrail.tui.feed import Feed
from handrail.tui.look import Look


class Top(Protocol):
    """The application. `launched` are the ids of the runs that were started here."""

    look: Look
    project: Project
    actions: Actions
    hub: Hub
    home: Feed
    launched: set[str]

    @property
    def times(self) -> Times: ...

    @property
    def entries(self) -> list[Row]: ...

    @property
    def needing(self) -> int: ...

    @property
    def is_trusted(self) -> bool: ...

    def is_held(self, seconds: float) -> bool: ...

    def tell(self, text: str) -> None: ...

    def news_on(self, screen: object) -> str:
        """The line of news of a screen; empty if there is none."""

    @property
    def standing(self) -> str:
        """What a screen without news says."""

    def refused(self, error: HandrailError) -> None: ...

    async def leave(self) -> None: ...

    def open(self, topic: str) -> None:
        """Show a run or a session."""

    def neighbour(self, topic: str, by: int) -> None:
        """Show the run or session before or after this one, instead of it."""

    def launch(self, name: str | None = None) -> None:
        """Ask what to launch, and how."""

    def catalog(self) -> None:
        """Show everything that can be launched."""

    def push_screen(self, screen: Any, callback: Any = None) -> Any:
        """Textual's."""

    def push_screen_wait(self, screen: Any) -> Any:
        """Textual's."""

    def run_worker(self, work: Any) -> Any:
        """Textual's."""

    def suspend(self) -> Any:
        """Textual's."""

    def copy_to_clipboard(self, text: str) -> None:
        """Textual's."""
