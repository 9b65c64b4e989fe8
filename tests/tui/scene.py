"""A project as rows, for pictures of screens: the one of the design, at a fixed time.

`HANDRAIL_UPDATE_SCREENS=1` writes the expected pictures anew: look at the difference before you commit it.
"""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.strip import Strip

from handrail.app import App
from handrail.base.errors import NotFound
from handrail.tui.app import HandrailApp
from handrail.tui.context import TerminalLook
from handrail.tui.home import HomeScreen
from handrail.view.live.run import Tail
from handrail.view.rows.rows import RowMessage, Rows
from support import trust_below

SCREENS = Path(__file__).parent / "screens"
UPDATES = bool(os.environ.get("HANDRAIL_UPDATE_SCREENS"))
NOW = 1794924151.0  # 2026-11-17 14:02:31 UTC
USAGE = {"inputTokens": 81_234, "outputTokens": None, "complete": False}
Script = Callable[[HandrailApp, Pilot[None]], Awaitable[None]]


BARS: tuple[tuple[str, str, int, int | None, str | None], ...] = (
    ("check/tests", "work", 0, 20, "failed"),
    ("check/tests", "pause", 20, 40, None),
    ("check/tests", "work", 40, 60, "done"),
    ("check/lint", "work", 20, 62, "done"),
    ("review_1/look", "work", 62, 120, "done"),
    ("review_1/look", "delay", 120, 180, None),
    ("review_2/look", "work", 222, 340, "interrupted"),
    ("ask/go", "asked", 260, None, None),
)


class Scene:
    """Topics that are not read from a disk: sections of rows by name. `put` changes one."""

    def __init__(self) -> None:
        self.topics: dict[str, Still] = {"home": Still("home")}

    def topic(self, name: str) -> Still:
        return self.topics.setdefault(name, Still(name))

    def put(self, topic: str, section: str, id_: str, **fields: Any) -> None:
        rows = self.topic(topic).rows
        rows.seq += 1
        rows.put(section, id_, fields)

    def open(self, name: str) -> Still:
        if name not in self.topics:
            raise NotFound(f"there is no {name}", "look again")
        return self.topics[name]


class Still:
    """One topic. It is its own source: what a test puts into it is what is followed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = Rows("1")
        self.tail = Tail(1)
        self.driver: int | None = None

    @property
    def topic(self) -> Still:
        return self

    def is_stale(self) -> bool:
        return True

    def refresh(self) -> None:
        return

    def messages(self, epoch: str, base: int, now: float) -> Iterator[RowMessage]:
        for message in self.rows.messages(self.name, base if epoch == self.rows.epoch else 0, now):
            yield {**message, "live": {"driver": self.driver}}


def entry(scene: Scene, id_: str, group: str, order: int, **fields: Any) -> None:
    kind = id_.partition(":")[0]
    usual = {"kind": kind, "group": group, "order": order, "about": "", "seen": True, "usage": {}, "modes": []}
    scene.put("home", "entries", id_, **{**usual, **fields})


def shop() -> Scene:
    """The project of the design: runs and sessions in all four groups."""
    scene = Scene()
    scene.put("home", "head", "", project="shop", branch="main", scope="main@036d8bbd", older=41)
    release = {"kind": "form", "fields": 4, "count": 1, "title": "Release 1.2?", "since": NOW - 740}
    entry(
        scene, "run:r-7f3k2m", "needs", 0, name="release", about="1.2", status="waiting", need=release, done=9, total=13
    )
    ship = {"kind": "approval", "count": 1, "title": "leave Build, enter Inspect", "since": NOW - 200}
    entry(scene, "session:51c0ffee", "needs", 1, name="Ship", about="login page", status="waiting", need=ship)
    where = {"place": ["lint", "fix"], "ended": None, "started": NOW - 3700, "modes": ["resume", "restart"]}
    entry(scene, "run:r-port00", "needs", 2, name="port", about="py3.12", status="interrupted", **where)
    why = {"path": "unit/pytest", "code": "exit", "message": "`pytest` ended with 1"}
    entry(scene, "run:r-night0", "needs", 3, name="nightly", status="failed", why=why, ended=NOW - 22_000, seen=False)
    usage = {"usd": 0.42, "complete": True}
    doing = {"place": ["fix"], "doing": "edit src/cart.py", "round": [2, 3], "done": 7, "total": 12, "last": NOW - 3}
    entry(scene, "run:r-loop00", "running", 0, name="review-loop", about="cart", status="running", started=NOW - 250,
          usage=usage, **doing)  # fmt: skip
    entry(scene, "session:bugs", "running", 1, name="Bug Fix", about="issue 412", status="active",
          statusLine="Bug Fix > Reproduce [1/4]", who="claude", started=NOW - 900, last=NOW - 130)  # fmt: skip
    delay = {"until": NOW + 5280, "reason": "quota of claude"}
    entry(scene, "run:r-audit0", "delayed", 0, name="audit", about="all modules", status="delayed", delay=delay,
          done=9, total=40, started=NOW - 4000)  # fmt: skip
    entry(scene, "run:r-hello0", "recent", 0, name="hello", status="completed", seconds=0.4, ended=NOW - 450)
    stopped = {"path": None, "code": "stopped", "message": "stopped by review › verdict"}
    entry(scene, "run:r-auto00", "recent", 1, name="auto", about="checkout", status="stopped", why=stopped,
          ended=NOW - 2500, usage={"usd": 3.1, "complete": True})  # fmt: skip
    part = {"usd": 0.55, "complete": False}
    entry(scene, "run:r-rel110", "recent", 2, name="release", about="1.1", status="completed", seconds=302.0,
          ended=NOW - 80_000, usage=part)  # fmt: skip
    _release(scene)
    _ship(scene)
    return scene


def node(scene: Scene, id_: str, parent: str, kind: str, status: str, **fields: Any) -> None:
    run = "run:r-7f3k2m"
    order = len(scene.topic(run).rows.section("nodes"))
    name = fields.pop("name", id_.rpartition("/")[2])
    usual = {"parent": parent, "kind": kind, "status": status, "order": order, "name": name, "try": 1, "tries": 1}
    scene.put(run, "nodes", id_, **{**usual, **fields})


def _release(scene: Scene) -> None:
    """A run that waits for an answer: two rounds were made, a third was not needed."""
    run, began = "run:r-7f3k2m", NOW - 1000
    money = {**USAGE, "usd": 0.61}
    scene.put(run, "head", "", name="release", about="1.2", attempt=1, status="waiting", done=9, total=13,
              seconds=238.0, started=began, ended=None, usage=money, scope="main@036d8bbd", limits={"usd": 5},
              modes=["resume", "restart"],
              summary="Review, round 1: two findings, both fixed.\nRound 2: none.")  # fmt: skip
    node(scene, "check", "", "phase", "done", started=began, ended=began + 62)
    node(scene, "check/tests", "check", "step", "done", node="command", started=began, ended=began + 20, worked=0.3,
         **{"try": 2, "tries": 3})  # fmt: skip
    node(
        scene, "check/lint", "check", "step", "done", node="command", started=began + 20, ended=began + 62, worked=41.0
    )
    node(scene, "~review", "", "repeat", "done", rounds=3, begun=2, name="review")
    for number, (start, end, usd) in enumerate(((62, 222, 0.33), (222, 353, 0.28)), 1):
        known = {"started": began + start, "ended": began + end, "usage": {"usd": usd, "complete": True}}
        node(scene, f"~review/{number}", "~review", "round", "done", name=f"round {number}")
        node(scene, f"review_{number}", f"~review/{number}", "phase", "done", name="review", **known)
        counts = {"tools": 31, "denied": 1}
        node(scene, f"review_{number}/look", f"review_{number}", "step", "done", who="codex:gpt-5.5", counts=counts,
             worked=float(end - start - 13), **known)  # fmt: skip
        node(scene, f"review_{number}/child", f"review_{number}", "step", "done", flow="hello", children=1,
             started=began + end - 13, ended=began + end, worked=13.0)  # fmt: skip
    node(
        scene,
        "~review/3",
        "~review",
        "round",
        "skipped",
        name="round 3",
        why={"message": "its condition does not hold"},
    )
    node(scene, "ask", "", "phase", "waiting", started=NOW - 740, ended=None)
    node(scene, "ask/go", "ask", "step", "waiting", node="user-input", started=NOW - 740, ended=None)
    node(scene, "notes", "", "phase", "pending")
    for number, (step, kind, start, last, how) in enumerate(BARS):
        to = None if last is None else began + last
        times = {"from": began + start, "to": to, "try": 1}
        scene.put(run, "bars", f"{step}#{number}", node=step, kind=kind, end=how, **times)
    scene.put(run, "needs", "q-412", path="ask/go", kind="form", title="Release 1.2?", since=NOW - 740, answered=None,
              digest="177312d4", form={})  # fmt: skip
    scene.put(run, "artifacts", "a1", path="REVIEW.md", name="review", version=2, size=4_211, step="review_2/look",
              created=NOW - 760, sha256="9b8a980")  # fmt: skip
    scene.put(run, "checks", "c1", node="review_2/look", name="REVIEW.md", kind="file", held=True, detail="exists",
              seconds=0.1, at=NOW - 750)  # fmt: skip
    scene.put(run, "checks", "c2", node="review_2/look", name="make test", kind="run", held=False, detail="exit code 1",
              seconds=41.0, at=NOW - 745, stale=True)  # fmt: skip
    scene.put(run, "checks", "c3", node="review_2/look", name="findings", kind="schema", held=None)
    texts = (("tool", "edit src/cart.py"), ("denied", "bash: git push is not allowed in this step"),
             ("text", "The retry now backs off; [@click=app.quit]two tests[/] were added."))  # fmt: skip
    tail = scene.topic(run).tail
    for n, (kind, text) in enumerate(texts, 1):
        tail._lines.append({"n": n, "t": NOW - 80 + 4 * n, "node": "review_2/look", "kind": kind, "text": text})
        tail.seq = n


def _ship(scene: Scene) -> None:
    """A session in its second phase: a check failed, calls were denied."""
    at, began = "session:51c0ffee", NOW - 840
    scene.put(at, "head", "", workflow="ship", name="Ship", task="login page", agent="claude", conversation="51c0ffee",
              status="active", statusLine="Ship > Build [2/4]", turn="agent", steps=6, sentOn=2,
              started=began)  # fmt: skip
    levels = [["Ship", 1, 4]]
    review = [["Ship", 3, 4], ["Code Review", 1, 2]]
    stops: tuple[tuple[str, str, list[Any], dict[str, Any]], ...] = (
        ("Plan", "done", levels, {"entered": began, "left": began + 130, "visits": 1,
                                  "summary": "strip() before lower(), collapse runs of spaces"}),
        ("Build", "current", levels, {"entered": NOW - 362, "visits": 2,
                                      "gate": {"deny": ["web", "mcp:jira/*"], "allow": None, "writes": ["src/**"]}}),
        ("Inspect", "ahead", review, {"loopable": True}),
        ("Mend", "ahead", review, {"loopable": True}),
        ("Deliver", "ahead", levels, {"exit": ["everything is committed"]}),
    )  # fmt: skip
    for order, (name, state, levels_of, more) in enumerate(stops):
        scene.put(at, "stops", str(order), order=order, name=name, emoji="", state=state, levels=levels_of,
                  **{"gate": {"deny": [], "allow": None}, **more})  # fmt: skip
    scene.put(at, "checks", "1.0", stop=1, name="make test", kind="run", held=False, detail="exit code 1", at=NOW - 120,
              stale=True)  # fmt: skip
    scene.put(at, "checks", "1.1", stop=1, name="NOTES.md", kind="file", held=None)
    for number, (origin, to, how) in enumerate(((None, 0, "start"), (0, 1, "next"), (1, 1, "loop")), 1):
        scene.put(
            at, "moves", str(number), at=began + 130 * (number - 1), how=how, to=to, summary="", **{"from": origin}
        )
    scene.put(at, "denials", "web", tool="web", rule="blacklist", reason="web is denied here", count=2, last=NOW - 33)


def written(app: HandrailApp, strip: Strip) -> Strip:
    """A line as it is written to the terminal."""
    for one in app.get_line_filters():
        strip = strip.apply_filter(one, app.screen.background_colors[1])
    return strip


def picture(app: HandrailApp) -> str:
    """The characters of the screen as the terminal gets them, line by line."""
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join(written(app, strip).text.rstrip() for strip in strips) + "\n"


def styles(app: HandrailApp) -> set[str]:
    """The colours that the terminal is sent, in words."""
    found: set[str] = set()
    for strip in app.screen._compositor.render_strips(app.size):
        for segment in written(app, strip):
            style = segment.style
            found |= {one.name for one in (style and style.color, style and style.bgcolor) if one}
    return found


def same_as(name: str, app: HandrailApp) -> None:
    """Compare the screen with the expected picture."""
    same_text(SCREENS / f"{name}.txt", picture(app))


def same_text(file: Path, found: str) -> None:
    if UPDATES:
        file.write_text(found, encoding="utf-8")
    expected = file.read_text(encoding="utf-8")
    lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), file.name, "the screen", lineterm="")
    assert found == expected, "\n".join(lines)


class Clock:
    """The clock of a scene. It stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def played(
    folder: Path,
    script: Script,
    size: tuple[int, int] = (80, 24),
    scene: Scene | None = None,
    look: TerminalLook | None = None,
    clock: Callable[[], float] = lambda: NOW,
) -> HandrailApp:
    """Show a scene and follow a script."""
    project = folder / "shop"
    project.mkdir(exist_ok=True)
    env = {"HANDRAIL_HOME": str(folder / "home"), "HOME": str(folder), "PATH": os.environ["PATH"]}
    trust_below(folder, env)
    top = HandrailApp(App(str(project), env, clock=clock, by="person"), look or TerminalLook(), (scene or shop()).open)

    async def play() -> None:
        async with top.run_test(size=size) as pilot:
            await settled(top, pilot)
            await script(top, pilot)

    asyncio.run(play())
    return top


async def settled(top: HandrailApp, pilot: Pilot[None]) -> None:
    """Wait until what is followed is shown."""
    await pilot.pause()
    for _ in range(200):
        screen = top.screen
        side_feed = screen.side_feed if isinstance(screen, HomeScreen) else getattr(screen, "feed", None)
        feeds = [top.home, *([side_feed] if side_feed is not None else [])]
        if all(feed.is_ready or feed.error is not None for feed in feeds):
            break
        await asyncio.sleep(0.02)
    top.screen.redraw() if hasattr(top.screen, "redraw") else None
    await pilot.pause()


async def pressed(top: HandrailApp, pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(top, pilot)
