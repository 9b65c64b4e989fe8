"""`{name}` templates: one pass from left to right, values inserted as they are, unknown names kept. Pure.

No regular expressions: a denied tool call renders its reason in a process that should stay small.
"""

from __future__ import annotations

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def _pieces(template: str) -> Iterator[tuple[str, str | None, int]]:
    """(text before, name, offset of the name's brace) for each placeholder; the rest at the end."""
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
    """The template with every known name replaced by its value, literally and once."""
    parts: list[str] = []
    for text, name, _ in _pieces(template):
        parts.append(text)
        if name is not None:
            parts.append(values.get(name, "{" + name + "}"))
    return "".join(parts)


def placeholders(template: str) -> list[tuple[str, int]]:
    """Every name used, with the offset of its brace."""
    return [(name, offset) for _, name, offset in _pieces(template) if name is not None]
