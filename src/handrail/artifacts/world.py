"""What flows may read from the project: whether a file exists, its text, and the paths of artifacts."""

from __future__ import annotations

import json
import os
from typing import Any

from handrail.artifacts.fingerprint import fingerprint, settle
from handrail.artifacts.names import Wanted
from handrail.artifacts.schemas import artifact_table, find_schema, problems_of
from handrail.artifacts.shelf import files_in
from handrail.contracts import NodeError
from handrail.errors import HandrailError
from handrail.state.files import real_inside
from handrail.state.regular import Unreadable, read_regular, why_outside

MAX_TEXT = 16 * 1024 * 1024


class World:
    """The folder of a project, as flows see it. `definitions` is the folder with its schemas; by default the same."""

    def __init__(self, project: str, definitions: str = "") -> None:
        self.project = project
        self.definitions = definitions or project

    async def first_look(self, kind: str, subject: str) -> Any:
        """The same as `look`, so that the next change of a file can be seen."""
        if kind == "fingerprint":
            await settle(os.path.join(self.project, subject))
        return self.look(kind, subject)

    def look(self, kind: str, subject: str) -> Any:
        match kind:
            case "exists":
                return subject != "" and os.path.exists(os.path.join(self.project, subject))
            case "fingerprint":
                real = real_inside(self.project, subject)
                return None if real is None else fingerprint(real)
            case "text":
                return self.text(subject)
            case "artifact":
                return self.artifact(Wanted.from_text(subject))
            case "artifacts":
                return artifact_table().paths(Wanted.from_text(subject), self.project, files_in)
            case "inputs" | "iteration":
                return self._scope(kind, **json.loads(subject))
        raise NodeError("fact-unknown", f"there is no kind of fact `{kind}`", transient=False)

    def _scope(self, wanted: str, key: str, kind: str) -> Any:
        """What a scope has for a kind of flow, or the next iteration of a kind of artifact."""
        from handrail.artifacts.inputs import CONTRACTS, Inputs

        inputs = Inputs(self, key)
        return CONTRACTS[kind](inputs) if wanted == "inputs" else inputs.next(kind)

    def inside(self, path: str) -> str:
        """The real path of a file in the project. Raises `NodeError` if it is outside."""
        real = real_inside(self.project, path)
        if real is None:
            raise NodeError("path-escape", f"`{path}` {why_outside(path)}", transient=False)
        return real

    def text(self, path: str) -> str | None:
        """The text of a file. None if there is none; raises `NodeError` if it cannot be read."""
        try:
            return read_regular(self.inside(path), MAX_TEXT).decode("utf-8", "replace").replace("\r\n", "\n")
        except Unreadable as error:
            if error.is_missing:
                return None
            raise NodeError("file-unreadable", f"`{path}` {error.message}", transient=False) from error

    def against_schema(self, path: str, schema: str) -> str | None:
        """What is wrong with a JSON file. None if it matches its schema."""
        text = self.text(path)
        if text is None:
            return f"`{path}` is missing"
        try:
            wrong = problems_of(find_schema(schema, self.definitions), json.loads(text))
        except ValueError as error:
            return f"`{path}` is not JSON: {error}"
        except RecursionError:
            return f"`{path}` is not JSON that can be checked: it is nested too deeply"
        except HandrailError as error:
            raise NodeError("schema", error.message, transient=False) from error
        return f"`{path}` does not match the schema `{schema}`: {'; '.join(wrong)}" if wrong else None

    def artifact(self, wanted: Wanted) -> str:
        return artifact_table().path(wanted, self.project, files_in)
