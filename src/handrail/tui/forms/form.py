"""A question with fields, all on one page, and a preview beside them. Answers are checked as by `handrail answer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Static

from handrail.driven.forms import form_params
from handrail.driven.forms.form import Form, FormField, Option, WrongAnswers, accept, choices, is_shown
from handrail.tui.forms.controls import (
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
from handrail.tui.forms.fields import Control, Field
from handrail.tui.forms.question import FormDraft, QuestionScreen
from handrail.tui.forms.screen import LATER, SHOW, FormAction, FormParts

YES, NO = ChoiceItem("true", "yes"), ChoiceItem("false", "no")


class AnswerField(Field):
    """A field of a form with the value that it starts with. `value` is what `forms.accept` gets."""

    def __init__(self, spec: FormField, start: Any) -> None:
        super().__init__(spec.label, _control(spec, start), safe_text(spec.help), required=spec.required)
        self.spec = spec

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


class AnswerScreen(QuestionScreen):
    """Asks for the answers of a form."""

    DEFAULT_CSS = """
    AnswerScreen #fields > .rule { height: 1; border-top: solid $border-blurred; }
    AnswerScreen.-alone #beside, AnswerScreen.-wide #show { display: none; }
    """
    BINDINGS = [Binding("ctrl+s", "send", "send"), Binding("v", "show", "preview")]
    TO_FIELDS = "Fields v"

    def __init__(self, need: Mapping[str, Any], name: str = "") -> None:
        super().__init__(need, name)
        self.form: Form = form_params.form_from(need["form"])
        self.preview_title, self.preview = _preview(need)
        self.set_class(self.preview is None, "-alone")
        self.rows: list[AnswerField] = []

    def parts(self) -> FormParts:
        draft = self.drafts.get(self.draft_key, {})
        self.rows = [AnswerField(spec, draft.get(spec.id, spec.given_default)) for spec in self.form.fields]
        about = [Static(safe_text(self.form.description))] if self.form.description else []
        actions = [
            FormAction("send", f"{self.form.submit or 'Send'} ^S", self.action_send),
            FormAction(LATER, "Later Esc", self.action_later),
        ]
        if self.preview is not None:
            actions.append(FormAction(SHOW, " ".join(f"Preview {self.preview_title} v".split()), self.action_show))
        return FormParts(
            [Static(safe_line(self.form.title, "bold")), *about, Static(classes="rule"), *self.rows],
            [Static(safe_line(self.preview_title, "bold")), Static(safe_text(self.preview))],
            actions,
        )

    def on_mount(self) -> None:
        self._arrange()
        first = next((row for row in self.rows if row.display), None)
        (first.control if first else self.query_one("#send", Press)).focus(scroll_visible=False)

    def draw(self, control: Widget | None) -> None:
        place = " › ".join([self.called, *str(self.need.get("path") or "").split("/")])
        asked = f"asked {time_of_day(self.need.get('since'))} · question {self.question}"
        self.query_one("#head", Static).update(at_both_ends(safe_line(place), safe_line(asked), self.size.width))
        last = next((row.control for row in reversed(self.rows) if row.display), None)
        known = dict(keys_of(control))
        sends = {"Enter": "send"} if control is last and known.get("Enter") == "next" else {"^S": "send"}
        more = {"PgUp PgDn": "preview"} if self.preview is not None else {}
        self.query_one("#foot", Static).update(footer_keys({**known, **sends, **more}.items()))

    @property
    def values(self) -> FormDraft:
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

    def changed(self, source: Widget) -> None:
        row = next((one for one in self.rows if one.control is source), None)
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

    def action_send(self) -> None:
        """Give the answers, or show next to each field what is wrong with it."""
        if self.is_over:
            return
        try:
            self.answer(accept(self.form, self.values))
        except WrongAnswers as error:
            self.cover(is_covered=False)
            wrong = {problem.field: problem.message for problem in error.problems}
            for row in self.rows:
                row.say(wrong.get(row.spec.id, ""))
            next(row for row in self.rows if row.wrong).control.focus()

    def action_show(self) -> None:
        if self.preview is not None:
            super().action_show()

    def say_over(self, close: Press) -> None:
        close.say("Close Esc")
        close.focus()


def _preview(need: Mapping[str, Any]) -> tuple[str, str | None]:
    """The title and the text of what a form is about: a text, or a mapping with `name` or `title` and `text`."""
    given = need.get("preview") or need["form"].get("preview")
    if isinstance(given, Mapping):
        title = given.get("name") or given.get("title") or given.get("path") or ""
        return str(title), str(given.get("text") or given.get("content") or "")
    return "", None if not given else str(given)
