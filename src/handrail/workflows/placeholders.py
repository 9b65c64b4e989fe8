"""Every `{name}` that the texts of a workflow may use, and its meaning. Pure; standard library only."""

from __future__ import annotations

from handrail import STEP_TOOL

START = "(start)"
DONE = "DONE"
NONE = "(none)"

VARIABLES: dict[str, str] = {
    "workflowName": "name of the workflow that was started",
    "workflowKey": "its key: the name of its folder",
    "description": "the task",
    "taskDescription": "the task; the same as `{description}`",
    "taskId": "id of this run of the workflow",
    "phaseId": "id of the current phase",
    "phaseName": "name of the current phase",
    "phaseEmoji": "emoji of the current phase",
    "phaseInstructions": "instructions of the current phase, resolved",
    "phaseCount": "number of phases; a subworkflow counts as one, as in `[1/3]`",
    "previousPhaseName": f"what came before in this workflow, `{START}` at its beginning",
    "nextPhaseName": f"what comes next, `{DONE}` at the end",
    "firstPhaseId": "id of the first phase",
    "firstPhaseName": "name of the first phase",
    "firstPhaseEmoji": "emoji of the first phase",
    "firstPhaseProfiles": "profiles of the first phase",
    "availableProfiles": "profiles of the current phase",
    "blockedToolsList": f"tools that the current phase denies, `{NONE}` if it denies none",
    "allowedTools": "what the current phase allows, in words",
    "toolRules": "what the current phase allows and denies, in one sentence",
    "toolName": f"`{STEP_TOOL}`; in `blockReasonTemplate`, the tool that was denied",
    "breadcrumbPath": "names of the workflows around the current phase",
    "globalStepCount": "number of moves so far",
}
