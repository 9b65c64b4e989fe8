"""The forms of values and conditions; parses located nodes into expressions and reports every problem. Pure.

A value is written in one of two ways. AgentWeaver's forms are `{"const": 1}` and `{"ref": "params.x"}`. Plain values:
a scalar is itself, `${params.x}` is a reference, text with `${...}` in it is a template, a list is a list, and a
mapping with several keys and no form is an object. The reference page of values is made from the tables of forms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

from handrail.base.dataclasses import dataclass, replace
from handrail.driven.artifacts.names import name_text, safe_extension, whole_iteration
from handrail.driven.expressions.tree import (
    SCOPES,
    Artifact,
    Comparison,
    Const,
    Default,
    Defined,
    Every,
    Exists,
    Expression,
    Items,
    Object,
    Ref,
    Template,
)
from handrail.source.definition_files import Source
from handrail.source.diagnostics import Diagnostic
from handrail.source.field_checks import plain_data
from handrail.source.fields import found, unknown_key
from handrail.source.plain_text import some
from handrail.source.suggestions import did_you_mean
from handrail.source.tree import TreeNode, node_text
from handrail.source.values import PATTERN_HINT, Unresolved, refuse_pattern


class ExpressionForm(NamedTuple):
    """A form: what it is, and an example that contains nothing else. The example is YAML."""

    about: str
    example: str


_AGENTWEAVER = {
    "const": ExpressionForm("the value as it is written, without references and forms", "{const: {add: '${x}'}}"),
    "ref": ExpressionForm("a reference; the same as `${...}` alone", "{ref: params.files.0}"),
    "artifact": ExpressionForm(
        "the path of a published file, by `name`; `extension` is `md` unless given, `scope` that of the run, "
        "`iteration` the newest. AgentWeaver's artifacts have `kind` and `taskKey` instead",
        "{artifact: {name: notes}}",
    ),
    "artifactList": ExpressionForm(
        "the paths of a list of AgentWeaver's artifacts, by `kind` and `taskKey`",
        "{artifactList: {kind: plan-artifacts, taskKey: T-1}}",
    ),
    "template": ExpressionForm(
        "text with `{NAME}` in it, and the values in `vars` beside it; a list is joined with commas",
        "{template: 'See {files}', vars: {files: '${params.files}'}}",
    ),
    "appendPrompt": ExpressionForm(
        "`suffix` below `base`, both trimmed; `base` is optional",
        "{appendPrompt: {base: 'Review it.', suffix: '${params.title}'}}",
    ),
    "add": ExpressionForm("the sum of numbers", "{add: ['${params.count}', 1]}"),
    "concat": ExpressionForm("texts put together; a list is joined with commas", "{concat: [v, '${params.count}']}"),
    "list": ExpressionForm("a list; the same as a plain list", "{list: ['${params.title}', 1]}"),
}
_HANDRAIL = {
    "default": ExpressionForm("the first value that is there and is not null", "{default: ['${params.none}', 3]}"),
    "object": ExpressionForm(
        "an object; needed only if it has a single key, or a key that is the name of a form",
        "{object: {title: '${params.title}'}}",
    ),
    "sub": ExpressionForm("the first number minus the second", "{sub: ['${params.count}', 1]}"),
    "mul": ExpressionForm("the product of numbers", "{mul: ['${params.count}', 2]}"),
    "div": ExpressionForm("the first number divided by the second", "{div: ['${params.count}', 2]}"),
    "mod": ExpressionForm("the remainder of the first number divided by the second", "{mod: ['${params.count}', 2]}"),
    "length": ExpressionForm("the length of a text, a list or an object", "{length: '${params.files}'}"),
}
VALUES = _AGENTWEAVER | _HANDRAIL
CONDITIONS = {
    "ref": ExpressionForm(
        "the value is not 0, empty text, null or false; the same as `${...}` alone. "
        "Empty lists and objects count as true",
        "{ref: params.title}",
    ),
    "not": ExpressionForm("the condition does not hold", "{not: '${params.none}'}"),
    "all": ExpressionForm(
        "all of these conditions hold; those after the first that does not are not looked at",
        "{all: ['${params.title}', '${params.none}']}",
    ),
    "any": ExpressionForm("at least one of these conditions holds", "{any: ['${params.title}', '${params.none}']}"),
    "equals": ExpressionForm(
        "type and value are the same: 3 equals 3.0, but not the text `3`", "{equals: ['${params.count}', 3]}"
    ),
    "exists": ExpressionForm("there is a file or a folder with this path", "{exists: NOTES.md}"),
    "const": ExpressionForm("the value itself is true, as with `ref`", "{const: false}"),
    "defined": ExpressionForm("the value is there and is not null", "{defined: '${params.none}'}"),
    "differs": ExpressionForm("the opposite of `equals`", "{differs: ['${params.count}', '3']}"),
    "less": ExpressionForm(
        "the first is less than the second: numbers, or two texts", "{less: ['${params.count}', 3]}"
    ),
    "greater": ExpressionForm("the first is greater than the second", "{greater: ['${params.count}', 2]}"),
    "atMost": ExpressionForm("the first is less than the second, or the same", "{atMost: ['${params.count}', 3]}"),
    "atLeast": ExpressionForm("the first is greater than the second, or the same", "{atLeast: ['${params.count}', 4]}"),
    "contains": ExpressionForm(
        "a list contains an item, a text a part, or an object a name", "{contains: ['${params.files}', a.md]}"
    ),
    "in": ExpressionForm("the same, with the part first", "{in: [a.md, '${params.files}']}"),
    "matches": ExpressionForm(
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
    names = [key for key in keys if not key.startswith("_")]
    forms = (form for form in _AGENTWEAVER if form in keys)
    return next(forms, None) or next((form for form in _HANDRAIL if names == [form]), None)


_COMPARISON = re.compile(r"\s*(\$\{[^{}]*\})\s*(===?|!==?|<=|>=|<|>)\s*(\S.*?)\s*")


def condition_hint(text: str) -> str:
    """How to write a condition that is more than one reference, such as `${params.n} == 3`."""
    match = _COMPARISON.fullmatch(text)
    if match is None:
        return "write `${...}` alone, or a form such as `equals: [A, B]`"
    left, sign, right = match.groups()
    right = f'"{right}"' if right.startswith("${") else right
    form = "equals" if "==" in sign or sign == "!=" else "less" if sign[0] == "<" else "greater"
    test = f'{{{form}: ["{left}", {right}]}}'
    if sign in ("<=", ">="):
        test = f'{{{"greater" if form == "less" else "less"}: ["{left}", {right}]}}'
    return f"write `{{not: {test}}}`" if sign in ("!=", "!==", "<=", ">=") else f"write `{test}`"


SourcePlace = tuple[int, int, int]
AGENTWEAVER_ARTIFACT = ("kind", "taskKey", "iteration")
HANDRAIL_ARTIFACT = ("name", "extension", "scope", "iteration")
EXTENSION_HINT = "write `md` or `json`, without a dot"
ITERATION_HINT = "write 1, 2, 3, …, or remove `iteration` to use the newest"
NAME_HINT = "use letters, digits, `-`, `_` and `.`"


@dataclass(frozen=True)
class ArtifactKinds:
    """The known artifact kinds. `near` suggests a known name for an unknown one."""

    single: frozenset[str]
    lists: frozenset[str]
    near: Callable[[str, frozenset[str]], str | None] = did_you_mean


@dataclass(frozen=True)
class UsedReference:
    """A reference and its place. `is_shielded`: it is inside `default`, `defined`, `all` or `any`, so it may fail."""

    ref: Ref
    place: SourcePlace
    is_shielded: bool = False


@dataclass(frozen=True)
class TemplateText:
    """The text of a template, its node, and its `vars`. `is_whole`: every `{name}` in it is a placeholder."""

    text: str
    node: TreeNode
    vars: TreeNode | None
    is_whole: bool = False


class ExpressionReader:
    """Reads the expressions of one file. `rounds` are the values of repeat variables, for `${name}`. `bindings` replace
    `repeat.NAME` in an expression that is evaluated in another round. `aliases` are names of phases of this round."""

    def __init__(
        self,
        source: Source,
        report: Callable[[Diagnostic], None],
        rounds: dict[str, int],
        kinds: ArtifactKinds,
        *,
        bindings: Mapping[str, Expression] | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.source, self.report = source, report
        self.rounds, self.kinds = rounds, kinds
        self.bindings = bindings or {}
        self.aliases = aliases or {}
        self.references: list[UsedReference] = []
        self.templates: list[TemplateText] = []
        self.is_of_round = False  # True if something that was read is different in another round
        self._shields = 0

    def problem(self, node: TreeNode, code: str, message: str, hint: str | None = None) -> None:
        self.report(self.source.problem(code, node.place, message, hint))

    def fill(self, text: str) -> str:
        """Fill in `${i}` for each repeat around this place. Other `${...}` stay."""
        for name, value in self.rounds.items():
            if (mark := "${" + name + "}") in text:
                text, self.is_of_round = text.replace(mark, str(value)), True
        return text

    def unknown_form(self, node: TreeNode, code: str, what: str, forms: tuple[str, ...], more: str) -> None:
        """Report a mapping that has no known form, at its first key."""
        name = next(iter(node.value), None)
        known = f"{more}; known forms: {', '.join(forms)}"
        if name is None:
            self.problem(node, code, f"an empty mapping is not a {what}", known)
            return
        message, hint = f"`{name}` is not a known form of a {what}", did_you_mean(name, forms) or known
        self.report(self.source.problem(code, self.source.key_place(name, node.keys[name]), message, hint))

    def warn_extra_keys(self, node: TreeNode, *used: str) -> None:
        """Warn about keys that the form does not use. JSON files keep comments in keys like `_note`."""
        for name, place in node.keys.items():
            if name not in used and not name.startswith("_"):
                message, hint = f"`{name}` has no effect beside `{used[0]}`", "remove it"
                key_place = self.source.key_place(name, place)
                self.report(self.source.problem("unknown-key", key_place, message, hint, "warning"))

    def ref(self, path: str, node: TreeNode, place: SourcePlace | None = None) -> Expression:
        """A reference, or the bound expression if the reference is a bound `repeat.NAME`."""
        ref = Ref(self.fill(path))
        parts = ref.names
        if parts[:1] == ["steps"] and len(parts) > 1 and parts[1] in self.aliases:
            ref, self.is_of_round = Ref(".".join(["steps", self.aliases[parts[1]], *parts[2:]])), True
        if parts[:1] == ["repeat"] and len(parts) > 1 and parts[1] in self.bindings:
            return reduce(lambda whole, member: Items("at", (whole, Const(member))), parts[2:], self.bindings[parts[1]])
        self.references.append(UsedReference(ref, place or node.place, self._shields > 0))
        return ref

    @contextmanager
    def _shielded(self) -> Iterator[None]:
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1

    def value(self, node: TreeNode) -> Expression:
        """The expression of a value. If it cannot be read, reports the problem and returns `Const(None)`."""
        if node.kind == "text":
            return self.plain(node)
        if node.kind == "list":
            return Items("list", tuple(self.value(item) for item in node.value))
        if node.kind != "mapping":
            return Const(node.value)
        form = form_of(node.value)
        if form is None and len(node.value) > 1:
            return Object(*self._members(node, "object"))
        if form is None:
            more = "write a mapping as `const: {...}`, or as `object: {...}` if it holds references"
            self.unknown_form(node, "value-form", "value", VALUE_FORMS, more)
            return Const(None)
        self.warn_extra_keys(node, form, *(("vars",) if form == "template" else ()))
        return self._form(form, node, node.value[form])

    def _form(self, form: str, node: TreeNode, inner: TreeNode) -> Expression:
        match form:
            case "const":
                return Const(plain_data(inner))
            case "ref":
                return self._ref(inner)
            case "artifact" | "artifactList":
                return self._artifact(form, inner)
            case "template":
                return self._template(node, inner)
            case "appendPrompt":
                return self._append_prompt(inner)
            case "default":
                with self._shielded():
                    return Default(tuple(self._values(form, inner, 2)) or (Const(None),))
            case "object":
                return Object(*self._members(inner, "object"))
            case "length":
                return Items("length", (self.value(inner),))
            case _:
                items = self._values(form, inner, ARITHMETIC[form] or 0, exact=ARITHMETIC[form] is not None)
                return Items(form, tuple(items)) if items or ARITHMETIC[form] is None else Const(None)

    def plain(self, node: TreeNode) -> Expression:
        """Text with `${...}` in it: a reference if the text is nothing else, otherwise a template."""
        text = self.fill(node.value)
        if "${" not in text:
            return Const(text)
        places = self.reference_places(node)
        pieces: list[Expression] = []
        index = 0
        while (mark := text.find("${", index)) >= 0:
            if mark > index:
                pieces.append(Const(text[index:mark]))
            end = text.find("}", mark)
            if end < 0:
                place = next(places, node.place)
                self.report(self.source.problem("placeholder-open", place, "`${` is not closed", "close it with `}`"))
                return Const(text)
            pieces.append(self.ref(text[mark + 2 : end].strip(), node, next(places, None)))
            index = end + 1
        if index < len(text):
            pieces.append(Const(text[index:]))
        return pieces[0] if len(pieces) == 1 else Items("text", tuple(pieces))

    def reference_places(self, node: TreeNode) -> Iterator[SourcePlace]:
        """The place of each reference of a text. Stops at the first one that the file writes differently."""
        text, index = node.value, 0
        start = self.source.starts[node.line - 1] + node.column - 1
        while (index := text.find("${", index)) >= 0:
            end = text.find("}", index)
            if text[index + 2 : end] in self.rounds:
                index = end
                continue
            while end >= 0 and text[text.rfind("${", index, end) + 2 : end] in self.rounds:
                end = text.find("}", end + 1)
            mark = text[index:] if end < 0 else text[index : end + 1]
            offset = self.source.text.find(mark, start, start + 2 * len(text) + 100)
            if offset < 0:
                return
            line, column = self.source.place(offset)
            yield line, column, 2 if end < 0 else len(mark)
            start, index = offset + len(mark), index + len(mark)

    def _ref(self, node: TreeNode) -> Expression:
        if node.kind != "text":
            self.problem(node, "wrong-type", f"`ref` has to be text, found {found(node)}", "write a path: `params.x`")
            return Const(None)
        return self.ref(node.value, node)

    def _values(self, form: str, node: TreeNode, count: int, *, exact: bool = False) -> list[Expression]:
        if node.kind != "list":
            message = f"`{form}` has to be a list, found {found(node)}"
            self.problem(node, "wrong-type", message, f"write `{form}: [A, B]`")
            return []
        if len(node.value) < count or (exact and len(node.value) != count):
            number = count if exact else f"at least {count}"
            message = f"`{form}` takes {number} values, found {len(node.value)}"
            self.problem(node, "wrong-count", message, f"write `{form}: [A, B]`")
            return []
        return [self.value(item) for item in node.value]

    def _artifact(self, form: str, node: TreeNode) -> Expression:
        members = node.value if node.kind == "mapping" else {}
        is_ours = form == "artifact" and not {"kind", "taskKey"} & members.keys()
        known = HANDRAIL_ARTIFACT if is_ours else AGENTWEAVER_ARTIFACT
        for name, place in node.keys.items() if node.kind == "mapping" else ():
            if name not in known and not name.startswith("_"):
                self.report(unknown_key(self.source, name, place, known))
        if is_ours and "name" in members:
            artifact: Artifact | None = self._handrail_artifact(members)
        else:
            artifact = self._agentweaver_artifact(form, node, members)
        if artifact is None or "iteration" not in members:
            return artifact or Const(None)
        iteration = self.value(members["iteration"])
        self._check_constant(members["iteration"], iteration, whole_iteration, ITERATION_HINT)
        return replace(artifact, iteration=iteration)

    def _agentweaver_artifact(self, form: str, node: TreeNode, members: dict[str, TreeNode]) -> Artifact | None:
        """An artifact of AgentWeaver, or a list of them."""
        kind, key = members.get("kind"), members.get("taskKey")
        if kind is None or kind.kind != "text" or key is None:
            place = kind if kind is not None and kind.kind != "text" else node
            ours = "" if form == "artifactList" else ", or for your own artifact `artifact: {name: VALUE}`"
            hint = f"write `{form}: {{kind: NAME, taskKey: VALUE}}`{ours}"
            self.problem(place, "artifact-form", f"`{form}` needs `kind` (a name) and `taskKey`", hint)
            return None
        kinds = self.kinds.lists if form == "artifactList" else self.kinds.single
        if kind.value not in kinds:
            known = f"known: {some(sorted(kinds))}"
            whole = kind.value + ("-artifacts" if form == "artifactList" else "-file")
            near = f"did you mean `{whole}`?" if whole in kinds else self.kinds.near(kind.value, kinds)
            hint = near or (known if kinds else "no artifact kinds are known; write a path")
            self.problem(kind, "artifact-kind", f"there is no artifact kind `{kind.value}`", hint)
        return Artifact(key=self._name_part(key, "key"), kind=kind.value, is_list=form == "artifactList")

    def _handrail_artifact(self, members: dict[str, TreeNode]) -> Artifact:
        """An artifact of Handrail, in the scope of the run unless `scope` is given."""
        scope, extension = members.get("scope"), members.get("extension")
        key = self._name_part(scope, "scope") if scope is not None else self.ref("context.scope", members["name"])
        if extension is not None:
            self._check_constant(extension, Const(plain_data(extension)), safe_extension, EXTENSION_HINT)
        ending = node_text(extension) if extension is not None else "md"
        return Artifact(key=key, name=self._name_part(members["name"], "name"), extension=ending)

    def _name_part(self, node: TreeNode, what: str) -> Expression:
        expression = self.value(node)
        self._check_constant(node, expression, lambda value: name_text(value, what), NAME_HINT)
        return expression

    def _check_constant(
        self, node: TreeNode, expression: Expression, check: Callable[[Any], object], hint: str
    ) -> None:
        """Check a value that is known at load. A value that could not be read was reported before."""
        if isinstance(expression, Const) and not (expression.value is None and node.kind == "mapping"):
            try:
                check(expression.value)
            except Unresolved as error:
                self.problem(node, error.code, error.message, hint)

    def _template(self, node: TreeNode, inner: TreeNode) -> Expression:
        if inner.kind != "text":
            message = f"`template` has to be text, found {found(inner)}"
            self.problem(inner, "wrong-type", message, "write text with `{name}` in it, and `vars` beside it")
            return Const(None)
        names, values = self._members(node.value.get("vars"), "vars")
        self.templates.append(TemplateText(text := self.fill(inner.value), inner, node.value.get("vars")))
        return Template(text, names, values)

    def _members(self, node: TreeNode | None, what: str) -> tuple[tuple[str, ...], tuple[Expression, ...]]:
        if node is None:
            return (), ()
        if node.kind != "mapping":
            message = f"`{what}` has to be a mapping, found {found(node)}"
            self.problem(node, "wrong-type", message, f"write `{what}: {{NAME: VALUE}}`")
            return (), ()
        return tuple(node.value), tuple(self.value(child) for child in node.value.values())

    def _append_prompt(self, node: TreeNode) -> Expression:
        members = node.value if node.kind == "mapping" else {}
        if "suffix" not in members:
            hint = "write `appendPrompt: {base: TEXT, suffix: TEXT}`; `base` is optional"
            self.problem(node, "append-prompt", "`appendPrompt` needs `suffix`", hint)
            return Const(None)
        parts = (members[name] for name in ("base", "suffix") if name in members)
        return Items("appendPrompt", tuple(map(self.value, parts)))

    def condition(self, node: TreeNode) -> Expression:
        """The expression of a condition: a form, or plain `true`, `false` or `${...}`."""
        if node.kind == "boolean":
            return Const(node.value)
        if node.kind == "text" and "${" in self.fill(node.value):
            value = self.plain(node)
            if isinstance(value, Items):
                message = "a condition has to be `${...}` alone or a mapping, found longer text, which is always true"
                self.problem(node, "condition-form", message, condition_hint(node.value))
            return Items("truth", (value,))
        form = next((name for name in CONDITION_FORMS if name in node.value), None) if node.kind == "mapping" else None
        if form is None:
            is_path = node.kind == "text" and node.value.partition(".")[0] in SCOPES
            more = f"write `${{{node.value}}}`" if is_path else "write `ref: params.x` or `equals: [A, B]`"
            if node.kind == "mapping":
                self.unknown_form(node, "condition-form", "condition", CONDITION_FORMS, more)
            else:
                message = f"a condition has to be true, false, `${{...}}` or a mapping, found {found(node)}"
                self.problem(node, "condition-form", message, more)
            return Const(False)
        self.warn_extra_keys(node, form)
        return self._condition(form, node.value[form])

    def _condition(self, form: str, inner: TreeNode) -> Expression:
        match form:
            case "ref":
                return Items("truth", (self._ref(inner),))
            case "const":
                return Items("truth", (Const(plain_data(inner)),))
            case "not":
                return Items("not", (self.condition(inner),))
            case "all" | "any":
                if inner.kind != "list":
                    message = f"`{form}` has to be a list, found {found(inner)}"
                    self.problem(inner, "wrong-type", message, f"write `{form}: [CONDITION, CONDITION]`")
                    return Const(False)
                with self._shielded():
                    return Every(tuple(self.condition(item) for item in inner.value), form == "all")
            case "exists":
                return Exists(self.value(inner))
            case "defined":
                with self._shielded():
                    return Defined(self.value(inner))
            case _:
                sides = self._values(form, inner, 2, exact=True)
                if form == "matches" and sides:
                    self._check_constant(inner.value[1], sides[1], refuse_pattern, PATTERN_HINT)
                return Comparison(form, sides[0], sides[1]) if sides else Const(False)
