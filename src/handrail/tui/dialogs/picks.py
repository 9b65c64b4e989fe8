"""One of many values in one row: `from [check ▾]`. The arrow keys and the first letter change it."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from handrail.tui.dialogs.controls import HERE, Changed, go_on
from handrail.tui.dialogs.texts import in_line

_WIDEST = 24


class Pick(Widget, can_focus=True):
    """Values with labels, one of which is chosen."""

    DEFAULT_CSS = "Pick { width: auto; height: 1; margin: 0 2 0 0; }"
    BINDINGS = [
        Binding("up,left", "move(-1)", "previous", show=False),
        Binding("down,right,space", "move(1)", "next", show=False),
        Binding("home", "move(-1000000)", "first", show=False),
        Binding("end", "move(1000000)", "last", show=False),
        Binding("enter", "done", "next field", show=False),
    ]

    def __init__(self, label: str, values: Sequence[tuple[str, str]], value: str = "") -> None:
        super().__init__()
        self.label = label
        self.values = tuple(values)
        self.at = next((place for place, (one, _) in enumerate(self.values) if one == value), 0)

    @property
    def value(self) -> str:
        return self.values[self.at][0] if self.values else ""

    @value.setter
    def value(self, value: str) -> None:
        self._go(next((place for place, (one, _) in enumerate(self.values) if one == value), self.at))

    def action_move(self, by: int) -> None:
        self._go(min(max(0, self.at + by), max(0, len(self.values) - 1)))

    def action_done(self) -> None:
        go_on(self)

    def on_key(self, event: events.Key) -> None:
        letter = event.character or ""
        if len(letter) == 1 and letter.isalnum():
            order = [*range(self.at + 1, len(self.values)), *range(self.at + 1)]
            fits = (place for place in order if self.values[place][1].casefold().startswith(letter.casefold()))
            self._go(next(fits, self.at))
            event.stop()

    def on_click(self) -> None:
        self._go((self.at + 1) % max(1, len(self.values)))

    def _go(self, at: int) -> None:
        if at != self.at:
            self.at = at
            self.refresh(layout=True)
            self.post_message(Changed(self))

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def render(self) -> Content:
        chosen = self.values[self.at][1] if self.values else "–"
        value = Content.assemble("[", in_line(chosen).truncate(_WIDEST, ellipsis=True), " ▾]")
        label = Content.assemble(in_line(self.label), " " if self.label else "")
        return Content.assemble(
            HERE if self.has_focus else " ", label, value.stylize("reverse") if self.has_focus else value
        )

    def get_content_width(self, container: Size, viewport: Size) -> int:  # noqa: ARG002 - of Textual
        return self.render().cell_length
