"""What a run was asked to do, put down before it does anything: the flow, its parameters, the texts of all definitions.

A run has a folder; each attempt at it has one below, numbered. An attempt exists when its `about` does, which is
written last: a restart that is cut off leaves the attempt before it in force.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

from handrail.errors import StateError
from handrail.expressions.tree import Const
from handrail.flows.catalog import FlowCatalog, FoundFlow
from handrail.flows.plan import FlowPlan
from handrail.state import files
from handrail.state.files import make_private

ABOUT = "about"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a person asks for when a run begins. `routes` were asked for, `table` is what the settings said then."""

    params: dict[str, Any]
    task: str = ""
    scope: str = ""
    agent: str | None = None
    model: str | None = None
    start: str | None = None
    until: str | None = None
    routes: dict[str, str] = field(default_factory=dict)
    table: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class About:
    """A run as it was asked for. `flows` are the texts of the flows it may run: id → (file, text).

    `aside` are files of the attempt before, (path, digest), that are taken out of the project before this one begins.
    """

    flow: str
    request: Request
    flows: dict[str, list[str]]
    created: float
    aside: list[list[str]] = field(default_factory=list)

    @property
    def digest(self) -> str:
        texts = sorted((id_, text) for id_, (_, text) in self.flows.items())
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]

    def write(self, folder: str) -> None:
        make_private(folder)
        data = {**vars(self), "request": vars(self.request)}
        text = json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
        files.replace(os.path.join(folder, ABOUT), text, durable=True)


def read_about(folder: str) -> About:
    path = os.path.join(folder, ABOUT)
    try:
        with open(path, "rb") as file:
            data = json.loads(file.read().decode("utf-8", "surrogatepass"))
        request = Request(**data.pop("request"))
        return About(request=request, **data)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StateError(f"`{path}` cannot be read: {error}") from error


def attempts(folder: str) -> list[str]:
    """The folders of all attempts at a run, the current one last."""
    try:
        numbers = sorted(int(name) for name in os.listdir(folder) if name.isdigit())
    except OSError:
        return []
    found = [os.path.join(folder, str(number)) for number in numbers]
    return [path for path in found if os.path.exists(os.path.join(path, ABOUT))]


def needed(catalog: FlowCatalog, flow: FoundFlow) -> dict[str, list[str]]:
    """The texts of a flow and of all that it may run; of every flow, where only the run can tell which."""
    chosen: dict[str, FoundFlow] = {}
    waiting = [flow]
    while waiting:
        found = waiting.pop()
        if found.id in chosen or found.plan is None:
            continue
        chosen[found.id] = found
        if _chooses_late(found.plan):
            waiting.extend(catalog.flows.values())
        waiting.extend(other for name in found.plan.nested if (other := catalog.named(name)) is not None)
    return {id_: [found.file, found.text] for id_, found in sorted(chosen.items())}


def _chooses_late(plan: FlowPlan) -> bool:
    flows = [step.flow for phase in plan.phases for step in phase.steps if step.flow is not None]
    return any(not isinstance(flow, Const) for flow in flows)
