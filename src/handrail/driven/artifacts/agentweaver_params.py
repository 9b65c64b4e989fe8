"""What a flow of AgentWeaver gets besides the params of its step, also from what earlier flows left in its scope.

A file that may be missing is three params: `hasX`, `XPath` (null if it is missing) and `X`, a text for a prompt.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from handrail.driven.artifacts.names import NOT_PROVIDED, ArtifactRequest
from handrail.extensions.contracts import LastingError
from handrail.settings.folders import shipped_script

if TYPE_CHECKING:
    from handrail.driven.artifacts.project_files import ProjectFiles

PLANNING = {
    "designFile": "design-file",
    "designJsonFile": "design-json-file",
    "planFile": "plan-file",
    "planJsonFile": "plan-json-file",
}
QA = {"qaFile": "qa-file", "qaJsonFile": "qa-json-file"}
_REVIEW = {"reviewFile": "design-review-file", "reviewJsonFile": "design-review-json-file"}
_TASK = {
    "taskContextJsonFile": "task-context-json-file",
    "jiraTaskFile": "jira-task-file",
    "taskInputJsonFile": "instant-task-input-json-file",
}
"""The files that can say what the task is: params → kinds."""
_MORE = {
    "jiraAttachmentsManifestFile": "jira-attachments-manifest-file",
    "jiraAttachmentsContextFile": "jira-attachments-context-file",
    "planningAnswersJsonFile": "planning-answers-json-file",
}


class TaskArtifacts:
    def __init__(self, world: ProjectFiles, key: str) -> None:
        from handrail.driven.artifacts.schemas import artifact_table

        self.world = world
        self.key = key
        self.table = artifact_table()

    def path(self, kind: str, iteration: int | None = None) -> str:
        return self.world.artifact(ArtifactRequest(key=self.key, kind=kind, iteration=iteration))

    def iterations(self, *kinds: str) -> set[int]:
        """The iterations of which a file of one of these kinds exists."""
        from handrail.driven.artifacts.shelf import files_in

        return {turn for kind in kinds for turn in self.table.iterations(kind, self.key, self.world.project, files_in)}

    def next(self, *kinds: str) -> int:
        return max(self.iterations(*kinds), default=0) + 1

    def newest(self, *kinds: str) -> int | None:
        return max(self.iterations(*kinds), default=None)

    def bundle(self, kinds: Mapping[str, str], iteration: int) -> dict[str, str]:
        """The paths of the files of one iteration: param → path."""
        return {name: self.path(kind, iteration) for name, kind in kinds.items()}

    def newest_complete(self, kinds: Mapping[str, str]) -> int | None:
        """The newest iteration that has all these files."""
        turns = sorted(self.iterations(*kinds.values()), reverse=True)
        return next((turn for turn in turns if not missing_files(self.bundle(kinds, turn))), None)

    def valid_bundle(self, kinds: Mapping[str, str], iteration: int, why: str) -> dict[str, str]:
        """The paths of one iteration. Raises `NodeError` if a file is missing or does not match its schema."""
        paths = self.bundle(kinds, iteration)
        if absent := missing_files(paths):
            raise LastingError("inputs-missing", f"{why}; missing: {', '.join(absent)}")
        for name, kind in kinds.items():
            self.refuse_invalid(kind, paths[name])
        return paths

    def refuse_invalid(self, kind: str, path: str) -> None:
        schema = self.table.kinds[kind].schema
        if schema is not None and (wrong := self.world.against_schema(path, schema)):
            raise LastingError("inputs-invalid", wrong)

    def optional(self, kinds: Mapping[str, str]) -> dict[str, Any]:
        """The params of files that may be missing. Those that exist match their schemas."""
        params: dict[str, Any] = {}
        for name, kind in kinds.items():
            path = self.path(kind)
            exists = os.path.isfile(path)
            if exists:
                self.refuse_invalid(kind, path)
            params |= {f"has{_title(name)}": exists, f"{name}Path": path if exists else None}
            params[name] = path if exists else NOT_PROVIDED
        return params

    def qa(self, iteration: int) -> dict[str, Any]:
        """The params of the QA plan of an iteration, which may be missing, but not one half of it."""
        paths = self.bundle(QA, iteration)
        if len(missing_files(paths)) == len(paths):
            return {"hasQaArtifacts": False, **{f"{n}Path": None for n in QA}, **dict.fromkeys(QA, NOT_PROVIDED)}
        self.valid_bundle(QA, iteration, "a QA plan is a Markdown file and a JSON file")
        return {"hasQaArtifacts": True, **{f"{name}Path": path for name, path in paths.items()}, **paths}


def missing_files(paths: Mapping[str, str]) -> list[str]:
    return [path for path in paths.values() if not os.path.isfile(path)]


def _title(name: str) -> str:
    return name[0].upper() + name[1:]


def _for_design_review(inputs: TaskArtifacts) -> dict[str, Any]:
    turn, paths = _newest_plan(inputs)
    more = {**inputs.qa(turn), **inputs.optional({**_TASK, **_MORE})}
    last = inputs.newest("design-review-json-file")
    more["lastReviewJsonFile"] = NOT_PROVIDED if last is None else inputs.path("design-review-json-file", last)
    return {"planningIteration": turn, "iteration": inputs.next("design-review-file"), **paths, **more}


def _for_plan_revise(inputs: TaskArtifacts) -> dict[str, Any]:
    turn, paths = _newest_plan(inputs)
    has_own = not missing_files(inputs.bundle(_REVIEW, turn))
    review = turn if has_own else inputs.newest_complete(_REVIEW)
    if review is None:
        raise LastingError("inputs-missing", "a plan can be revised after a design review, and there is none")
    new_files = inputs.bundle({**PLANNING, **QA}, turn + 1)
    return {
        "reviewIteration": review,
        **inputs.valid_bundle(_REVIEW, review, "a plan can be revised after a complete design review"),
        "sourcePlanningIteration": turn,
        "outputIteration": turn + 1,
        **paths,
        **inputs.qa(turn),
        **{f"revised{_title(name)}": path for name, path in new_files.items()},
        **inputs.optional({**_TASK, **_MORE}),
    }


def _for_review(inputs: TaskArtifacts) -> dict[str, Any]:
    """Without a plan or a task in the scope, there are no params."""
    turn = inputs.newest_complete(PLANNING)
    task = {} if turn is None else inputs.optional(_TASK)
    if turn is None or not any(task[f"{name}Path"] for name in _TASK):
        return {}
    return {"planningIteration": turn, **inputs.valid_bundle(PLANNING, turn, "a review needs a plan"), **task}


SCOPE_PARAMS = {
    "design-review-flow": _for_design_review,
    "plan-revise-flow": _for_plan_revise,
    "review-flow": _for_review,
}
"""Flows of these kinds get params from the scope of their task."""


def _newest_plan(inputs: TaskArtifacts) -> tuple[int, dict[str, str]]:
    """The newest complete plan: its iteration and its files."""
    turn = inputs.newest_complete(PLANNING)
    if turn is None:
        turn = inputs.newest(*PLANNING.values()) or 1
    return turn, inputs.valid_bundle(PLANNING, turn, "this needs a design and a plan from an earlier planning flow")


GUIDANCE = dict.fromkeys(
    ("projectGuidanceFile", "projectGuidanceJsonFile", "repairProjectGuidanceFile", "repairProjectGuidanceJsonFile"),
    NOT_PROVIDED,
)
"""The guidance files of a project. A flow that selects guidance passes its own paths on."""
GO_SCRIPTS = {
    "runGoTestsScript": shipped_script("run_go_tests.py"),
    "runGoLinterScript": shipped_script("run_go_linter.py"),
}
NESTED_DEFAULTS: dict[str, Any] = {
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
CONTINUES_BY_KIND = {
    **dict.fromkeys((*REVIEW_LOOPS, DESIGN_LOOP, "run-go-linter-loop-flow", "run-go-tests-loop-flow"), "again"),
    **dict.fromkeys(("auto-flow", "auto-common-guided-flow", "instant-task-flow"), "from-stop"),
}
"""How an ended run of a flow of these kinds may be continued, unless its file says so itself."""
LATEST_ITERATION = "latestIteration"
"""The param with the newest iteration of a review. Null if there is none."""
NEXT_ITERATIONS = {
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
_TASK_NAMES, _MORE_NAMES = (
    tuple(part for name in kinds for part in (f"has{_title(name)}", f"{name}Path", name)) for kinds in (_TASK, _MORE)
)
_PLAN_NAMES = (*PLANNING, "hasQaArtifacts", *(f"{name}Path" for name in QA), *QA, *_TASK_NAMES, *_MORE_NAMES)
SCOPE_PARAM_NAMES = {
    "design-review-flow": ("iteration", "planningIteration", "lastReviewJsonFile", *_PLAN_NAMES),
    "plan-revise-flow": (
        *("reviewIteration", *_REVIEW, "sourcePlanningIteration", "outputIteration"),
        *(f"revised{_title(name)}" for name in (*PLANNING, *QA)),
        *_PLAN_NAMES,
    ),
    "review-flow": ("planningIteration", *PLANNING, *_TASK_NAMES),
}
"""The params that flows of these kinds get from the scope of their task."""

STARTED_PARAMS = (
    *("taskKey", "scopeKey", "workspaceDir", "jiraBrowseUrl", "jiraTaskFile", "reviewFixPoints", "mdLang"),
    *("launchProfile", "executionRouting", "reviewAssessmentJsonFile", "reviewFixSelectionJsonFile"),
    *("taskContextIteration", "planningIteration", "forceRefresh", "acceptPlaybookDraft", "launchMode"),
)
"""What a flow that a person starts has besides."""
PARAM_NAMES = frozenset(
    (
        *NESTED_DEFAULTS,
        *STARTED_PARAMS,
        *NEXT_ITERATIONS,
        LATEST_ITERATION,
        *(name for names in SCOPE_PARAM_NAMES.values() for name in names),
    )
)
"""All params that AgentWeaver gives to its flows. A flow may get more: from a step that runs it, or from a person."""


def child_params(kind: str, step_params: dict[str, Any]) -> dict[str, Any]:
    """The params of a nested flow, without those that come from the scope."""
    params = {**NESTED_DEFAULTS, **{name: value for name, value in step_params.items() if name != "labelText"}}
    if kind in REVIEW_LOOPS and not is_iteration(params.get("baseIteration")) and is_iteration(params.get("iteration")):
        params["baseIteration"] = params["iteration"]
    return params


def missing_iterations(kind: str, names_read: Collection[str] | None, params: Mapping[str, Any]) -> dict[str, str]:
    """The iterations that a nested flow uses and does not get from its step: param → kind of artifact."""
    kinds = {**NEXT_ITERATIONS, LATEST_ITERATION: NEXT_ITERATIONS["iteration"]}
    if kind == DESIGN_LOOP:
        kinds["baseIteration"] = "design-review-file"
    if kind in NEXT_OF_KIND:
        name, artifact = NEXT_OF_KIND[kind]
        kinds[name] = artifact
    names = set(names_read or ()) - set(SCOPE_PARAM_NAMES.get(kind, ()))
    return {name: kinds[name] for name in sorted(names) if name in kinds and not is_iteration(params.get(name))}


def is_iteration(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
