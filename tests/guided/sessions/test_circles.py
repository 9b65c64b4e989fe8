"""Exit checks that fail in the same way again and again: the agent is told, and its work does not count as progress."""

from __future__ import annotations

from guided.sessions.definitions import phase, plan, workflow
from handrail.guided.sessions import machine
from handrail.guided.sessions.decisions import decide
from handrail.guided.sessions.machine import AgentStopped, CheckResult, LetGo, SentOn, State

FAILED = CheckResult("make test", "run", False, "it ended with 1\n3 failed in 0.1s", 0.1, "aaaa")
CHOSEN = plan(workflow("top", phase("a"), phase("b")))


def after(*results: CheckResult, state: State | None = None) -> State:
    return machine.fold((machine.Checked(0, (result,)) for result in results), state or State("active"))


def test_equal_failures_in_a_row_are_counted() -> None:
    other = FAILED._replace(detail="it ended with 1\n3 failed in 9.9s")
    assert after(FAILED, other, FAILED).same_failures == 3
    assert after(FAILED, FAILED._replace(mark="bbbb"), FAILED).same_failures == 1
    assert after(FAILED, FAILED, FAILED._replace(held=True)).same_failures == 0


def test_a_move_starts_the_count_again() -> None:
    state = machine.apply(after(FAILED, FAILED), machine.Moved(0, 1, "A", ""))
    assert state.same_failures == 0
    assert after(FAILED, state=state).same_failures == 1


def test_work_that_does_not_change_the_failure_is_no_progress() -> None:
    state = after(FAILED, FAILED, FAILED)
    ends: list[object] = []
    for _ in range(state.idle_limit + 1):
        (event,) = decide(CHOSEN, state, AgentStopped(progress=True)).events
        ends.append(event)
        state = machine.apply(state, event)
    assert [type(event) for event in ends] == [SentOn] * 3 + [LetGo]
    told = "no progress after 3 reminders; its exit checks failed in the same way 3 times in a row"
    assert ends[-1] == LetGo(0, told)


def test_two_equal_failures_are_still_progress() -> None:
    state = after(FAILED, FAILED)._replace(idle_stops=3)
    assert decide(CHOSEN, state, AgentStopped(progress=True)).events == (SentOn(0, 1),)


def test_a_limit_of_zero_never_counts() -> None:
    assert not after(*[FAILED] * 9, state=State("active", same_limit=0)).is_going_in_circles
