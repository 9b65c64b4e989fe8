"""The position of a session from the entries of pi-workflows. None if there is none."""

from __future__ import annotations

from typing import Any

from conformance import corpus, differences
from handrail.agents.pi.host import foreign_state
from handrail.extensions.contracts.messages import ForeignState

DEFAULTS = {"taskId": "", "taskDescription": "", "completionNotified": False, "cancelled": False}


@corpus.every("reconstruct")
def test_a_session_of_pi_workflows_keeps_its_position(case: corpus.Case) -> None:
    found, _ = foreign_state(case["branch"])
    told = None if found is None else as_entry(found)
    expected = differences.expected(case)
    if expected is None or ("seedQuirk" in case and not has_whole_indexes(expected)):
        assert told is None
    else:
        assert told is not None
        assert told == {name: expected.get(name, DEFAULTS.get(name)) for name in told}


def has_whole_indexes(state: dict[str, Any]) -> bool:
    indexes = [segment["phaseIndex"] for segment in state["currentPath"]]
    return all(isinstance(index, int) and index >= 0 for index in indexes)


def as_entry(found: ForeignState) -> dict[str, Any]:
    return {
        "active": found["status"] == "active",
        "workflowKey": found["workflow"],
        "currentPath": [{"workflowKey": key, "phaseIndex": index} for key, index in found["path"]],
        "globalStepCount": found["steps"],
        "taskId": found["task_id"],
        "taskDescription": found["task"],
        "startedAt": round(found["started"] * 1000),
        "completionNotified": found["told"],
        "cancelled": found["status"] == "cancelled",
    }
