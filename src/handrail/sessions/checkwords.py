"""The texts about exit checks that ran, for agents and people. Pure; standard library only."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from handrail.sessions.events import State
    from handrail.sessions.results import Result
    from handrail.workflows.plan import ExitCheck, Stop


def checks_failed(results: tuple[Result, ...], stop: Stop, state: State) -> str:
    """The result of `next` if an exit check fails. `state` is the one after it."""
    return "\n".join([*check_lines(results, stop), *_same_again(state), 'Fix this, then repeat the action "next".'])


def _same_again(state: State) -> list[str]:
    """Tells an agent that its work did not change how the exit checks fail."""
    if not state.is_going_in_circles:
        return []
    told = f"This is the same failure as before, {state.same_failures} times in a row: what you changed did not help."
    advice = "Do not try the same again. Find the cause first: read the whole output, and question your assumptions."
    return [f"{told} {advice} If you cannot fix it, stop and tell the person what you tried and what is in the way."]


def check_lines(results: tuple[Result, ...], stop: Stop) -> list[str]:
    """Which exit checks of a stop hold and which do not, for agents and people."""
    lines = [f"✗ {stop.name} cannot be left yet: {_failed(results)}."]
    for check, result in zip(stop.checks, results, strict=True):
        lines.append(f"{'✓' if result.held else '✗'} {_check_line(check, result)}")
        if not result.held and "\n" in result.detail:
            lines.extend("    " + line for line in result.detail.splitlines()[1:])
    return lines


def _failed(results: tuple[Result, ...]) -> str:
    failed, number = sum(not result.held for result in results), len(results)
    if number == 1:
        return "the exit check does not hold"
    return f"{failed} of {number} exit checks {'does' if failed == 1 else 'do'} not hold"


def failed_checks(results: tuple[Result, ...], stop: Stop) -> str:
    """The checks that failed, in one line: "`make test` ended with exit code 2"."""
    pairs = [(check, result) for check, result in zip(stop.checks, results, strict=True) if not result.held]
    return "; ".join(_check_line(check, result) for check, result in pairs)


def held_checks(results: tuple[Result, ...], stop: Stop) -> str:
    """The checks that hold, in one line: "`make test` passes"."""
    pairs = zip(stop.checks, results, strict=True)
    return "; ".join(_check_line(check, result) for check, result in pairs if result.held)


def _check_line(check: ExitCheck, result: Result) -> str:
    """A check that holds: its claim. One that does not: what was found instead, where "it" is the subject."""
    found = result.detail.partition("\n")[0]
    if result.held or not found:
        return check.claim
    return f"{check.about} {found[3:]}" if found.startswith("it ") else f"{check.about}: {found}"
