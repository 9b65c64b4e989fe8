"""A form in the terminal, by keys: what it shows, what it accepts, and that its answers are those of the CLI."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from handrail.app import App
from handrail.tui.forms.form import FormRow
from handrail.tui.forms.questions import AnswerScreen
from handrail.view.actions import Actions
from support import Project
from tui.forms.picture import SIZES, Stage, colours, picture, played, same_as, typed

FIELDS: list[dict[str, Any]] = [
    {"id": "new", "type": "text", "label": "What is new?", "required": True, "multiline": True},
    {"id": "sure", "type": "boolean", "label": "Sure?", "required": True},
    {"id": "kind", "type": "single-select", "label": "Kind", "required": True, "options": ["minor", "major"]},
    {
        "id": "why",
        "type": "text",
        "label": "Why is it major?",
        "required": True,
        "help": "for the people who have to change something",
        "when": {"field": "kind", "equals": "major"},
    },
    {"id": "tell", "type": "multi-select", "label": "Tell", "options": ["channel", "mail", "issue"]},
]
FORM = {"formId": "go", "title": "Release 1.2?", "description": "Look at the notes first.", "fields": FIELDS}
NEED: dict[str, Any] = {
    "id": "q-412",
    "v": 412,
    "of": "run:r-7f3k2m",
    "path": "ask/go",
    "kind": "form",
    "digest": "177312d407a43875",
    "title": "Release 1.2?",
    "since": 1794799149.7,
    "form": FORM,
    "action": None,
    "answered": None,
}
PREVIEW = {"name": "NOTES.md", "text": "# Notes\n\n" + "\n".join(f"- change {n}" for n in range(60))}
FILL = ("«fast»", "tab", "right", "enter", "right", "right", "enter", "«API»", "enter")
FILLED = {"new": "fast", "sure": True, "kind": "major", "why": "API", "tell": ["channel", "issue"]}


def of(fields: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {**NEED, "form": {**FORM, "fields": fields, **more}}


@pytest.mark.whole
@pytest.mark.parametrize("size", SIZES)
def test_the_form_looks_as_designed_and_says_what_is_wrong_next_to_the_field(size: str) -> None:
    need = {**NEED, "form": {**FORM, "preview": PREVIEW, "submitLabel": "Release"}}

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        same_as(f"form-empty-{size}", picture(app))
        await typed(pilot, *FILL[:6], "ctrl+s")
        same_as(f"form-wrong-{size}", picture(app))
        assert isinstance(app.focused and app.focused.parent, FormRow)
        await typed(pilot, "«API»", "tab", "right", "v")
        same_as(f"form-preview-{size}", picture(app))
        await typed(pilot, "pagedown")
        assert ("change 25" in picture(app)) or size == "160x50"
        await typed(pilot, "v")
        assert "▌( ) " in picture(app) or "▌[" in picture(app)
        assert app.result() == "none yet"

    played(AnswerScreen(need, "release"), SIZES[size], script)


def test_a_terminal_that_becomes_wide_shows_the_fields_beside_the_preview_that_covered_them() -> None:
    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await typed(pilot, "tab", "v")
        assert "Sure?" not in picture(app)
        await pilot.resize_terminal(160, 50)
        while "▌Sure?" not in picture(app):
            await pilot.pause(0.02)
        assert "change 25" in picture(app)
        await typed(pilot, "escape")
        assert app.result() is None

    played(AnswerScreen({**NEED, "form": {**FORM, "preview": PREVIEW}}), (80, 24), script)


@pytest.mark.whole
def test_all_kinds_of_fields_are_filled_in_by_keys() -> None:
    async def script(app: Stage, pilot: Pilot[None]) -> None:
        assert "Why is it major?" not in picture(app)
        await typed(pilot, *FILL, "space", "end", "space", "enter")

    assert played(AnswerScreen(NEED), (80, 24), script).result() == FILLED


@pytest.mark.whole
def test_without_colour_the_form_has_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await typed(pilot, *FILL[:6])
        seen.append(picture(app))
        if app.no_color:
            found = {one for one in colours(app) if "#" in one}
            assert all(
                len({one[i : i + 2] for i in range(one.index("#") + 1, one.index("#") + 7, 2)}) == 1 for one in found
            )

    played(AnswerScreen(NEED), (80, 24), script)
    monkeypatch.setenv("NO_COLOR", "1")
    played(AnswerScreen(NEED), (80, 24), script)
    assert seen[0] == seen[1]
    assert "▌(•) major" in seen[1]


def test_keys_that_follow_quickly_are_not_lost() -> None:
    async def script(app: Stage, pilot: Pilot[None]) -> None:
        for key in "quick":
            app.post_message(events.Key(key, key))
        app.post_message(events.Key("ctrl+s", None))
        await pilot.pause()

    assert played(AnswerScreen(of([{"id": "a", "label": "A"}])), (80, 24), script).result() == {"a": "quick"}


@pytest.mark.whole
def test_later_keeps_what_was_typed_and_sending_forgets_it() -> None:
    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await typed(pilot, *FILL[:8], "escape")
        assert app.result() is None
        app.show(AnswerScreen(NEED))
        await pilot.pause()
        assert "fast" in picture(app)
        assert "API" in picture(app)
        await typed(pilot, "ctrl+s")
        assert app.result() == {**FILLED, "tell": []}
        app.show(AnswerScreen(NEED))
        await pilot.pause()
        assert "fast" not in picture(app)

    played(AnswerScreen(NEED), (80, 24), script)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({**NEED, "answered": {"by": "web", "at": 1794799360.0}}, "This was answered at 03:22:40 in the page"),
        ({**NEED, "digest": "0"}, "The question has changed since you opened it"),
        (None, "This question was withdrawn"),
    ],
)
def test_a_question_that_changes_meanwhile_cannot_be_answered(row: dict[str, Any] | None, words: str) -> None:
    screen = AnswerScreen(of([{"id": "a", "label": "A"}]))

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        screen.need_changed({**screen.need, "v": 413})
        await typed(pilot, "«x»")
        assert "Close" not in picture(app)
        screen.need_changed(row and {**row, "form": screen.need["form"]})
        await typed(pilot, "ctrl+s")
        assert app.result() == "none yet"
        assert words in picture(app)
        await typed(pilot, "enter")
        assert app.result() is None

    played(screen, (80, 24), script)


@pytest.mark.whole
def test_hostile_text_is_shown_and_does_nothing() -> None:
    evil = "[@click=app.quit]quit[/] [red]x \x1b]0;title\x07\x1b[2J\u202eevil\x9b1m"
    text = {"id": "t", "type": "text", "label": evil, "help": evil, "default": evil, "placeholder": evil}
    pick = {"id": "s", "label": evil, "options": [{"value": "a", "label": evil, "description": evil}]}
    long = {"id": "l", "label": "Long", "default": "x" * 10_000_000}
    need = {**of([text, pick, long], title=evil, description=f"{evil}\n{'y' * 10_000_000}", preview=evil), "path": evil}

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        for _ in range(2):
            found = picture(app)
            assert "[@click=app.quit]quit[/] [red]x ⟨U+202E⟩evil" in found
            assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(found)
            assert all(len(line) <= 80 for line in found.split("\n"))
            await typed(pilot, "pagedown")
        await pilot.click(offset=(10, 1))
        await typed(pilot, "ctrl+s")
        assert app.result() == {"t": evil, "s": None, "l": "x" * 10_000_000}

    played(AnswerScreen(need), (80, 24), script)


@pytest.mark.whole
def test_pasted_text_cannot_control_the_terminal() -> None:
    async def script(app: Stage, pilot: Pilot[None]) -> None:
        for _ in range(2):
            app.post_message(events.Paste("a\x1b[2J\u202eb"))
            await typed(pilot, "tab")
        assert "\x1b" not in picture(app)
        await typed(pilot, "ctrl+s")

    need = of([{"id": "one", "label": "One"}, {"id": "more", "label": "More", "multiline": True}])
    assert played(AnswerScreen(need), (80, 24), script).result() == {"one": "a⟨U+202E⟩b", "more": "a⟨U+202E⟩b"}


@pytest.mark.whole
def test_many_options_can_be_reached_by_keys() -> None:
    options = [f"file-{number}.py" for number in range(100)]

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await typed(pilot, "end", "space", "up", "space")
        assert "▌[x] file-98.py" in picture(app)
        await typed(pilot, "enter")

    need = of([{"id": "files", "label": "Files", "type": "multi-select", "options": options}])
    assert played(AnswerScreen(need), (80, 24), script).result() == {"files": ["file-98.py", "file-99.py"]}


FLOW = {
    "phases": [
        {
            "id": "ask",
            "steps": [{"id": "go", "node": "user-input", "params": {**FORM, "outputFile": "go.json"}}],
        }
    ]
}


def answers(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.folder / "go.json").read_text())["values"]
    return found


@pytest.mark.whole
def test_the_recorded_answers_are_those_of_the_command_line(project: Project, tmp_path: Path) -> None:
    project.write(".handrail/flows/release.json", json.dumps(FLOW))
    assert project.run("run", "release").code == 4
    run = project.json("runs")["runs"][0]["run"]
    project.write("answers.json", json.dumps(FILLED))
    assert project.run("answer", run, "--file", "answers.json").code == 0
    by_file = answers(project)

    assert project.run("run", "release").code == 4
    run = project.json("runs")["runs"][0]["run"]
    (need,) = json.loads(project.run("view", f"run:{run}").out)["set"]["needs"]

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await typed(pilot, *FILL, "space", "end", "space", "enter")

    values = played(AnswerScreen(need, "release"), (80, 24), script).result()
    actions = Actions(App(str(project.folder), os.environ, by="person"), "tui")
    asyncio.run(actions.answer(run, need["id"], need["digest"], values))
    while project.json("runs", run)["status"] in ("running", "waiting"):
        time.sleep(0.02)
    assert answers(project) == by_file
