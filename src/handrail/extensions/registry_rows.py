"""What the registry asks plugins for, and a mapping that imports an entry when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Protocol, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.base.errors import HandrailError
    from handrail.extensions.callers import Signs
    from handrail.extensions.contracts import CheckKind, EngineKind, NodeKind


class Extensions(Protocol):
    """What plugins add, by full name: `ID/NAME`. `version` changes if any of it changes.

    A node or a check of a plugin that cannot be used is returned all the same, and says why when it runs. An engine or
    a part of an agent raises the error then.
    """

    @property
    def nodes(self) -> Collection[str]: ...

    @property
    def checks(self) -> Collection[str]: ...

    @property
    def engines(self) -> Collection[str]: ...

    @property
    def agents(self) -> Mapping[str, Mapping[str, str]]: ...

    @property
    def signs(self) -> Mapping[str, Signs]: ...

    @property
    def version(self) -> str: ...

    def node(self, name: str) -> NodeKind: ...

    def check(self, name: str) -> CheckKind: ...

    def engine(self, name: str) -> EngineKind: ...

    def part(self, agent: str, part: str) -> Any: ...

    def folders(self, kind: str) -> list[tuple[str, str]]:
        """(id, folder) of each plugin with definitions of this kind."""
        ...

    def error(self, name: str) -> HandrailError | None:
        """Why something with this name cannot be used; None if it can, or if no plugin has it."""
        ...


T = TypeVar("T")


class LazyMapping(Mapping[str, T]):
    """Registered entries by name. Each is created on first use."""

    def __init__(self, rows: Mapping[str, Callable[[], T]]) -> None:
        self._rows = rows
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            self._made[name] = self._rows[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
