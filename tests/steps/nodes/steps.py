"""Runs one node in a folder, as a step of a flow would."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from handrail.extensions.contracts import NodeContext, NodeError, Work
from handrail.extensions.registry import Registry


def step(node: str, params: dict[str, Any], folder: Path, env: Mapping[str, str] | None = None) -> Any:
    work = Work(path="a/x", node=node, params=params, prompt=None, own_checks=True, timeout=None)
    context = NodeContext(project=str(folder), env=env or {}, key="r-1/a/x")
    return asyncio.run(Registry().nodes()[node].run(work, context))


def failed(node: str, params: dict[str, Any], folder: Path, env: Mapping[str, str] | None = None) -> NodeError:
    with pytest.raises(NodeError) as caught:
        step(node, params, folder, env)
    return caught.value


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
