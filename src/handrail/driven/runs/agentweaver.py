"""What flows of AgentWeaver get besides their own params, and which of our phases do the work of theirs."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from typing import Any

from handrail.base.errors import RefusedError, UsageError
from handrail.driven.artifacts import agentweaver_params
from handrail.driven.artifacts.names import AGENTWEAVER
from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.driven.artifacts.scope import issue_key
from handrail.driven.flows.plan import FlowPlan
from handrail.driven.flows.prompts import DEFAULT_LANGUAGE
from handrail.driven.flows.results import params_read
from handrail.driven.forms.form import SEVERITIES_VARIABLE, blocking_severities
from handrail.driven.runs.request import RunRequest
from handrail.extensions.contracts import Durable, LastingError, NodeError
from handrail.source.values import Unresolved

COUNTERPARTS = {
    "source": "plan",
    "normalize": "plan",
    "plan_guidance": "plan",
    "design_review_guidance": "review-plan",
    "design_review_loop": "review-plan",
    "implement_guidance": "implement",
    "after_implement_checks": "check",
    "review_guidance": "review",
    "repair_guidance": "review",
    "review_loop": "review",
    "review-loop": "review",
    "final_checks": "check-again",
}


def counterpart(phase: str, phases: Collection[str]) -> str | None:
    """The phase among `phases` that does the work of a phase of AgentWeaver; None if there is none."""
    if phase in phases:
        return phase
    name = COUNTERPARTS.get(phase)
    return name if name in phases else None


INPUTS_PLACE = "before.inputs"
"""The place of what a nested flow finds in the scope: found before its first attempt, and kept for all of them."""


def implicit_params(plan: FlowPlan, request: RunRequest, env: Mapping[str, str], project: str) -> dict[str, Any]:
    """The params that every flow of AgentWeaver has. They depend on the files of the scope at this moment."""
    inputs = agentweaver_params.TaskArtifacts(ProjectFiles(project), request.scope)
    newest_review = inputs.newest("review-file")
    turns = {name: inputs.next(kind) for name, kind in agentweaver_params.NEXT_ITERATIONS.items()}
    params: dict[str, Any] = {
        "taskKey": request.scope,
        "scopeKey": request.scope,
        "workspaceDir": os.path.join(project, AGENTWEAVER, request.scope),
        **_jira(request.task, env, inputs),
        "extraPrompt": None,
        "reviewFixPoints": None,
        "reviewBlockingSeverities": _blocking(env),
        "mdLang": request.lang or DEFAULT_LANGUAGE,
        "llmExecutor": request.agent,
        "llmModel": request.model,
        "launchProfile": {"executor": request.agent, "model": request.model},
        "executionRouting": {"defaultRoute": {"executor": request.agent, "model": request.model}},
        **agentweaver_params.GUIDANCE,
        **turns,
        agentweaver_params.LATEST_ITERATION: newest_review,
        "reviewAssessmentJsonFile": None,
        "taskContextIteration": inputs.newest("task-context-json-file") or 1,
        "forceRefresh": False,
        **agentweaver_params.GO_SCRIPTS,
        "acceptPlaybookDraft": False,
        "launchMode": None,
        "repromptInstantTaskInput": False,
        "prefilledInstantTaskInputValues": None,
    }
    return {**params, **_selection(params, newest_review), **_of_kind(plan, params, inputs)}


def _selection(params: Mapping[str, Any], turn: int | None) -> dict[str, Any]:
    """The param with the file that says which findings of a review are to be fixed, if there is a review."""
    name = f"review-fix-selection-{params['scopeKey']}-{turn}.json"
    path = os.path.join(params["workspaceDir"], ".artifacts", name)
    return {} if turn is None else {"reviewFixSelectionJsonFile": path}


def _of_kind(plan: FlowPlan, params: Mapping[str, Any], inputs: agentweaver_params.TaskArtifacts) -> dict[str, Any]:
    """The params that only flows of this kind get, or get with another value."""
    kind = plan.kind
    if kind in agentweaver_params.NEXT_OF_KIND:
        name, artifact = agentweaver_params.NEXT_OF_KIND[kind]
        return {name: inputs.next(artifact)}
    if kind == "gitlab-review-flow":
        return _selection(params, params["iteration"])
    if kind == "implement-flow":
        return {"planningIteration": inputs.newest_complete({**agentweaver_params.PLANNING, **agentweaver_params.QA})}
    if kind == "review-fix-flow" and params[agentweaver_params.LATEST_ITERATION] is None:
        raise RefusedError("there is no review whose findings can be fixed", "`handrail run review` makes one")
    try:
        from_scope = agentweaver_params.SCOPE_PARAMS[kind](inputs) if kind in agentweaver_params.SCOPE_PARAMS else {}
        _refuse_unplanned(plan, from_scope)
    except NodeError as error:
        raise RefusedError(error.message, "`handrail run plan TASK` makes a design and a plan") from error
    return from_scope


def _refuse_unplanned(plan: FlowPlan, params: Mapping[str, Any]) -> None:
    """Raise `NodeError` if a review reads the plan of its task whether there is one or not, and there is none."""
    read = params_read(plan) or set()
    if plan.kind == "review-flow" and not params and "planFile" in read and "planningIteration" not in read:
        message = "this review needs a task, a design and a plan from an earlier planning flow"
        raise LastingError("inputs-missing", message)


def _blocking(env: Mapping[str, str]) -> list[str]:
    try:
        return blocking_severities(None, env)
    except Unresolved as error:
        raise UsageError(error.message, f"correct the variable `{SEVERITIES_VARIABLE}`") from error


def _jira(task: str, env: Mapping[str, str], inputs: agentweaver_params.TaskArtifacts) -> dict[str, Any]:
    """The addresses of the issue that a task names. Null if it names none, or no address of Jira is known."""
    key, base = issue_key(task), env.get("JIRA_BASE_URL", "").rstrip("/")
    if "://" in task:  # an issue of another Jira is not taken from this one
        base = task.strip().partition("/browse/")[0]
    is_known = key is not None and bool(base)
    return {
        "jiraRef": task if key else None,
        "jiraBrowseUrl": f"{base}/browse/{key}" if is_known else None,
        "jiraApiUrl": f"{base}/rest/api/2/issue/{key}" if is_known else None,
        "jiraTaskFile": inputs.path("jira-task-file"),
    }


async def nested_params(durable: Durable, child: FlowPlan, step_params: dict[str, Any], path: str) -> dict[str, Any]:
    """The params of a nested flow of AgentWeaver. What it gets from the scope is recorded before it is used."""
    params = agentweaver_params.child_params(child.kind, step_params)
    key = params.get("taskKey")
    if not isinstance(key, str) or not key:
        return params
    for name, kind in agentweaver_params.missing_iterations(child.kind, params_read(child), params).items():
        turn = await durable.fact(path, INPUTS_PLACE, "iteration", _fact_subject(key, kind))
        params[name] = turn if name != agentweaver_params.LATEST_ITERATION else turn - 1 or None
    if child.kind in agentweaver_params.SCOPE_PARAMS:
        scope_params = await durable.fact(path, INPUTS_PLACE, "inputs", _fact_subject(key, child.kind))
        has_own = agentweaver_params.is_iteration(params.get("iteration"))
        params |= {**scope_params, **({"iteration": params["iteration"]} if has_own else {})}
        if "planFile" not in step_params:
            _refuse_unplanned(child, scope_params)
    return params


def _fact_subject(key: str, kind: str) -> str:
    return json.dumps({"key": key, "kind": kind}, ensure_ascii=False)
