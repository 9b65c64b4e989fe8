"""A form: all fields on one page, and what it is about beside them. Answers are checked as `handrail answer` does.

The result is the accepted answers, or None for "later": what was typed is kept and shown the next time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from handrail.forms import read as formspec
from handrail.forms.form import Form, WrongAnswers, accept, choices, is_shown
from handrail.topics.signs import NOTICE
from handrail.tui.dialogs.controls import Changed, Press, keys_of
from handrail.tui.dialogs.drafts import drafts_of, key_of
from handrail.tui.dialogs.fields import Field
from handrail.tui.dialogs.fresh import answered_words, changed_words
from handrail.tui.dialogs.texts import clock, ends, in_line, keys, shown

WIDE = 100
"""Columns from which fields and preview stand side by side."""


class FormScreen(ModalScreen[dict[str, Any] | None]):
    """Asks the questions of one need. `name` is what the run is called."""

    DEFAULT_CSS = """
    FormScreen { background: $background; layout: vertical; }
    FormScreen > Static { height: auto; }
    FormScreen #told { display: none; color: $text-warning; }
    FormScreen.-over #told { display: block; }
    FormScreen #panes { height: 1fr; }
    FormScreen #fields, FormScreen #preview { width: 1fr; height: 1fr; scrollbar-size-vertical: 1; }
    FormScreen #fields > Static { height: auto; }
    FormScreen #fields > .rule { height: 1; border-top: solid $border-blurred; }
    FormScreen #preview { display: none; border-left: solid $border-blurred; padding: 0 1; }
    FormScreen.-wide.-has-preview #preview { display: block; }
    FormScreen.-shows-preview #preview { display: block; border-left: none; }
    FormScreen.-shows-preview #fields { display: none; }
    FormScreen #buttons { height: 1; }
    FormScreen.-wide #show { display: none; }
    """
    BINDINGS = [
        Binding("ctrl+s", "send", "send"),
        Binding("escape", "later", "later"),
        Binding("v", "show", "preview"),
        Binding("pageup", "page(-1)", "scroll", show=False, priority=True),
        Binding("pagedown", "page(1)", "scroll", show=False, priority=True),
    ]
    AUTO_FOCUS = ""

    def __init__(self, need: Mapping[str, Any], name: str = "") -> None:
        super().__init__()
        self.need = dict(need)
        self.called = name or str(need.get("of") or "")
        self.form: Form = formspec.from_json(need["form"])
        self.rows: list[Field] = []
        self.title_of_preview, self.preview = _preview(need)
        self._before: Widget | None = None

    def compose(self) -> ComposeResult:
        draft = drafts_of(self.app).get(key_of(self.need), {})
        starts = {spec.id: draft.get(spec.id, spec.given_default) for spec in self.form.fields}
        self.rows = [Field(spec, starts[spec.id]) for spec in self.form.fields]
        yield Static(id="head")
        yield Static(id="told")
        with Horizontal(id="panes"):
            with VerticalScroll(id="fields", can_focus=False):
                yield Static(in_line(self.form.title, "bold"))
                if self.form.description:
                    yield Static(shown(self.form.description))
                yield Static(classes="rule")
                yield from self.rows
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(in_line(self.title_of_preview, "bold"))
                yield Static(shown(self.preview))
        with Horizontal(id="buttons"):
            yield Press(f"{self.form.submit or 'Send'} ^S", id="send")
            yield Press("Later Esc", id="later")
            if self.preview is not None:
                yield Press(self._preview_words, id="show")
        yield Static(id="keys")

    def on_mount(self) -> None:
        self.set_class(self.preview is not None, "-has-preview")
        self._arrange()
        first = next((row for row in self.rows if row.display), None)
        (first.control if first else self.query_one("#send", Press)).focus(scroll_visible=False)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= WIDE, "-wide")
        place = " › ".join([self.called, *str(self.need.get("path") or "").split("/")])
        asked = f"asked {clock(self.need.get('since'))} · question {self.question}"
        self.query_one("#head", Static).update(ends(in_line(place), in_line(asked), event.size.width))
        self._draw_keys(self.focused)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._draw_keys(event.widget)

    def _draw_keys(self, control: Widget | None) -> None:
        """What the keys do in the focused field."""
        last = next((row.control for row in reversed(self.rows) if row.display), None)
        known = dict(keys_of(control))
        sends = {"Enter": "send"} if control is last and known.get("Enter") == "next" else {"^S": "send"}
        more = {"PgUp PgDn": "preview"} if self.preview is not None else {}
        self.query_one("#keys", Static).update(keys({**known, **sends, **more}.items()))

    @property
    def question(self) -> str:
        return str(self.need.get("id") or "")

    @property
    def _preview_words(self) -> str:
        return " ".join(["Preview", *self.title_of_preview.split(), "v"])

    @property
    def values(self) -> dict[str, Any]:
        """What is filled in, one value per field."""
        return {row.spec.id: row.value for row in self.rows}

    def _arrange(self) -> None:
        """Show the fields and options that fit the answers before them."""
        before: dict[str, Any] = {}
        for row in self.rows:
            row.display = is_shown(row.spec, before)
            if row.display:
                row.offer(choices(row.spec, before))
            value = row.value if row.display else None
            before[row.spec.id] = row.spec.blank if row.display and value is None else value

    @on(Changed)
    def _changed(self, event: Changed) -> None:
        row = next((one for one in self.rows if one.control is event.source), None)
        if row is not None and row.wrong:
            row.say("")
        self._arrange()

    def go_on(self, source: Widget) -> None:
        """Enter: the next field, or send after the last one."""
        seen = [row for row in self.rows if row.display]
        place = next((place for place, row in enumerate(seen) if row.control is source), -1)
        if place + 1 < len(seen):
            seen[place + 1].control.focus()
        else:
            self.action_send()

    @on(Press.Pressed)
    def _pressed(self, event: Press.Pressed) -> None:
        event.stop()
        {"send": self.action_send, "later": self.action_later, "show": self.action_show}[str(event.button.id)]()

    def action_send(self) -> None:
        """Give the answers, or show next to each field what is wrong with it."""
        if self.has_class("-over"):
            return
        try:
            accepted = accept(self.form, self.values)
        except WrongAnswers as error:
            self._say_wrong(error)
            return
        drafts_of(self.app).pop(key_of(self.need), None)
        self.dismiss(accepted)

    def _say_wrong(self, error: WrongAnswers) -> None:
        if self.has_class("-shows-preview"):
            self.action_show()
        wrong = {problem.field: problem.message for problem in error.problems}
        for row in self.rows:
            row.say(wrong.get(row.spec.id, ""))
        first = next(row for row in self.rows if row.wrong)
        first.control.focus()

    def action_later(self) -> None:
        """Close the form, and keep what was typed. If the preview covers the fields, close only the preview."""
        if self.has_class("-shows-preview"):
            self.action_show()
        else:
            self.put_off()

    def put_off(self) -> None:
        """Close the form, and keep what was typed."""
        if not self.has_class("-over"):
            drafts_of(self.app)[key_of(self.need)] = self.values
        self.dismiss(None)

    def action_show(self) -> None:
        if self.preview is not None and not self.has_class("-wide"):
            before = self.focused
            self.toggle_class("-shows-preview")
            is_shown_now = self.has_class("-shows-preview")
            self.query_one("#show", Press).say("Fields v" if is_shown_now else self._preview_words)
            if is_shown_now:
                self._before = before
            elif self._before is not None:
                self._before.focus(scroll_visible=False)

    def action_page(self, by: int) -> None:
        pane = self.query_one("#preview", VerticalScroll)
        pane = pane if pane.display else self.query_one("#fields", VerticalScroll)
        pane.scroll_relative(y=by * max(1, pane.size.height - 1), animate=False)

    def need_changed(self, need: Mapping[str, Any] | None) -> None:
        """The row of this question as it is now; None if it is gone. An answer that would not count is not taken."""
        told = need.get("answered") if need is not None else None
        if need is not None and told:
            words: str | None = answered_words(need, clock(told.get("at")))
        else:
            words = changed_words(self.need, need)
        if words is None:
            return
        self.add_class("-over")
        self.query_one("#told", Static).update(Content(f"{NOTICE.char} {words}"))
        self.query_one("#send", Press).disabled = True
        self.query_one("#later", Press).say("Close Esc")
        self.query_one("#later", Press).focus()


def _preview(need: Mapping[str, Any]) -> tuple[str, str | None]:
    """The title and the text of what a form is about: a text, or a mapping with `name` or `title` and `text`."""
    given = need.get("preview") or need["form"].get("preview")
    if isinstance(given, Mapping):
        title = given.get("name") or given.get("title") or given.get("path") or ""
        return str(title), str(given.get("text") or given.get("content") or "")
    return "", None if not given else str(given)
