"""What a flow takes, writes, asks, uses and runs, in short: for its help, its page and its approval. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from handrail.base.dataclasses import dataclass
from handrail.driven.artifacts.schemas import artifact_table
from handrail.driven.expressions.tree import Artifact, Const, Default, Expression, Ref
from handrail.driven.expressions.words import as_data, in_words
from handrail.driven.flows.outline import Block, blocks_of
from handrail.driven.flows.plan import FlowFinder, FlowPlan, Step, with_nested
from handrail.driven.flows.results import params_read, uses_task
from handrail.settings.routes import DEFAULT
from handrail.settings.trust import ProgramUse, unique_programs
from handrail.source.plain_text import command_line
from handrail.source.values import as_text

SCOPE_FOLDERS = {True: ".agentweaver/scopes/SCOPE", False: ".handrail/scopes/SCOPE"}
_TASK = {"task", "jiraRef", "jiraApiUrl"}


@dataclass(frozen=True)
class WrittenFile:
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
    writes: tuple[WrittenFile, ...]
    groups: tuple[str, ...]
    agents: tuple[str, ...]
    asks: tuple[str, ...]
    runs: tuple[str, ...]


def brief(plan: FlowPlan, find: FlowFinder) -> Brief:
    """A flow in short. `find` returns the flow that a step runs."""
    plans = with_nested(plan, find)
    steps = [step for one in plans for step in one.steps]
    writes = dict.fromkeys(written for one in plans for written in _writes(one))
    return Brief(
        plan=plan,
        takes_task=takes_task(plan),
        blocks=blocks_of(plan),
        writes=tuple(sorted(writes, key=lambda one: one.path)),
        groups=tuple(dict.fromkeys(step.routing_group or DEFAULT for step in steps if step.declared.routed)),
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


def _agents(step: Step) -> Iterator[str]:
    own = step.params.get("executor")
    if isinstance(own, Const) and isinstance(own.value, str):
        yield own.value
    if step.declared.agent is not None:
        yield step.declared.agent


def _forms(step: Step) -> Iterator[str]:
    form = step.params.get("formId")
    if isinstance(form, Const) and isinstance(form.value, str):
        yield form.value


def _writes(plan: FlowPlan) -> Iterator[WrittenFile]:
    """The files that the steps of a flow make."""
    for step in plan.steps:
        for made in step.makes:
            if (path := _path(made.path)) is not None:
                yield WrittenFile(path, made.schema or _schema(made.path))


def _path(expression: Expression) -> str | None:
    """A path in words; None if only the run knows it."""
    match expression:
        case Artifact(kind=str() as kind) if kind in artifact_table().kinds:
            file = artifact_table().kinds[kind].file
            return f"{SCOPE_FOLDERS[True]}/{file}".replace("{key}", "SCOPE").replace("{iteration}", "N")
        case Artifact(name=Const(value=str() as name)):
            turn = "" if expression.iteration is None else "-N"
            return f"{SCOPE_FOLDERS[False]}/{name}{turn}.{expression.extension}"
        case Default(choices=choices):
            return next((path for path in map(_path, choices) if path is not None), None)
        case Ref():
            return None
    return in_words(expression).replace("${params.taskKey}", "SCOPE").replace("${context.scope}", "SCOPE")


def _schema(expression: Expression) -> str | None:
    kind = artifact_table().kinds.get(expression.kind or "") if isinstance(expression, Artifact) else None
    return None if kind is None else kind.schema


ARGV = "argv"
WorkflowPrograms = Callable[[str], list[ProgramUse]]


def programs_of(plan: FlowPlan, find: FlowFinder, workflows: WorkflowPrograms | None = None) -> list[ProgramUse]:
    """Everything that a run of this flow may run, in the order of the files, each once.

    `find` returns a nested flow by its name, and `workflows` what a workflow would run, by the name of the workflow.
    """
    found: list[ProgramUse] = []
    for flow in with_nested(plan, find):
        for step in flow.steps:
            found += _of_step(flow, f"{flow.id}/{step.id}", step)
            found += _of_workflow(step, workflows)
    return unique_programs(found)


def _of_step(flow: FlowPlan, by: str, step: Step) -> Iterator[ProgramUse]:
    is_known = step.flow is None or isinstance(as_data(step.flow), str)
    if not step.declared.is_harmless or not is_known:
        kind = "agent" if step.declared.calls_agent else "program" if ARGV in step.params else "node"
        what = _line(as_data(step.params[ARGV])) if kind == "program" else step.node
        yield ProgramUse(kind, what, by, flow.file, step.line)
    for expected in step.expect or ():
        if not expected.declared.is_harmless:
            told = next((_line(as_data(value)) for value in expected.params.values()), expected.kind)
            yield ProgramUse("program", told, by, flow.file, expected.line)


def _of_workflow(step: Step, workflows: WorkflowPrograms | None) -> list[ProgramUse]:
    """The exit checks of the workflow through which a step drives an agent."""
    name, is_driven = step.params.get("workflow"), any(field.names == "workflow" for field in step.declared.params)
    return workflows(in_words(name)) if workflows is not None and is_driven and name is not None else []


def _line(value: Any) -> str:
    return command_line(*map(as_text, value)) if isinstance(value, list) else as_text(value)
