"""Questions of runs and sessions: a form with fields, or an approval.

What was typed is kept for later. If a question is withdrawn, answered or changed while it is open, the screen says so
and takes no answer. Answers are checked as by `handrail answer`.

An approval says what would happen, what Handrail checked, and what the agent says. No single key approves: its buttons
are disabled at first, and only Enter on a focused button presses it. A part that is not known is shown as such, and
never left out: a person must see that nobody has looked.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from handrail.driven.forms import form_params
from handrail.driven.forms.form import Form, WrongAnswers, accept, choices, is_shown
from handrail.source.plain_text import counted
from handrail.tui.context import local_time
from handrail.tui.forms.controls import (
    Line,
    Press,
    Slot,
    at_both_ends,
    footer_keys,
    keys_of,
    safe_line,
    safe_text,
)
from handrail.tui.forms.form import LATER, SHOW, FormParts, FormRow, FormScreen
from handrail.tui.lines.words import UNKNOWN, age
from handrail.view.text.columns import DONE, FAILED, NOTICE, PENDING

_DRAFTS = "handrail_drafts"
_BY = {"cli": "at the command line", "tui": "in the terminal", "web": "in the page", "file": "by a file"}
_BY |= {"deadline": "by default"}
FormDraft = dict[str, Any]
Need = Mapping[str, Any]


def outdated_words(old_need: Need, new_need: Need | None) -> str | None:
    """Why an answer to a question would not count any more; None if it would. `new_need` is None if it is gone."""
    if new_need is None:
        return "This question was withdrawn. Nothing left to do."
    if answer := new_need.get("answered"):
        verdict = answer.get("verdict") if answer.get("verdict") in ("approved", "rejected") else "answered"
        place = _BY.get(str(answer.get("by")), "")
        return f"This was {verdict} at {_time_of_day(answer.get('at'))} {place}".rstrip() + ". Nothing left to do."
    if new_need.get("digest") != old_need.get("digest"):
        return "The question has changed since you opened it. Close this and open it again."
    old_action, new_action = old_need.get("action") or {}, new_need.get("action") or {}
    if old_action.get("tree") != new_action.get("tree"):
        return "The files have changed since you opened this. Close this and open it again."
    return None if old_action == new_action else "What is asked has changed. Close this and open it again."


def _time_of_day(at: float | None) -> str:
    return UNKNOWN if at is None else local_time(at).time


class QuestionScreen(FormScreen):
    """Asks one need. `name` is what the run or session is called. The result is the accepted answers, or None."""

    def __init__(self, need: Need, name: str = "") -> None:
        super().__init__()
        self.need = dict(need)
        self.asker = name or str(need.get("of") or "")
        self.question = str(need.get("id") or "")

    @property
    def drafts(self) -> dict[str, FormDraft]:
        """The drafts of the app by `draft_key`: a question may be opened from several screens."""
        drafts: dict[str, FormDraft] = vars(self.app).setdefault(_DRAFTS, {})
        return drafts

    @property
    def draft_key(self) -> str:
        """Which draft is that of this question: the questions of every run begin with `q1`."""
        return f"{self.need.get('of')} {self.question}"

    @property
    def values(self) -> FormDraft:
        return {}

    @property
    def is_over(self) -> bool:
        """True if an answer would not count any more."""
        return self.has_class("-over")

    def answer(self, values: Mapping[str, Any]) -> None:
        self.drafts.pop(self.draft_key, None)
        self.dismiss(values)

    def put_off(self) -> None:
        """Close the question, and keep what was typed."""
        if not self.is_over:
            self.drafts[self.draft_key] = self.values
        self.dismiss(None)

    def enable(self) -> None:
        """Let the buttons work. If the question is over, no answer can be given."""
        for button in self.query(Press):
            button.disabled = self.is_over and button.id not in (LATER, SHOW)

    def need_changed(self, need: Need | None) -> None:
        """The row of this question as it is now; None if it is gone."""
        words = outdated_words(self.need, need)
        if words is not None and not self.is_over:
            self.add_class("-over")
            self.query_one("#notice", Static).update(Content(f"{NOTICE.char} {words}"))
            self.enable()
            self.say_over(self.query_one(f"#{LATER}", Press))

    def say_over(self, close: Press) -> None:
        """The question is over: only this button is left."""
        close.say("Close")
        self.set_focus(None)


class AnswerScreen(QuestionScreen):
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
        self.rows: list[FormRow] = []

    def parts(self) -> FormParts:
        draft = self.drafts.get(self.draft_key, {})
        self.rows = [FormRow(spec, draft.get(spec.id, spec.given_default)) for spec in self.form.fields]
        about = [Static(safe_text(self.form.description))] if self.form.description else []
        actions = [
            Press("send", f"{self.form.submit or 'Send'} ^S", self.action_send),
            Press(LATER, "Later Esc", self.action_later),
        ]
        if self.preview is not None:
            actions.append(Press(SHOW, " ".join(f"Preview {self.preview_title} v".split()), self.action_show))
        return FormParts(
            [Static(safe_line(self.form.title, "bold")), *about, Static(classes="rule"), *self.rows],
            [Static(safe_line(self.preview_title, "bold")), Static(safe_text(self.preview))],
            actions,
        )

    def on_mount(self) -> None:
        self._arrange()
        first_row = next((row for row in self.rows if row.display), None)
        (first_row.control if first_row else self.query_one("#send", Press)).focus(scroll_visible=False)

    def draw(self, control: Widget | None) -> None:
        place = " › ".join([self.asker, *str(self.need.get("path") or "").split("/")])
        since = self.need.get("since")
        question_words = f"asked {_time_of_day(since)} · question {self.question}" if since is not None else ""
        head = at_both_ends(safe_line(place), safe_line(question_words), self.size.width)
        self.query_one("#head", Static).update(head)
        last_control = next((row.control for row in reversed(self.rows) if row.display), None)
        keys = dict(keys_of(control))
        send_key = {"Enter": "send"} if control is last_control and keys.get("Enter") == "next" else {"^S": "send"}
        preview_keys = {"PgUp PgDn": "preview"} if self.preview is not None else {}
        self.query_one("#foot", Static).update(footer_keys({**keys, **send_key, **preview_keys}.items()))

    @property
    def values(self) -> FormDraft:
        return {row.spec.id: row.value for row in self.rows}

    def _arrange(self) -> None:
        """Show the fields and options that fit the answers before them."""
        answers: dict[str, Any] = {}
        for row in self.rows:
            row.display = is_shown(row.spec, answers)
            if row.display:
                row.offer(choices(row.spec, answers))
            value = row.value if row.display else None
            answers[row.spec.id] = row.spec.blank if row.display and value is None else value

    def after_change(self, source: Widget) -> None:
        row = next((one for one in self.rows if one.control is source), None)
        if row is not None and row.problem:
            row.say("")
        self._arrange()

    def go_on(self) -> None:
        """Enter: the next field, or send after the last one."""
        rows = [row for row in self.rows if row.display]
        place = next((place for place, row in enumerate(rows) if row.control is self.focused), -1)
        if place + 1 < len(rows):
            rows[place + 1].control.focus()
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
            problems = {problem.field: problem.message for problem in error.problems}
            for row in self.rows:
                row.say(problems.get(row.spec.id, ""))
            next(row for row in self.rows if row.problem).control.focus()

    def action_show(self) -> None:
        if self.preview is not None:
            super().action_show()

    def say_over(self, close: Press) -> None:
        close.say("Close Esc")
        close.focus()


def _preview(need: Mapping[str, Any]) -> tuple[str, str | None]:
    """The title and the text of what a form is about: a text, or a mapping with `name` or `title` and `text`."""
    preview = need.get("preview") or need["form"].get("preview")
    if isinstance(preview, Mapping):
        title = preview.get("name") or preview.get("title") or preview.get("path") or ""
        return str(title), str(preview.get("text") or preview.get("content") or "")
    return "", None if not preview else str(preview)


MOST = 40
"""Changed files that are listed."""
DIGEST = 16
"""Characters that are shown of a digest."""
_DIGEST = re.compile(r"[0-9a-f]{32,}")
Action = Mapping[str, Any]


class ApprovalFact(NamedTuple):
    """A heading, a text beside it, and lines below it. The texts are foreign."""

    heading: str
    beside: str = ""
    below: tuple[str, ...] = ()


def approval_facts(need: Need) -> Iterator[ApprovalFact]:
    """What a person has to know before the yes, in the order of the screen."""
    action: Action = need.get("action") or {}
    form: Mapping[str, Any] = need.get("form") or {}
    yield ApprovalFact("IF YOU APPROVE", str(action.get("does") or need.get("title") or UNKNOWN))
    if action.get("command"):  # in quotes, so that blanks and empty arguments can be seen
        yield ApprovalFact("IT RUNS", "one argument per line", tuple(f"“{word}”" for word in action["command"]))
    if form.get("description"):
        yield ApprovalFact("WHAT IS ASKED", "", tuple(str(form["description"]).split("\n")))
    if action.get("gate"):
        yield ApprovalFact("GATE THERE", gate_words(action["gate"]))
    yield ApprovalFact("CHECKED BY HANDRAIL", _tree_words(action), tuple(_check_lines(action.get("checks"))))
    yield ApprovalFact("CHANGED", changes_words(action.get("changes")), tuple(_change_lines(action.get("changes"))))
    if state_lines := tuple(_state_lines(action.get("state") or {})):
        yield ApprovalFact("THE YES IS FOR", "", state_lines)
    if action.get("claim"):
        yield ApprovalFact("SAID BY THE AGENT (a claim, not checked)", "", tuple(str(action["claim"]).split("\n")))


def _state_lines(state: Action) -> Iterator[str]:
    """What the yes depends on. Of a digest its beginning is enough."""
    for name, value in state.items():
        text = "" if value is None else str(value)
        if text and value not in ([], {}):
            yield f"{name} {f'{text[:DIGEST]}…' if _DIGEST.fullmatch(text) else text}"


def gate_words(gate: Action) -> str:
    parts = (("allow", "only"), ("deny", "all tools but"), ("writes", "writes"))
    return "; ".join(f"{words} {', '.join(gate[name])}" for name, words in parts if gate.get(name)) or "all tools"


def _tree_words(action: Action) -> str:
    tree, checks = action.get("tree"), action.get("checks") or ()
    if not tree:
        return "" if checks else UNKNOWN
    return f"on tree {tree[:7]}, {'CHANGED since' if any(one.get('stale') for one in checks) else 'unchanged since'}"


def _check_lines(checks: Sequence[Action] | None) -> Iterator[str]:
    if checks is None:
        yield f"{PENDING.char} not known whether anything was checked"
    elif not checks:
        yield f"{PENDING.char} nothing was checked"
    for check in checks or ():
        is_held = check.get("held")
        sign = (PENDING if is_held is None else DONE if is_held else FAILED).char
        parts = [str(check["detail"])] if check.get("detail") else []
        parts += ["never run"] if is_held is None and not parts else []
        parts += [f"{check['seconds']:.0f}s"] if isinstance(check.get("seconds"), int | float) else []
        parts += ["stale: the files changed since"] if check.get("stale") else []
        name = str(check.get("name") or UNKNOWN)
        yield f"{sign} {name:<16}  {' · '.join(parts)}".rstrip()


def changes_words(changes: Action | None) -> str:
    """How many files have changed, and by how many lines as far as this is known."""
    if changes is None:
        return "not recorded"
    files = changes["files"]
    counts = [(one.get("added"), one.get("removed")) for one in files]
    is_known = bool(files) and not any(None in pair for pair in counts)
    lines = f" +{sum(added for added, _ in counts)} −{sum(removed for _, removed in counts)}" if is_known else ""
    return f"{counted(len(files), 'file')}{lines}"


def _change_lines(changes: Action | None) -> Iterator[str]:
    files = changes["files"] if changes is not None else ()
    for one in files[:MOST]:
        counts = [f"{sign}{one[name]}" for sign, name in (("+", "added"), ("−", "removed")) if one.get(name)]
        yield " ".join([*filter(None, [one.get("status")]), one["path"], *counts])
    if len(files) > MOST:
        yield f"… and {len(files) - MOST} more"


DELAY = 0.7
"""Seconds until the buttons work, so that a key that was meant for another screen approves nothing."""
_HOW = "Move to a button with Tab, then press Enter. No other key approves."


class ApprovalScreen(QuestionScreen):
    DEFAULT_CSS = "ApprovalScreen .below { padding: 0 0 0 2; }"
    BINDINGS = [
        Binding("d", "show", "diff"),
        Binding("up", "scroll(-1)", "scroll", show=False),
        Binding("down", "scroll(1)", "scroll", show=False),
    ]

    def __init__(
        self, need: Mapping[str, Any], name: str = "", delay: float = DELAY, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__(need, name)
        self.delay = delay
        self.now = now
        form = need.get("form")
        self.form: Form | None = form_params.form_from(form) if form else None
        self.note = Line(compact=True)

    def parts(self) -> FormParts:
        diff = ((self.need.get("action") or {}).get("changes") or {}).get("diff")
        return FormParts(
            [part for fact in approval_facts(self.need) for part in _fact(fact)],
            [Static(safe_text(diff) if diff else Content.styled("The diff is not recorded.", "dim"))],
            [
                Press("approve", "Approve", partial(self._answer, approved=True), disabled=True),
                Press("reject", "Reject: needs a note", self._reject, disabled=True),
                Press(LATER, "Later", self.action_later, disabled=True),
            ],
            [Slot("Note", self.note, id="note")],
        )

    def on_mount(self) -> None:
        self.note.value = str(self.drafts.get(self.draft_key, {}).get("note", ""))
        self.set_timer(self.delay, self.enable)
        self.set_interval(1.0, partial(self.draw, None))

    def draw(self, control: Widget | None) -> None:
        del control
        title = Content.assemble(("Approve?  ", "bold"), safe_line(self.asker), "  ", safe_line(self.need.get("title")))
        asked_at = self.need.get("since")
        age_words = f"asked {age(self.now() - asked_at)} ago" if asked_at else "asked –"
        self.query_one("#head", Static).update(at_both_ends(title, Content(age_words), self.size.width))
        facts = f" single use · question {self.question} · digest {str(self.need.get('digest') or '')[:8]}"
        foot = Content.assemble(" ", safe_line(facts, "$text-muted"), f"\n {_HOW}")
        self.query_one("#foot", Static).update(foot)

    @property
    def values(self) -> FormDraft:
        return {"note": self.note.answer}

    def _reject(self) -> None:
        if self.note.answer.strip():
            self._answer(approved=False)
        else:
            self.say_wrong("Reject needs a note: say why, for the record")
            self.note.focus()

    def _answer(self, *, approved: bool) -> None:
        if not self.is_over:
            self.answer(verdict(self.form, approved=approved, note=self.note.answer.strip()))

    def action_scroll(self, by: int) -> None:
        pane = self.query_one("#beside" if self.is_covered else "#fields", VerticalScroll)
        pane.scroll_relative(y=by, animate=False)


def _fact(fact: ApprovalFact) -> Iterator[Widget]:
    head = Content.assemble((f" {fact.heading:<16}", "bold"), "  " if fact.beside else "", safe_line(fact.beside))
    yield Static(head.rstrip())
    if fact.below:
        yield Static(safe_text("\n".join(f"  {line}" for line in fact.below)), classes="below")


def verdict(form: Form | None, *, approved: bool, note: str) -> dict[str, Any]:
    """The answers that say yes or no: the first yes-or-no field and the first text of the form, or our own names."""
    if form is None:
        return {"approved": approved, "reason": note}
    answers: dict[str, Any] = {}
    for type_, value in (("boolean", approved), ("text", note)):
        field = next((field for field in form.fields if field.type == type_), None)
        if field is not None:
            answers[field.id] = value
    return accept(form, answers)


def question_screen(need: Mapping[str, Any], name: str = "") -> QuestionScreen:
    """The screen for a need. A form that asks for a yes and a reason, and nothing else, is an approval, too."""
    form = need.get("form") or {}
    kinds = [(field.get("id"), field.get("type")) for field in form.get("fields") or ()]
    is_approval = not form or kinds == [("approved", "boolean"), ("reason", "text")]
    return ApprovalScreen(need, name) if is_approval else AnswerScreen(need, name)
