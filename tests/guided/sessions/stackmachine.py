"""A simple reference machine with a stack of (workflow key, index).

It follows the rules of pi-workflows for start, next and loop, with one defect fixed: a loop enters the subworkflows at
the beginning of its scope, down to a phase. It shares only the definitions with the product.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.guided.workflows.spec import Reference, WorkflowSpec


class StackMachine:
    """One walk through nested workflows."""

    def __init__(self, specs: Mapping[str, WorkflowSpec], key: str) -> None:
        self.specs = specs
        self.path: list[tuple[str, int]] = [(key, 0)]
        self.steps = 0
        self.active = True
        self._enter()

    def next(self) -> bool:
        if not self.active:
            return False
        self.steps += 1
        if not self._is_last():
            self._advance()
        elif len(self.path) == 1:
            self.active = False
        else:
            self._leave()
        return True

    def loop(self) -> bool:
        key, _ = self.path[-1]
        if not self.active or not self.specs[key].loopable:
            return False
        self.steps += 1
        self.path[-1] = (key, 0)
        self._enter()
        return True

    def progress(self) -> list[tuple[int, int]]:
        """(index from 1, total) at every level."""
        return [(index + 1, len(self.specs[key].entries)) for key, index in self.path]

    def _is_last(self) -> bool:
        key, index = self.path[-1]
        return index + 1 >= len(self.specs[key].entries)

    def _advance(self) -> None:
        key, index = self.path[-1]
        self.path[-1] = (key, index + 1)
        self._enter()

    def _leave(self) -> None:
        """Leave every scope that has no more entries. The top level ends one past its last entry."""
        while self._is_last() and len(self.path) > 1:
            self.path.pop()
        key, index = self.path[-1]
        if self._is_last():
            self.path[-1] = (key, index + 1)
            self.active = False
        else:
            self._advance()

    def _enter(self) -> None:
        key, index = self.path[-1]
        while isinstance(entry := self.specs[key].entries[index], Reference):
            key, index = entry.key, 0
            self.path.append((key, index))
