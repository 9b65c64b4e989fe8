"""An artifact for a person who opens it, by its id: facts, content, a preview, what changed.

Nothing in it is markup: a preview is a small tree of plain texts, from which a surface builds what it shows.
"""

from __future__ import annotations

import difflib
import json
import os
from typing import Any

from handrail.base.errors import NotFound
from handrail.driven.artifacts.names import parse_reference
from handrail.driven.artifacts.shelf import ArtifactVersion, Shelf, Shelves
from handrail.source.output_text import clean
from handrail.source.values import is_too_deep
from handrail.view.rows.rows import cleaned_value

MOST_BYTES = 256 * 1024
MOST_LINES = 2_000
MOST_COMPARED = 10_000
"""How many lines of a file are compared with the previous version."""
_MARKDOWN = (".md", ".markdown")
ArtifactJson = dict[str, Any]


def about(kept: Shelves, id_: str) -> ArtifactJson:
    """What is known about an artifact. Raises `NotFound`."""
    record = _record(kept, id_)
    known = cleaned_value(record.to_json())
    return {**known, "hasPreview": record.size <= MOST_BYTES, "file": clean(os.path.basename(record.path))}


def raw(kept: Shelves, id_: str) -> bytes:
    """The content of an artifact, as it was published."""
    return kept.content(_record(kept, id_))


def preview(kept: Shelves, id_: str) -> ArtifactJson:
    """An artifact to look at. `kind` is `markdown`, `json` or `text`; `none` if it is too large or not a text."""
    record = _record(kept, id_)
    found = about(kept, id_)
    if record.size > MOST_BYTES:
        return {**found, "kind": "none"}
    text = _text(kept.content(record))
    if text is None:
        return {**found, "kind": "none"}
    return {**found, **_preview(os.path.splitext(record.path)[1].lower(), text)}


def diff(kept: Shelves, id_: str) -> ArtifactJson:
    """What changed since the previous version, line by line. `lines` is None if this cannot be shown."""
    record = _record(kept, id_)
    found: ArtifactJson = {**about(kept, id_), "previous": record.supersedes, "lines": None, "isCut": False}
    before = None if record.supersedes is None else _find(kept, record.supersedes)
    if before is None or max(before.size, record.size) > MOST_BYTES:
        return found
    old, new = (_text(kept.content(one)) for one in (before, record))
    if old is None or new is None or max(old.count("\n"), new.count("\n")) > MOST_COMPARED:
        return found
    lines: list[ArtifactJson] = []
    for line in difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3):
        if line.startswith(("--- ", "+++ ")) and len(lines) < 2 and not lines:
            continue
        lines.append({"sign": line[:1], "text": clean(line[1:])})
    return {**found, "lines": lines[:MOST_LINES], "isCut": len(lines) > MOST_LINES}


def _record(kept: Shelves, id_: str) -> ArtifactVersion:
    record = _find(kept, id_)
    if record is None:
        raise NotFound(f"there is no artifact `{clean(id_)[:80]}` in this project", "`handrail artifacts` lists them")
    return record


def _find(kept: Shelves, id_: str) -> ArtifactVersion | None:
    """The artifact with exactly this id. An id is never used as a path: it names a scope and a key on its shelf."""
    wanted = parse_reference(id_)
    if wanted is None or wanted.scope is None:
        return None
    record = Shelf(kept.folder_of(wanted.scope)).find(id_)
    return record if record is not None and record.id == id_ else None


def _text(data: bytes) -> str | None:
    """The text of a file; None if it is not one."""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def markdown(text: str) -> ArtifactJson:
    """A text that is written as Markdown, to look at."""
    return _preview(_MARKDOWN[0], text)


def _preview(ending: str, text: str) -> ArtifactJson:
    if ending in _MARKDOWN:
        from handrail.view.live.markdown import markdown_tree

        tree = markdown_tree(text)
        if tree is not None:
            return {"kind": "markdown", "tree": tree}
    if ending == ".json":
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if value is not None and not is_too_deep(value):
            return {"kind": "json", "value": cleaned_value(value)}
    return {"kind": "text", "text": clean(text)}
