"""What each key of each screen does, as a person sees it: one row per screen and key of `keys.KEYS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from textual.widgets import Input

from handrail.tui import keys
from handrail.tui.app import HandrailApp
from handrail.tui.decisions import ChoiceScreen
from handrail.tui.frame import Frame
from handrail.tui.keys import CATALOG, HOME, LOG, READER, RUN, SESSION
from handrail.tui.widgets import Bar, Listing
from tui.scene import picture

Sees = Callable[[HandrailApp], bool]
MOVES = ("move(-1)", "move(1)", "page(-1)", "page(1)", "move(-999999)", "move(999999)")


class Row(NamedTuple):
    """`sees` holds after the key and not before it. `before` are keys that come first, or what has to hold then."""

    sees: Sees
    before: tuple[str | Sees, ...] = ()


def text(*wanted: str) -> Sees:
    """All of these are on the screen."""
    return lambda top: all(one in picture(top) for one in wanted)


def without(*gone: str) -> Sees:
    return lambda top: not any(one in picture(top) for one in gone)


def _list(top: HandrailApp) -> Listing | None:
    """The list with the focus."""
    return top.focused if isinstance(top.focused, Listing) else None


def chosen(wanted: str) -> Sees:
    """The selected line of the list with the focus has this text."""

    def sees(top: HandrailApp) -> bool:
        found = _list(top)
        lines = found.lines if found is not None and found.selected is not None else []
        return any(found is not None and one.id == found.selected and wanted in one.text for one in lines)

    return sees


def place(holds: Callable[[int], bool]) -> Sees:
    """Which of the lines that can be selected is selected."""

    def sees(top: HandrailApp) -> bool:
        found = _list(top)
        ids = [one.id for one in found.lines if one.id is not None] if found is not None else []
        return found is not None and found.selected in ids and holds(ids.index(found.selected))

    return sees


def scrolled(holds: Callable[[int], bool]) -> Sees:
    """The first line that is seen of the list with the focus."""
    return lambda top: isinstance(top.focused, Listing) and holds(top.focused.scroll_offset.y)


def focused(id_: str) -> Sees:
    return lambda top: top.focused is not None and top.focused.id == id_


def at(screen: str) -> Sees:
    """This screen is shown, with what it follows."""

    def sees(top: HandrailApp) -> bool:
        feed = getattr(top.screen, "feed", None)
        is_there = isinstance(top.screen, Frame) and screen == top.screen.NAME
        return is_there and (feed is None or (feed.is_ready and "reading" not in picture(top)))

    return sees


def view(number: int) -> Sees:
    return lambda top: getattr(top.screen, "view", None) == number


def asks(wanted: str) -> Sees:
    return lambda top: isinstance(top.screen, ChoiceScreen) and wanted in picture(top)


def copied(wanted: str) -> Sees:
    return lambda top: wanted in top.clipboard


def edited(wanted: str) -> Sees:
    """The editor was told to open this."""

    def sees(top: HandrailApp) -> bool:
        path = Path(top.project.project) / "edited"
        return path.exists() and wanted in path.read_text(encoding="utf-8")

    return sees


def launched(top: HandrailApp) -> bool:
    """As if the run that waits had been launched here."""
    top.launched_runs |= {str(row["id"]).removeprefix("run:") for row in top.entries if row.get("need")}
    return True


def blank(top: HandrailApp) -> bool:
    """Something else wrote over the first line of the terminal."""
    top.screen.query_one("#head", Bar).show(())
    return True


def gone(top: HandrailApp) -> bool:
    """The editor has opened nothing yet."""
    (Path(top.project.project) / "edited").unlink(missing_ok=True)
    return True


def moves(*rows: Row) -> dict[str, Row]:
    return dict(zip(MOVES, rows, strict=True))


def both(one: Sees, other: Sees) -> Sees:
    return lambda top: one(top) and other(top)


def elsewhere(top: HandrailApp) -> bool:
    """Another run or session than the first one is shown."""
    topic, feed = getattr(top.screen, "topic", None), getattr(top.screen, "feed", None)
    return topic not in (None, top.entries[0]["id"]) and feed is not None and feed.is_ready


def rested(top: HandrailApp) -> bool:
    """The list of home has the focus."""
    top.screen.query_one("#entries", Listing).focus()
    return True


def finding(top: HandrailApp) -> bool:
    return isinstance(top.focused, Input)


def _ids(screen: str) -> set[str]:
    return {key.id for key in keys.keys_of_screen(screen)}


HELLO, NIGHTLY = ("slash", *"hello", "enter"), ("slash", *"nightly", "enter", "escape", chosen("nightly"))
SHIP = ("slash", *"ship", "enter", "escape", chosen("Ship"))
EVERYWHERE = {
    "palette": Row(text("Commands", "type a part of a command")),
    "help": Row(text("every key of this screen")),
    "quit": Row(asks("1 run continues without this screen."), (launched,)),
    "find": Row(finding),
    "catalog": Row(at(CATALOG)),
}
ON_HOME = {
    **moves(
        Row(chosen("release"), ("down",)),
        Row(chosen("Ship")),
        Row(place(lambda n: 60 < n < 90), ("end",)),
        Row(place(lambda n: 20 < n < 40)),
        Row(chosen("release"), ("end",)),
        Row(chosen("older: o")),
    ),
    "open": Row(text("1 Progress", "Release it?")),
    "answer": Row(text("Release it?", "[ Send ^S ]")),
    "pane(1)": Row(focused("beside")),
    "pane(-1)": Row(focused("entries"), ("tab",)),
    "launch": Row(at(CATALOG)),
    "again": Row(asks("[ Resume ]"), NIGHTLY),
    "stop": Row(asks("Stop release?")),
    "cancel_workflow": Row(asks("Cancel Ship?"), SHIP),
    "find_again(-1)": Row(place(lambda n: n > 90), HELLO),
    "older": Row(without("older: o"), ("end",)),
    "unread": Row(text("2 need you"), NIGHTLY),
    "init": Row(asks("Create an example flow and workflow")),
    "clear": Row(text("handrail  project"), (blank,)),
    "escape": Row(focused("entries"), ("slash",)),
}
ON_RUN = {
    **moves(
        Row(chosen("ask")),
        Row(chosen("lint"), ("home",)),
        Row(chosen("check")),
        Row(chosen("go"), ("home",)),
        Row(chosen("check")),
        Row(chosen("go"), ("home",)),
    ),
    "open": Row(text("ask › go", "kind    user-input", "Esc back")),
    "answer": Row(text("Release it?", "[ Send ^S ]")),
    "fold(True)": Row(text("▸ ✓ check"), ("home",)),
    "fold(False)": Row(text("▾ ✓ check"), ("home", "left")),
    "pane(1)": Row(focused("side")),
    "pane(-1)": Row(focused("tree"), ("tab",)),
    "follow": Row(without("following")),
    "again": Row(asks("[ Resume ]")),
    "stop": Row(asks("Stop release?")),
    "back": Row(at(HOME)),
    **{f"view({number})": Row(view(number), ("2" if number == 1 else "1",)) for number in range(1, 7)},
    "view(7)": Row(text("log · release")),
    "neighbour(-1)": Row(text("Release it?"), ("right_square_bracket", elsewhere)),
    "neighbour(1)": Row(elsewhere),
    "show": Row(text("NOTES.md", " 17", "y copy"), ("4", "end")),
    "diff": Row(text("NOTES.md: changes", "-1"), ("4", "end")),
    "edit": Row(edited("NOTES.md"), (gone, "4", "end")),
    "wrap": Row(text("its last word")),
    "find_again(1)": Row(chosen("round 1"), ("home", "slash", *"ROUND", "enter", "n", "n", "home")),
    "find_again(-1)": Row(chosen("round 3"), ("home", "slash", *"ROUND", "enter", chosen("round 1"))),
    "clear": Row(text("no output yet")),
    "escape": Row(at(HOME)),
}
ON_SESSION = {
    **moves(
        Row(chosen("Plan")),
        Row(chosen("Deliver")),
        Row(chosen("Plan")),
        Row(chosen("Deliver")),
        Row(chosen("Plan")),
        Row(chosen("Deliver")),
    ),
    "open": Row(text("Ship › Build", "Do build.")),
    "answer": Row(text("Release it?", "[ Send ^S ]")),
    "fold(True)": Row(without("gate")),
    "fold(False)": Row(text("gate"), ("left",)),
    "pane(1)": Row(focused("side")),
    "pane(-1)": Row(focused("main"), ("tab",)),
    "cancel_workflow": Row(asks("Cancel Ship?")),
    "reload": Row(asks("Load the files of Ship again?")),
    "go_to": Row(text("Go to Build?", "Why", "[ Go there ^S ]")),
    "back": Row(at(HOME)),
    **{f"view({number})": Row(view(number), ("2" if number == 1 else "1",)) for number in range(1, 6)},
    "view(6)": Row(text("log · Ship")),
    "neighbour(-1)": Row(at(RUN)),
    "neighbour(1)": Row(at(RUN)),
    "find_again(1)": Row(chosen("Plan"), ("slash", *"L", "enter", chosen("Deliver"))),
    "find_again(-1)": Row(chosen("Build"), ("slash", *"L", "enter", chosen("Deliver"))),
    "clear": Row(text("Ship  “login page”"), (blank,)),
    "escape": Row(at(HOME)),
}
ON_LOG = {
    **moves(
        Row(place(lambda n: n == 1), ("home", "down", "down")),
        Row(place(lambda n: n == 1), ("home",)),
        Row(place(lambda n: n < 5)),
        Row(place(lambda n: n > 5), ("home",)),
        Row(place(lambda n: n == 0)),
        Row(place(lambda n: n > 5), ("home",)),
    ),
    "open": Row(both(at(RUN), chosen("lint")), ("home", "slash", *"lint", "enter")),
    "back": Row(at(RUN)),
    "copy": Row(copied("started"), ("home",)),
    "kinds": Row(text("[x] facts")),
    "wrap": Row(text("its last word")),
    "find_again(1)": Row(text("2 of "), ("home", "slash", *"fix", "enter", text("1 of "))),
    "find_again(-1)": Row(text("1 of "), ("home", "slash", *"fix", "enter", "n", text("2 of "))),
    "clear": Row(text("log · release"), (blank,)),
    "escape": Row(at(RUN)),
}
ON_READER = {
    **moves(
        Row(scrolled(lambda y: y == 1), ("down", "down")),
        Row(scrolled(lambda y: y == 1)),
        Row(scrolled(lambda y: 0 < y < 40), ("end",)),
        Row(scrolled(lambda y: 10 < y < 40)),
        Row(scrolled(lambda y: y == 0), ("end",)),
        Row(scrolled(lambda y: y > 40)),
    ),
    "edit": Row(edited("NOTES.md"), (gone,)),
    "copy": Row(copied("17")),
    "back": Row(at(RUN)),
    "clear": Row(text("NOTES.md"), (blank,)),
    "escape": Row(at(RUN)),
}
ON_CATALOG = {
    **moves(
        Row(chosen("flows")),
        Row(chosen("hello")),
        Row(chosen("project")),
        Row(chosen("built-in"), ("home",)),
        Row(chosen("project")),
        Row(chosen("built-in")),
    ),
    "open": Row(text("Launch hello"), ("down",)),
    "edit": Row(edited("+4|"), (gone,)),
    "show": Row(text("✗    4    stpes: []")),
    "problems": Row(text("only problems")),
    "fold(True)": Row(text("▸ project"), ("home",)),
    "fold(False)": Row(text("▾ project"), ("home", "left")),
    "pane(1)": Row(focused("detail")),
    "pane(-1)": Row(focused("entries"), ("tab",)),
    "back": Row(at(HOME)),
    "find_again(1)": Row(chosen("nightly"), ("slash", "H", "enter", chosen("hello"))),
    "find_again(-1)": Row(chosen("hello"), ("slash", "H", "enter", "n", chosen("nightly"))),
    "clear": Row(text("Catalog"), (blank,)),
    "escape": Row(at(HOME)),
}
TABLE: dict[str, dict[str, Row]] = {
    name: {**{key: row for key, row in EVERYWHERE.items() if key in _ids(name)}, **rows}
    for name, rows in (
        (HOME, ON_HOME),
        (RUN, ON_RUN),
        (SESSION, ON_SESSION),
        (LOG, ON_LOG),
        (READER, ON_READER),
        (CATALOG, ON_CATALOG),
    )
}
WAYS: dict[str, tuple[str | Sees, ...]] = {
    HOME: (rested, "home"),
    RUN: ("home", "enter", at(RUN), chosen("go")),
    SESSION: (*SHIP, "enter", at(SESSION), chosen("Build")),
    LOG: ("home", "enter", at(RUN), chosen("go"), "7", text("waits for a person")),
    READER: ("home", "enter", at(RUN), chosen("go"), "4", "end", "v", at(READER)),
    CATALOG: ("c", at(CATALOG), chosen("broken")),
}
"""How each screen is opened from home."""
