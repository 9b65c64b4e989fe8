"""Resolves the expressions of a running flow. Facts about the world are recorded before they are used."""

from __future__ import annotations

from typing import Any

from handrail.driven.expressions.tree import Const, Expression, ExpressionScope
from handrail.driven.expressions.words import error_with_place
from handrail.driven.flows.plan import FlowPlan, Phase, Step
from handrail.driven.flows.results import Results, result
from handrail.extensions.contracts import Durable
from handrail.settings.secrets import has_lost, refuse_lost
from handrail.source.values import Unresolved


class NeedsFact(Exception):
    """An expression needs a fact about the world that is not recorded yet."""

    def __init__(self, kind: str, subject: str) -> None:
        super().__init__(kind, subject)
        self.kind = kind
        self.subject = subject


class Resolver:
    """The values of one flow: its parameters, its constants, its context and the results of its steps."""

    def __init__(self, durable: Durable, plan: FlowPlan) -> None:
        self.durable = durable
        self.plan = plan
        self.params: dict[str, Any] = {}
        self.context: dict[str, Any] = {}
        self.steps: Results = {}
        self.has_lost = False
        self._items: dict[str, dict[str, Any]] = {}

    def keep(self, phase: Phase, step: Step, value: Any) -> None:
        """Keep the result of a step for later expressions."""
        self.has_lost = self.has_lost or has_lost(value)
        self.steps[phase.id][step.id] = result(value)

    async def resolve(
        self, expression: Expression, phase: Phase, path: str, place: str, *, is_recalled: bool = False
    ) -> Any:
        """The value of an expression. `place` names the part of the step at `path` that contains it.

        Raises `Unresolved` if the value needs a secret that is not set any more, unless the step is only recalled.
        """
        if isinstance(expression, Const):
            return expression.value
        repeat = phase.rounds if not phase.items else {**phase.rounds, **await self._items_of(phase, path)}
        return await self._find(expression, repeat, path, place, is_recalled=is_recalled)

    async def resolve_guard(self, guard: Expression, phase: Phase, path: str, place: str = "repeat") -> Any:
        """The value of the guard of a round. It is resolved before the item of the round is known."""
        return await self._find(guard, phase.rounds, path, place)

    async def _items_of(self, phase: Phase, path: str) -> dict[str, Any]:
        """The items of this round of a repeat; resolved once."""
        if phase.id not in self._items:
            found: dict[str, Any] = {}
            for name, expression in phase.items:
                found[name] = await self._find(expression, {**phase.rounds, **found}, path, f"repeat.{name}")
            self._items[phase.id] = found
        return self._items[phase.id]

    async def _find(
        self, expression: Expression, repeat: dict[str, Any], path: str, place: str, *, is_recalled: bool = False
    ) -> Any:
        facts: dict[tuple[str, str], Any] = {}

        def fact(kind: str, subject: str) -> Any:
            if (kind, subject) not in facts:
                raise NeedsFact(kind, subject)
            return facts[kind, subject]

        values = {
            "params": self.params,
            "flow": self.plan.constants,
            "context": self.context,
            "repeat": repeat,
            "steps": self.steps,
        }
        scope = ExpressionScope(
            values,
            lambda path: bool(fact("exists", path)),
            lambda wanted: str(fact("artifact", wanted.to_text())),
            lambda wanted: list(fact("artifacts", wanted.to_text())),
            refuse_lost if self.has_lost and not is_recalled else None,
        )
        while True:
            try:
                return expression.resolve(scope)
            except NeedsFact as need:
                facts[need.kind, need.subject] = await self.durable.fact(path, place, need.kind, need.subject)
            except Unresolved as error:
                raise error_with_place(error, expression, place) from error
