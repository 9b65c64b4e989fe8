"""What Handrail knows about the flows that AgentWeaver names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from handrail.errors import HandrailError
from handrail.flows.catalog import FlowCatalog
from handrail.flows.found import FoundFlow


class KnownFlows:
    """The flows of a project. `named` finds a flow as `handrail run` does, or raises."""

    def __init__(self, named: Callable[[str], FoundFlow], catalog: FlowCatalog) -> None:
        self.named = named
        self.catalog = catalog

    def phases_of(self, name: str) -> Sequence[str] | None:
        """The ids of the phases of a flow; None if it cannot be run here."""
        try:
            plan = self.named(f"flow:{name}").plan
        except HandrailError:
            return None
        return None if plan is None else [phase.id for phase in plan.phases]

    def id_of(self, key: str) -> str | None:
        """The id of the flow `built-in:ID`, `global:PATH` or `project-local:PATH`; None if there is none."""
        source, _, name = key.partition(":")
        if source != "built-in":
            return next(
                (one.id for one in self.catalog.found if os.path.realpath(one.file) == os.path.realpath(name)), None
            )
        try:
            return self.named(f"flow:{name}").id
        except HandrailError:
            return None

    @property
    def problems(self) -> Mapping[str, int]:
        """The number of errors in each file with flows."""
        errors = (problem for problem in self.catalog.problems if problem.severity == "error")
        return Counter(os.path.realpath(problem.file) for problem in errors)
