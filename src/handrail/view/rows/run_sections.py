"""The sections of a run beside its tree: bars of a timeline, visits, results of `expect`, questions. Pure.

A bar is one stretch of time of one step. `work`: its node ran. `pause`: between two tries. `delay`: it waited for a
point in time, such as the reset of a quota. `asked`: a person was asked. `away`: no process drove the run.
A question says what happens if a person says yes, as far as the run has recorded it. What is not known is None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from handrail.driven.expressions.tree import Const
from handrail.driven.flows.plan import Expectation
from handrail.driven.runs.run_events import AgentActed, Answered, Asked, Checked, FactFound, Guided
from handrail.driven.runs.state import OWN
from handrail.driven.runs.summary import kind_of_question, verdict_of
from handrail.extensions.contracts import EventRecord, GuideNews
from handrail.extensions.contracts.check import subject
from handrail.source.plain_text import caller_words, one_line
from handrail.source.values import shown
from handrail.view.rows.rows import Row, Rows, cleaned_value, long_text, short_text
from handrail.view.rows.run_tree import NodeTree, RowWindow

SHORT_NOTE = 160
BARS = "bars"
BarKind = Literal["work", "pause", "delay", "asked", "away"]
BarEnd = Literal["done", "failed", "cancelled", "interrupted", "skipped", "answered"]


class BarRows:
    """The bars of all steps of a run. At most one bar of a step is open, and an open one has no `to`."""

    def __init__(self, window: RowWindow) -> None:
        self.window = window
        self._open: dict[str, Row] = {}
        self._work_seconds: dict[str, float] = {}

    def open(self, path: str, kind: BarKind, at: float, number: int) -> None:
        """Begin a bar; the one that is open ends here. `number` is that of the try."""
        self.close(path, at)
        row = {"node": path, "kind": kind, "try": number, "from": at, "to": None, "end": None}
        self._open[path] = self.window.append(BARS, path, row)

    def close(self, path: str, at: float, end: BarEnd | None = None) -> None:
        """End the open bar of a step, if it has one."""
        row = self._open.pop(path, None)
        if row is None:
            return
        self.window.put(BARS, row["id"], path, {"to": max(row["from"], at), "end": end})
        if row["kind"] == "work":
            self._work_seconds[path] = self._work_seconds.get(path, 0.0) + max(0.0, at - row["from"])

    def kind(self, path: str) -> BarKind | None:
        """What the open bar of a step is; None if none is open."""
        return self._open[path]["kind"] if path in self._open else None

    def work_seconds(self, path: str) -> float | None:
        """The seconds of all work bars of a step that have ended. None if it never worked."""
        return None if path not in self._work_seconds else round(self._work_seconds[path], 3)

    def mark_away(self, start: float, end: float) -> None:
        """No process drove the run from `start` to `end`: work was interrupted, and open questions stay open."""
        for path, row in list(self._open.items()):
            if row["kind"] != "asked":
                self.close(path, start, "interrupted")
                self.open(path, "away", start, row["try"])
                self.close(path, end)

    def cancel(self, at: float) -> None:
        """End all open bars, because the run ended."""
        for path in list(self._open):
            self.close(path, at, "cancelled")

    def forget(self, path: str) -> None:
        """A step runs again from its beginning. The window removes its rows."""
        self._open.pop(path, None)
        self._work_seconds.pop(path, None)


VISITS = "visits"
_STATUS_OF_END = {
    "entered": "done",
    "finished": "done",
    "looped": "skipped",
    "went-to": "skipped",
    "let-go": "failed",
    "cancelled": "failed",
}


def take_visit(window: RowWindow, event: Guided) -> None:
    """A visit is the time that an agent spends in a phase of its workflow. Only the last one of a step may be open."""
    path, is_new = event.path, event.kind in ("entered", "looped", "went-to")
    last_visit = next(reversed(window.rows_of(path, VISITS)), None)
    if last_visit is not None and event.kind not in _STATUS_OF_END:
        window.put(VISITS, last_visit["id"], path, {"note": short_text(guided_words(event, is_short=True))})
    elif last_visit is not None and last_visit["to"] is None:
        note = event.text if is_new or event.kind == "finished" else guided_words(event)
        fields = {"status": _STATUS_OF_END[event.kind], "to": event.time, "note": short_text(note)}
        window.put(VISITS, last_visit["id"], path, fields)
    if is_new:
        row = {"node": path, "place": short_text(event.place), "status": "running", "from": event.time, "to": None}
        window.append(VISITS, path, {**row, "note": "started over" if event.kind == "looped" else ""})


def guided_words(event: Guided | GuideNews, *, is_short: bool = False) -> str:
    """What happened in a workflow, in one line. `is_short`: the phase is named beside it already."""
    text, phase = shown(one_line(event.text), SHORT_NOTE), event.phase
    who = "" if event.by.startswith("run:") else caller_words(event.by)  # the agent of a run acts for the run
    match event.kind:
        case "entered":
            return f"phase {event.place}"
        case "looped":
            return f"{who or 'the agent'} starts over at {event.place}"
        case "went-to":
            return f"{who or 'a person'} moved it to {event.place}: {text}"
        case "blocked":
            return f"{who or 'the agent'} cannot go on{'' if is_short else f' in {phase}'}: {text}"
        case "asked-to-cancel":
            return f"{who or 'the agent'} asks to cancel the workflow" + (f": {text}" if text else "")
        case "answered":
            return f"{who or 'a person'} answered" + (f": {text}" if text else "")
        case "check-failed":
            return f"cannot be left yet: {text}" if is_short else f"{phase} cannot be left yet: {text}"
        case "check-held":
            return f"checked: {text}"
        case "sent-on":
            return f"the agent stopped early{'' if is_short else f' in {phase}'} and was told to continue"
        case "let-go":
            return f"the agent stopped in {phase}: {text}"
        case "finished":
            return "the workflow is done"
        case "cancelled":
            return f"the workflow was cancelled{f' by {who}' if who else ''} in {phase}" + (f": {text}" if text else "")
        case _:
            return f"{event.kind}: {text}"


def act_words(event: AgentActed) -> str:
    if event.kind == "again":
        return f"the agent is called again: {event.text}"
    return event.text if event.kind == "tool" else f"{event.kind}: {event.text}"


CHECKS = "checks"


class CheckRows:
    """The checks of all steps of a run, each with its last result."""

    def __init__(self, window: RowWindow, tree: NodeTree) -> None:
        self.window = window
        self.tree = tree
        self._results: dict[str, Row] = {}  # the one that ran last is the last

    def announce(self, path: str) -> None:
        """Show the checks of a step that begins. None of them has run."""
        step = self.tree.steps.get(path)
        if step is not None and step.expect and not self.window.rows_of(path, CHECKS):
            self._put(path, None, [_planned_check(expectation) for expectation in step.expect])

    def take(self, at: float, event: Checked) -> None:
        self._put(event.path, at, event.results)

    def results(self) -> list[Row]:
        """The last result of each check that ran, in the order of their times."""
        return list(self._results.values())

    def forget(self, path: str) -> None:
        """A step runs again from its beginning. The window removes its rows."""
        self._results = {id_: row for id_, row in self._results.items() if row["node"] != path}

    def _put(self, path: str, at: float | None, results: list[dict[str, Any]]) -> None:
        outcomes: list[bool | None] = []
        for number, result in enumerate(results):
            outcomes.append(result.get("held"))
            row = {"node": path, "name": short_text(str(result.get("name"))), "kind": result.get("kind")}
            row |= {"held": outcomes[-1], "detail": long_text(str(result.get("detail") or "")), "at": at}
            row |= {"seconds": result.get("seconds"), "tree": None, "stale": None}
            id_ = f"{path}#{number}"
            self.window.put(CHECKS, id_, path, row)
            if at is not None:
                self._results.pop(id_, None)
                self._results[id_] = row
        counts = {"held": outcomes.count(True), "failed": outcomes.count(False), "notRun": outcomes.count(None)}
        self.tree.put(path, checks=counts)


def _planned_check(expectation: Expectation) -> dict[str, Any]:
    """A check that has not run. What it is about may be known only then."""
    values = {name: value.value for name, value in expectation.params.items() if isinstance(value, Const)}
    about = f": {subject(values)}" if len(values) == len(expectation.params) else ""
    return {"name": expectation.kind + about, "kind": expectation.kind}


MOST_CHECKS, MOST_FILES = 20, 200
UNKNOWN_EFFECT: dict[str, Any] = dict.fromkeys(("does", "gate", "command", "tree", "checks", "changes", "claim"))
_OF_CHECK = ("name", "kind", "held", "detail", "seconds", "at", "tree", "stale")
_STAT = re.compile(r" (?P<path>.+?) +\| +(?:[0-9]+ ?[+-]*|Bin.*)")
"""A line of `git diff --stat`. Its signs are scaled, so they are no count of lines."""


def effect_of(
    kind: str, path: str, title: str, facts: Mapping[str, Any] | None, checks: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """The `action` of a question. `facts` is what its node recorded before it asked, `checks` are those that ran.

    Of a check that ran in several rounds, the last result counts. Besides the fields that every approval has, `state`
    is what the yes is for: if it differs when the yes comes, the person is asked again.
    """
    if kind == "rerun":
        return {**UNKNOWN_EFFECT, "does": f"{short_text(path)} runs again"}
    if kind != "approval":
        return None
    rows = ({name: check.get(name) for name in _OF_CHECK} for check in checks)
    last_rows = list({(check["name"], check["kind"]): check for check in rows}.values())
    goes_on = f"the run goes on after {' › '.join(short_text(path).split('/'))}"
    does, preview = goes_on if title.endswith("?") else short_text(title), facts or {}
    state, changes = cleaned_value(preview.get("state")) or None, changes_in(preview.get("facts"))
    known = {"does": does, "checks": last_rows[-MOST_CHECKS:] or None, "state": state, "changes": changes}
    return {**UNKNOWN_EFFECT, **known}


def changes_in(facts: Any) -> dict[str, Any] | None:
    """The files that a preview names in its fact `Changes`; None if it has none. How many lines differ is not known."""
    texts = [fact[1] for fact in facts or () if isinstance(fact, list) and len(fact) == 2 and fact[0] == "Changes"]
    lines = str(texts[0]).split("\n") if texts else []
    paths = [match["path"].strip() for line in lines if (match := _STAT.fullmatch(f" {line.lstrip()}")) is not None]
    if not paths:
        return None
    files = [{"path": short_text(path), "status": None, "added": None, "removed": None} for path in paths[:MOST_FILES]]
    return {"files": files, "diff": None}


def question_title(question: Mapping[str, Any]) -> str:
    return str(question.get("title") or question.get("id") or "a question")


NEEDS = "needs"
MOST_QUESTIONS = 50
MOST_TEXT = 32 * 1024
"""Characters of one text of a form. A flow may put the output of an agent there."""
_DATA = ("id", "value", "default", "equals", "field")
"""Keys of a form whose values are part of an answer, so they must not change."""


class QuestionRows:
    """The questions of one attempt of a run. A question that nobody needs an answer to any more is removed."""

    def __init__(self, rows: Rows, run: str) -> None:
        self.rows = rows
        self.run = run
        self._open: dict[str, str] = {}  # by the path of the step
        self._closed: list[str] = []
        self._is_over = False
        self._hidden_rows: dict[str, dict[str, Any]] = {}  # open, but there is no room
        self._facts: dict[str, dict[str, Any]] = {}

    def take_fact(self, event: FactFound) -> None:
        """Take what a node recorded. Before it asks for approval, this is what the person will see."""
        is_shown = event.place == OWN and event.kind == "value" and event.subject.startswith("seen.")
        if is_shown and isinstance(event.value, dict):
            self._facts[event.path] = event.value

    def ask(self, at: float, event: Asked, id_: str, checks: list[Row]) -> None:
        """A step asks. `checks` are those that ran: whoever is asked for a yes sees them."""
        self.withdraw(event.path)
        self._open[event.path] = id_
        form = _shorten_form(cleaned_value(event.question, _DATA))
        title, kind = short_text(question_title(event.question)), kind_of_question(event.question)
        row: dict[str, Any] = {"of": f"run:{self.run}", "path": event.path, "kind": kind, "digest": event.input}
        row |= {"title": title, "since": at, "form": form, "answered": None}
        row |= {"action": effect_of(kind, event.path, title, self._facts.get(event.path), checks)}
        self.rows.put(NEEDS, id_, row)
        self._fit()

    def set_over(self, *, is_over: bool) -> None:
        """Hide the open questions when the run ends, and show them again when it continues."""
        self._is_over = is_over
        self._fit()

    def answer(self, at: float, event: Answered) -> None:
        id_ = self._open.pop(event.path, None)
        if id_ is None:
            return
        if (row := self.rows.get(NEEDS, id_)) is not None:
            self.rows.put(NEEDS, id_, {"answered": _answer_json(at, event, row["kind"])})
        self._closed.append(id_)
        self._fit()

    def withdraw(self, path: str) -> None:
        """Remove the open question of a step, because no answer is needed any more."""
        if path in self._open:
            id_ = self._open.pop(path)
            self._hidden_rows.pop(id_, None)
            self.rows.drop(NEEDS, id_)
            self._fit()

    def _fit(self) -> None:
        """Remove the oldest answered questions if there are too many. Of open ones, the first are shown."""
        while self._closed and len(self._closed) + len(self._open) > MOST_QUESTIONS:
            self.rows.drop(NEEDS, self._closed.pop(0))
        limit = 0 if self._is_over else MOST_QUESTIONS
        for number, id_ in enumerate(self._open.values()):
            if number < limit and id_ in self._hidden_rows:
                self.rows.put(NEEDS, id_, self._hidden_rows.pop(id_))
            elif number >= limit and (row := self.rows.get(NEEDS, id_)) is not None:
                self._hidden_rows[id_] = {name: value for name, value in row.items() if name not in ("id", "v")}
                self.rows.drop(NEEDS, id_)


def path_of_question(records: Sequence[EventRecord], question: str) -> str | None:
    return next((event.path for _, event in records if isinstance(event, Asked) and event.id == question), None)


def _shorten_form(form: Any) -> Any:
    """The form with its long texts cut, and how much was left out. What is part of an answer stays as it is."""
    if isinstance(form, dict):
        return {key: value if key in _DATA else _shorten_form(value) for key, value in form.items()}
    if isinstance(form, list):
        return [_shorten_form(value) for value in form]
    if not isinstance(form, str) or len(form) <= MOST_TEXT:
        return form
    return f"{form[:MOST_TEXT]}\n… ({len(form) - MOST_TEXT} more characters)"


def answer_to_question(records: Sequence[EventRecord], question: str) -> dict[str, Any] | None:
    """How a question was answered: `by`, `who`, `at` and `verdict`. None if it was not."""
    kinds = {event.id: kind_of_question(event.question) for _, event in records if isinstance(event, Asked)}
    for at, event in records:
        if isinstance(event, Answered) and event.id == question:
            return _answer_json(at, event, kinds.get(question, "form"))
    return None


def _answer_json(at: float, event: Answered, kind: str) -> dict[str, Any]:
    verdict = verdict_of(kind, event.values)
    return {"by": event.surface or event.by, "who": event.by, "at": event.at or at, "verdict": verdict}
