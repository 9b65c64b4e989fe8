"""Every key of every screen, in one table, and what is made from it: help and the palette.

The id of a row is an action of its screen: `open` and `view(2)` call `action_open` and `action_view`. The short text is
in the footer; a row without it is only in the help. The footer and the guide are made from the table, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Input

from handrail.tui.context import TerminalLook
from handrail.tui.lines.words import Piece, TextLine, cell, in_lines, line, spread
from handrail.tui.widgets import Bar, Listing
from handrail.view.text.columns import ALL_SIGNS, columns

if TYPE_CHECKING:
    from handrail.tui.app import HandrailApp

HOME, RUN, SESSION, LOG, READER, CATALOG = "home", "run", "session", "log", "reader", "catalog"
SCREENS = {
    HOME: "Home",
    RUN: "Run",
    SESSION: "Session",
    LOG: "Log",
    READER: "Text",
    CATALOG: "Catalog",
}
"""The screens with keys of this table, and their titles."""
ALL = tuple(SCREENS)
LISTS = (HOME, RUN, SESSION, LOG, CATALOG)
VIEWS = (RUN, SESSION)
WORK = (HOME, *VIEWS)
PANES = (*WORK, CATALOG)


class Key(NamedTuple):
    """A key and what it does. `keys` are Textual's names, `label` is what a person reads.

    The keys of a group are one line of the help.
    """

    id: str
    keys: str
    label: str
    short: str
    about: str
    screens: tuple[str, ...]
    group: str = ""


KEYS: tuple[Key, ...] = (
    Key("move(-1)", "up", "↑", "", "move up", ALL, "move"),
    Key("move(1)", "down", "↓", "", "move down", ALL, "move"),
    Key("page(-1)", "pageup", "PgUp", "", "one page up", ALL, "move"),
    Key("page(1)", "pagedown", "PgDn", "", "one page down", ALL, "move"),
    Key("move(-999999)", "home", "Home", "", "to the first line", ALL, "move"),
    Key("move(999999)", "end", "End", "", "to the last line", ALL, "move"),
    Key("open", "enter", "↵", "open", "open what is selected", (HOME,)),
    Key("answer", "a", "a", "answer", "answer what waits: this one, else the oldest", WORK),
    Key("open", "enter", "↵", "step", "show the step, or fold and unfold", (RUN,)),
    Key("open", "enter", "↵", "text", "show the text of the phase", (SESSION,)),
    Key("open", "enter", "↵", "go to the step", "go to the step of this line", (LOG,)),
    Key("open", "enter", "↵", "launch", "launch this one, or fold and unfold", (CATALOG,)),
    Key("edit", "e", "e", "edit", "open the file in $EDITOR at its first problem", (CATALOG,)),
    Key("show", "v", "v", "show", "show the text with its problems", (CATALOG,)),
    Key("problems", "p", "p", "problems only", "show only what has problems, or everything", (CATALOG,)),
    Key("fold(True)", "left", "←", "", "fold, or go to what it is in", (RUN, SESSION, CATALOG), "fold, unfold"),
    Key("fold(False)", "right", "→", "", "unfold", (RUN, SESSION, CATALOG), "fold, unfold"),
    Key("pane(1)", "tab", "Tab", "", "next pane", PANES, "next, previous pane"),
    Key("pane(-1)", "shift+tab", "Shift-Tab", "", "previous pane", PANES, "next, previous pane"),
    Key("launch", "n", "n", "launch", "launch a flow or a workflow", (HOME,)),
    Key("catalog", "c", "c", "catalog", "what can be launched, and its problems", (HOME,)),
    Key("follow", "f", "f", "follow", "follow the tail, or hold it", (RUN,)),
    Key("again", "r", "r", "resume…", "resume, continue or restart", (HOME, RUN)),
    Key("stop", "s", "s", "stop…", "stop a run", (HOME, RUN)),
    Key("cancel_workflow", "x", "x", "cancel…", "cancel the workflow of the session", (HOME, SESSION)),
    Key("reload", "L,shift+l", "L", "reload…", "load the files of the workflow again", (SESSION,)),
    Key("go_to", "g", "g", "", "move the session to the selected phase", (SESSION,)),
    Key("find", "slash", "/", "find", "find text, ignoring case", LISTS),
    Key("back", "b,backspace", "b", "back", "back without a question", (RUN, SESSION, CATALOG)),
    Key("catalog", "c", "c", "", "what can be launched, and its problems", VIEWS),
    Key("older", "o", "o", "", "show older ones", (HOME,)),
    Key("unread", "u", "u", "", "mark a failure as unread", (HOME,)),
    Key("init", "i", "i", "", "create a small project", (HOME,)),
    Key("view(1)", "1", "1", "", "the first view", VIEWS, "the views"),
    Key("view(2)", "2", "2", "", "the second view", VIEWS, "the views"),
    Key("view(3)", "3", "3", "", "the third view", VIEWS, "the views"),
    Key("view(4)", "4", "4", "", "the fourth view", VIEWS, "the views"),
    Key("view(5)", "5", "5", "", "the fifth view", VIEWS, "the views"),
    Key("view(6)", "6", "6", "", "the sixth view", VIEWS, "the views"),
    Key("view(7)", "7", "7", "", "the log", (RUN,), "the views"),
    Key("neighbour(-1)", "left_square_bracket", "[", "", "the previous one", VIEWS, "other runs and sessions"),
    Key("neighbour(1)", "right_square_bracket", "]", "", "next run or session", VIEWS, "other runs and sessions"),
    Key("show", "v", "v", "", "show the selected file", (RUN,)),
    Key("diff", "d", "d", "", "compare the file with its previous version", (RUN,)),
    Key("edit", "e", "e", "", "open the selected file in $EDITOR", (RUN,)),
    Key("edit", "e", "e", "edit", "open the file in $EDITOR", (READER,)),
    Key("copy", "y", "y", "copy", "copy the selected line", (LOG,)),
    Key("copy", "y", "y", "copy", "copy the text", (READER,)),
    Key("kinds", "k", "k", "kinds", "choose which kinds of lines are shown", (LOG,)),
    Key("wrap", "w", "w", "wrap", "wrap long lines, or cut them", (RUN, LOG)),
    Key("find_again(1)", "n", "n", "next", "next match", (LOG,)),
    Key("find_again(1)", "n", "n", "", "next match", (RUN, SESSION, CATALOG)),
    Key("find_again(-1)", "N,shift+n", "N", "", "previous match (n: next, while searching)", (HOME,)),
    Key("find_again(-1)", "N,shift+n", "N", "", "previous match", (RUN, SESSION, LOG, CATALOG)),
    Key("clear", "ctrl+l", "Ctrl-L", "", "clear the tail, draw the screen again", ALL),
    Key("palette", "ctrl+p", "Ctrl-P", "", "all commands by name", LISTS),
    Key("escape", "escape", "Esc", "", "close what is open; nothing else", (HOME,)),
    Key("escape", "escape", "Esc", "", "close; else ask to stop what runs; else back", (RUN,)),
    Key("escape", "escape", "Esc", "", "close what is open, else back", (SESSION, CATALOG)),
    Key("escape", "escape", "Esc", "back", "close what is open, else back", (LOG, READER)),
    Key("back", "b,backspace", "b", "", "back", (LOG, READER)),
    Key("help", "question_mark,h,f1", "?", "help", "every key of this screen (also h, F1)", ALL),
    Key("quit", "q,ctrl+c", "q", "quit", "quit (also Ctrl-C; twice in two seconds: at once)", ALL),
)  # fmt: skip


def keys_of_screen(screen: str) -> list[Key]:
    return [key for key in KEYS if screen in key.screens]


LEFT_OUT = ("move", "page", "pane", "escape", "palette")
"""Actions that are no commands."""


def help_lines(screen: str, look: TerminalLook, width: int) -> list[TextLine]:
    """Every key of a screen, then the signs. In two columns if there is room."""
    is_wide = width >= 140
    room = (width - 4) // 2 if is_wide else width - 3
    rows = grouped_keys(screen, look)
    key_width = max(22, *(columns(keys) for keys, _ in rows))
    cells = [f"{cell(keys, key_width)} {cell(about, room - key_width - 1)}" for keys, about in rows]
    half = (len(cells) + 1) // 2 if is_wide else len(cells)
    lines = [
        line(
            None, f"  {cells[number]}" + (f"  {cells[number + half]}" if is_wide and number + half < len(cells) else "")
        )
        for number in range(half)
    ]
    words = in_lines([f"{sign.char} {sign.word}" for sign in ALL_SIGNS], width - 3, "   ")
    return [*lines, line(None, ""), *(line(None, Piece(f"  {part}", "dim")) for part in words)]


def grouped_keys(screen: str, look: TerminalLook) -> list[tuple[str, str]]:
    """The keys of a screen and what they do. Those of a group are together."""
    groups: dict[str, tuple[list[str], str]] = {}
    for key in keys_of_screen(screen):
        names, _ = groups.setdefault(key.group or f"{key.id} {key.about}", ([], key.group or key.about))
        names.append(look.key(key.label))
    return [(" ".join(names), about) for names, about in groups.values()]


class HelpScreen(ModalScreen[None]):
    DEFAULT_CSS = "HelpScreen { layout: vertical; background: $background; }"
    BINDINGS = [
        Binding("up", "move(-1)"),
        Binding("down", "move(1)"),
        Binding("pageup", "move(-20)"),
        Binding("pagedown", "move(20)"),
        Binding("home", "move(-999)"),
        Binding("end", "move(999)"),
        Binding("escape,question_mark,h,f1,b,backspace,q,enter", "dismiss"),
    ]

    def __init__(self, screen_name: str) -> None:
        super().__init__()
        self.screen_name = screen_name

    def compose(self) -> ComposeResult:
        yield Bar("head")
        yield Listing("help")
        yield Bar("keys")

    def on_resize(self) -> None:
        width = self.size.width
        title = f"Help · {SCREENS[self.screen_name]}"
        self.query_one("#head", Bar).show(spread(title, "every key of this screen ", width, "bold"))
        look = cast("HandrailApp", self.app).look
        self.query_one(Listing).show(help_lines(self.screen_name, look, width))
        self.query_one("#keys", Bar).show((Piece("Esc", "bold"), Piece(" close")))

    def action_move(self, by: int) -> None:
        self.query_one(Listing).move(by)


class PaletteScreen(ModalScreen[str | None]):
    """All commands of a screen by name. Returns the action that was chosen."""

    DEFAULT_CSS = """
    PaletteScreen { layout: vertical; background: $background; }
    PaletteScreen Input { height: 1; border: none; padding: 0; background: $background; }
    """
    BINDINGS = [
        Binding("up", "move(-1)", priority=True),
        Binding("down", "move(1)", priority=True),
        Binding("escape", "dismiss(None)"),
    ]

    def __init__(self, screen_name: str) -> None:
        super().__init__()
        self.keys = [key for key in keys_of_screen(screen_name) if key.id.partition("(")[0] not in LEFT_OUT]

    def compose(self) -> ComposeResult:
        yield Bar("head")
        yield Input(placeholder="type a part of a command", compact=True)
        yield Listing("commands")

    def on_mount(self) -> None:
        self.query_one("#head", Bar).show((Piece("Commands", "bold"),))
        self.query_one(Input).focus()
        self._show("")

    @on(Input.Changed)
    def _show_matches(self, event: Input.Changed) -> None:
        self._show(event.value)

    def _show(self, text: str) -> None:
        keys = [key for key in self.keys if text.casefold() in f"{key.about} {key.short}".casefold()]
        lines = [line(key.id, f"  {cell(key.label, 10)} {key.about}") for key in keys]
        self.query_one(Listing).show(lines or [line(None, Piece("  no such command", "dim"))])

    @on(Input.Submitted)
    @on(Listing.Opened)
    def _take(self) -> None:
        self.dismiss(self.query_one(Listing).selected)

    def action_move(self, by: int) -> None:
        self.query_one(Listing).move(by)
