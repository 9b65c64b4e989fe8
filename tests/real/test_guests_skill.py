"""The skill that helps an agent write a workflow: every agent tells its model about it while Handrail is installed."""

from __future__ import annotations

import re

import pytest

from handrail.agents import recipes
from handrail.agents.probe.scripted_model import Turn
from real.guests.guest import Guest

TEXT = recipes.skill_files()["write-workflow/SKILL.md"]


def is_listed(guest: Guest) -> bool:
    """True if the model of a new conversation is told the name and the description of the skill."""
    described = re.search("^description: (.*)$", TEXT, re.MULTILINE)
    assert described is not None
    guest.model.script(Turn("Hello."))
    before = len(guest.model.received())
    guest.run("say hello")
    told = guest.model.received()[before].text
    assert ("write-workflow" in told) == (described[1] in told)
    return described[1] in told


def test_the_model_is_told_about_the_skill(guest: Guest) -> None:
    assert is_listed(guest), "installed for the user"
    guest.handrail("uninstall", guest.name)
    assert not is_listed(guest), "not installed"


@pytest.mark.rarely("opencode")
def test_init_for_an_agent_brings_the_skill_to_this_project(guest: Guest) -> None:
    guest.handrail("uninstall", guest.name)
    guest.handrail("init", "--agent", guest.name)
    assert guest.handrail("validate", "--strict").returncode == 0
    assert is_listed(guest)
    guest.handrail("uninstall", guest.name, "--project")
    assert not is_listed(guest)
