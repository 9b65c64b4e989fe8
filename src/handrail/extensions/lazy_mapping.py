"""A mapping that creates an entry when it is first used, for example by importing a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


class LazyMapping(Mapping[str, T]):
    """Registered entries by name. Each is created on first use."""

    def __init__(self, rows: Mapping[str, Callable[[], T]]) -> None:
        self._rows = rows
        self._entries: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            self._entries[name] = self._rows[name]()
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
