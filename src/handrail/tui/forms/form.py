"""A form: all fields on one page, and what it is about beside them. Answers are checked as `handrail answer` does.

The result is the accepted answers, or None for "later": what was typed is kept until the application ends, and shown
the next time. If the question is withdrawn, answered or changed meanwhile, the screen says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from handrail.driven.forms import form_params
from handrail.driven.forms.form import Form, FormField, Option, WrongAnswers, accept, choices, is_shown
from handrail.source.output_text import clean
from handrail.tui.forms.controls import (
    HERE,
    Changed,
    ChoiceItem,
    Choices,
    Line,
    Lines,
    Press,
    at_both_ends,
    footer_keys,
    keys_of,
    safe_line,
    safe_text,
    time_of_day,
)
from handrail.view.text.columns import FAILED, NOTICE

BESIDE = 16
"""Columns for a label that stands beside its control. A longer one stands above it."""
YES, NO = ChoiceItem("true", "yes"), ChoiceItem("false", "no")
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
            yield Static(safe_text(self.spec.help), classes="help")
        if not self.has_class("-beside"):
            yield self.control
        yield Static(classes="wrong")

    def _label(self, *, is_here: bool) -> Content:
        need = " *" if self.spec.required else ""
        return Content.assemble(HERE if is_here else " ", safe_line(self.spec.label, "bold"), need)

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
            Content.assemble(f"{FAILED.char} ", safe_line(f"{self.spec.label} {wrong}"))
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


def _choices(options: Sequence[Option]) -> list[ChoiceItem]:
    return [ChoiceItem(one.value, one.label, one.description) for one in options]


_KEPT = "handrail_drafts"
FormDraft = dict[str, Any]


def draft_key(need: Mapping[str, Any]) -> str:
    """Which draft is that of a question: the questions of every run begin with `q1`."""
    return f"{need.get('of')} {need.get('id')}"


def drafts_of(app: App[Any]) -> dict[str, FormDraft]:
    """The drafts of an app, by `draft_key`: a question may be opened from several screens."""
    kept: dict[str, FormDraft] = vars(app).setdefault(_KEPT, {})
    return kept


_BY = {"cli": "at the command line", "tui": "in the terminal", "web": "in the page", "file": "by a file"}
_VERDICTS = {"approved": "approved", "rejected": "rejected"}
Need = Mapping[str, Any]


def answered_words(need: Need, at: str) -> str:
    """Who answered, when and how. `at` is the time as text."""
    told = need.get("answered") or {}
    verdict = _VERDICTS.get(str(told.get("verdict")), "answered")
    where = _BY.get(str(told.get("by")), "")
    return f"This was {verdict} at {at}{f' {where}' if where else ''}. Nothing left to do."


def changed_question_words(opened: Need, now: Need | None) -> str | None:
    """What has changed since a question was opened, so that its answer would not count; None if nothing has."""
    if now is None:
        return "This question was withdrawn. Nothing left to do."
    if now.get("digest") != opened.get("digest"):
        return "The question has changed since you opened it. Close this and open it again."
    before, after = opened.get("action") or {}, now.get("action") or {}
    if before.get("tree") != after.get("tree"):
        return "The files have changed since you opened this. Close this and open it again."
    return None if before == after else "What is asked has changed. Close this and open it again."


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
        self.form: Form = form_params.from_json(need["form"])
        self.rows: list[Field] = []
        self.title_of_preview, self.preview = _preview(need)
        self._before: Widget | None = None

    def compose(self) -> ComposeResult:
        draft = drafts_of(self.app).get(draft_key(self.need), {})
        starts = {spec.id: draft.get(spec.id, spec.given_default) for spec in self.form.fields}
        self.rows = [Field(spec, starts[spec.id]) for spec in self.form.fields]
        yield Static(id="head")
        yield Static(id="told")
        with Horizontal(id="panes"):
            with VerticalScroll(id="fields", can_focus=False):
                yield Static(safe_line(self.form.title, "bold"))
                if self.form.description:
                    yield Static(safe_text(self.form.description))
                yield Static(classes="rule")
                yield from self.rows
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(safe_line(self.title_of_preview, "bold"))
                yield Static(safe_text(self.preview))
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
        asked = f"asked {time_of_day(self.need.get('since'))} · question {self.question}"
        self.query_one("#head", Static).update(at_both_ends(safe_line(place), safe_line(asked), event.size.width))
        self._draw_keys(self.focused)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._draw_keys(event.widget)

    def _draw_keys(self, control: Widget | None) -> None:
        """What the keys do in the focused field."""
        last = next((row.control for row in reversed(self.rows) if row.display), None)
        known = dict(keys_of(control))
        sends = {"Enter": "send"} if control is last and known.get("Enter") == "next" else {"^S": "send"}
        more = {"PgUp PgDn": "preview"} if self.preview is not None else {}
        self.query_one("#keys", Static).update(footer_keys({**known, **sends, **more}.items()))

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
        drafts_of(self.app).pop(draft_key(self.need), None)
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
            drafts_of(self.app)[draft_key(self.need)] = self.values
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
            words: str | None = answered_words(need, time_of_day(told.get("at")))
        else:
            words = changed_question_words(self.need, need)
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
