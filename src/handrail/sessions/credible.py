"""Whether the events of a journal can have been decided: a move that no check allowed is damage. Pure.

A checksum protects a journal against accidents only. `decide` never records such events, so a journal that has them
was not written by Handrail.
"""

from __future__ import annotations

from handrail.sessions.machine import Adopted, Checked, Event, Finished, Looped, Moved, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from handrail.workflows.plan import Plan


def moves(event: Event) -> bool:
    """True if the event leaves a phase, so that it has to be earned."""
    return isinstance(event, Moved | Finished | Looped | Adopted)


def why_not(plan: Plan | None, state: State, event: Event, before: Iterable[Event]) -> str | None:
    """Why an event that leaves a phase cannot have been decided; None if it can.

    `before` are the events before it in the same record: the checks of a phase and its end are one record.
    """
    if isinstance(event, Adopted):
        return "it takes over a workflow while another one is active" if state.is_active else None
    assert isinstance(event, Moved | Finished | Looped)
    if plan is None or not state.is_active:
        return "it leaves a phase, but no workflow is active"
    if event.origin != state.at or not 0 <= state.at < len(plan.stops):
        return f"it leaves phase {event.origin + 1}, but the session is in phase {state.at + 1}"
    stop = plan.stops[state.at]
    if isinstance(event, Looped):
        ok = stop.scope_loopable and event.to == stop.scope_first
        return None if ok else f"it restarts at a phase that does not begin {stop.levels[-1].name}"
    is_last = state.at + 1 == len(plan.stops)
    if isinstance(event, Finished) != is_last or (isinstance(event, Moved) and event.to != state.at + 1):
        return f"it does not lead to the phase after {stop.name}"
    checked = [seen.results for seen in before if isinstance(seen, Checked) and seen.at == state.at]
    if stop.checks and not any(
        len(found) == len(stop.checks) and all(result.held for result in found) for found in checked
    ):
        return f"it leaves {stop.name} without its exit checks"
    return None
