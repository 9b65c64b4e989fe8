"""The questions of a run as rows: what is asked, and how it was answered. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handrail.contracts import Record
from handrail.runs.glance import kind_of_question, verdict_of
from handrail.runs.machine import Answered, Asked, FactFound
from handrail.runs.tries import OWN
from handrail.topics.effects import effect_of
from handrail.topics.rows import Row, Rows
from handrail.topics.texts import cleaned, short

NEEDS = "needs"
MOST = 50
MOST_TEXT = 32 * 1024
"""Characters of one text of a form. A flow may put the output of an agent there."""
_DATA = ("id", "value", "default", "equals", "field")
"""Keys of a form whose values are part of an answer, so they must not change."""


class Needs:
    """The questions of one attempt of a run. A question that nobody needs an answer to any more is removed."""

    def __init__(self, rows: Rows, run: str) -> None:
        self.rows = rows
        self.run = run
        self._open: dict[str, str] = {}  # by the path of the step
        self._closed: list[str] = []
        self._is_over = False
        self._aside: dict[str, dict[str, Any]] = {}  # open, but there is no room
        self._seen: dict[str, dict[str, Any]] = {}

    def see(self, event: FactFound) -> None:
        """Take what a node recorded: before it asks for a yes, that is what the person will see."""
        is_shown = event.place == OWN and event.kind == "value" and event.subject.startswith("seen.")
        if is_shown and isinstance(event.value, dict):
            self._seen[event.path] = event.value

    def ask(self, at: float, event: Asked, id_: str, checks: list[Row]) -> None:
        """A step asks. `checks` are those that ran: whoever is asked for a yes sees them."""
        self.withdraw(event.path)
        self._open[event.path] = id_
        form = _bounded(cleaned(event.question, _DATA))
        title, kind = short(str(event.question.get("title") or "a question")), kind_of_question(event.question)
        row: dict[str, Any] = {"of": f"run:{self.run}", "path": event.path, "kind": kind, "digest": event.input}
        row |= {"title": title, "since": at, "form": form, "answered": None}
        row |= {"action": effect_of(kind, event.path, title, self._seen.get(event.path), checks)}
        self.rows.put(NEEDS, id_, row)
        self._fit()

    def rest(self, *, is_over: bool) -> None:
        """Hide the open questions of a run that has ended, and show them again when it goes on."""
        self._is_over = is_over
        self._fit()

    def answer(self, at: float, event: Answered) -> None:
        id_ = self._open.pop(event.path, None)
        if id_ is None:
            return
        row = self.rows.get(NEEDS, id_)
        if row is not None:
            self.rows.put(NEEDS, id_, {"answered": _answered(at, event, row["kind"])})
        self._closed.append(id_)
        self._fit()

    def withdraw(self, path: str) -> None:
        """Nobody needs an answer to the open question of a step any more."""
        if path in self._open:
            id_ = self._open.pop(path)
            self._aside.pop(id_, None)
            self.rows.drop(NEEDS, id_)
            self._fit()

    def _fit(self) -> None:
        """Remove the oldest answered questions if there are too many. Of open ones, the first are shown."""
        while self._closed and len(self._closed) + len(self._open) > MOST:
            self.rows.drop(NEEDS, self._closed.pop(0))
        most = 0 if self._is_over else MOST
        for number, id_ in enumerate(self._open.values()):
            if number < most and id_ in self._aside:
                self.rows.put(NEEDS, id_, self._aside.pop(id_))
            elif number >= most and (row := self.rows.get(NEEDS, id_)) is not None:
                self._aside[id_] = {name: value for name, value in row.items() if name not in ("id", "v")}
                self.rows.drop(NEEDS, id_)


def path_of(records: Sequence[Record], question: str) -> str | None:
    """The path of the step that asked a question."""
    return next((event.path for _, event in records if isinstance(event, Asked) and event.id == question), None)


def _bounded(form: Any) -> Any:
    """The form with its long texts cut, and how much was left out. What is part of an answer stays as it is."""
    if isinstance(form, dict):
        return {key: value if key in _DATA else _bounded(value) for key, value in form.items()}
    if isinstance(form, list):
        return [_bounded(value) for value in form]
    if not isinstance(form, str) or len(form) <= MOST_TEXT:
        return form
    return f"{form[:MOST_TEXT]}\n… ({len(form) - MOST_TEXT} more characters)"


def answer_to(records: Sequence[Record], question: str) -> dict[str, Any] | None:
    """How a question was answered: `by`, `who`, `at` and `verdict`. None if it was not."""
    kinds = {event.id: kind_of_question(event.question) for _, event in records if isinstance(event, Asked)}
    for at, event in records:
        if isinstance(event, Answered) and event.id == question:
            return _answered(at, event, kinds.get(question, "form"))
    return None


def _answered(at: float, event: Answered, kind: str) -> dict[str, Any]:
    verdict = verdict_of(kind, event.values)
    return {"by": event.surface or event.by, "who": event.by, "at": event.at or at, "verdict": verdict}
