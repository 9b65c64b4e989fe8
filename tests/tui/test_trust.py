"""A project that nobody has trusted is no dead end: what is refused asks for trust, and is done after a yes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.pilot import Pilot

from handrail.app import App
from handrail.base.errors import RefusedError
from handrail.extensions.callers import OPEN
from handrail.tui.app import HandrailApp
from handrail.tui.decisions import ChoiceScreen, TrustScreen, trust_project
from handrail.tui.forms.launch import LaunchScreen
from handrail.tui.forms.questions import AnswerScreen
from handrail.view.actions import Actions
from support import Project
from tui.scene import picture
from tui.shop import shown, until

MAKE = """
- {id: make, steps: [{id: it, node: command, params: {argv: [touch, made]}}]}
"""
FLOW = f"""
phases:{MAKE.rstrip()}
- {{id: more, steps: [{{id: it, node: command, params: {{argv: [test, -e, ok]}}}}]}}
"""


def untrust(project: Project) -> None:
    """Take back the trust that tests have by default."""
    trust = App(str(project.folder), os.environ, by="person").trust
    for record in trust.store.all():
        trust.store.revoke(record.path)
    assert not trust.holds()


def is_made(project: Project) -> bool:
    return Path(project.folder, "made").exists()


def flow(project: Project) -> None:
    project.write(".handrail/flows/make.yaml", FLOW)


async def launched(top: HandrailApp, pilot: Pilot[None]) -> None:
    """Launch the flow, and wait for the question."""
    top.launch("flow:make")
    await until(top, pilot, lambda top: isinstance(top.screen, LaunchScreen) and "Estimate" in picture(top))
    await pilot.press("ctrl+s")
    await until(top, pilot, lambda top: isinstance(top.screen, TrustScreen), "the question for trust")


@pytest.mark.whole
def test_a_launch_asks_for_trust_shows_what_would_run_and_goes_on(project: Project) -> None:
    flow(project)
    untrust(project)

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        assert "not trusted" in picture(top).split("\n")[0]
        await launched(top, pilot)
        told = " ".join(picture(top).replace("│", "").split())
        assert "is not trusted, so nothing was run" in told
        assert "It would run 2 things:" in told
        assert "make/it runs `touch made` (.handrail/flows/make.yaml:3)" in told
        assert "▸[ Not now ]" in picture(top)
        assert not is_made(project)
        await pilot.press("right", "enter")
        await until(top, pilot, lambda _: is_made(project), "the run")
        await until(top, pilot, lambda top: "✗ failed" in picture(top), "its end")
        assert top.is_trusted
        await pilot.press("b")
        await until(top, pilot, lambda top: "handrail  project" in picture(top), "home")
        assert "not trusted" not in picture(top)

    assert shown(project, script).bug is None


@pytest.mark.whole
@pytest.mark.parametrize("keys", [("enter",), ("escape",)])
def test_not_now_is_preselected_and_runs_nothing(project: Project, keys: tuple[str, ...]) -> None:
    flow(project)
    untrust(project)

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await launched(top, pilot)
        await pilot.press(*keys)
        await until(top, pilot, lambda top: "hint: a person runs" in picture(top), "the refusal")
        assert isinstance(top.screen, LaunchScreen)
        assert not top.is_trusted

    assert shown(project, script).bug is None
    assert project.json("runs")["runs"] == []


@pytest.mark.whole
def test_a_resume_asks_for_trust_and_goes_on(project: Project) -> None:
    flow(project)
    run = project.json("run", "make", code=1)["run"]
    untrust(project)
    project.write("ok", "")

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pilot.press("r")
        await until(top, pilot, lambda top: isinstance(top.screen, ChoiceScreen), "how to go on")
        await pilot.press("enter")
        await until(top, pilot, lambda top: isinstance(top.screen, TrustScreen), "the question for trust")
        await pilot.press("right", "enter")
        await until(top, pilot, lambda top: top.project.runs.load(run).state.status == "completed", "the end")

    assert shown(project, script).bug is None


@pytest.mark.whole
def test_an_answer_asks_for_trust_and_is_given_then(project: Project) -> None:
    asks = "node: user-input, params: {formId: go, title: New?, fields: [{id: new, type: text, label: What is new?}]}"
    project.write(".handrail/flows/make.yaml", f"phases:\n- {{id: ask, steps: [{{id: go, {asks}}}]}}{MAKE}")
    project.json("run", "make", code=4)
    untrust(project)

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(top, pilot, lambda top: isinstance(top.screen, AnswerScreen), "the form")
        await pilot.press(*"twice", "ctrl+s")
        await until(top, pilot, lambda top: isinstance(top.screen, TrustScreen), "the question for trust")
        await pilot.press("right", "enter")
        await until(top, pilot, lambda _: is_made(project), "the step after the answer")

    assert shown(project, script).bug is None


def test_a_step_of_a_run_cannot_trust_a_project(project: Project) -> None:
    untrust(project)
    (project.home / "state" / OPEN).unlink()
    own = App(str(project.folder), {**os.environ, "HANDRAIL_RUN": "r-outer"})
    with pytest.raises(RefusedError, match="only a person"):
        trust_project(Actions(own, "tui"))
    assert not own.trust.holds()
