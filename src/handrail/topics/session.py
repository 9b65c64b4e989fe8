"""A guided session as rows: its head, the phases of its workflow, its moves and the results of its exit checks. Pure.

Call `take` with every record in order. A new task in the same conversation is a new epoch: everything begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handrail.sessions import machine, words
from handrail.sessions.machine import Event, State
from handrail.source.clean import clean
from handrail.topics.rows import HEAD, Rows
from handrail.workflows.plan import Plan, Stop

STOPS, MOVES, CHECKS = "stops", "moves", "checks"
LONG = 500
Pinned = Callable[[str], Plan | None]


class SessionTopic:
    """The rows of a session. `pinned` returns a plan by its digest; `facts` are what the head has from elsewhere."""

    def __init__(self, pinned: Pinned, facts: Mapping[str, Any]) -> None:
        self.pinned = pinned
        self.facts = dict(facts)
        self.state = State()
        self.plan: Plan | None = None
        self.rows = Rows("")
        self._moves = self._loops = 0
        self._entered: dict[int, float] = {}
        self._visits: dict[int, int] = {}
        self._ended: float | None = None
        self._head()

    def take(self, at: float, event: Event) -> None:
        """Apply the next event of the journal, recorded at the time `at`."""
        self.rows.seq += 1
        before, self.state = self.state, machine.apply(self.state, event)
        match event:
            case machine.Started():
                self._begin(at, "start")
            case machine.Rewound() | machine.Adopted():
                self._begin(at, "rewind" if isinstance(event, machine.Rewound) else "adopt")
            case machine.Reloaded():
                self._show_plan()
                self._move(at, before.at, event.to, "reload", "")
            case machine.Moved() | machine.Looped():
                how = "next" if isinstance(event, machine.Moved) else "loop"
                self._loops += how == "loop"
                self._move(at, event.origin, event.to, how, getattr(event, "summary", ""))
            case machine.Finished():
                self._end(at, event.origin, "done", event.summary)
            case machine.Cancelled():
                self._end(at, event.at, "cancel", event.reason)
            case machine.Checked():
                self._check(at, event)
            case _:
                pass
        self._head()

    def _begin(self, at: float, how: str) -> None:
        """A task begins here. The rows of an earlier one are no longer shown."""
        self.rows.epoch = self.state.task_id or f"before-{self.rows.seq}"
        for section in (STOPS, MOVES, CHECKS):
            for row in self.rows.section(section):
                self.rows.drop(section, row["id"])
        self._moves = self._loops = 0
        self._entered, self._visits, self._ended = {}, {}, None
        self._show_plan()
        if self.state.is_active:
            self._move(at, None, self.state.at, how, "")

    def _show_plan(self) -> None:
        self.plan = self.pinned(self.state.plan) if self.state.plan else None
        stops = () if self.plan is None else self.plan.stops
        for row in self.rows.section(STOPS):
            if int(row["id"]) >= len(stops):
                self.rows.drop(STOPS, row["id"])
        for order, stop in enumerate(stops):
            is_new = self.rows.get(STOPS, str(order)) is None
            self.rows.put(STOPS, str(order), {**(_NOT_VISITED if is_new else {}), **_written(order, stop)})

    def _move(self, at: float, origin: int | None, to: int, how: str, summary: str) -> None:
        self._moves += 1
        row = {"from": origin, "to": to, "how": how, "at": at, "summary": _short(summary)}
        self.rows.put(MOVES, str(self._moves), row)
        if origin is not None:
            self._leave(at, origin, summary)
        self._visits[to] = self._visits.get(to, 0) + 1
        self._entered[to] = at
        if self.plan is not None and to < len(self.plan.stops):
            self.rows.put(STOPS, str(to), {"entered": at, "left": None, "visits": self._visits[to]})
        self._states()

    def _leave(self, at: float, origin: int, summary: str) -> None:
        if self.plan is not None and origin < len(self.plan.stops):
            fields = {"left": at, **({"summary": _short(summary)} if summary else {})}
            self.rows.put(STOPS, str(origin), fields)

    def _end(self, at: float, origin: int, how: str, text: str) -> None:
        self._moves += 1
        row = {"from": origin, "to": None, "how": how, "at": at, "summary": _short(text)}
        self.rows.put(MOVES, str(self._moves), row)
        self._leave(at, origin, text if how == "done" else "")
        self._ended = at
        self._states()

    def _states(self) -> None:
        """Which phases are behind, which is current, which are ahead. After a loop, visited ones are ahead again."""
        here, status = self.state.at, self.state.status
        for row in self.rows.section(STOPS):
            order = row["order"]
            if status == "done" or order < here:
                found = "done"
            elif order == here:
                found = "current"
            else:
                found = "ahead"
            self.rows.put(STOPS, row["id"], {"state": found})

    def _check(self, at: float, event: machine.Checked) -> None:
        for number, result in enumerate(event.results):
            row = {"stop": event.at, "name": result.name, "kind": result.kind, "held": result.held}
            row |= {"detail": _short(result.detail), "seconds": result.seconds, "at": at}
            self.rows.put(CHECKS, f"{event.at}.{number}", row)

    def _head(self) -> None:
        state, plan = self.state, self.plan
        self.rows.put(HEAD, "", {
            **self.facts,
            "workflow": None if plan is None else plan.key,
            "name": None if plan is None else clean(plan.name),
            "task": clean(state.task)[:LONG],
            "status": state.status,
            "statusLine": words.status_line(plan, state) if plan is not None else None,
            "steps": state.steps,
            "loops": self._loops,
            "sentOn": state.sent_on,
            "stoppedIdle": state.idle_stops,
            "sameFailures": state.same_failures,
            "started": state.started or None,
            "ended": self._ended,
            "cancelPending": state.cancel_asked,
            "refused": list(state.refused),
        })  # fmt: skip


_NOT_VISITED: dict[str, Any] = {"state": "ahead", "visits": 0, "entered": None, "left": None, "summary": None}


def _written(order: int, stop: Stop) -> dict[str, Any]:
    """What the workflow says about a phase."""
    return {
        "order": order,
        "levels": [[level.name, level.position + 1, level.total] for level in stop.levels],
        "name": stop.name,
        "emoji": stop.emoji,
        "gate": {"deny": stop.deny, "allow": stop.allow},
        "exit": [check.claim for check in stop.checks],
        "loopable": stop.scope_loopable,
    }


def _short(text: str) -> str:
    return clean(text)[:LONG]
