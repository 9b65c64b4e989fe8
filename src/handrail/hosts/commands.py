"""Commands that a person types in a host: start a workflow, list workflows, cancel. Needs all packages."""

from __future__ import annotations

from handrail.app import App
from handrail.errors import HandrailError, StateError, UntrustedError
from handrail.hosts.context import context, mark_of
from handrail.project import Places, find_root, home_of
from handrail.sessions import links, marks, words
from handrail.sessions.machine import state_to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.contracts import Host
    from handrail.contracts.messages import Answer, BranchChanged, CommandTyped, Context, Held, NamesAsked, PromptGiven
    from handrail.sessions.report import Report
    from handrail.sessions.sessions import Conversation

REPLACE = "--replace"
PERSON = "person"


def answer(
    host: Host, agent: str, request: CommandTyped | PromptGiven | NamesAsked | BranchChanged, env: Mapping[str, str]
) -> Answer:
    app = App(home_of(Places(env), find_root(request["cwd"])), env, by=PERSON)
    if request["event"] == "names":
        return {"kind": "names", "names": {spec.command: spec.name for spec in app.catalog.visible()}}
    if request["event"] == "branch":
        from handrail.hosts.adoption import adopt

        return adopt(app, agent, request)
    if request["event"] == "prompt":
        return context(None, _title(app, request["starts"] or ""))
    from handrail.sessions.sessions import Conversation

    typed = _TypedCommand(host, app, Conversation(agent, request["conversation"]))
    try:
        return typed.cancel() if request["name"] == "cancel" else typed.start(request["arguments"], request.get("turn"))
    except UntrustedError as error:
        return held(
            f"{error.message}\nLook at it, run `handrail trust {app.project}` in a terminal, and type it again."
        )
    except HandrailError as error:
        return held(f"{error.message}\n{error.hint}" if error.hint else error.message)


def held(text: str) -> Held:
    return {"kind": "held", "text": text}


class _TypedCommand:
    """One command that a person typed in a conversation."""

    def __init__(self, host: Host, app: App, conversation: Conversation) -> None:
        self.host = host
        self.app = app
        self.conversation = conversation
        self.link = app.sessions.link(conversation)

    def cancel(self) -> Held:
        if links.is_absent(self.link):
            return held("No workflow is active in this conversation.")
        sessions = self.app.sessions_at(self.link)
        report = sessions.cancel(self.conversation.session, confirmed=True, link=self.link)
        return held("\n".join([report.message, *report.notices]))

    def start(self, arguments: str, turn: str | None) -> Held | Context:
        name, task, replaces = parse(arguments)
        command = self.host.COMMANDS["start"]
        if not name:
            return held(self._listing(command))
        spec = self.app.catalog.find(name)
        if not task:
            return held(f"The task is missing: {command} {name} TASK")
        if (active := self._blocking_workflow(replaces=replaces)) is not None:
            again = f"{command} {REPLACE} {spec.command} {task}"
            answer = held(f"{active}\nTo cancel it and start this one, type:\n{again}")
            return {**answer, "again": f"{REPLACE} {spec.command} {task}"}
        try:
            report = self.app.start(name, task, conversation=self.conversation, replaces=replaces)
        except StateError:
            if not self.app.sessions.session(self.conversation.session).exists:
                links.remove(self.link)
            raise
        opening = context(self._opening(report, turn), notice="\n".join(report.notices) or None)
        return {**opening, "opening": report.message, "mark": mark_of(state_to_json(report.state))}

    def _blocking_workflow(self, *, replaces: bool) -> str | None:
        """A message about the active workflow that prevents the start; None if nothing prevents it.

        With `replaces`, an active workflow of another project is cancelled here.
        """
        try:
            ref = links.read(self.link)
        except links.Unsettled:
            return None
        if ref is None:
            return None
        other = App(ref.project, self.app.env, by=PERSON)
        now = other.sessions.status(ref.session)
        if not now.state.is_active:
            return None
        if not replaces:
            return f"{now.status_line} is active for: {now.state.task}"
        if other.project != self.app.project:
            other.sessions.cancel(ref.session, confirmed=True, reason="replaced by another workflow")
        return None

    def _opening(self, report: Report, turn: str | None) -> str:
        """The first message and the context text. Also records that the agent has been told."""
        session = self.app.sessions.session(report.session)
        card = session.card()
        assert card is not None, "a session that was just started has a card"
        marks.remember(session.folder, mark_of(card["state"]))
        marks.clear(session.folder, marks.PAUSED)
        marks.set_mark(session.folder, marks.TURN, turn or "")
        return f"{report.message}\n\n{card['context']}"

    def _listing(self, command: str) -> str:
        rows = [f"  {spec.command}  {spec.name}" for spec in self.app.catalog.visible()]
        return "\n".join([f"{command} NAME TASK starts a workflow. Available workflows:", *rows])


def parse(arguments: str) -> tuple[str, str, bool]:
    """(name, task, is `--replace` given). The task is everything after the first word and may span lines."""
    first, rest = (*arguments.split(None, 1), "", "")[:2]
    if first == REPLACE:
        name, task, _ = parse(rest)
        return name, task, True
    return first, rest.strip(), False


def _title(app: App, arguments: str) -> str | None:
    """The title for the conversation in which a workflow is started; None if the command will not start one."""
    name, task, _ = parse(arguments)
    try:
        spec = app.catalog.find(name)
    except HandrailError:
        return None
    return words.session_title(spec, task) if task else None
