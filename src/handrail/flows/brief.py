"""What a flow takes, writes, asks and uses, in short: for its help and its page. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail import registry
from handrail.artifacts.schemas import artifact_table
from handrail.expressions.tree import Artifact, Const, Default, Expression, Ref
from handrail.expressions.words import in_words
from handrail.flows.blocks import Block, blocks_of
from handrail.flows.outline import Finder, child_of
from handrail.flows.plan import FlowPlan, Step
from handrail.flows.uses import params_read, uses_task
from handrail.settings import DEFAULT
from handrail.source.dataclasses import dataclass

SCOPES = {True: ".agentweaver/scopes/SCOPE", False: ".handrail/scopes/SCOPE"}
_TASK = {"task", "jiraRef", "jiraApiUrl"}


@dataclass(frozen=True)
class Written:
    """A file that a flow makes: its path, or a pattern of it, and its schema."""

    path: str
    schema: str | None


@dataclass(frozen=True)
class Brief:
    """A flow in short. `groups` are the routing groups of its agents, `agents` the agents that its file names.

    `asks` are the ids of its forms. Everything that the flows inside it do counts, too.
    """

    plan: FlowPlan
    takes_task: bool
    blocks: tuple[Block, ...]
    writes: tuple[Written, ...]
    groups: tuple[str, ...]
    agents: tuple[str, ...]
    asks: tuple[str, ...]
    runs: tuple[str, ...]


def brief(plan: FlowPlan, find: Finder) -> Brief:
    """A flow in short. `find` returns the flow that a step runs."""
    plans = _with_nested(plan, find)
    steps = [step for one in plans for phase in one.phases for step in phase.steps]
    writes = dict.fromkeys(written for one in plans for written in _writes(one))
    return Brief(
        plan=plan,
        takes_task=takes_task(plan),
        blocks=blocks_of(plan),
        writes=tuple(sorted(writes, key=lambda one: one.path)),
        groups=tuple(dict.fromkeys(step.routing_group or DEFAULT for step in steps if _is_routed(step))),
        agents=tuple(dict.fromkeys(agent for step in steps for agent in _agents(step))),
        asks=tuple(dict.fromkeys(form for step in steps for form in _forms(step))),
        runs=tuple(one.id for one in plans[1:]),
    )


def takes_task(plan: FlowPlan) -> bool:
    """True if words of the command line mean something to the flow."""
    read = params_read(plan)
    if plan.params is not None and not plan.is_foreign:
        return any(param.name == "task" for param in plan.params)
    return read is None or bool(read & _TASK) or uses_task(plan)


def _with_nested(plan: FlowPlan, find: Finder) -> list[FlowPlan]:
    """A flow and all flows that it may run, each once."""
    found, waiting = {plan.id: plan}, [plan]
    while waiting:
        one = waiting.pop(0)
        for step in (step for phase in one.phases for step in phase.steps):
            child = child_of(step, find)
            if child is not None and child.id not in found:
                found[child.id] = child
                waiting.append(child)
    return list(found.values())


def _is_routed(step: Step) -> bool:
    node = registry.nodes().get(step.node)
    return node is not None and node.NODE.routed


def _agents(step: Step) -> Iterator[str]:
    own = step.params.get("executor")
    if isinstance(own, Const) and isinstance(own.value, str):
        yield own.value
    if step.node.endswith("-prompt") and step.node.removesuffix("-prompt") in registry.executors():
        yield step.node.removesuffix("-prompt")


def _forms(step: Step) -> Iterator[str]:
    form = step.params.get("formId")
    if isinstance(form, Const) and isinstance(form.value, str):
        yield form.value


def _writes(plan: FlowPlan) -> Iterator[Written]:
    """The files that the steps of a flow make."""
    for step in (step for phase in plan.phases for step in phase.steps):
        for made in step.makes:
            if (path := _path(made.path)) is not None:
                yield Written(path, made.schema or _schema(made.path))
        node = registry.nodes().get(step.node)
        for name in node.NODE.makes if node is not None else ():
            expression = step.params.get(name)
            if expression is not None and (path := _path(expression)) is not None:
                yield Written(path, _schema(expression))


def _path(expression: Expression) -> str | None:
    """A path in words; None if only the run knows it."""
    match expression:
        case Artifact(kind=str() as kind) if kind in artifact_table().kinds:
            file = artifact_table().kinds[kind].file
            return f"{SCOPES[True]}/{file}".replace("{key}", "SCOPE").replace("{iteration}", "N")
        case Artifact(name=Const(value=str() as name)):
            turn = "" if expression.iteration is None else "-N"
            return f"{SCOPES[False]}/{name}{turn}.{expression.extension}"
        case Default(choices=choices):
            return next((path for path in map(_path, choices) if path is not None), None)
        case Ref():
            return None
    return in_words(expression).replace("${params.taskKey}", "SCOPE").replace("${context.scope}", "SCOPE")


def _schema(expression: Expression) -> str | None:
    kind = artifact_table().kinds.get(expression.kind or "") if isinstance(expression, Artifact) else None
    return None if kind is None else kind.schema
