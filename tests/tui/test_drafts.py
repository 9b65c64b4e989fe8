"""What was typed into a question is kept for this question: with Esc, and with the first Ctrl-C."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from handrail.tui.app import HandrailApp
from handrail.tui.decisions import answer_question
from handrail.tui.forms.controls import Line
from handrail.tui.forms.questions import AnswerScreen, ApprovalScreen
from support import Project
from tui.scene import picture
from tui.shop import shown, until

FORM = "node: user-input, params: {formId: go, title: New?, fields: [{id: new, type: text, label: What is new?}]}"
APPROVAL = "node: approve, params: {question: Ship it?}"


@pytest.mark.whole
@pytest.mark.parametrize(("step", "dialog"), [(FORM, AnswerScreen), (APPROVAL, ApprovalScreen)])
def test_ctrl_c_in_a_question_keeps_what_was_typed_and_does_not_quit(project: Project, step: str, dialog: type) -> None:
    project.write(".handrail/flows/ship.yaml", f"phases: [{{id: ask, steps: [{{id: go, {step}}}]}}]")
    project.json("run", "ship", code=4)

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(top, pilot, lambda top: isinstance(top.screen, dialog), "the question")
        top.screen.query(Line).first().focus()
        await pilot.press(*"half", "ctrl+c")
        await until(top, pilot, lambda top: "what you typed is kept; Ctrl-C again quits" in picture(top))
        assert not top._exit
        await pilot.press("a")
        await until(top, pilot, lambda top: isinstance(top.screen, dialog), "the question again")
        assert top.screen.query(Line).first().value == "half"
        await pilot.press("escape")
        await pilot.press("ctrl+c")
        assert top._exit

    assert shown(project, script).bug is None


@pytest.mark.parametrize(("step", "dialog"), [(FORM, AnswerScreen), (APPROVAL, ApprovalScreen)])
def test_what_was_typed_for_one_run_is_not_shown_for_another(project: Project, step: str, dialog: type) -> None:
    project.write(".handrail/flows/ship.yaml", f"phases: [{{id: ask, steps: [{{id: go, {step}}}]}}]")
    runs = [project.json("run", "ship", code=4)["run"] for _ in range(2)]

    async def script(top: HandrailApp, pilot: Pilot[None]) -> None:
        for run, before, typed in ((runs[0], "", "one"), (runs[1], "", "two"), (runs[0], "one", "")):
            answer_question(top, f"run:{run}")
            await until(top, pilot, lambda top: isinstance(top.screen, dialog), "the question")
            line = top.screen.query(Line).first()
            assert line.value == before
            line.focus()
            await until(top, pilot, lambda top: top.focused is line, "the focus")  # noqa: B023 - called at once
            await pilot.press(*typed)
            await until(top, pilot, lambda _: line.value == before + typed, "what was typed")  # noqa: B023
            await pilot.press("escape")
            await until(top, pilot, lambda top: not isinstance(top.screen, dialog), "home")

    assert shown(project, script).bug is None
