"""A launch as a person fills it in: values of fields become a request, and what is wrong is said for each field.

A text in a field is read as on the command line. Nothing is begun here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from handrail import registry
from handrail.app import App
from handrail.errors import HandrailError, UsageError
from handrail.flows.found import FoundFlow
from handrail.flows.plan import FlowPlan, Param
from handrail.forms.form import Problem
from handrail.runs.bounds import NAMES, Bounded
from handrail.runs.missing import refuse_phases
from handrail.runs.request import Request
from handrail.runs.scope import scope_of
from handrail.settings import DEFAULT, GROUPS, parse_route
from handrail.settings.presets import find_preset
from handrail.source.dataclasses import dataclass, field
from handrail.source.suggest import did_you_mean
from handrail.source.values import same, shown
from handrail.source.written import typed

TASK = "task"
REQUIRED = "is required"


class Wrong(HandrailError):
    """Answers or parameters that are not accepted, with the field of each."""

    code = "wrong"
    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(problem.text for problem in problems))
        self.problems = problems


@dataclass(frozen=True, kw_only=True)
class Launch:
    """A new run, as a person asks for it in a surface. `routes` are by group, as `AGENT` or `AGENT:MODEL`."""

    name: str
    task: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    agent: str | None = None
    model: str | None = None
    routes: Mapping[str, str] = field(default_factory=dict)
    preset: str = ""
    scope: str = ""
    start: str | None = None
    until: str | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)


def kind_of(param: Param) -> str:
    """How a param is filled in: `boolean`, `choice`, `number`, `json`, `text`, or `any` if the flow does not say."""
    if param.choices:
        return "choice"
    if param.name == TASK:
        return "text"
    match param.default:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "text"
        case list() | dict():
            return "json"
    return "any"


def declared(plan: FlowPlan) -> tuple[Param, ...]:
    """The params of a flow. If it declares none, those that it certainly reads."""
    if plan.params is not None:
        return plan.params
    return tuple(Param(name, required=True, default=None, about="") for name, *_ in plan.reads)


def request_of(app: App, flow: FoundFlow, wanted: Launch) -> Request:
    """The request that `Runs.begin` takes. Raises `Wrong` with a problem for each field that is not accepted."""
    assert flow.plan is not None
    problems: list[Problem] = []
    params = _params(flow.plan, wanted, problems)
    limits = _limits(wanted.limits, problems)
    problems += _routes(app, wanted)
    bounds = Bounded(**app.settings.limits, places=app.settings.limit_places).with_later(Bounded(**limits))
    request = Request(
        params=params,
        task=wanted.task if TASK not in params else "",
        scope=wanted.scope,
        agent=wanted.agent or None,
        model=wanted.model or None,
        routes={group: route for group, route in wanted.routes.items() if route},
        table=app.runs.presets.get(wanted.preset, {}),
        preset=wanted.preset,
        start=wanted.start or None,
        until=wanted.until or None,
        limits=bounds.named,
        limit_places=bounds.places,
    )
    problems += _parts(app, flow.plan, request)
    if problems:
        raise Wrong(problems)
    return request


def _params(plan: FlowPlan, wanted: Launch, problems: list[Problem]) -> dict[str, Any]:
    """The values of the params. Empty fields are left out, so that their defaults hold."""
    known = {param.name: param for param in declared(plan)}
    given = {**({TASK: wanted.task} if TASK in known and wanted.task else {}), **wanted.params}
    found: dict[str, Any] = {}
    for name, value in given.items():
        param = known.get(name)
        if param is None and plan.params is not None and not plan.is_foreign:
            close = did_you_mean(name, sorted(known))
            problems.append(Problem(name, "is not a param of this flow" + (f"; {close}" if close else ""), True))
        elif value is None or (isinstance(value, str) and not value.strip()):
            continue
        else:
            found[name] = _value(param, name, value, problems) if param is not None else _typed(value)
    if wanted.task and TASK not in known and plan.params is not None and not plan.is_foreign:
        problems.append(Problem(TASK, "is not taken by this flow"))
    lost = [name for name, param in known.items() if param.required and name not in found]
    wrong = {problem.field for problem in problems}
    problems += [Problem(name, REQUIRED) for name in lost if name not in wrong]
    if plan.params is None and wanted.task:
        found.pop(TASK, None)
    return found


def _typed(value: Any) -> Any:
    return typed(value) if isinstance(value, str) else value


def _value(param: Param, name: str, value: Any, problems: list[Problem]) -> Any:
    kind = kind_of(param)
    read = _typed(value)
    match kind:
        case "text":
            return value if isinstance(value, str) else shown(value)
        case "choice":
            for choice in param.choices:
                if same(value, choice) or same(read, choice):
                    return choice
            known = ", ".join(f"`{shown(choice)}`" for choice in param.choices)
            problems.append(Problem(name, f"has to be one of {known}, found `{shown(value)[:40]}`"))
        case "boolean":
            if isinstance(read, bool):
                return read
            problems.append(Problem(name, f"has to be true or false, found `{shown(value)[:40]}`"))
        case "number":
            if isinstance(read, int | float) and not isinstance(read, bool):
                return read
            problems.append(Problem(name, f"has to be a number, found `{shown(value)[:40]}`"))
        case "json":
            if isinstance(read, list | dict):
                return read
            found = json.dumps(value, ensure_ascii=False)[:40]
            problems.append(Problem(name, f"has to be a list or a mapping in JSON, found `{found}`"))
    return read


def _limits(given: Mapping[str, Any], problems: list[Problem]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in given.items():
        read = _typed(value)
        if name not in NAMES:
            problems.append(Problem(f"limits.{name}", f"is not a limit; there are {', '.join(NAMES)}", True))
        elif value is None or value == "":
            continue
        elif isinstance(read, bool) or not isinstance(read, int | float) or not 0 < read < float("inf"):
            problems.append(Problem(f"limits.{name}", f"has to be a number above 0, found `{str(value)[:40]}`"))
        else:
            found[name] = read
    return found


def _routes(app: App, wanted: Launch) -> Iterator[Problem]:
    """What is wrong with the chosen agents. `routes.GROUP` is the field of a route."""
    if wanted.preset:
        try:
            find_preset(app.runs.presets, wanted.preset)
        except UsageError as error:
            yield Problem("preset", f"is not a preset: {error.message}")
    if wanted.agent and not registry.has_executor(wanted.agent):
        yield Problem("agent", _no_agent(wanted.agent))
    yield from wrong_routes(wanted.routes)


def wrong_routes(routes: Mapping[str, str]) -> Iterator[Problem]:
    """What is wrong with routes by group. Empty ones are left out."""
    for group, route in routes.items():
        if group not in (*GROUPS, DEFAULT):
            yield Problem(f"routes.{group}", f"is not a group; there are {', '.join((*GROUPS, DEFAULT))}", True)
        elif route:
            try:
                agent = parse_route(route).agent
            except ValueError:
                yield Problem(f"routes.{group}", f"has to be `AGENT` or `AGENT:MODEL`, found `{route[:40]}`")
                continue
            if not registry.has_executor(agent):
                yield Problem(f"routes.{group}", _no_agent(agent))


def _no_agent(name: str) -> str:
    hint = did_you_mean(name, registry.executors()) or f"known: {', '.join(registry.executors())}"
    return f"names no agent: `{name[:40]}`; {hint}"


def _parts(app: App, plan: FlowPlan, request: Request) -> Iterator[Problem]:
    """What is wrong with the phases and with the scope."""
    try:
        refuse_phases(plan, request)
    except UsageError as error:
        ids = [phase.id for phase in plan.phases]
        wrong = "start" if request.start is not None and request.start not in ids else "until"
        yield Problem(wrong, f"is wrong: {error.message}")
    try:
        scope_of(request, app.project, app.runs.secrets, is_foreign=plan.is_foreign)
    except UsageError as error:
        yield Problem("scope", f"is wrong: {error.message}")
