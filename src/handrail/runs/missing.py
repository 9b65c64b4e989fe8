"""Refuses a run that would fail because something is missing: before it exists, so no step has run for nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from handrail.agentweaver.phases import counterpart
from handrail.contracts import Site
from handrail.errors import UsageError
from handrail.flows.plan import FlowPlan
from handrail.runs.agents import certain_flows
from handrail.runs.loaded import named
from handrail.runs.request import Request
from handrail.source.plain import some
from handrail.source.suggest import did_you_mean


def refuse_missing_env(plan: FlowPlan, plans: Mapping[str, FlowPlan], site: Site) -> None:
    """Refuse a run that needs an environment variable which is not set."""
    flows = certain_flows(plan, partial(named, plans))
    missing = [(flow.file, *need) for flow in flows for need in flow.needs if need[0] not in site.env]
    if missing:
        lines = [
            f"{os.path.relpath(file, site.project)}:{line}:{column}: the variable `{name}` is not set"
            for file, name, line, column in missing
        ]
        hint = f"set it: `{missing[0][1]}=VALUE handrail run {plan.id}`, or give it a default value in the flow"
        raise UsageError("\n".join(lines), hint)


def refuse_missing_params(plan: FlowPlan, request: Request, project: str) -> None:
    """Refuse a run of a flow that declares no params, but reads one that is not given. A part of it may read none."""
    if request.start or request.until:
        return
    file = os.path.relpath(plan.file, project)
    missing = [read for read in plan.reads if read[0] not in request.params]
    if missing:
        lines = [f"{file}:{line}:{column}: the param `{name}` is not given" for name, line, column in missing]
        name = missing[0][0]
        raise UsageError(
            "\n".join(lines), f"give it: `--param {name}=VALUE`; or declare it in the flow: `params: {{{name}: VALUE}}`"
        )


_SET_BY = {
    "extraPrompt": "--prompt",
    "reviewBlockingSeverities": "--blocking-severities",
    "acceptPlaybookDraft": "--accept-playbook-draft",
}
"""Params that an option sets."""


def hint_for_params(plan: FlowPlan, given: Mapping[str, object]) -> str:
    """How params are given to a flow that refuses these ones."""
    declared = {param.name for param in plan.params or ()}
    for name, option in _SET_BY.items():
        if name in given and name not in declared:
            ways = f"declare it in the flow: `params: {{{name}: {{}}}}`, or write `form: agentweaver` there"
            return f"`{option}` sets the param `{name}`; {ways}"
    return "give parameters with `--param NAME=VALUE`"


def refuse_phases(plan: FlowPlan, request: Request) -> None:
    """Refuse `--from` and `--until` with phases that the flow does not have, or in the wrong order."""
    ids = [phase.id for phase in plan.phases]
    for id_ in (request.start, request.until):
        if id_ is not None and id_ not in ids:
            own = counterpart(id_, ids)
            same = f"AgentWeaver's phase `{id_}` is the phase `{own}` here" if own is not None else None
            hint = same or did_you_mean(id_, ids) or f"phases: {some(ids, 12)}"
            raise UsageError(f"flow `{plan.id}` has no phase `{id_}`", hint)
    if request.start and request.until and ids.index(request.until) < ids.index(request.start):
        raise UsageError(f"`--until {request.until}` comes before `--from {request.start}`, so no phase would run")
