"""What the form of a launch shows for a flow or a workflow, as plain data, and what a launch would do.

`offer_launch` is the form, `preview_launch` its preview; both begin nothing, and read all files as they are now.
`save_routes` stores chosen agents in the user's settings, never in the project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

from handrail.app import App
from handrail.base.errors import HandrailError, RefusedError
from handrail.driven.flows.catalog import FoundFlow
from handrail.driven.flows.overview import takes_task
from handrail.driven.flows.plan import FlowFinder, FlowPlan, Param, path_segment, step_at
from handrail.driven.flows.preview import PreviewRow, preview_lines, rows_to_json
from handrail.driven.runs.estimate import estimate_run
from handrail.driven.runs.request import LoadedRun, RunRequest, about_from_text, needed_flows, scope_of
from handrail.driven.runs.restart import differences, first_unfinished
from handrail.driven.runs.run_events import BOUND_NAMES, Routed, agent_of
from handrail.driven.runs.run_rules import available_modes, missing_agents, own_of
from handrail.driven.runs.summary import reason_words
from handrail.settings.routes import DEFAULT, save_entry
from handrail.settings.secrets import masked
from handrail.settings.settings import GROUPS
from handrail.source.output_text import clean
from handrail.source.values import shown
from handrail.view import actions
from handrail.view.text.run import bound_warnings, brief_estimate

MOST_LOOKED_AT = 20
"""How many runs of a flow are searched for one with the same scope."""
RoutesTarget = Literal["flow", "preset"]


def offer_launch(app: App, name: str, scope: str = "") -> dict[str, Any]:
    """All that a launch dialog shows. `scope` is another one than that of the current branch.

    - `fields`: one per param: `name`, `kind` (see `kind_of_param`), `required`, `default`, `about`, `choices`.
      `hasTask` says whether a field for a task is among them or to be added. `isOpen`: other params are accepted, too.
    - `groups`: the routing groups: `group`, `about`, `route`, `agent`, `model`, `steps`. `presets` by name, `agents`.
    - `phases` for `from` and `until`, `scope`, `limits` by name (None: no limit).
    - `mode` is preselected, `modes` are possible, and `run` is the run that they are about; see `_previous`.
    - `estimate` in words, `warnings` about the files.
    """
    app = app.reread()
    flow = app.definitions.flow_named(name)
    assert flow.plan is not None
    plan = flow.plan
    request = RunRequest(params={}, scope=scope, preset="")
    current_scope = scope_of(request, app.project, app.runs.secrets, is_foreign=plan.is_foreign)
    newest_run = _newest(app, flow.id, current_scope)
    route = partial(agent_of, Routed(None, None, {}, "", app.runs.table(plan, None)))
    plans = [one.plan for one in needed_flows(app.flows, flow).values() if one.plan is not None]
    absent = missing_agents(plans, route, app.registry, app.env, run_plugins=False)
    return {
        "kind": "workflow" if flow.source == "workflow" else "flow",
        "id": flow.id.removeprefix("workflow:"),
        "name": name,
        "description": clean(plan.description),
        "source": flow.source,
        "fields": [_field(param) for param in actions.declared_params(plan)],
        "hasTask": takes_task(plan),
        "isOpen": plan.params is None or plan.is_foreign,
        "groups": routed_groups(app, flow),
        "presets": app.runs.presets,
        "agents": app.registry.executors(),
        "phases": [phase.id for phase in plan.phases],
        "scope": current_scope,
        "limits": {name: app.settings.limits.get(name) for name in BOUND_NAMES},
        **_previous(app, flow, newest_run),
        "estimate": brief_estimate(step_range(plan, request), estimate_run(app.runs, app.flows, flow, request)),
        "warnings": [clean(line) for line in (*_going_on(newest_run), *absent, *app.warnings(flow))],
    }


def _field(param: Param) -> dict[str, Any]:
    return {
        "name": param.name,
        "kind": actions.kind_of_param(param),
        "required": param.required,
        "default": masked(param.default),
        "about": clean(param.about),
        "choices": [{"value": choice, "label": clean(shown(choice))} for choice in param.choices],
        "multiline": param.name == actions.TASK,
    }


def routed_groups(app: App, flow: FoundFlow, routing_of_run: Routed | None = None) -> list[dict[str, Any]]:
    """The groups of steps that call an agent, with the agent that they get and the steps in them."""
    assert flow.plan is not None
    routing = routing_of_run or Routed(None, None, {}, "", app.runs.table(flow.plan, None))
    groups: dict[str, dict[str, Any]] = {}
    plans = (one.plan for one in needed_flows(app.flows, flow).values() if one.plan is not None)
    pairs = [(phase, step) for plan in plans for phase in plan.phases for step in phase.steps]
    for phase, step in pairs:
        if not step.declared.routed:
            continue
        group = step.routing_group or DEFAULT
        route = agent_of(routing, group, (None, None))
        agent = {"agent": route.agent, "model": route.model} if route else {"agent": None, "model": None}
        about = {"group": group, "about": GROUPS.get(group, ""), "route": str(route) if route else None}
        row = groups.setdefault(group, {**about, **agent, "steps": {}})
        name = f"{phase.shape or phase.id}/{step.id}"
        rounds = max((membership.last for membership in phase.within), default=1)
        route_of_step = agent_of(routing, step.routing_group, own_of(step) or (None, None))
        own_words = None if route_of_step is None else str(route_of_step)
        row["steps"].setdefault(name, {"step": name, "rounds": rounds, "route": own_words})
    return [{**row, "steps": list(row["steps"].values())} for row in groups.values()]


def _going_on(run: LoadedRun | None) -> Iterator[str]:
    """Warnings before another run of the same flow and scope begins."""
    if run is not None and run.state.status == "waiting":
        yield f"{run.id} of this flow waits for an answer"
    elif run is not None and run.driver is not None:
        yield f"{run.id} of this flow is running"


def _previous(app: App, flow: FoundFlow, run: LoadedRun | None) -> dict[str, Any]:
    """The newest run of the same flow and scope, if something can be done with it.

    A new run is preselected: whoever launches may not mean the params and the routes of another run.
    """
    if run is None or run.driver is not None or run.state.status == "waiting":
        return {"mode": "new", "modes": ["new"], "run": None}
    modes = available_modes(run.state, run.plan)
    status = run.state.status
    is_changed = flow.id in run.about.flows and run.about.flows[flow.id][1] != flow.text
    assert flow.plan is not None
    ids, first_phase = [phase.id for phase in run.plan.phases], first_unfinished(run.state, run.plan.phases)
    starts = ids if first_phase is None else ids[: ids.index(first_phase) + 1]  # all phases before it are finished
    return {
        "mode": "new",
        "modes": ["new", *modes],
        "run": {
            "id": run.id,
            "status": "interrupted" if status == "running" else status,
            "at": run.records[-1][0] if run.records else None,
            "why": clean(reason_words(run.state.error or run.state.reason or ""))[:500] or None,
            "next": _next_path(run),
            "params": {name: _as_written(value) for name, value in masked(run.about.request.params).items()},
            "routes": [{"group": row["group"], "route": row["route"]} for row in routed_groups(app, flow, run.routing)],
            "limits": run.bounds.named,
            "from": starts,
            "changed": [clean(one) for one in differences(run.plan, flow.plan)] if is_changed else [],
        },
    }


def _as_written(value: Any) -> Any:
    """A param such as `1.20` as text: a page would show `1.2`."""
    text = shown(value) if isinstance(value, float) else ""
    return text if text and text != f"{float(text):g}" else value


def _newest(app: App, flow: str, scope: str) -> LoadedRun | None:
    runs = app.runs
    ids = [one.id for one in runs.engine.summaries() if one.flow == flow and one.status != "damaged"]
    for id_ in ids[: -MOST_LOOKED_AT - 1 : -1]:
        try:
            if about_from_text(id_, runs.engine.load(id_)[0]).request.scope == scope:
                return runs.load(id_)
        except (HandrailError, LookupError, OSError):
            continue
    return None


def _next_path(run: LoadedRun) -> str | None:
    """The path of the first step that is not finished; None if all are."""
    first_phase = first_unfinished(run.state, run.plan.phases)
    phase = next((one for one in run.plan.phases if one.id == first_phase), None)
    if phase is None:
        return None
    name = path_segment(phase.id)
    finished_paths = {path for path, step in run.state.steps.items() if step.status in ("done", "skipped")}
    paths = (f"{name}/{path_segment(step.id)}" for step in phase.steps)
    return next((path for path in paths if path not in finished_paths), name)


def step_range(plan: FlowPlan, request: RunRequest) -> tuple[int, int]:
    """How many steps run at least, and at most. Steps of nested flows are not counted."""
    phases = request.phases(plan)
    minimum, is_certain = 0, True
    for phase in phases:
        for step in phase.steps:
            is_sure = is_certain and not phase.guards and phase.when is None and step.when is None
            minimum += is_sure
            is_certain = is_certain and step.stop_if is None
    return minimum, sum(len(phase.steps) for phase in phases)


def preview_launch(app: App, form: actions.LaunchForm) -> dict[str, Any]:
    """What a launch would do: `rows` and `lines` of the dry run, each step with its route, and the `estimate`.

    `fails` are the paths that would fail. Equal rounds of a repeat are there once. Raises `WrongFields`.
    """
    app = app.reread()
    flow = app.definitions.flow_named(form.name)
    app.check_settings()
    request = actions.request_of(app, flow, form)
    rows = app.runs.preview(app.flows, flow, request)
    assert flow.plan is not None
    table = {**app.runs.table(flow.plan, None), **request.table}
    routing = Routed(request.agent, request.model, request.routes, request.preset, table)
    plans = needed_flows(app.flows, flow)
    find = lambda name: plans[name].plan if name in plans else None  # noqa: E731 - three words
    route = partial(_route_at, flow.plan, find, routing)
    rows_with_counts = list(_once_per_repeat(flow.plan, rows))
    data = rows_to_json(row for row, _ in rows_with_counts)
    estimate = estimate_run(app.runs, app.flows, flow, request)
    return {
        "rows": [
            {**one, "route": route(row.path), "again": count}
            for (row, count), one in zip(rows_with_counts, data, strict=True)
        ],
        "lines": [line for row, count in rows_with_counts for line in _lines(row, route(row.path), count)],
        "fails": [row.path for row in rows if row.verdict == "fails"],
        "estimate": brief_estimate(step_range(flow.plan, request), estimate),
        "warnings": list(bound_warnings(estimate.whole, request.bounds)),
    }


def _lines(row: PreviewRow, route: str | None, count: int) -> Iterator[str]:
    head, *details = preview_lines(row)
    notes = [*([route] if route is not None else []), *([f"↻ up to {count}"] if count > 1 else [])]
    yield f"{head}  {', '.join(notes)}" if notes else head
    yield from details


def _route_at(plan: FlowPlan, find: FlowFinder, routing: Routed, path: str) -> str | None:
    step = step_at(plan, path, find)
    if step is None or not step.declared.routed:
        return None
    own_route = own_of(step)
    route = None if own_route is None else agent_of(routing, step.routing_group, own_route)
    return None if route is None else str(route)


def _once_per_repeat(plan: FlowPlan, rows: list[PreviewRow]) -> Iterator[tuple[PreviewRow, int]]:
    """The rows, with how often each comes. A later round is left out if its steps have the same verdicts."""
    shapes = {path_segment(phase.id): phase.shape or phase.id for phase in plan.phases}
    blocks: dict[str, list[PreviewRow]] = {}
    for row in rows:
        blocks.setdefault(row.path.partition("/")[0], []).append(row)
    first_blocks: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}
    count: dict[str, int] = {}
    for top, block in blocks.items():
        alike = tuple((row.path.partition("/")[2], row.verdict) for row in block[1:])
        name = first_blocks.setdefault((shapes.get(top, top), alike), top)
        count[name] = count.get(name, 0) + 1
    for top, times_ in count.items():
        for number, row in enumerate(blocks[top]):
            yield row, 1 if number else times_


def save_routes(app: App, target: RoutesTarget, name: str, routes: Mapping[str, str]) -> str:
    """Store routes in the user's settings, for a flow or as a preset. Returns the path of the file.

    Raises `WrongFields` for routes that are not accepted, `RefusedError` for an agent or if the file cannot be edited.
    """
    app.refuse_agents("routes")
    chosen_routes = {group: route for group, route in routes.items() if route}
    if problems := list(actions.wrong_routes(app.registry, chosen_routes)):
        raise actions.WrongFields(problems)
    if not name.strip() or len(name) > 80 or not name.isprintable():
        raise RefusedError("the name is empty, too long or not printable", "use letters, digits and `-`")
    if not chosen_routes:
        raise RefusedError("there is no route to save", "choose an agent for a group first")
    return save_entry(app.places.config, "presets" if target == "preset" else "flows", name, chosen_routes)
