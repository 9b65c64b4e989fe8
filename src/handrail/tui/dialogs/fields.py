"""One field of a form on a screen: its label, what helps, the control for its kind, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from handrail.forms.form import FormField, Option
from handrail.source.clean import clean
from handrail.topics.signs import FAILED
from handrail.tui.dialogs.controls import HERE, Choice, Choices, Line, Lines
from handrail.tui.dialogs.texts import in_line, shown

BESIDE = 16
"""Columns for a label that stands beside its control. A longer one stands above it."""
YES, NO = Choice("true", "yes"), Choice("false", "no")
Control = Line | Lines | Choices


class Field(Vertical):
    """A field with the value that it starts with. `value` is what `forms.accept` gets."""

    DEFAULT_CSS = f"""
    Field {{ height: auto; }}
    Field > Horizontal {{ height: auto; }}
    Field .label {{ width: 1fr; height: auto; }}
    Field.-beside .label {{ width: {BESIDE}; }}
    Field .help {{ height: auto; color: $text-muted; padding: 0 0 0 2; }}
    Field .wrong {{ height: auto; color: $text-error; padding: 0 0 0 2; display: none; }}
    Field.-wrong .wrong {{ display: block; }}
    Field Line, Field Lines {{ margin: 0 0 0 2; }}
    Field Line {{ border: solid $border-blurred; height: 3; &:focus {{ border: solid $border; }} }}
    """

    def __init__(self, spec: FormField, start: Any) -> None:
        super().__init__()
        self.spec = spec
        self.control = _control(spec, start)
        self.wrong = ""
        is_short = Content(clean(spec.label)).cell_length <= BESIDE - 4
        self.set_class(is_short and isinstance(self.control, Choices), "-beside")

    def compose(self) -> ComposeResult:
        label = Static(self._label(is_here=False), classes="label")
        if self.has_class("-beside"):
            yield Horizontal(label, self.control)
        else:
            yield label
        if self.spec.help:
            yield Static(shown(self.spec.help), classes="help")
        if not self.has_class("-beside"):
            yield self.control
        yield Static(classes="wrong")

    def _label(self, *, is_here: bool) -> Content:
        need = " *" if self.spec.required else ""
        return Content.assemble(HERE if is_here else " ", in_line(self.spec.label, "bold"), need)

    def on_descendant_focus(self) -> None:
        self.query_one(".label", Static).update(self._label(is_here=True))

    def on_descendant_blur(self) -> None:
        self.query_one(".label", Static).update(self._label(is_here=False))

    @property
    def value(self) -> Any:
        """The answer as it stands. None if there is none yet."""
        if not isinstance(self.control, Choices):
            return self.control.answer
        chosen = self.control.chosen
        match self.spec.type:
            case "boolean":
                return YES.value in chosen if self.control.several or chosen else None
            case "multi-select":
                return chosen
            case _:
                return chosen[0] if chosen else None

    def offer(self, options: Sequence[Option]) -> None:
        """Show these options, if the field has options."""
        if self.spec.is_select and isinstance(self.control, Choices):
            self.control.offer(_choices(options))

    def say(self, wrong: str) -> None:
        """Say what is wrong with the answer; an empty text if nothing is."""
        self.wrong = wrong
        self.set_class(bool(wrong), "-wrong")
        self.query_one(".wrong", Static).update(
            Content.assemble(f"{FAILED.char} ", in_line(f"{self.spec.label} {wrong}"))
        )


def _control(spec: FormField, start: Any) -> Control:
    if spec.type == "text":
        text = start if isinstance(start, str) else ""
        is_long = spec.multiline or "\n" in text or "\r" in text or len(text) > 2_000
        return Lines(text, spec.rows, spec.placeholder) if is_long else Line(text, spec.placeholder)
    if spec.type == "boolean":
        if spec.required and spec.default is None:
            return Choices((YES, NO), [] if start is None else [(NO, YES)[start is True].value])
        return Choices((YES,), [YES.value] if start is True else [], several=True)
    chosen = start if isinstance(start, list) else [] if start is None else [start]
    return Choices(_choices(spec.options), chosen, several=spec.type == "multi-select")


def _choices(options: Sequence[Option]) -> list[Choice]:
    return [Choice(one.value, one.label, one.description) for one in options]
