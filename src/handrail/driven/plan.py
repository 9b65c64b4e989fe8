"""A compiled flow: repeats unrolled with their guards, every expression parsed, every reference checked. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.values import Expression


class Prompt(NamedTuple):
    """What an agent is told: a template of the catalog or an inline one, its variables, and what is added."""

    template: str | None
    inline: str | None
    names: tuple[str, ...]
    values: tuple[Expression, ...]
    extra: Expression | None
    plain: bool


class Expectation(NamedTuple):
    """Something that has to hold after a node has run."""

    kind: str
    when: Expression | None
    params: dict[str, Expression]
    message: str
    line: int


class After(NamedTuple):
    """Something that is done after a step's expectations hold."""

    kind: str
    when: Expression | None
    params: dict[str, Expression]


class Retry(NamedTuple):
    """How often a step is tried, and how long is waited between: `wait`, then `factor` times as long each time."""

    attempts: int = 1
    wait: float = 1.0
    factor: float = 2.0


class Step(NamedTuple):
    """One unit of work."""

    id: str
    node: str
    when: Expression | None
    params: dict[str, Expression]
    prompt: Prompt | None
    expect: tuple[Expectation, ...] | None
    stop_if: Expression | None
    stop_outcome: str
    after: tuple[After, ...]
    routing_group: str | None
    retry: Retry
    timeout: float | None


class Phase(NamedTuple):
    """Steps that belong together. `guards` decide whether its round takes place at all."""

    id: str
    rounds: dict[str, int]
    guards: tuple[Expression, ...]
    when: Expression | None
    steps: tuple[Step, ...]
    parallel: int
    timeout: float | None


class Param(NamedTuple):
    """A parameter that a flow declares."""

    name: str
    required: bool
    default: Any
    about: str


class FlowPlan(NamedTuple):
    """A whole flow, ready to be run."""

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
