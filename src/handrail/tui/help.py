"""Help and the palette: both are made from the table of keys."""

from __future__ import annotations

from typing import cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Input

from handrail.topics import signs
from handrail.tui import bindings
from handrail.tui.drawing.words import Line, Piece, cell, in_lines, line, spread
from handrail.tui.listing import Bar, Listing
from handrail.tui.look import Look
from handrail.tui.top import Top
from handrail.view.columns import columns

LEFT_OUT = ("up", "down", "page_up", "page_down", "top", "bottom", "next_pane", "previous_pane", "escape", "palette")
"""Keys that are no commands."""


def help_lines(screen: str, look: Look, width: int) -> list[Line]:
    """Every key of a screen, then the signs. In two columns if there is room."""
    two = width >= 140
    room = (width - 4) // 2 if two else width - 3
    rows = grouped(screen, look)
    first = max(22, *(columns(keys) for keys, _ in rows))
    cells = [f"{cell(keys, first)} {cell(about, room - first - 1)}" for keys, about in rows]
    half = (len(cells) + 1) // 2 if two else len(cells)
    found = [
        line(None, f"  {cells[at]}" + (f"  {cells[at + half]}" if two and at + half < len(cells) else ""))
        for at in range(half)
    ]
    words = in_lines([f"{sign.char} {sign.word}" for sign in signs.ALL], width - 3, "   ")
    return [*found, line(None, ""), *(line(None, Piece(f"  {part}", "dim")) for part in words)]


def grouped(screen: str, look: Look) -> list[tuple[str, str]]:
    """The keys of a screen and what they do. Those of a group are together."""
    found: dict[str, tuple[list[str], str]] = {}
    for key in bindings.of_screen(screen):
        names, _ = found.setdefault(key.group or f"{key.id} {key.about}", ([], key.group or key.about))
        names.append(look.key(key.shown))
    return [(" ".join(names), about) for names, about in found.values()]


class HelpScreen(ModalScreen[None]):
    """Every key of a screen."""

    DEFAULT_CSS = "HelpScreen { layout: vertical; background: $background; }"
    BINDINGS = [
        Binding("up", "move(-1)"),
        Binding("down", "move(1)"),
        Binding("pageup", "move(-20)"),
        Binding("pagedown", "move(20)"),
        Binding("home", "move(-999)"),
        Binding("end", "move(999)"),
        Binding("escape,question_mark,h,f1,b,backspace,q,enter", "close"),
    ]

    def __init__(self, of: str) -> None:
        super().__init__()
        self.of = of

    def compose(self) -> ComposeResult:
        yield Bar("head")
        yield Listing("help")
        yield Bar("keys")

    def on_resize(self) -> None:
        width = self.size.width
        title = f"Help · {bindings.SCREENS[self.of]}"
        self.query_one("#head", Bar).show(spread(title, "every key of this screen ", width, "bold"))
        look = cast("Top", self.app).look
        self.query_one(Listing).show(help_lines(self.of, look, width))
        self.query_one("#keys", Bar).show((Piece("Esc", "bold"), Piece(" close")))

    def action_move(self, by: int) -> None:
        self.query_one(Listing).move(by)

    def action_close(self) -> None:
        self.dismiss()


class PaletteScreen(ModalScreen[str | None]):
    """All commands of a screen by name. Returns the action that was chosen."""

    DEFAULT_CSS = """
    PaletteScreen { layout: vertical; background: $background; }
    PaletteScreen Input { height: 1; border: none; padding: 0; background: $background; }
    """
    BINDINGS = [
        Binding("up", "move(-1)", priority=True),
        Binding("down", "move(1)", priority=True),
        Binding("escape", "close"),
    ]

    def __init__(self, of: str) -> None:
        super().__init__()
        self.of = of

    def compose(self) -> ComposeResult:
        yield Bar("head")
        yield Input(placeholder="type a part of a command", compact=True)
        yield Listing("commands")

    def on_mount(self) -> None:
        self.query_one("#head", Bar).show((Piece("Commands", "bold"),))
        self.query_one(Input).focus()
        self._show("")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._show(event.value)

    def _show(self, text: str) -> None:
        rows = [
            key
            for key in bindings.of_screen(self.of)
            if key.id not in LEFT_OUT and text.casefold() in f"{key.about} {key.short}".casefold()
        ]
        lines = [line(key.id, f"  {cell(key.shown, 10)} {key.about}") for key in rows]
        self.query_one(Listing).show(lines or [line(None, Piece("  no such command", "dim"))])

    @on(Input.Submitted)
    def _take(self) -> None:
        self.dismiss(self.query_one(Listing).selected)

    @on(Listing.Opened)
    def _clicked(self) -> None:
        self._take()

    def action_move(self, by: int) -> None:
        self.query_one(Listing).move(by)

    def action_close(self) -> None:
        self.dismiss(None)
