"""Rules that approve an effect in place of a person. Pure.

A rule comes from the user's own settings or from the command line, never from a project, a flow or an agent.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Mapping
from typing import Any

from handrail.base.dataclasses import dataclass
from handrail.source.fields import Field, MappingReader, found, json_schema, quoted, shape
from handrail.source.suggestions import did_you_mean
from handrail.source.tree import TreeNode, node_text

STEP = "step"
"""What every rule can ask for: the path of the step that asks."""
OPTION = "--approve"
_PATTERN = {"type": ["string", "boolean", "integer"], "description": "a pattern, with `*` and `?`"}
RULE_SHAPE = shape(
    "rule",
    "An effect that is approved without asking a person.",
    Field("effect", ("text",), "the node that has the effect", required=True, examples=("git-push",)),
    Field(
        "where",
        ("mapping",),
        "approve it only if these values fit; `*` and `?` stand for any text and any character",
        schema={"type": "object", "additionalProperties": _PATTERN},
        examples=({"branch": "handrail/*"},),
    ),
)


def rules_schema() -> dict[str, Any]:
    return {"type": "array", "items": {"anyOf": [{"type": "string"}, json_schema(RULE_SHAPE)]}}


Effects = Callable[[], Mapping[str, Collection[str]]]
"""The effects that can be approved, and the names that their rules can ask for."""


@dataclass(frozen=True)
class ApprovalRule:
    """Approves an effect if all of `where` fits: name and pattern, with `*` and `?`. `source` is where it is from."""

    effect: str
    where: tuple[tuple[str, str], ...] = ()
    source: str = OPTION

    def fits(self, effect: str, values: Mapping[str, str], risks: Collection[str]) -> bool:
        asked = dict(self.where)
        if effect != self.effect or any(name not in asked for name in risks):
            return False
        return all(name in values and fnmatch.fnmatchcase(values[name], asked[name]) for name in asked)

    def __str__(self) -> str:
        if self.source == OPTION:
            return f"{OPTION} {self.effect}"
        where = ", ".join(f"{name}: {pattern}" for name, pattern in self.where)
        return f"`approve` in {self.source}: {self.effect}" + (f" where {where}" if where else "")


def read_rules(reader: MappingReader, node: TreeNode, effects: Effects | None) -> tuple[ApprovalRule, ...]:
    """The rules of a settings file. Reports each that is wrong, at its place."""
    known = effects() if effects is not None else None
    return tuple(rule for item in node.value if (rule := _rule(reader, item, known)) is not None)


def _rule(reader: MappingReader, item: TreeNode, known: Mapping[str, Collection[str]] | None) -> ApprovalRule | None:
    effect = item.value.get("effect") if item.kind == "mapping" else item
    if effect is None or effect.kind != "text":
        message = f"an item of `approve` has to name an effect, found {found(item if effect is None else effect)}"
        reader.on(item, "bad-value", message, "write `- EFFECT`, or `- {effect: EFFECT, where: {branch: NAME}}`")
        return None
    if known is not None and effect.value not in known:
        hint = did_you_mean(effect.value, known) or f"effects: {', '.join(known)}"
        reader.on(effect, "bad-value", f"there is no effect {quoted(effect)} that can be approved", hint)
        return None
    where: dict[str, str] | None = {}
    for name, child in item.value.items() if item.kind == "mapping" else ():
        if name == "where":
            where = _where(reader, child, None if known is None else (*known[effect.value], STEP))
        elif name != "effect":
            hint = did_you_mean(name, RULE_SHAPE.by_name) or f"its keys: {', '.join(RULE_SHAPE.by_name)}"
            reader.on(child, "unknown-key", f"an item of `approve` has no key `{name}`", hint)
            where = None
    source = "your settings"
    return None if where is None else ApprovalRule(effect.value, tuple(where.items()), source)


def _where(reader: MappingReader, node: TreeNode, names: Collection[str] | None) -> dict[str, str] | None:
    """The patterns by name. None if one is wrong: a rule without it would approve more than it was meant to."""
    if node.kind != "mapping":
        reader.on(node, "wrong-type", f"`where` has to be a mapping, found {found(node)}", "write `{NAME: PATTERN}`")
        return None
    patterns: dict[str, str] = {}
    for name, child in node.value.items():
        if names is not None and name not in names:
            hint = did_you_mean(name, names) or f"it can ask for: {', '.join(names)}"
            reader.on(child, "bad-value", f"this effect has no `{name}`", hint)
        elif child.kind not in ("text", "boolean", "integer"):
            reader.on(child, "wrong-type", f"`{name}` has to be a pattern, found {found(child)}", "write it as text")
        else:
            patterns[name] = node_text(child)
    return patterns if len(patterns) == len(node.value) else None
