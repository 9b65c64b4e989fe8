"""A flow file while it is read: what was found so far, every problem, and how much more may be read. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from handrail.diagnostics import Diagnostic
from handrail.driven.expressions import Expressions, Kinds, Place, Used, place_of
from handrail.driven.plan import Phase
from handrail.driven.spec import NodeInfo
from handrail.fields import Reader, Shape
from handrail.sourcefile import Source
from handrail.suggest import did_you_mean
from handrail.yamltree import Node


class Known(NamedTuple):
    """What flows may use: nodes, prompts, artifact kinds."""

    nodes: Mapping[str, NodeInfo]
    prompts: frozenset[str]
    artifact_kinds: frozenset[str]
    artifact_lists: frozenset[str]


MAX_VALUES = 1_000_000
MAX_ERRORS = 10_000
MAX_COMPARED = 100_000


class Nested(NamedTuple):
    """The name of a flow that a step runs, and where it stands."""

    name: str
    place: Place


class Suggestions:
    """`did you mean`, as long as it costs little: a file may have thousands of wrong names."""

    def __init__(self) -> None:
        self.left = MAX_COMPARED

    def near(self, name: str, known: Collection[str]) -> str | None:
        self.left -= len(known) * (len(name) + 1)
        return did_you_mean(name, known) if self.left >= 0 else None


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
        self.found: dict[Diagnostic, None] = {}
        self.errors = 0
        self.values_left = MAX_VALUES
        self.is_too_large = False
        self.is_partial = False
        self.phases: list[Phase] = []
        self.places: list[Node] = []
        self.slots: list[Slot] = []
        self.nested: dict[Nested, None] = {}
        self.suggestions = Suggestions()
        self._seen: set[int] = set()
        self._weights: dict[int, int] = {}

    @property
    def problems(self) -> list[Diagnostic]:
        return list(self.found)

    @property
    def is_cut_short(self) -> bool:
        """Nothing more is unrolled: it is too much, or the same errors come again in every round."""
        return self.is_too_large or self.errors > MAX_ERRORS

    def report(self, problem: Diagnostic) -> None:
        self.errors += problem.severity == "error"
        self.found[problem] = None

    def spend(self, node: Node) -> bool:
        """Is there room for all that a node holds? A round reads it anew, so each time counts."""
        if id(node) not in self._weights:
            self._weights[id(node)] = _weight(node)
        self.values_left -= self._weights[id(node)]
        return self.values_left >= 0

    def reader(self, node: Node, shape: Shape) -> Reader:
        """Reads a mapping; its unknown keys are told in the first round only."""
        known = node._replace(keys={}) if id(node) in self._seen else node
        self._seen.add(id(node))
        return Reader(self.source, known, shape, self.report)

    def problem(self, node: Node, code: str, message: str, hint: str | None = None) -> None:
        self.report(self.source.problem(code, place_of(node), message, hint))

    def expressions(self, rounds: dict[str, int], *, bound: bool = False) -> Expressions:
        kinds = Kinds(self.known.artifact_kinds, self.known.artifact_lists)
        return Expressions(self.source, self.report, rounds, kinds, bound=bound)


def _weight(node: Node) -> int:
    """How much there is to read: one for each value, more for a long text."""
    if node.kind == "mapping":
        return 1 + sum(map(_weight, node.value.values()))
    if node.kind == "list":
        return 1 + sum(map(_weight, node.value))
    return 1 + len(node.value) // 16 + 4 * node.value.count("${") if node.kind == "text" else 1
