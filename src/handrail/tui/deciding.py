"""What a person decides in a screen: answer, stop, resume. Each asks where that is due, then sends the action."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar, cast

from handrail.app import App as Project
from handrail.errors import HandrailError, UntrustedError
from handrail.live.actions import Actions, Mode
from handrail.live.seen import mark_seen, mark_unread
from handrail.live.topics import open_topic
from handrail.process import child
from handrail.source.clean import clean
from handrail.source.plain import counted
from handrail.topics.rows import Row
from handrail.tui.dialogs.approval import ApprovalScreen
from handrail.tui.dialogs.asking import (
    CREATE,
    RELOAD,
    STAY,
    STOP,
    TRUST,
    AgainScreen,
    CancelScreen,
    InitScreen,
    ReloadScreen,
    StopScreen,
    TrustScreen,
)
from handrail.tui.dialogs.form import FormScreen
from handrail.tui.dialogs.opening import screen_of
from handrail.tui.drawing.home import ordered
from handrail.tui.feed import Feed
from handrail.tui.top import Top

PATIENCE = 60.0
T = TypeVar("T")
DONE = {"resume": "is resumed", "continue": "continues", "restart": "is restarted"}


def attempt(top: Top, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do something that may be refused. A refusal is one line of news. If only trust is missing, ask for it."""

    async def guarded() -> None:
        try:
            await with_trust(top, work)
        except HandrailError as error:
            top.refused(error)

    top.run_worker(guarded())


async def with_trust(top: Top, work: Callable[[], Awaitable[T]]) -> T:
    """Do something. If it is refused because nobody has trusted the project, ask the person, then do it.

    Only for a worker, because it waits for the answer. If that is no, the refusal is raised.
    """
    try:
        return await work()
    except UntrustedError as error:
        would_run = await asyncio.to_thread(_would_run, top.project)
        if await top.push_screen_wait(TrustScreen(clean(error.message), would_run)) != TRUST:
            raise
    await asyncio.to_thread(trust_project, top.actions)
    return await work()


def trust_project(actions: Actions) -> None:
    """What `handrail trust` does. Raises `RefusedError` for an agent."""
    actions.refuse("trust")
    actions.app.trust.grant(actions.app.clock())


def _would_run(project: Project) -> str:
    """What the project would run, as `handrail trust --show` lists it. Raises `HandrailError` if it cannot be read."""
    now = project.reread()
    programs = now.definitions.programs_of_project(now.settings)
    lines = [f"  {clean(program.words(now.trust.shown))}" for program in programs]
    return "\n".join([f"It would run {counted(len(lines), 'thing')}:", *lines]) if lines else ""


def stop_run(top: Top, id_: str, name: str) -> None:
    """Ask whether to stop a run, and stop it."""

    async def stop() -> None:
        await top.actions.stop(id_)
        top.tell(f"{name} was stopped; r resumes it")

    def decided(word: str | None) -> None:
        if word == STOP:
            attempt(top, stop)

    top.push_screen(StopScreen(name), decided)


def again_words(modes: Sequence[str]) -> str:
    """What the footer calls `r` for a run: what it would do first."""
    return f"{next(iter(modes), 'resume')}…"


def run_again(top: Top, id_: str, name: str, modes: Sequence[str]) -> None:
    """Ask how a run goes on, and drive it in the background."""
    if not modes:
        top.tell(f"{name} can neither be resumed nor restarted now")
        return

    async def again(mode: str) -> None:
        await asyncio.to_thread(top.actions.again, id_, cast("Mode", mode))
        top.launched.add(id_)
        top.tell(f"{name} {DONE.get(mode, mode)}")

    def decided(word: str | None) -> None:
        if word is not None and word != STAY:
            attempt(top, lambda: again(word))

    top.push_screen(AgainScreen(name, modes), decided)


def is_asked(top: Top) -> bool:
    """True if some run or session waits for an answer."""
    return any(row.get("need") for row in top.entries)


def answer(top: Top, topic: str | None) -> None:
    """Show the oldest open question of this run or session; if it has none, the oldest one of all."""

    async def ask() -> None:
        waiting = [str(row["id"]) for row in ordered(top.entries)["needs"] if row.get("need")]
        for one in dict.fromkeys([topic, *waiting] if topic else waiting):
            needs = await asyncio.to_thread(open_needs, top, one)
            if needs:
                _ask(top, one, needs[0])
                return
        top.tell("nothing waits for an answer" if top.home.is_ready else "still reading the runs")

    attempt(top, ask)


def _ask(top: Top, topic: str, need: Row) -> None:
    """Show a question, and send the answer. The dialog is told if the question changes."""
    id_ = topic.partition(":")[2]
    name = next((str(row.get("name")) for row in top.entries if row["id"] == topic), id_)
    dialog = screen_of(need, name)
    feed = Feed(top.hub, topic, top.project.clock, lambda: _renew(dialog, feed, need))
    following = top.run_worker(feed.run())

    async def send(values: Any) -> None:
        await top.actions.answer(id_, str(need["id"]), str(need["digest"]), values)
        top.tell(f"{name}: answered")

    def given(values: Any) -> None:
        following.cancel()
        if values is not None:
            attempt(top, lambda: send(values))

    top.push_screen(dialog, given)


def open_needs(top: Top, topic: str) -> list[Row]:
    """The questions of a run that nobody has answered, the oldest first. Reads the journal."""
    rows = open_topic(top.project, topic).topic.rows.section("needs")
    return sorted((row for row in rows if not row.get("answered")), key=lambda row: row.get("since") or 0.0)


def _renew(dialog: FormScreen | ApprovalScreen, feed: Feed, opened: Row) -> None:
    """Tell an open dialog how its question stands now, or the question that its step asks instead."""
    if not feed.is_ready or not dialog.is_mounted:
        return
    rows = feed.received.rows
    needs = [row for (section, _), row in rows.items() if section == "needs" and row.get("path") == opened.get("path")]
    instead = next((row for row in needs if not row.get("answered")), None)
    dialog.need_changed(rows.get(("needs", str(opened["id"])), instead))


def cancel_session(top: Top, id_: str, name: str) -> None:
    """Ask whether to cancel the workflow of a session, and cancel it."""

    async def cancel() -> None:
        await asyncio.to_thread(top.actions.cancel, id_)
        top.tell(f"{name} was cancelled")

    def decided(word: str | None) -> None:
        if word == STOP:
            attempt(top, cancel)

    top.push_screen(CancelScreen(name), decided)


def reload_session(top: Top, id_: str, name: str) -> None:
    """Ask whether to load the files of a session's workflow again, and load them."""

    async def reload() -> None:
        await asyncio.to_thread(top.actions.reload, id_)
        top.tell(f"{name}: the files are loaded again")

    def decided(word: str | None) -> None:
        if word == RELOAD:
            attempt(top, reload)

    top.push_screen(ReloadScreen(name), decided)


def mark(top: Top, topic: str, *, is_seen: bool) -> None:
    """Remember that a person looked at the end of a run, or forget it."""

    async def remember() -> None:
        await asyncio.to_thread(mark_seen if is_seen else mark_unread, top.project, topic)

    attempt(top, remember)


def init(top: Top) -> None:
    """Create the small example project, as `handrail init` does. Where there are runs already, ask first."""

    async def create() -> None:
        top.actions.refuse("init")
        project = top.project
        argv = [sys.executable, "-P", "-m", "handrail", "--project", project.project, "init"]
        ended = await child.run(argv, project.project, project.env, PATIENCE)
        if ended.exit_code != 0:
            top.tell(f"`handrail init` failed: {ended.output[-200:]}")
        elif "created:" in ended.output:
            top.tell("created an example flow and workflow in .handrail/; n launches one")
        else:
            top.tell("the example in .handrail/ is there already; n launches it")

    def decided(word: str | None) -> None:
        if word == CREATE:
            attempt(top, create)

    if top.entries:
        top.push_screen(InitScreen(), decided)
    else:
        attempt(top, create)
