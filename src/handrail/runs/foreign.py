"""What AgentWeaver gives to a flow besides its own params: to every flow of a run, and to a nested flow."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from handrail.artifacts.inputs import CONTRACTS, PLANNING, QA, Inputs
from handrail.artifacts.names import AGENTWEAVER
from handrail.artifacts.scope import issue_key
from handrail.artifacts.world import World
from handrail.contracts import Durable
from handrail.errors import UsageError
from handrail.flows.foreign import DESIGN_LOOP, GUIDANCE, child_params, is_turn
from handrail.flows.language import DEFAULT_LANGUAGE
from handrail.flows.plan import FlowPlan
from handrail.forms.severities import VARIABLE, blocking_severities
from handrail.runs.request import Request
from handrail.source.values import Unresolved

SCRIPTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "builtin", "scripts")

BEFORE = "before.inputs"
"""The place of what a nested flow finds in the scope: found before its first attempt, and kept for all of them."""
_ITERATIONS = {
    "iteration": ("review-file",),
    "designReviewBaseIteration": ("design-review-file",),
    "taskSummaryIteration": ("task-summary-file",),
    "designIteration": ("design-file",),
    "planIteration": ("plan-file",),
    "qaIteration": ("qa-file",),
    "bugAnalyzeIteration": ("bug-analyze-file",),
    "bugFixDesignIteration": ("bug-fix-design-file",),
    "bugFixPlanIteration": ("bug-fix-plan-file",),
    "gitlabReviewIteration": ("gitlab-review-file",),
    "gitlabDiffIteration": ("gitlab-diff-file",),
    "runGoTestsIteration": ("run-go-tests-result-json-file",),
    "runGoLinterIteration": ("run-go-linter-result-json-file",),
}
"""Params with the next iteration: the one after the newest file of these kinds."""
_NEXT = {
    "auto-common-guided-flow": ("taskContextIteration", "task-context-json-file"),
    "auto-flow": ("taskContextIteration", "task-context-json-file"),
    "instant-task-flow": ("taskContextIteration", "task-context-json-file"),
    "plan-flow": ("nextTaskContextIteration", "task-context-json-file"),
    "mr-description-flow": ("iteration", "mr-description-file"),
    "task-describe-flow": ("iteration", "jira-description-file"),
}
"""Flows of these kinds begin a new iteration of what they make: the param, and the kind of artifact."""


def implicit_params(plan: FlowPlan, request: Request, env: Mapping[str, str], project: str) -> dict[str, Any]:
    """The params that every flow of AgentWeaver has. They depend on the files of the scope at this moment."""
    inputs = Inputs(World(project), request.scope)
    reviewed = inputs.newest("review-file")
    turns = {name: inputs.next(*kinds) for name, kinds in _ITERATIONS.items()}
    found: dict[str, Any] = {
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
        **GUIDANCE,
        **turns,
        "baseIteration": turns["iteration"],
        "latestIteration": reviewed,
        "reviewAssessmentJsonFile": None,
        "taskContextIteration": inputs.newest("task-context-json-file") or 1,
        "forceRefresh": False,
        "runGoTestsScript": os.path.join(SCRIPTS, "run_go_tests.py"),
        "runGoLinterScript": os.path.join(SCRIPTS, "run_go_linter.py"),
        "acceptPlaybookDraft": False,
        "launchMode": None,
        "repromptInstantTaskInput": False,
        "prefilledInstantTaskInputValues": None,
    }
    return {**found, **_selection(found, reviewed), **_of_kind(plan.kind, found, inputs)}


def _selection(found: Mapping[str, Any], turn: int | None) -> dict[str, Any]:
    """The param with the file that says which findings of a review are to be fixed, if there is a review."""
    name = f"review-fix-selection-{found['scopeKey']}-{turn}.json"
    path = os.path.join(found["workspaceDir"], ".artifacts", name)
    return {} if turn is None else {"reviewFixSelectionJsonFile": path}


def _of_kind(kind: str, found: Mapping[str, Any], inputs: Inputs) -> dict[str, Any]:
    """The params that only flows of this kind get, or get with another value."""
    if kind in _NEXT:
        name, artifact = _NEXT[kind]
        return {name: inputs.next(artifact)}
    if kind == "gitlab-review-flow":
        return _selection(found, found["iteration"])
    if kind == "implement-flow":
        return {"planningIteration": inputs.newest_complete({**PLANNING, **QA})}
    return CONTRACTS[kind](inputs) if kind in CONTRACTS else {}


def _blocking(env: Mapping[str, str]) -> list[str]:
    try:
        return blocking_severities(None, env)
    except Unresolved as error:
        raise UsageError(error.message, f"correct the variable `{VARIABLE}`") from error


def _jira(task: str, env: Mapping[str, str], inputs: Inputs) -> dict[str, Any]:
    """The addresses of the issue that a task names. Null if it names none, or no address of Jira is known."""
    key, base = issue_key(task), env.get("JIRA_BASE_URL", "").rstrip("/")
    if "://" in task and not base:
        base = task.partition("/browse/")[0]
    is_known = key is not None and bool(base)
    return {
        "jiraRef": task if key else None,
        "jiraBrowseUrl": f"{base}/browse/{key}" if is_known else None,
        "jiraApiUrl": f"{base}/rest/api/2/issue/{key}" if is_known else None,
        "jiraTaskFile": inputs.path("jira-task-file"),
    }


async def nested_params(durable: Durable, child: FlowPlan, given: dict[str, Any], path: str) -> dict[str, Any]:
    """The params of a nested flow of AgentWeaver. What it gets from the scope is recorded before it is used."""
    params = child_params(child.kind, given)
    key = params.get("taskKey")
    if not isinstance(key, str) or not key:
        return params
    if child.kind == DESIGN_LOOP and not is_turn(params.get("baseIteration")):
        wanted = _subject(key, "design-review-file")
        params["baseIteration"] = await durable.fact(path, BEFORE, "iteration", wanted)
    if child.kind in CONTRACTS:
        found = await durable.fact(path, BEFORE, "inputs", _subject(key, child.kind))
        own = {"iteration": params["iteration"]} if is_turn(params.get("iteration")) else {}
        params |= {**found, **own}
    return params


def _subject(key: str, kind: str) -> str:
    return json.dumps({"key": key, "kind": kind}, ensure_ascii=False)
