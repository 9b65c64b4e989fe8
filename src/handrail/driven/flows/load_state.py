"""The state of loading one flow file: phases, references and problems so far, and the remaining limits. Pure.

Templates are checked as soon as they are read: every `{name}` needs a value, every value needs a `{name}`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.errors import HandrailError
from handrail.driven.expressions.parser import ArtifactKinds, ExpressionReader, SourcePlace, TemplateText, UsedReference
from handrail.driven.expressions.tree import Const, Expression
from handrail.driven.flows.plan import Lane, Parallelism, Phase, Round, Step
from handrail.driven.flows.prompts import PromptFile
from handrail.extensions import contracts
from handrail.source.definition_files import Source
from handrail.source.diagnostics import Diagnostic, Severity
from handrail.source.fields import MappingReader, Shape
from handrail.source.suggestions import did_you_mean
from handrail.source.templates import given_names, placeholders
from handrail.source.tree import TreeNode


def template_problems(source: Source, template: TemplateText, declared: Collection[str]) -> Iterator[Diagnostic]:
    """Warnings about one template. Text without `vars` may contain braces on purpose, so there only names that the flow
    declares count as placeholders. In a prompt that Handrail ships, every name counts. `{2}` is not a placeholder, and
    `${HOME}` belongs to the shell."""
    variables = template.vars if template.vars is not None and template.vars.kind == "mapping" else None
    values: dict[str, TreeNode] = variables.value if variables is not None else {}
    marks = placeholders(template.text)
    for name in dict.fromkeys(n for n, at in marks if not n[0].isdigit() and template.text[at - 1 : at] != "$"):
        if name not in values and (values or name in declared or template.is_whole):
            hint = did_you_mean(name, values) or f"add `{name}:` to `vars`; to keep the braces, `{name}: '{{{name}}}'`"
            place = _place(source, template.node, "{" + name + "}")
            message = f"`{{{name}}}` has no value, so it stays in the text"
            yield source.problem("template-unknown", place, message, hint, "warning")
    inserted_names = (*given_names(template.text, values), *given_names(template.node.value, values))
    names = {name for name, _ in (*marks, *placeholders(template.node.value), *inserted_names)}
    for name in values:
        if name not in names and variables is not None:
            at = source.key_place(name, variables.keys[name])
            hint = f"write `{{{name}}}` in the template, or remove this value"
            near = did_you_mean(name, names - values.keys()) or hint
            yield source.problem("template-unused", at, f"the template has no `{{{name}}}`", near, "warning")


def _place(source: Source, node: TreeNode, mark: str) -> tuple[int, int, int]:
    """The place of a part of a text; the place of the whole text if the file writes it differently."""
    start = source.starts[node.line - 1] + node.column - 1
    offset = source.text.find(mark, start, start + 2 * len(node.value) + 100)
    return (*source.place(offset), len(mark)) if offset >= 0 else node.place


@dataclass(frozen=True, kw_only=True)
class FlowResources:
    """What flows may use. If `schemas` is empty, names of schemas are not checked.

    `schema_problem` returns what is wrong with a schema that exists, or None. `workflow_problem` returns the message
    and the hint if a workflow cannot be started, and its file if that is because it has errors; otherwise None.
    `workflow_problems` returns the problems of all workflows.
    `is_elsewhere`: an absolute path is outside of the project. `unusable` returns why a node or a check of a plugin
    cannot be used now, or None. `agent_hint` returns what to write if there is no agent with this name, or None.
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
    agent_hint: Callable[[str], str | None] = lambda _name: None


MAX_VALUES = 1_000_000
MAX_ERRORS = 10_000
MAX_COMPARED = 100_000


@dataclass(frozen=True)
class NestedFlow:
    """A flow that a step runs: its name and the params that it gets, each with its place."""

    name: str
    place: SourcePlace
    params: tuple[tuple[str, SourcePlace], ...] = ()


class Suggestions:
    """Suggests similar names, up to a fixed cost: a file may have thousands of wrong names."""

    def __init__(self) -> None:
        self.left = MAX_COMPARED

    def near(self, name: str, known: Collection[str]) -> str | None:
        self.left -= len(known) * (len(name) + 1)
        return did_you_mean(name, known) if self.left >= 0 else None


@dataclass(frozen=True)
class Enclosure:
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
        return (*self.rounds, *(name for name, _ in self.items))

    @property
    def bindings(self) -> dict[str, Expression]:
        """The expression of each `repeat.NAME`, so that it has the same value in every other round."""
        return {**{name: Const(number) for name, number in self.rounds.items()}, **dict(self.items)}


NO_ENCLOSURE = Enclosure({}, (), (), None)


@dataclass(frozen=True, kw_only=True)
class PlaceReferences:
    """The references of one place of the flow.

    `own`: they may refer to their own step. `is_shielded`: a condition may prevent that they are evaluated.
    """

    phase: int
    enclosure: Enclosure
    step: int | None = None
    own: bool = False
    is_shielded: bool = False
    references: tuple[UsedReference, ...] = ()


class LoadState:
    """What is known of one flow file while it is read."""

    def __init__(self, source: Source, resources: FlowResources) -> None:
        self.source = source
        self.resources = resources
        self.problems: dict[Diagnostic, None] = {}
        self.errors = 0
        self.reports = 0
        self.of_round = 0  # how many places are different in another round
        self.values_left = MAX_VALUES
        self.is_too_large = False
        self.is_partial = False
        self.phases: list[Phase] = []
        self.ids: set[str] = set()
        self.rounds_of: dict[str, list[str]] = {}
        self.places: list[TreeNode] = []
        self.slots: list[PlaceReferences] = []
        self.same_in_rounds: dict[int, tuple[Step, tuple[PlaceReferences, ...]]] = {}
        self.groups: list[Parallelism] = []
        self.params: tuple[str, ...] | None = None  # those that the flow declares; if None, it takes any
        self.constants: Mapping[str, Any] = {}
        self.env: tuple[str, ...] = ()
        self.nested: dict[NestedFlow, None] = {}
        self.also: list[tuple[str, SourcePlace]] = []
        self.suggestions = Suggestions()
        near = cache(self.suggestions.near)  # every round gets the same suggestion, so the problem is reported once
        self._kinds = ArtifactKinds(resources.artifact_kinds, resources.artifact_lists, near)
        self.long_forms: dict[int, TreeNode] = {}  # of steps in a short form, by the id of their node
        self._misspelt: dict[int, set[str]] = {}
        self._checked: set[tuple[int, ...]] = set()
        self._weights: dict[int, int] = {}

    @property
    def is_cut_short(self) -> bool:
        """True if unrolling stops: the flow is too large, or every round repeats the same errors."""
        return self.is_too_large or self.errors > MAX_ERRORS

    def report(self, problem: Diagnostic) -> None:
        self.reports += 1
        self.errors += problem.severity == "error"
        self.problems[problem] = None

    def spend(self, node: TreeNode) -> bool:
        """Count the values of a node against the limit. False if the limit is exceeded. Every round counts again."""
        if id(node) not in self._weights:
            self._weights[id(node)] = _weight(node)
        self.values_left -= self._weights[id(node)]
        return self.values_left >= 0

    def reader(self, node: TreeNode, shape: Shape, elsewhere: Mapping[str, str] | None = None) -> MappingReader:
        """A reader for a mapping. Unknown keys are reported in the first round only."""
        known = node._replace(keys={}) if id(node) in self._misspelt else node
        reader = MappingReader(self.source, known, shape, self.report, elsewhere)
        reader.misspelt = self._misspelt.setdefault(id(node), reader.misspelt)
        return reader

    def is_first(self, *nodes: TreeNode | None) -> bool:
        """True the first time. A file says the same in every round, so later rounds need no check."""
        key = tuple(map(id, nodes))
        is_new = key not in self._checked
        self._checked.add(key)
        return is_new

    def problem(
        self, node: TreeNode, code: str, message: str, hint: str | None = None, severity: Severity = "error"
    ) -> None:
        self.report(self.source.problem(code, node.place, message, hint, severity))

    def unusable(self, name: str, node: TreeNode) -> None:
        """Warn if a node or a check is of a plugin that cannot be used now."""
        if (error := self.resources.unusable(name)) is not None:
            self.problem(node, "plugin-unusable", f"`{name}` cannot be used: {error.message}", error.hint, "warning")

    def expressions(self, enclosure: Enclosure, *, is_bound: bool = False) -> ExpressionReader:
        aliases = {short: full for short, full in enclosure.aliases.items() if short not in self.ids}
        bounds = enclosure.bindings if is_bound else None
        return ExpressionReader(
            self.source, self.report, enclosure.rounds, self._kinds, bindings=bounds, aliases=aliases
        )

    def keep(self, slot: PlaceReferences, expressions: ExpressionReader) -> None:
        """Store the references of a place. Check its templates in the first round only."""
        self.of_round += expressions.is_of_round
        if expressions.references:
            self.slots.append(replace(slot, references=tuple(expressions.references)))
        for template in expressions.templates:
            if self.is_first(template.node, template.vars):
                for problem in template_problems(self.source, template, {*(self.params or ()), *self.constants}):
                    self.report(problem)


def _weight(node: TreeNode) -> int:
    """The number of values in a node. Long text counts more."""
    if node.kind == "mapping":
        return 1 + sum(map(_weight, node.value.values()))
    if node.kind == "list":
        return 1 + sum(map(_weight, node.value))
    return 1 + len(node.value) // 16 + 4 * node.value.count("${") if node.kind == "text" else 1
