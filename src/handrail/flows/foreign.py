"""What a nested flow of AgentWeaver gets besides the params of its step. Pure.

Some kinds of flows also get paths from the scope of their task; `artifacts/inputs.py` finds those.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from handrail.artifacts.names import NOT_PROVIDED
from handrail.project import shipped_script

GUIDANCE = dict.fromkeys(
    ("projectGuidanceFile", "projectGuidanceJsonFile", "repairProjectGuidanceFile", "repairProjectGuidanceJsonFile"),
    NOT_PROVIDED,
)
"""The guidance files of a project. A flow that selects guidance passes its own paths on."""
GO_SCRIPTS = {
    "runGoTestsScript": shipped_script("run_go_tests.py"),
    "runGoLinterScript": shipped_script("run_go_linter.py"),
}
EVERYWHERE: dict[str, Any] = {
    **GUIDANCE,
    **GO_SCRIPTS,
    "jiraRef": None,
    "jiraApiUrl": None,
    "extraPrompt": None,
    "reviewBlockingSeverities": None,
    "llmExecutor": None,
    "llmModel": None,
    "repromptInstantTaskInput": False,
    "prefilledInstantTaskInputValues": None,
}
"""What a nested flow has unless its step gives it. Null for an agent or a model is that of the run."""
REVIEW_LOOPS = ("review-loop-flow", "review-project-loop-flow")
DESIGN_LOOP = "design-review-loop-flow"
CONTINUES = {
    **dict.fromkeys((*REVIEW_LOOPS, DESIGN_LOOP, "run-go-linter-loop-flow", "run-go-tests-loop-flow"), "again"),
    **dict.fromkeys(("auto-flow", "auto-common-guided-flow", "instant-task-flow"), "from-stop"),
}
"""How an ended run of a flow of these kinds may be continued, unless its file says so itself."""
LATEST = "latestIteration"
"""The param with the newest iteration of a review. Null if there is none."""
ITERATIONS = {
    "iteration": "review-file",
    "baseIteration": "review-file",
    "designReviewBaseIteration": "design-review-file",
    "nextTaskContextIteration": "task-context-json-file",
    "taskSummaryIteration": "task-summary-file",
    "designIteration": "design-file",
    "planIteration": "plan-file",
    "qaIteration": "qa-file",
    "bugAnalyzeIteration": "bug-analyze-file",
    "bugFixDesignIteration": "bug-fix-design-file",
    "bugFixPlanIteration": "bug-fix-plan-file",
    "gitlabReviewIteration": "gitlab-review-file",
    "gitlabDiffIteration": "gitlab-diff-file",
    "runGoTestsIteration": "run-go-tests-result-json-file",
    "runGoLinterIteration": "run-go-linter-result-json-file",
}
"""Params with the next iteration: the one after the newest file of this kind."""
NEXT_OF_KIND = {
    "auto-common-guided-flow": ("taskContextIteration", "task-context-json-file"),
    "auto-flow": ("taskContextIteration", "task-context-json-file"),
    "instant-task-flow": ("taskContextIteration", "task-context-json-file"),
    "mr-description-flow": ("iteration", "mr-description-file"),
    "task-describe-flow": ("iteration", "jira-description-file"),
}
"""Flows of these kinds begin a new iteration of what they make: the param, and the kind of artifact."""
_PLANNING = ("planningIteration", "designFile", "designJsonFile", "planFile", "planJsonFile")
_QA = ("hasQaArtifacts", "qaFilePath", "qaJsonFilePath", "qaFile", "qaJsonFile")


def _maybe(*names: str) -> tuple[str, ...]:
    return tuple(f for name in names for f in (f"has{name[0].upper()}{name[1:]}", f"{name}Path", name))


_TASK = _maybe("taskContextJsonFile", "jiraTaskFile", "taskInputJsonFile")
_MORE = _maybe("jiraAttachmentsManifestFile", "jiraAttachmentsContextFile", "planningAnswersJsonFile")
FROM_SCOPE = {
    "design-review-flow": ("iteration", *_PLANNING, *_QA, *_TASK, *_MORE),
    "plan-revise-flow": (
        *("reviewIteration", "reviewFile", "reviewJsonFile", "sourcePlanningIteration", "outputIteration"),
        *_PLANNING[1:],
        *_QA,
        *("revisedDesignFile", "revisedDesignJsonFile", "revisedPlanFile", "revisedPlanJsonFile"),
        *("revisedQaFile", "revisedQaJsonFile"),
        *_TASK,
        *_MORE,
    ),
    "review-flow": (*_PLANNING, *_TASK),
}
"""The params that flows of these kinds get from the scope of their task."""

ALWAYS = (
    *("taskKey", "scopeKey", "workspaceDir", "jiraBrowseUrl", "jiraTaskFile", "reviewFixPoints", "mdLang"),
    *("launchProfile", "executionRouting", "reviewAssessmentJsonFile", "reviewFixSelectionJsonFile"),
    *("taskContextIteration", "planningIteration", "forceRefresh", "acceptPlaybookDraft", "launchMode"),
)
"""What a flow that a person starts has besides."""
NAMES = frozenset(
    (*EVERYWHERE, *ALWAYS, *ITERATIONS, LATEST, *(name for found in FROM_SCOPE.values() for name in found))
)
"""All params that AgentWeaver gives to its flows. A flow may get more: from a step that runs it, or from a person."""


def child_params(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """The params of a nested flow, without those that come from the scope."""
    params = {**EVERYWHERE, **{name: value for name, value in given.items() if name != "labelText"}}
    if kind in REVIEW_LOOPS and not is_turn(params.get("baseIteration")) and is_turn(params.get("iteration")):
        params["baseIteration"] = params["iteration"]
    return params


def missing_iterations(kind: str, used: Collection[str] | None, given: Mapping[str, Any]) -> dict[str, str]:
    """The iterations that a nested flow uses and does not get from its step: param → kind of artifact."""
    kinds = {**ITERATIONS, LATEST: ITERATIONS["iteration"]}
    if kind == DESIGN_LOOP:
        kinds["baseIteration"] = "design-review-file"
    if kind in NEXT_OF_KIND:
        name, artifact = NEXT_OF_KIND[kind]
        kinds[name] = artifact
    wanted = set(used or ()) - set(FROM_SCOPE.get(kind, ()))
    return {name: kinds[name] for name in sorted(wanted) if name in kinds and not is_turn(given.get(name))}


def is_turn(value: Any) -> bool:
    """True for the number of an iteration."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
