"""What a person types in a host: start a workflow, list them, cancel. Needs definitions, so the whole package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.app import App, View
from handrail.engine import links
from handrail.errors import HandrailError, RefusedError, StateError
from handrail.guided import prompts
from handrail.hooks.context import mark_of, pause, remember
from handrail.project import find_root


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
    words = arguments.strip()
    replace = words.startswith("--replace ")
    name, _, task = words.removeprefix("--replace ").strip().partition(" ")
    if not name:
        return {"stop": _listing(app)}
    spec = app.catalog.find(name)
    if not task.strip():
        return {"stop": f"Say what is to be done: /workflow {name} TASK"}
    try:
        view = app.start(name, task.strip(), f"{host[0]}-{host[1]}", replace=replace, host=host)
    except StateError:
        if not app.session(f"{host[0]}-{host[1]}").exists:
            links.remove(links.path(app.places, *host))
        raise
    except RefusedError:
        if (busy := links.read(links.path(app.places, *host))) is None:
            raise
        now = App(busy["project"], app.env).status(busy["session"])
        ask = f"{now.status_line} is active for: {now.state.task}\nTo give it up and begin this one, type:"
        return {"stop": f"{ask}\n/workflow --replace {spec.command} {task.strip()}"}
    return {"context": _opening(app, view, host)}


def _opening(app: App, view: View, host: tuple[str, str]) -> str:
    """The first message and the context, and a note that the agent has been told."""
    session = app.session(f"{host[0]}-{host[1]}")
    card = session.card()
    remember(session.folder, mark_of(card))
    pause(session.folder, False)
    return f"{view.message}\n\n{card['context']}"


def _listing(app: App) -> str:
    rows = [f"  {spec.command}  {spec.name}" for spec in app.catalog.visible()]
    return "\n".join(["/workflow NAME TASK begins a workflow. There are:", *rows])


def title(request: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """The title that the conversation gets when a start is typed; nothing if it will not start."""
    words = request["text"].partition(" ")[2].strip()
    name, _, task = words.removeprefix("--replace ").strip().partition(" ")
    app = App(find_root(request["cwd"]), env)
    try:
        spec = app.catalog.find(name)
    except HandrailError:
        return {}
    return {"title": prompts.session_title(app.catalog.plan(spec), task.strip())} if task.strip() else {}
