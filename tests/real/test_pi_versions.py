"""The oldest and the newest pi that Handrail supports: the common tests that matter most, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from handrail.agents.probe.scripted_model import Turn
from real import test_guests_coming_back as coming_back
from real import test_guests_failures as failures
from real import test_guests_gate as gate
from real import test_guests_install as install
from real import test_guests_skill as skill
from real import test_guests_stops as stops
from real import test_guests_workflow as workflow
from real.guests.guest import Guest, Phase
from real.guests.pi import NewPi, OldPi, Pi

WHOLE = (
    workflow.test_a_whole_workflow_without_a_terminal,
    workflow.test_a_whole_workflow_in_a_terminal,
    workflow.test_a_workflow_of_a_run_needs_no_installation,
    workflow.test_a_run_counts_everything_once_if_the_agent_has_our_stubs_too,
    gate.test_a_subagent_is_gated_and_cannot_move_the_workflow,
    install.test_a_conversation_that_runs_is_free_after_uninstalling,
    install.test_the_installation_of_a_project_works,
    skill.test_the_model_is_told_about_the_skill,
)
RETURNS = (
    coming_back.test_a_killed_conversation_goes_on_where_it_was,
    coming_back.test_a_fork_has_its_own_workflow,
    coming_back.test_a_compacted_conversation_gets_its_phase_again,
)
STOPS = (
    stops.test_an_agent_without_progress_may_stop,
    stops.test_an_interrupt_by_a_person_is_final_until_the_next_prompt,
)


@pytest.fixture(params=[OldPi, NewPi], ids=["0.74", "1.5"])
def pi(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pi]:
    made: Pi = request.param(tmp_path)
    made.handrail("install", "pi")
    yield made
    made.close()


@pytest.mark.parametrize("behaviour", WHOLE, ids=lambda function: function.__name__.removeprefix("test_"))
def test_workflows(pi: Guest, behaviour: Callable[[Guest], None]) -> None:
    behaviour(pi)


@pytest.mark.parametrize("behaviour", RETURNS, ids=lambda function: function.__name__.removeprefix("test_"))
def test_coming_back(pi: Guest, behaviour: Callable[[Guest], None]) -> None:
    pi.workflow("w", Phase("look"), Phase("build", "tools:\n  blacklist: [edit, write]"), Phase("ship"))
    pi.file(".handrail/settings.yaml", "idleStops: 0\n")
    behaviour(pi)


@pytest.mark.parametrize("behaviour", STOPS, ids=lambda function: function.__name__.removeprefix("test_"))
def test_stops(pi: Guest, behaviour: Callable[[Guest], None]) -> None:
    pi.workflow("w", Phase("look", "tools:\n  blacklist: [edit, write]"), Phase("build"))
    behaviour(pi)


@pytest.mark.parametrize("name", ["fails", "prints garbage", "is missing"])
def test_failures(pi: Guest, name: str) -> None:
    pi.workflow("w", Phase("look"))
    pi.file(".handrail/settings.yaml", "idleStops: 0\n")
    failures.test_a_failing_hook_denies_until_a_person_cancels(pi, name)


def test_a_prompt_without_a_terminal_is_sent_on_only_by_newer_versions(pi: Guest) -> None:
    """The old pi ends after the turn of a prompt, whatever an extension asks for. A start command is waited for."""
    pi.workflow("w", Phase("look"), Phase("build"))
    pi.file(".handrail/settings.yaml", "idleStops: 1\n")
    pi.model.script(Turn("A stop."), Turn("Again."))
    thread = pi.thread(pi.start("w tea"))
    pi.model.script(Turn("A stop."), pi.step("next"), Turn("Again."), Turn("And again."))
    pi.run("go on", thread)
    assert pi.at() == ("look" if isinstance(pi, OldPi) else "build")
