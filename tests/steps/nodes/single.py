"""Runs one node: alone, or as the only step of a flow."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from handrail.extensions.contracts import NodeContext, NodeError, Work
from handrail.extensions.registry import Registry
from support import Project

KEY = "T-1"
SCOPE = f".agentweaver/scopes/{KEY}"


def alone(project: Project, node: str, env: Any = None, **params: Any) -> Any:
    """The value of a node."""
    return within(project, None, node, env or {}, params)


def within(project: Project, seconds: float | None, node: str, env: dict[str, str], params: dict[str, Any]) -> Any:
    """The same, with a limit of time."""
    context = NodeContext(project=str(project.folder), env=env, registry=Registry())
    work = Work(path="a/x", node=node, params=params, prompt=None, own_checks=True, timeout=seconds)
    return asyncio.run(Registry().nodes()[node].run(work, context))


def refused(project: Project, node: str, env: Any = None, **params: Any) -> tuple[str, str]:
    """The code and the message with which a node fails."""
    with pytest.raises(NodeError) as caught:
        alone(project, node, env, **params)
    return caught.value.code, caught.value.message


def as_flow(project: Project, node: str, *argv: str, code: Any = 0, **params: Any) -> dict[str, Any]:
    """The run of a flow whose only step is this node."""
    flow = {"phases": [{"id": "a", "steps": [{"id": "x", "node": node, "params": params}]}]}
    project.write(".handrail/flows/one.json", json.dumps(flow))
    return project.json("run", "one", "--scope", KEY, *argv, code=code)


def value(run: dict[str, Any]) -> Any:
    return run["phases"][0]["steps"][0]["value"]


def artifact(project: Project, name: str, content: Any) -> Path:
    """Write a file of the scope. What is not text is written as JSON."""
    return project.write(f"{SCOPE}/{name}", content if isinstance(content, str) else json.dumps(content))


def read(project: Project, path: str) -> Any:
    return json.loads((project.folder / path).read_text(encoding="utf-8"))
