"""What a flow takes, writes, asks, uses and runs, in short: for its help, its page and its approval. Pure.

Its phases are in blocks, as its file has them: a block is a phase, a repeat with all its rounds, or parallel phases.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from handrail.base.dataclasses import dataclass
from handrail.driven.artifacts.names import AGENTWEAVER, HANDRAIL
from handrail.driven.artifacts.schemas import artifact_table
from handrail.driven.expressions.tree import Artifact, Const, Default, Expression, Items, Ref, as_data, in_words
from handrail.driven.flows.plan import FlowFinder, FlowPlan, Parallelism, Phase, Step, round_numbers, with_nested
from handrail.driven.flows.results import params_read, uses_task
from handrail.settings.routes import DEFAULT
from handrail.settings.trust import ProgramUse, unique_programs
from handrail.source.plain_text import command_line, counted
from handrail.source.values import as_text


@dataclass(frozen=True)
class PhaseBlock:
    """One phase. In a repeat, `name` has the name of the round's number in place of the number."""

    name: str
    phase: Phase


@dataclass(frozen=True)
class RepeatBlock:
    """A repeat. Another round begins only if the condition `again` holds; None if all rounds run.

    `words` say which rounds there are: `for each of ${params.files}, at most 10`.
    """

    count: int
    again: str | None
    blocks: tuple[Block, ...]
    words: str


@dataclass(frozen=True)
class ParallelBlock:
    """Phases that run in parallel."""

    parallel: Parallelism
    blocks: tuple[Block, ...]


Block: TypeAlias = PhaseBlock | RepeatBlock | ParallelBlock


def blocks_of(plan: FlowPlan) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for lane, members in itertools.groupby(plan.phases, key=lambda phase: phase.lane and phase.lane.group):
        inner = tuple(_nested_blocks(list(members), ()))
        blocks += inner if lane is None else [ParallelBlock(plan.groups[lane], inner)]
    return tuple(blocks)


def phase_blocks(blocks: Sequence[Block]) -> Iterator[PhaseBlock]:
    """The phases in blocks, each once."""
    for block in blocks:
        if isinstance(block, PhaseBlock):
            yield block
        else:
            yield from phase_blocks(block.blocks)


def _nested_blocks(phases: Sequence[Phase], outer: tuple[str, ...]) -> Iterator[Block]:
    """The phases with their repeats folded. `outer` are the names of the repeats around them."""
    inner = lambda phase: next((name for name in round_numbers(phase) if name not in outer), None)  # noqa: E731 - short
    for name, members in itertools.groupby(phases, key=inner):
        group = list(members)
        if name is None:
            yield from (PhaseBlock(_name(phase, outer), phase) for phase in group)
            continue
        numbers = list(dict.fromkeys(phase.rounds[name] for phase in group))
        first_round = [phase for phase in group if phase.rounds[name] == numbers[0]]
        later_phase = next((phase for phase in group if phase.rounds[name] != numbers[0]), None)
        guards = later_phase.guards if later_phase is not None else ()
        again = next((one for one in guards if isinstance(one, Items) and one not in first_round[0].guards), None)
        over, inner_names = group[0].within[len(outer)].over, (*outer, name)
        words = f"for each of {over}, at most {len(numbers)}" if over else f"up to {counted(len(numbers), 'round')}"
        words += f", until {_with_names(in_words(again.items[0]), first_round, inner_names)}" if again else ""
        words += ", or the flow fails" if group[-1].bounds else ""
        inner_blocks = tuple(_nested_blocks(first_round, inner_names))
        yield RepeatBlock(len(numbers), in_words(again) if again else None, inner_blocks, words)


def _with_names(text: str, phases: Sequence[Phase], names: tuple[str, ...]) -> str:
    """A text with the names of phases as they were written, without the numbers of the first round."""
    for phase in phases:
        text = text.replace(f"steps.{phase.id}.", f"steps.{_name(phase, names)}.")
    return text


def _name(phase: Phase, outer: tuple[str, ...]) -> str:
    """The id of a phase of the first round, with the names of the numbers: `review-1` is `review-N`."""
    name = phase.id
    for number in reversed([phase.rounds[name_of_number] for name_of_number in outer]):
        head, number_text, tail = name.rpartition(str(number))
        name = f"{head}N{tail}" if number_text else name
    return name


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
    agents = (agent for step in steps for agent in (*_constant(step, "executor"), step.declared.agent))
    writes = dict.fromkeys(file for one in plans for file in _writes(one))
    return Brief(
        plan=plan,
        takes_task=takes_task(plan),
        blocks=blocks_of(plan),
        writes=tuple(sorted(writes, key=lambda one: one.path)),
        groups=tuple(dict.fromkeys(step.routing_group or DEFAULT for step in steps if step.declared.routed)),
        agents=tuple(dict.fromkeys(agent for agent in agents if agent is not None)),
        asks=tuple(dict.fromkeys(form for step in steps for form in _constant(step, "formId"))),
        runs=tuple(one.id for one in plans[1:]),
    )


def takes_task(plan: FlowPlan) -> bool:
    """True if words of the command line mean something to the flow."""
    read = params_read(plan)
    if plan.params is not None and not plan.is_foreign:
        return any(param.name == "task" for param in plan.params)
    return read is None or bool(read & {"task", "jiraRef", "jiraApiUrl"}) or uses_task(plan)


def _constant(step: Step, name: str) -> Iterator[str]:
    """The value of a param, if the file has it as text."""
    value = step.params.get(name)
    if isinstance(value, Const) and isinstance(value.value, str):
        yield value.value


def _writes(plan: FlowPlan) -> Iterator[WrittenFile]:
    """The files that the steps of a flow make."""
    for step in plan.steps:
        for file in step.makes:
            if (path := _path(file.path)) is not None:
                yield WrittenFile(path, file.schema or _schema(file.path))


def _path(expression: Expression) -> str | None:
    """A path in words; None if only the run knows it."""
    match expression:
        case Artifact(kind=str() as kind) if kind in artifact_table().kinds:
            file = artifact_table().kinds[kind].file
            return f"{AGENTWEAVER}/SCOPE/{file}".replace("{key}", "SCOPE").replace("{iteration}", "N")
        case Artifact(name=Const(value=str() as name)):
            turn = "" if expression.iteration is None else "-N"
            return f"{HANDRAIL}/SCOPE/{name}{turn}.{expression.extension}"
        case Default(choices=choices):
            return next((path for path in map(_path, choices) if path is not None), None)
        case Ref():
            return None
    return in_words(expression).replace("${params.taskKey}", "SCOPE").replace("${context.scope}", "SCOPE")


def _schema(expression: Expression) -> str | None:
    kind = artifact_table().kinds.get(expression.kind or "") if isinstance(expression, Artifact) else None
    return None if kind is None else kind.schema


WorkflowPrograms = Callable[[str], list[ProgramUse]]


def programs_of(plan: FlowPlan, find: FlowFinder, workflows: WorkflowPrograms | None = None) -> list[ProgramUse]:
    """Everything that a run of this flow may run, in the order of the files, each once.

    `find` returns a nested flow by its name, and `workflows` what a workflow would run, by the name of the workflow.
    """
    programs: list[ProgramUse] = []
    for flow in with_nested(plan, find):
        for step in flow.steps:
            programs += _of_step(flow, f"{flow.id}/{step.id}", step)
            is_driven = any(field.names == "workflow" for field in step.declared.params)
            if workflows is not None and is_driven and "workflow" in step.params:
                programs += workflows(in_words(step.params["workflow"]))
    return unique_programs(programs)


def _of_step(flow: FlowPlan, by: str, step: Step) -> Iterator[ProgramUse]:
    is_known = step.flow is None or isinstance(as_data(step.flow), str)
    if not step.declared.is_harmless or not is_known:
        kind = "agent" if step.declared.calls_agent else "program" if "argv" in step.params else "node"
        what = _line(as_data(step.params["argv"])) if kind == "program" else step.node
        yield ProgramUse(kind, what, by, flow.file, step.line)
    for expectation in step.expect or ():
        if not expectation.declared.is_harmless:
            what = next((_line(as_data(value)) for value in expectation.params.values()), expectation.kind)
            yield ProgramUse("program", what, by, flow.file, expectation.line)


def _line(value: Any) -> str:
    return command_line(*map(as_text, value)) if isinstance(value, list) else as_text(value)
