"""What a flow and its nested flows would run. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from handrail.contracts import Check
from handrail.expressions.words import as_data, in_words
from handrail.flows.outline import Finder, child_of
from handrail.flows.plan import FlowPlan, Step
from handrail.source.plain import command_line
from handrail.source.values import as_text
from handrail.trust.programs import Program, unique

ARGV = "argv"
Checks = Mapping[str, Check]
Workflows = Callable[[str], list[Program]]


def programs_of(plan: FlowPlan, find: Finder, checks: Checks, workflows: Workflows | None = None) -> list[Program]:
    """Everything that a run of this flow may run, in the order of the files, each once.

    `find` returns a nested flow by its name, and `workflows` what a workflow would run, by the name of the workflow.
    """
    found: list[Program] = []
    seen, waiting = {plan.id}, [plan]
    while waiting:
        flow = waiting.pop(0)
        for phase in flow.phases:
            for step in phase.steps:
                found += _of_step(flow, f"{flow.id}/{step.id}", step, checks)
                found += _of_workflow(step, workflows)
                child = child_of(step, find)
                if child is not None and child.id not in seen:
                    seen.add(child.id)
                    waiting.append(child)
    return unique(found)


def _of_step(flow: FlowPlan, by: str, step: Step, checks: Checks) -> Iterator[Program]:
    is_known = step.flow is None or isinstance(as_data(step.flow), str)
    if not step.is_harmless or not is_known:
        kind = "agent" if step.calls_agent else "program" if ARGV in step.params else "node"
        what = _line(as_data(step.params[ARGV])) if kind == "program" else step.node
        yield Program(kind, what, by, flow.file, step.line)
    for expected in step.expect or ():
        declared = checks.get(expected.kind)
        if declared is None or not declared.is_harmless:
            told = next((_line(as_data(value)) for value in expected.params.values()), expected.kind)
            yield Program("program", told, by, flow.file, expected.line)


def _of_workflow(step: Step, workflows: Workflows | None) -> list[Program]:
    """The exit checks of the workflow through which a step drives an agent."""
    name = step.params.get("workflow")
    return workflows(in_words(name)) if workflows is not None and step.runs_workflow and name is not None else []


def _line(value: Any) -> str:
    return command_line(*map(as_text, value)) if isinstance(value, list) else as_text(value)
