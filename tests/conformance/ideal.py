"""The actions of a case done to a stack machine: what the seed would show without its defects.

Definitions are those of the moment of the start (P-8), a confirmation is good for one command (P-3), a loop goes
down to a phase (P-4), a reminder is never said to a session that moved on (P-7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance import reference
from conformance.seen import Facts, Path, Seen

from handrail.catalog import Catalog
from handrail.errors import HandrailError
from handrail.guided.spec import WorkflowSpec
from handrail.templates import render

IDLE_STOPS = 3
COUNTDOWN = 3.0


class Ideal:
    def __init__(self, catalog: Callable[[], Catalog], *, says_yes: bool, task_id: Callable[[], str]) -> None:
        self.catalog = catalog
        self.says_yes = says_yes
        self.task_id = task_id
        self.specs: reference.Specs = {}
        self.facts: Facts | None = None
        self.is_asked = False
        self.idle = 0
        self.countdown: float | None = None
        self.events: dict[str, str] = {}

    @property
    def is_active(self) -> bool:
        return self.facts is not None and self.facts.active

    @property
    def top(self) -> WorkflowSpec:
        return self.specs[self.path[0][0]]

    @property
    def path(self) -> Path:
        assert self.facts
        return self.facts.path
