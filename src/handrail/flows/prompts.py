"""Reads the prompt of a step: text with `${...}` in it, or a template with variables."""

from __future__ import annotations

import re
from collections.abc import Mapping

from handrail.artifacts.names import NOT_PROVIDED
from handrail.errors import DefinitionError
from handrail.expressions.parse import Expressions, Templated
from handrail.expressions.syntax import SCOPES
from handrail.expressions.tree import Const, Expression
from handrail.flows.library import PromptFile
from handrail.flows.plan import Prompt
from handrail.flows.reading import Reading
from handrail.flows.shipped import SOURCE
from handrail.flows.spec import PROMPT
from handrail.source.fields import Reader
from handrail.source.suggest import did_you_mean
from handrail.source.templates import placeholders
from handrail.source.yamltree import Node

_REFERENCE = re.compile(r"\$\{\s*((?:" + "|".join(SCOPES) + r")\.[^{}]*?)\s*\}")

_WRITTEN = re.compile(r"\b(?:[Ww]rite|to) `\{(\w+_file)\}`")
"""How prompts name a file that the agent writes."""


def read_prompt(flow: Reading, node: Node, expressions: Expressions) -> Prompt:
    if node.kind == "text":
        _refuse_blank(flow, node)
        return Prompt(name=None, text="", names=(), values=(), extra=expressions.plain(node), plain=True)
    prompt = flow.reader(node, PROMPT)
    template, inline, form = prompt.text("templateRef"), prompt.text("inlineTemplate"), prompt.child("format")
    if template is None and inline is None and not {"templateRef", "inlineTemplate"} & node.value.keys():
        hint = "write the prompt itself as `inlineTemplate: ...`"
        prompt.on(node, "prompt-template", "a prompt needs `templateRef` or `inlineTemplate`", hint)
    variables, extra = prompt.child("vars"), prompt.child("extraPrompt")
    members: dict[str, Node] = variables.value if variables is not None else {}
    values, text = {name: expressions.value(child) for name, child in members.items()}, ""
    if inline is not None:
        _refuse_blank(flow, node.value["inlineTemplate"])
        inline = expressions.fill(inline)
        expressions.templates.append(Templated(inline, node.value["inlineTemplate"], variables))
        text, found = _references(inline, node.value["inlineTemplate"], expressions)
        values |= found
    elif template is not None:
        text = _named(prompt, template, node.value["templateRef"], flow.known.prompts)
        unwritten = _report_unwritten(flow, node.value["templateRef"], text, members)
        if flow.source.is_foreign:
            values |= {name: Const(NOT_PROVIDED) for name, _ in placeholders(text) if name not in values}
        elif text:
            is_shipped = flow.known.prompts[template].source == SOURCE
            seen = _without(text, unwritten)
            expressions.templates.append(Templated(seen, node.value["templateRef"], variables, is_shipped))
    return Prompt(
        name=template if inline is None else None,
        text=text,
        names=tuple(values),
        values=tuple(values.values()),
        extra=expressions.value(extra) if extra is not None else None,
        plain=form.value == "plain" if form is not None else not flow.source.is_foreign,
    )


def _refuse_blank(flow: Reading, node: Node) -> None:
    if not node.value.strip():
        flow.problem(node, "blank-text", "the prompt is blank", "write what the agent has to do")


def _named(prompt: Reader, name: str, node: Node, known: Mapping[str, PromptFile]) -> str:
    """The text of a prompt of the catalog; empty if it cannot be used."""
    if name not in known:
        hint = did_you_mean(name, known) or "correct the name, or write the prompt itself as `inlineTemplate: ...`"
        prompt.on(node, "prompt-unknown", f"there is no prompt `{name}`", hint)
        return ""
    try:
        return known[name].text
    except DefinitionError as error:
        prompt.on(node, "prompt-broken", error.message, error.hint)
        return ""


def _report_unwritten(flow: Reading, node: Node, text: str, given: Mapping[str, Node]) -> list[str]:
    """Report each file that a prompt tells the agent to write, and that has no path. Returns their names."""
    names = [name for name in dict.fromkeys(_WRITTEN.findall(text)) if name not in given]
    for name in names:
        message = f"the prompt `{node.value}` tells the agent to write `{{{name}}}`, but no path is given for it"
        flow.problem(node, "prompt-output", message, f"add `{name}:` to `vars`, with the path of the file")
    return names


def _without(text: str, names: list[str]) -> str:
    for name in names:
        text = text.replace("{" + name + "}", "")
    return text


def _references(text: str, node: Node, expressions: Expressions) -> tuple[str, dict[str, Expression]]:
    """Replace each `${params.x}` in a template by a generated variable. Any other `${...}` stays."""
    found: dict[str, Expression] = {}

    def replaced(match: re.Match[str]) -> str:
        name = f"_{len(found)}"
        found[name] = expressions.ref(match[1], node)
        return "{" + name + "}"

    return _REFERENCE.sub(replaced, text), found
