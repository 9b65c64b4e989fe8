"""A flow file → a plan, with every problem of the file found on the way. Unrolls repeats as it reads.

Reads the text it is given and no files. A plan comes out only when nothing in the file is an error.
"""

from __future__ import annotations

from handrail.diagnostics import Diagnostic, has_errors
from handrail.driven.expressions import place_of, plain_value
from handrail.driven.plan import FlowPlan, Param, Phase
from handrail.driven.reading import MAX_VALUES, Known, Reading, Slot
from handrail.driven.rules import check
from handrail.driven.spec import BLOCK, FLOW, PARAM, PHASE, REPEAT
from handrail.driven.steps import Steps, between, seconds
from handrail.fields import Reader, found, quoted
from handrail.sourcefile import Source
from handrail.values import Const, Expression, Items, Not, Test
from handrail.yamltree import Node, parse

MAX_PARALLEL = 64
MAX_ROUNDS = 1_000
MAX_PHASES = 10_000


class Unfold:
    """Reads the phases of a flow and unrolls its repeats."""

    def __init__(self, job: Reading) -> None:
        self.job = job
        self.outermost: Node | None = None

    def entries(self, node: Node, rounds: dict[str, int], guards: tuple[Expression, ...]) -> None:
        """Phases and repeats of a list, in order."""
        for item in node.value:
            if self.job.is_cut_short:
                return
            if item.kind != "mapping":
                hint = "write `id:` and `steps:`, or `repeat:` and `phases:`"
                self.job.problem(item, "wrong-type", f"a phase has to be a mapping, found {found(item)}", hint)
            elif "repeat" in item.value:
                self.repeat(item, rounds, guards)
            elif len(self.job.phases) >= MAX_PHASES:
                self.too_large(item, f"{MAX_PHASES} phases")
            elif not self.job.spend(item):
                self.too_large(item, f"{MAX_VALUES} values")
            else:
                self.phase(item, rounds, guards)

    def too_large(self, item: Node, most: str) -> None:
        """Told where the outermost repeat says how often."""
        self.job.is_too_large = True
        hint = "go through fewer rounds, or repeat less in each"
        self.job.problem(self.outermost or item, "flow-too-large", f"the flow unfolds to more than {most}", hint)

    def phase(self, node: Node, rounds: dict[str, int], guards: tuple[Expression, ...]) -> None:
        reader = self.job.reader(node, PHASE)
        expressions = self.job.expressions(rounds)
        id_ = expressions.fill(reader.text("id") or "")
        when = reader.child("when")
        number = len(self.job.phases)
        condition = expressions.condition(when) if when is not None else None
        self.job.slots.append(Slot(number, None, False, tuple(expressions.used)))
        steps = reader.child("steps")
        limit = _parallel(reader)
        read = Steps(self.job, number, rounds).read(steps) if steps is not None else ()
        phase = Phase(id_, rounds, guards, condition, read, limit, seconds(reader))
        self.job.phases.append(phase)
        self.job.places.append(node)

    def repeat(self, node: Node, rounds: dict[str, int], guards: tuple[Expression, ...]) -> None:
        block = self.job.reader(node, BLOCK)
        how, phases = block.child("repeat"), block.child("phases")
        if how is None or phases is None:
            return
        reader = self.job.reader(how, REPEAT)
        name, bounds = self.variable(reader), self.bounds(reader)
        until, over = reader.child("until"), reader.child("over")
        if name is None or bounds is None:
            self.job.is_partial = True
        first, last = bounds or (1, 1)
        is_outermost = self.outermost is None
        if is_outermost:
            self.outermost = how.value.get("to", how.value.get("max", how))
        length = None if over is None else self.length(over, rounds)
        stops: tuple[Expression, ...] = ()
        for number in range(first, last + 1):
            if not self.job.spend(how):
                self.too_large(how, f"{MAX_VALUES} values")
            if self.job.is_cut_short:
                break
            inner = {**rounds, name: number, f"{name}_minus_one": number - 1} if name is not None else rounds
            here = guards + stops
            if length is not None:
                here += (Test("less", Const(number - first), length),)
            self.entries(phases, inner, here)
            if until is not None:
                expressions = self.job.expressions(inner, bound=True)
                stops += (Not(expressions.condition(until)),)
                self.job.slots.append(Slot(len(self.job.phases), None, False, tuple(expressions.used)))
        if is_outermost:
            self.outermost = None

    def length(self, over: Node, rounds: dict[str, int]) -> Expression:
        expressions = self.job.expressions(rounds)
        items = expressions.value(over)
        self.job.slots.append(Slot(len(self.job.phases), None, False, tuple(expressions.used)))
        return Items("length", (items,))

    def variable(self, reader: Reader) -> str | None:
        """What the round's number is called; a repeat over a list may leave it out."""
        given: Node | None = reader.node.value.get("var")
        if given is None and "over" in reader.node.value:
            return "index"
        name = reader.text("var")
        if given is None or (name is not None and not name.strip()):
            hint = "write `var: round`; `${round}` then stands for the number of the round"
            place = reader.node if given is None else given
            reader.on(place, "repeat-var", "a repeat needs `var`, a name for the number of the round", hint)
            return None
        return name

    def bounds(self, reader: Reader) -> tuple[int, int] | None:
        members = reader.node.value
        first, last, most = reader.integer("from"), reader.integer("to"), reader.integer("max")
        if first is None:
            if "from" in members:
                return None
            first = 1
        if "to" not in members and "max" not in members:
            hint = "write `to: 3`, or `max: 3` beside `until` or `over`"
            reader.on(reader.node, "repeat-bounds", "a repeat needs `to` or `max`, so that it ends", hint)
            return None
        name, given = ("to", last) if "to" in members else ("max", most)
        if given is None:
            return None
        last = given if name == "to" else first + given - 1
        if last < first:
            least = f"{first} or more, as `from` is" if name == "to" and "from" in members else "1 or more"
            reader.on(members[name], "repeat-bounds", f"`{name}` has to be {least}, found {quoted(members[name])}")
            return None
        if last - first >= MAX_ROUNDS:
            message = f"a repeat may have {MAX_ROUNDS} rounds, found {last - first + 1}"
            reader.on(members[name], "repeat-bounds", message, f"lower `{name}`; leave the repeat early with `until`")
            return None
        return first, last


def _parallel(reader: Reader) -> int:
    """How many steps run at once; 1 is one after the other."""
    node = reader.child("parallel")
    if node is None or node.value is False:
        return 1
    if node.value is True:
        return MAX_PARALLEL
    return int(between(reader, "parallel", 1, MAX_PARALLEL) or 1)


def load_flow(source: Source, id_: str, known: Known) -> tuple[FlowPlan | None, list[Diagnostic]]:
    """The plan of a flow file, or nothing and the reasons."""
    plan, job = read_flow(source, id_, known)
    return plan, job.problems


def read_flow(source: Source, id_: str, known: Known) -> tuple[FlowPlan | None, Reading]:
    """The same, with all that was learned on the way."""
    tree, troubles = parse(source.text)
    job = Reading(source, known)
    for t in troubles:
        job.report(source.problem(t.code, (t.line, t.column, t.width), t.message, t.hint))
    if tree is None or tree.kind != "mapping":
        if not troubles:
            what = "nothing" if tree is None else found(tree)
            place = (1, 1, 1) if tree is None else place_of(tree)
            message, hint = f"a flow has to be a mapping, found {what}", "begin with keys: `phases: ...`"
            job.report(source.problem("not-mapping", place, message, hint))
        return None, job
    plan = _flow(job, Reader(source, tree, FLOW, job.report), id_)
    if not job.is_partial and not job.is_cut_short:
        for problem in check(job):
            job.report(problem)
    return (None if has_errors(job.found) else plan), job


def _flow(job: Reading, reader: Reader, id_: str) -> FlowPlan:
    kind, version = reader.child("kind"), reader.integer("version")
    if kind is not None and not kind.value.strip():
        reader.on(kind, "blank-text", "`kind` is blank", "name the family this flow belongs to, or leave it out")
    if version is not None and version < 1:
        reader.on(reader.node.value["version"], "bad-value", f"`version` has to be 1 or more, found `{version}`")
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
        seconds(reader),
        reader.flag("overrides", False),
        tuple(dict.fromkeys(use.name for use in job.nested)),
    )


def _params(reader: Reader) -> tuple[Param, ...] | None:
    """Declared parameters: `NAME: default`, or `NAME: {required: true, about: ...}`."""
    node = reader.child("params")
    if node is None:
        return None
    params = []
    for name, child in node.value.items():
        if child.kind != "mapping":
            params.append(Param(name, child.kind == "null", plain_value(child), ""))
            continue
        told = Reader(reader.source, child, PARAM, reader.report)
        default = child.value.get("default")
        value = plain_value(default) if default is not None else None
        params.append(Param(name, told.flag("required", False), value, told.text("about") or ""))
    return tuple(params)
