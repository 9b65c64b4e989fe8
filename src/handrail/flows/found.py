"""A flow that was found, and the names that it has: its id, its other ids, and the name of its file. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from posixpath import basename, splitext

from handrail.expressions.parse import Place
from handrail.flows.load import is_foreign
from handrail.flows.plan import FlowPlan, with_nested_names
from handrail.flows.reading import Nested
from handrail.flows.shipped import INSIDE
from handrail.flows.shipped import SOURCE as SHIPPED
from handrail.flows.within import Inside
from handrail.project import prefix_of
from handrail.source.dataclasses import dataclass, field, replace
from handrail.source.diagnostics import Diagnostic
from handrail.source.files import Source


@dataclass(frozen=True, kw_only=True)
class FoundFlow:
    """A flow file and its plan. `plan` is None if the file has errors.

    `names` are the ids that stand for names of nested flows in its text, because another flow has such a name, too.
    `also` are its other ids, each with its place in the file.
    """

    source: str
    id: str
    file: str
    plan: FlowPlan | None
    text: str
    nested: tuple[Nested, ...] = ()
    inside: tuple[Inside, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    also: tuple[tuple[str, Place], ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Its id and its other ids."""
        return self.id, *(name for name, _ in self.also)

    @property
    def is_shipped(self) -> bool:
        return self.source == SHIPPED

    @property
    def is_foreign(self) -> bool:
        """True if the file was written for AgentWeaver."""
        return is_foreign(self.file)

    def with_names(self, names: Mapping[str, str]) -> FoundFlow:
        """The same flow with other names for the flows that it runs."""
        if self.plan is None or not names:
            return self
        nested = tuple(replace(use, name=names.get(use.name, use.name)) for use in self.nested)
        inside = tuple(one._replace(flow=names.get(one.flow, one.flow)) for one in self.inside)
        return replace(self, plan=with_nested_names(self.plan, names), nested=nested, inside=inside, names=names)


def names_of(flow: FoundFlow) -> tuple[str, ...]:
    """The names of a flow: its ids, and their last parts with and without extension; any may be called `NAME.json`."""
    if flow.id.startswith(INSIDE) or prefix_of(flow.source):
        return (flow.id,)
    bare = [basename(id_) for id_ in flow.ids]
    endings = (splitext(flow.file)[1], ".json")
    return (*flow.ids, *bare, *(f"{name}{ending}" for ending in endings for name in (*bare, *flow.ids[1:])))


def the_one(name: str, called: list[FoundFlow]) -> FoundFlow | None:
    """The flow that a name means: the one with this id, else one with this other id, else the only one.

    Any other flow wins over a shipped one.
    """
    own = [flow for flow in called if not flow.is_shipped] or called
    by_id = [flow for flow in own if flow.id == name] or [flow for flow in own if name in flow.ids]
    return by_id[0] if by_id else own[0] if len(own) == 1 else None


def taken_ids(usable: Iterable[FoundFlow]) -> Iterator[Diagnostic]:
    """Warnings for other ids that another flow has, too. Those of shipped flows may be taken by any flow."""
    flows = [flow for flow in usable if not flow.is_shipped]
    owners = {flow.id: flow for flow in flows}
    for flow in flows:
        for name, place in flow.also:
            owner = owners.setdefault(name, flow)
            if owner is not flow:
                message = f"`{name}` already means the flow `{owner.id}`"
                hint = "write another id, or remove this one; it has no effect"
                yield Source(flow.file, flow.text).problem("flow-also-taken", place, message, hint, "warning")
