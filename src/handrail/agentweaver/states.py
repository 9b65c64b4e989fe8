"""The states of flows that AgentWeaver saved, in its versions 1 to 3."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from handrail.agentweaver.reading import (
    INNER,
    Broken,
    entries,
    moment_of,
    object_of,
    objects_of,
    read_object,
    text_of,
)
from handrail.agentweaver.routing import Entry, routes_in
from handrail.source.dataclasses import dataclass

BEGIN, END = ".agentweaver-flow-state-", ".json"
VERSIONS = (1, 2, 3)
STATUSES = ("pending", "running", "blocked", "completed")
DEEPEST = 8
"""How deep nested flows are looked at."""


@dataclass(frozen=True)
class Ended:
    """A flow that was run to its end, as such or nested: its kind, and when it ended."""

    kind: str
    time: float | None


@dataclass(frozen=True, kw_only=True)
class FlowState:
    """The saved state of one flow in one scope. `phases` are (id, status) in order; `done` are flows that ended.

    `routes` are the agents that it used; None if it says nothing about them. `preset` is the name of their preset.
    """

    path: str
    version: int
    flow: str
    scope: str
    status: str
    kind: str
    issue: str | None = None
    current: str | None = None
    updated: float | None = None
    error: str | None = None
    reason: str | None = None
    is_terminated: bool = False
    stop_phase: str | None = None
    phases: tuple[tuple[str, str], ...] = ()
    done: tuple[Ended, ...] = ()
    routes: Entry | None = None
    preset: str | None = None

    @property
    def has_ended(self) -> bool:
        return self.status == "completed" or self.is_terminated

    @property
    def next_phase(self) -> str | None:
        """The phase to go on with: where a stopped flow stopped, else the first phase that is not done."""
        if self.status == "completed" and not self.is_terminated:
            return None
        if self.is_terminated:
            return self.stop_phase
        return next((id_ for id_, status in self.phases if status not in ("done", "skipped")), None)


@dataclass(frozen=True)
class BrokenState:
    """A saved state that cannot be used, and why."""

    path: str
    flow: str
    why: str


def states_in(scope_folder: str) -> Iterator[FlowState | BrokenState]:
    """The saved states of a scope."""
    scope = os.path.basename(scope_folder)
    for entry in entries(os.path.join(scope_folder, INNER)):
        if entry.name.startswith(BEGIN) and entry.name.endswith(END):
            flow = unquote(entry.name[len(BEGIN) : -len(END)])
            try:
                if entry.is_symlink():
                    raise Broken("is a link")
                yield _state(entry.path, flow, scope, read_object(entry.path))
            except Broken as error:
                yield BrokenState(entry.path, flow, error.message)


def _state(path: str, flow: str, scope: str, data: dict[str, Any]) -> FlowState:
    version, named = data.get("schemaVersion", 1), text_of(data, "flowId")
    if isinstance(version, bool) or version not in VERSIONS:
        raise Broken(f"has the version {version!r}; versions {', '.join(map(str, VERSIONS))} are known")
    if named != flow:
        raise Broken(f"is the state of the flow {named!r}, not of the one in its name")
    status, run = text_of(data, "status"), object_of(data, "executionState")
    if status not in STATUSES:
        raise Broken(f"has the status {status!r}")
    phases = [(text_of(phase, "id"), text_of(phase, "status")) for phase in objects_of(run, "phases")]
    reason = text_of(run, "terminationReason")
    return FlowState(
        path=path,
        version=int(version),
        flow=flow,
        scope=scope,
        status=status,
        kind=text_of(run, "flowKind") or "",
        issue=text_of(data, "jiraRef"),
        current=text_of(data, "currentStep"),
        updated=moment_of(data, "updatedAt"),
        error=text_of(object_of(data, "lastError"), "message"),
        reason=reason,
        is_terminated=run.get("terminated") is True,
        stop_phase=text_of(object_of(data, "continuation"), "stopPhaseId") or _phase_in(reason),
        phases=tuple((id_, status or "pending") for id_, status in phases if id_ is not None),
        done=tuple(_ended(run, DEEPEST)),
        routes=_routes(data),
        preset=text_of(object_of(data, "selectedRoutingPreset"), "presetId"),
    )


def _routes(data: dict[str, Any]) -> Entry | None:
    if routing := object_of(data, "executionRouting"):
        return routes_in(routing)
    profile = object_of(data, "launchProfile")
    return routes_in({"defaultRoute": profile}) if profile else None


def _phase_in(reason: str | None) -> str | None:
    """The phase in `Stopped by PHASE:STEP`."""
    begin = "Stopped by "
    return reason[len(begin) :].partition(":")[0] if reason is not None and reason.startswith(begin) else None


def _ended(run: dict[str, Any], deep: int) -> Iterator[Ended]:
    """The flows in a state of which every phase is done or skipped, and at least one is done."""
    phases = objects_of(run, "phases")
    states = [phase.get("status") for phase in phases]
    times = [time for phase in phases if (time := moment_of(phase, "finishedAt")) is not None]
    if "done" in states and all(status in ("done", "skipped") for status in states):
        yield Ended(text_of(run, "flowKind") or "", max(times, default=None))
    for step in (step for phase in phases for step in objects_of(phase, "steps") if deep):
        yield from _ended(object_of(object_of(step, "value"), "executionState"), deep - 1)
