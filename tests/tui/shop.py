"""A real project on disk: runs that wait, failed and ended, and a guided session, shown by the real application."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from copied_runs import copy_run
from handrail.app import App
from handrail.tui.app import HandrailApp
from handrail.tui.context import TerminalLook
from handrail.view.live.home import mark_seen
from support import Project
from tui.scene import picture

LONG = "a line that is wider than the pane: " + "and so on, " * 12 + "its last word"
RELEASE = f"""
description: Checks, asks, writes the notes.
phases:
- {{id: check, steps: [{{id: lint, node: command, params: {{argv: [echo, "{LONG}"]}}}}]}}
- repeat: {{var: i, max: 3, until: {{greater: ["${{i}}", 1]}}}}
  phases:
  - id: fix-${{i}}
    steps:
    - {{id: write, node: command, params: {{argv: [sh, -c, 'seq ${{i}} 80 > NOTES.md']}}, makes: [NOTES.md]}}
- {{id: greet, steps: [{{id: child, node: flow-run, params: {{fileName: hello}}}}]}}
- id: ask
  steps:
  - id: go
    node: user-input
    params: {{formId: go, title: "Release it? {LONG}", fields: [{{id: sure, type: boolean, label: Sure?}}]}}
"""
FLOWS = {
    "release": RELEASE,
    "nightly": "phases: [{id: unit, steps: [{id: pytest, node: command, params: {argv: [sh, -c, 'exit 1']}}]}]",
    "hello": "phases: [{id: say, steps: [{id: it, node: set, params: {text: hello}}]}]",
    "broken": "description: Has an error.\nphases:\n- id: unit\n  stpes: []\n",
}
ENDED = 105
"""So many runs that are over: more than home lists."""
Script = Callable[[HandrailApp, Pilot[None]], Awaitable[None]]


def made(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Runs and a session in the project. An editor writes what it was told to open into the file `edited`."""
    for name, text in FLOWS.items():
        project.write(f".handrail/flows/{name}.yaml", text)
    app = App(str(project.folder), os.environ, by="person")
    run = Path(app.places.runs(app.project)) / project.json("run", "hello")["run"]
    for number in range(ENDED - 1):
        copy_run(run, f"r-c{number:05}")
    mark_seen(app, "run:" + project.json("run", "nightly", code=1)["run"])
    project.workflow("ship", ["plan", "build", "deliver"])
    project.phase("ship", "build", "exit:\n  - {file: BUILT.md}\n")
    project.json("start", "ship", "login page", "--session", "S")
    project.json("next", "--session", "S", "--summary", "two parts")
    project.run("run", "release")
    editor = project.write("editor.py", "import sys; open('edited', 'w').write('|'.join(sys.argv[1:]))")
    monkeypatch.setenv("EDITOR", f"'{sys.executable}' '{editor}'")
    monkeypatch.delenv("VISUAL", raising=False)
    return project


def shown(project: Project, script: Script, size: tuple[int, int] = (100, 30), **env: str) -> HandrailApp:
    """Show the project and follow a script."""
    own = App(str(project.folder), {**os.environ, **env}, by="person")
    top = HandrailApp(own, TerminalLook.of({"TERM": "xterm", "LC_ALL": "C.UTF-8", **env}))
    top.suspend = contextlib.nullcontext  # type: ignore[assignment]  # a test has no terminal to leave

    async def play() -> None:
        async with top.run_test(size=size) as pilot:
            await until(top, pilot, lambda top: top.home.is_ready)
            await script(top, pilot)

    asyncio.run(play())
    return top


async def until(top: HandrailApp, pilot: Pilot[None], holds: Callable[[HandrailApp], Any], what: object = "") -> None:
    """Wait until this holds for the application."""
    for _ in range(1000):
        await pilot.pause()
        if holds(top):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{what} did not happen:\n{picture(top)}")
