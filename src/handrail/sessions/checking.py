"""Runs the exit checks of a phase. Imported only when there are any: starting programs needs `asyncio`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from handrail import registry
from handrail.contracts import CheckContext
from handrail.sessions.machine import Result
from handrail.workflows.plan import Check

CheckShown = Callable[[Check], None]


async def run_checks(
    checks: tuple[Check, ...], project: str, env: Mapping[str, str], shown: CheckShown | None = None
) -> tuple[Result, ...]:
    """The results of all checks, in order. `shown` hears of each one before it runs."""
    context = CheckContext(project, env)
    return tuple([await _run(check, context, shown) for check in checks])


async def _run(check: Check, context: CheckContext, shown: CheckShown | None) -> Result:
    if shown:
        shown(check)
    begin = time.monotonic()
    finding = await registry.check_kind(check.kind).verify(check.params, context)
    return Result(check.name, check.kind, finding.held, finding.detail, round(time.monotonic() - begin, 3))
