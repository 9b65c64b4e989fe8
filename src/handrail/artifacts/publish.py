"""Publishes files that steps made: checks them against their schema and stores them with digest and lineage."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from handrail.artifacts.names import artifact_key
from handrail.artifacts.schemas import artifact_table
from handrail.artifacts.shelf import Draft, Shelf
from handrail.artifacts.world import World
from handrail.contracts import Made, NodeContext, NodeError
from handrail.secrets import Redactor

MAX_BYTES = 64 * 1024 * 1024


class Publisher:
    """Publishes the artifacts of one run on the shelf of its scope."""

    def __init__(self, context: NodeContext, folder: str, clock: Callable[[], float]) -> None:
        self.world = World(context.project)
        self.redact = Redactor(context.env)
        self.scope = context.scope
        self.run = context.run
        self.clock = clock
        self.shelf = Shelf(folder)

    def shown(self, path: str) -> str:
        """A path relative to the project, as it is recorded."""
        return os.path.relpath(self.world.inside(path), self.world.project)

    def publish(self, made: Made, step: str, inputs: list[str]) -> dict[str, Any] | None:
        """Publish a file that a step made. None if the file is optional and missing."""
        real, shown = self.world.inside(made.path), self.shown(made.path)
        if not os.path.isfile(real):
            if not made.required:
                return None
            raise NodeError("artifact-missing", f"the step did not make `{shown}`")
        if made.schema is not None and (wrong := self.world.against_schema(made.path, made.schema)):
            raise NodeError("artifact-schema", wrong, transient=False)
        with open(real, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise NodeError("artifact-too-large", f"`{shown}` has more than {MAX_BYTES} bytes", transient=False)
        if self.redact.finds(content):
            message = f"`{shown}` contains the value of a secret environment variable, so it is not published"
            raise NodeError("artifact-secret", message, transient=False)
        return self.shelf.publish(self._draft(made, step, inputs), content).to_json()

    def _draft(self, made: Made, step: str, inputs: list[str]) -> Draft:
        real, shown = self.world.inside(made.path), self.shown(made.path)
        contract = artifact_table().contract(real, self.scope, made.schema)
        key = artifact_key(real, os.path.realpath(self.world.project), self.scope)
        return Draft(
            scope=self.scope,
            key=key,
            name=made.name or key,
            path=shown,
            run=self.run,
            step=step,
            schema=contract.schema,
            family=contract.family,
            created=self.clock(),
            inputs=self._lineage(inputs, shown),
        )

    def _lineage(self, inputs: list[str], own: str) -> tuple[str, ...]:
        """Ids of the artifacts whose paths are among the inputs of the step."""
        found: dict[str, None] = {}
        for text in inputs:
            path = os.path.relpath(os.path.realpath(os.path.join(self.world.project, text)), self.world.project)
            record = self.shelf.at(path) if path != own else None
            if record is not None:
                found[record.id] = None
        return tuple(found)
