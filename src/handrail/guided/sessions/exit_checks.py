"""Runs the exit checks of a phase, and says what they would run.

Sessions and hooks do not import this module: it needs the kinds of checks, and these need `asyncio`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping

from handrail.base.digest import hex_digest
from handrail.base.errors import RefusedError
from handrail.base.files import real_inside
from handrail.extensions.registry import Registry
from handrail.guided.sessions.machine import CheckResult
from handrail.guided.workflows.plan import ExitCheck
from handrail.guided.workflows.spec import WorkflowSpec
from handrail.settings.folders import UserFolders, checkout, has_settings
from handrail.settings.secrets import DEFAULT_RULES, SecretRules, Secrets
from handrail.settings.trust import ProgramUse, without_trust_variable


def workflow_programs(specs: Iterable[WorkflowSpec], registry: Registry) -> list[ProgramUse]:
    """What a workflow and its subworkflows would run."""
    return [
        _program(check, f"{spec.key}/{phase.id}", phase.file, line)
        for spec in specs
        for phase in spec.phases
        for check, line in zip(phase.exit, phase.exit_lines or (0,) * len(phase.exit), strict=True)
        if not _is_harmless(check, registry)
    ]


def programs_of_checks(checks: Iterable[ExitCheck], by: str, registry: Registry) -> list[ProgramUse]:
    """What the exit checks of a phase would run. A pinned plan does not know the lines of its files."""
    return [_program(check, by, "", 0) for check in checks if not _is_harmless(check, registry)]


def _is_harmless(check: ExitCheck, registry: Registry) -> bool:
    """True if a check only looks. Every other check needs the trust of a person."""
    return registry.check_kind(check.kind).CHECK.is_harmless


def _program(check: ExitCheck, by: str, file: str, line: int) -> ProgramUse:
    return ProgramUse("program", check.subject or check.name, by, file, line)


TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.extensions.contracts import CheckContext

OnCheck = Callable[[ExitCheck], None]
_BACK = "go back to the project or to a worktree of its repository, then repeat this action"


GIT_SECONDS = 10.0


def work_folder(project: str, cwd: str, entered: Callable[[], float] | None = None) -> str:
    """The folder for the checks of an agent that works in `cwd`: the project, or the same folder in a worktree.

    A check belongs to the project, so it runs in the project also if the agent is in a folder below it. But in another
    worktree of the same repository, the agent's work is there. Anywhere else the checks would prove nothing.

    `entered` tells when the phase was entered. A worktree that was made since proves nothing about the project as it
    was: its commits have to be in the project, which is then checked, or a person accepts it (`handrail reload`).
    """
    if not cwd:
        return project
    cwd_checkout, project_checkout = checkout(cwd), checkout(project)
    if cwd_checkout is not None and project_checkout is not None and cwd_checkout.data == project_checkout.data:
        folder = os.path.normpath(os.path.join(cwd_checkout.top, os.path.relpath(project, project_checkout.top)))
        if os.path.isdir(folder):
            if folder == project or entered is None or _made(cwd_checkout.top) < entered():
                return folder
            return _with_commits(project, cwd_checkout.top)
        raise RefusedError(f"The exit checks were not run: there is no `{folder}`", _BACK)
    if real_inside(project, cwd) is not None:
        return project
    message = f"The exit checks were not run: you work in `{cwd}`, which is not part of the project `{project}`"
    raise RefusedError(message, _BACK)


def _made(top: str) -> float:
    """When a worktree was made or moved: nobody can set this time of a file."""
    try:
        return os.stat(os.path.join(top, ".git")).st_ctime
    except OSError:
        return math.inf


def _with_commits(project: str, top: str) -> str:
    """The project if it has all commits of a worktree. Raises `RefusedError` if it does not."""
    from handrail.base.processes import output_of  # it needs `asyncio`, which takes longer than starting Python

    head = output_of(["git", "-C", project, "rev-parse", "HEAD"], GIT_SECONDS).strip()
    if output_of(["git", "-C", top, "rev-list", "--count", "HEAD", "--not", head], GIT_SECONDS).strip() == "0":
        return project
    message = f"The exit checks were not run: the worktree `{top}` was made in this phase, so it is no proof yet"
    hint = f"merge its commits into `{project}`, or ask a person to look at it: after `handrail reload`, it is checked"
    raise RefusedError(message, hint)


def check_context(
    project: str, env: Mapping[str, str], registry: Registry, cwd: str, entered: Callable[[], float] | None = None
) -> CheckContext:
    """Where the exit checks of an agent run that works in `cwd`.

    Secrets are hidden by the settings of the user and the project.
    """
    from handrail.extensions.contracts import CheckContext

    rules, places = DEFAULT_RULES, UserFolders(env)
    if has_settings(places, project):
        from handrail.settings.settings import read_settings, refuse_errors

        settings, problems = read_settings(places.config, project)
        refuse_errors(problems)
        rules = SecretRules(settings.secrets, settings.not_secret)
    mask = Secrets(env, rules).mask
    return CheckContext(work_folder(project, cwd, entered), without_trust_variable(env), mask, project, registry)


async def run_checks(
    checks: tuple[ExitCheck, ...], context: CheckContext, is_trusted: bool, on_check: OnCheck | None = None
) -> tuple[CheckResult, ...]:
    """The results of all checks, in order, without secrets. `on_check` is called with each check before it runs.

    In a project that is not trusted, a check that starts a program is not run, so it does not hold.
    """
    project, results = context.definitions or context.project, []
    cure = f"a person runs `handrail trust {project}` in a terminal"
    untrusted = f"it was not run, because nobody has trusted `{project}`; {cure}"
    for check in checks:
        may_run = is_trusted or _is_harmless(check, context.registry)
        not_run = CheckResult(check.name, check.kind, None, untrusted, 0.0)
        results.append(await _run(check, context, on_check) if may_run else not_run)
    return tuple(results)


async def _run(check: ExitCheck, context: CheckContext, on_check: OnCheck | None) -> CheckResult:
    from handrail.source.output_text import without_variable_parts

    if on_check:
        on_check(check)
    begin = time.monotonic()
    finding = await context.registry.check_kind(check.kind).verify(check.params, context)
    detail = context.mask(finding.detail)
    mark = "" if finding.held else hex_digest(without_variable_parts(detail).encode())[:16]
    return CheckResult(check.name, check.kind, finding.held, detail, round(time.monotonic() - begin, 3), mark)
