"""The state of reading one flow file: phases, references and problems so far, and the remaining limits. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from handrail import contracts
from handrail.errors import HandrailError
from handrail.expressions.parse import Expressions, Kinds, Place, Used, place_of
from handrail.expressions.tree import Const, Expression
from handrail.flows.library import PromptFile
from handrail.flows.placeholders import template_problems
from handrail.flows.plan import Lane, Phase, Round, Step, Together
from handrail.source.dataclasses import dataclass, field, replace
from handrail.source.diagnostics import Diagnostic, Severity
from handrail.source.fields import Reader, Shape
from handrail.source.files import Source
from handrail.source.suggest import did_you_mean
from handrail.source.yamltree import Node


@dataclass(frozen=True, kw_only=True)
class Known:
    """What flows may use. If `schemas` is empty, names of schemas are not checked.

    `schema_problem` returns what is wrong with a schema that exists, or None. `workflow_problem` returns the message
    and the hint if a workflow cannot be started, and its file if that is because it has errors; otherwise None.
    `workflow_problems` returns the problems of all workflows.
    `is_elsewhere`: an absolute path is outside of the project. `unusable` returns why a node or a check of a plugin
    cannot be used now, or None.
    """

    nodes: Mapping[str, contracts.Node]
    checks: Mapping[str, contracts.Check] = field(default_factory=dict)
    prompts: Mapping[str, PromptFile] = field(default_factory=dict)
    artifact_kinds: frozenset[str] = frozenset()
    artifact_lists: frozenset[str] = frozenset()
    schemas: frozenset[str] = frozenset()
    schema_problem: Callable[[str], str | None] = lambda _id: None
    workflow_problem: Callable[[str], tuple[str, str | None, str | None] | None] = lambda _name: None
    workflow_problems: Callable[[], Iterable[Diagnostic]] = tuple
    is_elsewhere: Callable[[str], bool] = lambda _path: False
    unusable: Callable[[str], HandrailError | None] = lambda _name: None


MAX_VALUES = 1_000_000
MAX_ERRORS = 10_000
MAX_COMPARED = 100_000


@dataclass(frozen=True)
class Nested:
    """A flow that a step runs: its name and the params that it gets, each with its place."""

    name: str
    place: Place
    given: tuple[tuple[str, Place], ...] = ()


@dataclass(frozen=True)
class Declared:
    """Names that a flow declares for its steps. If `params` is None, the flow takes any param."""

    params: tuple[str, ...] | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    env: tuple[str, ...] = ()

    @property
    def names(self) -> set[str]:
        return {*(self.params or ()), *self.constants}


class Suggestions:
    """Suggests similar names, up to a fixed cost: a file may have thousands of wrong names."""

    def __init__(self) -> None:
        self.left = MAX_COMPARED

    def near(self, name: str, known: Collection[str]) -> str | None:
        self.left -= len(known) * (len(name) + 1)
        return did_you_mean(name, known) if self.left >= 0 else None


@dataclass(frozen=True)
class Around:
    """What encloses a phase: numbers of rounds, guards that have to hold, list items, and a lane.

    `aliases` are the short names of the phases of this round: `poll` for `poll-3`. `within` are the rounds themselves.
    """

    rounds: dict[str, int]
    guards: tuple[Expression, ...]
    items: tuple[tuple[str, Expression], ...]
    lane: Lane | None
    aliases: Mapping[str, str] = field(default_factory=dict)
    within: tuple[Round, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that `repeat.NAME` may use here."""
        return (*self.rounds, *(name for name, _ in self.items))

    @property
    def bound(self) -> dict[str, Expression]:
        """The expression of each `repeat.NAME`, so that it has the same value in every other round."""
        return {**{name: Const(number) for name, number in self.rounds.items()}, **dict(self.items)}


NOWHERE = Around({}, (), (), None)


@dataclass(frozen=True, kw_only=True)
class Slot:
    """The references of one place of the flow.

    `own`: they may refer to their own step. `is_shielded`: a condition may prevent that they are evaluated.
    """

    phase: int
    step: int | None
    own: bool
    is_shielded: bool
    around: Around
    used: tuple[Used, ...]


class Reading:
    """Reads one flow file."""

    def __init__(self, source: Source, known: Known) -> None:
        self.source = source
        self.known = known
        self.found: dict[Diagnostic, None] = {}
        self.errors = 0
        self.reports = 0
        self.of_round = 0  # how many places are different in another round
        self.values_left = MAX_VALUES
        self.is_too_large = False
        self.is_partial = False
        self.phases: list[Phase] = []
        self.ids: set[str] = set()
        self.rounds_of: dict[str, list[str]] = {}
        self.places: list[Node] = []
        self.slots: list[Slot] = []
        self.same_in_rounds: dict[int, tuple[Step, tuple[Slot, ...]]] = {}
        self.groups: list[Together] = []
        self.declared = Declared()
        self.nested: dict[Nested, None] = {}
        self.also: list[tuple[str, Place]] = []
        self.suggestions = Suggestions()
        self._kinds: dict[tuple[str, frozenset[str]], str | None] = {}
        self._misspelt: dict[int, set[str]] = {}
        self._checked: set[int] = set()
        self._templates: set[tuple[int, int]] = set()
        self._weights: dict[int, int] = {}

    @property
    def problems(self) -> list[Diagnostic]:
        return list(self.found)

    @property
    def is_cut_short(self) -> bool:
        """True if unrolling stops: the flow is too large, or every round repeats the same errors."""
        return self.is_too_large or self.errors > MAX_ERRORS

    def report(self, problem: Diagnostic) -> None:
        self.reports += 1
        self.errors += problem.severity == "error"
        self.found[problem] = None

    def spend(self, node: Node) -> bool:
        """Count the values of a node against the limit. False if the limit is exceeded. Every round counts again."""
        if id(node) not in self._weights:
            self._weights[id(node)] = _weight(node)
        self.values_left -= self._weights[id(node)]
        return self.values_left >= 0

    def reader(self, node: Node, shape: Shape, elsewhere: Mapping[str, str] | None = None) -> Reader:
        """A reader for a mapping. Unknown keys are reported in the first round only."""
        known = node._replace(keys={}) if id(node) in self._misspelt else node
        reader = Reader(self.source, known, shape, self.report, elsewhere)
        reader.misspelt = self._misspelt.setdefault(id(node), reader.misspelt)
        return reader

    def is_first(self, node: Node) -> bool:
        """True the first time. A file says the same in every round, so later rounds need no check."""
        is_new = id(node) not in self._checked
        self._checked.add(id(node))
        return is_new

    def problem(
        self, node: Node, code: str, message: str, hint: str | None = None, severity: Severity = "error"
    ) -> None:
        self.report(self.source.problem(code, place_of(node), message, hint, severity))

    def unusable(self, name: str, node: Node) -> None:
        """Warn if a node or a check is of a plugin that cannot be used now."""
        error = self.known.unusable(name)
        if error is not None:
            self.problem(node, "plugin-unusable", f"`{name}` cannot be used: {error.message}", error.hint, "warning")

    def _near_kind(self, name: str, kinds: frozenset[str]) -> str | None:
        """A suggestion, cached: every round gets the same one, so the problem is reported once."""
        if (name, kinds) not in self._kinds:
            self._kinds[name, kinds] = self.suggestions.near(name, kinds)
        return self._kinds[name, kinds]

    def expressions(self, around: Around, *, bound: bool = False) -> Expressions:
        kinds = Kinds(self.known.artifact_kinds, self.known.artifact_lists, self._near_kind)
        aliases = {short: full for short, full in around.aliases.items() if short not in self.ids}
        bounds = around.bound if bound else None
        return Expressions(self.source, self.report, around.rounds, kinds, bound=bounds, aliases=aliases)

    def keep(self, slot: Slot, expressions: Expressions) -> None:
        """Store the references of a place. Check its templates in the first round only."""
        self.of_round += expressions.is_of_round
        if expressions.used:
            self.slots.append(replace(slot, used=tuple(expressions.used)))
        for template in expressions.templates:
            key = id(template.node), id(template.vars)
            if key not in self._templates:
                self._templates.add(key)
                for problem in template_problems(self.source, template, self.declared.names):
                    self.report(problem)


def _weight(node: Node) -> int:
    """The number of values in a node. Long text counts more."""
    if node.kind == "mapping":
        return 1 + sum(map(_weight, node.value.values()))
    if node.kind == "list":
        return 1 + sum(map(_weight, node.value))
    return 1 + len(node.value) // 16 + 4 * node.value.count("${") if node.kind == "text" else 1
