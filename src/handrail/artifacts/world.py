"""What flows may read from the project: whether a file exists, its text, and the paths of artifacts."""

from __future__ import annotations

import json
import os
from typing import Any

from handrail.artifacts.names import Wanted
from handrail.artifacts.schemas import artifact_table, find_schema, problems_of
from handrail.artifacts.shelf import files_in
from handrail.contracts import NodeError
from handrail.errors import HandrailError
from handrail.state.files import real_inside

MAX_TEXT = 16 * 1024 * 1024


class World:
    """The folder of a project, as flows see it."""

    def __init__(self, project: str) -> None:
        self.project = project

    def look(self, kind: str, subject: str) -> Any:
        match kind:
            case "exists":
                return subject != "" and os.path.exists(os.path.join(self.project, subject))
            case "text":
                return self.text(subject)
            case "artifact":
                return self.artifact(Wanted.from_text(subject))
            case "artifacts":
                return artifact_table().paths(Wanted.from_text(subject), self.project, files_in)
        raise NodeError("fact-unknown", f"there is no kind of fact `{kind}`", transient=False)

    def inside(self, path: str) -> str:
        """The real path of a file in the project. Raises `NodeError` if it is outside."""
        real = real_inside(self.project, path)
        if real is None:
            raise NodeError("path-escape", f"`{path}` leads out of the project", transient=False)
        return real

    def text(self, path: str) -> str | None:
        try:
            with open(self.inside(path), encoding="utf-8", errors="replace") as file:
                text = file.read(MAX_TEXT + 1)
        except OSError:
            return None
        if len(text) > MAX_TEXT:
            raise NodeError("file-too-large", f"`{path}` has more than {MAX_TEXT} characters", transient=False)
        return text

    def against_schema(self, path: str, schema: str) -> str | None:
        """What is wrong with a JSON file. None if it matches its schema."""
        text = self.text(path)
        if text is None:
            return f"`{path}` is missing"
        try:
            wrong = problems_of(find_schema(schema, self.project), json.loads(text))
        except ValueError as error:
            return f"`{path}` is not JSON: {error}"
        except HandrailError as error:
            raise NodeError("schema", error.message, transient=False) from error
        return f"`{path}` does not match the schema `{schema}`: {'; '.join(wrong)}" if wrong else None

    def artifact(self, wanted: Wanted) -> str:
        return artifact_table().path(wanted, self.project, files_in)
