"""A flow file while it is read: what was found so far, and every problem. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from handrail.diagnostics import Diagnostic
from handrail.driven.expressions import Expressions, Used, place_of
from handrail.driven.plan import Phase
from handrail.driven.spec import NodeInfo
from handrail.sourcefile import Source
from handrail.yamltree import Node


class Known(NamedTuple):
    """What flows may use: nodes, prompts, artifact kinds."""

    nodes: Mapping[str, NodeInfo]
    prompts: frozenset[str]
    artifact_kinds: frozenset[str]
    artifact_lists: frozenset[str]


class Slot(NamedTuple):
    """References of one place of the flow: which step it belongs to, and whether it may look at that step."""

    phase: int
    step: int | None
    own: bool
    used: tuple[Used, ...]


class Reading:
    """One flow file being read."""

    def __init__(self, source: Source, known: Known) -> None:
        self.source = source
        self.known = known
        self.problems: list[Diagnostic] = []
        self.phases: list[Phase] = []
        self.places: list[Node] = []
        self.slots: list[Slot] = []
        self.nested: list[str] = []

    def report(self, problem: Diagnostic) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def problem(self, node: Node, code: str, message: str, hint: str | None = None) -> None:
        self.report(self.source.problem(code, place_of(node), message, hint))

    def expressions(self, rounds: dict[str, int], *, bound: bool = False) -> Expressions:
        return Expressions(self.source, self.report, rounds, bound=bound)
