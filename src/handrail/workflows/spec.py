"""A workflow as its files define it. The keys that the files may have are in `keys`. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.source.record import Record
from handrail.workflows.plan import ExitCheck

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

WORKFLOW_FILE = "workflow.yaml"


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


class Reference(Record):
    """A place where another workflow runs as one phase of this one."""

    key: str
    line: int
    column: int
    width: int
    excerpt: str | None


Entry = PhaseSpec | Reference


class LazyEntries(Sequence[Entry]):
    """Entries that are decoded at the first access. Their number and their references are known before."""

    __slots__ = ("_count", "_entries", "_read", "references")

    def __init__(self, count: int, references: list[Reference], read: Callable[[], tuple[Entry, ...]]) -> None:
        self._count = count
        self._read = read
        self._entries: tuple[Entry, ...] | None = None
        self.references = references

    def _all(self) -> tuple[Entry, ...]:
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        return self._all()[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all() == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # like a list


class WorkflowSpec(Record):
    """A workflow and everything its own files say.

    `orchestrates`: it was written for pi-workflows, whose default texts make the agent an orchestrator.
    """

    key: str
    file: str
    name: str
    command: str
    show: str
    loopable: bool
    initial_message: str
    entries: Sequence[Entry]
    texts: dict[str, str]
    session_name_length: int
    orchestrates: bool = False

    @property
    def references(self) -> list[Reference]:
        if isinstance(self.entries, LazyEntries):
            return self.entries.references
        return [entry for entry in self.entries if isinstance(entry, Reference)]

    @property
    def phases(self) -> list[PhaseSpec]:
        return [entry for entry in self.entries if isinstance(entry, PhaseSpec)]

    @property
    def is_visible(self) -> bool:
        return self.show == "user"
