"""Checks of files: that they exist, that they are not empty, and that they match their schemas."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any

from handrail.base.files import path_flaw, real_inside, why_outside
from handrail.extensions.contracts import Check, CheckContext, Finding, OneCheck
from handrail.source.fields import Field, MappingReader, shape
from handrail.source.plain_text import counted
from handrail.source.tree import TreeNode
from handrail.source.values import as_text


def _check_path(reader: MappingReader, node: TreeNode) -> None:
    path = node.value.strip()
    if path.startswith("/") or ".." in path.replace("\\", "/").split("/") or "\0" in path:
        hint = "write a path below the project, without `..`"
        reader.on(node, "exit-path", f"`{path}` is not a path inside the project", hint)


_FILE = Check(
    about="A file exists inside the project and is not empty.",
    words="exists",
    is_harmless=True,
    short="path",
    also=("exists", "fileExists"),
    params=(
        Field(
            "path",
            ("text",),
            "the path of the file, relative to the project",
            required=True,
            shortest=1,
            check=_check_path,
        ),
    ),
)


async def _verify_file(params: Mapping[str, Any], context: CheckContext) -> Finding:
    path = as_text(params["path"])
    real = real_inside(context.project, path)
    if real is None:
        return Finding(False, f"it {why_outside(path)}")
    try:
        status = os.stat(real)
    except OSError as error:
        return Finding(False, "it does not exist" if isinstance(error, FileNotFoundError) else str(error.strerror))
    if not stat.S_ISREG(status.st_mode):
        return Finding(False, "it is not a file")
    if status.st_size == 0:
        return Finding(False, "it is empty")
    return Finding(True, counted(status.st_size, "byte"))


_REQUIRE_FILE = Check(
    about="A file or a folder exists. It may be empty and may lie outside the project; `file` is stricter.",
    words="exists",
    is_harmless=True,
    params=(
        Field("path", ("text", "list"), "its path, relative to the project", required=True, items=("text",)),
    ),
)  # fmt: skip


async def _verify_exists(params: Mapping[str, Any], context: CheckContext) -> Finding:
    """As in AgentWeaver, a path may be a folder, and may lead out of the project: it is only looked at."""
    paths = _paths(params["path"])
    for path in paths:
        if not path or not os.path.exists(os.path.join(context.project, path)):
            return Finding(False, f"`{path}` {path_flaw(path) or 'is missing'}")
    return Finding(True, "it exists" if len(paths) == 1 else f"all {len(paths)} exist")


def _paths(value: Any) -> list[str]:
    return [as_text(path) for path in (value if isinstance(value, list) else [value])]


_REQUIRE_ARTIFACTS = Check(
    about="Files exist inside the project. They may be empty.",
    words="exist",
    is_harmless=True,
    params=(
        Field("paths", ("list", "text"), "their paths, relative to the project", required=True, items=("text",),
              names="path"),
    ),
)  # fmt: skip


async def _verify_artifacts(params: Mapping[str, Any], context: CheckContext) -> Finding:
    paths = _paths(params["paths"])
    for path in paths:
        real = real_inside(context.project, path)
        if real is None:
            return Finding(None, f"`{path}` {why_outside(path)}")
        if not os.path.isfile(real):
            return Finding(False, f"`{path}` is missing")
    return Finding(True, counted(len(paths), "file"))


_FILE_WITH_SCHEMA = shape(
    "item",
    "A file and its schema.",
    Field("path", ("text",), "the path of the file, relative to the project", required=True, names="path"),
    Field("schemaId", ("text",), "a built-in schema, or one from `.handrail/schemas`", required=True, names="schema"),
)
_REQUIRE_STRUCTURED = Check(
    about="JSON files exist and match their schemas.",
    words="match their schemas",
    is_harmless=True,
    params=(Field("items", ("list",), "files and their schemas", required=True, item=_FILE_WITH_SCHEMA),),
    subject=lambda params: ", ".join(as_text(item["path"]) for item in params["items"]),
)


async def _verify_schemas(params: Mapping[str, Any], context: CheckContext) -> Finding:
    from handrail.driven.artifacts.project_files import ProjectFiles  # the other checks do not need it
    from handrail.extensions.contracts import NodeError

    files = ProjectFiles(context.project, context.definitions, context.registry)
    try:
        for item in params["items"]:
            problem = files.against_schema(as_text(item["path"]), as_text(item["schemaId"]))
            if problem is not None:
                return Finding(False, problem)
    except NodeError as error:
        return Finding(None, error.message)
    return Finding(True, "all match")


FILE = OneCheck(_FILE, _verify_file)
REQUIRE_FILE = OneCheck(_REQUIRE_FILE, _verify_exists)
REQUIRE_ARTIFACTS = OneCheck(_REQUIRE_ARTIFACTS, _verify_artifacts)
REQUIRE_STRUCTURED_ARTIFACTS = OneCheck(_REQUIRE_STRUCTURED, _verify_schemas)
