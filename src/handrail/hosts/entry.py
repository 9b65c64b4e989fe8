"""Entry point of hosts' hooks: a new process for every tool call an agent makes, so it stays small.

Reads the session's card, answers, ends. Only a card that is behind its journal costs more. With no active
workflow it says nothing; while one is active, what it cannot decide it denies. Standard library only; the few
events that need definitions run again with the whole package.
"""

from __future__ import annotations

import os
import sys

from handrail.project import Places
from handrail.sessions import links
from handrail.sessions.gate import undecided, verdict
from handrail.state import jsonlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

HOSTS = {"claude": "handrail.agents.claude.protocol"}


def answer(agent: str, request: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """Our answer to a request in our own words. `seat` is the session's folder, project and id, if it has one."""
    seat: dict[str, Any] | None
    if "session" in request:
        folder = Places(env).session(request["project"], request["session"])
        seat = {"folder": folder, "project": request["project"], "session": request["session"]}
    else:
        seat = _linked(agent, request, env)
    event = request["event"]
    if event == "tool":
        from handrail.hosts.tools import tool

        return tool(seat, request)
    if event == "step":
        from handrail.hosts.tools import step

        return step(request)
    if needs_definitions(request):
        return _whole("handrail.hosts.commands").answer(agent, request, env)  # type: ignore[no-any-return]
    if event in ("prompt", "begin", "subagent"):
        from handrail.hosts import context

        return context.answer(seat, request)
    if event == "stop":
        from handrail.hosts.stops import stop

        return stop(seat, request)
    raise ValueError("unknown event: " + str(event))


def _linked(agent: str, request: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any] | None:
    """Where the conversation's session is. A fork gets one of its own when it is known whose fork it is."""
    try:
        seat = links.read(links.path(Places(env), agent, request["conversation"]))
        if seat is None and request.get("source") == "fork":
            from handrail.hosts.forks import expect

            return expect(agent, request, env)
        return seat
    except links.Unsettled:
        from handrail.hosts.forks import settle

        return settle(agent, request, env)


def needs_definitions(request: dict[str, Any]) -> bool:
    return bool(request["event"] == "command" or request.get("is_command"))


def _whole(name: str) -> Any:
    """A module that needs the whole package; not for the hook's own path."""
    __import__(name)
    return sys.modules[name]


def run_whole(agent: str, body: str) -> None:
    """Become the same hook with all packages at hand. Does not return."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(body.encode("utf-8", "surrogatepass"))
        file.flush()
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        os.dup2(file.fileno(), 0)
        os.execv(sys.executable, [sys.executable, "-I", "-m", "handrail", "hook", agent])  # noqa: S606 - ourselves


def refuse(agent: str, request: dict[str, Any], env: Mapping[str, str], error: Exception) -> dict[str, Any]:
    """What to answer when something of ours failed: closed for tools while a workflow is active, else a notice."""
    why = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
    if request["event"] not in ("tool", "step"):
        return {"notice": f"Handrail could not answer this: {why}"}
    linked = "session" in request or os.path.lexists(links.path(Places(env), agent, request["conversation"]))
    if not linked:
        return verdict(None, str(request.get("tool")))
    session = str(request.get("session") or f"{agent}-{request.get('conversation')}")
    return undecided(str(request.get("tool")), why, session, request.get("aliases") or ())


def main(argv: list[str], env: Mapping[str, str]) -> int:
    """`handrail hook AGENT`: one JSON message on stdin, at most one JSON object on stdout."""
    agent, *rest = argv or [""]
    if (agent != "scripted" and agent not in HOSTS) or rest not in ([], ["status-line"]):
        sys.stderr.write(f"error: `handrail hook` takes one of these agents: scripted, {', '.join(HOSTS)}\n")
        return 2
    body = sys.stdin.buffer.read().decode("utf-8", "replace")
    if rest:
        from handrail.hosts.statusline import status_line

        sys.stdout.write(status_line(agent, body, env) + "\n")
        return 0
    return _answer_host(agent, body, env)


def _answer_host(agent: str, body: str, env: Mapping[str, str]) -> int:
    host: Any = None
    try:
        data = jsonlite.loads(body)
        if agent in HOSTS:
            host = _whole(HOSTS[agent])
        request = host.request(data) if host else data
        if request is None:
            return 0
        request["event"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        sys.stderr.write(f"error: not a request: {error}\n")
        return 2
    if sys.flags.no_site and needs_definitions(request):
        run_whole(agent, body)
    try:
        reply = answer(agent, request, env)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the answer has to be one that the host obeys
        reply = refuse(agent, request, env, error)
    said = host.reply(data, request, reply) if host else reply
    if said is not None:
        sys.stdout.write(jsonlite.dumps(said) + "\n")
    return 0
