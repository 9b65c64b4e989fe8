"""The saved runs of AgentWeaver: what each one is, and the command that goes on with it.

They do not become runs of Handrail. AgentWeaver saves neither the params of a run nor the definition of its flow, so a
journal made from its state would claim what nobody knows, and a resume could not do the right thing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from handrail.agentweaver.states import BrokenState, FlowState, states_in
from handrail.artifacts.scope import issue_key
from handrail.importing.report import Item
from handrail.source.plain import command_line

LOOPS = frozenset(
    {
        "design-review-loop-flow",
        "review-loop-flow",
        "review-project-loop-flow",
        "run-go-linter-loop-flow",
        "run-go-tests-loop-flow",
    }
)
"""AgentWeaver continues a loop of these kinds from its first phase."""
Phases = Callable[[str], Sequence[str] | None]
"""The ids of the phases of a flow in Handrail; None if there is no such flow that can be run."""


def saved_runs(folder: str, phases_of: Phases) -> Iterator[Item]:
    """The saved runs of a scope."""
    for state in states_in(folder):
        if isinstance(state, BrokenState):
            note = f"it {state.why}; AgentWeaver cannot use it, either"
            yield Item(kind="run", name=state.flow, path=state.path, result="left", note=note)
        else:
            yield _run(state, phases_of)


def _run(state: FlowState, phases_of: Phases) -> Item:
    note, command = how_to_go_on(state, phases_of(state.flow))
    return Item(
        kind="run",
        name=state.flow,
        path=state.path,
        result="left",
        note=f"{_status(state)}; {note}",
        scope=state.scope,
        command=command,
    )


def _status(state: FlowState) -> str:
    if state.status == "completed":
        return "it is completed"
    at = f" at `{state.current}`" if state.current else ""
    why = f": {state.error or state.reason}" if state.error or state.reason else ""
    return f"it is {state.status}{at}{why}"


def how_to_go_on(state: FlowState, phases: Sequence[str] | None) -> tuple[str, str | None]:
    """What to do with a saved run, and the command for it."""
    if phases is None:
        return f"Handrail has no flow `{state.flow}`", None
    issue = [state.issue] if state.issue is not None and issue_key(state.issue) is not None else []
    run = ("handrail", "run", state.flow, *issue, "--scope", state.scope)
    if state.has_ended and state.kind in LOOPS:
        return "a new run begins the next round", command_line(*run)
    phase = state.next_phase
    if phase is None:
        done = state.status == "completed"
        return "nothing is left to do" if done else "a new run begins at the start", None if done else command_line(
            *run
        )
    if phase not in phases:
        return f"its phase `{phase}` is not in the flow any more, so a new run begins at the start", command_line(*run)
    if phase == phases[0]:
        return "a new run begins at the start", command_line(*run)
    return f"a new run goes on at the phase `{phase}`", command_line(*run, "--from", phase)
