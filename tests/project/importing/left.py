"""Writes what AgentWeaver leaves on the disk, in the formats of its version 0.1.18."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROUTE = {"executor": "codex", "model": "gpt-5.4"}
OTHER = {"executor": "opencode", "model": "p/m"}
GROUPS = ("planning", "design-review", "implementation", "review", "repair-loop", "local-fix-loop")


def scope_folder(project: Path, scope: str) -> Path:
    return project / ".agentweaver" / "scopes" / scope


def put(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def state(project: Path, scope: str, flow: str, **changes: Any) -> Path:
    """The state of a flow. Members of `executionState` are given as `run_NAME`."""
    run = {name[4:]: value for name, value in changes.items() if name.startswith("run_")}
    own = {name: value for name, value in changes.items() if not name.startswith("run_")}
    execution = {
        "publicationRunId": "8f14e45f-ceea-467f-9d2b-0a7b8e2f0001",
        "flowKind": f"{flow}-flow",
        "flowVersion": 1,
        "terminated": False,
        "phases": [],
        **run,
    }
    data = {
        "schemaVersion": 3,
        "flowId": flow,
        "scopeKey": scope,
        "jiraRef": "ABC-1",
        "status": "blocked",
        "currentStep": None,
        "updatedAt": "2026-01-02T03:04:05.678Z",
        "lastError": None,
        "continuation": {"continueEligible": False},
        "executionState": execution,
        **own,
    }
    name = f".agentweaver-flow-state-{quote(flow, safe='')}.json"
    return put(scope_folder(project, scope) / ".artifacts" / name, data)


def phase(id_: str, status: str, **step: Any) -> dict[str, Any]:
    time = {"finishedAt": "2026-01-02T03:00:00.000Z"} if status == "done" else {}
    return {"id": id_, "status": status, "repeatVars": {}, **time, "steps": [{"id": "s", "status": status, **step}]}


def artifact(project: Path, scope: str, name: str, text: str, **changes: Any) -> Path:
    """A file of a scope, its manifest beside it, and the copy in the history."""
    folder = scope_folder(project, scope)
    path = put(folder / name, text)
    key = name.replace(f"-{scope}-1", "").replace(f"-{scope}-2", "").removeprefix(".")
    version = changes.pop("version", 1)
    data = {
        "artifact_id": f"{scope}:{key}:v{version}",
        "logical_key": key,
        "scope": scope,
        "run_id": "run-7",
        "flow_id": "plan-flow",
        "phase_id": "plan",
        "step_id": "run_plan",
        "kind": "artifact",
        "version": version,
        "payload_family": "markdown",
        "schema_id": "markdown/v1",
        "schema_version": 1,
        "created_at": f"2026-01-02T03:04:0{version}.000Z",
        "producer": {"node": "llm-prompt"},
        "inputs": [],
        "content_hash": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",
        "status": "ready",
        "payload_path": f"/somewhere/else/.agentweaver/scopes/{scope}/{name}",
        "manifest_path": "x",
        "publication_key": f"p:plan-flow:plan:run_plan:{key}",
        **changes,
    }
    history = folder / ".artifacts" / "manifest-history"
    put(history / f"{quote(data['artifact_id'], safe='')}.manifest.json", data)
    put(Path(f"{path}.manifest.json"), data)
    return path


def routes(default: dict[str, str], **groups: dict[str, str]) -> dict[str, Any]:
    every = {group: groups.get(group.replace("-", "_"), default) for group in GROUPS}
    routing = {"defaultRoute": default, "groups": every, "fingerprint": "x"}
    return {"routing": routing, "selectedPreset": {"kind": "custom", "label": "x"}, "updatedAt": "2026-01-01T00:00:00Z"}


def digest(*folders: Path) -> dict[str, tuple[str, int, int]]:
    """The content, the mode and the time of everything below these folders."""
    found = {}
    for folder in folders:
        for path in [folder, *folder.rglob("*")]:
            seen = os.lstat(path)
            is_file = path.is_file() and not path.is_symlink()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if is_file else os.path.realpath(path)
            found[str(path)] = (content, seen.st_mode, seen.st_mtime_ns)
    return found
