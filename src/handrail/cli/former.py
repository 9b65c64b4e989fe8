"""What to type in place of a command of AgentWeaver."""

from __future__ import annotations

FORMER = {
    "auto-status": "`handrail scope KEY` shows how the work in a scope stands, and `handrail runs` lists the runs",
    "auto-reset": "`handrail scope reset KEY` archives a scope, so that its flows begin anew",
    "--help-phases": "`handrail phases FLOW` lists the phases of a flow",
}
"""Commands of AgentWeaver that are no flows, and what Handrail has instead."""


def instead_of(name: str) -> str | None:
    """A hint for somebody who types a command of AgentWeaver, or the id of a shipped flow. None for anything else."""
    if name in FORMER:
        return FORMER[name]
    from handrail.flows.shipped import Shipped  # reads files, which only a wrong command needs
    from handrail.project import shipped_flows

    is_flow = Shipped(shipped_flows()).named(name) is not None
    return f"`handrail run {name}` runs this flow, and `handrail show {name}` shows it" if is_flow else None
