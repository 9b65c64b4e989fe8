"""The JSON Schemas that editors use for the files that people write, one row per kind of file.

A schema is draft-07, because editors understand no later one completely. It names no address, so nothing is fetched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from handrail import __version__
from handrail.base.dataclasses import dataclass
from handrail.base.errors import RefusedError
from handrail.base.files import real_inside, write_whole
from handrail.driven.flows.keys import FLOW, flow_schema
from handrail.extensions.declarations import check_declarations, node_declarations
from handrail.extensions.plugins.manifest import MANIFEST, MANIFEST_FILE
from handrail.extensions.registry import Registry
from handrail.guided.workflows.keys import PHASE, WORKFLOW, phase_schema, workflow_schema
from handrail.settings.settings import SETTINGS, settings_schema
from handrail.source.fields import json_schema
from handrail.steps.playbook.spec import ENTRY, MANIFEST_KEYS

DRAFT = "http://json-schema.org/draft-07/schema#"
FOLDER = os.path.join(".handrail", "editor")
GITIGNORE = ".gitignore"
_MAPS = ("properties", "patternProperties", "definitions")
_LISTS = ("anyOf", "allOf", "oneOf")
_SINGLE = ("items", "additionalProperties", "if", "then", "else", "not")


@dataclass(frozen=True)
class FileKind:
    """A kind of file: its title, the files of a project that have this kind, and its schema."""

    title: str
    files: str
    build: Callable[[Registry], dict[str, Any]]


KINDS = {
    "workflow": FileKind(WORKFLOW.title, ".handrail/workflows/*/workflow.yaml", lambda _: workflow_schema()),
    "phase": FileKind(PHASE.title, ".handrail/workflows/*/*.md", lambda known: phase_schema(check_declarations(known))),
    "flow": FileKind(
        FLOW.title,
        ".handrail/flows/*.yaml",
        lambda known: flow_schema(node_declarations(known), check_declarations(known)),
    ),
    "settings": FileKind(SETTINGS.title, ".handrail/settings.yaml", lambda known: settings_schema(known.executors())),
    "playbook": FileKind(MANIFEST_KEYS.title, ".handrail/playbook/manifest.yaml", lambda _: json_schema(MANIFEST_KEYS)),
    "practice": FileKind(ENTRY.title, ".handrail/playbook/practices/*.md", lambda _: json_schema(ENTRY)),
    "plugin": FileKind(MANIFEST_FILE, ".handrail/plugins/*/plugin.toml", lambda _: json_schema(MANIFEST)),
}


def editor_schema(kind: str, registry: Registry) -> dict[str, Any]:
    row = KINDS[kind]
    about = f"`handrail schema --write` of Handrail {__version__} wrote this file"
    return {"$schema": DRAFT, "$comment": about, "title": row.title, **_with_markdown(row.build(registry))}


def schema_files(registry: Registry) -> Iterator[tuple[str, str]]:
    """The name and the text of the schema file of every kind, and the file that keeps git from storing them."""
    yield GITIGNORE, "*\n!.gitignore\n"
    for kind in KINDS:
        yield f"{kind}.schema.json", json.dumps(editor_schema(kind, registry), indent=1, ensure_ascii=False) + "\n"


def write_schemas(project: str, folder: str, registry: Registry) -> dict[str, bool]:
    """Write all schema files to a folder. Returns their paths; False if a file had this text already.

    Git ignores them only in the folder of the project: whoever chooses another one may want to commit them. Raises
    `RefusedError` if a link in the project leads out of it.
    """
    changes: dict[str, bool] = {}
    for name, text in schema_files(registry):
        path = os.path.join(folder, name)
        relative = os.path.relpath(path, project)
        if name == GITIGNORE and os.path.dirname(relative) != FOLDER:
            continue
        if not relative.startswith("..") and real_inside(project, relative) is None:
            raise RefusedError(f"`{path}` leads out of the project", "remove the link")
        try:
            with open(path, "rb") as file:
                changes[path] = file.read() != text.encode()
        except OSError:
            changes[path] = True
        if changes[path]:
            os.makedirs(folder, exist_ok=True)
            write_whole(path, text.encode(), durable=False, mode=0o644)
    return changes


def _with_markdown(schema: Any) -> Any:
    """A schema in which every description with code in it is marked as Markdown, as our texts are."""
    if not isinstance(schema, dict):
        return schema
    result = dict(schema)
    for name in result.keys() & {*_MAPS, *_LISTS, *_SINGLE}:
        value = result[name]
        if name in _MAPS:
            result[name] = {key: _with_markdown(part) for key, part in value.items()}
        else:
            result[name] = list(map(_with_markdown, value)) if name in _LISTS else _with_markdown(value)
    if "`" in result.get("description", ""):
        result["markdownDescription"] = result["description"]
    if any("`" in text for text in result.get("enumDescriptions", ())):
        result["markdownEnumDescriptions"] = result["enumDescriptions"]
    return result
