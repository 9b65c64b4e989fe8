"""The tree of a run as rows: phases, steps, repeats with their rounds, and the flows that steps run. Pure.

A row knows its parent. How many children of a row have which status is counted, so that a change costs the depth
of the tree and not its width. A run with up to `MOST_NODES` nodes has rows for all of them in its topic. The topic
of a larger one has the phases, what is below running and failed ones, and what happened last: at most `MOST_SHOWN`
nodes. A surface fetches the other rows from the window when a person opens what they are in.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from handrail.driven.flows.plan import FlowFinder, FlowPlan, Phase, Step, child_of, path_segment
from handrail.view.rows.rows import Row, RowKey, Rows

NODES = "nodes"
MOST_NODES = 2_000
MOST_SHOWN = 1_200
MOST_BELOW = 400
"""How many children are shown when a phase or step begins. More are shown when they begin themselves."""
ACTIVE = ("running", "waiting", "delayed", "failed", "interrupted", "cancelled")
"""What is shown while it lasts. The first of these that a child has decides the status of a row with children."""
CONTAINERS = ("phase", "repeat", "round")


class RowWindow:
    """Nodes with everything that belongs to them: each row of another section belongs to one node."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.nodes: dict[str, Row] = {}  # the rows of all nodes, also of those that are not shown
        self.children: dict[str, list[str]] = {}
        self.is_bounded = False
        self.is_held = True
        """True while a journal is read: what is shown is decided once, by `release`."""
        self.parents: dict[str, str] = {}
        self._keys_by_node: dict[str, list[RowKey]] = {}
        self._other_rows: dict[RowKey, Row] = {}  # all rows of other sections
        self._shown_ids: dict[str, None] = {}  # the one that changed last is the last; only if it is bounded

    def add(self, parent: str, row: Row) -> None:
        """Add a node. It is shown at once if it is a phase at the top, or if all nodes are shown."""
        id_ = row["id"]
        self.parents[id_] = parent
        self.children.setdefault(parent, []).append(id_)
        self.nodes[id_] = row
        if self.is_held:
            row["v"] = self.rows.seq
        elif not self.is_bounded:
            self.rows.show((NODES, id_), row)
            if len(self.parents) > MOST_NODES:
                self._limit_rows()
        elif len(self._shown_ids) < MOST_SHOWN // 2 and self._is_outline(id_):
            self._show(id_)

    def get(self, section: str, id_: str) -> Row | None:
        return self.nodes.get(id_) if section == NODES else self._other_rows.get((section, id_))

    def change(self, row: Row, fields: Mapping[str, Any]) -> None:
        """Change some fields of a node. At least one of them differs."""
        row.update(fields)
        if self.is_held:
            row["v"] = self.rows.seq
        elif not self.is_bounded or row["id"] in self._shown_ids:
            self.rows.show((NODES, row["id"]), row)

    def put(self, section: str, id_: str, node: str, fields: dict[str, Any]) -> None:
        """Change a row of another section, or add one that belongs to a node."""
        place = (section, id_)
        row = self._other_rows.get(place)
        if row is None:
            row = self._other_rows[place] = {"id": id_}
            self._keys_by_node.setdefault(node, []).append(place)
        elif fields.items() <= row.items():
            return
        row.update(fields)
        if self.is_held:
            row["v"] = self.rows.seq
        elif not self.is_bounded or node in self._shown_ids:
            self.rows.show(place, row)

    def release(self) -> None:
        """Decide what is shown, after the journal was read. From now on, every change is seen at once."""
        rows = {**{(NODES, id_): row for id_, row in self.nodes.items()}, **self._other_rows}
        if len(self.parents) <= MOST_NODES:
            self.rows.fill(rows)
        else:
            self._limit_rows()
            self._shown_ids = dict.fromkeys(sorted(self._shown_ids, key=lambda id_: int(self.nodes[id_]["v"])))
            self.rows.fill({place: rows.pop(place) for id_ in self._shown_ids for place in self._places(id_)})
            for row in rows.values():
                del row["v"]
        self.is_held = False

    def append(self, section: str, node: str, fields: dict[str, Any]) -> Row:
        """Add a row that belongs to a node, behind those that the section has of it."""
        id_ = f"{node}#{len(self.rows_of(node, section)) + 1}"
        self.put(section, id_, node, fields)
        return self._other_rows[section, id_]

    def forget(self, node: str) -> None:
        """Remove all rows of other sections that belong to a node."""
        for place in self._keys_by_node.pop(node, ()):
            del self._other_rows[place]
            self.rows.drop(*place, is_held=self.is_held)

    def follow_status(self, id_: str, status: str) -> None:
        """Show or hide children after a change of status. Below a node that has ended, only phases of a repeat stay."""
        if self.is_held or not self.is_bounded:
            return
        if status in ACTIVE:
            self._open(id_)
        elif self.nodes[id_]["kind"] not in ("repeat", "round"):
            for child in self.children.get(id_, ()):
                self._hide(child)

    def rows_of(self, node: str, section: str) -> list[Row]:
        """The rows of a section that belong to a node."""
        return [self._other_rows[place] for place in self._keys_by_node.get(node, ()) if place[0] == section]

    def _places(self, id_: str) -> list[RowKey]:
        """A node and what belongs to it."""
        return [(NODES, id_), *self._keys_by_node.get(id_, ())]

    def _is_outline(self, id_: str) -> bool:
        """True for what is always shown if there is room: phases, repeats and rounds that are not in a nested flow."""
        parent = self.parents[id_]
        if self.nodes[id_]["kind"] not in CONTAINERS:
            return False
        return not parent or (parent in self._shown_ids and self.nodes.get(parent, {}).get("kind") in CONTAINERS)

    def _limit_rows(self) -> None:
        """Limit how many nodes are shown from now on."""
        self.is_bounded = True
        for id_ in self.parents:
            self._remove(id_)
        for id_ in self.parents:
            if len(self._shown_ids) < MOST_SHOWN // 2 and self._is_outline(id_):
                self._show(id_)
        for id_ in self.parents:
            if self.nodes[id_]["status"] in ACTIVE:
                self._open(id_)

    def _open(self, id_: str) -> None:
        """Show a node, what it is in, and its first children."""
        for child in self.children.get(id_, ())[:MOST_BELOW]:
            self._show(child)
        parent = id_
        while parent:
            self._show(parent)
            parent = self.parents.get(parent, "")
        if len(self._shown_ids) > MOST_SHOWN:
            self._fit()

    def _show(self, id_: str) -> None:
        if id_ in self._shown_ids:
            del self._shown_ids[id_]
            self._shown_ids[id_] = None
            return
        row = self.nodes.get(id_)
        if row is None:  # what is above a row that no plan announced
            return
        self._shown_ids[id_] = None
        if self.is_held:
            return
        self.rows.show((NODES, id_), row)
        for place in self._keys_by_node.get(id_, ()):
            self.rows.show(place, self._other_rows[place])

    def _hide(self, id_: str) -> None:
        """Hide a node and everything below it."""
        if id_ not in self._shown_ids:
            return
        del self._shown_ids[id_]
        self._remove(id_)
        for child in self.children.get(id_, ()):
            self._hide(child)

    def _remove(self, id_: str) -> None:
        """Remove the rows of a node and what belongs to it from the topic. A row has a `v` only while it is there."""
        if self.is_held:
            return
        for place in self._places(id_):
            self.rows.drop(*place)
            if (row := self.get(*place)) is not None:
                row.pop("v", None)

    def _fit(self) -> None:
        """Hide what changed longest ago until there is room. What is active is hidden only if everything is."""
        tries = len(self._shown_ids)
        while len(self._shown_ids) > MOST_SHOWN:
            oldest = next(iter(self._shown_ids))
            if tries > 0 and self.nodes.get(oldest, {}).get("status") in ACTIVE:
                self._shown_ids[oldest] = self._shown_ids.pop(oldest)
                tries -= 1
            else:
                self._hide(oldest)


_EMPTY: dict[str, Any] = {
    "status": "pending",
    **dict.fromkeys(("started", "ended", "took", "worked", "node", "who", "doing", "why")),
    "try": 0,
    "tries": 1,
    "children": 0,
    **{name: {} for name in ("usage", "counts", "deniedTools", "checks")},
}
_FRESH = ("status", "started", "ended", "took", "worked", "try", "doing", "why", "counts", "deniedTools", "checks")


class NodeTree:
    """The nodes of a run. `find` returns the plan of a nested flow by its name."""

    def __init__(self, window: RowWindow, plan: FlowPlan, find: FlowFinder) -> None:
        self.window = window
        self.find = find
        self.own_steps: set[str] = set()
        self.steps: dict[str, Step] = {}
        self.steps_of_phase: dict[str, list[str]] = {}  # the steps of all phases, those of nested flows too
        self._tally: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._order = 0
        for phase in plan.phases:
            self._add_phase(phase, "")
        self.own_steps = set(self.steps)

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

    def ancestors_of(self, path: str) -> Iterator[str]:
        """The ids of the rows that a row is in, the innermost first."""
        while path := self.window.parents.get(path, ""):
            yield path

    def set_status(self, path: str, status: str, at: float) -> bool:
        """Change the status of a row, and of the rounds and repeats above it. True if it was another."""
        row = self.get(path)
        old_status, parent = row["status"], row["parent"]
        if old_status == status:
            return False
        self.window.change(row, {"status": status})
        self.window.follow_status(path, status)
        tally = self._tally[parent]
        tally[old_status] = tally.get(old_status, 0) - 1
        tally[status] = tally.get(status, 0) + 1
        if parent.startswith("~"):
            begun_count = sum(tally.values()) - tally.get("pending", 0) - tally.get("skipped", 0)
            joint_status = _joint_status(tally)
            end = at if joint_status in ("done", "skipped", "failed", "interrupted", "cancelled") else None
            old_start = self.get(parent)["started"]
            start = at if old_start is None and begun_count and joint_status != "skipped" else old_start
            self.put(parent, begun=begun_count, started=start if begun_count else None, ended=end)
            self.set_status(parent, joint_status, at)
        return True

    def among(self, path: str) -> str | None:
        """The status that the children of a phase give to it while it runs; None if they say nothing."""
        return _active(self._tally.get(path, {}))

    def add_work_seconds(self, path: str, seconds: float) -> None:
        """Add time at work to everything that a step is in."""
        for parent in self.ancestors_of(path):
            self.put(parent, worked=round((self.get(parent)["worked"] or 0.0) + seconds, 3))

    def start_nested(self, path: str) -> None:
        """Add the phases of the flow that a step runs. They are added once."""
        step = self.steps.get(path)
        child = None if step is None else child_of(step, self.find)
        if child is None or self.get(path).get("flow"):
            return
        for phase in child.phases:
            self._add_phase(phase, f"{path}/")
        self.put(path, children=len(child.phases), flow=child.id)

    def forget(self, path: str, at: float) -> None:
        """A phase or step runs again: its row is as before its start."""
        if (row := self.window.nodes.get(path)) is not None:
            if row["kind"] == "step" and row["worked"]:
                self.add_work_seconds(path, -row["worked"])
            self.set_status(path, "pending", at)
            fields = {name: _EMPTY[name] for name in _FRESH if name != "worked" or row["kind"] == "step"}
            self.put(path, **fields)

    def _add_phase(self, phase: Phase, base: str) -> None:
        path, shape = f"{base}{path_segment(phase.id)}", f"{base}{path_segment(phase.shape or phase.id)}"
        name = phase.shape or phase.id
        fields: dict[str, Any] = {"together": phase.parallel.limit} if phase.parallel.limit > 1 else {}
        if phase.lane is not None:
            fields["lane"] = [phase.lane.group, phase.lane.number]
        parent, count = self._round(phase, base), len(phase.steps)
        self._add(path, parent, kind="phase", name=name, shape=shape, children=count, **fields)
        self.steps_of_phase[path] = []
        for step in phase.steps:
            step_path = f"{path}/{path_segment(step.id)}"
            self.steps[step_path] = step
            self.steps_of_phase[path].append(step_path)
            step_shape = f"{shape}/{path_segment(step.id)}"
            tries = step.retry.attempts
            self._add(step_path, path, kind="step", name=step.id, shape=step_shape, node=step.node, tries=tries)

    def _round(self, phase: Phase, base: str) -> str:
        """The parent of a phase: the round that it is in, below its repeat; else the step around it."""
        parent = base.rstrip("/")
        mark = f"~{base}"
        for one in phase.within:
            block = f"{mark}{path_segment(one.block)}"
            if block not in self.window.nodes:
                about = {"name": one.block, "shape": block, "rounds": one.last, "over": one.over}
                self._add(block, parent, kind="repeat", begun=0, **about)
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
            self.put(parent, children=len(self.window.children[parent]))


def repeat_words(row: Row) -> str:
    """`↻ 2 of 10`, or `↻ 2, for each of ${params.files}, at most 10`."""
    items = f", for each of {row['over']}, at most" if row.get("over") else " of"
    return f"↻ {row.get('begun') or 0}{items} {row.get('rounds') or '–'}"


def joined_rounds(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows in groups: rounds in a row that were skipped, or that follow one and have not begun, are together."""

    def key(row: Row) -> object:
        is_copy = row["status"] == "skipped" or (row["status"] == "pending" and row is not rows[0])
        return row["status"] if row["kind"] == "round" and is_copy else row["id"]

    return (list(members) for _, members in itertools.groupby(rows, key))


def copies_words(first: Row, last: Row) -> str:
    """`rounds 2–10  not needed`: rounds in a row of a repeat that were all skipped, or have not begun."""
    numbers = "–".join(str(row["name"]).removeprefix("round ") for row in (first, last))
    return f"rounds {numbers}  {'not' if first['status'] == 'skipped' else 'if'} needed"


def _active(tally: dict[str, int]) -> str | None:
    """The first active status that something has; None if nothing is active."""
    return next((status for status in ACTIVE if tally.get(status, 0) > 0), None)


def _joint_status(tally: dict[str, int]) -> str:
    """The status of a round or repeat, from those of what is in it."""
    if (active := _active(tally)) is not None:
        return active
    if not tally.get("pending"):
        return "done" if tally.get("done") else "skipped"
    return "running" if tally.get("done") or tally.get("skipped") else "pending"
