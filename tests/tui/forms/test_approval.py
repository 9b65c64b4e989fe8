"""An approval in the terminal: what it shows, and that no single key approves anything."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterable
from typing import Any

import pytest
from textual.pilot import Pilot

from handrail.app import App
from handrail.tui.forms.questions import ApprovalScreen, approval_facts, changes_words, gate_words, question_screen
from handrail.view.actions import Actions
from support import Project
from tui.forms.picture import SIZES, Stage, picture, played, same_as, typed

ACTION: dict[str, Any] = {
    "does": "the session leaves 🔨 Build and enters 🔍 Inspect",
    "gate": {"deny": ["edit", "write"], "allow": [], "writes": []},
    "command": ["git", "push", "origin", "a b", ""],
    "tree": "9b8a980f01",
    "checks": [
        {"name": "make test", "held": True, "detail": "exit code 0", "seconds": 41.2},
        {"name": "NOTES.md", "held": None},
    ],
    "changes": {
        "files": [
            {"status": "M", "path": "src/slugs.py", "added": 12, "removed": 4},
            {"status": "A", "path": "tests/test_slugs.py", "added": 19, "removed": 0},
        ],
        "diff": "--- a/src/slugs.py\n+++ b/src/slugs.py\n-    return text.lower()\n+    return text.strip().lower()",
    },
    "claim": "slug() splits on any white space; two tests pass",
}
NEED: dict[str, Any] = {
    "id": "q-6c1f",
    "v": 6,
    "of": "session:s-51c0",
    "path": "",
    "kind": "approval",
    "digest": "177312d407a43875",
    "title": "Leave Build?",
    "since": 1000.0,
    "form": None,
    "action": ACTION,
    "answered": None,
}
KEYS = [*"aAyYdDnvqr1", "enter", "space", "ctrl+s", "ctrl+d", "down", "up", "f1", "home", "end", "right"]


def screen(need: dict[str, Any] = NEED, delay: float = 0.001) -> ApprovalScreen:
    return ApprovalScreen(need, "Ship “login page” · claude", delay, lambda: 1190.0)


async def enabled(app: Stage, pilot: Pilot[None]) -> None:
    await pilot.pause()
    while app.screen.query_one("#approve").disabled:
        await pilot.pause(0.005)


@pytest.mark.whole
@pytest.mark.parametrize("size", SIZES)
def test_the_approval_looks_as_designed(size: str) -> None:
    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await enabled(app, pilot)
        same_as(f"approval-{size}", picture(app))
        await typed(pilot, "d")
        assert "+    return text.strip().lower()" in picture(app)
        assert ("IF YOU APPROVE" in picture(app)) == (size == "160x50")
        await typed(pilot, "d", "tab", "tab", "tab", "enter")
        same_as(f"approval-without-note-{size}", picture(app))
        assert app.result() == "none yet"
        await typed(pilot, "«no»", "tab", "tab", "enter")

    app = played(screen(), SIZES[size], script)
    assert app.result() == {"approved": False, "reason": "no"}


def test_a_long_diff_beside_the_facts_can_be_scrolled() -> None:
    diff = "\n".join(f"+line {number}" for number in range(100))

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        assert "+line 99" not in picture(app)
        await typed(pilot, "pagedown", "pagedown", "pagedown")
        assert "+line 99" in picture(app)

    played(screen({**NEED, "action": {**ACTION, "changes": {"files": [], "diff": diff}}}), (160, 50), script)


@pytest.mark.whole
def test_tab_to_the_button_and_enter_approves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await enabled(app, pilot)
        await typed(pilot, "tab", "tab")
        assert "▌[ Approve ]" in picture(app)
        await typed(pilot, "enter")

    assert played(screen(), (80, 24), script).result() == {"approved": True, "reason": ""}


@pytest.mark.whole
def test_no_single_key_approves() -> None:
    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await enabled(app, pilot)
        await typed(pilot, *KEYS)
        assert app.result() == "none yet"
        await typed(pilot, "tab", *KEYS)
        assert app.result() == "none yet"

    played(screen(), (80, 24), script)


@pytest.mark.whole
def test_at_first_the_buttons_do_nothing() -> None:
    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await typed(pilot, "tab", "tab", "enter", "tab", "enter", "shift+tab", "enter")
        await pilot.click("#approve")
        assert app.result() == "none yet"
        await typed(pilot, "escape")
        assert app.result() is None

    played(screen(delay=3600), (80, 24), script)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"answered": {"by": "tui", "at": 1100.0, "verdict": "approved"}}, "approved at 00:18:20 in the terminal"),
        ({"digest": "other"}, "The question has changed"),
        ({"action": {**ACTION, "tree": "0000000"}}, "The files have changed since you opened this"),
        (None, "withdrawn"),
    ],
)
def test_what_changes_meanwhile_cannot_be_approved(change: dict[str, Any] | None, words: str) -> None:
    opened = screen()

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await enabled(app, pilot)
        opened.need_changed({**NEED, "v": 7})
        await typed(pilot, "tab", "tab")
        assert "▌[ Approve ]" in picture(app)
        opened.need_changed(None if change is None else {**NEED, **change})
        await typed(pilot, "enter")
        assert app.result() == "none yet"
        assert words in " ".join(picture(app).split())
        await typed(pilot, "escape")
        assert app.result() is None

    played(opened, (80, 24), script)


@pytest.mark.whole
def test_a_note_is_kept_for_later() -> None:
    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await typed(pilot, "tab", "«hm»", "escape")
        app.show(screen())
        await enabled(app, pilot)
        assert "[hm" in picture(app)

    played(screen(), (80, 24), script)


@pytest.mark.whole
def test_what_is_not_known_is_said() -> None:
    async def script(app: Stage, pilot: Pilot[None]) -> None:
        found = picture(app)
        assert "CHECKED BY HANDRAIL  –" in found
        assert "not known whether anything was checked" in found
        assert "not recorded" in found
        assert "SAID BY" not in found

    played(screen({**NEED, "action": None}), (80, 24), script)


def test_what_the_yes_is_for_and_files_without_counts() -> None:
    files = [{"path": "src/slugs.py", "status": None, "added": None, "removed": None}]
    found = {**ACTION, "state": {"HEAD": "9b8a980f01"}, "changes": {"files": files, "diff": None}}
    told = {fact.heading: fact for fact in approval_facts({**NEED, "action": found})}
    assert told["THE YES IS FOR"].below == ("HEAD 9b8a980f01",)
    assert (told["CHANGED"].beside, told["CHANGED"].below) == ("1 file", ("src/slugs.py",))


@pytest.mark.whole
def test_hostile_text_is_shown_and_does_nothing() -> None:
    evil = "[@click=app.quit]quit[/] \x1b]52;c;aGk=\x07\x1b[2J\u202eevil"
    action = {
        **ACTION,
        "does": evil,
        "gate": {"deny": [evil]},
        "command": [evil],
        "claim": f"{evil}\n{'x' * 10_000_000}",
        "checks": [{"name": evil, "held": False, "detail": evil}],
        "changes": {"files": [{"status": "M", "path": evil}], "diff": None},
    }

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        found = picture(app)
        for line in ("IF YOU APPROVE", "GATE THERE", "“", "✗", "M "):
            assert f"{line}" in found
        assert found.count("[@click=app.quit]quit[/] ⟨U+202E⟩evil") >= 5
        assert not {"\x1b", "\x07", "\u202e"} & set(found)
        await pilot.click(offset=(22, 1))
        assert app.result() == "none yet"

    played(screen({**NEED, "title": evil, "action": action}), (80, 24), script)


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ({"deny": ["edit"], "allow": [], "writes": ["src/**"]}, "all tools but edit; writes src/**"),
        ({"allow": ["read", "bash"]}, "only read, bash"),
        ({}, "all tools"),
    ],
)
def test_a_gate_in_words(gate: Any, words: str) -> None:
    assert gate_words(gate) == words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (None, "not recorded"),
        ({"files": []}, "no files"),
        ({"files": [{"path": "a"}, {"path": "b"}]}, "2 files"),
        ({"files": [{"path": "a", "added": 1, "removed": 2}]}, "1 file +1 −2"),
        ({"files": [{"path": "a", "added": 1}]}, "1 file"),
    ],
)
def test_changes_in_words(changes: Any, words: str) -> None:
    assert changes_words(changes) == words


FLOW = """
phases:
- {id: ask, steps: [{id: go, node: approve, params: {question: Ship it?, details: It is ready.}}]}
- {id: say, steps: [{id: it, node: command, params: {argv: [touch, shipped]}}]}
"""


def wait_for(project: Project, run: str, statuses: Iterable[str]) -> dict[str, Any]:
    while (found := project.json("runs", run))["status"] not in statuses or found["driver"] is not None:
        time.sleep(0.02)
    return found


@pytest.mark.whole
def test_an_approval_of_a_run_is_recorded(project: Project) -> None:
    project.write(".handrail/flows/ship.yaml", FLOW)
    assert project.run("run", "ship").code == 4
    run = project.json("runs")["runs"][0]["run"]
    (need,) = json.loads(project.run("view", f"run:{run}").out)["set"]["needs"]
    opened = question_screen(need, "ship")
    assert isinstance(opened, ApprovalScreen)
    opened.delay = 0.001

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await enabled(app, pilot)
        assert "It is ready." in picture(app)
        await typed(pilot, "tab", "«ok»", "tab", "enter")

    values = played(opened, (80, 24), script).result()
    assert values == {"approved": True, "reason": "ok"}
    actions = Actions(App(str(project.folder), os.environ, by="person"), "tui")
    asyncio.run(actions.answer(run, need["id"], need["digest"], values))
    assert wait_for(project, run, ("completed", "failed", "stopped"))["status"] == "completed"
    assert (project.folder / "shipped").exists()


@pytest.mark.whole
def test_what_the_yes_is_for_is_not_cut_and_has_no_empty_parts() -> None:
    address = "/tmp/somebody/a project with a long name/" + "folder/" * 12 + "origin.git"
    state: dict[str, Any] = {"HEAD": "9b8a980f01" * 4, "address": address, "hooks": "", "more": [], "none": None}
    (fact,) = [
        one for one in approval_facts({**NEED, "action": {**ACTION, "state": state}}) if one.heading == "THE YES IS FOR"
    ]
    assert fact.below == ("HEAD 9b8a980f019b8a98…", f"address {address}")

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        await typed(pilot, "pagedown", "pagedown")
        assert "origin.git" in picture(app)

    played(screen({**NEED, "action": {**ACTION, "state": state}}), (80, 24), script)
    assert not [
        one for one in approval_facts({**NEED, "action": {**ACTION, "state": {"hooks": ""}}}) if "YES" in one.heading
    ]


@pytest.mark.whole
def test_the_age_of_the_question_is_counted_while_it_is_open() -> None:
    now = [1002.0]

    async def script(app: Stage, pilot: Pilot[None]) -> None:
        assert "asked 2s ago" in picture(app)
        now[0] = 1125.0
        while "asked 2m ago" not in picture(app):
            await pilot.pause(0.02)

    played(ApprovalScreen(NEED, "Ship", 0.001, lambda: now[0]), (80, 24), script)
