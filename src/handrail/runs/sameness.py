"""Ends a repeat that does not get anywhere: a check fails in the same way in several rounds in a row.

Only what the steps returned is compared, so a resumed run decides as the first one did. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from handrail.contracts import NodeError, Verdict
from handrail.flows.account import Results
from handrail.flows.plan import FlowPlan, Phase, Step
from handrail.source.dataclasses import dataclass
from handrail.source.sameness import without_chance
from handrail.source.values import as_text, shown

CODE = "same-failure"
LONGEST = 200


@dataclass(frozen=True)
class Told:
    """What a finished step says: what its check found, and whether an agent worked in it. None: no check failed."""

    failure: str | None = None
    has_worked: bool = False


class Rounds:
    """The rounds of the repeats of one flow. `path_of` is the path of a step; `nested` has what nested flows said."""

    def __init__(self, plan: FlowPlan, steps: Callable[[], Results], path_of: Callable[[Phase, Step], str]) -> None:
        self.plan = plan
        self.steps = steps
        self.path_of = path_of
        self.nested: dict[str, Told] = {}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {phase.id: number for number, phase in enumerate(self.plan.phases)}

    def told(self, phase: Phase, step: Step) -> Told:
        found = self.steps().get(phase.id, {}).get(step.id, {})
        if found.get("status") != "done":
            return Told()
        if step.nested is not None:
            return self.nested.get(self.path_of(phase, step), Told())
        verdict = step.verdict
        if verdict is not None and verdict.must_be_used and (phase.again is None or step.id not in phase.again.used):
            verdict = None
        return Told(_failure(verdict, found.get("value")), step.calls_agent)

    def whole(self) -> Told:
        """What the flow says as a whole: its last check counts."""
        failure, has_worked = None, False
        for phase in self.plan.phases:
            for step in phase.steps:
                told = self.told(phase, step)
                has_worked = has_worked or told.has_worked
                if self._has_verdict(phase, step):
                    failure = told.failure
        return Told(failure, has_worked)

    def _has_verdict(self, phase: Phase, step: Step) -> bool:
        is_done = self.steps().get(phase.id, {}).get(step.id, {}).get("status") == "done"
        return is_done and (step.verdict is not None or step.nested is not None)

    def refuse_same(self, phase: Phase, step: Step, most: int) -> None:
        """Raise `NodeError` if a step failed as in the rounds before. `most` holds if the repeat does not say."""
        again = phase.again
        if again is None or (failure := self.told(phase, step).failure) is None:
            return
        limit = most if again.limit is None else again.limit
        if limit < 2:
            return
        number, at = phase.steps.index(step), phase
        for _ in range(limit - 1):
            before = self._before(at)
            if before is None or self.told(before, before.steps[number]).failure != failure:
                return
            if again.limit is None and not self._has_worked(before, at):
                return
            at = before
        told = f"`{step.id}` failed in the same way in {limit} rounds in a row, so the repeat ends"
        raise NodeError(CODE, f"{told}: {_words(step.verdict, failure)}", transient=False)

    def _before(self, phase: Phase) -> Phase | None:
        before = phase.again.before if phase.again is not None else None
        return self.plan.phases[self._places[before]] if before is not None else None

    def _has_worked(self, first: Phase, last: Phase) -> bool:
        """True if an agent worked between a phase and the same phase of the next round."""
        between = self.plan.phases[self._places[first.id] : self._places[last.id] + 1]
        return any(self.told(phase, step).has_worked for phase in between for step in phase.steps)


def _words(verdict: Verdict | None, failure: str) -> str:
    """The last line that tells the failure. If there is only the output that decides, its name is told, too."""
    line = shown(_last_line(failure), LONGEST)
    is_alone = verdict is not None and verdict.told[:1] == (verdict.output,) and len(failure.split()) == 1
    return f"`{verdict.output}` is {line}" if verdict is not None and is_alone else line


def _failure(verdict: Verdict | None, value: Any) -> str | None:
    """What failed, without what differs each time; None if nothing did."""
    if verdict is None or _member(value, verdict.output) in (None, verdict.good):
        return None
    return without_chance("\n".join(as_text(_member(value, name)) for name in verdict.told))


def _member(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
