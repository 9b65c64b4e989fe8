"""What a person decides in a screen: answer, stop, resume, trust. Each asks if necessary, then sends the action.

The short questions are screens with a few answers. The first answer is preselected; Esc is the same.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen

from handrail.app import App as Project
from handrail.base import processes
from handrail.base.errors import HandrailError, UntrustedError
from handrail.settings.trust import RUNS_NOTHING
from handrail.source.output_text import clean
from handrail.source.plain_text import counted
from handrail.tui.context import Feed
from handrail.tui.forms.questions import QuestionScreen, question_screen
from handrail.tui.lines.home import rows_by_group
from handrail.tui.lines.words import Piece, line, wrapped
from handrail.tui.widgets import Bar, Listing
from handrail.view.actions import Actions, ResumeMode
from handrail.view.live.home import mark_seen
from handrail.view.live.hub import open_topic
from handrail.view.rows.home import OPEN
from handrail.view.rows.rows import Row

if TYPE_CHECKING:
    from handrail.tui.app import HandrailApp

YES, NO, STOP, LEAVE, STAY = "yes", "no", "stop", "leave", "stay"
AnswerChoice = tuple[str, str]
"""The word that is returned, and the text of the button."""


class ChoiceScreen(ModalScreen[str]):
    """Some lines and a row of answers. ←, → and Tab choose, Enter takes the chosen one, Esc the first, or `escape`.

    Lines that do not fit can be scrolled.
    """

    DEFAULT_CSS = """
    ChoiceScreen { align: center middle; background: $background; }
    ChoiceScreen > Vertical { width: 64; max-width: 100%; height: auto; padding: 0 1;
                          border: solid $border; background: $background; }
    """
    BINDINGS = [
        Binding("left,shift+tab", "choose(-1)"),
        Binding("right,tab", "choose(1)"),
        Binding("up", "scroll(-1)"),
        Binding("down", "scroll(1)"),
        Binding("pageup", "scroll(-10)"),
        Binding("pagedown", "scroll(10)"),
        Binding("enter", "take"),
        Binding("escape", "close"),
    ]
    WIDEST = 64

    def __init__(self, text: str, choices: Sequence[AnswerChoice], escape: str | None = None) -> None:
        super().__init__()
        self.text = text
        self.choices = list(choices)
        self.escape = self.choices[0][0] if escape is None else escape
        self.selected = 0

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Listing("text", takes_focus=False)
            yield Bar("gap")
            yield Bar("answers")

    def on_mount(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        text = self.query_one("#text", Listing)
        lines = [line(None, part) for part in wrapped(self.text, min(self.WIDEST, self.size.width) - 6)]
        text.styles.height = max(1, min(len(lines), self.size.height - 4))
        text.show(lines)

    def _draw(self) -> None:
        pieces: list[Piece] = []
        for number, (word, label) in enumerate(self.choices):
            mark, style = ("▸", "match") if number == self.selected else (" ", "")
            pieces += [Piece(f"{mark}[ {label} ]", style, f"dismiss('{word}')"), Piece(" ")]
        self.query_one("#answers", Bar).show(pieces)

    def action_choose(self, by: int) -> None:
        self.selected = (self.selected + by) % len(self.choices)
        self._draw()

    def action_scroll(self, by: int) -> None:
        self.query_one("#text", Listing).move(by)

    def action_take(self) -> None:
        self.dismiss(self.choices[self.selected][0])

    def action_close(self) -> None:
        self.dismiss(self.escape)


class QuitScreen(ChoiceScreen):
    """Asks what to do with the runs that were launched here. Returns `leave`, `stop` or `stay`."""

    def __init__(self, runs: Mapping[str, Row]) -> None:
        count = len(runs)
        subject = "1 run continues" if count == 1 else f"{count} runs continue"
        stop = {1: "Stop it", 2: "Stop both"}.get(count, "Stop all")
        leave = "Leave them running" if count > 1 else "Leave it running"
        rows = (f"{row.get('name')}  {_exactly(row, id_)}" for id_, row in runs.items())
        text = "\n".join([f"{subject} without this screen.", *rows])
        super().__init__(text, [(LEAVE, leave), (STOP, stop), (STAY, "Stay")], STAY)


def _exactly(row: Row, id_: str) -> str:
    """Which of several runs or sessions with one name: its params or its task, and its id."""
    return " · ".join(filter(None, (clean(str(row.get("about") or row.get("task") or "")), id_)))


class TrustScreen(ChoiceScreen):
    """Asks whether to trust a project: says why something was refused, and what it would run. Returns `no` or `yes`."""

    LATER = "With trust it may run programs, now and later. `handrail trust --remove` takes it back."
    WIDEST = 100
    DEFAULT_CSS = f"TrustScreen > Vertical {{ width: {WIDEST}; }}"

    def __init__(self, refusal: str, program_list: str) -> None:
        super().__init__("\n".join([refusal, "", program_list, "", self.LATER]), [(NO, "Not now"), (YES, "Trust")])


PATIENCE = 60.0
T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, None]]
AGAIN = {
    "resume": ("Resume", "is resumed", "Resume keeps the finished steps and goes on where it stopped."),
    "continue": ("Continue", "continues", "Continue goes on after its end, with the files that it made."),
    "restart": (
        "Restart",
        "is restarted",
        "Restart begins again with the current definitions. Files that it made are removed; a copy is kept.",
    ),
}
"""How a run goes on: the text of the button, what is said afterwards, and what it means."""


def try_action(top: HandrailApp, work: Work) -> None:
    """Do something that may be refused. A refusal is one line of news. If only trust is missing, ask for it."""

    async def guarded() -> None:
        try:
            await with_trust(top, work)
        except HandrailError as error:
            top.tell_refusal(error)

    top.run_worker(guarded())


async def with_trust(top: HandrailApp, work: Callable[[], Awaitable[T]]) -> T:
    """Do something. If it is refused because nobody has trusted the project, ask the person, then do it.

    Only for a worker, because it waits for the answer. If that is no, the refusal is raised.
    """
    try:
        return await work()
    except UntrustedError as error:
        program_list = await asyncio.to_thread(_program_list, top.project)
        if await top.push_screen_wait(TrustScreen(clean(error.message), program_list)) != YES:
            raise
    await asyncio.to_thread(trust_project, top.actions)
    return await work()


def trust_project(actions: Actions) -> None:
    """What `handrail trust` does. Raises `RefusedError` for an agent."""
    actions.refuse("trust")
    actions.app.trust.grant(actions.app.clock())


def _program_list(project: Project) -> str:
    """What the project would run, as `handrail trust --show` lists it. Raises `HandrailError` if it cannot be read."""
    current = project.reread()
    programs = current.definitions.programs_of_project(current.settings)
    lines = [f"  {clean(program.words(current.trust.shown))}" for program in programs]
    head = f"It would run {counted(len(lines), 'thing')}:" if lines else f"{RUNS_NOTHING.capitalize()}."
    return "\n".join([head, *lines])


def ask(top: HandrailApp, text: str, no: str, yes: str, work: Work, news: str = "") -> None:
    """Ask a person; after a yes, do something, and say that it is done. `no` and `yes` are the texts of the buttons."""

    async def do() -> None:
        await work()
        if news:
            top.tell(news)

    def act_on_answer(answer: str | None) -> None:
        if answer == YES:
            try_action(top, do)

    top.push_screen(ChoiceScreen(text, [(NO, no), (YES, yes)]), act_on_answer)


def stop_run(top: HandrailApp, id_: str, row: Row) -> None:
    """Ask whether to stop a run. `row` is its row on home, or its head."""
    name = row.get("name") or id_
    text = f"Stop {name}?\n{_exactly(row, id_)}\nFinished steps are kept; r resumes."
    ask(top, text, "Keep running", "Stop", partial(top.actions.stop, id_), f"{name} is cancelled; r resumes it")


def resume_words(modes: Sequence[str]) -> str:
    """What the footer calls `r` for a run: what it would do first."""
    return f"{next(iter(modes), 'resume')}…"


def run_again(top: HandrailApp, id_: str, row: Row) -> None:
    """Ask how a run goes on. `row` is its row on home, or its head."""
    name, modes = row.get("name") or id_, row.get("modes") or ()
    if not modes:
        top.tell(f"{name} can neither be resumed nor restarted now")
        return

    async def resume(mode: str) -> None:
        await asyncio.to_thread(top.actions.resume, id_, cast("ResumeMode", mode))
        top.launched_runs.add(id_)
        top.tell(f"{name} {AGAIN[mode][1]}")

    def act_on_answer(word: str | None) -> None:
        if word is not None and word != STAY:
            try_action(top, lambda: resume(word))

    text = "\n".join([f"Run {name} again?", _exactly(row, id_), *(AGAIN[mode][2] for mode in modes)])
    choices = [*((mode, AGAIN[mode][0]) for mode in modes), (STAY, "Not now")]
    top.push_screen(ChoiceScreen(text, choices, STAY), act_on_answer)


def is_asked(top: HandrailApp) -> bool:
    return any(row.get("need") for row in top.entries)


def answer_question(top: HandrailApp, topic: str | None) -> None:
    """Show the oldest open question of this run or session; if it has none, the oldest one of all."""

    async def ask() -> None:
        topics = [str(row["id"]) for row in rows_by_group(top.entries)["needs"] if row.get("need")]
        for one in dict.fromkeys([topic, *topics] if topic else topics):
            if needs := await asyncio.to_thread(open_needs, top, one):
                _ask(top, one, needs[0])
                return
        top.tell("nothing waits for an answer" if top.home.is_ready else "still reading the runs")

    try_action(top, ask)


def _ask(top: HandrailApp, topic: str, need: Row) -> None:
    """Show a question, and send the answer. The dialog is told if the question changes."""
    id_ = topic.partition(":")[2]
    name = next((str(row.get("name")) for row in top.entries if row["id"] == topic), id_)
    dialog = question_screen(need, name)
    feed = Feed(topic, lambda: _renew(dialog, feed, need))
    follower = top.run_worker(feed.run(top.hub, top.project.clock))

    async def send(values: Any) -> None:
        given = id_, str(need["id"]), str(need["digest"]), values
        if topic.startswith("session:"):
            await asyncio.to_thread(top.actions.answer_session, *given)
        else:
            await top.actions.answer(*given)
        top.tell(f"{name}: answered")

    def take_answer(values: Any) -> None:
        follower.cancel()
        if values is not None:
            try_action(top, lambda: send(values))

    top.push_screen(dialog, take_answer)


def open_needs(top: HandrailApp, topic: str) -> list[Row]:
    """The questions of a run that nobody has answered, the oldest first. Reads the journal."""
    rows = open_topic(top.project, topic).topic.rows.section("needs")
    return sorted((row for row in rows if not row.get("answered")), key=lambda row: row.get("since") or 0.0)


def _renew(dialog: QuestionScreen, feed: Feed, need: Row) -> None:
    """Tell an open dialog how its question stands now, or the question that its step asks instead."""
    if not feed.is_ready or not dialog.is_mounted:
        return
    rows = feed.received.rows
    needs = [row for (section, _), row in rows.items() if section == "needs" and row.get("path") == need.get("path")]
    new_need = next((row for row in needs if not row.get("answered")), None)
    dialog.need_changed(rows.get(("needs", str(need["id"])), new_need))


def cancel_session(top: HandrailApp, id_: str, row: Row) -> None:
    name = row.get("name") or id_
    if row.get("status") not in OPEN:
        return top.tell(f"{name} is over")
    meaning = "The agent is no longer kept to the workflow; its conversation goes on."
    text = f"Cancel {name}?\n{_exactly(row, id_)}\n{meaning}"
    work = partial(asyncio.to_thread, top.actions.cancel, id_)
    return ask(top, text, "Keep it", "Cancel the workflow", work, f"{name} was cancelled")


def reload_session(top: HandrailApp, id_: str, row: Row) -> None:
    name = row.get("name") or id_
    question = f"Load the files of {name} again?"
    text = f"{question}\n{_exactly(row, id_)}\nThe session stays in its phase and gets the new text and gate."
    work = partial(asyncio.to_thread, top.actions.reload, id_)
    ask(top, text, "Keep as it is", "Load again", work, f"{name}: the files are loaded again")


def go_to_phase(top: HandrailApp, id_: str, row: Row, stop: Row) -> None:
    """Ask why a session is moved to a phase, and move it."""
    number = ".".join(str(level[1]) for level in stop.get("levels") or ())
    about = "What came after it is void: summaries, and results of checks. The agent is told why."
    form: Row = {"formId": f"goto-{number}", "title": f"Go to {stop.get('name')}?", "description": about}
    form |= {"submitLabel": "Go there", "fields": [{"id": "reason", "type": "text", "label": "Why", "required": True}]}
    need = {"id": form["formId"], "of": f"session:{id_}", "kind": "form", "form": form}

    def take_answer(values: Any) -> None:
        if values is not None:
            try_action(top, partial(asyncio.to_thread, top.actions.go_to, id_, number, str(values["reason"])))

    top.push_screen(question_screen(need, str(row.get("name") or id_)), take_answer)


def mark_opened(top: HandrailApp, topic: str, *, is_seen: bool) -> None:
    """Remember that a person looked at the end of a run, or forget it."""
    try_action(top, partial(asyncio.to_thread, mark_seen, top.project, topic, is_seen=is_seen))


def create_example(top: HandrailApp) -> None:
    """Create the small example project, as `handrail init` does. If there are runs already, ask first."""

    async def create() -> None:
        top.actions.refuse("init")
        project = top.project
        argv = [sys.executable, "-P", "-m", "handrail", "--project", project.project, "init"]
        result = await processes.run(argv, project.project, project.env, PATIENCE)
        if result.exit_code != 0:
            top.tell(f"`handrail init` failed: {result.output[-200:]}")
        elif "created:" in result.output:
            top.tell("created an example flow and workflow in .handrail/; n launches one")
        else:
            top.tell("the example in .handrail/ is there already; n launches it")

    if top.entries:
        text = "Create an example flow and workflow in .handrail/? Files that are there are kept."
        ask(top, text, "Not now", "Create", create)
    else:
        try_action(top, create)
