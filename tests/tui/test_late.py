"""A yes in the terminal counts only for what was shown: after an edit it is refused, and the run asks again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from handrail.tui.app import HandrailApp
from handrail.tui.forms.controls import Press
from handrail.tui.forms.questions import ApprovalScreen
from support import Project
from tui.scene import picture
from tui.shop import shown, until

FLOW = """
phases:
- {id: ask, steps: [{id: go, node: approve, params: {question: Publish?, files: [notes.txt]}}]}
- {id: say, steps: [{id: it, node: command, params: {argv: [touch, published]}}]}
"""
SIZE = (140, 30)


def question(top: HandrailApp, run: str) -> str | None:
    """The id of the open question of a run that nobody drives."""
    loaded = top.project.runs.load(run)
    asked: Any = next(iter(loaded.state.questions.values()), None)
    return None if asked is None or loaded.driver is not None else asked.id


async def opened(top: HandrailApp, pilot: Pilot[None]) -> None:
    """Open the question of the selected run, and wait until its buttons work."""
    await until(top, pilot, lambda top: not isinstance(top.screen, ApprovalScreen))
    await pilot.press("a")
    await until(top, pilot, lambda top: isinstance(top.screen, ApprovalScreen))
    await until(top, pilot, lambda top: not top.screen.query_one("#approve", Press).disabled, "the buttons work")


async def approve(top: HandrailApp, pilot: Pilot[None]) -> None:
    await pilot.press("tab", "tab")
    assert top.focused is not None
    assert top.focused.id == "approve"
    await pilot.press("enter")


def started(project: Project) -> str:
    project.write(".handrail/flows/publish.yaml", FLOW)
    project.write("notes.txt", "first")
    run: str = project.json("run", "publish", code=4)["run"]
    return run


def is_published(project: Project) -> bool:
    return Path(project.folder, "published").exists()


@pytest.mark.whole
def test_a_yes_after_an_edit_is_refused_and_the_new_question_is_shown(project: Project) -> None:
    run = started(project)

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await opened(top, pilot)
        project.write("notes.txt", "second")
        await approve(top, pilot)
        await until(top, pilot, lambda top: "`notes.txt` changed after this was asked" in picture(top), "the refusal")
        assert "read what is asked now, then answer again" in picture(top)
        await until(top, pilot, lambda top: question(top, run) == "q2", "asked again")
        await opened(top, pilot)
        assert "This has changed since it was asked last" in picture(top)
        assert not is_published(project)
        await approve(top, pilot)
        await until(top, pilot, lambda _: is_published(project), "the yes to the new question counts")

    assert shown(project, script, SIZE).bug is None


def test_an_open_dialog_says_that_its_question_is_asked_again(project: Project) -> None:
    run = started(project)

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await opened(top, pilot)
        project.write("notes.txt", "second")
        top.actions.resume(run, "resume")  # as another surface does it
        await until(top, pilot, lambda top: "has changed since you opened it" in picture(top), "the notice")
        assert top.screen.query_one("#approve", Press).disabled
        await pilot.press("escape")
        await opened(top, pilot)
        assert "This has changed since it was asked last" in picture(top)

    assert shown(project, script, SIZE).bug is None
