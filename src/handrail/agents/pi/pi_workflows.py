"""Reads the state that pi-workflows wrote into a session log of pi, so that Handrail can continue it.

Pure; standard library only. Checks the shape of the entries; does not read definitions.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from handrail.extensions.contracts.messages import ForeignState

ORIGIN = "pi-workflows"
STATE_ENTRY = "workflow:state"
_REQUIRED: dict[str, type] = {"workflowKey": str, "active": bool}
_OPTIONAL: dict[str, type] = {"taskId": str, "completionNotified": bool, "cancelled": bool}


def foreign_state(entries: Sequence[Any]) -> tuple[ForeignState | None, str | None]:
    """The newest state, and why it cannot be used; both are None if there is no entry. Older entries are outdated."""
    data = next((data for data in map(_state, reversed(entries)) if data is not None), None)
    if data is None:
        return None, None
    state = _adopted(data)
    return state, None if state else f"The state that {ORIGIN} stored here is damaged. Handrail leaves it."


def _state(entry: Any) -> dict[str, Any] | None:
    if not isinstance(entry, dict) or (entry.get("type"), entry.get("customType")) != ("custom", STATE_ENTRY):
        return None
    data = entry.get("data")
    return data if isinstance(data, dict) and data.get("workflowKey") is not None else None


def _adopted(data: dict[str, Any]) -> ForeignState | None:
    required = all(isinstance(data.get(name), kind) for name, kind in _REQUIRED.items())
    optional = all(isinstance(data[name], kind) for name, kind in _OPTIONAL.items() if name in data)
    path, started = _path(data), data.get("startedAt")
    if not (required and optional and path and _is_number(started)):
        return None
    steps = _non_negative_int(data.get("globalStepCount", path[0][1]))
    if steps is None:
        return None
    task = data.get("taskDescription")
    return {
        "origin": ORIGIN,
        "workflow": data["workflowKey"],
        "path": path,
        "status": "active" if data["active"] else "cancelled" if data.get("cancelled") else "done",
        "steps": steps,
        "task": task if isinstance(task, str) else "",
        "task_id": data.get("taskId", ""),
        "started": data["startedAt"] / 1000,
        "told": data.get("completionNotified", False),
    }


def _path(data: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    """The stack; empty if the entry is damaged. An old entry has one index, which becomes a stack of one."""
    segments = data.get("currentPath")
    if segments is None and "currentPhaseIndex" in data:
        segments = [{"workflowKey": data["workflowKey"], "phaseIndex": data["currentPhaseIndex"]}]
    path: list[tuple[str, int]] = []
    for segment in segments if isinstance(segments, list) else ():
        key = segment.get("workflowKey") if isinstance(segment, dict) else None
        index = _non_negative_int(segment.get("phaseIndex")) if isinstance(segment, dict) else None
        if not isinstance(key, str) or index is None:
            return ()
        path.append((key, index))
    return tuple(path)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _non_negative_int(value: Any) -> int | None:
    """The value as an int if it is a whole number >= 0, else None."""
    return int(value) if _is_number(value) and value >= 0 and value % 1 == 0 else None
