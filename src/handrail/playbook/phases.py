"""The practices for a phase of a guided workflow: which phase of the playbook it is, and the text for the agent."""

from __future__ import annotations

from handrail.playbook.guidance import guidance_text
from handrail.playbook.load import read_playbook
from handrail.playbook.select import Wish, select
from handrail.playbook.signals import signals_of
from handrail.playbook.spec import PHASES, Playbook, phase_key

SIGNS = {
    "repair": ("repair", "fix"),
    "design_review": ("design_review",),
    "review": ("review", "verify", "check", "audit"),
    "plan": ("plan", "design", "understand", "explore", "research", "spec", "analy"),
}
"""Phase of a playbook → parts of the names of phases that mean it. All others mean `implement`."""


def practices_for(project: str, names: tuple[str, ...], task: str) -> str:
    """The practices of the project for a phase with these names; empty if there are none.

    If the playbook has errors, the text says so: an agent must not believe that there are no practices.
    """
    found = read_playbook(project)
    if found.playbook is None:
        if not found.has_manifest:
            return ""
        return f"The playbook in `{found.folder}` has errors. Tell the person: `handrail playbook check` shows them."
    phase = playbook_phase(found.playbook, names)
    return guidance_text(select(found.playbook, Wish(phase, signals_of(task))), found.playbook.folder)


def playbook_phase(playbook: Playbook, names: tuple[str, ...]) -> str:
    """The phase of the playbook that one of these names is, or that the first one most likely means."""
    known = {*PHASES, *playbook.budgets, *(phase for entry in playbook.entries for phase in entry.phases)}
    for name in names:
        if phase_key(name) in known:
            return phase_key(name)
    keys = [phase_key(name) for name in names]
    found = (phase for phase, signs in SIGNS.items() if any(sign in key for key in keys for sign in signs))
    return next(found, "implement")
