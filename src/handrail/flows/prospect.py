"""Evaluates the expressions of a flow before it runs, and shows them to people. Pure.

Results of steps are not known. Files are not known after the first step that may run. Values of the environment
decide conditions, but are never shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handrail.expressions.partial import PartialEvaluator, waits_for
from handrail.expressions.tree import Const, Expression, Ref, Template
from handrail.expressions.words import as_data, in_place, in_words
from handrail.flows.account import skipped
from handrail.flows.language import composed, language_part
from handrail.flows.plan import Expectation, FlowPlan, Phase, Prompt
from handrail.flows.words import round_numbers
from handrail.source.dataclasses import dataclass, replace
from handrail.source.values import Unresolved, is_true

Exists = Callable[[str], bool]
MOST_CONDITIONS = 3


@dataclass(frozen=True)
class Given:
    """The input of a flow. `later` are references that are not known yet, `hidden` are those that are not shown."""

    params: Mapping[str, Any]
    context: Mapping[str, Any]
    later: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Verdict:
    """What happens to a phase or a step: it runs, is skipped, or depends `on` something that is not known yet."""

    verdict: str = "runs"
    why: str = ""
    on: tuple[str, ...] = ()


class Prospect:
    """One flow, seen from one of its phases. `exists` is None once files may have changed."""

    def __init__(self, plan: FlowPlan, given: Given) -> None:
        self.plan = plan
        self.given = given
        self.steps: dict[str, dict[str, dict[str, Any]]] = {phase.id: {} for phase in plan.phases}
        self.exists: Exists | None = None
        self._guards: dict[tuple[int, bool], Expression] = {}
        self._repeat: dict[str, Any] = {}
        self._later = given.later
        self._hidden = given.hidden

    def skip(self, phase: Phase) -> None:
        """Mark all steps of a phase as skipped."""
        self.steps[phase.id] = {step.id: skipped() for step in phase.steps}

    def evaluate(self, expression: Expression) -> Expression:
        """A constant if the value is known. Raises `Unresolved` if it cannot have a value."""
        try:
            return self._evaluator(self._is_later).evaluate(expression)
        except Unresolved as error:
            raise in_place(error, expression) from error

    def show(self, expression: Expression) -> Expression:
        """The same for people: hides the environment, and leaves what cannot be resolved."""
        try:
            return self._evaluator(self._is_not_shown).evaluate(expression)
        except Unresolved:
            return expression

    def words(self, expression: Expression) -> str:
        return in_words(self.show(expression))

    def _evaluator(self, is_later: Callable[[Ref], bool]) -> PartialEvaluator:
        env = self.given.context.get("env", {})
        allowed = {name: value for name, value in env.items() if name in self.plan.env}
        values = {
            "params": self.given.params,
            "flow": self.plan.constants,
            "context": {**self.given.context, "env": allowed},
            "repeat": self._repeat,
            "steps": self.steps,
        }
        return PartialEvaluator(values, is_later, self.exists)

    def _is_later(self, ref: Ref) -> bool:
        parts = ref.names
        match parts:
            case ["steps", phase, step, field, *_]:
                known = self.steps.get(phase, {}).get(step)
                return known is None or field not in known
            case ["steps", *_]:
                return True
            case ["context", name, *_]:
                return name != "env" and name not in self.given.context
        return ".".join(parts[:2]) in self._later

    def _is_not_shown(self, ref: Ref) -> bool:
        parts = ref.names
        return parts[:2] == ["context", "env"] or ".".join(parts[:2]) in self._hidden or self._is_later(ref)

    def enter(self, phase: Phase) -> dict[str, Any]:
        """Move to this phase. Returns the numbers and items of its round, as they are shown."""
        self._repeat, self._later, self._hidden = dict(phase.rounds), self.given.later, self.given.hidden
        about: dict[str, Any] = dict(round_numbers(phase))
        for name, item in phase.items:
            shown = self.show(item)
            about[name] = as_data(shown)
            try:
                seen = self.evaluate(item)
            except Unresolved:
                seen = item
            if isinstance(seen, Const):
                self._repeat[name] = seen.value
            else:
                self._later |= {f"repeat.{name}"}
            if not isinstance(shown, Const):
                self._hidden |= {f"repeat.{name}"}
        return about

    def verdict(self, guards: tuple[Expression, ...], when: Expression | None) -> Verdict:
        """The verdict on a phase or a step that runs only if all these conditions hold."""
        left: list[Expression] = []
        for condition in (*guards, *([when] if when is not None else [])):
            try:
                seen = self._guard(condition) if condition is not when else self.evaluate(condition)
            except Unresolved:
                if not left:
                    raise
                seen = condition  # the run may never evaluate it
            if not isinstance(seen, Const):
                left.append(condition)
            elif not is_true(seen.value):
                return Verdict("skipped", f"{in_words(condition)} does not hold")
        return self._depends(left) if left else Verdict()

    def _guard(self, guard: Expression) -> Expression:
        """The value of a guard, cached: later rounds share the guard, and it refers only to steps before them."""
        key = (id(guard), self.exists is None)
        if key not in self._guards:
            self._guards[key] = self.evaluate(guard)
        return self._guards[key]

    def _depends(self, left: list[Expression]) -> Verdict:
        """Shows only the last conditions: earlier rounds have shown the others."""
        shown = [self.show(condition) for condition in left[-MOST_CONDITIONS:]]
        on = dict.fromkeys(name for condition in shown for name in waits_for(condition))
        more = len(left) - len(shown)
        why = " and ".join(map(in_words, shown)) + (f", and {more} more" if more else "")
        return Verdict("depends", why, tuple(on))

    def prompt(self, prompt: Prompt) -> str:
        """The prompt for an agent."""
        for value in (*prompt.values, *([prompt.extra] if prompt.extra is not None else [])):
            self.evaluate(value)
        body = self.words(Template(prompt.text, prompt.names, prompt.values))
        extra = Const(None) if prompt.extra is None else self.show(prompt.extra)
        more = "" if isinstance(extra, Const) and extra.value is None else in_words(extra)
        language = language_part(self.given.context.get("language"), is_foreign=self.plan.is_foreign)
        return composed(body, [more, language], is_plain=prompt.plain)

    def expectation(self, expectation: Expectation) -> Expectation | None:
        """The expectation with known values filled in. None if its condition does not hold."""
        when = None if expectation.when is None else self.show(expectation.when)
        if isinstance(when, Const) and not is_true(when.value):
            return None
        params = {name: self.show(value) for name, value in expectation.params.items()}
        return replace(expectation, params=params, when=None if isinstance(when, Const) else when)
