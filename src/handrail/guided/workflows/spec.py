"""A workflow as its files define it, and how specs are compiled into a flat plan. Pure.

The keys that the files may have are in `keys`. `compile_plan` expects specs without dangling references, cycles and
too many phases; the catalog has no others.
"""

from __future__ import annotations

from handrail.base.record import Record
from handrail.guided.workflows.plan import DONE, START, ExitCheck, Level, Plan, Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WORKFLOW_FILE = "workflow.yaml"
VOCABULARY: dict[str, str] = {
    "read": "read a file",
    "write": "write a whole file",
    "edit": "change a part of a file",
    "bash": "run a program",
    "search": "look for files or for text in files",
    "fetch": "read the web",
    "agent": "start another agent",
}
"""Handrail's own names of tools, and what such a tool does."""


class PhaseSpec(Record):
    """One stage of a workflow. `exit_lines` are the lines of its exit checks in its file. `guidance` are names for the
    phase of the playbook; empty without practices.
    """

    id: str
    name: str
    emoji: str
    instructions: str
    deny: tuple[str, ...] | None
    allow: tuple[str, ...] | None
    profiles: tuple[str, ...]
    exit: tuple[ExitCheck, ...]
    file: str
    require: str = ""
    exit_lines: tuple[int, ...] = ()
    guidance: tuple[str, ...] = ()

    @property
    def has_foreign_names(self) -> bool:
        """True if a list of tools has names that are not Handrail's own."""
        return not VOCABULARY.keys() >= {*(self.deny or ()), *(self.allow or ())}


class Reference(Record):
    """A place where another workflow runs as one phase of this one."""

    key: str
    line: int
    column: int
    width: int
    excerpt: str | None


PhaseEntry = PhaseSpec | Reference


class WorkflowSpec(Record):
    """A workflow and everything its own files say.

    `orchestrates`: it was written for pi-workflows, whose default texts make the agent an orchestrator. `cancel` says
    who may cancel it, empty if the settings say it.
    """

    key: str
    file: str
    name: str
    command: str
    show: str
    loopable: bool
    initial_message: str
    entries: tuple[PhaseEntry, ...]
    texts: dict[str, str]
    session_name_length: int
    orchestrates: bool = False
    cancel: str = ""

    @property
    def references(self) -> tuple[Reference, ...]:
        return tuple([entry for entry in self.entries if isinstance(entry, Reference)])

    @property
    def phases(self) -> list[PhaseSpec]:
        return [entry for entry in self.entries if isinstance(entry, PhaseSpec)]

    @property
    def is_visible(self) -> bool:
        return self.show == "user"


class FoundWorkflow(Record):
    """A workflow folder. `spec` is None if its files have errors. `is_foreign`: it was written for pi-workflows."""

    source: str
    root: str
    key: str
    file: str
    spec: WorkflowSpec | None
    references: tuple[Reference, ...] = ()
    is_foreign: bool = False


MAX_STOPS = 2_000


def count_stops(specs: Mapping[str, WorkflowSpec], key: str) -> int:
    """The number of stops in the plan of `key`, without building it."""
    counts: dict[str, int] = {}

    def count(name: str) -> int:
        if name not in counts:
            entries = specs[name].entries
            counts[name] = sum(count(e.key) if isinstance(e, Reference) else 1 for e in entries)
        return counts[name]

    return count(key)


def compile_plan(specs: Mapping[str, WorkflowSpec], key: str) -> Plan:
    stops: list[Stop] = []
    _unfold(specs, key, (), DONE, stops)
    fields = {name: value for name, value in specs[key]._asdict().items() if name in Plan._fields}
    return Plan(**fields, stops=tuple(stops))


def _unfold(
    specs: Mapping[str, WorkflowSpec], key: str, above: tuple[Level, ...], following_name: str, stops: list[Stop]
) -> None:
    """Add the stops of a workflow inside the levels `above`. `following` is the name of what follows it there."""
    spec = specs[key]
    names = [specs[e.key].name if isinstance(e, Reference) else e.name for e in spec.entries]
    first_stop = len(stops)
    for index, entry in enumerate(spec.entries):
        levels = (*above, Level(spec.key, spec.name, index, len(spec.entries)))
        next_name = names[index + 1] if index + 1 < len(names) else following_name
        if isinstance(entry, Reference):
            _unfold(specs, entry.key, levels, next_name, stops)
            continue
        fields = {name: value for name, value in entry._asdict().items() if name in Stop._fields}
        previous = names[index - 1] if index else START
        scope: dict[str, Any] = {"scope_first": first_stop, "scope_loopable": spec.loopable}
        stops.append(Stop(**fields, **scope, levels=levels, previous=previous, next=next_name, checks=entry.exit))
