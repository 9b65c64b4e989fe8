"""The rows of a run that are in its topic. Pure.

A run with up to `MOST_NODES` nodes has rows for all of them. Of a larger one, the topic has the phases, what is below
running and failed ones, and what happened last: at most `MOST_SHOWN` nodes. The rows of the others are kept aside, and
a surface fetches them when a person opens what they are in.
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
ACTIVE = ("running", "waiting", "delayed", "failed")
"""What is shown while it lasts. The first of these that a child has decides the status of a row with children."""
CONTAINERS = ("phase", "repeat", "round")


class Window:
    """Nodes with everything that belongs to them: each row of another section belongs to one node."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.below: dict[str, list[str]] = {}
        self.is_bounded = False
        self._parents: dict[str, str] = {}
        self._of: dict[str, list[Place]] = {}
        self._aside: dict[Place, Row] = {}
        self._shown: dict[str, None] = {}  # the one that changed last is the last; only if it is bounded

    def add(self, id_: str, parent: str, fields: Mapping[str, Any]) -> None:
        """Add a node. It is shown at once if it is a phase at the top, or if all nodes are shown."""
        self._parents[id_] = parent
        self.below.setdefault(parent, []).append(id_)
        if not self.is_bounded:
            self.rows.put(NODES, id_, fields)
            if len(self._parents) > MOST_NODES:
                self._bound()
            return
        self._aside[NODES, id_] = {"id": id_, **fields}
        if self._is_outline(id_) and len(self._shown) < MOST_SHOWN // 2:
            self._show(id_)

    def get(self, section: str, id_: str) -> Row | None:
        return self.rows.get(section, id_) or self._aside.get((section, id_))

    def put(self, section: str, id_: str, node: str, fields: Mapping[str, Any]) -> None:
        """Change a row, or add one that belongs to a node."""
        if section != NODES and self.get(section, id_) is None:
            self._of.setdefault(node, []).append((section, id_))
        if self.is_bounded and node not in self._shown:
            self._aside[section, id_] = {"id": id_, **self._aside.get((section, id_), {}), **fields}
        else:
            self.rows.put(section, id_, fields)

    def drop(self, section: str, id_: str, node: str) -> None:
        """Remove a row that belongs to a node."""
        self.rows.drop(section, id_)
        self._aside.pop((section, id_), None)
        if (section, id_) in (places := self._of.get(node, [])):
            places.remove((section, id_))

    def parent(self, id_: str) -> str:
        return self._parents.get(id_, "")

    def turned(self, id_: str, status: str) -> None:
        """The status of a node has changed. Call it after the change."""
        if not self.is_bounded:
            return
        if status in ACTIVE:
            self._open(id_)
        else:
            self._close(id_)

    def of(self, node: str, section: str) -> list[Row]:
        """The rows of a section that belong to a node."""
        return [row for name, id_ in self._of.get(node, ()) if name == section and (row := self.get(name, id_))]

    def _is_outline(self, id_: str) -> bool:
        """True for what is always shown if there is room: phases, repeats and rounds that are not in a nested flow."""
        parent = self._parents[id_]
        if (self.get(NODES, id_) or {})["kind"] not in CONTAINERS:
            return False
        return not parent or (parent in self._shown and (self.get(NODES, parent) or {})["kind"] in CONTAINERS)

    def _bound(self) -> None:
        """From now on, not all nodes are shown."""
        self.is_bounded = True
        for id_ in list(self._parents):
            for place in ((NODES, id_), *self._of.get(id_, ())):
                row = self.rows.get(*place)
                if row is not None:
                    self._aside[place] = {name: value for name, value in row.items() if name != "v"}
                    self.rows.drop(*place)
        for id_ in self._parents:
            if len(self._shown) < MOST_SHOWN // 2 and self._is_outline(id_):
                self._show(id_)
        for id_ in self._parents:
            if (self.get(NODES, id_) or {})["status"] in ACTIVE:
                self._open(id_)

    def _open(self, id_: str) -> None:
        """Show a node, what it is in, and its first children."""
        for child in self.below.get(id_, ())[:MOST_BELOW]:
            self._show(child)
        above = id_
        while above:
            self._show(above)
            above = self._parents.get(above, "")
        self._fit()

    def _close(self, id_: str) -> None:
        """Hide what is below a node that does not run any more, but not the phases of a repeat."""
        row = self.get(NODES, id_) or {}
        if row.get("kind") in ("repeat", "round"):
            return
        for child in self.below.get(id_, ()):
            self._hide(child)

    def _show(self, id_: str) -> None:
        is_new = id_ not in self._shown
        self._shown.pop(id_, None)
        self._shown[id_] = None
        for place in ((NODES, id_), *self._of.get(id_, ())) if is_new else ():
            section, own = place
            if (row := self._aside.pop(place, None)) is not None:
                self.rows.put(section, own, {name: value for name, value in row.items() if name != "id"})

    def _hide(self, id_: str) -> None:
        """Hide a node and everything below it."""
        if id_ not in self._shown:
            return
        del self._shown[id_]
        for place in ((NODES, id_), *self._of.get(id_, ())):
            row = self.rows.get(*place)
            if row is not None:
                self._aside[place] = {name: value for name, value in row.items() if name != "v"}
                self.rows.drop(*place)
        for child in self.below.get(id_, ()):
            self._hide(child)

    def _fit(self) -> None:
        """Hide what changed longest ago until there is room. What is active is hidden only if everything is."""
        tries = len(self._shown)
        while len(self._shown) > MOST_SHOWN:
            oldest = next(iter(self._shown))
            if tries > 0 and (self.get(NODES, oldest) or {}).get("status") in ACTIVE:
                self._shown[oldest] = self._shown.pop(oldest)
                tries -= 1
            else:
                self._hide(oldest)
