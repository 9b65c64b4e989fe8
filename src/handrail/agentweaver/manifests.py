"""The manifests that AgentWeaver wrote beside the artifacts of a scope, and their history."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from handrail.agentweaver.reading import (
    ARCHIVES,
    INNER,
    SCOPES,
    Broken,
    files_below,
    moment_of,
    object_of,
    objects_of,
    read_object,
    text_of,
)
from handrail.artifacts.names import is_key
from handrail.source.dataclasses import dataclass
from handrail.state.files import is_below

END = ".manifest.json"
HISTORY = "manifest-history"
INDEX = "artifact-index.json"
MAX_BYTES = 1024 * 1024
MAX_VERSION = 10**6
_HASH = re.compile(r"sha256:([0-9a-f]{64})\Z")


@dataclass(frozen=True, kw_only=True)
class Manifest:
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


def manifests_in(scope_folder: str) -> Iterator[Manifest | BrokenManifest]:
    """The manifests of a scope, those beside their files first. Archives are left out."""
    inner = os.path.join(scope_folder, INNER)
    for entry in files_below(scope_folder, without=(ARCHIVES, HISTORY)):
        if entry.name.endswith(END):
            yield _read(entry.path, scope_folder, entry.path[: -len(END)])
    for entry in files_below(os.path.join(inner, HISTORY)):
        if entry.name.endswith(END):
            yield _read(entry.path, scope_folder, None)


def sidecar_of(path: str, scope_folder: str) -> Manifest | None:
    """The manifest beside a file, if there is one that can be used."""
    if not os.path.lexists(path + END):
        return None
    found = _read(path + END, scope_folder, path)
    return found if isinstance(found, Manifest) else None


def _read(path: str, scope_folder: str, payload: str | None) -> Manifest | BrokenManifest:
    try:
        return _manifest(path, scope_folder, payload, read_object(path, MAX_BYTES))
    except Broken as error:
        return BrokenManifest(path, error.message)


def _manifest(path: str, scope_folder: str, payload: str | None, data: dict[str, Any]) -> Manifest:
    def needed(name: str) -> str:
        found = text_of(data, name)
        if found is None:
            raise Broken(f"has no `{name}`")
        return found

    version, created = data.get("version"), moment_of(data, "created_at")
    digest = _HASH.match(needed("content_hash"))
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= MAX_VERSION:
        raise Broken("has no valid `version`")
    if created is None or digest is None:
        raise Broken(f"has no valid `{'content_hash' if digest is None else 'created_at'}`")
    if not is_key(needed("logical_key")):
        raise Broken("has no valid `logical_key`")
    if needed("scope") != os.path.basename(scope_folder):
        raise Broken("belongs to another scope")
    return Manifest(
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
        raise Broken("has a `payload_path` outside of its scope")
    return path
