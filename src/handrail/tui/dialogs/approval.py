"""An approval: what would happen, what Handrail checked, what the agent says, and three buttons.

No single key approves: the buttons are disabled at first, and only Enter on a focused button presses it. The result is
the answers of the form that asks, or None for "later".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from handrail.forms import read as formspec
from handrail.forms.form import Form, accept
from handrail.topics.signs import FAILED, NOTICE
from handrail.tui.dialogs.controls import Line, Press, Slot
from handrail.tui.dialogs.drafts import drafts_of, key_of
from handrail.tui.dialogs.facts import Fact, diff_of, facts
from handrail.tui.dialogs.fresh import answered_words, changed_words
from handrail.tui.dialogs.texts import ago, clock, ends, in_line, shown

WIDE = 100
DELAY = 0.7
"""Seconds until the buttons work, so that a key that was meant for another screen approves nothing."""
_HOW = "Move to a button with Tab, then press Enter. No other key approves."


class ApprovalScreen(ModalScreen[dict[str, Any] | None]):
    """Asks for a yes or a no. `name` is what the run or session is called."""

    DEFAULT_CSS = """
    ApprovalScreen { background: $background; layout: vertical; }
    ApprovalScreen > Static, ApprovalScreen #facts > Static { height: auto; }
    ApprovalScreen #told, ApprovalScreen #wrong { display: none; color: $text-warning; }
    ApprovalScreen.-over #told, ApprovalScreen.-wrong #wrong { display: block; }
    ApprovalScreen #panes { height: 1fr; }
    ApprovalScreen #facts, ApprovalScreen #diff { width: 1fr; height: 1fr; scrollbar-size-vertical: 1; }
    ApprovalScreen #diff { display: none; border-left: solid $border-blurred; padding: 0 1; }
    ApprovalScreen.-wide #diff, ApprovalScreen.-shows-diff #diff { display: block; }
    ApprovalScreen.-shows-diff #diff { border-left: none; }
    ApprovalScreen.-shows-diff #facts { display: none; }
    ApprovalScreen .below { padding: 0 0 0 2; }
    ApprovalScreen #buttons { height: 1; }
    ApprovalScreen #small { color: $text-muted; }
    """
    BINDINGS = [
        Binding("escape", "later", "later"),
        Binding("d", "diff", "diff"),
        Binding("up", "scroll(-1)", "scroll", show=False),
        Binding("down", "scroll(1)", "scroll", show=False),
        Binding("pageup", "page(-1)", "scroll", show=False, priority=True),
        Binding("pagedown", "page(1)", "scroll", show=False, priority=True),
    ]
    AUTO_FOCUS = ""

    def __init__(
        self, need: Mapping[str, Any], name: str = "", delay: float = DELAY, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__()
        self.need = dict(need)
        self.called = name or str(need.get("of") or "")
        self.delay = delay
        self.now = now
        given = need.get("form")
        self.form: Form | None = formspec.from_json(given) if given else None
        self.note = Line(compact=True)
        self.diff = diff_of(need)

    def compose(self) -> ComposeResult:
        yield Static(id="head")
        yield Static(id="told")
        with Horizontal(id="panes"):
            with VerticalScroll(id="facts", can_focus=False):
                for fact in facts(self.need):
                    yield from _fact(fact)
            with VerticalScroll(id="diff", can_focus=False):
                yield Static(shown(self.diff) if self.diff else Content.styled("The diff is not recorded.", "dim"))
        yield Slot("Note", self.note, id="note")
        yield Static(id="wrong")
        with Horizontal(id="buttons"):
            yield Press("Approve", id="approve", disabled=True)
            yield Press("Reject: needs a note", id="reject", disabled=True)
            yield Press("Later", id="later", disabled=True)
        digest = str(self.need.get("digest") or "")[:8]
        yield Static(
            Content.assemble(" ", in_line(f"single use · question {self.question} · digest {digest}")), id="small"
        )
        yield Static(Content(f" {_HOW}"), id="how")

    def on_mount(self) -> None:
        self.note.value = str(drafts_of(self.app).get(key_of(self.need), {}).get("note", ""))
        self.set_timer(self.delay, self._enable)
        self.set_interval(1.0, self._draw_head)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= WIDE, "-wide")
        self._draw_head()

    def _draw_head(self) -> None:
        title = Content.assemble(("Approve?  ", "bold"), in_line(self.called), "  ", in_line(self.need.get("title")))
        since = self.need.get("since")
        asked = f"asked {ago(self.now() - since)}" if since else "asked –"
        self.query_one("#head", Static).update(ends(title, Content(asked), self.size.width))

    @property
    def question(self) -> str:
        return str(self.need.get("id") or "")

    @property
    def _is_over(self) -> bool:
        return self.has_class("-over")

    def _enable(self) -> None:
        for button in self.query(Press):
            button.disabled = self._is_over and button.id != "later"

    @on(Press.Pressed)
    def _pressed(self, event: Press.Pressed) -> None:
        event.stop()
        match event.button.id:
            case "approve":
                self._answer(approved=True)
            case "reject":
                self._reject()
            case _:
                self.action_later()

    def _reject(self) -> None:
        if self.note.answer.strip():
            self._answer(approved=False)
            return
        self.add_class("-wrong")
        self.query_one("#wrong", Static).update(Content(f" {FAILED.char} Reject needs a note: say why, for the record"))
        self.note.focus()

    def _answer(self, *, approved: bool) -> None:
        if self._is_over:
            return
        drafts_of(self.app).pop(key_of(self.need), None)
        self.dismiss(verdict(self.form, approved=approved, note=self.note.answer.strip()))

    def action_later(self) -> None:
        """Close the question, and keep the note. If the diff covers the facts, close only the diff."""
        if self.has_class("-shows-diff"):
            self.remove_class("-shows-diff")
        else:
            self.put_off()

    def put_off(self) -> None:
        """Close the question, and keep the note."""
        if not self._is_over:
            drafts_of(self.app)[key_of(self.need)] = {"note": self.note.answer}
        self.dismiss(None)

    def action_diff(self) -> None:
        if not self.has_class("-wide"):
            self.toggle_class("-shows-diff")

    def action_scroll(self, by: int) -> None:
        self._pane().scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        pane = self._pane()
        pane.scroll_relative(y=by * max(1, pane.size.height - 1), animate=False)

    def _pane(self) -> VerticalScroll:
        diff = self.query_one("#diff", VerticalScroll)
        return diff if self.has_class("-shows-diff") else self.query_one("#facts", VerticalScroll)

    def need_changed(self, need: Mapping[str, Any] | None) -> None:
        """The row of this question as it is now; None if it is gone. An answer that would not count is not taken."""
        told = need.get("answered") if need is not None else None
        if need is not None and told:
            words: str | None = answered_words(need, clock(told.get("at")))
        else:
            words = changed_words(self.need, need)
        if words is None or self._is_over:
            return
        self.add_class("-over")
        self.query_one("#told", Static).update(Content(f"{NOTICE.char} {words}"))
        self.query_one("#later", Press).say("Close")
        self.set_focus(None)
        self._enable()


def _fact(fact: Fact) -> ComposeResult:
    head = Content.assemble((f" {fact.heading:<16}", "bold"), "  " if fact.beside else "", in_line(fact.beside))
    yield Static(head.rstrip())
    if fact.below:
        yield Static(shown("\n".join(f"  {line}" for line in fact.below)), classes="below")


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
