"""Runs the exit checks of a phase. Imported only if a phase has checks, because it needs `asyncio`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from handrail import registry
from handrail.contracts import CheckContext
from handrail.errors import RefusedError
from handrail.project import Places, checkout, has_settings
from handrail.secrets.redaction import Secrets
from handrail.secrets.rules import DEFAULT, SecretRules
from handrail.sessions.results import Result
from handrail.source.sameness import without_chance
from handrail.state.digest import hex_digest
from handrail.state.files import real_inside
from handrail.trust.guard import without_word
from handrail.workflows.plan import ExitCheck
from handrail.workflows.programs import starts_nothing

OnCheck = Callable[[ExitCheck], None]
_BACK = "go back to the project or to a worktree of its repository, then repeat this action"


def work_folder(project: str, cwd: str) -> str:
    """The folder for the checks of an agent that works in `cwd`: the project, or the same folder in a worktree.

    A check belongs to the project, so it runs in the project also if the agent is in a folder below it. But in another
    worktree of the same repository, the agent's work is there. Anywhere else the checks would prove nothing.
    """
    if not cwd:
        return project
    here, home = checkout(cwd), checkout(project)
    if here is not None and home is not None and here.data == home.data:
        folder = os.path.normpath(os.path.join(here.top, os.path.relpath(project, home.top)))
        if os.path.isdir(folder):
            return folder
        raise RefusedError(f"The exit checks were not run: there is no `{folder}`", _BACK)
    if real_inside(project, cwd) is not None:
        return project
    message = f"The exit checks were not run: you work in `{cwd}`, which is not part of the project `{project}`"
    raise RefusedError(message, _BACK)


def check_context(project: str, env: Mapping[str, str]) -> CheckContext:
    """Where exit checks run. Secrets are hidden by the settings of the user and the project."""
    rules, places = DEFAULT, Places(env)
    if has_settings(places, project):
        from handrail.settings import read_settings, refuse_errors

        settings, problems = read_settings(places.config, project)
        refuse_errors(problems)
        rules = SecretRules(settings.secrets, settings.not_secret)
    return CheckContext(project, without_word(env), Secrets(env, rules).mask, project)


async def run_checks(
    checks: tuple[ExitCheck, ...], context: CheckContext, is_trusted: bool, on_check: OnCheck | None = None
) -> tuple[Result, ...]:
    """The results of all checks, in order, without secrets. `on_check` is called with each check before it runs.

    In a project that is not trusted, a check that starts a program is not run, so it does not hold.
    """
    return tuple(
        [
            await _run(check, context, on_check) if is_trusted or starts_nothing(check) else _not_run(check, context)
            for check in checks
        ]
    )


def _not_run(check: ExitCheck, context: CheckContext) -> Result:
    project = context.definitions or context.project
    why = f"it was not run, because nobody has trusted `{project}`"
    return Result(check.name, check.kind, None, f"{why}; a person runs `handrail trust {project}` in a terminal", 0.0)


async def _run(check: ExitCheck, context: CheckContext, on_check: OnCheck | None) -> Result:
    if on_check:
        on_check(check)
    begin = time.monotonic()
    finding = await registry.check_kind(check.kind).verify(check.params, context)
    detail = context.mask(finding.detail)
    mark = "" if finding.held else hex_digest(without_chance(detail).encode())[:16]
    return Result(check.name, check.kind, finding.held, detail, round(time.monotonic() - begin, 3), mark)
