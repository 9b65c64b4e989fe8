"""Reads AgentWeaver's own state: saved flows, manifests of artifacts, routing. Only an import reads it.

Never writes, and trusts nothing: it reads regular files only, with limits. A file that cannot be used has a reason.
Also finds, by names and times only, what was not imported yet.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from handrail.base.dataclasses import dataclass
from handrail.base.files import Unreadable, entries, files_below, is_below, read_limited
from handrail.base.jsonlite import within
from handrail.driven.artifacts.names import is_key
from handrail.driven.artifacts.shelf import ArtifactVersion
from handrail.driven.flows.plan import path_segment
from handrail.settings.folders import file_name
from handrail.settings.routes import DEFAULT, Route
from handrail.settings.settings import GROUPS
from handrail.source.values import MAX_NESTING, is_too_deep

FOLDER = ".agentweaver"
SCOPES = os.path.join(FOLDER, "scopes")
INNER, ARCHIVES = ".artifacts", "restart-archives"
MAX_BYTES = 64 * 1024 * 1024


def read_object(path: str, most: int = MAX_BYTES) -> dict[str, Any]:
    """The JSON object in a file. Raises `Unreadable`."""
    try:
        data = json.loads(read_limited(path, most).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Unreadable("is not UTF-8") from error
    except RecursionError as error:
        raise Unreadable("is nested too deeply") from error
    except ValueError as error:
        raise Unreadable("is not JSON") from error
    if not isinstance(data, dict):
        raise Unreadable("is not a JSON object")
    if is_too_deep(data):
        raise Unreadable(f"is nested more than {MAX_NESTING} levels deep")
    return data


def text_of(data: dict[str, Any], name: str) -> str | None:
    """A member that is text; None if it is missing or something else."""
    value = data.get(name)
    return value if isinstance(value, str) and value else None


def objects_of(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a member that is a list."""
    value = data.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def moment_of(data: dict[str, Any], name: str) -> float | None:
    """A member that is a point in time, in seconds; None if it is none."""
    try:
        moment = datetime.fromisoformat(data[name])
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None


ROUTING_FILE = "execution-routing.json"
MAX_ROUTING_BYTES = 4 * 1024 * 1024
ROUTING_VERSION = 1


RouteSet = dict[str, Route] | str
"""Routes by group, with `default`; or why they cannot be used."""


def read_routing(path: str) -> dict[str, Any]:
    """The content of the file. Raises `Unreadable` if it cannot be used at all; a bad entry spoils no other."""
    data = read_object(path, MAX_ROUTING_BYTES)
    if data.get("version") != ROUTING_VERSION:
        raise Unreadable(f"has the version {data.get('version')!r}; version {ROUTING_VERSION} is known")
    return data


def routes_in(data: Any) -> RouteSet:
    """The routes of an object with a default route and groups."""
    routing = within(data)
    routes: dict[str, Route] = {}
    for group, entry in ((DEFAULT, routing.get("defaultRoute")), *within(routing, "groups").items()):
        agent = text_of(entry, "executor") if isinstance(entry, dict) else None
        if agent is None or (routes and group not in GROUPS):
            return f"its group `{group}` is not known or has no route" if routes else "it has no default route"
        route = Route(agent, text_of(entry, "model"))
        if route != routes.get(DEFAULT):
            routes[group] = route
    return routes


STATE_BEGIN, STATE_END = ".agentweaver-flow-state-", ".json"
STATE_VERSIONS = (1, 2, 3)
STATE_STATUSES = ("pending", "running", "blocked", "completed")
IMPLEMENTING = ("implement-flow", "bug-fix-flow")
"""The kinds of flows that do the stage `implementation` of a scope."""
STOPPED = "Stopped by "
"""The beginning of the reason `Stopped by PHASE:STEP`."""
DEEPEST = 8
"""How deep nested flows are looked at."""


@dataclass(frozen=True)
class BrokenFile:
    """A saved state or a manifest that cannot be used, and why."""

    path: str
    name: str
    why: str


@dataclass(frozen=True, kw_only=True)
class FlowState:
    """The saved state of one flow in one scope. `phases` are (id, status) in order.

    `routes` are the agents that it used; None if they are not known. `preset` is the name of their preset.
    `implemented` is when a flow that implements ended, as such or nested; None if none did.
    """

    path: str
    flow: str
    scope: str
    status: str
    kind: str
    run: str
    issue: str | None = None
    current: str | None = None
    error: str | None = None
    reason: str | None = None
    is_terminated: bool = False
    stop_phase: str | None = None
    phases: tuple[tuple[str, str], ...] = ()
    implemented: float | None = None
    routes: dict[str, Route] | None = None
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


def states_in(scope_folder: str) -> Iterator[FlowState | BrokenFile]:
    scope = os.path.basename(scope_folder)
    for entry in entries(os.path.join(scope_folder, INNER)):
        if entry.name.startswith(STATE_BEGIN) and entry.name.endswith(STATE_END):
            flow = unquote(entry.name[len(STATE_BEGIN) : -len(STATE_END)])
            try:
                if entry.is_symlink():
                    raise Unreadable("is a link")
                yield _state(entry.path, flow, scope, read_object(entry.path))
            except Unreadable as error:
                yield BrokenFile(entry.path, flow, error.message)


def _state(path: str, flow: str, scope: str, data: dict[str, Any]) -> FlowState:
    version, flow_id = data.get("schemaVersion", 1), text_of(data, "flowId")
    if isinstance(version, bool) or version not in STATE_VERSIONS:
        raise Unreadable(f"has the version {version!r}; versions {', '.join(map(str, STATE_VERSIONS))} are known")
    if flow_id != flow:
        raise Unreadable(f"is the state of the flow {flow_id!r}, not of the one in its name")
    status, run = text_of(data, "status"), within(data, "executionState")
    if status not in STATE_STATUSES:
        raise Unreadable(f"has the status {status!r}")
    phases = [(text_of(phase, "id"), text_of(phase, "status")) for phase in objects_of(run, "phases")]
    reason = text_of(run, "terminationReason")
    stopped_by = reason[len(STOPPED) :].partition(":")[0] if reason and reason.startswith(STOPPED) else None
    routes = routes_in(within(data, "executionRouting") or {"defaultRoute": data.get("launchProfile")})
    return FlowState(
        path=path,
        flow=flow,
        scope=scope,
        status=status,
        kind=text_of(run, "flowKind") or "",
        run=text_of(run, "publicationRunId") or "unknown",
        issue=text_of(data, "jiraRef"),
        current=text_of(data, "currentStep"),
        error=text_of(within(data, "lastError"), "message"),
        reason=reason,
        is_terminated=run.get("terminated") is True,
        stop_phase=text_of(within(data, "continuation"), "stopPhaseId") or stopped_by,
        phases=tuple((id_, status or "pending") for id_, status in phases if id_ is not None),
        implemented=max(_finish_times(run, DEEPEST), default=None),
        routes=routes if isinstance(routes, dict) else None,
        preset=text_of(within(data, "selectedRoutingPreset"), "presetId"),
    )


def _finish_times(run: dict[str, Any], deep: int) -> Iterator[float]:
    """When flows that implement ended: every phase is done or skipped, and at least one is done."""
    phases = objects_of(run, "phases")
    states = [phase.get("status") for phase in phases]
    if run.get("flowKind") in IMPLEMENTING and "done" in states and all(one in ("done", "skipped") for one in states):
        yield from [time for phase in phases if (time := moment_of(phase, "finishedAt")) is not None]
    for step in (step for phase in phases for step in objects_of(phase, "steps") if deep):
        yield from _finish_times(within(step, "value", "executionState"), deep - 1)


MANIFEST_END = ".manifest.json"
HISTORY = "manifest-history"
INDEX = "artifact-index.json"
MAX_MANIFEST_BYTES = 1024 * 1024
MAX_VERSION = 10**6
ORIGIN = "agentweaver"
MAX_RUN_NAME = 100
_HASH = re.compile(r"sha256:([0-9a-f]{64})\Z")


def made_by(run: str, phase: str, step: str) -> tuple[str, str]:
    """The run and the step of an artifact, in the form of Handrail."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", run)[:MAX_RUN_NAME]
    return f"{ORIGIN}:{name}", f"{path_segment(phase)}/{path_segment(step)}"


def scope_files(folder: str) -> Iterator[os.DirEntry[str]]:
    """The files of a scope or of all scopes, without archives and the copies of manifests."""
    return files_below(folder, without=(ARCHIVES, HISTORY))


def manifests_in(scope_folder: str) -> Iterator[ArtifactVersion | BrokenFile]:
    """What AgentWeaver recorded about artifacts: the manifests beside their files first. Archives are left out.

    `path` is the whole path of the file now; ids and inputs are those of AgentWeaver.
    """
    manifests = [(entry, entry.path.removesuffix(MANIFEST_END)) for entry in scope_files(scope_folder)]
    copies = [(entry, None) for entry in files_below(os.path.join(scope_folder, INNER, HISTORY))]
    for entry, payload in (*manifests, *copies):
        if entry.name.endswith(MANIFEST_END):
            try:
                yield _manifest(scope_folder, payload, read_object(entry.path, MAX_MANIFEST_BYTES))
            except Unreadable as error:
                yield BrokenFile(entry.path, entry.name, error.message)


def _manifest(scope_folder: str, payload: str | None, data: dict[str, Any]) -> ArtifactVersion:
    def required_text(name: str) -> str:
        text = text_of(data, name)
        if text is None:
            raise Unreadable(f"has no `{name}`")
        return text

    version, created = data.get("version"), moment_of(data, "created_at")
    digest = _HASH.match(required_text("content_hash"))
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= MAX_VERSION:
        raise Unreadable("has no valid `version`")
    if created is None or digest is None:
        raise Unreadable(f"has no valid `{'content_hash' if digest is None else 'created_at'}`")
    if not is_key(required_text("logical_key")):
        raise Unreadable("has no valid `logical_key`")
    if required_text("scope") != os.path.basename(scope_folder):
        raise Unreadable("belongs to another scope")
    run, step = made_by(*(text_of(data, name) or "unknown" for name in ("run_id", "phase_id", "step_id")))
    return ArtifactVersion(
        id=required_text("artifact_id"),
        scope=required_text("scope"),
        key=required_text("logical_key"),
        version=version,
        name=required_text("logical_key"),
        path=payload or _present_path(required_text("payload_path"), scope_folder),
        sha256=digest[1],
        run=run,
        step=step,
        schema=required_text("schema_id"),
        family=required_text("payload_family"),
        created=created,
        inputs=tuple(id_ for one in objects_of(data, "inputs") if (id_ := text_of(one, "artifact_id")) is not None),
    )


def _present_path(recorded_path: str, scope_folder: str) -> str:
    """Where a file is now whose path was recorded, perhaps when the project was in another folder."""
    mark = f"/{SCOPES}/{os.path.basename(scope_folder)}/"
    _, mark_text, relative = f"/{recorded_path}".rpartition(mark)
    path = os.path.normpath(os.path.join(scope_folder, relative))
    if not mark_text or "\0" in path or not is_below(path, scope_folder):
        raise Unreadable("has a `payload_path` outside of its scope")
    return path


def import_mark(state: str, folder: str) -> str:
    """The file whose time says when an import last looked at a project or a home folder. `state` is Handrail's."""
    return os.path.join(state, "imported", file_name(folder))


def not_imported(state: str, folder: str, files: Iterable[os.DirEntry[str]]) -> list[str]:
    """The paths of those files of a project or a home folder that AgentWeaver saved after its last import."""
    try:
        imported_at = os.stat(import_mark(state, folder)).st_mtime
    except OSError:
        imported_at = 0.0
    return [
        one.path
        for one in files
        if (one.name.startswith(STATE_BEGIN) or one.name.endswith(MANIFEST_END) or one.name == ROUTING_FILE)
        and one.stat(follow_symlinks=False).st_mtime > imported_at
    ]
