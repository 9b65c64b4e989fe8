"""The results of the `expect` of steps as rows. Pure."""

from __future__ import annotations

from typing import Any

from handrail.contracts.check import subject
from handrail.expressions.tree import Const
from handrail.flows.plan import Expectation
from handrail.runs.machine import Checked
from handrail.topics.rows import Row
from handrail.topics.texts import long, short
from handrail.topics.tree import Tree
from handrail.topics.window import Window

CHECKS = "checks"


class Checks:
    """The checks of all steps of a run, each with its last result."""

    def __init__(self, window: Window, tree: Tree) -> None:
        self.window = window
        self.tree = tree
        self._count: dict[str, int] = {}
        self._ran: dict[str, Row] = {}  # the one that ran last is the last

    def announce(self, path: str) -> None:
        """Show the checks of a step that begins. None of them has run."""
        step = self.tree.step(path)
        if step is not None and step.expect and path not in self._count:
            self._put(path, None, [_planned(expectation) for expectation in step.expect])

    def take(self, at: float, event: Checked) -> None:
        self._put(event.path, at, event.results)

    def ran(self) -> list[Row]:
        """The last result of each check that ran, in the order of their times."""
        return list(self._ran.values())

    def forget(self, path: str) -> None:
        """Remove the checks of a step that runs again from its beginning."""
        for number in range(self._count.pop(path, 0)):
            id_ = f"{path}#{number}"
            self._ran.pop(id_, None)
            self.window.drop(CHECKS, id_, path)

    def _put(self, path: str, at: float | None, results: list[dict[str, Any]]) -> None:
        self._count[path] = max(len(results), self._count.get(path, 0))
        held: list[bool | None] = []
        for number, result in enumerate(results):
            held.append(result.get("held"))
            row = {"node": path, "name": short(str(result.get("name"))), "kind": result.get("kind")}
            row |= {"held": held[-1], "detail": long(str(result.get("detail") or "")), "at": at}
            row |= {"seconds": result.get("seconds"), "tree": None, "stale": None}
            id_ = f"{path}#{number}"
            self.window.put(CHECKS, id_, path, row)
            if at is not None:
                self._ran.pop(id_, None)
                self._ran[id_] = row
        counts = {"held": held.count(True), "failed": held.count(False), "notRun": held.count(None)}
        self.tree.put(path, checks=counts)


def _planned(expectation: Expectation) -> dict[str, Any]:
    """A check that has not run. What it is about may be known only then."""
    values = {name: value.value for name, value in expectation.params.items() if isinstance(value, Const)}
    is_known = len(values) == len(expectation.params)
    return {
        "name": f"{expectation.kind}: {subject(values)}" if is_known else expectation.kind,
        "kind": expectation.kind,
    }
