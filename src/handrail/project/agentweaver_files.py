"""Reads what AgentWeaver leaves on the disk: states of flows, manifests, routing.

Never writes, and trusts nothing: it reads regular files only, with limits. A file that cannot be used has a reason.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from handrail.base.dataclasses import dataclass, field
from handrail.base.files import Unreadable, is_below, read_limited
from handrail.driven.artifacts.names import is_key
from handrail.settings.routes import DEFAULT, Route
from handrail.settings.settings import GROUPS
from handrail.source.values import MAX_NESTING, is_too_deep

FOLDER = ".agentweaver"
SCOPES = os.path.join(FOLDER, "scopes")
INNER = ".artifacts"
ARCHIVES = "restart-archives"
MAX_BYTES = 64 * 1024 * 1024
MAX_ENTRIES = 20_000
"""How many files of one folder are looked at."""


class BrokenFile(Exception):
    """A file cannot be used. The message says why, without its path: "is not JSON"."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def read_object(path: str, most: int = MAX_BYTES) -> dict[str, Any]:
    """The JSON object in a file. Raises `BrokenFile`."""
    try:
        data = json.loads(read_limited(path, most).decode("utf-8"))
    except Unreadable as error:
        raise BrokenFile(error.message) from error
    except UnicodeDecodeError as error:
        raise BrokenFile("is not UTF-8") from error
    except RecursionError as error:
        raise BrokenFile("is nested too deeply") from error
    except ValueError as error:
        raise BrokenFile("is not JSON") from error
    if not isinstance(data, dict):
        raise BrokenFile("is not a JSON object")
    if is_too_deep(data):
        raise BrokenFile(f"is nested more than {MAX_NESTING} levels deep")
    return data


def entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder, by name. Empty if there is no folder, or if it is a link. At most `MAX_ENTRIES`."""
    if os.path.islink(folder):
        return []
    try:
        with os.scandir(folder) as found:
            return sorted((entry for entry, _ in zip(found, range(MAX_ENTRIES), strict=False)), key=lambda e: e.name)
    except OSError:
        return []


def files_below(folder: str, *, without: tuple[str, ...] = ()) -> Iterator[os.DirEntry[str]]:
    """The regular files in a folder and below. Links are not followed. `without` are names of folders to leave out."""
    waiting, left = [folder], MAX_ENTRIES
    while waiting:
        for entry in entries(waiting.pop()):
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in without:
                    waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                left -= 1
                if left < 0:
                    return
                yield entry


def text_of(data: dict[str, Any], name: str) -> str | None:
    """A member that is text; None if it is missing or something else."""
    value = data.get(name)
    return value if isinstance(value, str) and value else None


def object_of(data: dict[str, Any], name: str) -> dict[str, Any]:
    """A member that is an object; empty if it is missing or something else."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def objects_of(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a member that is a list."""
    value = data.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def moment_of(data: dict[str, Any], name: str) -> float | None:
    """A member that is a point in time, in seconds; None if it is none."""
    try:
        found = datetime.fromisoformat(data[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    try:
        return found.timestamp()
    except (OverflowError, OSError, ValueError):
        return None


ROUTING_FILE = "execution-routing.json"
MAX_ROUTING_BYTES = 4 * 1024 * 1024
ROUTING_VERSION = 1


@dataclass(frozen=True)
class RouteSet:
    """A set of routes by group, with `default`; or why it cannot be used."""

    routes: dict[str, Route] = field(default_factory=dict)
    why: str | None = None


@dataclass(frozen=True)
class Routing:
    """All that the file has. Flows are `built-in:ID`, `global:PATH` or `project-local:PATH`."""

    presets: dict[str, RouteSet]
    flows: dict[str, RouteSet]
    last_used: tuple[str, ...]


def read_routing(path: str) -> Routing:
    """The content of the file. Raises `BrokenFile` if it cannot be used at all; a bad entry spoils no other."""
    data = read_object(path, MAX_ROUTING_BYTES)
    if data.get("version") != ROUTING_VERSION:
        raise BrokenFile(f"has the version {data.get('version')!r}; version {ROUTING_VERSION} is known")
    presets = {name: _route_set(entry) for name, entry in object_of(data, "namedPresets").items()}
    flows = {name: _route_set(entry) for name, entry in object_of(data, "flowDefaults").items()}
    return Routing(presets, flows, tuple(object_of(data, "lastUsedByFlow")))


def _route_set(data: Any) -> RouteSet:
    return routes_in(object_of(data, "routing") if isinstance(data, dict) else {})


def routes_in(routing: dict[str, Any]) -> RouteSet:
    """The routes of an object with a default route and groups."""
    default = _route(routing.get("defaultRoute"))
    if default is None:
        return RouteSet(why="it has no default route")
    found = {DEFAULT: default}
    for group, given in object_of(routing, "groups").items():
        route = _route(given)
        if group not in GROUPS or route is None:
            return RouteSet(why=f"its group `{group}` is not known or has no route")
        if route != default:
            found[group] = route
    return RouteSet(found)


def _route(data: Any) -> Route | None:
    agent = text_of(data, "executor") if isinstance(data, dict) else None
    return None if agent is None else Route(agent, text_of(data, "model"))


STATE_BEGIN, STATE_END = ".agentweaver-flow-state-", ".json"
STATE_VERSIONS = (1, 2, 3)
STATE_STATUSES = ("pending", "running", "blocked", "completed")
DEEPEST = 8
"""How deep nested flows are looked at."""


@dataclass(frozen=True)
class EndedFlow:
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
    done: tuple[EndedFlow, ...] = ()
    routes: RouteSet | None = None
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
        if entry.name.startswith(STATE_BEGIN) and entry.name.endswith(STATE_END):
            flow = unquote(entry.name[len(STATE_BEGIN) : -len(STATE_END)])
            try:
                if entry.is_symlink():
                    raise BrokenFile("is a link")
                yield _state(entry.path, flow, scope, read_object(entry.path))
            except BrokenFile as error:
                yield BrokenState(entry.path, flow, error.message)


def _state(path: str, flow: str, scope: str, data: dict[str, Any]) -> FlowState:
    version, named = data.get("schemaVersion", 1), text_of(data, "flowId")
    if isinstance(version, bool) or version not in STATE_VERSIONS:
        raise BrokenFile(f"has the version {version!r}; versions {', '.join(map(str, STATE_VERSIONS))} are known")
    if named != flow:
        raise BrokenFile(f"is the state of the flow {named!r}, not of the one in its name")
    status, run = text_of(data, "status"), object_of(data, "executionState")
    if status not in STATE_STATUSES:
        raise BrokenFile(f"has the status {status!r}")
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
        done=tuple(_ended_flows(run, DEEPEST)),
        routes=_routes(data),
        preset=text_of(object_of(data, "selectedRoutingPreset"), "presetId"),
    )


def _routes(data: dict[str, Any]) -> RouteSet | None:
    if routing := object_of(data, "executionRouting"):
        return routes_in(routing)
    profile = object_of(data, "launchProfile")
    return routes_in({"defaultRoute": profile}) if profile else None


def _phase_in(reason: str | None) -> str | None:
    """The phase in `Stopped by PHASE:STEP`."""
    begin = "Stopped by "
    return reason[len(begin) :].partition(":")[0] if reason is not None and reason.startswith(begin) else None


def _ended_flows(run: dict[str, Any], deep: int) -> Iterator[EndedFlow]:
    """The flows in a state of which every phase is done or skipped, and at least one is done."""
    phases = objects_of(run, "phases")
    states = [phase.get("status") for phase in phases]
    times = [time for phase in phases if (time := moment_of(phase, "finishedAt")) is not None]
    if "done" in states and all(status in ("done", "skipped") for status in states):
        yield EndedFlow(text_of(run, "flowKind") or "", max(times, default=None))
    for step in (step for phase in phases for step in objects_of(phase, "steps") if deep):
        yield from _ended_flows(object_of(object_of(step, "value"), "executionState"), deep - 1)


MANIFEST_END = ".manifest.json"
HISTORY = "manifest-history"
INDEX = "artifact-index.json"
MAX_MANIFEST_BYTES = 1024 * 1024
MAX_VERSION = 10**6
_HASH = re.compile(r"sha256:([0-9a-f]{64})\Z")


@dataclass(frozen=True, kw_only=True)
class ArtifactManifest:
    """What AgentWeaver recorded about one version of an artifact. `payload` is the path of its file now."""

    path: str
    id: str
    key: str
    scope: str
    version: int
    run: str
    flow: str
    phase: str
    step: str
    schema: str
    family: str
    created: float
    sha256: str
    payload: str
    status: str
    inputs: tuple[str, ...] = ()
    producer: str | None = None


@dataclass(frozen=True)
class BrokenManifest:
    """A manifest that cannot be used, and why."""

    path: str
    why: str


def manifests_in(scope_folder: str) -> Iterator[ArtifactManifest | BrokenManifest]:
    """The manifests of a scope, those beside their files first. Archives are left out."""
    inner = os.path.join(scope_folder, INNER)
    for entry in files_below(scope_folder, without=(ARCHIVES, HISTORY)):
        if entry.name.endswith(MANIFEST_END):
            yield _read_manifest(entry.path, scope_folder, entry.path[: -len(MANIFEST_END)])
    for entry in files_below(os.path.join(inner, HISTORY)):
        if entry.name.endswith(MANIFEST_END):
            yield _read_manifest(entry.path, scope_folder, None)


def sidecar_of(path: str, scope_folder: str) -> ArtifactManifest | None:
    """The manifest beside a file, if there is one that can be used."""
    if not os.path.lexists(path + MANIFEST_END):
        return None
    found = _read_manifest(path + MANIFEST_END, scope_folder, path)
    return found if isinstance(found, ArtifactManifest) else None


def _read_manifest(path: str, scope_folder: str, payload: str | None) -> ArtifactManifest | BrokenManifest:
    try:
        return _manifest(path, scope_folder, payload, read_object(path, MAX_MANIFEST_BYTES))
    except BrokenFile as error:
        return BrokenManifest(path, error.message)


def _manifest(path: str, scope_folder: str, payload: str | None, data: dict[str, Any]) -> ArtifactManifest:
    def needed(name: str) -> str:
        found = text_of(data, name)
        if found is None:
            raise BrokenFile(f"has no `{name}`")
        return found

    version, created = data.get("version"), moment_of(data, "created_at")
    digest = _HASH.match(needed("content_hash"))
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= MAX_VERSION:
        raise BrokenFile("has no valid `version`")
    if created is None or digest is None:
        raise BrokenFile(f"has no valid `{'content_hash' if digest is None else 'created_at'}`")
    if not is_key(needed("logical_key")):
        raise BrokenFile("has no valid `logical_key`")
    if needed("scope") != os.path.basename(scope_folder):
        raise BrokenFile("belongs to another scope")
    return ArtifactManifest(
        path=path,
        id=needed("artifact_id"),
        key=needed("logical_key"),
        scope=needed("scope"),
        version=version,
        run=text_of(data, "run_id") or "unknown",
        flow=text_of(data, "flow_id") or "unknown",
        phase=text_of(data, "phase_id") or "unknown",
        step=text_of(data, "step_id") or "unknown",
        schema=needed("schema_id"),
        family=needed("payload_family"),
        created=created,
        sha256=digest[1],
        payload=payload or _moved(needed("payload_path"), scope_folder),
        status=text_of(data, "status") or "ready",
        inputs=tuple(id_ for one in objects_of(data, "inputs") if (id_ := text_of(one, "artifact_id")) is not None),
        producer=text_of(object_of(data, "producer"), "node"),
    )


def _moved(recorded: str, scope_folder: str) -> str:
    """Where a file is now whose path was recorded, perhaps when the project was in another folder."""
    mark = f"/{SCOPES}/{os.path.basename(scope_folder)}/"
    _, found, below = f"/{recorded}".rpartition(mark)
    path = os.path.normpath(os.path.join(scope_folder, below))
    if not found or "\0" in path or not is_below(path, scope_folder):
        raise BrokenFile("has a `payload_path` outside of its scope")
    return path
