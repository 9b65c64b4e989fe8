"""Answers a host's request. Each kind of request has its own module, which is imported on demand.

Independent of the host: the `host` argument translates. Standard library only, except for requests that need
definitions.
"""

from __future__ import annotations

import os
import sys

from handrail import FOR_ONE_CALL
from handrail.project import Places, home_of
from handrail.sessions import links
from handrail.sessions.gate import undecided, verdict
from handrail.sessions.links import SessionRef
from handrail.state.private import refuse_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.contracts import Host
    from handrail.contracts.messages import Answer, Request, Verdict


def answer(host: Host, agent: str, request: Request, env: Mapping[str, str]) -> Answer:
    if needs_definitions(request):
        result: Answer = import_lazily("handrail.hosts.commands").answer(host, agent, request, env)
        return result
    places = Places(env)
    if request["event"] == "branch":
        from handrail.hosts.branches import follow

        return follow(agent, request, places)
    if request["event"] in ("tool", "step") and (refused := _refuse_other(host, agent, request, env)) is not None:
        return refused
    ref = find_session(agent, request, places)
    if request["event"] == "step":  # a fork may begin with this call, so its session had to be found first
        from handrail.hosts.tools import step

        return step(agent, ref, request, places)
    if request["event"] == "tool":
        from handrail.hosts.tools import judge

        return judge(host, ref, request, places, env)
    if request["event"] == "stop":
        from handrail.hosts.stops import decide

        return decide(host, agent, ref, request, env)
    from handrail.hosts.context import tell

    return tell(host, ref, request)  # type: ignore[arg-type]  # commands need definitions, and are answered above


def respond(
    host: Host, agent: str, data: Mapping[str, Any], request: Request, env: Mapping[str, str]
) -> Mapping[str, Any] | None:
    """The answer to a host's message in the host's words. After any error there still is a valid one.

    Stubs that are made for one call know their conversation, whatever id the agent gives it.
    """
    if env.get(FOR_ONE_CALL):
        request["conversation"] = env[FOR_ONE_CALL]
    try:
        reply = answer(host, agent, request, env)
    except Exception as error:  # noqa: BLE001 - the host needs an answer
        reply = refuse(agent, request, env, error)
    return host.reply(data, request, reply)


def find_session(agent: str, request: Request, places: Places) -> SessionRef | None:
    """The session of a conversation; None if it has none. A fork gets its own session once its parent is known."""
    if "project" in request:
        project, session = home_of(places, request["project"]), request["conversation"]
        own = SessionRef(places.session(project, session), project, session)
        refuse_shared(places.state, own.folder)
        return own
    link = links.path(places, agent, request["conversation"])
    try:
        refuse_shared(places.state, os.path.dirname(link))
        ref = links.read(link)
        if ref is not None:
            refuse_shared(places.state, ref.folder)
        if ref is None and request["event"] == "begin" and request["source"] == "fork":
            from handrail.hosts.forks import expect

            return expect(agent, request, places)
        return ref
    except links.Unsettled:
        from handrail.hosts.forks import settle

        return settle(agent, request, places)


def _refuse_other(host: Host, agent: str, request: Request, env: Mapping[str, str]) -> Verdict | None:
    """Deny a call if message and environment name different conversations, and one of them has a workflow."""
    named, asked = env.get(host.CONVERSATION or ""), request["conversation"]
    if not named or named == asked or "project" in request:
        return None
    linked = [id_ for id_ in (named, asked) if not links.is_absent(links.path(Places(env), agent, id_))]
    if not linked:
        return None
    why = f"the message comes from conversation {asked}, but {host.CONVERSATION} names {named}"
    return undecided(str(request.get("tool")), why, f"{agent}-{linked[0]}")


def needs_definitions(request: Request) -> bool:
    """True if a person types a command, or a workflow of another program continues. This needs all packages."""
    if request["event"] == "branch":
        return request["foreign"] is not None
    return request["event"] in ("command", "names") or (request["event"] == "prompt" and request["starts"] is not None)


def import_lazily(name: str) -> Any:
    """Import a module that needs third-party packages only when a request needs it."""
    __import__(name)
    return sys.modules[name]


def refuse(agent: str, request: Request, env: Mapping[str, str], error: Exception) -> Answer:
    """The answer after an error: stop a command, deny a tool call if a workflow is active, else give a notice."""
    why = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
    if request["event"] == "command":
        return {"kind": "held", "text": f"Handrail could not carry out this command: {why}"}
    if request["event"] not in ("tool", "step"):
        return {"kind": "notice", "text": f"Handrail could not handle this event: {why}"}
    tool, conversation = str(request.get("tool")), request["conversation"]
    names = request["aliases"] if request["event"] == "tool" else ()
    if "project" in request:
        return undecided(tool, why, conversation, names)
    if links.is_absent(links.path(Places(env), agent, conversation)):
        return verdict(None, tool)
    return undecided(tool, why, f"{agent}-{conversation}", names)
