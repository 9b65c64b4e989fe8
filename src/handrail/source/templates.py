"""Renders `{name}` templates in one pass. Values are inserted unchanged; unknown names stay in the text. Pure.

Uses no regular expressions: hooks render the reason for a denied tool call, and importing `re` would slow them down.
"""

from __future__ import annotations

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping


def _pieces(template: str) -> Iterator[tuple[str, str | None, int]]:
    """(text before, name, offset of the opening brace) per placeholder. `name` is None for other text."""
    start = 0
    while True:
        close = template.find("}", start)
        if close < 0:
            break
        opening = template.rfind("{", start, close)
        name = template[opening + 1 : close] if opening >= 0 else ""
        if name and _WORD.issuperset(name):
            yield template[start:opening], name, opening
        else:
            yield template[start : close + 1], None, start
        start = close + 1
    yield template[start:], None, start


def render(template: str, values: Mapping[str, str]) -> str:
    """The template with each known name replaced by its value. Placeholders inside values are not replaced."""
    if "{" not in template:
        return template
    parts: list[str] = []
    for text, name, _ in _pieces(template):
        parts.append(text)
        if name is not None:
            parts.append(values.get(name, "{" + name + "}"))
    return "".join(parts)


def fill(template: str, values: Mapping[str, str]) -> str:
    """The same for flows, where a name may be any text: `{a-b}` and `{a.b}` are replaced if such a value is given."""
    parts: list[str] = []
    start = 0
    for name, offset in given_names(template, values):
        parts += (template[start:offset], values[name])
        start = offset + len(name) + 2
    return "".join([*parts, template[start:]])


def given_names(template: str, names: Container[str]) -> Iterator[tuple[str, int]]:
    """Each `{name}` in the template that is one of these names, with the offset of its opening brace."""
    opening = template.find("{")
    while opening >= 0:
        close = template.find("}", opening)
        if close < 0:
            return
        opening = template.rfind("{", opening, close)
        if template[opening + 1 : close] in names:
            yield template[opening + 1 : close], opening
        opening = template.find("{", close)


def placeholders(template: str) -> list[tuple[str, int]]:
    """Each name in the template, with the offset of its opening brace."""
    return [(name, offset) for _, name, offset in _pieces(template) if name is not None]
