"""Runs the exit checks of a phase. Imported only if a phase has checks, because it needs `asyncio`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from handrail import registry
from handrail.contracts import CheckContext
from handrail.sessions.machine import Result
from handrail.workflows.plan import ExitCheck

OnCheck = Callable[[ExitCheck], None]


async def run_checks(
    checks: tuple[ExitCheck, ...], project: str, env: Mapping[str, str], on_check: OnCheck | None = None
) -> tuple[Result, ...]:
    """The results of all checks, in order. `on_check` is called with each check before it runs."""
    context = CheckContext(project, env)
    return tuple([await _run(check, context, on_check) for check in checks])


async def _run(check: ExitCheck, context: CheckContext, on_check: OnCheck | None) -> Result:
    if on_check:
        on_check(check)
    begin = time.monotonic()
    finding = await registry.check_kind(check.kind).verify(check.params, context)
    return Result(check.name, check.kind, finding.held, finding.detail, round(time.monotonic() - begin, 3))
