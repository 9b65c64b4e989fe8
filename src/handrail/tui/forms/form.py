"""What forms and launches consist of: fields, and a screen with fields, what they are about beside them, and buttons.

A field is a control with its label, what it is for, and what is wrong with its value. If the terminal is narrow, what
stands beside the fields covers them when a person asks for it; Esc shows the fields again, then it closes the screen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from handrail.driven.forms.form import FormField, Option, Type
from handrail.source.values import same, shown
from handrail.tui.forms.controls import (
    Changed,
    ChoiceItem,
    Choices,
    Label,
    Line,
    Lines,
    Press,
    safe_line,
    safe_text,
)
from handrail.view.text.columns import FAILED

YES, NO = ChoiceItem("true", "yes"), ChoiceItem("false", "no")
BESIDE = 16
"""Columns for a label that stands beside its choices. A longer one stands above them."""
LABEL = 14
"""Columns for a label in a row."""
Control = Line | Lines | Choices


class FormRow(Vertical):
    """A control with its label. `value` is what `forms.accept` gets. `in_row`: all is in one row, if there is room."""

    DEFAULT_CSS = f"""
    FormRow, FormRow > Horizontal, FormRow .label, FormRow .about, FormRow .wrong {{ height: auto; }}
    FormRow .label, FormRow .about {{ width: 1fr; }}
    FormRow .about {{ color: $text-muted; padding: 0 0 0 2; }}
    FormRow .wrong {{ color: $text-error; padding: 0 0 0 2; display: none; }}
    FormRow.-wrong .wrong {{ display: block; }}
    FormRow > Line, FormRow > Lines {{ margin: 0 0 0 2; }}
    FormRow > Line {{ border: solid $border-blurred; height: 3; &:focus {{ border: solid $border; }} }}
    FormRow.-beside .label {{ width: {BESIDE}; }}
    FormRow.-row .label {{ width: {LABEL}; }}
    FormRow.-row .bracket {{ width: 1; }}
    FormRow.-row Choices.-yes {{ width: 9; }}
    FormRow.-row > .about, FormRow.-row .wrong {{ padding: 0 0 0 {LABEL}; }}
    """

    def __init__(self, spec: FormField, start: Any, *, in_row: bool = False) -> None:
        super().__init__()
        self.spec = spec
        self.label = safe_line(spec.label)
        self.control = _control(spec, start, is_compact=in_row)
        self.problem = ""
        self.set_class(in_row, "-row")
        is_short = isinstance(self.control, Choices) and self.label.cell_length <= BESIDE - 4
        self.set_class(is_short and not in_row, "-beside")

    def compose(self) -> ComposeResult:
        is_row = self.has_class("-row")
        text = self.label.stylize("" if is_row else "bold")
        label = Label(Content.assemble(text, " *" if self.spec.required else ""))
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
        values = self.control.values
        match self.spec.type:
            case "boolean":
                return YES.value in values if self.control.is_multiple or values else None
            case "multi-select":
                return values
            case _:
                return values[0] if values else None

    def offer(self, options: Sequence[Option]) -> None:
        if self.spec.is_select and isinstance(self.control, Choices):
            self.control.offer(_choices(options))

    def say(self, problem: str) -> None:
        """Say what is wrong with the value; an empty text if nothing is."""
        self.problem = problem
        self.set_class(bool(problem), "-wrong")
        text = Content.assemble(f"{FAILED.char} ", self.label, " ", safe_line(problem))
        self.query_one(".wrong", Static).update(text)


def _control(spec: FormField, start: Any, *, is_compact: bool) -> Control:
    if spec.type == "text":
        text = start if isinstance(start, str) else ""
        is_long = spec.multiline or "\n" in text or "\r" in text or len(text) > 2_000
        return Lines(text, spec.rows, spec.placeholder) if is_long else Line(text, spec.placeholder, compact=is_compact)
    if spec.type == "boolean":
        if spec.required and spec.default is None:
            return Choices((YES, NO), [] if start is None else [(NO, YES)[start is True].value])
        box = Choices((YES,), [YES.value] if start is True else [], is_multiple=True)
        box.add_class("-yes")
        return box
    values = start if isinstance(start, list) else [] if start is None else [start]
    return Choices(_choices(spec.options), values, is_multiple=spec.type == "multi-select")


def _choices(options: Sequence[Option]) -> list[ChoiceItem]:
    return [ChoiceItem(one.value, one.label, one.description) for one in options]


_TYPES: dict[str, Type] = {"boolean": "boolean", "choice": "single-select"}


class ParamField(FormRow):
    """A param as `offer_launch` describes it. `value` is None if nothing is filled in."""

    def __init__(self, field: Mapping[str, Any]) -> None:
        self.param = str(field["name"])
        self.choice_values = [one["value"] for one in field.get("choices") or ()]
        default, kind = field.get("default"), field.get("kind")
        start = default if kind == "boolean" else None
        if kind == "choice":
            start = next((str(place) for place, value in enumerate(self.choice_values) if same(value, default)), None)
        spec = FormField(
            id=self.param,
            type=_TYPES.get(str(kind), "text"),
            label=self.param,
            help=" ".join(str(field.get("about") or "").split()),
            required=bool(field.get("required")),
            default=default,
            options=tuple(
                Option(str(place), str(one["label"])) for place, one in enumerate(field.get("choices") or ())
            ),
            multiline=bool(field.get("multiline")),
            placeholder="" if default in (None, "") else f"default: {default_words(default)}",
        )
        super().__init__(spec, start, in_row=True)

    @property
    def value(self) -> Any:
        value = super().value
        if self.choice_values and value is not None:
            return self.choice_values[int(value)]
        return None if value == "" else value


def default_words(default: Any) -> str:
    """A default as a person would type it."""
    return json.dumps(default, ensure_ascii=False) if isinstance(default, list | dict) else shown(default)


LATER, SHOW = "later", "show"
"""The buttons that close the screen, and that show what stands beside the fields."""


class FormParts(NamedTuple):
    """What a form consists of. What is `below` is visible also while `beside` covers the fields."""

    fields: Sequence[Widget]
    beside: Sequence[Widget]
    buttons: Sequence[Press]
    below: Sequence[Widget] = ()


class FormScreen(ModalScreen[Any]):
    """What all forms do. Each kind gives its `parts`, and draws its head and foot. A closed form returns None."""

    DEFAULT_CSS = """
    FormScreen { background: $background; }
    FormScreen #box { width: 100%; height: 100%; }
    FormScreen #box > Static, FormScreen #fields > Static, FormScreen #beside > Static { height: auto; }
    FormScreen #notice, FormScreen #wrong { display: none; }
    FormScreen #notice { color: $text-warning; }
    FormScreen #wrong { color: $text-error; }
    FormScreen.-over #notice, FormScreen.-wrong #wrong { display: block; }
    FormScreen #panes { height: 1fr; }
    FormScreen #fields, FormScreen #beside { width: 1fr; height: 1fr; scrollbar-size-vertical: 1; }
    FormScreen #beside { display: none; border-left: solid $border-blurred; padding: 0 1; }
    FormScreen.-wide #beside, FormScreen.-covered #beside { display: block; }
    FormScreen.-covered #beside { border-left: none; }
    FormScreen.-covered #fields { display: none; }
    FormScreen #buttons { height: 1; }
    """
    BINDINGS = [
        Binding("escape", "later", "later"),
        Binding("pageup", "page(-1)", "scroll", show=False, priority=True),
        Binding("pagedown", "page(1)", "scroll", show=False, priority=True),
    ]
    AUTO_FOCUS = ""
    WIDE = 100
    """Columns from which fields and what they are about stand side by side."""
    TO_FIELDS = ""
    """The text of the button `show` while the fields are covered."""

    def __init__(self) -> None:
        super().__init__()
        self._focus_before: Widget | None = None

    def parts(self) -> FormParts:
        raise NotImplementedError

    def draw(self, control: Widget | None) -> None:
        """Draw what depends on the size of the screen and on the focused control."""

    def after_change(self, source: Widget) -> None:
        """A control has another value."""

    def compose(self) -> ComposeResult:
        parts = self.parts()
        with Vertical(id="box"):
            yield Static(id="head")
            yield Static(id="notice")
            with Horizontal(id="panes"):
                yield VerticalScroll(*parts.fields, id="fields", can_focus=False)
                yield VerticalScroll(*parts.beside, id="beside", can_focus=False)
            yield from parts.below
            yield Static(id="wrong")
            yield Horizontal(*parts.buttons, id="buttons")
            yield Static(id="foot")

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= self.WIDE, "-wide")
        self.cover(is_covered=self.is_covered)
        self.draw(self.focused)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.draw(event.widget)

    @on(Changed)
    def _take_change(self, event: Changed) -> None:
        self.remove_class("-wrong")
        self.after_change(event.source)

    def say_wrong(self, text: str) -> None:
        """Say above the buttons what is wrong, until something is changed."""
        self.add_class("-wrong")
        self.query_one("#wrong", Static).update(Content.assemble(f" {FAILED.char} ", safe_text(text)))
        self.draw(self.focused)

    @property
    def is_covered(self) -> bool:
        return self.has_class("-covered")

    def cover(self, *, is_covered: bool) -> None:
        """Cover the fields with what they are about, or show them again. A wide terminal shows both."""
        is_covered = is_covered and not self.has_class("-wide")
        if is_covered == self.is_covered:
            return
        if is_covered:
            self._focus_before = self.focused
        self.set_class(is_covered, "-covered")
        for button in self.query(f"#{SHOW}").results(Press):
            button.say(self.TO_FIELDS if is_covered else button.first_text)
        if not is_covered and self._focus_before is not None:
            self._focus_before.focus(scroll_visible=False)

    def action_show(self) -> None:
        self.cover(is_covered=not self.is_covered)

    def action_later(self) -> None:
        """Show the fields if something covers them, else close the screen."""
        if self.is_covered:
            self.cover(is_covered=False)
        else:
            self.put_off()

    def put_off(self) -> None:
        self.dismiss(None)

    def action_page(self, by: int) -> None:
        """Scroll what stands beside the fields if it is visible and long, else the fields."""
        preview = self.query_one("#beside", VerticalScroll)
        is_long = preview.display and preview.max_scroll_y > 0
        pane = preview if self.is_covered or is_long else self.query_one("#fields", VerticalScroll)
        pane.scroll_relative(y=by * max(1, pane.size.height - 1), animate=False)
