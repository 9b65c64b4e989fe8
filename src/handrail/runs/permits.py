"""The effects that a person approved for a whole run with `--approve`, as an event of the run. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.settings.rules import Rule
from handrail.source.dataclasses import dataclass, field


@dataclass(frozen=True)
class Permitted:
    """From here on, these effects are approved without a question."""

    effects: list[str] = field(default_factory=list)

    def with_more(self, effects: Sequence[str]) -> Permitted:
        return Permitted([*self.effects, *(name for name in effects if name not in self.effects)])

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(map(Rule, self.effects))
