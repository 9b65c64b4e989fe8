"""What the exit checks of workflows would run."""

from __future__ import annotations

from collections.abc import Iterable

from handrail import registry
from handrail.trust.programs import Program
from handrail.workflows.plan import ExitCheck
from handrail.workflows.spec import WorkflowSpec


def programs_of(specs: Iterable[WorkflowSpec]) -> list[Program]:
    """What a workflow and its subworkflows would run."""
    found: list[Program] = []
    for spec in specs:
        for phase in spec.phases:
            lines = phase.exit_lines or (0,) * len(phase.exit)
            for check, line in zip(phase.exit, lines, strict=True):
                found += _of_check(check, f"{spec.key}/{phase.id}", phase.file, line)
    return found


def programs_of_checks(checks: Iterable[ExitCheck], by: str) -> list[Program]:
    """What the exit checks of a phase would run. A pinned plan does not know the lines of its files."""
    return [program for check in checks for program in _of_check(check, by, "", 0)]


def starts_nothing(check: ExitCheck) -> bool:
    """True if a check only looks. Every other check needs the trust of a person."""
    return registry.check_kind(check.kind).CHECK.is_harmless


def _of_check(check: ExitCheck, by: str, file: str, line: int) -> list[Program]:
    return [] if starts_nothing(check) else [Program("program", check.subject or check.name, by, file, line)]
