"""Reads the state that pi-workflows wrote into a session log of pi, so that Handrail can continue it.

Pure; standard library only. Checks the shape of the entries; does not read definitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handrail.base.dataclasses import dataclass
from handrail.extensions.contracts.messages import ForeignState

STATE_ENTRY = "workflow:state"
_REQUIRED: dict[str, type] = {"workflowKey": str, "active": bool}
_OPTIONAL: dict[str, type] = {"taskId": str, "completionNotified": bool, "cancelled": bool}


@dataclass(frozen=True, kw_only=True)
class PiSessionState:
    """The state of a session. `path` is the stack of (workflow key, index), the top level first."""

    workflow: str
    path: tuple[tuple[str, int], ...]
    steps: int
    task: str
    task_id: str
    started: float
    active: bool
    cancelled: bool
    told: bool


ORIGIN = "pi-workflows"


def foreign_state(entries: Sequence[Any]) -> tuple[ForeignState | None, str | None]:
    """The state for a request, and why the newest entry cannot be used; both are None if there is no entry."""
    found = newest_state(entries)
    if found is None:
        is_damaged = any(_state(entry) is not None for entry in entries)
        return None, f"The state that {ORIGIN} stored here is damaged. Handrail leaves it." if is_damaged else None
    return {
        "origin": ORIGIN,
        "workflow": found.workflow,
        "path": found.path,
        "status": "active" if found.active else "cancelled" if found.cancelled else "done",
        "steps": found.steps,
        "task": found.task,
        "task_id": found.task_id,
        "started": found.started,
        "told": found.told,
    }, None


def newest_state(entries: Sequence[Any]) -> PiSessionState | None:
    """The state of the newest state entry; None if it is damaged or there is none. Older entries are outdated."""
    for entry in reversed(entries):
        if (data := _state(entry)) is not None:
            return _adopted(data)
    return None


def _state(entry: Any) -> dict[str, Any] | None:
    if not isinstance(entry, dict) or (entry.get("type"), entry.get("customType")) != ("custom", STATE_ENTRY):
        return None
    data = entry.get("data")
    return data if isinstance(data, dict) and data.get("workflowKey") is not None else None


def _adopted(data: dict[str, Any]) -> PiSessionState | None:
    required = all(isinstance(data.get(name), kind) for name, kind in _REQUIRED.items())
    optional = all(isinstance(data[name], kind) for name, kind in _OPTIONAL.items() if name in data)
    path, started = _path(data), data.get("startedAt")
    if not (required and optional and path and _is_number(started)):
        return None
    steps = _non_negative_int(data.get("globalStepCount", path[0][1]))
    if steps is None:
        return None
    task = data.get("taskDescription")
    return PiSessionState(
        workflow=data["workflowKey"],
        path=path,
        steps=steps,
        task=task if isinstance(task, str) else "",
        task_id=data.get("taskId", ""),
        started=data["startedAt"] / 1000,
        active=data["active"],
        cancelled=data.get("cancelled", False),
        told=data.get("completionNotified", False),
    )


def _path(data: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    """The stack; empty if the entry is damaged. An old entry has one index, which becomes a stack of one."""
    segments = data.get("currentPath")
    if segments is None and "currentPhaseIndex" in data:
        segments = [{"workflowKey": data["workflowKey"], "phaseIndex": data["currentPhaseIndex"]}]
    if not isinstance(segments, list):
        return ()
    path: list[tuple[str, int]] = []
    for segment in segments:
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
