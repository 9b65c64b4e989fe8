"""Markdown as a small tree of tags and texts, for surfaces that build what they show.

HTML in it is only text. A node is a text, or `{"tag": ..., "children": [...]}`. A link has `href` and
`host` if it may be opened: only http, https and mailto. An image is a text. Imported only when a preview needs it,
because `markdown_it` loads slowly.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from handrail.source.output_text import clean

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
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _children(node: SyntaxTreeNode) -> list[MarkdownNode]:
    return [found for child in node.children for found in _nodes(child)]


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
