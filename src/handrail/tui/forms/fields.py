"""A field of a form: a control with its label, what it is for, and what is wrong with its value."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from handrail.tui.forms.controls import Choices, Label, Line, Lines, safe_line
from handrail.view.text.columns import FAILED

BESIDE = 16
"""Columns for a label that stands beside its choices. A longer one stands above them."""
LABEL = 14
"""Columns for a label in a row."""
Control = Line | Lines | Choices


class Field(Vertical):
    """A control with its label. `in_row`: all stands in one row, as far as there is room."""

    DEFAULT_CSS = f"""
    Field, Field > Horizontal, Field .label, Field .about, Field .wrong {{ height: auto; }}
    Field .label, Field .about {{ width: 1fr; }}
    Field .about {{ color: $text-muted; padding: 0 0 0 2; }}
    Field .wrong {{ color: $text-error; padding: 0 0 0 2; display: none; }}
    Field.-wrong .wrong {{ display: block; }}
    Field > Line, Field > Lines {{ margin: 0 0 0 2; }}
    Field > Line {{ border: solid $border-blurred; height: 3; &:focus {{ border: solid $border; }} }}
    Field.-beside .label {{ width: {BESIDE}; }}
    Field.-row .label {{ width: {LABEL}; }}
    Field.-row .bracket {{ width: 1; }}
    Field.-row Choices.-yes {{ width: 9; }}
    Field.-row > .about, Field.-row .wrong {{ padding: 0 0 0 {LABEL}; }}
    """

    def __init__(
        self, label: str, control: Control, about: Content, *, required: bool = False, in_row: bool = False
    ) -> None:
        super().__init__()
        self.label = safe_line(label)
        self.control = control
        self.about = about
        self.required = required
        self.wrong = ""
        self.set_class(in_row, "-row")
        is_short = isinstance(control, Choices) and self.label.cell_length <= BESIDE - 4
        self.set_class(is_short and not in_row, "-beside")

    def compose(self) -> ComposeResult:
        is_row = self.has_class("-row")
        label = Label(Content.assemble(self.label.stylize("" if is_row else "bold"), " *" if self.required else ""))
        about = [Static(self.about, classes="about")] if self.about else []
        brackets = [Static(Content(sign), classes="bracket") for sign in "[]"] if isinstance(self.control, Line) else []
        if is_row and (brackets or self.control.has_class("-yes")):
            yield Horizontal(label, *brackets[:1], self.control, *brackets[1:], *about)
        elif is_row or self.has_class("-beside"):
            yield Horizontal(label, self.control)
            yield from about
        else:
            yield from (label, *about, self.control)
        yield Static(classes="wrong")

    def say(self, wrong: str) -> None:
        """Say what is wrong with the value; an empty text if nothing is."""
        self.wrong = wrong
        self.set_class(bool(wrong), "-wrong")
        text = Content.assemble(f"{FAILED.char} ", self.label, " ", safe_line(wrong))
        self.query_one(".wrong", Static).update(text)
