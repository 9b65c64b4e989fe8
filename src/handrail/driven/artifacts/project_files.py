"""The folder of a project, as flows read its files, and as steps publish what they make."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cached_property
from typing import Any

from handrail.base.errors import HandrailError
from handrail.base.files import Unreadable, path_flaw, read_limited, real_inside, why_outside
from handrail.driven.artifacts import shelf
from handrail.driven.artifacts.names import ArtifactRequest
from handrail.driven.artifacts.schemas import artifact_table, find_schema, problems_of
from handrail.extensions.contracts import LastingError, NodeContext, NodeError, PromisedFile
from handrail.extensions.registry import Registry
from handrail.settings.secrets import Secrets

MAX_TEXT = 16 * 1024 * 1024


class ProjectFiles:
    """The folder of a project, as flows see it. `definitions` is the folder with its schemas; by default the same.

    `registry` has the schemas of plugins.
    """

    def __init__(self, project: str, definitions: str = "", registry: Registry | None = None) -> None:
        self.project = project
        self.definitions = definitions or project
        self.registry = registry or Registry()

    async def first_look(self, kind: str, subject: str) -> Any:
        """The same as `look`, so that the next change of a file can be seen."""
        if kind == "fingerprint":
            await shelf.wait_for_tick(os.path.join(self.project, subject))
        return self.look(kind, subject)

    def look(self, kind: str, subject: str) -> Any:
        match kind:
            case "exists":
                return subject != "" and os.path.exists(os.path.join(self.project, subject))
            case "fingerprint":
                real = real_inside(self.project, subject)
                return None if real is None else shelf.fingerprint(real)
            case "text":
                return self.text(subject)
            case "artifact":
                return self.artifact(ArtifactRequest.from_text(subject))
            case "artifacts":
                return artifact_table().paths(ArtifactRequest.from_text(subject), self.project, shelf.files_in)
            case "inputs" | "iteration":  # what a scope has for a kind of flow, the next iteration of an artifact
                from handrail.driven.artifacts.agentweaver_params import SCOPE_PARAMS, TaskArtifacts

                scope = json.loads(subject)
                inputs = TaskArtifacts(self, scope["key"])
                return SCOPE_PARAMS[scope["kind"]](inputs) if kind == "inputs" else inputs.next(scope["kind"])
        raise LastingError("fact-unknown", f"there is no kind of fact `{kind}`")

    def real_path(self, path: str) -> str:
        """The real path of a file in the project. Raises `NodeError` if it is outside."""
        real = real_inside(self.project, path)
        if real is None:
            raise LastingError("path-escape", f"`{path}` {why_outside(path)}")
        return real

    def text(self, path: str) -> str | None:
        """The text of a file. None if there is none; raises `NodeError` if it cannot be read."""
        try:
            return read_limited(self.real_path(path), MAX_TEXT).decode("utf-8", "replace").replace("\r\n", "\n")
        except Unreadable as error:
            if error.is_missing:
                return None
            raise LastingError("file-unreadable", f"`{path}` {error.message}") from error

    def against_schema(self, path: str, schema: str) -> str | None:
        """What is wrong with a JSON file. None if it matches its schema."""
        text = self.text(path)
        if text is None:
            return f"`{path}` is missing"
        try:
            wrong = problems_of(find_schema(schema, self.definitions, self.registry.schema_folders()), json.loads(text))
        except ValueError as error:
            return f"`{path}` is not JSON: {error}"
        except RecursionError:
            return f"`{path}` is not JSON that can be checked: it is nested too deeply"
        except HandrailError as error:
            raise LastingError("schema", error.message) from error
        return f"`{path}` does not match the schema `{schema}`: {'; '.join(wrong)}" if wrong else None

    def artifact(self, request: ArtifactRequest) -> str:
        return artifact_table().path(request, self.project, shelf.files_in)


class Publisher:
    def __init__(self, context: NodeContext, folder: str, clock: Callable[[], float]) -> None:
        self.world = ProjectFiles(context.project, context.definitions, context.registry)
        self.context = context
        self.scope = context.scope
        self.run = context.run
        self.clock = clock
        self.shelf = shelf.Shelf(folder)

    @cached_property
    def _secrets(self) -> Secrets:
        return Secrets(self.context.env, self.context.secrets)

    def shown(self, path: str) -> str:
        return os.path.relpath(self.world.real_path(path), self.world.project)

    def publish(self, file: PromisedFile, step: str, inputs: list[str]) -> dict[str, Any] | None:
        """Publish a file that a step made. None if the file is optional and missing."""
        content = self.checked(file)
        return None if content is None else self.shelf.publish(self._draft(file, step, inputs), content).to_json()

    def checked(self, file: PromisedFile) -> bytes | None:
        """The content of a file, None if it is optional and missing. Raises `NodeError` if it cannot be published."""
        real, path = self.world.real_path(file.path), self.shown(file.path)
        for what in (path, file.name or ""):
            self._refuse_secret(what, f"the path or name of the artifact `{path}`")
        if not os.path.isfile(real):
            if not file.required:
                return None
            raise NodeError("artifact-missing", f"the step did not make `{path}`")
        if file.schema is not None and (wrong := self.world.against_schema(file.path, file.schema)):
            raise NodeError("artifact-schema", wrong)
        try:
            content = read_limited(real, shelf.MAX_ARTIFACT_BYTES)
        except Unreadable as error:
            raise NodeError("artifact-unreadable", f"`{path}` {error.message}") from error
        self._refuse_secret(content, f"`{path}`")
        return content

    def _refuse_secret(self, data: str | bytes, what: str) -> None:
        """Raise `NodeError` if the data contains a secret. The content of a published file is never changed."""
        if (name := self._secrets.found_in(data)) is not None:
            message = f"{what} contains the value of the secret variable `{name}`, so it is not published"
            raise NodeError("artifact-secret", message)

    def _draft(self, file: PromisedFile, step: str, inputs: list[str]) -> shelf.ArtifactVersion:
        real, path = self.world.real_path(file.path), self.shown(file.path)
        table = artifact_table()
        contract = table.contract(real, self.scope, file.schema)
        key = table.key(real, os.path.realpath(self.world.project), self.scope)
        return shelf.ArtifactVersion(
            scope=self.scope,
            key=key,
            name=file.name or key,
            path=path,
            run=self.run,
            step=step,
            schema=contract.schema,
            family=contract.family,
            created=self.clock(),
            inputs=self._lineage(inputs, path),
        )

    def _lineage(self, inputs: list[str], own_path: str) -> tuple[str, ...]:
        """Ids of the artifacts whose paths are among the inputs of the step."""
        ids: dict[str, None] = {}
        for text in inputs:
            if path_flaw(text) is not None:
                continue
            path = os.path.relpath(os.path.realpath(os.path.join(self.world.project, text)), self.world.project)
            record = self.shelf.at(path) if path != own_path else None
            if record is not None:
                ids[record.id] = None
        return tuple(ids)
