"""An artifact for a person who opens it, by its id: facts, content, a preview, what changed.

Nothing in it is markup: a preview is a small tree of plain texts, from which a surface builds what it shows. A text in
Markdown is a tree of tags and texts: a node is a text, or `{"tag": ..., "children": [...]}`. HTML in it is only text. A
link has `href` and `host` if it may be opened: only http, https and mailto. An image is a text.
"""

from __future__ import annotations

import difflib
import itertools
import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from handrail.base.errors import NotFound
from handrail.driven.artifacts.names import parse_reference
from handrail.driven.artifacts.shelf import ArtifactVersion, Shelf, Shelves
from handrail.source.output_text import clean
from handrail.source.values import is_too_deep
from handrail.view.rows.rows import cleaned_value

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

MOST_BYTES = 256 * 1024
MOST_LINES = 2_000
MOST_COMPARED = 10_000
"""How many lines of a file are compared with the previous version."""
_MARKDOWN = (".md", ".markdown")
ArtifactJson = dict[str, Any]


def about(shelves: Shelves, id_: str) -> ArtifactJson:
    """What is known about an artifact. Raises `NotFound`."""
    record = _record(shelves, id_)
    data = cleaned_value(record.to_json())
    return {**data, "hasPreview": record.size <= MOST_BYTES, "file": clean(os.path.basename(record.path))}


def raw(shelves: Shelves, id_: str) -> bytes:
    """The content of an artifact, as it was published."""
    return shelves.content(_record(shelves, id_))


def text_of(shelves: Shelves, id_: str) -> str | None:
    """The text of an artifact; None if it is too large or not a text."""
    record = _record(shelves, id_)
    return None if record.size > MOST_BYTES else _text(shelves.content(record))


def preview(shelves: Shelves, id_: str) -> ArtifactJson:
    """An artifact to look at. `kind` is `markdown`, `json` or `text`; `none` if it is too large or not a text."""
    record, text = _record(shelves, id_), text_of(shelves, id_)
    tree = {"kind": "none"} if text is None else _preview(os.path.splitext(record.path)[1].lower(), text)
    return {**about(shelves, id_), **tree}


def diff(shelves: Shelves, id_: str) -> ArtifactJson:
    """What changed since the previous version, line by line. `lines` is None if this cannot be shown."""
    record = _record(shelves, id_)
    facts: ArtifactJson = {**about(shelves, id_), "previous": record.supersedes, "lines": None, "isCut": False}
    previous = None if record.supersedes is None else _find(shelves, record.supersedes)
    if previous is None or max(previous.size, record.size) > MOST_BYTES:
        return facts
    old, new = (_text(shelves.content(one)) for one in (previous, record))
    if old is None or new is None or max(old.count("\n"), new.count("\n")) > MOST_COMPARED:
        return facts
    changes = itertools.islice(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm=""), 2, None)
    lines = [{"sign": line[:1], "text": clean(line[1:])} for line in changes]
    return {**facts, "lines": lines[:MOST_LINES], "isCut": len(lines) > MOST_LINES}


def _record(shelves: Shelves, id_: str) -> ArtifactVersion:
    record = _find(shelves, id_)
    if record is None:
        raise NotFound(f"there is no artifact `{clean(id_)[:80]}` in this project", "`handrail artifacts` lists them")
    return record


def _find(shelves: Shelves, id_: str) -> ArtifactVersion | None:
    """The artifact with exactly this id. An id is never used as a path: it names a scope and a key on its shelf."""
    reference = parse_reference(id_)
    if reference is None or reference.scope is None:
        return None
    return Shelf(shelves.folder_of(reference.scope)).find(id_)


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
    if ending in _MARKDOWN and (tree := markdown_tree(text)) is not None:
        return {"kind": "markdown", "tree": tree}
    if ending == ".json":
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if value is not None and not is_too_deep(value):
            return {"kind": "json", "value": cleaned_value(value)}
    return {"kind": "text", "text": clean(text)}


MOST_NODES = 20_000
MOST_INLINE = 16 * 1024
"""Characters of one paragraph. The time for a hostile one grows with the square of its length."""
SCHEMES = ("http", "https", "mailto")
_TAGS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "em": "em",
    "strong": "strong",
    "s": "s",
    "hr": "hr",
    "hardbreak": "br",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
}
MarkdownNode = dict[str, Any] | str


def markdown_tree(text: str) -> list[MarkdownNode] | None:
    """The tree of a text; None if it would have too many nodes, or would take too long to make."""
    from markdown_it.tree import SyntaxTreeNode

    blocks = _parser()
    blocks.core.ruler.disable("inline")
    if any(token.type == "inline" and len(token.content) > MOST_INLINE for token in blocks.parse(text)):
        return None
    parser = _parser()
    root = SyntaxTreeNode(parser.parse(text))
    if sum(1 for _ in root.walk()) > MOST_NODES:
        return None
    return _children(root)


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # it loads slowly, and only a preview needs it

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _children(node: SyntaxTreeNode) -> list[MarkdownNode]:
    return [piece for child in node.children for piece in _nodes(child)]


def _nodes(node: SyntaxTreeNode) -> list[MarkdownNode]:
    kind = node.type
    if kind == "inline":
        return _children(node)
    if kind == "heading":
        return [{"tag": node.tag, "children": _children(node)}]
    if kind in ("fence", "code_block"):
        words = node.info.split() if kind == "fence" else []
        return [{"tag": "pre", "language": clean(words[0])[:40] if words else None, "children": [clean(node.content)]}]
    if kind == "code_inline":
        return [{"tag": "code", "children": [clean(node.content)]}]
    if kind == "link":
        return _link(str(node.attrs.get("href", "")), _children(node))
    if kind == "image":
        return [f"[image: {clean(node.content) or 'without a text'}]"]
    if kind == "paragraph" and node.hidden:  # in a list without blank lines
        return _children(node)
    if kind in _TAGS:
        return [{"tag": _TAGS[kind], "children": _children(node)}]
    return ["\n"] if kind == "softbreak" else [clean(node.content)]


def _link(href: str, children: list[MarkdownNode]) -> list[MarkdownNode]:
    """A link, or only its text if it must not be opened."""
    try:
        parts = urlsplit(href)
        host = parts.hostname
    except ValueError:
        return children
    if parts.scheme.lower() not in SCHEMES or clean(href) != href or not href.isascii():
        return children
    return [{"tag": "a", "href": href, "host": host or parts.scheme, "children": children}]
