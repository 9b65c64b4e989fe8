"""The request of a run, stored before its first step, and the run as it is loaded: with its plans and its history.

The request has the parameters and the text of all definitions, and the run uses them as they were. Also the flow of
one step that wraps a workflow, and which definitions changed since the run began.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from handrail.base.dataclasses import dataclass, field, replace
from handrail.base.errors import StateError, UsageError
from handrail.driven.artifacts.scope import default_scope, issue_key, scope_at, scope_from_name, ticket_key
from handrail.driven.flows.catalog import FlowCatalog, FoundFlow
from handrail.driven.flows.load import load_flow
from handrail.driven.flows.load_state import FlowResources
from handrail.driven.flows.plan import FlowPlan, Phase, path_segment
from handrail.driven.flows.prompts import is_made_from
from handrail.driven.flows.results import computes_nested_flow, params_read, uses_task
from handrail.driven.flows.shipped_flows import SHIPPED_PREFIX
from handrail.driven.runs.run_events import Bounded, Permitted, Routed, RunResumed, StepFailed, newer_error
from handrail.driven.runs.state import RunState, StepState, fold
from handrail.driven.runs.summary import Summary, summarize
from handrail.driven.worktrees.records import Worktree, worktree_from_json
from handrail.extensions.contracts import EventRecord, History
from handrail.guided.workflows.spec import WorkflowSpec
from handrail.settings.secrets import Secrets, masked
from handrail.source.definition_files import Source, decode
from handrail.source.values import Unresolved, restore, texts_in


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What a person asks for when a run starts. `routes` come from `--route`, `table` from the settings.

    `preset` is the name of a set of routes; None in runs of 0.1.0, which did not store it. `lang` is the language in
    which agents write; None if nobody chose one. `limits` are the bounds of what the run may use; `limit_places` says
    where those of the settings are. `approve` are the effects of `--approve`. `tree` is the worktree in which it works,
    as data; empty if it works in the project itself. `unattended`: nobody is asked anything.
    """

    params: dict[str, Any]
    task: str = ""
    scope: str = ""
    agent: str | None = None
    model: str | None = None
    start: str | None = None
    until: str | None = None
    routes: dict[str, str] = field(default_factory=dict)
    table: dict[str, str] = field(default_factory=dict)
    preset: str | None = None
    lang: str | None = None
    limits: dict[str, Any] = field(default_factory=dict)
    limit_places: dict[str, str] = field(default_factory=dict)
    approve: list[str] = field(default_factory=list)
    tree: dict[str, Any] = field(default_factory=dict)
    unattended: bool = False

    @property
    def worktree(self) -> Worktree | None:
        return worktree_from_json(self.tree) if self.tree else None

    def folder(self, project: str) -> str:
        """The folder in which the run works: the project, or the same folder in its worktree."""
        tree = self.worktree
        return project if tree is None else tree.folder

    def phases(self, plan: FlowPlan) -> tuple[Phase, ...]:
        """The phases from `--from` to `--until`."""
        ids = [phase.id for phase in plan.phases]
        first = ids.index(self.start) if self.start in ids else 0
        end = ids.index(self.until) + 1 if self.until in ids else len(ids)
        return plan.phases[first:end]

    @property
    def bounds(self) -> Bounded:
        return Bounded(**self.limits, places=self.limit_places)

    @property
    def permits(self) -> Permitted:
        return Permitted(self.approve)

    @property
    def routing(self) -> Routed:
        return Routed(self.agent, self.model, self.routes, self.preset, self.table)


@dataclass(frozen=True)
class StoredRequest:
    """The stored request of a run. `flows` are the texts of the flows that it may run: id → (file, text).

    `aside` are files of the previous attempt, as (path, digest). They are removed from the project before this one
    starts. `env` are the environment variables that the flows name, as they were when the attempt was stored; None in
    requests of 0.1.0. The params, the task and `env` are in their stored form, without the values of secrets. `prompts`
    are the texts of the prompts that the flows use by name: name → (file, text). `implicit` are the params that the
    flow has besides those that were given. `names` are those of `FoundFlow`, by the id of the flow. `shape` is what a
    list of runs needs to know about the flow (`shape_of`); empty in requests of earlier versions. `earlier` is that of
    `RunStarted`; it also has the routings of earlier attempts.
    """

    flow: str
    request: RunRequest
    flows: dict[str, list[str]]
    created: float
    aside: list[list[str]] = field(default_factory=list)
    env: dict[str, str] | None = None
    prompts: dict[str, list[str]] = field(default_factory=dict)
    implicit: dict[str, Any] = field(default_factory=dict)
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    shape: dict[str, Any] = field(default_factory=dict)
    earlier: dict[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        texts = sorted((id_, text) for id_, (_, text) in (*self.flows.items(), *self.prompts.items()))
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]

    def to_text(self) -> str:
        """The request as JSON. `written` are the texts of numbers like `1.10` in the parameters."""
        data = {**vars(self), "request": vars(self.request), "written": texts_in(self.request.params)}
        return json.dumps(data, ensure_ascii=False)


def about_from_text(run: str, text: str) -> StoredRequest:
    try:
        data = json.loads(text)
        request = RunRequest(**data.pop("request"))
        restore(request.params, data.pop("written", {}))
        return StoredRequest(request=request, **data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, TypeError) and "unexpected keyword" in str(error):
            raise newer_error("its request") from error
        hint = "`handrail prune --damaged --yes` moves damaged runs away; nothing is deleted"
        flaw = f"it has no {error}" if isinstance(error, KeyError) else error
        raise StateError(f"the request of run `{run}` is damaged: {flaw}", hint) from error


def needed_flows(catalog: FlowCatalog, flow: FoundFlow) -> dict[str, FoundFlow]:
    """A flow and all flows that it may run, by id. If an expression chooses the flow, that is every flow."""
    flows: dict[str, FoundFlow] = {}
    waiting = [flow]
    while waiting:
        next_flow = waiting.pop()
        if next_flow.id in flows or next_flow.plan is None:
            continue
        flows[next_flow.id] = next_flow
        if computes_nested_flow(next_flow.plan):
            waiting.extend(catalog.flows.values())
        waiting.extend(other for name in next_flow.plan.nested if (other := catalog.named(name)) is not None)
    return dict(sorted(flows.items()))


def shape_of(plan: FlowPlan) -> dict[str, Any]:
    """The phases of a flow, (path, number of steps) each, and whether it can be continued (`again`).

    A phase in a round also has the number of the outermost round, how many there are, and its id as written.
    """
    rows: list[list[Any]] = []
    for phase in plan.phases:
        row: list[Any] = [path_segment(phase.id), len(phase.steps)]
        rows.append([*row, phase.within[0].number, phase.within[0].last, phase.shape] if phase.within else row)
    return {"again": plan.again, "phases": rows}


def prompt_names(plans: Mapping[str, FlowPlan]) -> list[str]:
    """The names of the prompts of the catalog that these flows use."""
    steps = (step for plan in plans.values() for step in plan.steps)
    return sorted({step.prompt.name for step in steps if step.prompt is not None and step.prompt.name is not None})


def unused_inputs(catalog: FlowCatalog, flow: FoundFlow, request: RunRequest) -> list[str]:
    """What a request gives to a flow that takes any params, and that nothing in the flow uses. For people."""
    if flow.plan is None or (flow.plan.params is not None and not flow.plan.is_foreign):
        return []
    if (read := params_read(flow.plan)) is None:
        return []
    warnings = [f"flow `{flow.id}` does not use the param `{name}`" for name in request.params if name not in read]
    names_issue = flow.plan.is_foreign and issue_key(request.task) is not None
    if request.task and "task" not in read and not names_issue:
        plans = (needed_flow.plan for needed_flow in needed_flows(catalog, flow).values())
        if not any(uses_task(plan) for plan in plans if plan is not None):
            warnings.append(f"flow `{flow.id}` does not use a task, so `{request.task}` is ignored")
    return warnings


def with_task(plan: FlowPlan, request: RunRequest) -> dict[str, Any]:
    """The parameters, with the task of the command line as `task` if the flow has such a parameter."""
    if not request.task or "task" in request.params:
        return request.params
    if plan.params is None or plan.is_foreign or any(param.name == "task" for param in plan.params):
        return {**request.params, "task": request.task}
    way = f"give its parameters by name: `--param {plan.params[0].name}=VALUE`; or " if plan.params else ""
    raise UsageError(f"flow `{plan.id}` takes no task", way + "declare `params: {task: {required: true}}` in the flow")


def scope_of(request: RunRequest, project: str, secrets: Secrets, *, is_foreign: bool) -> str:
    """The scope of a run: the given one, else that of its ticket, else that of the branch in its folder."""
    ticket, tree = ticket_key(request.task) if is_foreign else None, request.worktree
    try:
        if request.scope:
            scope = scope_from_name(project, request.scope)
        else:
            scope = default_scope(project, ticket) if tree is None else scope_at(tree.path, ticket or tree.branch)
    except Unresolved as error:
        raise UsageError(error.message, "name a scope with letters or digits: `--scope NAME`") from error
    if (name := secrets.found_in(scope)) is not None:
        raise UsageError(f"the scope contains the value of the secret `{name}`", "name another one: `--scope NAME`")
    return scope


def changed_files(about: StoredRequest) -> list[str]:
    """The files of the run's flows and prompts whose text is another one now. If a file is gone, it has not changed."""
    flows = [file for file, text in about.flows.values() if _text_of(file) not in (text, None)]
    prompts = [(file, text, _text_of(file)) for file, text in about.prompts.values()]
    prompt_files = [file for file, text, now in prompts if now is not None and not is_made_from(text, now)]
    return [file for file in (*flows, *prompt_files) if os.path.isabs(file)]


def _text_of(file: str) -> str | None:
    try:
        with open(file, "rb") as stream:
            return decode(file, stream.read())[0].text
    except OSError:
        return None


def workflow_as_flow(spec: WorkflowSpec, known: FlowResources) -> FoundFlow:
    step = {"id": "run", "node": "workflow-run", "params": {"workflow": spec.key, "task": "${params.task}"}}
    flow = {
        "kind": "workflow",
        "description": spec.name,
        "params": {"task": {"required": True, "about": "the task for the workflow"}},
        "phases": [{"id": spec.key, "steps": [step]}],
    }
    text = json.dumps(flow, indent=1, ensure_ascii=False)
    file = f"workflow:{spec.key}"
    plan, problems = load_flow(Source(file, text), file, known)
    assert plan is not None, problems
    return FoundFlow(source="workflow", id=file, file=file, plan=plan, text=text)


@dataclass(frozen=True, kw_only=True)
class LoadedRun:
    """A run at one moment. `payload` reads a large value by its digest."""

    id: str
    about: StoredRequest
    plans: Mapping[str, FlowPlan]
    history: History
    payload: Callable[[str], Any]

    def __repr__(self) -> str:
        return f"<run {self.id}: {self.state.status}>"  # the whole plan is too long for a message

    @property
    def plan(self) -> FlowPlan:
        return self.plans[self.about.flow]

    @property
    def records(self) -> list[EventRecord]:
        return self.history.records

    @property
    def attempt(self) -> int:
        return self.history.attempt

    @property
    def driver(self) -> int | None:
        return self.history.driver

    @cached_property
    def state(self) -> RunState:
        return self.history.state or fold(self.records)

    @property
    def summary(self) -> Summary:
        history = self.history
        summary = summarize(self.id, self.about.to_text(), self.state, self.attempt, self.driver, history.heard)
        return summary._replace(is_answered=history.is_answered and summary.status == "waiting")

    @property
    def failed_step(self) -> StepFailed | None:
        """The step that made the run fail, the innermost one of nested flows; None if no step did."""
        code, _, place = (self.state.reason or "").partition(" at ")
        failures: list[StepFailed] = []
        for _, event in self.records:
            if isinstance(event, RunResumed):
                failures.clear()
            elif isinstance(event, StepFailed) and event.code == code and f"{event.path}/".startswith(f"{place}/"):
                failures.append(event)
        return failures[0] if failures else None

    @property
    def routing(self) -> Routed:
        return Routed(**self.state.routing) if self.state.routing else self.about.request.routing

    @property
    def bounds(self) -> Bounded:
        return Bounded(**self.state.bounds) if self.state.bounds else self.about.request.bounds

    @property
    def permits(self) -> Permitted:
        return Permitted(**self.state.permits) if self.state.permits else self.about.request.permits

    @property
    def params(self) -> dict[str, Any]:
        """The params of a person, in their stored form: those of the beginning, or later ones."""
        return {**self.about.request.params, **self.state.params}

    def find(self, name: str) -> FlowPlan | None:
        """A flow that this run may run, by its id or by a file name that only one flow has; None if there is none."""
        return plan_named(self.plans, name)

    def value(self, step: StepState) -> Any:
        """The result of the node of a step, as people see it: without secrets."""
        return masked(step.value if step.payload is None else self.payload(step.payload))

    def with_history(self, history: History) -> LoadedRun:
        return replace(self, history=history)


def plan_named(plans: Mapping[str, FlowPlan], name: str) -> FlowPlan | None:
    """The flow with this id or other id, or the only flow with this file name; None if there is none."""
    if name in plans:
        return plans[name]
    outer = {id_: plan for id_, plan in plans.items() if not id_.startswith(SHIPPED_PREFIX)}
    by_other_id = [plan for plan in outer.values() if name in plan.also]
    base = os.path.splitext(os.path.basename(name))[0]
    matches = by_other_id[:1] or [
        plan for id_, plan in outer.items() if base in map(os.path.basename, (id_, *plan.also))
    ]
    return matches[0] if len(matches) == 1 else None
