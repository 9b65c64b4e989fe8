"""The forms that values and conditions of flows may have, each with an example, and the scopes of references. Pure.

The reference page of values is made from these tables. It shows what every example is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple


class Form(NamedTuple):
    """A form: what it is, and an example that contains nothing else. The example is YAML."""

    about: str
    example: str


SCOPES = {
    "params": "`params.NAME`: a parameter of the flow",
    "flow": "`flow.NAME`: a constant of the flow, from its `constants`",
    "context": "`context.NAME`: a fact about the run, see [below](#context)",
    "repeat": "`repeat.NAME`: the number or the item of the round, in a `repeat`",
    "steps": "`steps.PHASE.STEP.outputs.NAME`: an output of a finished step; also `.value` and `.status`",
}
_AGENTWEAVER = {
    "const": Form("the value as it is written, without references and forms", "{const: {add: '${x}'}}"),
    "ref": Form("a reference; the same as `${...}` alone", "{ref: params.files.0}"),
    "artifact": Form(
        "the path of a published file, by `name`; `extension` is `md` unless given, `scope` that of the run, "
        "`iteration` the newest. AgentWeaver's artifacts have `kind` and `taskKey` instead",
        "{artifact: {name: notes}}",
    ),
    "artifactList": Form(
        "the paths of a list of AgentWeaver's artifacts, by `kind` and `taskKey`",
        "{artifactList: {kind: plan-artifacts, taskKey: T-1}}",
    ),
    "template": Form(
        "text with `{NAME}` in it, and the values in `vars` beside it; a list is joined with commas",
        "{template: 'See {files}', vars: {files: '${params.files}'}}",
    ),
    "appendPrompt": Form(
        "`suffix` below `base`, both trimmed; `base` is optional",
        "{appendPrompt: {base: 'Review it.', suffix: '${params.title}'}}",
    ),
    "add": Form("the sum of numbers", "{add: ['${params.count}', 1]}"),
    "concat": Form("texts put together; a list is joined with commas", "{concat: [v, '${params.count}']}"),
    "list": Form("a list; the same as a plain list", "{list: ['${params.title}', 1]}"),
}
_HANDRAIL = {
    "default": Form("the first value that is there and is not null", "{default: ['${params.none}', 3]}"),
    "object": Form(
        "an object; needed only if it has a single key, or a key that is the name of a form",
        "{object: {title: '${params.title}'}}",
    ),
    "sub": Form("the first number minus the second", "{sub: ['${params.count}', 1]}"),
    "mul": Form("the product of numbers", "{mul: ['${params.count}', 2]}"),
    "div": Form("the first number divided by the second", "{div: ['${params.count}', 2]}"),
    "mod": Form("the remainder of the first number divided by the second", "{mod: ['${params.count}', 2]}"),
    "length": Form("the length of a text, a list or an object", "{length: '${params.files}'}"),
}
VALUES = _AGENTWEAVER | _HANDRAIL
CONDITIONS = {
    "ref": Form(
        "the value is not 0, empty text, null or false; the same as `${...}` alone. "
        "Empty lists and objects count as true",
        "{ref: params.title}",
    ),
    "not": Form("the condition does not hold", "{not: '${params.none}'}"),
    "all": Form(
        "all of these conditions hold; those after the first that does not are not looked at",
        "{all: ['${params.title}', '${params.none}']}",
    ),
    "any": Form("at least one of these conditions holds", "{any: ['${params.title}', '${params.none}']}"),
    "equals": Form(
        "type and value are the same: 3 equals 3.0, but not the text `3`", "{equals: ['${params.count}', 3]}"
    ),
    "exists": Form("there is a file or a folder with this path", "{exists: NOTES.md}"),
    "const": Form("the value itself is true, as with `ref`", "{const: false}"),
    "defined": Form("the value is there and is not null", "{defined: '${params.none}'}"),
    "differs": Form("the opposite of `equals`", "{differs: ['${params.count}', '3']}"),
    "less": Form("the first is less than the second: numbers, or two texts", "{less: ['${params.count}', 3]}"),
    "greater": Form("the first is greater than the second", "{greater: ['${params.count}', 2]}"),
    "atMost": Form("the first is less than the second, or the same", "{atMost: ['${params.count}', 3]}"),
    "atLeast": Form("the first is greater than the second, or the same", "{atLeast: ['${params.count}', 4]}"),
    "contains": Form(
        "a list contains an item, a text a part, or an object a name", "{contains: ['${params.files}', a.md]}"
    ),
    "in": Form("the same, with the part first", "{in: [a.md, '${params.files}']}"),
    "matches": Form(
        "a text contains a match of a regular expression, without look-around and back-references",
        "{matches: ['${params.title}', '^S.y']}",
    ),
}
PAIRS = ("equals", "differs", "less", "greater", "atMost", "atLeast", "contains", "in", "matches")
ARITHMETIC = {"add": None, "mul": None, "concat": None, "list": None, "sub": 2, "div": 2, "mod": 2}
VALUE_FORMS = tuple(VALUES)
CONDITION_FORMS = tuple(CONDITIONS)


def form_of(keys: Collection[str]) -> str | None:
    """The form of a mapping: the first AgentWeaver form among its keys, else a Handrail form if it is the only key."""
    named = [key for key in keys if not key.startswith("_")]
    found = (form for form in _AGENTWEAVER if form in keys)
    return next(found, None) or next((form for form in _HANDRAIL if named == [form]), None)


_COMPARISON = re.compile(r"\s*(\$\{[^{}]*\})\s*(===?|!==?|<=|>=|<|>)\s*(\S.*?)\s*")


def condition_hint(text: str) -> str:
    """How to write a condition that is more than one reference, such as `${params.n} == 3`."""
    found = _COMPARISON.fullmatch(text)
    if found is None:
        return "write `${...}` alone, or a form such as `equals: [A, B]`"
    left, sign, right = found.groups()
    right = f'"{right}"' if right.startswith("${") else right
    form = "equals" if "==" in sign or sign == "!=" else "less" if sign[0] == "<" else "greater"
    test = f'{{{form}: ["{left}", {right}]}}'
    if sign in ("<=", ">="):
        test = f'{{{"greater" if form == "less" else "less"}: ["{left}", {right}]}}'
    return f"write `{{not: {test}}}`" if sign in ("!=", "!==", "<=", ">=") else f"write `{test}`"
