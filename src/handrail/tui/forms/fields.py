"""The fields of a form and of a launch: a control with its label, what it is for, and what is wrong with its value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from handrail.driven.forms.form import FormField, Option, Type
from handrail.source.values import same, shown
from handrail.tui.forms.controls import ChoiceItem, Choices, Label, Line, Lines, safe_line, safe_text
from handrail.view.text.columns import FAILED

YES, NO = ChoiceItem("true", "yes"), ChoiceItem("false", "no")
BESIDE = 16
"""Columns for a label that stands beside its choices. A longer one stands above them."""
LABEL = 14
"""Columns for a label in a row."""
Control = Line | Lines | Choices


class Field(Vertical):
    """A control with its label. `value` is what `forms.accept` gets. `in_row`: all is in one row, if there is room."""

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

    def __init__(self, spec: FormField, start: Any, *, in_row: bool = False) -> None:
        super().__init__()
        self.spec = spec
        self.label = safe_line(spec.label)
        self.control = _control(spec, start, is_compact=in_row)
        self.wrong = ""
        self.set_class(in_row, "-row")
        is_short = isinstance(self.control, Choices) and self.label.cell_length <= BESIDE - 4
        self.set_class(is_short and not in_row, "-beside")

    def compose(self) -> ComposeResult:
        is_row = self.has_class("-row")
        label = Label(
            Content.assemble(self.label.stylize("" if is_row else "bold"), " *" if self.spec.required else "")
        )
        about = [Static(safe_text(self.spec.help), classes="about")] if self.spec.help else []
        brackets = [Static(Content(sign), classes="bracket") for sign in "[]"] if isinstance(self.control, Line) else []
        if is_row and (brackets or self.control.has_class("-yes")):
            yield Horizontal(label, *brackets[:1], self.control, *brackets[1:], *about)
        elif is_row or self.has_class("-beside"):
            yield Horizontal(label, self.control)
            yield from about
        else:
            yield from (label, *about, self.control)
        yield Static(classes="wrong")

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
        if self.spec.is_select and isinstance(self.control, Choices):
            self.control.offer(_choices(options))

    def say(self, wrong: str) -> None:
        """Say what is wrong with the value; an empty text if nothing is."""
        self.wrong = wrong
        self.set_class(bool(wrong), "-wrong")
        text = Content.assemble(f"{FAILED.char} ", self.label, " ", safe_line(wrong))
        self.query_one(".wrong", Static).update(text)


def _control(spec: FormField, start: Any, *, is_compact: bool) -> Control:
    if spec.type == "text":
        text = start if isinstance(start, str) else ""
        is_long = spec.multiline or "\n" in text or "\r" in text or len(text) > 2_000
        return Lines(text, spec.rows, spec.placeholder) if is_long else Line(text, spec.placeholder, compact=is_compact)
    if spec.type == "boolean":
        if spec.required and spec.default is None:
            return Choices((YES, NO), [] if start is None else [(NO, YES)[start is True].value])
        box = Choices((YES,), [YES.value] if start is True else [], several=True)
        box.add_class("-yes")
        return box
    chosen = start if isinstance(start, list) else [] if start is None else [start]
    return Choices(_choices(spec.options), chosen, several=spec.type == "multi-select")


def _choices(options: Sequence[Option]) -> list[ChoiceItem]:
    return [ChoiceItem(one.value, one.label, one.description) for one in options]


_TYPES: dict[str, Type] = {"boolean": "boolean", "choice": "single-select"}


class ParamField(Field):
    """A param as `offer_launch` describes it. `value` is None if nothing is filled in."""

    def __init__(self, offered: Mapping[str, Any]) -> None:
        self.param = str(offered["name"])
        self.offered = [one["value"] for one in offered.get("choices") or ()]
        default, kind = offered.get("default"), offered.get("kind")
        start = default if kind == "boolean" else None
        if kind == "choice":
            start = next((str(place) for place, value in enumerate(self.offered) if same(value, default)), None)
        spec = FormField(
            id=self.param,
            type=_TYPES.get(str(kind), "text"),
            label=self.param,
            help=" ".join(str(offered.get("about") or "").split()),
            required=bool(offered.get("required")),
            default=default,
            options=tuple(
                Option(str(place), str(one["label"])) for place, one in enumerate(offered.get("choices") or ())
            ),
            multiline=bool(offered.get("multiline")),
            placeholder="" if default in (None, "") else f"default: {default_words(default)}",
        )
        super().__init__(spec, start, in_row=True)

    @property
    def value(self) -> Any:
        value = super().value
        if self.offered and value is not None:
            return self.offered[int(value)]
        return None if value == "" else value


def default_words(default: Any) -> str:
    """A default as a person would type it."""
    return json.dumps(default, ensure_ascii=False) if isinstance(default, list | dict) else shown(default)
