"""One document of each kind of file that uses nearly every key, and the problems that Handrail finds in a document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from handrail.driven.flows.load import load_flow
from handrail.driven.flows.load_state import FlowResources
from handrail.extensions.declarations import check_declarations, node_declarations
from handrail.extensions.registry import Registry
from handrail.guided.workflows.load import load
from handrail.settings.settings import read_settings
from handrail.source.definition_files import Root, Source
from handrail.source.diagnostics import Diagnostic

PHASE = "---\nid: {id}\nname: {id}\nemoji: x\n---\nDo it.\n"
_COMMAND = {
    "id": "s",
    "node": "command",
    "params": {"argv": ["make"], "mayFail": True},
    "expect": [{"file": "x.md"}, {"kind": "run", "command": "make", "message": "no"}],
    "makes": ["o.md", {"path": "p.md", "name": "p"}],
    "retry": {"attempts": 2, "wait": 1},
    "timeout": 3,
    "rerun": "ask",
    "after": [{"kind": "set-summary-from-file", "path": "o.md"}],
}
_ASK = {
    "id": "t",
    "node": "llm-prompt",
    "routingGroup": "review",
    "prompt": {"inlineTemplate": "hi {x}", "vars": {"x": "1"}},
}
_TEXT = {"id": "v", "node": "write-file", "params": {"path": "a.md", "text": {"concat": ["a", "b"]}}}
_REPEAT = {
    "repeat": {"var": "i", "max": 2, "until": {"equals": ["${params.a}", 1]}, "onExhausted": "continue"},
    "phases": [{"id": "b-${i}", "parallel": 2, "steps": [_ASK]}],
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "flow": {
        "description": "x",
        "params": {"a": 1, "b": {"required": True, "about": "z"}},
        "constants": {"k": 3},
        "env": ["HOME"],
        "timeout": 9,
        "phases": [
            {"id": "a", "when": "${params.a}", "steps": [_COMMAND]},
            _REPEAT,
            {"parallel": {"limit": 2, "onFailure": "finish"}, "phases": [{"id": "c", "steps": [_TEXT]}]},
        ],
    },
    "settings": {
        "idleStops": 3,
        "sameFailures": 3,
        "agent": "claude",
        "acp": {"goose": {"command": ["goose", "acp"], "passEnv": ["A"], "modes": {"read": "plan"}, "auth": "x"}},
        "routes": {"review": "codex"},
        "presets": {"p": {"default": "claude"}},
        "passEnv": ["JAVA"],
        "secrets": {"add": ["A_*"], "except": ["B"]},
        "prune": {"olderThan": "30d", "keep": 3},
        "limits": {"usd": 5, "minutes": 1.5, "tokens": 3},
        "check": ["make", "test"],
        "approve": ["git-push", {"effect": "git-push", "where": {"branch": "x"}}],
        "agentLogins": True,
        "notify": ["bell", "desktop", {"command": ["say", "it"]}, {"webhook": "https://example.com/x"}],
        "worktree": {"setup": [["npm", "ci"]], "copy": [".env"], "folder": "/x"},
    },
    "workflow": {
        "name": "x",
        "commandName": "x",
        "initialMessage": "y",
        "phases": ["plan.md", "build.md", {"subworkflow": "z"}],
        "show": "user",
        "loopable": True,
        "sessionNameMaxLength": 3,
        "roleInstruction": "r",
    },
    "phase": {
        "id": "plan",
        "name": "P",
        "emoji": "x",
        "tools": {"blacklist": ["edit"]},
        "availableProfiles": ["a"],
        "exit": [
            {"file": "a.md", "name": "n"},
            {"run": ["make", "test"], "timeout": 3},
            {"kind": "run", "command": "m"},
        ],
        "require": "hard",
    },
}
_VALUES: tuple[Any, ...] = (None, 3, -1, 2.5, 10**9, "", "text", "${params.a}", True, [], [3], {}, {"x": 1})
_KNOWN = FlowResources(nodes=node_declarations(Registry()), checks=check_declarations(Registry()))


def changed(document: Any) -> Iterator[tuple[str, Any]]:
    """The document with one change: a value that is another one, a key that is missing, misspelt or new."""
    for path in _paths(document):
        place = ".".join(map(str, path))
        for value in _VALUES:
            other, parent = _copy(document, path)
            parent[path[-1]] = value
            yield f"{place} = {value}", other
        other, parent = _copy(document, path)
        removed = parent.pop(path[-1])
        yield f"no {place}", other
        if isinstance(parent, dict):
            other = deepcopy(other)
            _at(other, path[:-1])[f"{path[-1]}x"] = removed
            yield f"{place}x", other
            other, parent = _copy(document, path)
            parent["zebra"] = 1
            yield f"zebra beside {place}", other


def _paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield (*at, key)
        yield from _paths(child, (*at, key))


def _copy(document: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    other = deepcopy(document)
    return other, _at(other, path[:-1])


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def problems_in(kind: str, document: Any, folder: Path) -> list[Diagnostic]:
    """What Handrail says about a document of a kind. JSON is YAML, so it is written as JSON."""
    return _LOADERS[kind](json.dumps(document), folder)


def _of_flow(text: str, folder: Path) -> list[Diagnostic]:
    return load_flow(Source(str(folder / "flow.yaml"), text), "flow", _KNOWN)[1]


def _of_settings(text: str, folder: Path) -> list[Diagnostic]:
    (folder / "settings.yaml").write_text(text)
    return read_settings(str(folder), str(folder / "none"))[1]


def _of_workflow(text: str, folder: Path) -> list[Diagnostic]:
    phases = {f"{id_}.md": PHASE.format(id=id_) for id_ in ("plan", "build")}
    return _load(folder, "workflow.yaml", {"workflow.yaml": text, **phases})


def _of_phase(text: str, folder: Path) -> list[Diagnostic]:
    workflow = "name: x\nshow: workflows\nphases: [plan.md]\n"
    return _load(folder, "plan.md", {"workflow.yaml": workflow, "plan.md": f"---\n{text}\n---\nDo it.\n"})


def _load(folder: Path, name: str, files: dict[str, str]) -> list[Diagnostic]:
    own = folder / "ship"
    own.mkdir(exist_ok=True)
    for file, text in files.items():
        (own / file).write_text(text)
    found = load(Root(str(folder)), str(own), Registry()).problems
    return [problem for problem in found if problem.file.endswith(f"/{name}")]


_LOADERS: dict[str, Callable[[str, Path], list[Diagnostic]]] = {
    "flow": _of_flow,
    "settings": _of_settings,
    "workflow": _of_workflow,
    "phase": _of_phase,
}
