"""Answers requests that need definitions: commands that a person types, names, foreign workflows.

A workflow that another program began in a conversation continues in Handrail at the same phase; if that is not
possible, it is left as it is, and the person is told why. Also finds the agents of plugins. Needs all packages, so it
is imported by name.
"""

from __future__ import annotations

import os
import site
import sys
from contextlib import suppress

import handrail
from handrail import FOR_ONE_CALL
from handrail.agents.calls.branches import follow_branch
from handrail.agents.calls.hook import import_lazily
from handrail.agents.calls.turns import context, context_mark
from handrail.app import App
from handrail.base.digest import file_digest
from handrail.base.errors import HandrailError, StateError, UntrustedError
from handrail.base.files import make_private, read_regular, write_whole
from handrail.base.jsonlite import dumps, loads
from handrail.extensions.registry import Registry
from handrail.guided.sessions import hook_files, words
from handrail.guided.sessions.machine import Adopted, State, state_to_json
from handrail.guided.sessions.sessions import Conversation
from handrail.guided.workflows.plan import locate
from handrail.settings.folders import UserFolders, find_root, owning_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.extensions.contracts import Host, messages
    from handrail.extensions.contracts.messages import BranchChanged, CommandTyped, NamesAsked, PromptGiven

REPLACE = "--replace"
PERSON = "person"


def answer(
    host: Host, agent: str, request: CommandTyped | PromptGiven | NamesAsked | BranchChanged, env: Mapping[str, str]
) -> messages.HostAnswer:
    app = App(owning_project(UserFolders(env), find_root(request["cwd"])), env, by=PERSON)
    if request["event"] == "names":
        return {"kind": "names", "names": {spec.command: spec.name for spec in app.catalog.visible()}}
    if request["event"] == "branch":
        return continue_foreign(app, agent, request)
    if request["event"] == "prompt":
        return context(None, _title(app, request["starts"] or ""))
    command = _TypedCommand(host, app, Conversation(agent, request["conversation"]))
    try:
        if request["name"] == "cancel":
            return command.cancel()
        return command.start(request["arguments"], request.get("turn"))
    except UntrustedError as error:
        hint = f"Look at it, run `handrail trust {app.project}` in a terminal, and type it again."
        return held_answer(f"{error.message}\n{hint}")
    except HandrailError as error:
        return held_answer(f"{error.message}\n{error.hint}" if error.hint else error.message)


def held_answer(text: str) -> messages.Held:
    return {"kind": "held", "text": text}


class _TypedCommand:
    def __init__(self, host: Host, app: App, conversation: Conversation) -> None:
        self.host = host
        self.app = app
        self.conversation = conversation
        self.link = app.sessions.link(conversation)

    def cancel(self) -> messages.Held:
        if hook_files.is_link_absent(self.link):
            return held_answer("No workflow is active in this conversation.")
        sessions = self.app.sessions_at(self.link)
        report = sessions.cancel(self.conversation.session, confirmed=True, link=self.link)
        return held_answer("\n".join([report.message, *report.notices]))

    def start(self, arguments: str, turn: str | None) -> messages.Held | messages.Context:
        name, task, replaces = parse_start(arguments)
        command = self.host.COMMANDS["start"]
        if not name:
            rows = [f"  {spec.command}  {spec.name}" for spec in self.app.catalog.visible()]
            return held_answer("\n".join([f"{command} NAME TASK starts a workflow. Available workflows:", *rows]))
        spec = self.app.catalog.find(name)
        if not task:
            return held_answer(f"The task is missing: {command} {name} TASK")
        if (active := self._blocking_workflow(replaces=replaces)) is not None:
            line = f"{command} {REPLACE} {spec.command} {task}"
            answer = held_answer(f"{active}\nTo cancel it and start this one, type:\n{line}")
            return {**answer, "again": f"{REPLACE} {spec.command} {task}"}
        try:
            report = self.app.start(name, task, conversation=self.conversation, replaces=replaces)
        except StateError:
            if not self.app.sessions.session(self.conversation.session).exists:
                hook_files.remove_link(self.link)
            raise
        session, mark = self.app.sessions.session(report.session), context_mark(state_to_json(report.state))
        card = session.card()
        assert card is not None, "a session that was just started has a card"
        hook_files.remember_shown(session.folder, mark)
        hook_files.clear_marks(session.folder, hook_files.PAUSED)
        hook_files.set_mark(session.folder, hook_files.TURN, turn or "")
        text = f"{report.message}\n\n{card['context']}"
        notices = [*report.notices, installation_notice(self.conversation.agent, self.app)]
        return {
            **context(text, notice="\n".join(filter(None, notices)) or None),
            "opening": report.message,
            "mark": mark,
        }

    def _blocking_workflow(self, *, replaces: bool) -> str | None:
        """A message about the active workflow that prevents the start; None if nothing prevents it.

        With `replaces`, an active workflow of another project is cancelled here.
        """
        try:
            ref = hook_files.read_link(self.link)
        except hook_files.UnsettledFork:
            return None
        if ref is None:
            return None
        other = App(ref.project, self.app.env, by=PERSON)
        status = other.sessions.status(ref.session)
        if not status.state.is_active:
            return None
        if not replaces:
            return f"{status.status_line} is active for: {status.state.task}"
        if other.project != self.app.project:
            other.sessions.cancel(ref.session, confirmed=True, reason="replaced by another workflow")
        return None


def installation_notice(agent: str, app: App) -> str | None:
    """A warning for the person if something in the agent is not as Handrail installed it; None if all is well.

    Stubs of one call are not installed, so they have nothing to compare.
    """
    if app.env.get(FOR_ONE_CALL) or not app.registry.is_installable(agent):
        return None
    seen = app.places.compared(agent, app.project)
    if _is_as_seen(seen, app.env):
        return None
    found, digests = import_lazily("handrail.agents.calls.install").compare(app, agent)
    if not found:
        with suppress(OSError, StateError):  # the next start compares again
            make_private(os.path.dirname(seen))
            write_whole(seen, dumps([_maker(app.env), digests]).encode(), durable=False)
    what = "The phases may not be enforced: something in this agent is not as Handrail installed it"
    return f"{what}: {'; '.join(found)}. `handrail doctor {agent}` says more." if found else None


def _is_as_seen(seen: str, env: Mapping[str, str]) -> bool:
    """True if no file changed since an installation was found in order. Comparing it again takes as long as a start."""
    try:
        maker, digests = loads(read_regular(seen).decode())
        return bool(maker == _maker(env)) and all(file_digest(path) == digest for path, digest in digests.items())
    except (OSError, ValueError, TypeError, AttributeError):
        return False


def _maker(env: Mapping[str, str]) -> list[str]:
    """What the files of an installation depend on: this Handrail, and the folders that the environment names."""
    folders = sorted(f"{name}={env[name]}" for name in env if name.endswith(("HOME", "_DIR")))
    return [sys.executable, *handrail.__path__, handrail.__version__, *folders]


def resumed_notice(agent: str, project: str, env: Mapping[str, str]) -> str | None:
    """The warning when a conversation with a workflow is opened again."""
    return installation_notice(agent, App(project, env, by=PERSON))


def parse_start(arguments: str) -> tuple[str, str, bool]:
    """(name, task, is `--replace` given). The task is everything after the first word and may span lines."""
    first, rest = (*arguments.split(None, 1), "", "")[:2]
    if first == REPLACE:
        name, task, _ = parse_start(rest)
        return name, task, True
    return first, rest.strip(), False


def _title(app: App, arguments: str) -> str | None:
    """The title for the conversation in which a workflow is started; None if the command will not start one."""
    name, task, _ = parse_start(arguments)
    try:
        spec = app.catalog.find(name)
    except HandrailError:
        return None
    return words.session_title(spec, task) if task else None


def continue_foreign(app: App, agent: str, request: BranchChanged) -> messages.Context:
    """Continue the foreign workflow of a branch, unless the conversation has an active one."""
    foreign, conversation = request["foreign"], Conversation(agent, request["conversation"])
    assert foreign is not None, "only a request with a foreign state comes here"
    session, link = app.sessions.session(conversation.session), app.sessions.link(conversation)
    if not hook_files.is_link_absent(link) or foreign["status"] != "active":
        return follow_branch(agent, request, app.places)
    try:
        plan = app.catalog.plan(app.catalog.workflows[foreign["workflow"]])
    except (KeyError, HandrailError):
        return _refusal(foreign, f"there is no workflow `{foreign['workflow']}`")
    at = locate(plan, foreign["path"])
    if at is None:
        return _refusal(foreign, f"`{foreign['workflow']}` has no such phase any more")
    task, settings = (foreign["task"], foreign["task_id"], foreign["started"]), app.settings
    state = State("active", at, foreign["steps"], session.pin(plan), *task)
    state = state._replace(idle_limit=settings.idle_stops, reminder_limit=settings.reminders)
    state = state._replace(same_limit=settings.same_failures, cancel=settings.cancel)
    session.describe(link)
    session.do(Adopted(state, foreign["origin"]))
    return context(None, notice=f"Handrail continues the workflow that {foreign['origin']} began: {foreign['task']}")


def find_registry(agent: str, env: Mapping[str, str]) -> Registry | None:
    """The registry of the project in which an agent of a plugin started this process. None if it cannot be used."""
    if sys.flags.no_site:
        site.main()
    registry = App(owning_project(UserFolders(env), find_root(os.getcwd())), env).registry
    error = registry.unusable(agent)
    if error is None:
        return registry
    sys.stderr.write(f"error: {error.message}\n")
    return None


def _refusal(foreign: messages.ForeignState, why: str) -> messages.Context:
    return context(None, notice=f"Handrail does not continue the workflow that {foreign['origin']} began: {why}.")
