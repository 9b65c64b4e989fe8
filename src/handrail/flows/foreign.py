"""What a nested flow of AgentWeaver gets besides the params of its step. Pure.

Some kinds of flows also get paths from the scope of their task; `artifacts/inputs.py` finds those.
"""

from __future__ import annotations

from typing import Any

from handrail.artifacts.names import NOT_PROVIDED

GUIDANCE = dict.fromkeys(
    ("projectGuidanceFile", "projectGuidanceJsonFile", "repairProjectGuidanceFile", "repairProjectGuidanceJsonFile"),
    NOT_PROVIDED,
)
"""The guidance files of a project. A flow that selects guidance passes its own paths on."""
REVIEW_LOOPS = ("review-loop-flow", "review-project-loop-flow")
DESIGN_LOOP = "design-review-loop-flow"
CONTINUES = {
    **dict.fromkeys((*REVIEW_LOOPS, DESIGN_LOOP, "run-go-linter-loop-flow", "run-go-tests-loop-flow"), "again"),
    **dict.fromkeys(("auto-flow", "auto-common-guided-flow", "instant-task-flow"), "from-stop"),
}
"""How an ended run of a flow of these kinds may be continued, unless its file says so itself."""
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


def child_params(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """The params of a nested flow, without those that come from the scope."""
    params = {**GUIDANCE, **{name: value for name, value in given.items() if name != "labelText"}}
    if kind in REVIEW_LOOPS and not is_turn(params.get("baseIteration")) and is_turn(params.get("iteration")):
        params["baseIteration"] = params["iteration"]
    return params


def is_turn(value: Any) -> bool:
    """True for the number of an iteration."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
