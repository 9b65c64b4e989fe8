"""One param of a launch: a row with its name, a control for its kind, and what it means."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from handrail.source.values import same, shown
from handrail.topics.signs import FAILED
from handrail.tui.dialogs.controls import HERE, Choice, Choices, Line, Lines
from handrail.tui.dialogs.texts import in_line

LABEL = 14
_YES = Choice("true", "yes")
Control = Line | Lines | Choices


class Param(Vertical):
    """A param as `live.launching.offer` describes it. `value` is None if nothing is filled in."""

    DEFAULT_CSS = f"""
    Param {{ height: auto; }}
    Param > Horizontal {{ height: auto; }}
    Param .label {{ width: {LABEL}; height: auto; }}
    Param .bracket {{ width: 1; }}
    Param .about {{ width: 1fr; height: auto; color: $text-muted; padding: 0 0 0 2; }}
    Param Line {{ width: 1fr; }}
    Param Choices.-yes {{ width: 9; }}
    Param .wrong {{ height: auto; display: none; color: $text-error; padding: 0 0 0 {LABEL}; }}
    Param.-wrong .wrong {{ display: block; }}
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__()
        self.given = given
        self.param = str(given["name"])
        self.control = _control(given)

    def compose(self) -> ComposeResult:
        about = Static(in_line(self.given.get("about")), classes="about")
        is_line = isinstance(self.control, Line)
        is_short = is_line or self.control.has_class("-yes")
        with Horizontal():
            yield Static(self._label(is_here=False), classes="label")
            if is_line:
                yield Static(Content("["), classes="bracket")
            yield self.control
            if is_line:
                yield Static(Content("]"), classes="bracket")
            if is_short and self.given.get("about"):
                yield about
        if not is_short and self.given.get("about"):
            about.styles.padding = (0, 0, 0, LABEL)
            yield about
        yield Static(classes="wrong")

    def _label(self, *, is_here: bool) -> Content:
        need = " *" if self.given.get("required") else ""
        return Content.assemble(HERE if is_here else " ", in_line(self.param), need)

    def on_descendant_focus(self) -> None:
        self.query_one(".label", Static).update(self._label(is_here=True))

    def on_descendant_blur(self) -> None:
        self.query_one(".label", Static).update(self._label(is_here=False))

    @property
    def value(self) -> Any:
        if not isinstance(self.control, Choices):
            return self.control.answer or None
        chosen = self.control.chosen
        if self.given.get("kind") == "boolean":
            return bool(chosen)
        return self.given["choices"][int(chosen[0])]["value"] if chosen else None

    def say(self, wrong: str) -> None:
        """Say what is wrong with the value; an empty text if nothing is."""
        self.set_class(bool(wrong), "-wrong")
        self.query_one(".wrong", Static).update(
            Content.assemble(f"{FAILED.char} ", in_line(f"{self.param} {wrong}")) if wrong else Content("")
        )


def _control(given: Mapping[str, Any]) -> Control:
    default = given.get("default")
    match given.get("kind"):
        case "boolean":
            ticked = Choices((_YES,), [_YES.value] if default is True else [], several=True)
            ticked.add_class("-yes")
            return ticked
        case "choice":
            choices = [Choice(str(place), str(one["label"])) for place, one in enumerate(given["choices"])]
            chosen = [str(place) for place, one in enumerate(given["choices"]) if same(one["value"], default)]
            return Choices(choices, chosen)
    hint = "" if default in (None, "") else f"default: {default_words(default)}"
    return Lines(placeholder=hint) if given.get("multiline") else Line(placeholder=hint, compact=True)


def default_words(default: Any) -> str:
    """A default as a person would type it."""
    return json.dumps(default, ensure_ascii=False) if isinstance(default, list | dict) else shown(default)
