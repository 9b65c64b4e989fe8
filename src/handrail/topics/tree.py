"""The tree of a run as rows: phases, steps, repeats with their rounds, and the flows that steps run. Pure.

A row knows its parent. How many children of a row have which status is counted, so that a change costs the depth of the
tree and not its width.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from handrail.flows.outline import child_of
from handrail.flows.paths import segment
from handrail.flows.plan import FlowPlan, Phase, Step
from handrail.topics.rows import Row
from handrail.topics.window import ACTIVE, Window

Finder = Callable[[str], FlowPlan | None]
_EMPTY: dict[str, Any] = {
    "status": "pending",
    "started": None,
    "ended": None,
    "worked": None,
    "try": 0,
    "tries": 1,
    "children": 0,
    "node": None,
    "who": None,
    "doing": None,
    "why": None,
    "usage": {},
    "counts": {},
    "checks": {},
}
_FRESH = ("status", "started", "ended", "worked", "try", "doing", "why", "counts", "checks")


class Tree:
    """The nodes of a run. `find` returns the plan of a nested flow by its name."""

    def __init__(self, window: Window, plan: FlowPlan, find: Finder) -> None:
        self.window = window
        self.find = find
        self.own: set[str] = set()
        self._steps: dict[str, Step] = {}
        self._below: dict[str, list[str]] = {}
        self._tally: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._order = 0
        for phase in plan.phases:
            self._add_phase(phase, "")
        self.own = set(self._steps)

    def get(self, path: str) -> Row:
        """The row of a phase or step. One that no plan announced is added."""
        row = self.window.nodes.get(path)
        if row is None:
            parent, _, name = path.rpartition("/")
            self._add(path, parent, kind="step" if path.count("/") % 2 else "phase", name=name, shape=path)
            row = self.window.nodes[path]
        return row

    def put(self, path: str, **fields: Any) -> None:
        """Change some fields of a phase or step."""
        row = self.get(path)
        if not fields.items() <= row.items():
            self.window.change(row, fields)

    def step(self, path: str) -> Step | None:
        """The step of the flow at this path; None if no plan has it."""
        return self._steps.get(path)

    def above(self, path: str) -> Iterator[str]:
        """The ids of the rows that a row is in, the innermost first."""
        while path := self.window.parent(path):
            yield path

    def status(self, path: str, status: str, at: float) -> bool:
        """Change the status of a row, and of the rounds and repeats above it. True if it was another."""
        row = self.get(path)
        before, parent = row["status"], row["parent"]
        if before == status:
            return False
        self.window.change(row, {"status": status})
        self.window.turned(path, status)
        tally = self._tally[parent]
        tally[before] = tally.get(before, 0) - 1
        tally[status] = tally.get(status, 0) + 1
        if parent.startswith("~"):
            begun = sum(tally.values()) - tally.get("pending", 0) - tally.get("skipped", 0)
            together = _together(tally)
            ended = at if together in ("done", "skipped", "failed", "interrupted") else None
            first = self.get(parent)["started"]
            started = at if first is None and begun and together != "skipped" else first
            self.put(parent, begun=begun, started=started if begun else None, ended=ended)
            self.status(parent, together, at)
        return True

    def among(self, path: str) -> str | None:
        """The status that the children of a phase give to it while it runs; None if they say nothing."""
        tally = self._tally.get(path)
        return None if tally is None else _active(tally)

    def add_worked(self, path: str, seconds: float) -> None:
        """Add time at work to everything that a step is in."""
        for above in self.above(path):
            self.put(above, worked=round((self.get(above)["worked"] or 0.0) + seconds, 3))

    def steps(self, phase: str) -> list[str]:
        return self._below.get(phase, [])

    def phases(self) -> list[str]:
        """The paths of all phases, those of nested flows too."""
        return list(self._below)

    def start_nested(self, path: str) -> None:
        """Add the phases of the flow that a step runs. They are added once."""
        step = self._steps.get(path)
        child = None if step is None else child_of(step, self.find)
        if child is None or self.get(path).get("flow"):
            return
        for phase in child.phases:
            self._add_phase(phase, f"{path}/")
        self.put(path, children=len(child.phases), flow=child.id)

    def forget(self, path: str, at: float) -> None:
        """A phase or step runs again: its row is as before its start."""
        row = self.window.nodes.get(path)
        if row is not None:
            if row["kind"] == "step" and row["worked"]:
                self.add_worked(path, -row["worked"])
            self.status(path, "pending", at)
            kept = {} if row["kind"] == "step" else {"worked": row["worked"]}
            self.put(path, **{**{name: _EMPTY[name] for name in _FRESH}, **kept})

    def _add_phase(self, phase: Phase, base: str) -> None:
        path, shape = f"{base}{segment(phase.id)}", f"{base}{segment(phase.shape or phase.id)}"
        name = phase.shape or phase.id
        more: dict[str, Any] = {"together": phase.parallel.limit} if phase.parallel.limit > 1 else {}
        if phase.lane is not None:
            more["lane"] = [phase.lane.group, phase.lane.number]
        parent, count = self._round(phase, base), len(phase.steps)
        self._add(path, parent, kind="phase", name=name, shape=shape, children=count, **more)
        self._below[path] = []
        for step in phase.steps:
            own = f"{path}/{segment(step.id)}"
            self._steps[own] = step
            self._below[path].append(own)
            of_step = f"{shape}/{segment(step.id)}"
            tries = step.retry.attempts
            self._add(own, path, kind="step", name=step.id, shape=of_step, node=step.node, tries=tries)

    def _round(self, phase: Phase, base: str) -> str:
        """The parent of a phase: the round that it is in, below its repeat; else the step around it."""
        parent = base.rstrip("/")
        mark = f"~{base}"
        for one in phase.within:
            block = f"{mark}{segment(one.block)}"
            if block not in self.window.nodes:
                self._add(block, parent, kind="repeat", name=one.block, shape=block, rounds=one.last, begun=0)
            parent = f"{block}/{one.number}"
            if parent not in self.window.nodes:
                self._add(parent, block, kind="round", name=f"round {one.number}", shape=block)
            mark = f"{parent}~"
        return parent

    def _add(self, id_: str, parent: str, **fields: Any) -> None:
        self._order += 1
        self.window.add(parent, {"id": id_, "parent": parent, "order": self._order, **_EMPTY, **fields})
        tally = self._tally[parent]
        tally["pending"] = tally.get("pending", 0) + 1
        if parent.startswith("~"):
            self.put(parent, children=len(self.window.below[parent]))


def _active(tally: dict[str, int]) -> str | None:
    """The first active status that something has; None if nothing is active."""
    for one in ACTIVE:
        if tally.get(one, 0) > 0:
            return one
    return None


def _together(tally: dict[str, int]) -> str:
    """The status of a round or repeat, from those of what is in it."""
    active = _active(tally)
    if active is not None:
        return active
    if not tally.get("pending"):
        return "done" if tally.get("done") else "skipped"
    return "running" if tally.get("done") or tally.get("skipped") else "pending"
