"""`require-structured-artifacts`: JSON files exist and match their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.driven.artifacts.project_files import ProjectFiles
from handrail.extensions.contracts import Check, CheckContext, Finding, NodeError
from handrail.source.fields import Field, shape
from handrail.source.values import as_text

ITEM = shape(
    "item",
    "A file and its schema.",
    Field("path", ("text",), "the path of the file, relative to the project", required=True, names="path"),
    Field("schemaId", ("text",), "a built-in schema, or one from `.handrail/schemas`", required=True, names="schema"),
)


def _paths(params: Mapping[str, Any]) -> str:
    return ", ".join(as_text(item["path"]) for item in params["items"])


CHECK = Check(
    about="JSON files exist and match their schemas.",
    words="match their schemas",
    is_harmless=True,
    params=(Field("items", ("list",), "files and their schemas", required=True, item=ITEM),),
    subject=_paths,
)


async def verify(params: Mapping[str, Any], context: CheckContext) -> Finding:
    world = ProjectFiles(context.project, context.definitions, context.registry)
    try:
        for item in params["items"]:
            wrong = world.against_schema(as_text(item["path"]), as_text(item["schemaId"]))
            if wrong is not None:
                return Finding(False, wrong)
    except NodeError as error:
        return Finding(None, error.message)
    return Finding(True, "all match")
