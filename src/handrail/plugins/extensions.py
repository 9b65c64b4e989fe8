"""What the registry asks plugins for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from handrail.contracts.check import CheckKind
from handrail.contracts.engine import EngineKind
from handrail.contracts.node import NodeKind
from handrail.contracts.signs import Signs
from handrail.errors import HandrailError


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

    def error(self, name: str) -> HandrailError | None:
        """Why something with this name cannot be used; None if it can, or if no plugin has it."""
        ...
