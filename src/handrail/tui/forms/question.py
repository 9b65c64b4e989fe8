"""A question of a run or a session as a form: what was typed is kept for later, and the question may change meanwhile.

If it is withdrawn, answered or changed while it is open, the screen says so and takes no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.content import Content
from textual.widgets import Static

from handrail.tui.forms.controls import Press, time_of_day
from handrail.tui.forms.screen import LATER, SHOW, FormScreen
from handrail.view.text.columns import NOTICE

_DRAFTS = "handrail_drafts"
_BY = {"cli": "at the command line", "tui": "in the terminal", "web": "in the page", "file": "by a file"}
FormDraft = dict[str, Any]
Need = Mapping[str, Any]


def outdated_words(opened: Need, now: Need | None) -> str | None:
    """Why an answer to a question would not count any more; None if it would. `now` is None if the question is gone."""
    if now is None:
        return "This question was withdrawn. Nothing left to do."
    if answered := now.get("answered"):
        verdict = answered.get("verdict") if answered.get("verdict") in ("approved", "rejected") else "answered"
        where = _BY.get(str(answered.get("by")), "")
        return f"This was {verdict} at {time_of_day(answered.get('at'))} {where}".rstrip() + ". Nothing left to do."
    if now.get("digest") != opened.get("digest"):
        return "The question has changed since you opened it. Close this and open it again."
    before, after = opened.get("action") or {}, now.get("action") or {}
    if before.get("tree") != after.get("tree"):
        return "The files have changed since you opened this. Close this and open it again."
    return None if before == after else "What is asked has changed. Close this and open it again."


class QuestionScreen(FormScreen):
    """Asks one need. `name` is what the run or session is called. The result is the accepted answers, or None."""

    def __init__(self, need: Need, name: str = "") -> None:
        super().__init__()
        self.need = dict(need)
        self.called = name or str(need.get("of") or "")
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
        """What is filled in."""
        return {}

    @property
    def is_over(self) -> bool:
        """True if an answer would not count any more."""
        return self.has_class("-over")

    def answer(self, accepted: Mapping[str, Any]) -> None:
        """Close the question with its answers."""
        self.drafts.pop(self.draft_key, None)
        self.dismiss(accepted)

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
            self.query_one("#told", Static).update(Content(f"{NOTICE.char} {words}"))
            self.enable()
            self.say_over(self.query_one(f"#{LATER}", Press))

    def say_over(self, close: Press) -> None:
        """The question is over: only this button is left."""
        close.say("Close")
        self.set_focus(None)
