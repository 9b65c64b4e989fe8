"""A launch in the terminal: what it offers, what it begins, and that nothing begins while something is wrong."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import pytest
from textual.pilot import Pilot

from handrail.app import App
from handrail.tui.forms.launch import LaunchScreen
from handrail.view.actions import Actions
from support import Project
from tui.forms.picture import SIZES, Stage, picture, played, same_as, typed


def param(name: str, kind: str, about: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, "required": False, "default": None, "about": about, "choices": [], **more}


OFFER: dict[str, Any] = {
    "kind": "flow",
    "id": "release",
    "name": "release",
    "fields": [
        param("version", "any", "what is released", required=True),
        param("deep", "boolean", "run the long tests", default=False),
        param("level", "choice", choices=[{"value": n, "label": n} for n in ("minor", "major")], default="minor"),
    ],
    "hasTask": False,
    "groups": [
        {
            "group": "review",
            "route": "codex:gpt-5.5",
            "agent": "codex",
            "model": "gpt-5.5",
            "steps": [{"step": "review/look", "rounds": 1}, {"step": "review/verdict", "rounds": 3}],
        },
        {
            "group": "default",
            "route": "claude",
            "agent": "claude",
            "model": None,
            "steps": [{"step": "plan/plan", "rounds": 1}],
        },
    ],
    "presets": {"codex-only": {"default": "codex"}},
    "agents": ["claude", "codex"],
    "phases": ["check", "review", "notes"],
    "scope": "main@036d8bbd",
    "limits": {"usd": 5, "minutes": None, "tokens": None},
    "mode": "new",
    "modes": ["new", "resume", "restart"],
    "run": {
        "id": "r-7f3k2m",
        "status": "failed",
        "at": 1000.0,
        "why": "`sh` ended with 3",
        "next": "check/lint",
        "params": {"version": 1.2},
        "routes": [{"group": "review", "route": "codex"}],
        "limits": {"usd": 5},
        "from": ["check"],
        "changed": ["step `notes/write` was removed"],
    },
    "estimate": "7 to 13 steps; last 5 runs: 5m to 9m, $0.40 to $0.70",
    "warnings": [],
}
SET = "node: set, params: {n: 1}"
FLOW = """
params:
  version: {required: true, about: what is released}
  deep: {default: false}
phases:
- {id: check, steps: [{id: lint, node: command, params: {argv: [test, -e, ok]}}]}
- {id: notes, steps: [{id: write, node: write-file, params: {path: NOTES.md, text: "${params.version}"}}]}
"""


def actions_of(project: Project) -> Actions:
    return Actions(App(str(project.folder), os.environ, by="person"), "tui")


async def ready(app: Stage, pilot: Pilot[None]) -> None:
    """Wait until the definition is read, and a person can begin."""
    while isinstance(app.screen, LaunchScreen) and app.screen.focused is None:
        await pilot.pause(0.01)
    await pilot.pause()


async def said(app: Stage, pilot: Pilot[None], *words: str) -> None:
    """Wait until the screen says it."""
    while not all(word in picture(app) for word in words):
        await pilot.pause(0.02)


async def closed(app: Stage, pilot: Pilot[None]) -> None:
    while app.result() == "none yet":
        await pilot.pause(0.02)


def wait_until(project: Project, run: str, status: str) -> None:
    runs = actions_of(project).app.runs
    while (found := runs.load(run)).state.status != status or found.driver is not None:
        time.sleep(0.02)


def count(project: Project) -> int:
    return len(actions_of(project).app.runs.engine.summaries())


@pytest.mark.whole
@pytest.mark.parametrize("size", SIZES)
def test_the_launch_looks_as_designed(size: str, project: Project) -> None:
    screen = LaunchScreen(actions_of(project), "release", OFFER, lambda: 1720.0)

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await ready(app, pilot)
        await typed(pilot, "down")
        same_as(f"launch-resume-{size}", picture(app))
        await typed(pilot, "down", "space", "tab", "down")  # what is chosen already stays
        same_as(f"launch-restart-{size}", picture(app))
        await typed(pilot, "shift+tab", "up", "up", "tab", "1", "tab", "space", "tab", "right")
        same_as(f"launch-new-{size}", picture(app))
        await typed(pilot, "tab", "down", "tab", "enter", "tab", "x", "tab", "tab", "tab", "end", "tab", "«mine»")
        same_as(f"launch-routes-{size}", picture(app))
        assert screen.rows is not None
        wanted = screen.rows.launch_form("release")
        assert wanted.params == {"version": "1", "deep": True, "level": "major"}
        assert wanted.routes == {"review": "codex:x", "default": "codex"}
        assert screen.rows.routes.save_target == ("preset", "mine")
        await typed(pilot, "escape")

    assert played(screen, SIZES[size], script).result() is None


@pytest.mark.whole
def test_without_colour_the_launch_has_the_same_words(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await ready(app, pilot)
        await typed(pilot, "down")
        same_as("launch-resume-80x24", picture(app))

    played(LaunchScreen(actions_of(project), "release", OFFER, lambda: 1720.0), (80, 24), script)


@pytest.mark.whole
def test_an_empty_required_field_is_reported_next_to_it_and_no_run_begins(project: Project) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await ready(app, pilot)
        await typed(pilot, "ctrl+s")
        await said(app, pilot, "is required")
        lines = picture(app).split("\n")
        place = next(number for number, line in enumerate(lines) if "version *" in line)
        assert "✗ version is required" in lines[place + 1]
        assert "▌version" in lines[place]
        assert count(project) == 0
        await typed(pilot, "1", "ctrl+d")
        await said(app, pilot, "check")
        assert "lint" in picture(app)
        await typed(pilot, "escape", "tab", "space", "ctrl+s")
        await closed(app, pilot)

    run = played(LaunchScreen(actions_of(project), "release"), (80, 24), script).result()
    assert run.startswith("r-")
    wait_until(project, run, "failed")
    begun = actions_of(project).app.runs.load(run)
    assert begun.about.request.params == {"version": 1, "deep": True}


@pytest.mark.whole
def test_a_wrong_limit_is_named_as_in_the_form_and_gets_the_cursor(project: Project) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await ready(app, pilot)
        assert isinstance(app.screen, LaunchScreen)
        rows = app.screen.rows
        assert rows is not None
        await typed(pilot, "1")
        rows.limits["minutes"].value = "?"
        await typed(pilot, "ctrl+s")
        await said(app, pilot, "✗ Limits minutes has to be a number above 0, found `?`")
        assert app.focused is rows.limits["minutes"]
        assert "▌minutes [?" in picture(app)

    played(LaunchScreen(actions_of(project), "release"), (80, 24), script)
    assert count(project) == 0


def test_the_arrows_go_from_a_field_of_one_line_to_its_neighbours(project: Project) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await ready(app, pilot)
        assert "▌version" in picture(app)
        await typed(pilot, "down")
        assert "▌deep" in picture(app)
        await typed(pilot, "shift+tab", "up")
        assert "▌[ Cancel Esc ]" in picture(app)

    played(LaunchScreen(actions_of(project), "release"), (80, 24), script)


@pytest.mark.whole
def test_a_new_run_is_preselected_and_the_last_one_can_be_resumed_or_continued(project: Project) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)
    project.write(".handrail/flows/again.yaml", f"continue: again\nphases: [{{id: a, steps: [{{id: b, {SET}}}]}}]")
    project.json("run", "again")
    run = project.json("run", "release", "--param", "version=1.2", code=1)["run"]
    project.write("ok", "")

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await ready(app, pilot)
        assert "▌(•) New run" in picture(app)
        await typed(pilot, "down", "tab", "enter")
        await closed(app, pilot)
        assert app.result() == run
        wait_until(project, run, "completed")
        app.show(LaunchScreen(actions_of(project), "release"))
        await ready(app, pilot)
        assert "(•) New run" in picture(app)
        assert "▌version" in picture(app)
        await typed(pilot, "escape")
        app.show(LaunchScreen(actions_of(project), "again"))
        await ready(app, pilot)
        assert "▌(•) New run" in picture(app)
        assert "( ) Continue it" in picture(app)
        await typed(pilot, "escape")

    played(LaunchScreen(actions_of(project), "release"), (80, 24), script)
    assert count(project) == 2


@pytest.mark.whole
def test_what_is_refused_is_said_and_the_buttons_stay_on_the_screen(project: Project) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)
    many = {**OFFER, "run": None, "mode": "new", "modes": ["new"]}
    many["fields"] = [param(f"p{number}", "any") for number in range(40)]

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        assert "[ Launch ^S ]" in picture(app)
        await typed(pilot, "ctrl+s")
        await said(app, pilot, "p0 is not a param")
        assert "[ Launch ^S ]" in picture(app)
        assert app.result() == "none yet"
        await typed(pilot, "escape")
        app.show(LaunchScreen(actions_of(project), "nothing"))
        await ready(app, pilot)
        assert "`nothing`" in picture(app)
        await typed(pilot, "ctrl+s", "enter")
        assert app.result() is None

    played(LaunchScreen(actions_of(project), "release", many), (80, 24), script)


@pytest.mark.whole
def test_a_launch_that_is_closed_while_it_is_read_ends_nothing(project: Project) -> None:
    project.write(".handrail/flows/release.yaml", FLOW)

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        screen = app.screen
        assert isinstance(screen, LaunchScreen)
        closing = app.pop_screen()
        await asyncio.gather(screen._show(OFFER), closing)  # what was read arrives while the screen is removed
        assert app.screen is not screen
        assert app._exception is None

    played(LaunchScreen(actions_of(project), "release"), (80, 24), script)


@pytest.mark.whole
def test_routes_are_saved_for_the_flow_with_the_launch(project: Project) -> None:
    step = "- {id: ask, steps: [{id: it, node: llm-prompt, when: {ref: params.deep}, prompt: {inlineTemplate: x}}]}\n"
    project.write(".handrail/flows/release.yaml", FLOW.replace("- {id: check", f"{step}- {{id: check"))

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await ready(app, pilot)
        await typed(pilot, "1", "tab", "tab", "tab", "enter", "s", "tab", "«m»", "tab", "down", "ctrl+s")
        await closed(app, pilot)

    run = played(LaunchScreen(actions_of(project), "release"), (80, 24), script).result()
    wait_until(project, run, "failed")
    assert "scripted:m" in (project.home / "config" / "settings.yaml").read_text()
    assert not (project.folder / ".handrail" / "settings.yaml").exists()


@pytest.mark.whole
def test_hostile_text_is_shown_and_does_nothing(project: Project) -> None:
    evil = "[@click=app.quit]quit[/] \x1b]0;t\x07\u202eevil"
    fields = [param(evil, "any", evil, default=evil), param("c", "choice", choices=[{"value": 1, "label": evil}])]
    groups = [{**OFFER["groups"][0], "group": evil, "route": evil}]
    run = {**OFFER["run"], "why": f"{evil}{'x' * 10_000_000}", "changed": [evil]}
    offer = {**OFFER, "fields": fields, "groups": groups, "estimate": evil, "warnings": [evil], "run": run}

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await typed(pilot, "pagedown")
        found = picture(app)
        assert found.count("[@click=app.quit]quit[/] ⟨U+202E⟩evil") >= 2
        assert not {"\x1b", "\x07", "\u202e"} & set(found)
        assert "[ Launch ^S ]" in found
        assert app.result() == "none yet"

    played(LaunchScreen(actions_of(project), evil, offer), (80, 24), script)
