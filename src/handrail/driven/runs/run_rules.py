"""What a run allows: when it may start, how it goes on, which question is answered, if a step may run again.

A run that would fail is refused before it exists, so no step has run in vain. A run that starts no programs needs no
trust.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from handrail.base.dataclasses import dataclass
from handrail.base.errors import RefusedError, UsageError
from handrail.base.locks import PROBE_SECONDS, acquire
from handrail.driven.expressions.tree import Const
from handrail.driven.flows.keys import MAX_DEPTH
from handrail.driven.flows.overview import programs_of
from handrail.driven.flows.plan import FlowFinder, FlowPlan, Phase, Step, child_of, path_segment, top_phase
from handrail.driven.flows.results import WHOLE, kind_error
from handrail.driven.runs.agentweaver import counterpart
from handrail.driven.runs.request import LoadedRun, RunRequest, plan_named
from handrail.driven.runs.run_events import Cause
from handrail.driven.runs.state import RERUN, Question, RunState, modes_of, stops_of
from handrail.driven.worktrees.records import Worktree
from handrail.extensions.contracts import Engine, NodeError, Site
from handrail.extensions.registry import Registry, is_built_in
from handrail.settings.environment import is_installed, why_missing
from handrail.settings.routes import OwnRoute, Route
from handrail.settings.sections import AcpAgents, NoSuchAgent, agent_named
from handrail.settings.trust import ProgramUse, Trust
from handrail.source.plain_text import command_line, some
from handrail.source.suggestions import did_you_mean
from handrail.source.values import as_json, parse_duration, typed_value

Router = Callable[[str | None, OwnRoute], Route | None]


@dataclass(frozen=True)
class AgentRules:
    """How steps get agents: `route` chooses one, `acp` are those of the user's settings, `registry` has all others.

    In `env`, their programs are searched for.
    """

    route: Router
    acp: AcpAgents
    registry: Registry
    env: Mapping[str, str]


def refuse_without_agent(plan: FlowPlan, phases: Sequence[Phase], find: FlowFinder, rules: AgentRules) -> None:
    """Raise `RefusedError` for the first step that will certainly run, and whose agent is missing or unknown."""
    registry = rules.registry
    for path, step in certain_steps(phases, find):
        own = own_of(step) if step.declared.routed else None
        if own is None:
            continue
        route = rules.route(step.routing_group, own)
        if route is None:
            if step.declared.can_lack_agent:
                continue
            known = ", ".join(registry.executors())
            hint = f"choose one: `--agent NAME` ({known}), Agents in a launch form, or `agent: NAME` in"
            hint += " `.handrail/settings.yaml`"
            raise RefusedError(f"step `{path}` of `{plan.id}` needs an agent, and none is chosen", hint)
        if not registry.has_executor(route.agent):
            message = f"step `{path}` of `{plan.id}` needs `{route.agent}`, which is no agent"
            raise RefusedError(message, registry.executor_hint(route.agent))
        registry.refuse_unusable([route.agent])
        try:
            agent_named(route.agent, rules.acp)
        except NoSuchAgent as error:
            message = f"step `{path}` of `{plan.id}` needs an agent, and {error.message}"
            raise RefusedError(message, error.hint) from None
        executor = registry.executor(route.agent) if is_built_in(route.agent) else None
        lack = getattr(executor, "lacks", lambda _: None)(rules.env)
        if executor is not None and (why := why_missing(executor.PROGRAM, rules.env)) is not None:
            other = next((name for name in registry.installable() if is_installed(name, rules.env)), "NAME")
            lack = why, f"install it, or choose another agent: `--agent {other}`"
        if lack is not None:
            raise RefusedError(f"step `{path}` of `{plan.id}` needs an agent, and {lack[0]}", lack[1])


def certain_steps(
    phases: Iterable[Phase], find: FlowFinder, base: str = "", depth: int = 0
) -> Iterator[tuple[str, Step]]:
    """The steps that run whatever the results of others are, with their paths, also those of nested flows.

    Steps after the first that may stop the flow are left out.
    """
    for phase in phases:
        if phase.guards or phase.when is not None:
            continue
        for step in phase.steps:
            path = f"{base}{path_segment(phase.id)}/{path_segment(step.id)}"
            if step.when is None:
                yield path, step
                child = child_of(step, find) if depth < MAX_DEPTH else None
                if child is not None:
                    yield from certain_steps(child.phases, find, f"{path}/", depth + 1)
            if step.stop_if is not None:
                return


def refuse_unusable(plans: Iterable[FlowPlan], registry: Registry) -> None:
    """Raise an error if a step or an expectation of these flows is of a plugin that cannot be used now."""
    steps = [step for plan in plans for step in plan.steps]
    registry.refuse_unusable(name for step in steps for name in (step.node, *(one.kind for one in step.expect or ())))


def missing_agents(
    plans: Iterable[FlowPlan], route: Router, registry: Registry, env: Mapping[str, str], *, run_plugins: bool
) -> list[str]:
    """Which agents of these flows are not installed, in words: a warning, because their steps may never be reached.

    Programs of the agents of plugins are known only by running the code of the plugin (`run_plugins`).
    """
    paths_by_agent: dict[str, str] = {}
    steps = [(phase, step) for plan in plans for phase in plan.phases for step in phase.steps]
    every = {id(step): (f"{phase.shape or phase.id}/{step.id}", step) for phase, step in steps}  # rounds share steps
    for path, step in every.values():
        own = own_of(step)
        chosen = route(step.routing_group, own) if step.declared.routed and own is not None else None
        if chosen is not None and (run_plugins or is_built_in(chosen.agent)):
            paths_by_agent.setdefault(chosen.agent, path)
    programs = {agent: registry.executor(agent).PROGRAM for agent in paths_by_agent}
    return [
        f"`{programs[agent]}` is not installed or not on the PATH, and the step `{step}` needs it"
        for agent, step in paths_by_agent.items()
        if not is_installed(programs[agent], env)
    ]


def own_of(step: Step) -> OwnRoute | None:
    """The agent and the model that a step sets; None if only the run knows them."""
    agent, model = step.params.get("executor", Const(None)), step.params.get("model", Const(None))
    if not isinstance(agent, Const) or not isinstance(model, Const):
        return None
    return (agent.value or None, model.value or None)


def refuse_missing_env(plan: FlowPlan, plans: Mapping[str, FlowPlan], site: Site) -> None:
    """Refuse a run that needs an environment variable which is not set."""
    find = partial(plan_named, plans)
    children = [child_of(step, find) for _, step in certain_steps(plan.phases, find)]
    flows = {plan.id: plan, **{child.id: child for child in children if child is not None}}.values()
    missing = [(flow.file, *need) for flow in flows for need in flow.needs if need[0] not in site.env]
    if missing:
        lines = [
            f"{os.path.relpath(file, site.project)}:{line}:{column}: the variable `{name}` is not set"
            for file, name, line, column in missing
        ]
        hint = f"set it: `{missing[0][1]}=VALUE handrail run {plan.id}`, or give it a default value in the flow"
        raise UsageError("\n".join(lines), hint)


def refuse_missing_params(plan: FlowPlan, request: RunRequest, project: str) -> None:
    """Refuse a run of a flow that declares no params, but reads one that is not given. A part of it may read none."""
    if request.start or request.until:
        return
    file = os.path.relpath(plan.file, project)
    if missing := [read for read in plan.reads if read[0] not in request.params]:
        lines = [f"{file}:{line}:{column}: the param `{name}` is not given" for name, line, column in missing]
        name = missing[0][0]
        hint = f"give it: `--param {name}=VALUE`; or declare it in the flow: `params: {{{name}: VALUE}}`"
        raise UsageError("\n".join(lines), hint)


_SET_BY = {
    "extraPrompt": "--prompt",
    "reviewBlockingSeverities": "--blocking-severities",
    "acceptPlaybookDraft": "--accept-playbook-draft",
}
"""Params that an option sets."""


def hint_for_params(plan: FlowPlan, params: Mapping[str, object]) -> str:
    """How params are given to a flow that refuses these ones."""
    declared = {param.name for param in plan.params or ()}
    for name, option in _SET_BY.items():
        if name in params and name not in declared:
            ways = f"declare it in the flow: `params: {{{name}: {{}}}}`, or write `form: agentweaver` there"
            return f"`{option}` sets the param `{name}`; {ways}"
    missing = [param.name for param in plan.params or () if param.required and params.get(param.name) is None]
    wrong = [param for param in plan.params or () if kind_error(param, params.get(param.name), param.kind)]
    if missing or not wrong:
        return f"give parameters with `--param {(*missing, 'NAME')[0]}=VALUE`"
    name, kind, example = wrong[0].name, wrong[0].kind or "", wrong[0].default
    if example in (None, [], {}):
        example = {"boolean": True, "list": ["a", "b"], "mapping": {"name": "a"}}.get(kind, 3)
    return f"for example: `{command_line('--param', f'{name}={as_json(example)}')}`"


def refuse_phases(plan: FlowPlan, request: RunRequest) -> None:
    """Refuse `--from` and `--until` with phases that the flow does not have, or in the wrong order."""
    ids = [phase.id for phase in plan.phases]
    for id_ in (request.start, request.until):
        if id_ is not None and id_ not in ids:
            twin = counterpart(id_, ids)
            same = f"AgentWeaver's phase `{id_}` is the phase `{twin}` here" if twin is not None else None
            hint = same or did_you_mean(id_, ids) or f"phases: {some(ids, 12)}"
            raise UsageError(f"flow `{plan.id}` has no phase `{id_}`", hint)
    if request.start and request.until and ids.index(request.until) < ids.index(request.start):
        raise UsageError(f"`--until {request.until}` comes before `--from {request.start}`, so no phase would run")


SETUP = "the worktree"


def programs_of_run(run: LoadedRun) -> list[ProgramUse]:
    """What a run would run, by the flows that were stored when it began."""
    return [*programs_of_setup(run.about.request.worktree), *programs_of(run.plan, run.find)]


def programs_of_setup(tree: Worktree | None) -> list[ProgramUse]:
    """The commands that prepare the worktree of a run."""
    commands = () if tree is None or tree.is_shared else tree.setup
    return [ProgramUse("program", command_line(*words), SETUP, "") for words in commands]


@contextmanager
def require_trust(trust: Trust, run: LoadedRun, mode: Cause, engine: Engine) -> Iterator[None]:
    """Drive a run inside. Raises `UntrustedError` if its project is not trusted.

    While it is driven by a call that is trusted for itself only, the run has a mark, and the mark is locked: the agents
    of the run and a driver in the background need it. It counts only for the first drive, because to resume a run is
    another call.
    """
    trust.refuse(lambda: programs_of_run(run), run.id if mode == "run" else None)
    trust.mark(run.id)
    try:
        with mark_locked(trust, run.id):
            yield
    finally:
        if engine.driver(run.id) is None:
            trust.unmark(run.id)


@contextmanager
def mark_locked(trust: Trust, run: str) -> Iterator[None]:
    """Lock the mark of a run inside, if this call is what the mark is for. Without the lock, a mark trusts nothing."""
    handle = acquire(trust.mark_of(run), PROBE_SECONDS) if trust.is_marked(run) and trust.is_for_call else None
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def paths_of(plan: FlowPlan) -> Iterable[str]:
    return (path_segment(phase.id) for phase in plan.phases)


def available_modes(state: RunState, plan: FlowPlan) -> list[str]:
    """How the run may go on while no process drives it: `resume`, `continue`, `restart`."""
    return modes_of(state, plan.again, paths_of(plan))


def phases_to_rewind(run: str, state: RunState, plan: FlowPlan) -> list[str]:
    """The phases that run again when a run that ended is continued."""
    if state.status not in ("completed", "stopped"):
        raise RefusedError(f"run `{run}` has not ended", f"`handrail resume {run}` resumes it")
    if plan.again is None:
        message = f"flow `{plan.id}` does not allow `handrail continue`"
        raise RefusedError(message, f"add `continue: again` or `continue: from-stop`, or run `handrail restart {run}`")
    paths = list(paths_of(plan))
    if plan.again == "again":
        return paths
    stops = stops_of(state)
    if not stops:
        raise RefusedError(f"run `{run}` was not stopped by any step", f"`handrail restart {run}` starts it again")
    return paths[paths.index(top_phase(stops[-1])) :]


def next_question_id(state: RunState, attempt: int) -> str:
    """The id for the next question: `q1`, `q2` and so on; after a restart `q2.1`, so that no id is used twice."""
    number = len(state.closed) + len(state.questions) + 1
    return f"q{number}" if attempt == 1 else f"q{attempt}.{number}"


def question_to_answer(run: str, state: RunState, question: str | None, step: str | None) -> Question:
    """The open question with this id or at this step; without both, the only open one. Raises `RefusedError`."""
    if question is not None:
        return open_question(run, state, question)
    open_questions = list(state.questions.values())
    candidates = [open_one for open_one in open_questions if step in (None, open_one.path)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        message = f"run `{run}` waits for several answers: {_question_list(candidates)}"
        raise RefusedError(message, f"`handrail answer {run} --question {candidates[0].id}` answers the first one")
    if open_questions:
        raise RefusedError(f"`{step}` does not wait for an answer", f"open: {_question_list(open_questions)}")
    raise RefusedError(f"run `{run}` does not wait for an answer", f"`handrail log {run}` shows its state")


def open_question(run: str, state: RunState, question: str) -> Question:
    """The open question with this id. Raises `RefusedError` if it is closed or was never asked."""
    for candidate in state.questions.values():
        if candidate.id == question:
            return candidate
    raise too_late_error(run, state, question)


def due_at(question: Question) -> float:
    """When the default of a question is taken, in seconds since 1970; infinite if it has none."""
    seconds = parse_duration(str(question.question.get("deadline")))
    return math.inf if seconds is None else question.since + seconds


def too_late_error(run: str, state: RunState, question: str) -> RefusedError:
    """Why an answer to this question comes too late."""
    how = state.closed.get(question)
    message = f"run `{run}` has no question `{question}` in its current attempt"
    if how is not None:
        message = f"question `{question}` of run `{run}` was {'already ' if how == 'answered' else ''}{how}"
    open_list = _question_list(state.questions.values())
    return RefusedError(message, f"open: {open_list}" if open_list else f"`handrail log {run}` shows what happened")


def _question_list(questions: Iterable[Question]) -> str:
    """`q1` (`a/ask`: Who?), `q2` (`b/ask`: Why?)."""
    return ", ".join(f"`{one.id}` (`{one.path}`: {one.question.get('title') or 'no title'})" for one in questions)


def refuse_unless_waiting(run: str, state: RunState, *, is_driven: bool) -> None:
    """Refuse an answer to a run that does not wait: it must not start work that somebody stopped."""
    if state.status == "waiting" or (state.status == "running" and is_driven):
        return
    if state.status in ("completed", "stopped"):
        raise RefusedError(f"run `{run}` is {state.status}: it does not wait for an answer")
    status = "interrupted" if state.status == "running" else state.status
    message = f"run `{run}` is {status}: it does not wait for an answer"
    raise RefusedError(message, f"`handrail resume {run}` resumes it; if it asks again, answer then")


_OUTPUT = "outputs."
_AGAIN = {"value": "again", "label": "run it again"}


def interrupted_form(path: str, start: int, reads: Sequence[str]) -> dict[str, Any]:
    """Asks what to do with an interrupted node. If it had finished, the outputs that the flow uses are asked for."""
    title = f"Did `{path}` finish? It was running when the run was interrupted"
    options = [
        _AGAIN,
        {"value": "done", "label": "it finished: continue"},
        {"value": "fail", "label": "neither: fail the run"},
    ]
    when, help_text = {"field": RERUN, "equals": "done"}, "the flow uses it; JSON or text, `null` if there is none"
    outputs = [
        {
            "id": name if name == WHOLE else f"{_OUTPUT}{name}",
            "type": "text",
            "label": "its whole result" if name == WHOLE else f"its output `{name}`",
            "help": help_text,
            "required": True,
            "when": when,
            "json": True,
        }
        for name in reads
    ]
    return _rerun_form(title, f"attempt {start}", "what to do with it", options, outputs)


def refuted_form(path: str, number: int, reason: str) -> dict[str, Any]:
    """Asks whether a step whose proof does not hold may run again."""
    title = f"`{path}` has finished, but: {reason}"
    options = [_AGAIN, {"value": "fail", "label": "do not: fail the run, so that I can fix it by hand"}]
    return _rerun_form(title, f"after {number} failed attempts", "run it again?", options)


def _rerun_form(
    title: str, about: str, label: str, options: list[dict[str, str]], outputs: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    choice = {"id": RERUN, "type": "single-select", "label": label, "required": True, "options": options}
    return {"formId": RERUN, "title": title, "description": about, "fields": [choice, *outputs]}


def assumed_result(answer: Mapping[str, Any]) -> Any:
    """The result of a node that had finished, by the word of a person."""
    value = {key.removeprefix(_OUTPUT): _typed_answer(text) for key, text in answer.items() if key.startswith(_OUTPUT)}
    whole = _typed_answer(answer[WHOLE]) if answer.get(WHOLE) is not None else {}
    return {"assumedDone": True, **whole, **value} if isinstance(whole, dict) else whole


def _typed_answer(answer: Any) -> Any:
    return typed_value(answer) if isinstance(answer, str) else answer


def refuse_rerun(path: str, error: NodeError) -> NodeError:
    """The error of a step that must not run again, and whose proof does not hold."""
    message = f"{error.message}; `{path}` has `rerun: never`, so it is not run again"
    return NodeError(error.code, message, transient=False, output=error.output)
