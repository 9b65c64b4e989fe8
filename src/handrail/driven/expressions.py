"""Located nodes → expressions, with every problem at its place. Pure.

Two ways to write a value: the second seed's forms (`{"const": 1}`, `{"ref": "params.x"}`), and plain ones: a scalar
stands for itself, `${params.x}` for a reference, text around it makes a template, a list is a list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from handrail.diagnostics import Diagnostic
from handrail.fields import found
from handrail.sourcefile import Source
from handrail.suggest import did_you_mean
from handrail.values import (
    AppendPrompt,
    Artifact,
    Const,
    Default,
    Defined,
    Every,
    Exists,
    Expression,
    Items,
    Not,
    Object,
    Ref,
    Template,
    Test,
    Truth,
)
from handrail.yamltree import Node, as_text

Place = tuple[int, int, int]
PAIRS = ("equals", "differs", "less", "greater", "atMost", "atLeast", "contains", "in", "matches")
ARITHMETIC = {"add": None, "mul": None, "concat": None, "list": None, "sub": 2, "div": 2, "mod": 2}
VALUE_FORMS = (
    "const", "ref", "artifact", "artifactList", "template", "appendPrompt", "add", "concat", "list",
    "default", "object", "sub", "mul", "div", "mod", "length",
)  # fmt: skip
CONDITION_FORMS = ("ref", "not", "all", "any", "equals", "exists", "const", "defined", *PAIRS[1:])


class Used(NamedTuple):
    """A reference and where it stands."""

    ref: Ref
    place: Place


class Expressions:
    """Reads the expressions of one file. `rounds` are the repeat variables that `${name}` stands for here."""

    def __init__(
        self, source: Source, report: Callable[[Diagnostic], None], rounds: dict[str, int], *, bound: bool = False
    ) -> None:
        self.source = source
        self.report = report
        self.rounds = rounds
        self.bound = bound
        self.used: list[Used] = []

    def problem(self, node: Node, code: str, message: str, hint: str | None = None) -> None:
        self.report(self.source.problem(code, place_of(node), message, hint))

    def fill(self, text: str) -> str:
        """`${i}` of the rounds around this place, put in; other `${...}` stay."""
        for name, value in self.rounds.items():
            text = text.replace("${" + name + "}", str(value))
        return text

    def ref(self, path: str, node: Node) -> Expression:
        """A reference; where expressions are `bound` to their round, the round's number itself."""
        ref = Ref(self.fill(path))
        if self.bound and len(ref.parts) == 2 and ref.parts[0] == "repeat" and ref.parts[1] in self.rounds:
            return Const(self.rounds[ref.parts[1]])
        self.used.append(Used(ref, place_of(node)))
        return ref

    def value(self, node: Node) -> Expression:
        """The expression of a value; where it cannot be read the problem is reported and nothing stands for it."""
        if node.kind == "text":
            return self.plain(node)
        if node.kind == "list":
            return Items("list", tuple(self.value(item) for item in node.value))
        if node.kind != "mapping":
            return Const(node.value)
        form = next((name for name in VALUE_FORMS if name in node.value), None)
        if form is None:
            name = next(iter(node.value), "")
            hint = did_you_mean(name, VALUE_FORMS) or "known forms: " + ", ".join(VALUE_FORMS)
            self.problem(node, "value-form", "a value has to be of a known form", hint)
            return Const(None)
        return self._form(form, node, node.value[form])

    def _form(self, form: str, node: Node, inner: Node) -> Expression:
        match form:
            case "const":
                return Const(plain_value(inner))
            case "ref":
                return self._ref(inner)
            case "artifact" | "artifactList":
                return self._artifact(form, inner)
            case "template":
                return self._template(node, inner)
            case "appendPrompt":
                return self._append_prompt(inner)
            case "default":
                return Default(tuple(self._several(form, inner, 2)) or (Const(None),))
            case "object":
                return self._object(inner)
            case "length":
                return Items("length", (self.value(inner),))
            case _:
                items = self._several(form, inner, ARITHMETIC[form] or 0, exact=ARITHMETIC[form] is not None)
                return Items(form, tuple(items)) if items or ARITHMETIC[form] is None else Const(None)

    def plain(self, node: Node) -> Expression:
        """Text with `${...}` in it: a reference if that is all there is, else a template."""
        text = self.fill(node.value)
        if "${" not in text:
            return Const(text)
        pieces: list[Expression] = []
        rest = text
        while rest:
            before, mark, after = rest.partition("${")
            if before:
                pieces.append(Const(before))
            if not mark:
                break
            path, end, rest = after.partition("}")
            if not end:
                self.problem(node, "placeholder-open", "`${` is not closed", "close it with `}`")
                return Const(text)
            pieces.append(self.ref(path.strip(), node))
        return pieces[0] if len(pieces) == 1 else Items("concat", tuple(pieces))

    def _ref(self, node: Node) -> Expression:
        if node.kind != "text":
            self.problem(node, "wrong-type", f"`ref` has to be text, found {found(node)}", "write a path: `params.x`")
            return Const(None)
        return self.ref(node.value, node)

    def _several(self, form: str, node: Node, count: int, *, exact: bool = False) -> list[Expression]:
        if node.kind != "list":
            self.problem(node, "wrong-type", f"`{form}` has to be a list, found {found(node)}")
            return []
        if len(node.value) < count or (exact and len(node.value) != count):
            self.problem(node, "wrong-count", f"`{form}` takes {count} values, found {len(node.value)}")
            return []
        return [self.value(item) for item in node.value]

    def _artifact(self, form: str, node: Node) -> Expression:
        members = node.value if node.kind == "mapping" else {}
        kind, key = members.get("kind"), members.get("taskKey")
        if kind is None or kind.kind != "text" or key is None:
            self.problem(node, "artifact-form", f"`{form}` needs `kind` and `taskKey`")
            return Const(None)
        iteration = members.get("iteration")
        turn = self.value(iteration) if iteration is not None else None
        return Artifact(kind.value, self.value(key), turn, form == "artifactList")

    def _template(self, node: Node, inner: Node) -> Expression:
        if inner.kind != "text":
            self.problem(inner, "wrong-type", f"`template` has to be text, found {found(inner)}")
            return Const(None)
        names, values = self._members(node.value.get("vars"), "vars")
        return Template(self.fill(inner.value), names, values)

    def _object(self, node: Node) -> Expression:
        return Object(*self._members(node, "object"))

    def _members(self, node: Node | None, what: str) -> tuple[tuple[str, ...], tuple[Expression, ...]]:
        if node is None:
            return (), ()
        if node.kind != "mapping":
            self.problem(node, "wrong-type", f"`{what}` has to be a mapping, found {found(node)}")
            return (), ()
        return tuple(node.value), tuple(self.value(child) for child in node.value.values())

    def _append_prompt(self, node: Node) -> Expression:
        members = node.value if node.kind == "mapping" else {}
        if "suffix" not in members:
            self.problem(node, "append-prompt", "`appendPrompt` needs `suffix`")
            return Const(None)
        base = members.get("base")
        return AppendPrompt(self.value(base) if base is not None else None, self.value(members["suffix"]))

    def condition(self, node: Node) -> Expression:
        """The expression of a condition. Plain `true`, `false` and `${...}` are conditions too."""
        if node.kind == "boolean":
            return Const(node.value)
        if node.kind == "text" and "${" in self.fill(node.value):
            return Truth(self.plain(node))
        form = next((name for name in CONDITION_FORMS if name in node.value), None) if node.kind == "mapping" else None
        if form is None:
            name = next(iter(node.value), "") if node.kind == "mapping" else ""
            hint = did_you_mean(name, CONDITION_FORMS) or "known forms: " + ", ".join(CONDITION_FORMS)
            self.problem(node, "condition-form", "a condition has to be of a known form", hint)
            return Const(False)
        return self._condition(form, node.value[form])

    def _condition(self, form: str, inner: Node) -> Expression:
        match form:
            case "ref":
                return Truth(self._ref(inner))
            case "const":
                return Truth(Const(plain_value(inner)))
            case "not":
                return Not(self.condition(inner))
            case "all" | "any":
                if inner.kind != "list":
                    self.problem(inner, "wrong-type", f"`{form}` has to be a list, found {found(inner)}")
                    return Const(False)
                return Every(tuple(self.condition(item) for item in inner.value), form == "all")
            case "exists":
                return Exists(self.value(inner))
            case "defined":
                return Defined(self.value(inner))
            case _:
                sides = self._several(form, inner, 2, exact=True)
                return Test(form, sides[0], sides[1]) if sides else Const(False)


def place_of(node: Node) -> Place:
    return node.line, node.column, node.width


def plain_value(node: Node) -> Any:
    """A node as plain data."""
    if node.kind == "mapping":
        return {name: plain_value(child) for name, child in node.value.items()}
    if node.kind == "list":
        return [plain_value(item) for item in node.value]
    return node.value


def text_of(node: Node) -> str:
    return as_text(node)
