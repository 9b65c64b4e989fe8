"""An agent whose exit checks fail in the same way again and again: what it is told, and how a run of it ends."""

from __future__ import annotations

import pytest

from support import Project

NOISY = 'echo "$(date +%T.%N) pid $$"; echo "1 failed in 0.$$s"; exit 1\n'


@pytest.fixture
def checked(project: Project) -> Project:
    project.phase("ship", "build", "exit:\n  - run: sh check.sh\n")
    project.workflow("ship", ["build", "end"])
    project.write("check.sh", NOISY)
    return project


def test_the_agent_is_told_that_the_failure_is_the_same(checked: Project) -> None:
    checked.run("start", "ship", "a task", "--session", "s")
    told = [checked.json("next", "--session", "s", code=5)["message"] for _ in range(3)]
    assert ["the same failure as before" in text for text in told] == [False, False, True]
    assert "3 times in a row: what you changed did not help" in told[2]
    checked.write("check.sh", "echo another; exit 1\n")
    assert "the same failure" not in checked.json("next", "--session", "s", code=5)["message"]


def test_the_settings_say_how_often(checked: Project) -> None:
    checked.write(".handrail/settings.yaml", "sameFailures: 2\n")
    checked.run("start", "ship", "a task", "--session", "s")
    told = [checked.json("next", "--session", "s", code=5)["message"] for _ in range(2)]
    assert ["the same failure as before" in text for text in told] == [False, True]


@pytest.mark.whole
def test_a_driven_agent_that_goes_in_circles_is_ended_and_the_phase_is_not_left(
    checked: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    checked.write("script.yaml", "- {step: next}\n- {say: again}\n" * 40)
    ended = checked.json("run", "ship", "a task", "--agent", "scripted", code=1)
    assert ended["reason"].startswith("same-failure at ")
    assert "its exit checks failed in the same way" in ended["error"]
    (session,) = checked.json("sessions")["sessions"]
    assert (session["status"], session["phase"]["id"]) == ("active", "build")
