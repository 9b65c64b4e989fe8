"""Widgets that show lines of pieces: a list with a selection, and a bar of one line. Text in them is never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from handrail.tui.lines.words import Piece, TextLine

STYLES: dict[str, Style] = {
    "": Style(),
    "bold": Style(bold=True),
    "head": Style(bold=True),
    "dim": Style(dim=True),
    "need": Style(color="yellow", bold=True),
    "run": Style(color="cyan"),
    "delay": Style(color="magenta"),
    "done": Style(color="green"),
    "fail": Style(color="red"),
    "stop": Style(color="yellow"),
    "match": Style(reverse=True),
    "on": Style(bold=True, underline=True),
}
REVERSE = Style(reverse=True)
MARK = "▌"


def segments(pieces: Iterable[Piece]) -> list[Segment]:
    return [Segment(piece.text, _style(piece)) for piece in pieces if piece.text]


def _style(piece: Piece) -> Style:
    style = STYLES[piece.style]
    return style + Style(meta={"@click": f"screen.{piece.action}"}) if piece.action else style


class ListMessage(Message):
    """Something happened in a list."""

    def __init__(self, listing: Listing) -> None:
        super().__init__()
        self.listing = listing

    @property
    def control(self) -> Listing:
        return self.listing


class Listing(ScrollView, can_focus=True, inherit_bindings=False):
    """A list of lines. The selection follows the id of a line, and a selected line is marked with `▌`."""

    DEFAULT_CSS = """
    Listing { height: 1fr; width: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable;
              scrollbar-size-vertical: 1; background: $background; }
    """

    class Opened(ListMessage):
        """The selected line was clicked."""

    class Moved(ListMessage):
        """Another line is selected."""

    def __init__(self, id: str, *, follows: bool = False, takes_focus: bool = True) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.can_focus = takes_focus
        self.lines: list[TextLine] = []
        self.selected: str | None = None
        self.follows = follows
        self._ids: list[str] = []
        self._place: dict[str, int] = {}

    def room(self, width: int) -> int:
        """The columns for a line. Before the list has a size, this is a list as wide as that."""
        return self.scrollable_content_region.width or width - 1

    def show(self, lines: Sequence[TextLine], *, is_held: bool = False) -> None:
        """Show these lines. If the list is held, no line moves: only lines that are there already change."""
        lines = list(lines)
        if is_held and self._ids and [line.id for line in lines] != [line.id for line in self.lines]:
            news = {line.id: line for line in lines if line.id is not None}
            lines = [news.get(line.id, line) if line.id is not None else line for line in self.lines]
        old_lines, self.lines = self.lines, lines
        old_place = self._ids.index(self.selected) if self.selected in self._ids else 0
        self._place = {line.id: number for number, line in enumerate(lines) if line.id is not None}
        self._ids = list(self._place)
        selected_id = self.selected if self.selected in self._place else None
        if selected_id is None and self._ids:  # the line that is now where it was
            selected_id = self._ids[min(old_place, len(self._ids) - 1)]
        old_y = next((number for number, line in enumerate(old_lines) if line.id == self.selected), None)
        has_moved = selected_id != self.selected
        self.selected = selected_id
        if len(old_lines) != len(lines):
            self.virtual_size = Size(self.size.width, len(lines))
            self.refresh()
        else:
            for number, (one, other) in enumerate(zip(old_lines, lines, strict=True)):
                if one != other:
                    self._refresh_line(number)
        if self.follows:
            self.scroll_to(y=max(0, len(lines) - self.size.height), animate=False, immediate=True)
        elif selected_id is not None and self._place[selected_id] != old_y:
            self._keep_in_sight()
        if has_moved:
            self.refresh()
            self.post_message(self.Moved(self))

    def on_resize(self, event: events.Resize) -> None:
        del event
        self.virtual_size = Size(self.size.width, len(self.lines))
        if self.follows:
            self.scroll_to(y=max(0, len(self.lines) - self.size.height), animate=False, immediate=True)
        else:
            self._keep_in_sight()

    def select(self, id_: str | None) -> bool:
        """Select a line by its id. False if there is none."""
        if id_ is None or id_ not in self._place:
            return False
        if id_ != self.selected:
            if self.selected in self._place:
                self._refresh_line(self._place[self.selected])
            self.selected = id_
            self._refresh_line(self._place[id_])
            self.post_message(self.Moved(self))
        self._keep_in_sight()
        return True

    def move(self, by: int) -> None:
        """Move the selection; a list without lines to select is scrolled."""
        if not self._ids:
            self.follows = False
            self.scroll_to(y=self.scroll_offset.y + by, animate=False, immediate=True)
            return
        at = self._ids.index(self.selected) if self.selected in self._ids else 0
        target = min(max(at + by, 0), len(self._ids) - 1)
        if target == at and by < 0:
            self.scroll_to(y=0, animate=False, immediate=True)
        self.select(self._ids[target])

    def page(self, by: int) -> None:
        self.move(by * max(1, self.size.height - 1))

    def find(self, needle: str, by: int) -> bool:
        """Select the next line with this text, in any case; after the last one comes the first."""
        at = self._place.get(self.selected or "", -1)
        count = len(self.lines)
        for step in range(1, count + 1):
            line = self.lines[(at + by * step) % count]
            if line.id is not None and needle.casefold() in line.text.casefold():
                return self.select(line.id)
        return False

    def _keep_in_sight(self) -> None:
        at = self._place.get(self.selected or "")
        height = self.size.height
        if at is None or not height:
            return
        top = self.scroll_offset.y
        first = at - 1 if at and self.lines[at - 1].id is None else at
        if first < top:
            self.scroll_to(y=first, animate=False, immediate=True, force=True)
        elif at >= top + height:
            self.scroll_to(y=at - height + 1, animate=False, immediate=True, force=True)

    def _refresh_line(self, at: int) -> None:
        self.refresh(Region(0, at - self.scroll_offset.y, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        width = self.size.width
        if at >= len(self.lines):
            return Strip.blank(width, self.rich_style)
        line = self.lines[at]
        is_selected = line.id is not None and line.id == self.selected
        parts = segments(line.pieces)
        if is_selected and parts:
            first_part = parts[0]
            parts = [Segment(MARK, first_part.style), Segment(first_part.text[1:], first_part.style), *parts[1:]]
        strip = Strip(parts).adjust_cell_length(width).apply_style(self.rich_style)
        return strip.apply_style(REVERSE) if is_selected and self.has_focus else strip

    def on_click(self, event: events.Click) -> None:
        at = event.y + self.scroll_offset.y
        if 0 <= at < len(self.lines) and self.lines[at].id is not None:
            if self.lines[at].id == self.selected and self.has_focus:
                self.post_message(self.Opened(self))
            else:
                self.select(self.lines[at].id)


class Bar(Widget):
    """One line of pieces."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; background: $background; }"

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self.pieces: tuple[Piece, ...] = ()

    def show(self, pieces: Sequence[Piece]) -> None:
        if tuple(pieces) != self.pieces:
            self.pieces = tuple(pieces)
            self.refresh()

    def render_line(self, y: int) -> Strip:
        del y
        return Strip(segments(self.pieces)).adjust_cell_length(self.size.width).apply_style(self.rich_style)
