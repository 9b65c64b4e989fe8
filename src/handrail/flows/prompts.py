"""Reads the prompt of a step: text with `${...}` in it, or a template with variables. Pure."""

from __future__ import annotations

import re

from handrail.expressions.parse import Expressions, Templated
from handrail.expressions.syntax import SCOPES
from handrail.expressions.tree import Expression
from handrail.flows.plan import Prompt
from handrail.flows.reading import Reading
from handrail.flows.spec import PROMPT
from handrail.source.suggest import did_you_mean
from handrail.source.yamltree import Node

_REFERENCE = re.compile(r"\$\{\s*((?:" + "|".join(SCOPES) + r")\.[^{}]*?)\s*\}")


def read_prompt(flow: Reading, node: Node, expressions: Expressions) -> Prompt:
    if node.kind == "text":
        return Prompt(template=None, inline="", names=(), values=(), extra=expressions.plain(node), plain=True)
    prompt = flow.reader(node, PROMPT)
    template, inline, form = prompt.text("templateRef"), prompt.text("inlineTemplate"), prompt.child("format")
    if template is None and inline is None:
        if not {"templateRef", "inlineTemplate"} & node.value.keys():
            hint = "write the prompt itself as `inlineTemplate: ...`"
            prompt.on(node, "prompt-template", "a prompt needs `templateRef` or `inlineTemplate`", hint)
    elif inline is None and template not in flow.known.prompts:
        near = did_you_mean(template or "", flow.known.prompts)
        hint = near or "correct the name, or write the prompt itself as `inlineTemplate: ...`"
        prompt.on(node.value["templateRef"], "prompt-unknown", f"there is no prompt `{template}`", hint)
    variables, extra = prompt.child("vars"), prompt.child("extraPrompt")
    members: dict[str, Node] = variables.value if variables is not None else {}
    values = {name: expressions.value(child) for name, child in members.items()}
    if inline is not None:
        inline = expressions.fill(inline)
        expressions.templates.append(Templated(inline, node.value["inlineTemplate"], variables))
        inline, found = _references(inline, node.value["inlineTemplate"], expressions)
        values |= found
    return Prompt(
        template=template,
        inline=inline,
        names=tuple(values),
        values=tuple(values.values()),
        extra=expressions.value(extra) if extra is not None else None,
        plain=form is not None and form.value == "plain",
    )


def _references(text: str, node: Node, expressions: Expressions) -> tuple[str, dict[str, Expression]]:
    """Replace each `${params.x}` in a template by a generated variable. Any other `${...}` stays."""
    found: dict[str, Expression] = {}

    def replaced(match: re.Match[str]) -> str:
        name = f"_{len(found)}"
        found[name] = expressions.ref(match[1], node)
        return "{" + name + "}"

    return _REFERENCE.sub(replaced, text), found
