"""What a person types in a host: start a workflow, list them, cancel. Needs definitions, so the whole package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.app import App
from handrail.errors import HandrailError, StateError
from handrail.hosts.context import begin_turn, mark_of, remember
from handrail.project import find_root, session_id
from handrail.sessions import links
from handrail.sessions import words as prompts
from handrail.sessions.report import View


def answer(agent: str, request: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    return command(agent, request, env) if request["event"] == "command" else title(request, env)


def command(agent: str, request: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """`stop`: an answer for the person, without a turn of the model. Else the text that the model begins with."""
    app = App(find_root(request["cwd"]), env)
    host = (agent, request["conversation"])
    try:
        if request["name"] == "cancel-workflow":
            return {"stop": _cancel(app, host)}
        return _start(app, host, request["arguments"])
    except HandrailError as error:
        return {"stop": f"{error.message}\n{error.hint}" if error.hint else error.message}


def _cancel(app: App, host: tuple[str, str]) -> str:
    link = links.path(app.places, *host)
    try:
        seat = links.read(link)
    except links.Unsettled:
        links.remove(link)
        return "This conversation no longer follows the workflow of the one that it was forked from."
    if seat is None:
        return "No workflow is active in this conversation."
    view = App(seat["project"], app.env).cancel(seat["session"], confirmed=True)
    return view.message


def _start(app: App, host: tuple[str, str], arguments: str) -> dict[str, Any]:
    name, task, replace = _parsed(arguments)
    if not name:
        return {"stop": _listing(app)}
    spec = app.catalog.find(name)
    if not task:
        return {"stop": f"Say what is to be done: /workflow {name} TASK"}
    if (ask := _make_room(app, host, replace=replace)) is not None:
        return {"stop": f"{ask}\nTo give it up and begin this one, type:\n/workflow --replace {spec.command} {task}"}
    try:
        view = app.start(name, task, session_id(*host), replace=replace, host=host)
    except StateError:
        if not app.session(session_id(*host)).exists:
            links.remove(links.path(app.places, *host))
        raise
    return {"context": _opening(app, view, host), "notice": "\n".join(view.notices)}


def _make_room(app: App, host: tuple[str, str], *, replace: bool) -> str | None:
    """What is active in the conversation, if it is in the way; one of another project is given up when asked to."""
    try:
        seat = links.read(links.path(app.places, *host))
    except links.Unsettled:
        return None
    if seat is None:
        return None
    other = App(seat["project"], app.env)
    now = other.status(seat["session"])
    if not now.state.is_active:
        return None
    if not replace:
        return f"{now.status_line} is active for: {now.state.task}"
    if other.project != app.project:
        other.cancel(seat["session"], confirmed=True, reason="replaced by another workflow")
    return None


def _parsed(arguments: str) -> tuple[str, str, bool]:
    """(name, task, replace): the first word and the rest, which may span lines."""
    words = arguments.split(None, 1)
    if words[:1] == ["--replace"]:
        name, task, _ = _parsed(words[1] if len(words) > 1 else "")
        return name, task, True
    return (words[0] if words else ""), (words[1].strip() if len(words) > 1 else ""), False


def _opening(app: App, view: View, host: tuple[str, str]) -> str:
    """The first message and the context, and a note that the agent has been told."""
    session = app.session(session_id(*host))
    card = session.card()
    remember(session.folder, mark_of(card))
    begin_turn(session.folder, {})
    return f"{view.message}\n\n{card['context']}"


def _listing(app: App) -> str:
    rows = [f"  {spec.command}  {spec.name}" for spec in app.catalog.visible()]
    return "\n".join(["/workflow NAME TASK begins a workflow. There are:", *rows])


def title(request: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """The title that the conversation gets when a start is typed; nothing if it will not start."""
    name, task, _ = _parsed(" ".join(request["text"].split(None, 1)[1:]))
    app = App(find_root(request["cwd"]), env)
    try:
        spec = app.catalog.find(name)
    except HandrailError:
        return {}
    return {"title": prompts.session_title(app.catalog.plan(spec), task)} if task else {}
