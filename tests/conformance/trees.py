"""Builds the tree of files of a loading case in a folder, and finds mistyped fields in it.

This module finds mistyped fields without Handrail's reader. pi-workflows ignores such fields, so a test has to know
exactly which ones it may leave out of an expectation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from handrail.source.tree import TreeNode
from handrail.source.yaml_text import read_yaml, split_front_matter

WORKFLOW_KINDS = {
    "commandName": "text",
    "initialMessage": "text",
    "show": "text",
    "loopable": "boolean",
    "sessionNamePrefix": "text",
    "sessionNameMaxLength": "integer",
    "roleInstruction": "text",
    "advanceReminder": "text",
    "blockReasonTemplate": "text",
    "notDoneReminder": "text",
    "completionMessage": "text",
}
ALLOWED: dict[str, Callable[[Any], bool]] = {
    "show": lambda value: value in ("user", "workflows"),
    "sessionNameMaxLength": lambda value: value >= 0,
}


def build(root: Path, tree: Mapping[str, Any]) -> None:
    for name, content in tree.items():
        if name.startswith("_"):
            continue
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        elif isinstance(content, dict):
            path.symlink_to(root / content["symlink"])
        elif "<ABS>" in content:
            _build_absolute(root, path)
        else:
            path.write_bytes(content.replace("@ROOT@", str(root)).encode("utf-8", "surrogatepass"))


def _build_absolute(root: Path, file: Path) -> None:
    """Build a tree that a case can only describe: an absolute path, and a link where a reader might look."""
    entry = file.parent / "a.md"
    secret = root / "home" / "secret.md"
    for path, id_ in ((entry, "a"), (secret, "leaked")):
        path.write_text(f"---\nid: {id_}\nname: Stage {id_}\nemoji: x\n---\nCarry out {id_} with care.\n")
    file.write_text(f"name: W\ncommandName: w\ninitialMessage: Kick off\nphases: ['{entry}']\n")
    planted = Path(f"{file.parent}{entry}")
    planted.parent.mkdir(parents=True)
    planted.symlink_to(secret)


def workflow_files(tree: Mapping[str, Any]) -> list[str]:
    return [name for name, text in tree.items() if name.endswith("/workflow.yaml") and isinstance(text, str)]


def mistyped(tree: Mapping[str, Any]) -> set[str]:
    """Keys of the workflows that have a field with a value of the wrong kind."""
    return {file.split("/")[-2] for file in workflow_files(tree) if _is_mistyped(tree, file)}


def _is_mistyped(tree: Mapping[str, Any], file: str) -> bool:
    fields = _fields(tree[file])
    given = [(name, node) for name, node in fields.items() if name in WORKFLOW_KINDS]
    return (
        any(node.kind != WORKFLOW_KINDS[name] for name, node in given)
        or any(name in ALLOWED and not ALLOWED[name](node.value) for name, node in given)
        or any(_has_mistyped_tools(phase) for phase in _phases(tree, file, fields))
    )


def _phases(tree: Mapping[str, Any], file: str, fields: Mapping[str, TreeNode]) -> Iterator[Mapping[str, TreeNode]]:
    phases = fields.get("phases")
    for entry in phases.value if phases and phases.kind == "list" else ():
        text = tree.get(os.path.normpath(os.path.join(os.path.dirname(file), str(entry.value))))
        parts = split_front_matter(text.replace("\r\n", "\n")) if isinstance(text, str) else None
        if parts:
            yield _fields(parts[0])


def _has_mistyped_tools(fields: Mapping[str, TreeNode]) -> bool:
    tools = fields.get("tools")
    if tools is None:
        return False
    if tools.kind != "mapping":
        return True
    lists = [tools.value[name] for name in ("blacklist", "whitelist") if name in tools.value]
    return any(found.kind != "list" or any(i.kind in ("list", "mapping") for i in found.value) for found in lists)


def _fields(text: str) -> dict[str, TreeNode]:
    node, _ = read_yaml(text)
    return dict(node.value) if node is not None and node.kind == "mapping" else {}
