"""A guided session as rows: head, phases of its workflow, moves, results of exit checks, denied calls. Pure.

Call `take` with every record of the journal, `deny` with every denied call and `mark` with what the marks beside
the journal say, in the order of their times. A new task in the same conversation is a new epoch: all rows are
replaced.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from handrail.guided.sessions import machine, words
from handrail.guided.sessions.denials import Denial
from handrail.guided.sessions.machine import Event, State
from handrail.guided.workflows.plan import Plan, Stop
from handrail.source.output_text import clean
from handrail.source.plain_text import caller_words
from handrail.view.rows.rows import HEAD, LONG, Rows, cleaned_value
from handrail.view.text.columns import session_status

STOPS, MOVES, CHECKS, DENIALS, NEEDS = "stops", "moves", "checks", "denials", "needs"
MOST_DENIALS = 200
Pinned = Callable[[str], Plan | None]


class SessionTopic:
    """The rows of a session. `plan_of` returns a plan by its digest; `facts` are what the head has from elsewhere.

    `counter` names who counts denied calls and marks, if anybody does: their numbers are those of one process.
    """

    def __init__(self, plan_of: Pinned, facts: Mapping[str, Any], counter: str = "") -> None:
        self.plan_of = plan_of
        self.facts = {"turn": None, "letGo": None, **facts}
        self.counter = counter
        self.state = State()
        self.plan: Plan | None = None
        self.rows = Rows("")
        self._moves = self._loops = 0
        self._visits: dict[int, int] = {}
        self._end_time: float | None = None
        self._denied: Counter[str] = Counter()
        self._skipped: set[int] = set()
        self._asked_at = 0.0
        self._by = ""
        self._head()

    def mark(self, facts: Mapping[str, Any]) -> None:
        """Take what is known beside the journal, such as whose turn it is. Changes nothing if it is the same."""
        if any(self.facts.get(name) != value for name, value in facts.items()):
            self.rows.seq += 1
            self.facts.update(facts)
            self._head()

    def deny(self, denial: Denial) -> None:
        """Take a denied call. Equal calls are one row, with a count. Of many different ones, the last are kept."""
        self.rows.seq += 1
        if not self.state.is_active or denial.at < self.state.started:
            return
        self._denied[clean(denial.tool)] += 1
        text = "\n".join((denial.tool, denial.rule, denial.excerpt))
        id_ = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
        old_row = self.rows.get(DENIALS, id_)
        counts = {"count": 1, "first": denial.at} if old_row is None else {"count": old_row["count"] + 1}
        about = {"tool": clean(denial.tool), "rule": denial.rule, "reason": _short_text(denial.reason)}
        self.rows.put(DENIALS, id_, {**about, "excerpt": _short_text(denial.excerpt), **counts, "last": denial.at})
        if len(denials := self.rows.section(DENIALS)) > MOST_DENIALS:
            self.rows.drop(DENIALS, denials[0]["id"])
        self._head()

    def take(self, at: float, event: Event, by: str | None = None) -> None:
        """Apply the next event of the journal, recorded at the time `at`. `by` is who caused it."""
        self._by = caller_words(by)
        self.rows.seq += 1
        old_state, self.state = self.state, machine.apply(self.state, event)
        match event:
            case machine.Started():
                self._begin(at, "start")
            case machine.Rewound() | machine.Adopted():
                self._begin(at, "rewind" if isinstance(event, machine.Rewound) else "adopt")
            case machine.Reloaded():
                self._show_plan()
                self._move(at, old_state.at, event.to, "reload", "")
            case machine.Moved():
                self._move(at, event.origin, event.to, "next", event.summary)
            case machine.Looped():
                self._loops += 1
                self._move(at, event.origin, event.to, "loop", "")
            case machine.WentTo():
                self._go(at, event)
            case machine.Finished():
                self._move(at, event.origin, None, "done", event.summary)
            case machine.Cancelled():
                self._move(at, event.at, None, "cancel", event.reason)
            case machine.Checked():
                self._check(at, event)
            case machine.Blocked() | machine.Answered() | machine.CancelAsked() | machine.CancelWithdrawn():
                self._asked_at = at
            case _:
                pass
        self._ask()
        self._head()

    def _ask(self) -> None:
        """The row of what the session asks a person. The question of a run's session is asked by its run."""
        form = words.question_form(self.state) if self.facts.get("run") is None else None
        for row in self.rows.section(NEEDS):
            if form is None or row["id"] != form["formId"]:
                self.rows.drop(NEEDS, row["id"])
        if form is not None and self.rows.get(NEEDS, form["formId"]) is None:
            shown = cleaned_value(form, ("id", "default"))
            row = {"of": f"session:{self.facts.get('conversation')}", "path": None, "kind": "form", "action": None}
            row |= {"digest": self.state.task_id, "answered": None, "title": shown["title"], "form": shown}
            self.rows.put(NEEDS, form["formId"], {**row, "since": self._asked_at})

    def _go(self, at: float, event: machine.WentTo) -> None:
        """A person's move: the results of the checks from there on are void, and phases that it passes are skipped."""
        self._skipped |= set(range(event.origin, event.to))
        for row in self.rows.section(CHECKS):
            if row["stop"] >= event.to:
                self.rows.put(CHECKS, row["id"], _NEVER_RUN)
        self._move(at, event.origin, event.to, "goto", event.reason)

    def _begin(self, at: float, cause: str) -> None:
        """A task begins here. The rows of an earlier one are no longer shown."""
        self.rows.epoch = (self.state.task_id or f"before-{self.rows.seq}") + self.counter
        for section in (STOPS, MOVES, CHECKS, DENIALS):
            for row in self.rows.section(section):
                self.rows.drop(section, row["id"])
        self._moves = self._loops = 0
        self._visits, self._end_time, self._denied, self._skipped = {}, None, Counter(), set()
        self._show_plan()
        if self.state.is_active:
            self._move(at, None, self.state.at, cause, "")

    def _show_plan(self) -> None:
        self.plan = self.plan_of(self.state.plan) if self.state.plan else None
        stops = () if self.plan is None else self.plan.stops
        for row in self.rows.section(STOPS):
            if int(row["id"]) >= len(stops):
                self.rows.drop(STOPS, row["id"])
        for order, stop in enumerate(stops):
            is_new = self.rows.get(STOPS, str(order)) is None
            self.rows.put(STOPS, str(order), {**(_NOT_VISITED if is_new else {}), **_stop_fields(order, stop)})
        self._show_checks()

    def _show_checks(self) -> None:
        """A row for each exit check of the workflow, also if it never ran. Results of a changed check are gone."""
        stops = () if self.plan is None else self.plan.stops
        checks = {
            f"{order}.{number}": check for order, stop in enumerate(stops) for number, check in enumerate(stop.checks)
        }
        for row in self.rows.section(CHECKS):
            check = checks.get(row["id"])
            if check is None or (row["claim"], row["kind"]) != (clean(check.claim)[:LONG], check.kind):
                self.rows.drop(CHECKS, row["id"])
        for id_, check in checks.items():
            if self.rows.get(CHECKS, id_) is None:
                stop = int(id_.partition(".")[0])
                row = {"node": str(stop), "stop": stop, "name": clean(check.name)[:LONG], "kind": check.kind}
                self.rows.put(CHECKS, id_, {**row, "claim": clean(check.claim)[:LONG], **_NEVER_RUN})

    def _move(self, at: float, origin: int | None, target: int | None, cause: str, text: str) -> None:
        """The agent goes from a phase to another one, or the workflow ends."""
        self._moves += 1
        summary = {"summary": _short_text(text)}
        move = {"from": origin, "to": target, "how": cause, "by": self._by, "at": at, **summary}
        self.rows.put(MOVES, str(self._moves), move)
        if origin is not None:
            self._put_stop(origin, {"left": at, **(summary if text and cause in ("next", "done") else {})})
        if target is None:
            self._end_time = at
        else:
            self._skipped.discard(target)
            self._visits[target] = self._visits.get(target, 0) + (cause != "reload" or origin != target)
            self._put_stop(target, {"entered": at, "left": None, "visits": self._visits[target]})
        position, is_done = self.state.at, self.state.status == "done"
        for row in self.rows.section(STOPS):  # after a loop, phases that were visited are ahead again
            is_behind = is_done or row["order"] < position
            state = "done" if is_behind else "current" if row["order"] == position else "ahead"
            is_skipped = is_behind and row["order"] in self._skipped
            self.rows.put(STOPS, row["id"], {"state": "skipped" if is_skipped else state})

    def _put_stop(self, at: int, fields: dict[str, Any]) -> None:
        if self.plan is not None and at < len(self.plan.stops):
            self.rows.put(STOPS, str(at), fields)

    def _check(self, at: float, event: machine.Checked) -> None:
        for number, result in enumerate(event.results):
            row = {"node": str(event.at), "stop": event.at, "name": clean(result.name), "kind": result.kind}
            row |= {"held": result.held, "tree": None, "stale": None}
            row |= {"detail": _short_text(result.detail), "seconds": result.seconds, "at": at}
            self.rows.put(CHECKS, f"{event.at}.{number}", row)

    def _head(self) -> None:
        state, plan = self.state, self.plan
        self.rows.put(HEAD, "", {
            **self.facts,
            "turn": self.facts["turn"] if state.is_active else None,
            "workflow": None if plan is None else plan.key,
            "name": None if plan is None else clean(plan.name),
            "task": clean(state.task)[:LONG],
            "status": session_status(state.status, state.question, self.facts["letGo"]),
            "statusLine": clean(words.status_line(plan, state) or "") or None if plan is not None else None,
            "steps": state.steps,
            "loops": self._loops,
            "sentOn": state.sent_on,
            "stoppedIdle": state.idle_stops,
            "sameFailures": state.same_failures,
            "denied": sum(self._denied.values()),
            "deniedTools": dict(self._denied),
            "started": state.started or None,
            "ended": self._end_time,
            "cancelPending": state.cancel_asked or state.asks_to_cancel,
            "refused": list(state.refused),
            "question": clean(state.question)[:LONG] or None,
            "reason": clean(state.reason)[:LONG] or None,
            "endedBy": state.ended_by or None,
        })  # fmt: skip


_NEVER_RUN: dict[str, Any] = {
    "held": None, "detail": None, "seconds": None, "at": None, "tree": None, "stale": None,
}  # fmt: skip
_NOT_VISITED: dict[str, Any] = {"state": "ahead", "visits": 0, "entered": None, "left": None, "summary": None}


def _stop_fields(order: int, stop: Stop) -> dict[str, Any]:
    """What the workflow says about a phase."""
    return {
        "order": order,
        "levels": [[clean(level.name), level.position + 1, level.total] for level in stop.levels],
        "name": clean(stop.name),
        "emoji": clean(stop.emoji),
        "gate": {"deny": _clean_names(stop.deny), "allow": _clean_names(stop.allow), "writes": None},
        "exit": [clean(check.claim)[:LONG] for check in stop.checks],
        "loopable": stop.scope_loopable,
    }


def _clean_names(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else [clean(name) for name in names]


def _short_text(text: str) -> str:
    return clean(text)[:LONG]
