"""The rows of a run that are in its topic. Pure.

A run with up to `MOST_NODES` nodes has rows for all of them. Of a larger one, the topic has the phases, what is below
running and failed ones, and what happened last: at most `MOST_SHOWN` nodes. The window has the rows of all nodes, and
a surface fetches those that are not in the topic when a person opens what they are in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.topics.rows import Place, Row, Rows

NODES = "nodes"
MOST_NODES = 2_000
MOST_SHOWN = 1_200
MOST_BELOW = 400
"""How many children are shown when a phase or step begins. More are shown when they begin themselves."""
ACTIVE = ("running", "waiting", "delayed", "failed", "interrupted")
"""What is shown while it lasts. The first of these that a child has decides the status of a row with children."""
CONTAINERS = ("phase", "repeat", "round")


class Window:
    """Nodes with everything that belongs to them: each row of another section belongs to one node."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.nodes: dict[str, Row] = {}  # the rows of all nodes, also of those that are not shown
        self.below: dict[str, list[str]] = {}
        self.is_bounded = False
        self.is_held = True
        """True while a journal is read: what is shown is decided once, by `release`."""
        self._parents: dict[str, str] = {}
        self._of: dict[str, list[Place]] = {}
        self._others: dict[Place, Row] = {}  # all rows of other sections
        self._shown: dict[str, None] = {}  # the one that changed last is the last; only if it is bounded

    def add(self, parent: str, row: Row) -> None:
        """Add a node. It is shown at once if it is a phase at the top, or if all nodes are shown."""
        id_ = row["id"]
        self._parents[id_] = parent
        self.below.setdefault(parent, []).append(id_)
        self.nodes[id_] = row
        if self.is_held:
            row["v"] = self.rows.seq
        elif not self.is_bounded:
            self.rows.show((NODES, id_), row)
            if len(self._parents) > MOST_NODES:
                self._bound()
        elif len(self._shown) < MOST_SHOWN // 2 and self._is_outline(id_):
            self._show(id_)

    def get(self, section: str, id_: str) -> Row | None:
        return self.nodes.get(id_) if section == NODES else self._others.get((section, id_))

    def change(self, row: Row, fields: Mapping[str, Any]) -> None:
        """Change some fields of a node. At least one of them differs."""
        row.update(fields)
        if self.is_held:
            row["v"] = self.rows.seq
        elif not self.is_bounded or row["id"] in self._shown:
            self.rows.show((NODES, row["id"]), row)

    def put(self, section: str, id_: str, node: str, fields: dict[str, Any]) -> None:
        """Change a row of another section, or add one that belongs to a node."""
        place = (section, id_)
        row = self._others.get(place)
        if row is None:
            row = self._others[place] = {"id": id_}
            self._of.setdefault(node, []).append(place)
        elif fields.items() <= row.items():
            return
        row.update(fields)
        if self.is_held:
            row["v"] = self.rows.seq
        elif not self.is_bounded or node in self._shown:
            self.rows.show(place, row)

    def release(self) -> None:
        """The journal was read: decide what is shown. From now on, every change is seen at once."""
        rows = {**{(NODES, id_): row for id_, row in self.nodes.items()}, **self._others}
        if len(self._parents) <= MOST_NODES:
            self.rows.fill(rows)
        else:
            self._bound()
            self._shown = dict.fromkeys(sorted(self._shown, key=lambda id_: int(self.nodes[id_]["v"])))
            self.rows.fill({place: rows.pop(place) for id_ in self._shown for place in self._places(id_)})
            for row in rows.values():
                del row["v"]
        self.is_held = False

    def drop(self, section: str, id_: str, node: str) -> None:
        """Remove a row that belongs to a node."""
        if self._others.pop((section, id_), None) is not None:
            self.rows.drop(section, id_, is_held=self.is_held)
            self._of[node].remove((section, id_))

    def parent(self, id_: str) -> str:
        return self._parents.get(id_, "")

    def turned(self, id_: str, status: str) -> None:
        """The status of a node has changed. Call it after the change."""
        if self.is_held or not self.is_bounded:
            return
        if status in ACTIVE:
            self._open(id_)
        else:
            self._close(id_)

    def of(self, node: str, section: str) -> list[Row]:
        """The rows of a section that belong to a node."""
        return [self._others[place] for place in self._of.get(node, ()) if place[0] == section]

    def _places(self, id_: str) -> list[Place]:
        """A node and what belongs to it."""
        return [(NODES, id_), *self._of.get(id_, ())]

    def _is_outline(self, id_: str) -> bool:
        """True for what is always shown if there is room: phases, repeats and rounds that are not in a nested flow."""
        parent = self._parents[id_]
        if self.nodes[id_]["kind"] not in CONTAINERS:
            return False
        return not parent or (parent in self._shown and self.nodes.get(parent, {}).get("kind") in CONTAINERS)

    def _bound(self) -> None:
        """From now on, not all nodes are shown."""
        self.is_bounded = True
        for id_ in self._parents:
            self._take_away(id_)
        for id_ in self._parents:
            if len(self._shown) < MOST_SHOWN // 2 and self._is_outline(id_):
                self._show(id_)
        for id_ in self._parents:
            if self.nodes[id_]["status"] in ACTIVE:
                self._open(id_)

    def _open(self, id_: str) -> None:
        """Show a node, what it is in, and its first children."""
        for child in self.below.get(id_, ())[:MOST_BELOW]:
            self._show(child)
        above = id_
        while above:
            self._show(above)
            above = self._parents.get(above, "")
        if len(self._shown) > MOST_SHOWN:
            self._fit()

    def _close(self, id_: str) -> None:
        """Hide what is below a node that does not run any more, but not the phases of a repeat."""
        if self.nodes[id_]["kind"] in ("repeat", "round"):
            return
        for child in self.below.get(id_, ()):
            self._hide(child)

    def _show(self, id_: str) -> None:
        if id_ in self._shown:
            del self._shown[id_]
            self._shown[id_] = None
            return
        row = self.nodes.get(id_)
        if row is None:  # what is above a row that no plan announced
            return
        self._shown[id_] = None
        if self.is_held:
            return
        self.rows.show((NODES, id_), row)
        for place in self._of.get(id_, ()):
            self.rows.show(place, self._others[place])

    def _hide(self, id_: str) -> None:
        """Hide a node and everything below it."""
        if id_ not in self._shown:
            return
        del self._shown[id_]
        self._take_away(id_)
        for child in self.below.get(id_, ()):
            self._hide(child)

    def _take_away(self, id_: str) -> None:
        """Remove the rows of a node and what belongs to it from the topic. A row has a `v` only while it is there."""
        if self.is_held:
            return
        for place in self._places(id_):
            self.rows.drop(*place)
            if (row := self.get(*place)) is not None:
                row.pop("v", None)

    def _fit(self) -> None:
        """Hide what changed longest ago until there is room. What is active is hidden only if everything is."""
        tries = len(self._shown)
        while len(self._shown) > MOST_SHOWN:
            oldest = next(iter(self._shown))
            if tries > 0 and self.nodes.get(oldest, {}).get("status") in ACTIVE:
                self._shown[oldest] = self._shown.pop(oldest)
                tries -= 1
            else:
                self._hide(oldest)
