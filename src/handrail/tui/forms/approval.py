"""An approval: what would happen, what Handrail checked, what the agent says, and three buttons.

No single key approves: the buttons are disabled at first, and only Enter on a focused button presses it. The result
is the answers of the form that asks, or None for "later". A part that is not known is shown as such, and never left
out: a person must see that nobody has looked. `question_screen` chooses between an approval and a form.
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
from handrail.driven.forms.form import Form, accept
from handrail.source.plain_text import counted
from handrail.tui.forms.controls import Line, Slot, ago, at_both_ends, safe_line, safe_text
from handrail.tui.forms.form import AnswerScreen
from handrail.tui.forms.question import FormDraft, QuestionScreen
from handrail.tui.forms.screen import LATER, FormAction, FormParts
from handrail.view.text.columns import DONE, FAILED, PENDING

UNKNOWN_FACT = "–"
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


def approval_facts(need: Mapping[str, Any]) -> Iterator[ApprovalFact]:
    """What a person has to know before the yes, in the order of the screen."""
    action: Action = need.get("action") or {}
    form: Mapping[str, Any] = need.get("form") or {}
    yield ApprovalFact("IF YOU APPROVE", str(action.get("does") or need.get("title") or UNKNOWN_FACT))
    command = action.get("command")
    if command:
        yield ApprovalFact("IT RUNS", "one argument per line", tuple(_arguments(command)))
    if form.get("description"):
        yield ApprovalFact("WHAT IS ASKED", "", tuple(str(form["description"]).split("\n")))
    if action.get("gate"):
        yield ApprovalFact("GATE THERE", gate_words(action["gate"]))
    yield ApprovalFact("CHECKED BY HANDRAIL", _tree_words(action), tuple(_check_lines(action.get("checks"))))
    yield ApprovalFact("CHANGED", changes_words(action.get("changes")), tuple(_change_lines(action.get("changes"))))
    state = action.get("state")
    known = list(_state_lines(state)) if isinstance(state, Mapping) else []
    if known:
        yield ApprovalFact("THE YES IS FOR", "", tuple(known))
    if action.get("claim"):
        yield ApprovalFact("SAID BY THE AGENT (a claim, not checked)", "", tuple(str(action["claim"]).split("\n")))


def _state_lines(state: Action) -> Iterator[str]:
    """What the yes depends on. Of a digest its beginning is enough."""
    for name, value in state.items():
        text = "" if value is None else str(value)
        if text and value not in ([], {}):
            yield f"{name} {f'{text[:DIGEST]}…' if _DIGEST.fullmatch(text) else text}"


def _arguments(command: Any) -> list[str]:
    """One argument per line, each in quotes, so that blanks and empty arguments can be seen."""
    if isinstance(command, Sequence) and not isinstance(command, str):
        return [f"“{one}”" for one in command]
    return str(command).split("\n")


def gate_words(gate: Any) -> str:
    """Which tools a phase allows."""
    if not isinstance(gate, Mapping):
        return str(gate)
    words = [
        f"only {_listed(gate['allow'])}" if gate.get("allow") else "",
        f"all tools but {_listed(gate['deny'])}" if gate.get("deny") else "",
        f"writes {_listed(gate['writes'])}" if gate.get("writes") else "",
    ]
    return "; ".join(word for word in words if word) or "all tools"


def _listed(names: Any) -> str:
    return names if isinstance(names, str) else ", ".join(str(name) for name in names)


def _tree_words(action: Action) -> str:
    tree = action.get("tree")
    if not tree:
        return "" if action.get("checks") else UNKNOWN_FACT
    name = tree.get("digest") if isinstance(tree, Mapping) else tree
    is_stale = any(one.get("stale") for one in action.get("checks") or ())
    return f"on tree {str(name)[:7]}, {'CHANGED since' if is_stale else 'unchanged since'}"


def _check_lines(checks: Any) -> Iterator[str]:
    if checks is None:
        yield f"{PENDING.char} not known whether anything was checked"
    elif not checks:
        yield f"{PENDING.char} nothing was checked"
    for check in checks or ():
        sign = {True: DONE, False: FAILED}.get(check.get("held"), PENDING).char
        told = [str(check["detail"])] if check.get("detail") else []
        told += ["never run"] if check.get("held") is None and not told else []
        told += [f"{check['seconds']:.0f}s"] if isinstance(check.get("seconds"), int | float) else []
        told += ["stale: the files changed since"] if check.get("stale") else []
        name = str(check.get("name") or UNKNOWN_FACT)
        yield f"{sign} {name:<16}  {' · '.join(told)}".rstrip()


def _files(changes: Any) -> list[Any]:
    if isinstance(changes, Mapping):
        return list(changes.get("files") or ())
    return list(changes) if isinstance(changes, Sequence) and not isinstance(changes, str) else []


def changes_words(changes: Any) -> str:
    """How many files have changed, and by how many lines as far as this is known."""
    if changes is None:
        return "not recorded"
    files = _files(changes)
    whole = changes if isinstance(changes, Mapping) else {}
    sums = [_sum(files, whole, name) for name in ("added", "removed")]
    lines = "" if None in sums or not files else f" +{sums[0]} −{sums[1]}"
    return f"{counted(len(files), 'file')}{lines}"


def _sum(files: list[Any], whole: Mapping[str, Any], name: str) -> int | None:
    if isinstance(whole.get(name), int):
        return int(whole[name])
    found = [one.get(name) if isinstance(one, Mapping) else None for one in files]
    return sum(found) if all(isinstance(one, int) for one in found) else None  # type: ignore[arg-type]


def _change_lines(changes: Any) -> Iterator[str]:
    files = _files(changes)
    for one in files[:MOST]:
        if not isinstance(one, Mapping):
            yield str(one)
            continue
        counts = [f"{sign}{one[name]}" for sign, name in (("+", "added"), ("−", "removed")) if one.get(name)]
        status = [str(one["status"])] if one.get("status") else []
        yield " ".join([*status, str(one.get("path") or UNKNOWN_FACT), *counts])
    if len(files) > MOST:
        yield f"… and {len(files) - MOST} more"


def diff_of(need: Mapping[str, Any]) -> str | None:
    """The text of the changes; None if it is not recorded."""
    changes = (need.get("action") or {}).get("changes")
    diff = changes.get("diff") if isinstance(changes, Mapping) else None
    return None if not diff else str(diff)


DELAY = 0.7
"""Seconds until the buttons work, so that a key that was meant for another screen approves nothing."""
_HOW = "Move to a button with Tab, then press Enter. No other key approves."


class ApprovalScreen(QuestionScreen):
    """Asks for a yes or a no."""

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
        given = need.get("form")
        self.form: Form | None = form_params.form_from(given) if given else None
        self.note = Line(compact=True)

    def parts(self) -> FormParts:
        diff = diff_of(self.need)
        return FormParts(
            [part for fact in approval_facts(self.need) for part in _fact(fact)],
            [Static(safe_text(diff) if diff else Content.styled("The diff is not recorded.", "dim"))],
            [
                FormAction("approve", "Approve", partial(self._answer, approved=True), disabled=True),
                FormAction("reject", "Reject: needs a note", self._reject, disabled=True),
                FormAction(LATER, "Later", self.action_later, disabled=True),
            ],
            [Slot("Note", self.note, id="note")],
        )

    def on_mount(self) -> None:
        self.note.value = str(self.drafts.get(self.draft_key, {}).get("note", ""))
        self.set_timer(self.delay, self.enable)
        self.set_interval(1.0, partial(self.draw, None))

    def draw(self, control: Widget | None) -> None:
        del control
        title = Content.assemble(
            ("Approve?  ", "bold"), safe_line(self.called), "  ", safe_line(self.need.get("title"))
        )
        since = self.need.get("since")
        asked = f"asked {ago(self.now() - since)}" if since else "asked –"
        self.query_one("#head", Static).update(at_both_ends(title, Content(asked), self.size.width))
        single = f" single use · question {self.question} · digest {str(self.need.get('digest') or '')[:8]}"
        foot = Content.assemble(" ", safe_line(single, "$text-muted"), f"\n {_HOW}")
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
    is_approval = _is_verdict(need.get("form")) if need.get("form") else True
    return ApprovalScreen(need, name) if is_approval else AnswerScreen(need, name)


def _is_verdict(form: Any) -> bool:
    fields = form.get("fields") if isinstance(form, Mapping) else None
    kinds = [(one.get("id"), one.get("type")) for one in fields or () if isinstance(one, Mapping)]
    return kinds == [("approved", "boolean"), ("reason", "text")]
