"""The one form screen: fields, what they are about beside them, and buttons. Forms, approvals and launches use it.

If the terminal is narrow, what stands beside the fields covers them when a person asks for it; Esc shows the fields
again, and closes the screen after that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from handrail.tui.forms.controls import Changed, Press, safe_text
from handrail.view.text.columns import FAILED

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
    FormScreen #told, FormScreen #wrong { display: none; }
    FormScreen #told { color: $text-warning; }
    FormScreen #wrong { color: $text-error; }
    FormScreen.-over #told, FormScreen.-wrong #wrong { display: block; }
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
        self._before: Widget | None = None

    def parts(self) -> FormParts:
        raise NotImplementedError

    def draw(self, control: Widget | None) -> None:
        """Draw what depends on the size of the screen and on the focused control."""

    def changed(self, source: Widget) -> None:
        """A control has another value."""

    def compose(self) -> ComposeResult:
        parts = self.parts()
        with Vertical(id="box"):
            yield Static(id="head")
            yield Static(id="told")
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
    def _changed(self, event: Changed) -> None:
        self.remove_class("-wrong")
        self.changed(event.source)

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
            self._before = self.focused
        self.set_class(is_covered, "-covered")
        for button in self.query(f"#{SHOW}").results(Press):
            button.say(self.TO_FIELDS if is_covered else button.first_text)
        if not is_covered and self._before is not None:
            self._before.focus(scroll_visible=False)

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
        beside = self.query_one("#beside", VerticalScroll)
        is_long = beside.display and beside.max_scroll_y > 0
        pane = beside if self.is_covered or is_long else self.query_one("#fields", VerticalScroll)
        pane.scroll_relative(y=by * max(1, pane.size.height - 1), animate=False)
