"""Publishes files that steps made: checks them against their schema and stores them with digest and lineage."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from handrail.artifacts.fingerprint import MAX_BYTES
from handrail.artifacts.schemas import artifact_table
from handrail.artifacts.shelf import Draft, Shelf
from handrail.artifacts.world import World
from handrail.contracts import Made, NodeContext, NodeError
from handrail.secrets.redaction import Secrets
from handrail.state.regular import Unreadable, path_flaw, read_regular


class Publisher:
    """Publishes the artifacts of one run on the shelf of its scope."""

    def __init__(self, context: NodeContext, folder: str, clock: Callable[[], float]) -> None:
        self.world = World(context.project, context.definitions)
        self.secrets = Secrets(context.env, context.secrets)
        self.scope = context.scope
        self.run = context.run
        self.clock = clock
        self.shelf = Shelf(folder)

    def shown(self, path: str) -> str:
        """A path relative to the project, as it is recorded."""
        return os.path.relpath(self.world.inside(path), self.world.project)

    def publish(self, made: Made, step: str, inputs: list[str]) -> dict[str, Any] | None:
        """Publish a file that a step made. None if the file is optional and missing."""
        content = self.checked(made)
        return None if content is None else self.shelf.publish(self._draft(made, step, inputs), content).to_json()

    def checked(self, made: Made) -> bytes | None:
        """The content of a file, None if it is optional and missing. Raises `NodeError` if it cannot be published."""
        real, shown = self.world.inside(made.path), self.shown(made.path)
        for what in (shown, made.name or ""):
            self._refuse_secret(what, f"the path or name of the artifact `{shown}`")
        if not os.path.isfile(real):
            if not made.required:
                return None
            raise NodeError("artifact-missing", f"the step did not make `{shown}`")
        if made.schema is not None and (wrong := self.world.against_schema(made.path, made.schema)):
            raise NodeError("artifact-schema", wrong)
        try:
            content = read_regular(real, MAX_BYTES)
        except Unreadable as error:
            raise NodeError("artifact-unreadable", f"`{shown}` {error.message}") from error
        self._refuse_secret(content, f"`{shown}`")
        return content

    def _refuse_secret(self, data: str | bytes, what: str) -> None:
        """Raise `NodeError` if the data contains a secret. The content of a published file is never changed."""
        name = self.secrets.found_in(data)
        if name is not None:
            message = f"{what} contains the value of the secret variable `{name}`, so it is not published"
            raise NodeError("artifact-secret", message)

    def _draft(self, made: Made, step: str, inputs: list[str]) -> Draft:
        real, shown = self.world.inside(made.path), self.shown(made.path)
        table = artifact_table()
        contract = table.contract(real, self.scope, made.schema)
        key = table.key(real, os.path.realpath(self.world.project), self.scope)
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
            if path_flaw(text) is not None:
                continue
            path = os.path.relpath(os.path.realpath(os.path.join(self.world.project, text)), self.world.project)
            record = self.shelf.at(path) if path != own else None
            if record is not None:
                found[record.id] = None
        return tuple(found)
