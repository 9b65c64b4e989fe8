"""The setting `worktree`: how the worktree of a run is prepared, and where it is made."""

from __future__ import annotations

import os

from handrail.source.dataclasses import dataclass, replace
from handrail.source.fields import NOT_BLANK, Field, Reader, found, json_schema, quoted, shape
from handrail.source.suggest import did_you_mean
from handrail.source.yamltree import Node

_COMMAND = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
SHAPE = shape(
    "worktree",
    "How `handrail run --worktree` prepares a worktree.",
    Field(
        "setup",
        ("list",),
        "commands that run in it, each a list of arguments",
        schema={"type": "array", "items": _COMMAND},
        examples=([["npm", "ci"]],),
    ),
    Field(
        "copy",
        ("list",),
        "files of the project that are not committed",
        schema={"type": "array", "items": {"type": "string", "pattern": NOT_BLANK}},
        examples=([".env"],),
    ),
    Field(
        "folder",
        ("text",),
        "where worktrees are made; only in the user's settings",
        schema={"type": "string", "pattern": "^(/|~/)"},
        examples=("~/worktrees",),
    ),
)
FIELD = Field(
    "worktree",
    ("mapping",),
    "how `handrail run --worktree` prepares a worktree: `setup` are commands that run in it, each a list of arguments; "
    "`copy` are files of the project that are not committed, such as `.env`; `folder` is where worktrees are made, and "
    "works only in the user's settings",
    schema=json_schema(SHAPE),
    examples=({"setup": [["npm", "ci"]], "copy": [".env"]},),
)


@dataclass(frozen=True)
class WorktreeSettings:
    """How worktrees are prepared. `folder` is where they are made; None: in Handrail's state folder."""

    setup: tuple[tuple[str, ...], ...] = ()
    copy: tuple[str, ...] = ()
    folder: str | None = None


def read_worktree(reader: Reader, before: WorktreeSettings, *, is_user: bool) -> WorktreeSettings:
    """The setting of one file. Commands of the project replace those of the user; files to copy are added."""
    node = reader.child(FIELD.name)
    now = before
    for key, child in node.value.items() if node is not None else ():
        match key:
            case "setup":
                now = replace(now, setup=_commands(reader, child))
            case "copy":
                now = replace(now, copy=tuple(dict.fromkeys((*before.copy, *_files(reader, child)))))
            case "folder":
                now = replace(now, folder=_folder(reader, child, is_user=is_user) or before.folder)
            case _:
                hint = did_you_mean(key, SHAPE.by_name) or f"its keys: {', '.join(SHAPE.by_name)}"
                reader.on(child, "unknown-key", f"`worktree` has no key `{key}`", hint)
    return now


def _commands(reader: Reader, node: Node) -> tuple[tuple[str, ...], ...]:
    commands: list[tuple[str, ...]] = []
    for item in node.value if node.kind == "list" else [node]:
        words = item.value if item.kind == "list" else []
        if node.kind != "list" or not words or any(word.kind != "text" or not word.value for word in words):
            message = f"a command of `setup` has to be a list of texts, found {found(item)}"
            reader.on(item, "bad-value", message, "write `setup: [[npm, ci]]`")
        else:
            commands.append(tuple(word.value for word in words))
    return tuple(commands)


def _files(reader: Reader, node: Node) -> list[str]:
    names: list[str] = []
    for item in node.value if node.kind == "list" else [node]:
        is_name = node.kind == "list" and item.kind == "text" and item.value.strip()
        if not is_name or os.path.isabs(item.value) or ".." in item.value.split("/"):
            message = f"an item of `copy` has to be a path in the project, found {quoted(item)}"
            reader.on(item, "bad-value", message, "write `copy: [.env]`")
        else:
            names.append(item.value)
    return names


def _folder(reader: Reader, node: Node, *, is_user: bool) -> str | None:
    """A project must not decide where files are written: its settings come with the repository."""
    if not is_user:
        reader.on(node, "bad-value", "`folder` can be set only in the user's settings", "remove it here")
        return None
    is_path = node.kind == "text" and (os.path.isabs(node.value) or node.value.startswith("~/"))
    if not is_path:
        reader.on(node, "bad-value", f"`folder` has to be a full path, or begin with `~/`, found {quoted(node)}", None)
        return None
    return str(node.value)
