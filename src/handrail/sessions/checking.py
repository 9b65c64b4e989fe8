"""Runs the exit checks of a phase. Imported only if a phase has checks, because it needs `asyncio`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from handrail import registry
from handrail.contracts import CheckContext
from handrail.project import Places, has_settings
from handrail.secrets.redaction import Secrets
from handrail.secrets.rules import DEFAULT, SecretRules
from handrail.sessions.machine import Result
from handrail.workflows.plan import ExitCheck

OnCheck = Callable[[ExitCheck], None]


def check_context(project: str, env: Mapping[str, str]) -> CheckContext:
    """Where exit checks run. Secrets are hidden by the settings of the user and the project."""
    rules, places = DEFAULT, Places(env)
    if has_settings(places, project):
        from handrail.settings import read_settings

        settings, _ = read_settings(places.config, project)
        rules = SecretRules(settings.secrets, settings.not_secret)
    return CheckContext(project, env, Secrets(env, rules).mask)


async def run_checks(
    checks: tuple[ExitCheck, ...], context: CheckContext, on_check: OnCheck | None = None
) -> tuple[Result, ...]:
    """The results of all checks, in order, without secrets. `on_check` is called with each check before it runs."""
    return tuple([await _run(check, context, on_check) for check in checks])


async def _run(check: ExitCheck, context: CheckContext, on_check: OnCheck | None) -> Result:
    if on_check:
        on_check(check)
    begin = time.monotonic()
    finding = await registry.check_kind(check.kind).verify(check.params, context)
    detail = context.mask(finding.detail)
    return Result(check.name, check.kind, finding.held, detail, round(time.monotonic() - begin, 3))
