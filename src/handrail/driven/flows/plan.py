"""A compiled flow: repeats are unrolled, expressions are parsed, references are checked. Pure.

Also the paths of its steps (`phase/step`, inside a nested flow `phase/step/phase/step`), its parts as text for people,
and the whole plan as plain data.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from handrail.base.dataclasses import dataclass, field, replace
from handrail.driven.expressions.tree import Const, Expression, Template, as_data, in_words
from handrail.extensions.contracts import Check, Node
from handrail.source.tree import ValueKind


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """The prompt for an agent: a template, its variables, and extra text. `name` is its name in the catalog, if any."""

    name: str | None
    text: str
    names: tuple[str, ...]
    values: tuple[Expression, ...]
    extra: Expression | None
    plain: bool


@dataclass(frozen=True)
class Expectation:
    """A check that runs after the node of a step. `declared` is the declaration of its kind."""

    kind: str
    when: Expression | None
    params: dict[str, Expression]
    message: str
    line: int
    declared: Check = field(compare=False)


@dataclass(frozen=True)
class AfterAction:
    """An action that runs after the expectations of a step hold."""

    kind: str
    when: Expression | None
    params: dict[str, Expression]


@dataclass(frozen=True)
class Retry:
    """How often a step is tried. The first pause is `wait` seconds, each further one is `factor` times as long."""

    attempts: int = 1
    wait: float = 1.0
    factor: float = 2.0


@dataclass(frozen=True)
class MadeFile:
    """A file that a step makes. It is published when the step is done.

    `is_own`: it proves something only if the step itself made or changed it. Else it is enough that it exists.
    """

    path: Expression
    name: str | None = None
    schema: str | None = None
    required: bool = True
    is_own: bool = True


@dataclass(frozen=True, kw_only=True)
class Step:
    """One unit of work. `rerun`: may it run again after an interruption? If None, its node decides. `policy` is what
    holds for it: if its proof does not hold after its last attempt, it decides about another run. `default` is the
    answer to its question that is taken at the `deadline`.

    `declared` is the declaration of its node. If the step runs a flow, the flow gets all params except the one that
    names it.
    """

    id: str
    node: str
    when: Expression | None
    params: dict[str, Expression]
    prompt: Prompt | None
    expect: tuple[Expectation, ...] | None
    stop_if: Expression | None
    stop_outcome: str
    after: tuple[AfterAction, ...]
    routing_group: str | None
    retry: Retry
    timeout: float | None
    declared: Node = field(compare=False)
    rerun: str | None = None
    makes: tuple[MadeFile, ...] = ()
    policy: str = "safe"
    line: int = field(default=0, compare=False)
    deadline: str | None = None
    default: dict[str, Expression] = field(default_factory=dict)

    @property
    def flow(self) -> Expression | None:
        nests = self.declared.nests
        return self.params.get(nests, Const("")) if nests is not None else None


@dataclass(frozen=True)
class Parallelism:
    """How many run in parallel, and whether a failure cancels the others (`stop`) or not (`finish`)."""

    limit: int = 1
    on_failure: str = "stop"

    def to_json(self) -> dict[str, Any]:
        return {"limit": self.limit, "onFailure": self.on_failure}


@dataclass(frozen=True)
class Lane:
    """The lanes of a group run in parallel. The phases of one lane run one after the other."""

    group: int
    number: int


@dataclass(frozen=True)
class Bound:
    """The flow fails after the last round of a repeat if all conditions hold then: no `until` held."""

    conditions: tuple[Expression, ...]
    message: str = field(compare=False, repr=False)


@dataclass(frozen=True)
class RepeatLink:
    """Links a phase to the same phase in the round before: `previous` is its id, None in the first round.

    The repeat ends if a check fails in the same way in `limit` rounds in a row: 0 means never, None that the settings
    decide. `until_steps` are the steps of the phase that `until` uses.
    """

    previous: str | None
    limit: int | None
    until_steps: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Round:
    """A round of a repeat: the name of the repeat, the number of the round from 1, and how many rounds at most.

    `over` is the list of a repeat over a list, in words.
    """

    block: str
    number: int
    last: int
    over: str = ""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """Steps that belong together. All `guards` of its round have to hold; `items` are the list items of its round.

    `bounds` are those of repeats that end with this phase. `repeat_link` is None outside of repeats. `shape` is its id
    as written, without the number of a round, and `within` are the rounds that it is in, the outermost first: with
    them the flow can be shown as it was written.
    """

    id: str
    rounds: dict[str, int]
    guards: tuple[Expression, ...]
    when: Expression | None
    steps: tuple[Step, ...]
    parallel: Parallelism
    timeout: float | None
    items: tuple[tuple[str, Expression], ...] = ()
    lane: Lane | None = None
    bounds: tuple[Bound, ...] = ()
    repeat_link: RepeatLink | None = field(default=None, compare=False)
    shape: str = field(default="", compare=False)
    within: tuple[Round, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Param:
    """A parameter that a flow declares. It may have any value if there are no `choices` and no `type`.

    Numbers that are given to a param of the type `text` become text, also if only its default or its choices are text.
    """

    name: str
    required: bool
    default: Any
    about: str
    choices: tuple[Any, ...] = ()
    type: ValueKind | None = None

    @property
    def is_text(self) -> bool:
        known = [self.default, *self.choices] if self.default is not None else list(self.choices)
        return self.type == "text" if self.type else any(known) and all(isinstance(value, str) for value in known)

    @property
    def kind(self) -> ValueKind | None:
        """Its type: the declared one, or without choices that of its default if this is a list or a mapping."""
        kinds: dict[type, ValueKind] = {list: "list", dict: "mapping"}
        return self.type or (None if self.choices else kinds.get(type(self.default)))

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "choices": list(self.choices)}


@dataclass(frozen=True, kw_only=True)
class FlowPlan:
    """A whole flow, ready to run. `again`: how an ended run may be continued, `again`, `from-stop` or None.

    `also` are other ids of the flow. `examples` are what may follow `handrail run ID`.

    `needs` are the environment variables without which it fails, each with its line and column; `reads` the same for
    params, if it declares none. `is_foreign`: it has the form of AgentWeaver's flows and gets what that gives to them.
    """

    id: str
    file: str
    kind: str
    version: int
    description: str
    visible: bool
    constants: dict[str, Any]
    params: tuple[Param, ...] | None
    phases: tuple[Phase, ...]
    timeout: float | None
    overrides: bool
    nested: tuple[str, ...]
    env: tuple[str, ...] = ()
    again: str | None = None
    groups: tuple[Parallelism, ...] = ()
    needs: tuple[tuple[str, int, int], ...] = ()
    reads: tuple[tuple[str, int, int], ...] = ()
    is_foreign: bool = False
    also: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def steps(self) -> Iterator[Step]:
        return (step for phase in self.phases for step in phase.steps)


FlowFinder = Callable[[str], FlowPlan | None]
"""Returns the plan of a nested flow by its name."""


def child_of(step: Step, find: FlowFinder) -> FlowPlan | None:
    """The flow that a step runs. None if the step runs none, or if only the run knows which."""
    return find(str(step.flow.value)) if isinstance(step.flow, Const) else None


def with_nested(plan: FlowPlan, find: FlowFinder) -> list[FlowPlan]:
    """A flow and all flows that it may run, each once."""
    plans, waiting = {plan.id: plan}, [plan]
    while waiting:
        for step in waiting.pop(0).steps:
            child = child_of(step, find)
            if child is not None and child.id not in plans:
                plans[child.id] = child
                waiting.append(child)
    return list(plans.values())


def step_at(plan: FlowPlan, path: str, find: FlowFinder) -> Step | None:
    """The step at a path, also inside nested flows. None if no plan has it."""
    phase_name, _, rest = path.partition("/")
    step_name, _, inner_path = rest.partition("/")
    phases = (phase for phase in plan.phases if path_segment(phase.id) == phase_name)
    step = next((step for phase in phases for step in phase.steps if path_segment(step.id) == step_name), None)
    if step is None or not inner_path:
        return step
    child = child_of(step, find)
    return None if child is None else step_at(child, inner_path, find)


def with_nested_names(plan: FlowPlan, names: Mapping[str, str]) -> FlowPlan:
    """The same plan with other names for the flows that its steps run."""
    if not names:
        return plan

    def step(old: Step) -> Step:
        name = old.flow
        if old.declared.nests is None or not isinstance(name, Const) or name.value not in names:
            return old
        return replace(old, params={**old.params, old.declared.nests: Const(names[name.value])})

    phases = tuple(replace(phase, steps=tuple(map(step, phase.steps))) for phase in plan.phases)
    return replace(plan, phases=phases, nested=tuple(names.get(name, name) for name in plan.nested))


def groups_of(phases: Sequence[Phase]) -> Iterator[list[Phase]]:
    """Phases in groups: phases that run in parallel are one group, every other phase is its own group."""
    numbered = [(phase.lane.group if phase.lane else -1 - n, phase) for n, phase in enumerate(phases)]
    for _, members in itertools.groupby(numbered, key=lambda pair: pair[0]):
        yield [phase for _, phase in members]


def path_segment(id_: str) -> str:
    """An id, escaped as one part of a path."""
    return id_.replace("%", "%25").replace("/", "%2F")


def top_phase(path: str) -> str:
    """The phase of the outermost flow that contains the path."""
    return path.partition("/")[0]


def expectation_words(expectation: Expectation) -> str:
    message = f"; if not: {expectation.message}" if expectation.message else ""
    return _action(expectation.kind, expectation.params, expectation.when, expectation.declared.short) + message


def after_words(after: AfterAction) -> str:
    return _action(after.kind, after.params, after.when)


def _action(kind: str, params: Mapping[str, Expression], when: Expression | None, short: str | None = None) -> str:
    """`file: out.md`, `step-output: value 3, equals 4`. The param that the short spelling sets has no name."""
    values = ", ".join(f"{'' if name == short else f'{name} '}{in_words(value)}" for name, value in params.items())
    return f"{kind}: {values}" + ("" if when is None else f", when {in_words(when)}")


def made_file_words(file: MadeFile) -> str:
    name = f" as {file.name}" if file.name else ""
    schema = f", schema {file.schema}" if file.schema else ""
    return f"{in_words(file.path)}{name}{schema}{'' if file.required else ', if it exists'}"


def prompt_words(prompt: Prompt) -> str:
    """A prompt with its references as text. For a prompt of the catalog, its name."""
    body = f"the prompt `{prompt.name}`"
    if prompt.name is None:
        body = in_words(Template(prompt.text, prompt.names, prompt.values))
    extra = "" if prompt.extra is None else in_words(prompt.extra)
    return "\n\n".join(part for part in (body, extra) if part)


def round_numbers(phase: Phase) -> dict[str, int]:
    """The round numbers of the repeats around a phase, without the derived `NAME_minus_one`."""
    derived = {f"{name}_minus_one" for name in phase.rounds}
    return {name: number for name, number in phase.rounds.items() if name not in derived}


def flow_to_json(plan: FlowPlan, find: FlowFinder) -> dict[str, Any]:
    """A plan as plain data: every expression as text, nested flows expanded one level."""
    return {
        "id": plan.id,
        "also": list(plan.also),
        "file": plan.file,
        "kind": plan.kind,
        "version": plan.version,
        "description": plan.description,
        "examples": list(plan.examples),
        "visible": plan.visible,
        "constants": plan.constants,
        "params": None if plan.params is None else [param.to_json() for param in plan.params],
        "env": list(plan.env),
        "timeout": plan.timeout,
        "continue": plan.again,
        "overrides": plan.overrides,
        "nested": list(plan.nested),
        "phases": _phases_to_json(plan, find),
    }


def _phases_to_json(plan: FlowPlan, find: FlowFinder | None) -> list[dict[str, Any]]:
    guards: dict[int, str] = {}  # all rounds share guards with the rounds before them
    for phase in plan.phases:
        for guard in phase.guards:
            if id(guard) not in guards:
                guards[id(guard)] = in_words(guard)
    return [
        {
            "id": phase.id,
            "rounds": phase.rounds,
            "items": {name: as_data(item) for name, item in phase.items},
            "guards": [guards[id(guard)] for guard in phase.guards],
            "when": _words(phase.when),
            "parallel": phase.parallel.to_json() if phase.parallel.limit > 1 else None,
            "lane": {**vars(phase.lane), **plan.groups[phase.lane.group].to_json()} if phase.lane else None,
            "timeout": phase.timeout,
            "steps": [_step_to_json(step, find) for step in phase.steps],
        }
        for phase in plan.phases
    ]


def _step_to_json(step: Step, find: FlowFinder | None) -> dict[str, Any]:
    child = child_of(step, find) if find is not None else None
    return {
        "id": step.id,
        "node": step.node,
        "when": _words(step.when),
        "params": _values(step.params),
        "prompt": None if step.prompt is None else _prompt_to_json(step.prompt),
        "expect": None if step.expect is None else [
            {"kind": e.kind, "when": _words(e.when), "params": _values(e.params), "message": e.message}
            for e in step.expect
        ],
        "after": [{"kind": a.kind, "when": _words(a.when), "params": _values(a.params)} for a in step.after],
        "makes": [
            {"path": as_data(file.path), "name": file.name, "schema": file.schema, "required": file.required}
            for file in step.makes
        ],
        "stopFlowIf": _words(step.stop_if),
        "stopFlowOutcome": step.stop_outcome,
        "routingGroup": step.routing_group,
        "retry": {**vars(step.retry)},
        "timeout": step.timeout,
        "rerun": step.rerun,
        "deadline": step.deadline,
        "default": _values(step.default),
        "flow": child and {"id": child.id, "phases": _phases_to_json(child, None)},
    }  # fmt: skip


def _prompt_to_json(prompt: Prompt) -> dict[str, Any]:
    variables = zip(prompt.names, prompt.values, strict=True) if prompt.name is not None else ()
    return {
        "template": prompt.name,
        "vars": {name: as_data(value) for name, value in variables if not name.endswith("?")},
        "text": prompt_words(prompt),
        "format": "plain" if prompt.plain else "task-prompt",
    }


def _values(values: Mapping[str, Expression]) -> dict[str, Any]:
    return {name: as_data(value) for name, value in values.items()}


def _words(expression: Expression | None) -> str | None:
    return None if expression is None else in_words(expression)
