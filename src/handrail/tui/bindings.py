"""Every key of every screen, in one table. Footer, help, palette and the guide are made from it. Pure.

A screen has one method per row, named after its id (`action_ID`). The short text is in the footer; a row without it is
only in the help.
"""

from __future__ import annotations

from typing import NamedTuple

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
WORK = (HOME, RUN, SESSION)
PANES = (*WORK, CATALOG)


class Key(NamedTuple):
    """A key and what it does. `keys` are Textual's names, `shown` is what a person reads.

    The keys of a group are one line of the help.
    """

    id: str
    keys: str
    shown: str
    short: str
    about: str
    screens: tuple[str, ...]
    group: str = ""


KEYS: tuple[Key, ...] = (
    Key("up", "up", "↑", "", "move up", ALL, "move"),
    Key("down", "down", "↓", "", "move down", ALL, "move"),
    Key("page_up", "pageup", "PgUp", "", "one page up", ALL, "move"),
    Key("page_down", "pagedown", "PgDn", "", "one page down", ALL, "move"),
    Key("top", "home", "Home", "", "to the first line", ALL, "move"),
    Key("bottom", "end", "End", "", "to the last line", ALL, "move"),
    Key("open", "enter", "↵", "open", "open what is selected", (HOME,)),
    Key("answer", "a", "a", "answer", "answer what waits: this one, else the oldest", WORK),
    Key("open", "enter", "↵", "step", "show the step, or fold and unfold", (RUN,)),
    Key("open", "enter", "↵", "text", "show the text of the phase", (SESSION,)),
    Key("open", "enter", "↵", "go to the step", "go to the step of this line", (LOG,)),
    Key("open", "enter", "↵", "launch", "launch this one, or fold and unfold", (CATALOG,)),
    Key("edit", "e", "e", "edit", "open the file in $EDITOR at its first problem", (CATALOG,)),
    Key("show", "v", "v", "show", "show the text with its problems", (CATALOG,)),
    Key("problems", "p", "p", "problems only", "show only what has problems, or everything", (CATALOG,)),
    Key("fold", "left", "←", "", "fold, or go to what it is in", (RUN, SESSION, CATALOG), "fold, unfold"),
    Key("unfold", "right", "→", "", "unfold", (RUN, SESSION, CATALOG), "fold, unfold"),
    Key("next_pane", "tab", "Tab", "", "next pane", PANES, "next, previous pane"),
    Key("previous_pane", "shift+tab", "Shift-Tab", "", "previous pane", PANES, "next, previous pane"),
    Key("launch", "n", "n", "launch", "launch a flow or a workflow", (HOME,)),
    Key("catalog", "c", "c", "catalog", "what can be launched, and its problems", (HOME,)),
    Key("follow", "f", "f", "follow", "follow the tail, or hold it", (RUN,)),
    Key("again", "r", "r", "resume…", "resume, continue or restart", (HOME, RUN)),
    Key("stop", "s", "s", "stop…", "stop a run", (HOME, RUN)),
    Key("cancel_workflow", "x", "x", "cancel…", "cancel the workflow of the session", (HOME, SESSION)),
    Key("reload", "L,shift+l", "L", "reload…", "load the files of the workflow again", (SESSION,)),
    Key("find", "slash", "/", "find", "find text, ignoring case", LISTS),
    Key("back", "b,backspace", "b", "back", "back without a question", (RUN, SESSION, CATALOG)),
    Key("catalog", "c", "c", "", "what can be launched, and its problems", (RUN, SESSION)),
    Key("older", "o", "o", "", "show older ones", (HOME,)),
    Key("unread", "u", "u", "", "mark a failure as unread", (HOME,)),
    Key("init", "i", "i", "", "create a small project", (HOME,)),
    Key("view_1", "1", "1", "", "the first view", (RUN, SESSION), "the views"),
    Key("view_2", "2", "2", "", "the second view", (RUN, SESSION), "the views"),
    Key("view_3", "3", "3", "", "the third view", (RUN, SESSION), "the views"),
    Key("view_4", "4", "4", "", "the fourth view", (RUN, SESSION), "the views"),
    Key("view_5", "5", "5", "", "the fifth view", (RUN, SESSION), "the views"),
    Key("view_6", "6", "6", "", "the sixth view", (RUN, SESSION), "the views"),
    Key("view_7", "7", "7", "", "the log", (RUN,), "the views"),
    Key("previous_run", "left_square_bracket", "[", "", "the previous one", (RUN, SESSION), "other runs and sessions"),
    Key("next_run", "right_square_bracket", "]", "", "next run or session", (RUN, SESSION), "other runs and sessions"),
    Key("show", "v", "v", "", "show the selected file", (RUN,)),
    Key("diff", "d", "d", "", "compare the file with its previous version", (RUN,)),
    Key("edit", "e", "e", "", "open the selected file in $EDITOR", (RUN,)),
    Key("edit", "e", "e", "edit", "open the file in $EDITOR", (READER,)),
    Key("copy", "y", "y", "copy", "copy the selected line", (LOG,)),
    Key("copy", "y", "y", "copy", "copy the text", (READER,)),
    Key("kinds", "k", "k", "kinds", "choose which kinds of lines are shown", (LOG,)),
    Key("wrap", "w", "w", "wrap", "wrap long lines, or cut them", (RUN, LOG)),
    Key("find_next", "n", "n", "next", "next match", (LOG,)),
    Key("find_next", "n", "n", "", "next match", (RUN, SESSION, CATALOG)),
    Key("find_previous", "N,shift+n", "N", "", "previous match (n: next, while searching)", (HOME,)),
    Key("find_previous", "N,shift+n", "N", "", "previous match", (RUN, SESSION, LOG, CATALOG)),
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


def of_screen(screen: str) -> list[Key]:
    """The keys of a screen, in the order of the table."""
    return [key for key in KEYS if screen in key.screens]
