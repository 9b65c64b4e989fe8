"""The saved runs of AgentWeaver: what each one is, and the command that goes on with it.

They do not become runs of Handrail. AgentWeaver saves neither the params of a run nor the definition of its flow, so a
journal made from its state would claim what nobody knows, and a resume could not do the right thing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from handrail.agentweaver.phases import counterpart
from handrail.agentweaver.states import BrokenState, FlowState, states_in
from handrail.artifacts.scope import issue_key
from handrail.importing.report import Item
from handrail.settings import DEFAULT
from handrail.source.dataclasses import dataclass
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


@dataclass(frozen=True)
class Here:
    """What is known here. `phases_of` returns the ids of the phases of a flow; None if it cannot be run."""

    phases_of: Callable[[str], Sequence[str] | None]
    agents: Collection[str] = ()
    presets: Mapping[str, Mapping[str, str]] | None = None


def saved_runs(folder: str, here: Here) -> Iterator[Item]:
    """The saved runs of a scope."""
    for state in states_in(folder):
        if isinstance(state, BrokenState):
            note = f"it {state.why}; AgentWeaver cannot use it either"
            yield Item(kind="run", name=state.flow, path=state.path, result="left", note=note)
        else:
            yield _run(state, here)


def _run(state: FlowState, here: Here) -> Item:
    note, command = how_to_go_on(state, here.phases_of(state.flow), chosen(state, here))
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


def chosen(state: FlowState, here: Here) -> list[str]:
    """The options that choose the agents of a saved run; none if they are not known here."""
    if state.routes is None or state.routes.why is not None:
        return []
    routes = {group: str(route) for group, route in state.routes.routes.items()}
    if {route.agent for route in state.routes.routes.values()} - set(here.agents):
        return []
    if state.preset is not None and (here.presets or {}).get(state.preset) == routes:
        return ["--preset", state.preset]
    default = state.routes.routes[DEFAULT]
    if len(routes) == 1:
        return ["--agent", default.agent, *(["--model", default.model] if default.model else [])]
    return [word for group, route in routes.items() for word in ("--route", f"{group}={route}")]


def how_to_go_on(state: FlowState, phases: Sequence[str] | None, agents: Sequence[str] = ()) -> tuple[str, str | None]:
    """What to do with a saved run, and the command for it."""
    if phases is None:
        return f"Handrail has no flow `{state.flow}`", None
    issue = [state.issue] if state.issue is not None and issue_key(state.issue) is not None else []
    run = ("handrail", "run", state.flow, *issue, "--scope", state.scope, *agents)
    if state.has_ended and state.kind in LOOPS:
        return "a new run begins the next round", command_line(*run)
    if (phase := state.next_phase) is None:
        is_done = state.status == "completed"
        begins = "a new run begins at the start"
        return ("nothing is left to do", None) if is_done else (begins, command_line(*run))
    own = counterpart(phase, phases)
    if own is None:
        note = f"Handrail's flow has no phase for its phase `{phase}`, so a new run begins at the start"
        return note, command_line(*run)
    if own == phases[0]:
        return "a new run begins at the start", command_line(*run)
    does = "" if own == phase else f", which does the work of its phase `{phase}`"
    return f"a new run goes on at the phase `{own}`{does}", command_line(*run, "--from", own)
