"""Phases of AgentWeaver's large flows, and which phases of Handrail's flows do their work. Pure."""

from __future__ import annotations

from collections.abc import Collection

COUNTERPARTS = {
    "source": "plan",
    "normalize": "plan",
    "plan_guidance": "plan",
    "design_review_guidance": "review-plan",
    "design_review_loop": "review-plan",
    "implement_guidance": "implement",
    "after_implement_checks": "check",
    "review_guidance": "review",
    "repair_guidance": "review",
    "review_loop": "review",
    "review-loop": "review",
    "final_checks": "check-again",
}


def counterpart(phase: str, phases: Collection[str]) -> str | None:
    """The phase among `phases` that does the work of a phase of AgentWeaver; None if there is none."""
    if phase in phases:
        return phase
    found = COUNTERPARTS.get(phase)
    return found if found in phases else None
