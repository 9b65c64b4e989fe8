"""Runs the `expect` of a step, and records what each of its checks found."""

from __future__ import annotations

from typing import Any

from handrail.contracts import Durable, NodeError
from handrail.contracts.check import subject
from handrail.flows.plan import Expectation, Phase, Step
from handrail.runs import machine
from handrail.runs.resolve import Resolver
from handrail.source.values import Unresolved, is_true, shown

LONGEST_NAME = 80
LONGEST = 2_000
NOT_WANTED = "its condition does not hold"
Found = dict[str, Any]


async def check(durable: Durable, values: Resolver, phase: Phase, step: Step, path: str) -> None:
    """Run all checks and record their results. Raises `NodeError` with all expectations that do not hold."""
    expectations = step.expect or ()
    results: list[Found] = []
    failed: list[NodeError] = []
    for number, expectation in enumerate(expectations):
        one = {"name": expectation.kind, "kind": expectation.kind, "held": None, "detail": "", "seconds": None}
        results.append(one)
        try:
            await _Expecting(durable, values, phase, path).check(expectation, f"expect.{number}", one)
        except NodeError as error:
            failed.append(error)
        except Unresolved as error:
            one["detail"] = error.message
            if not failed:
                durable.note(machine.Checked(path, _shortened(results)))
                raise
    if results:
        durable.note(machine.Checked(path, _shortened(results)))
    if failed:
        message, is_transient = "; ".join(e.message for e in failed), all(e.transient for e in failed)
        raise NodeError(failed[0].code, message, transient=is_transient)


def _shortened(results: list[Found]) -> list[Found]:
    return [{**one, "detail": shown(one["detail"], LONGEST)} for one in results]


class _Expecting:
    """Runs one expectation of a step."""

    def __init__(self, durable: Durable, values: Resolver, phase: Phase, path: str) -> None:
        self.durable = durable
        self.values = values
        self.phase = phase
        self.path = path

    async def check(self, expectation: Expectation, place: str, one: Found) -> None:
        """Fill in what was found. Raises `NodeError` if the expectation does not hold or cannot be checked."""
        kind, resolve = expectation.kind, self.values.resolve
        if expectation.when is not None and not is_true(await resolve(expectation.when, self.phase, self.path, place)):
            one["detail"] = NOT_WANTED
            return
        params = {
            name: await resolve(value, self.phase, self.path, f"{place}.{name}")
            for name, value in expectation.params.items()
        }
        one["name"] = f"{kind}: {shown(subject(params), LONGEST_NAME)}"
        try:
            finding = await self.durable.check(kind, params)
        except NodeError as error:
            one["detail"] = error.message
            raise
        one |= {"held": finding.held, "detail": finding.detail, "seconds": finding.seconds}
        if not finding.held:
            told = expectation.message or f"`{one['name']}` does not hold"
            raise NodeError("expectation", ": ".join(part for part in (told.rstrip("."), finding.detail) if part))
