"""A flow file → a plan, with every problem of the file found on the way. Unrolls repeats as it reads.

Reads the text it is given and no files. A plan comes out only when nothing in the file is an error.
"""

from __future__ import annotations

from typing import Any

from handrail.diagnostics import Diagnostic, has_errors
from handrail.driven.expressions import place_of, plain_value
from handrail.driven.plan import FlowPlan, Param, Phase
from handrail.driven.reading import Known, Reading, Slot
from handrail.driven.rules import check
from handrail.driven.spec import BLOCK, FLOW, PHASE, REPEAT
from handrail.driven.steps import Steps
from handrail.fields import Reader, found
from handrail.sourcefile import Source
from handrail.values import Const, Expression, Items, Not, Test
from handrail.yamltree import Node, parse

MAX_ROUNDS = 1_000
MAX_PHASES = 10_000


class Unfold:
    """Reads the phases of a flow and unrolls its repeats."""

    def __init__(self, job: Reading) -> None:
        self.job = job

    def entries(self, node: Node, rounds: dict[str, int], guards: tuple[Expression, ...]) -> None:
        """Phases and repeats of a list, in order."""
        for item in node.value:
            if item.kind != "mapping":
                self.job.problem(item, "wrong-type", f"a phase has to be a mapping, found {found(item)}")
            elif "repeat" in item.value:
                self.repeat(item, rounds, guards)
            elif len(self.job.phases) >= MAX_PHASES:
                self.job.problem(item, "flow-too-large", f"the flow unfolds to more than {MAX_PHASES} phases")
                return
            else:
                self.phase(item, rounds, guards)

    def phase(self, node: Node, rounds: dict[str, int], guards: tuple[Expression, ...]) -> None:
        reader = Reader(self.job.source, node, PHASE, self.job.report)
        expressions = self.job.expressions(rounds)
        id_ = expressions.fill(reader.text("id") or "")
        when = reader.child("when")
        number = len(self.job.phases)
        condition = expressions.condition(when) if when is not None else None
        self.job.slots.append(Slot(number, None, False, tuple(expressions.used)))
        steps = reader.child("steps")
        limit = _parallel(reader)
        read = Steps(self.job, number, rounds).read(steps) if steps is not None else ()
        phase = Phase(id_, rounds, guards, condition, read, limit, _seconds(reader))
        self.job.phases.append(phase)
        self.job.places.append(node)

    def repeat(self, node: Node, rounds: dict[str, int], guards: tuple[Expression, ...]) -> None:
        block = Reader(self.job.source, node, BLOCK, self.job.report)
        how, phases = block.child("repeat"), block.child("phases")
        if how is None or phases is None:
            return
        reader = Reader(self.job.source, how, REPEAT, self.job.report)
        name = reader.text("var")
        if name is None or not name.strip():
            if "var" in how.value or "over" not in how.value:
                self.job.problem(how.value.get("var", how), "repeat-var", "`var` has to name the round's number")
                return
            name = "index"
        bounds = self.bounds(reader, how)
        if bounds is None:
            return
        until, over = how.value.get("until"), how.value.get("over")
        stops: tuple[Expression, ...] = ()
        for number in range(bounds[0], bounds[1] + 1):
            inner = {**rounds, name: number, f"{name}_minus_one": number - 1}
            here = guards + tuple(Not(stop) for stop in stops)
            if over is not None:
                here += (self.has_item(over, rounds, number - bounds[0]),)
            self.entries(phases, inner, here)
            if until is not None:
                expressions = self.job.expressions(inner, bound=True)
                stops += (expressions.condition(until),)
                self.job.slots.append(Slot(len(self.job.phases), None, False, tuple(expressions.used)))

    def has_item(self, over: Node, rounds: dict[str, int], place: int) -> Expression:
        length = Items("length", (self.job.expressions(rounds).value(over),))
        return Test("less", Const(place), length)

    def bounds(self, reader: Reader, node: Node) -> tuple[int, int] | None:
        first, last, most = reader.integer("from"), reader.integer("to"), reader.integer("max")
        first = 1 if first is None else first
        if last is None and most is not None:
            last = first + most - 1
        if last is None:
            if "to" not in node.value and "max" not in node.value:
                self.job.problem(node, "repeat-bounds", "a repeat needs `to`, or `max` with `until` or `over`")
            return None
        if last < first or last - first >= MAX_ROUNDS:
            self.job.problem(node, "repeat-bounds", f"rounds from {first} to {last} cannot be gone through")
            return None
        return first, last


def _parallel(reader: Reader) -> int:
    """How many steps run at once; 1 is one after the other."""
    node = reader.child("parallel")
    if node is None or node.value is False:
        return 1
    if node.value is True:
        return 64
    if not 1 <= node.value <= 64:
        reader.on(node, "bad-value", f"`parallel` has to be between 1 and 64, found {node.value}")
        return 1
    return int(node.value)


def _seconds(reader: Reader) -> float | None:
    node = reader.child("timeout")
    if node is None:
        return None
    if not 0 < node.value <= 604_800:
        reader.on(node, "bad-value", f"`timeout` has to be a positive number of seconds, found {found(node)}")
        return None
    return float(node.value)


def load_flow(source: Source, id_: str, known: Known) -> tuple[FlowPlan | None, list[Diagnostic]]:
    """The plan of a flow file, or nothing and the reasons."""
    tree, troubles = parse(source.text)
    job = Reading(source, known)
    for t in troubles:
        job.report(source.problem(t.code, (t.line, t.column, t.width), t.message, t.hint))
    if tree is None or tree.kind != "mapping":
        if not troubles:
            what = "nothing" if tree is None else found(tree)
            place = (1, 1, 1) if tree is None else place_of(tree)
            job.report(source.problem("not-mapping", place, f"a flow has to be a mapping, found {what}"))
        return None, job.problems
    plan = _flow(job, Reader(source, tree, FLOW, job.report), id_)
    job.problems.extend(problem for problem in check(job) if problem not in job.problems)
    return (None if has_errors(job.problems) else plan), job.problems


def _flow(job: Reading, reader: Reader, id_: str) -> FlowPlan:
    kind, version = reader.child("kind"), reader.integer("version")
    if kind is not None and not kind.value.strip():
        reader.on(kind, "blank-text", "`kind` is blank", "name the family this flow belongs to")
    if version is not None and version < 1:
        reader.on(reader.node.value["version"], "bad-value", f"`version` has to be 1 or more, found {version}")
    visibility, constants, phases = reader.child("catalogVisibility"), reader.child("constants"), reader.child("phases")
    if phases is not None:
        Unfold(job).entries(phases, {}, ())
    return FlowPlan(
        id_,
        job.source.file,
        kind.value if kind is not None else id_,
        version or 1,
        reader.text("description") or "",
        visibility is None or visibility.value == "visible",
        plain_value(constants) if constants is not None else {},
        _params(reader),
        tuple(job.phases),
        _seconds(reader),
        reader.flag("overrides", False),
        tuple(dict.fromkeys(job.nested)),
    )


def _params(reader: Reader) -> tuple[Param, ...] | None:
    """Declared parameters: `NAME: default`, or `NAME: {required: true, about: ...}`."""
    node = reader.child("params")
    if node is None:
        return None
    params = []
    for name, child in node.value.items():
        told: dict[str, Any] = plain_value(child) if child.kind == "mapping" else {"default": plain_value(child)}
        required = bool(told.get("required", child.kind == "null"))
        params.append(Param(name, required, told.get("default"), str(told.get("about", ""))))
    return tuple(params)
