"""Reads the phases of a flow in order: unrolls repeats into rounds and parallel blocks into lanes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from handrail.base.dataclasses import dataclass, replace
from handrail.driven.expressions.tree import BoundedList, Comparison, Const, Expression, Items, in_words
from handrail.driven.flows.keys import BLOCK, GROUP, MAX_PARALLEL, MAX_ROUNDS, PARALLEL, PHASE, REPEAT
from handrail.driven.flows.load_state import MAX_VALUES, NO_ENCLOSURE, Enclosure, LoadState, PlaceReferences
from handrail.driven.flows.plan import Bound, Lane, Parallelism, Phase, RepeatLink, Round, Step
from handrail.driven.flows.results import steps_read
from handrail.driven.flows.steps import StepsReader, bounded_number, read_timeout, read_when
from handrail.source.fields import MappingReader, found, quoted
from handrail.source.plain_text import counted
from handrail.source.tree import TreeNode

MAX_PHASES = 10_000
SEQUENTIAL = Parallelism()
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True, kw_only=True)
class Repeat:
    node: TreeNode
    var: str | None
    item: str | None
    over: Expression | None
    until: TreeNode | None
    group: int | None
    first: int
    last: int
    may_exhaust: bool
    same: int | None
    name: str

    def round(self, enclosure: Enclosure, number: int, stops: tuple[Expression, ...]) -> Enclosure:
        """What encloses the phases of one round. Inner names hide outer ones."""
        mine = {self.var: number, f"{self.var}_minus_one": number - 1} if self.var is not None else {}
        items = tuple((name, item) for name, item in enclosure.items if name not in mine and name != self.item)
        rounds = {name: other for name, other in {**enclosure.rounds, **mine}.items() if name != self.item}
        guards = enclosure.guards + stops
        if self.over is not None:
            place = Const(number - self.first)
            guards += (Comparison("less", place, Items("length", (self.over,))),)
            if self.item is not None:
                items += ((self.item, Items("at", (self.over, place))),)
        over = "" if self.over is None else in_words(self.over)
        within = (*enclosure.within, Round(self.name, number - self.first + 1, self.last - self.first + 1, over))
        inner = Enclosure(rounds, guards, items, enclosure.lane, enclosure.aliases, within)
        return in_lane(inner, self.group, number - self.first)


def _without_marks(id_: str, rounds: Iterable[str]) -> str:
    """The id of a phase as written, without `${name}` for the numbers of rounds and the sign that separates each."""
    for name in rounds:
        id_ = re.sub(rf"[-_:/ ]?\$\{{{re.escape(name)}\}}", "", id_).strip("-_:/ ") or id_
    return id_


def _id_as_written(phase: TreeNode) -> str | None:
    id_ = phase.value.get("id") if phase.kind == "mapping" else None
    return id_.value if id_ is not None and id_.kind == "text" else None


def in_lane(enclosure: Enclosure, group: int | None, number: int) -> Enclosure:
    return enclosure if group is None else replace(enclosure, lane=Lane(group, number))


class PhasesReader:
    """Reads the phases of a flow, unrolls its repeats and numbers its lanes."""

    def __init__(self, job: LoadState) -> None:
        self.job = job
        self.outermost: TreeNode | None = None
        self.corrected: dict[int, TreeNode] = {}

    def flow(self, phases: TreeNode) -> None:
        self.warn_empty(phases)
        for item in phases.value:
            self.entry(item, NO_ENCLOSURE)

    def warn_empty(self, node: TreeNode, name: str = "phases", hint: str = "list at least one phase") -> None:
        if not node.value:
            message = f"`{name}` is empty, so nothing is done here"
            self.job.problem(node, "flow-empty", message, hint, "warning")

    def entry(self, item: TreeNode, enclosure: Enclosure) -> None:
        if self.job.is_cut_short:
            return
        if item.kind != "mapping":
            hint = "write `id:` and `steps:`, or `repeat:` and `phases:`"
            self.job.problem(item, "wrong-type", f"a phase has to be a mapping, found {found(item)}", hint)
        elif "repeat" in item.value:
            self.repeat(item, enclosure)
        elif "parallel" in item.value and "phases" in item.value and "steps" not in item.value:
            self.block(item, enclosure)
        elif len(self.job.phases) >= MAX_PHASES:
            self.too_large(item, f"{MAX_PHASES} phases")
        elif not self.job.spend(item):
            self.too_large(item, f"{MAX_VALUES} values")
        else:
            self.phase(item, enclosure)

    def too_large(self, item: TreeNode, most: str) -> None:
        """Report the limit at the bound of the outermost repeat."""
        self.job.is_too_large = True
        hint = "use fewer rounds, or fewer phases in each round"
        self.job.problem(self.outermost or item, "flow-too-large", f"the flow unfolds to more than {most}", hint)

    def phase(self, node: TreeNode, enclosure: Enclosure) -> None:
        reader = self.job.reader(node, PHASE)
        expressions = self.job.expressions(enclosure)
        id_ = expressions.fill(reader.text("id") or "")
        number = len(self.job.phases)
        when, is_conditional = read_when(self.job, reader, expressions, "phase")
        self.job.keep(PlaceReferences(phase=number, enclosure=enclosure), expressions)
        steps = reader.child("steps")
        parallel = self.parallelism(reader)
        step_list: tuple[Step, ...] = ()
        if steps is not None:
            self.warn_empty(steps, "steps", "list at least one step, or remove the phase")
            step_list = StepsReader(self.job, number, enclosure, is_conditional).read(steps)
        self.job.phases.append(
            Phase(
                id=id_,
                rounds=enclosure.rounds,
                guards=enclosure.guards,
                when=when,
                steps=step_list,
                parallel=parallel,
                timeout=read_timeout(reader),
                items=enclosure.items,
                lane=enclosure.lane,
                shape=_without_marks(reader.text("id") or "", enclosure.rounds),
                within=enclosure.within,
            )
        )
        self.job.ids.add(id_)
        self.job.places.append(node)

    def parallelism(self, reader: MappingReader) -> Parallelism:
        node = reader.child("parallel", "write `parallel: true`, or a limit: `parallel: 4`")
        if node is None or node.value is False:
            return SEQUENTIAL
        if node.value is True:
            return Parallelism(MAX_PARALLEL)
        if node.kind == "integer":
            return Parallelism(int(bounded_number(reader, "parallel") or 1))
        options = self.job.reader(node, PARALLEL)
        limit, on_failure = bounded_number(options, "limit"), options.child("onFailure")
        return Parallelism(int(limit or MAX_PARALLEL), on_failure.value if on_failure is not None else "stop")

    def block(self, node: TreeNode, enclosure: Enclosure) -> None:
        """Each entry of a parallel block is one lane."""
        reader = self.job.reader(node, GROUP)
        group, phases = self.group(reader, enclosure), reader.child("phases")
        if phases is None:
            return
        self.warn_empty(phases)
        for number, item in enumerate(phases.value):
            self.entry(item, in_lane(enclosure, group, number))

    def group(self, reader: MappingReader, enclosure: Enclosure) -> int | None:
        """The number of a new group. None if its lanes run one after the other."""
        parallel = self.parallelism(reader)
        if parallel == SEQUENTIAL:
            return None
        if enclosure.lane is not None:
            message = "this is already inside a parallel block or repeat, and cannot run in parallel itself"
            self.job.problem(reader.node.value["parallel"], "parallel-nested", message, "remove one `parallel`")
            return None
        self.job.groups.append(parallel)
        return len(self.job.groups) - 1

    def with_phases(self, node: TreeNode) -> TreeNode:
        """A repeat with `phases`. One with `steps` instead is reported, and read as the repeat of one phase."""
        if "steps" not in node.value or "phases" in node.value:
            return node
        message = "a repeat has `phases`, and this one has `steps`"
        hint = "write `- repeat: ...` and `phases:`, and below it the phase: `- {id: ID-${VAR}, steps: ...}`"
        self.job.problem(node.value["repeat"], "missing-key", message, hint)
        if id(node) not in self.corrected:
            members, keys = dict(node.value), dict(node.keys)
            header, place = members.pop("repeat"), keys.pop("repeat")
            phases = node._replace(kind="list", value=[node._replace(value=members, keys=keys)], keys={})
            self.corrected[id(node)] = node._replace(value={"repeat": header, "phases": phases}, keys={"repeat": place})
        return self.corrected[id(node)]

    def repeat(self, node: TreeNode, enclosure: Enclosure) -> None:
        block = self.job.reader(self.with_phases(node), BLOCK)
        header, phases = block.child("repeat"), block.child("phases")
        if phases is not None:
            self.warn_empty(phases)
        if header is None or phases is None:
            return
        reader = self.job.reader(header, REPEAT)
        var, bounds = self.variable(reader), self.bounds(reader)
        item, until, over = self.item(reader, var), reader.child("until"), reader.child("over")
        if var is None or bounds is None:
            self.job.is_partial = True
        is_outermost = self.outermost is None
        if is_outermost:
            self.outermost = header.value.get("to", header.value.get("max", header))
        group = self.group(reader, enclosure)
        if until is not None and group is not None:
            message = "rounds that run in parallel cannot have `until`"
            self.job.problem(header.value["parallel"], "bad-value", message, "remove `parallel` or `until`")
        first, last = bounds or (1, 1)
        may_exhaust = self.may_exhaust(reader)
        most = None if may_exhaust else last - first + 1
        first_id = _id_as_written(phases.value[0]) if phases.value else None
        repeat = Repeat(
            node=header,
            var=var,
            item=item,
            over=None if over is None else self.repeated_items(over, enclosure, most),
            until=until,
            group=group,
            first=first,
            last=last,
            may_exhaust=may_exhaust,
            same=self.same_failures(reader, group),
            name=_without_marks(first_id or "repeat", [*enclosure.rounds, *([var] if var else [])]),
        )
        self.rounds(repeat, phases, enclosure)
        if is_outermost:
            self.outermost = None

    def rounds(self, repeat: Repeat, phases: TreeNode, enclosure: Enclosure) -> None:
        stops: tuple[Expression, ...] = ()
        earlier: list[Phase] = []
        for number in range(repeat.first, repeat.last + 1):
            if not self.job.spend(repeat.node):
                self.too_large(repeat.node, f"{MAX_VALUES} values")
            if self.job.is_cut_short:
                return
            inner = self.with_aliases(repeat.round(enclosure, number, stops), phases)
            start = len(self.job.phases)
            for item in phases.value:
                self.entry(item, inner)
            if repeat.until is not None:
                expressions = self.job.expressions(inner, is_bound=True)
                stops += (Items("not", (expressions.condition(repeat.until),)),)
                self.job.keep(PlaceReferences(phase=len(self.job.phases), enclosure=inner), expressions)
                is_bounded = repeat.over is None and not repeat.may_exhaust  # the end of a list is no failure
                if is_bounded and number == repeat.last and len(self.job.phases) > start:
                    count = repeat.last - repeat.first + 1
                    message = f"`until` did not hold after {counted(count, 'round')}"
                    message = f"{self.place(repeat.until)}: {message} (`onExhausted: continue` allows this)"
                    bounds = (*self.job.phases[-1].bounds, Bound((*inner.guards, stops[-1]), message))
                    self.job.phases[-1] = replace(self.job.phases[-1], bounds=bounds)
            earlier = self.link(repeat, start, earlier, stops[-1:])

    def link(self, repeat: Repeat, first: int, earlier: list[Phase], until: tuple[Expression, ...]) -> list[Phase]:
        """Link the phases of a round to those of the round before, and return them. Inner repeats have theirs."""
        until_steps = {(names[1], names[2]) for condition in until for names in steps_read(condition)}
        for number, phase in enumerate(self.job.phases[first:]):
            if phase.repeat_link is None:
                previous = earlier[number].id if number < len(earlier) else None
                steps = frozenset(step for id_, step in until_steps if id_ == phase.id)
                self.job.phases[first + number] = replace(phase, repeat_link=RepeatLink(previous, repeat.same, steps))
        return self.job.phases[first:]

    def same_failures(self, reader: MappingReader, group: int | None) -> int | None:
        """In how many rounds a check may fail in the same way. None: the settings decide."""
        node, is_each = reader.child("sameFailures"), "over" in reader.node.value or group is not None
        if node is None:
            return 0 if is_each or self.job.source.is_foreign else None
        if is_each:
            hint = "remove it; it is for rounds that try the same thing again"
            reader.on(node, "bad-value", "`sameFailures` cannot be used with `over` or `parallel`", hint)
        elif node.value < 0 or node.value == 1:
            hint = "write `sameFailures: 3`"
            reader.on(node, "bad-value", f"`sameFailures` has to be 0, or 2 or more, found {quoted(node)}", hint)
        return int(node.value)

    def place(self, node: TreeNode) -> str:
        return f"{self.job.source.file.rsplit('/', 1)[-1]}:{node.line}:{node.column}"

    def may_exhaust(self, reader: MappingReader) -> bool:
        """True if the repeat may end although `until` never held, or before the end of `over`."""
        node = reader.child("onExhausted")
        if node is not None and not {"until", "over"} & reader.node.value.keys():
            reader.on(node, "bad-value", "`onExhausted` needs `until` or `over`", "remove it")
        return node is not None and node.value == "continue"

    def with_aliases(self, enclosure: Enclosure, phases: TreeNode) -> Enclosure:
        """With the short names of the round's phases: inside the round, `steps.poll` is the phase `poll-${i}`."""
        aliases = dict(enclosure.aliases)
        for id_ in map(_id_as_written, phases.value):
            if id_ is None or "${" not in id_:
                continue
            short, full = _without_marks(id_, enclosure.rounds), id_
            for name, number in enclosure.rounds.items():
                full = full.replace("${" + name + "}", str(number))
            if short != id_ and "${" not in short and "." not in full:
                aliases[short] = full
                self.job.rounds_of.setdefault(short, []).append(full)
        return replace(enclosure, aliases=aliases)

    def repeated_items(self, node: TreeNode, enclosure: Enclosure, most: int | None) -> Expression:
        expressions = self.job.expressions(enclosure, is_bound=True)
        items = expressions.value(node)
        self.job.keep(PlaceReferences(phase=len(self.job.phases), enclosure=enclosure), expressions)
        return items if most is None else BoundedList(items, most, self.place(node))

    def variable(self, reader: MappingReader) -> str | None:
        """The name of the round's number. It is optional in a repeat over a list."""
        node: TreeNode | None = reader.node.value.get("var")
        if node is None and "over" in reader.node.value:
            return "index"
        name = reader.text("var")
        if node is None or (name is not None and not name.strip()):
            hint = "write `var: round`; `${round}` is then the number of the round"
            place = reader.node if node is None else node
            reader.on(place, "repeat-var", "a repeat needs `var`, a name for the number of the round", hint)
            return None
        return name

    def item(self, reader: MappingReader, var: str | None) -> str | None:
        """The name of the round's item, in a repeat over a list."""
        node: TreeNode | None = reader.node.value.get("item")
        if "over" not in reader.node.value:
            if node is not None:
                hint = "remove it, or add `over: LIST`"
                reader.on(node, "bad-value", "`item` needs `over`", hint)
            return None
        name = "item" if node is None else reader.text("item")
        if node is not None and name is not None and not _NAME.fullmatch(name):
            hint = "use letters, digits, `_` and `-`: `item: file`; steps then refer to `repeat.file`"
            reader.on(node, "bad-value", f"`item` has to be a name, found {quoted(node)}", hint)
            return None
        if name is not None and name == var:
            message = f"`var` and `item` have the same name `{name}`"
            hint = "`var` names the number of the round, `item` the item of the list; use two names"
            reader.on(reader.node.value.get("var", node), "bad-value", message, hint)
            return None
        return name

    def bounds(self, reader: MappingReader) -> tuple[int, int] | None:
        members = reader.node.value
        first, last, most = reader.integer("from"), reader.integer("to"), reader.integer("max")
        if first is None:
            if "from" in members:
                return None
            first = 1
        over = members.get("over")
        if "to" not in members and "max" not in members and over is not None and over.kind == "list":
            members, most = {**members, "max": over}, max(1, len(over.value))
        if "to" not in members and "max" not in members:
            hint = "write `to: 3`, or `max: 3` beside `until` or `over`"
            if over is not None:
                hint = "write `max: 20`; only of a list that is written here, the number of items is known in advance"
            reader.on(reader.node, "repeat-bounds", "a repeat needs `to` or `max`, so that it ends", hint)
            return None
        name, bound = ("to", last) if "to" in members else ("max", most)
        if bound is None:
            return None
        last = bound if name == "to" else first + bound - 1
        if last < first:
            least = f"{first} (`from`) or more" if name == "to" and "from" in members else "1 or more"
            reader.on(members[name], "repeat-bounds", f"`{name}` has to be {least}, found {quoted(members[name])}")
            return None
        if last - first >= MAX_ROUNDS:
            message = f"a repeat may have at most {MAX_ROUNDS} rounds, found {last - first + 1}"
            hint = (
                "use a shorter list" if members[name] is over else f"lower `{name}`; `until` can end the repeat earlier"
            )
            reader.on(members[name], "repeat-bounds", message, hint)
            return None
        return first, last
