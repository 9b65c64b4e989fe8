"""The fields of forms about a commit: the files that git reports as changed, and the message."""

from __future__ import annotations

import json
import os
from typing import Any

from handrail.contracts import NodeContext, NodeError
from handrail.nodes.forms.reading import items, needed, read_object, read_text, word

FILES = "selected_files"
MESSAGE = "commit_message"


def files_field(context: NodeContext, path: str) -> dict[str, Any]:
    """The field to choose files from the result of `git-status`. At first, all are chosen but files named `.env`."""
    options: dict[str, dict[str, str]] = {}
    for entry in items(needed(read_object(context, path), path), "files", path):
        name, original = entry.get("file"), entry.get("originalFile")
        if isinstance(name, str) and name:
            shown = f"{original} -> {name}" if isinstance(original, str) and original else name
            letters = entry.get("xy") if isinstance(entry.get("xy"), str) else ""
            options.setdefault(name, {"value": name, "label": f"{letters} {shown}"})
    if not options:
        raise NodeError("no-changes", f"`{path}` has no changed files to choose from", transient=False)
    return {
        "id": FILES,
        "type": "multi-select",
        "label": "Files to commit",
        "required": True,
        "options": list(options.values()),
        "default": [name for name in options if os.path.basename(name) != ".env"],
    }


def proposed(context: NodeContext, path: str) -> tuple[str, str]:
    """The subject and the body of the message in a file. A file that is not JSON holds the message itself."""
    text = read_text(context, path)
    if text is None:
        raise NodeError("file-unreadable", f"`{path}` does not exist", transient=False)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip(), ""
    return (word(data, "subject"), word(data, "body")) if isinstance(data, dict) else (text.strip(), "")
