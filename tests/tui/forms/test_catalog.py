"""The catalog in the terminal, by keys: what it shows, and what its keys do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest
from textual.pilot import Pilot

from handrail.app import App
from handrail.tui.app import HandrailApp
from handrail.tui.catalog import CatalogScreen
from handrail.tui.context import TerminalLook
from handrail.tui.forms.launch import LaunchScreen
from handrail.tui.home import HomeScreen
from handrail.tui.lines.catalog import catalog_lines, detail_lines, text_lines
from handrail.tui.reader import ReaderScreen, editor_command
from handrail.view.live.hub import Hub, LiveTopic, open_topic
from handrail.view.rows.rows import Row, RowMessage, Rows
from support import Project
from tui.forms.picture import SIZES, picture, same_as, typed

NIGHTLY = ".handrail/flows/nightly.yaml"
PROBLEM: Row = {
    "code": "unknown-key",
    "severity": "error",
    "file": NIGHTLY,
    "line": 4,
    "column": 3,
    "width": 5,
    "message": "unknown key `stpes`",
    "hint": "did you mean `steps`?",
    "excerpt": "  stpes: []",
    "cause": None,
}
CAUSED = {**PROBLEM, "severity": "note", "file": ".handrail/flows/weekly.yaml", "cause": NIGHTLY, "hint": None}
CAUSED |= {"code": "broken-flow", "message": "`nightly` has errors", "excerpt": None}


def entry(kind: str, key: str, source: str = "project", **more: Any) -> Row:
    row = {"id": f"{kind}:{key}@{source}", "kind": kind, "key": key, "name": key, "command": key, "source": source}
    file = f".handrail/{kind}s/{key}.yaml" if source == "project" else ""
    shadow: dict[str, Any] = {"uses": [], "shadows": [], "shadowedBy": None, "problems": []}
    return {**row, "description": "", "file": file, "visible": True, "phases": None, "state": "ok", **shadow, **more}


ENTRIES = [
    entry("workflow", "ship", name="Ship", phases=4, shadows=["workflow:ship@user"]),
    entry("flow", "release", description="Checks, asks, writes the notes.", phases=6),
    entry("flow", "nightly", state="broken", problems=[PROBLEM, {**PROBLEM, "severity": "warning"}], visible=False),
    entry("flow", "weekly", state="needs-broken", uses=["nightly"], problems=[CAUSED], visible=False),
    entry("workflow", "ship", "user", shadowedBy="workflow:ship@project"),
    *(entry("flow", f"shipped-{number}", "builtin", description="Comes with Handrail.") for number in range(30)),
    entry("flow", "part", "builtin", visible=False),
    entry("plugin", "examples", "user", state="untrusted", description="not trusted: handrail plugins trust examples"),
]


class Definitions:
    """A topic `catalog` with these entries and problems of the settings."""

    def __init__(self, entries: list[Row], settings: Sequence[Row]) -> None:
        self.rows = Rows("test")
        self.rows.seq = 1
        self.rows.put("head", "", {"settings": settings})
        for order, row in enumerate(entries):
            self.rows.put("entries", row["id"], {**row, "order": order})

    @property
    def topic(self) -> Definitions:
        return self

    def is_stale(self) -> bool:
        return True

    def refresh(self) -> None:
        """Nothing changes."""

    def messages(self, epoch: str, base: int, now: float) -> Iterator[RowMessage]:
        yield from self.rows.messages("catalog", base if epoch == self.rows.epoch else 0, now)


Script = Callable[[HandrailApp, Pilot[None]], Awaitable[None]]


def opened(
    project: Project,
    size: tuple[int, int],
    script: Script,
    entries: list[Row] = ENTRIES,
    settings: Sequence[Row] = (),
) -> None:
    """Show the catalog in the real application, and follow a script."""
    own = App(str(project.folder), os.environ, by="person")
    own.clock = lambda: 1794799149.7

    async def play() -> None:
        app = HandrailApp(own, TerminalLook())
        known: LiveTopic = Definitions(entries, settings)
        app.hub = Hub(lambda name: known if name == "catalog" else open_topic(own, name))
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await pilot.press("c")
            while not (isinstance(app.screen, CatalogScreen) and app.screen.feed.is_ready):
                await pilot.pause(0.02)
            while "reading" in picture(app):
                await pilot.pause(0.02)
            await script(app, pilot)

    asyncio.run(play())


def top_screen(app: HandrailApp) -> str:
    return type(app.screen).__name__


@pytest.fixture
def project(project: Project) -> Project:
    project.write(NIGHTLY, "description: Runs at night.\nphases:\n- id: unit\n  stpes: []\n")
    return project


@pytest.mark.whole
@pytest.mark.parametrize("size", SIZES)
def test_the_catalog_looks_as_designed(project: Project, size: str) -> None:
    async def script(app: HandrailApp, pilot: Pilot[None]) -> None:
        await typed(pilot, "home", "down", "down", "down")
        same_as(f"catalog-{size}", picture(app))
        await typed(pilot, "enter")
        assert isinstance(app.screen, CatalogScreen)
        assert "nightly cannot be launched" in picture(app)
        await typed(pilot, "p")
        same_as(f"catalog-problems-{size}", picture(app))

    opened(project, SIZES[size], script)


@pytest.mark.whole
def test_groups_fold_and_find_reads_what_is_folded(project: Project) -> None:
    async def script(app: HandrailApp, pilot: Pilot[None]) -> None:
        assert "shipped-7" not in picture(app)
        await typed(pilot, "slash", "«shipped-7»", "enter")
        assert "▌      shipped-7" in picture(app), picture(app)
        await typed(pilot, "left", "left", "left", "left")
        assert "▌▸ built-in  30" in picture(app)
        await typed(pilot, "right", "down", "right")
        assert "shipped-0" in picture(app)

    opened(project, (80, 24), script)


@pytest.mark.whole
def test_keys_show_edit_and_launch_the_selected_definition(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = project.folder / "seen"
    script_file = project.write("editor.py", f"import sys; open({str(seen)!r}, 'w').write('|'.join(sys.argv[1:]))")
    monkeypatch.setenv("EDITOR", f"'{sys.executable}' '{script_file}'")
    monkeypatch.delenv("VISUAL", raising=False)

    async def script(app: HandrailApp, pilot: Pilot[None]) -> None:
        await typed(pilot, "home", "down", "down", "down", "e")
        assert "this terminal cannot be left" in picture(app)
        monkeypatch.setattr(app, "suspend", contextlib.nullcontext)  # a test has no terminal to leave
        await typed(pilot, "e")
        assert seen.read_text() == f"+4|{project.folder / NIGHTLY}"
        await typed(pilot, "v")
        assert top_screen(app) == ReaderScreen.__name__
        assert "✗    4    stpes: []" in picture(app)
        assert "^^^^^ error[unknown-key] unknown key `stpes`; did you mean `steps`?" in picture(app)
        await typed(pilot, "escape", "up", "enter")
        assert top_screen(app) == LaunchScreen.__name__
        assert "Launch release" in picture(app)
        await typed(pilot, "escape", "down", "down", "down", "down", "enter")
        assert isinstance(app.screen, LaunchScreen)  # the workflow, though a flow has the same name
        assert app.screen.definition == "workflow:ship"
        assert "Launch ship" in picture(app)
        await typed(pilot, "escape", "escape")
        assert top_screen(app) == HomeScreen.__name__

    opened(project, (80, 24), script)


@pytest.mark.whole
def test_hostile_text_is_shown_and_does_nothing(project: Project) -> None:
    evil = "[@click=app.quit]quit[/] \x1b]0;t\x07\x1b[2J\u202eevil"
    wrong = {**PROBLEM, "message": evil, "hint": evil, "excerpt": f"{evil}{'x' * 1_000_000}", "column": 900_000}
    rows = [
        entry("flow", "a", name=evil, description=f"{evil}{'y' * 10_000_000}"),
        entry("flow", "b", name=evil, state="broken", problems=[wrong], file=evil),
    ]

    async def script(app: HandrailApp, pilot: Pilot[None]) -> None:
        await typed(pilot, "end")
        found = picture(app)
        assert found.count("[@click=app.quit]quit[/]") >= 4
        assert " error[unknown-key] .handrail/settings.yaml:4:900000:" in found
        assert not {"\x1b", "\x07", "\u202e"} & set(found)
        assert all(len(one) <= 80 for one in found.split("\n"))
        await pilot.click(offset=(12, 8))
        assert isinstance(app.screen, CatalogScreen)

    opened(project, (80, 24), script, rows, [{**wrong, "file": ".handrail/settings.yaml"}])


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    lines = [*catalog_lines(ENTRIES, lambda _: False, width)]
    long = {**PROBLEM, "message": f"{'word ' * 30}end", "column": 40}
    shown = [*text_lines(f"{'x' * 200}\n" * 5, [long], NIGHTLY, width)]
    assert "word end; did you mean `steps`?" in " ".join(" ".join(line.text for line in shown).split())
    lines += shown
    for row in ENTRIES:
        lines += detail_lines(row, width)
    assert max(len(line.text) for line in lines) <= width


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("vi", ["vi", "+4", "/a b.yaml"]),
        ("'/opt/my editor' -x", ["/opt/my editor", "-x", "+4", "/a b.yaml"]),
        ("code", ["code", "--wait", "--goto", "/a b.yaml:4"]),
        ("/usr/bin/hx", ["/usr/bin/hx", "/a b.yaml:4"]),
    ],
)
def test_an_editor_opens_at_the_line(editor: str, command: list[str]) -> None:
    assert editor_command(editor, "/a b.yaml", 4) == command
