"""Checks templates of a flow: every `{name}` needs a value, every value needs a `{name}`. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from handrail.expressions.parse import Templated, key_place
from handrail.source.diagnostics import Diagnostic
from handrail.source.files import Source
from handrail.source.suggest import did_you_mean
from handrail.source.templates import given_names, placeholders
from handrail.source.yamltree import Node


def template_problems(source: Source, template: Templated, declared: Collection[str]) -> Iterator[Diagnostic]:
    """Warnings about one template. Text without `vars` may contain braces on purpose, so there only names that the flow
    declares count as placeholders. In a prompt that Handrail ships, every name counts."""
    variables = template.vars if template.vars is not None and template.vars.kind == "mapping" else None
    given: dict[str, Node] = variables.value if variables is not None else {}
    used = placeholders(template.text)
    for name in dict.fromkeys(name for name, at in used if _is_placeholder(template.text, name, at)):
        if name not in given and (given or name in declared or template.is_whole):
            hint = did_you_mean(name, given) or f"add `{name}:` to `vars`; to keep the braces, `{name}: '{{{name}}}'`"
            place = _place(source, template.node, "{" + name + "}")
            message = f"`{{{name}}}` has no value, so it stays in the text"
            yield source.problem("template-unknown", place, message, hint, "warning")
    inserted = (*given_names(template.text, given), *given_names(template.node.value, given))
    names = {name for name, _ in (*used, *placeholders(template.node.value), *inserted)}
    for name in given:
        if name not in names and variables is not None:
            at = key_place(source, name, variables.keys[name])
            near = (
                did_you_mean(name, names - given.keys()) or f"write `{{{name}}}` in the template, or remove this value"
            )
            yield source.problem("template-unused", at, f"the template has no `{{{name}}}`", near, "warning")


def _is_placeholder(text: str, name: str, at: int) -> bool:
    """True for a word in braces. `{2}` is not a placeholder, and `${HOME}` belongs to the shell."""
    return not name[0].isdigit() and text[at - 1 : at] != "$"


def _place(source: Source, node: Node, mark: str) -> tuple[int, int, int]:
    """The place of a part of a text; the place of the whole text if the file writes it differently."""
    start = source.starts[node.line - 1] + node.column - 1
    there = source.text.find(mark, start, start + 2 * len(node.value) + 100)
    return (*source.place(there), len(mark)) if there >= 0 else (node.line, node.column, node.width)
