"""`handrail hook AGENT`: one message of a host on stdin, at most one JSON object on stdout.

This is a new process for every tool call: each kind of request has its own module, which is imported on demand. With an
active workflow, it denies any call that it cannot decide. Standard library only, except for requests that need
definitions: for those it makes the installed packages importable first. Also prints the status line.
"""

from __future__ import annotations

import gc
import os
import sys

from handrail import FOR_ONE_CALL
from handrail.base import jsonlite
from handrail.base.files import refuse_shared
from handrail.extensions.registry import Registry, built_in_hosts
from handrail.guided.sessions import hook_files
from handrail.guided.sessions.gate import current_card, undecided, verdict
from handrail.guided.sessions.hook_files import SessionRef
from handrail.settings.folders import UserFolders, owning_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

    from handrail.extensions.contracts import Host
    from handrail.extensions.contracts.messages import HostAnswer, HostRequest, Verdict


def answer(host: Host, agent: str, request: HostRequest, env: Mapping[str, str]) -> HostAnswer:
    if needs_definitions(request):
        result: HostAnswer = import_lazily("handrail.agents.calls.commands").answer(host, agent, request, env)
        return result
    places = UserFolders(env)
    if request["event"] == "branch":
        from handrail.agents.calls.branches import follow_branch

        return follow_branch(agent, request, places)
    is_call = request["event"] in ("tool", "step")
    if is_call and (refused := _refuse_other_conversation(host, agent, request, env)) is not None:
        return refused
    ref = find_session(host, agent, request, places)
    if request["event"] == "step":  # a fork may begin with this call, so its session had to be found first
        from handrail.agents.calls.verdicts import step_verdict

        return step_verdict(host, agent, ref, request, places)
    if request["event"] == "tool":
        from handrail.agents.calls.verdicts import tool_verdict

        return tool_verdict(host, ref, request, places, env)
    if request["event"] == "stop":
        from handrail.agents.calls.turns import decide_stop

        return decide_stop(host, agent, ref, request, env)
    from handrail.agents.calls.turns import tell

    told = tell(host, ref, request)  # type: ignore[arg-type]  # commands need definitions, and are answered above
    if ref is not None and request["event"] == "begin" and request["source"] in ("resume", "fork"):
        _add_installed_packages()
        notice = import_lazily("handrail.agents.calls.commands").resumed_notice(agent, ref.project, env)
        return {**told, "notice": told["notice"] or notice}
    return told


def respond(
    host: Host, agent: str, data: Mapping[str, Any], request: HostRequest, env: Mapping[str, str]
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


def find_session(host: Host, agent: str, request: HostRequest, places: UserFolders) -> SessionRef | None:
    """The session of a conversation; None if it has none. A fork gets its own session once its parent is known."""
    if "project" in request:
        project, session = owning_project(places, request["project"]), request["conversation"]
        own = SessionRef(places.session(project, session), project, session)
        refuse_shared(places.state, own.folder)
        return own
    link = hook_files.link_path(places, agent, request["conversation"])
    try:
        refuse_shared(places.state, os.path.dirname(link))
        ref = hook_files.read_link(link)
        if ref is not None:
            refuse_shared(places.state, ref.folder)
        if ref is None and request["event"] == "begin" and request["source"] == "fork":
            from handrail.agents.calls.branches import expect_fork

            return expect_fork(host, agent, request, places)
        return ref
    except hook_files.UnsettledFork:
        from handrail.agents.calls.branches import settle_fork

        return settle_fork(host, agent, request, places)


def _refuse_other_conversation(host: Host, agent: str, request: HostRequest, env: Mapping[str, str]) -> Verdict | None:
    """Deny a call if message and environment name different conversations, and one of them has a workflow."""
    env_id, message_id = env.get(host.CONVERSATION or ""), request["conversation"]
    if not env_id or env_id == message_id or "project" in request:
        return None
    places = UserFolders(env)
    links = {id_: hook_files.link_path(places, agent, id_) for id_ in (env_id, message_id)}
    linked_ids = [id_ for id_, link in links.items() if not hook_files.is_link_absent(link)]
    if not linked_ids:
        return None
    why = f"the message comes from conversation {message_id}, but {host.CONVERSATION} names {env_id}"
    return undecided(str(request.get("tool")), why, f"{agent}-{linked_ids[0]}")


def needs_definitions(request: HostRequest) -> bool:
    """True if a person types a command, or a workflow of another program continues. This needs all packages."""
    if request["event"] == "branch":
        return request["foreign"] is not None
    return request["event"] in ("command", "names") or (request["event"] == "prompt" and request["starts"] is not None)


def _add_installed_packages() -> None:
    """Make the installed packages importable, if this process began without them (`-S`)."""
    if sys.flags.no_site:
        import_lazily("site").main()


def import_lazily(name: str) -> Any:
    """Import a module that needs third-party packages only when a request needs it."""
    __import__(name)
    return sys.modules[name]


def find_registry(agent: str, env: Mapping[str, str]) -> Registry | None:
    """What knows an agent. None if it is of a plugin that cannot be used; the reason was printed."""
    if "/" not in agent:
        return Registry()
    registry: Registry | None = import_lazily("handrail.agents.calls.commands").find_registry(agent, env)
    return registry


def refuse(agent: str, request: HostRequest, env: Mapping[str, str], error: Exception) -> HostAnswer:
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
    if hook_files.is_link_absent(hook_files.link_path(UserFolders(env), agent, conversation)):
        return verdict(None, tool)
    return undecided(tool, why, f"{agent}-{conversation}", names)


SECONDS = 10
"""After this time the system kills the hook. Everything that a hook waits for has to give up earlier."""
STATUS_LINE = "status-line"
USAGE = """\
usage: handrail hook AGENT [status-line]

Answers one hook message of an agent: JSON on stdin, JSON on stdout. Installed stubs call this.
"""


def run(argv: list[str], env: Mapping[str, str]) -> NoReturn:
    end(main(argv, env))


def end(code: int) -> NoReturn:
    """End the process at once: Python's own clean-up takes longer than an answer."""
    try:
        sys.stdout.flush()
    except OSError:
        os._exit(1)  # the host no longer reads
    os._exit(code)


def main(argv: list[str], env: Mapping[str, str]) -> int:
    agent, *rest = argv or [""]
    if agent in ("-h", "--help"):
        sys.stdout.write(f"{USAGE}agents: {', '.join(built_in_hosts())}\n")
        return 0
    registry = find_registry(agent, env)
    if registry is None:
        return 2
    if not registry.is_host(agent) or rest not in ([], [STATUS_LINE]):
        sys.stderr.write(f"error: `handrail hook` takes one of these agents: {', '.join(registry.hosts())}\n")
        return 2
    gc.disable()  # this process ends before there is garbage to collect
    _end_after(SECONDS)
    host, body = registry.host(agent), sys.stdin.buffer.read().decode("utf-8", "replace")
    if rest:
        sys.stdout.write(status_line(host, agent, body, env) + "\n")
        return 0
    return _answer_message(host, agent, body, env)


def _end_after(seconds: int) -> None:
    """Let the system kill this process after some seconds: the stub then denies the call."""
    try:
        from _signal import alarm  # type: ignore[import-not-found]  # `signal` imports `enum`, which costs more
    except ImportError:  # another interpreter: only the host's own timeout applies
        return
    alarm(seconds)


def _answer_message(host: Host, agent: str, body: str, env: Mapping[str, str]) -> int:
    try:
        data = jsonlite.loads(body)
        request = host.request(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        sys.stderr.write(f"error: not a request: {type(error).__name__}: {error}\n")
        return 2
    if request is None:
        return 0
    if needs_definitions(request):
        _add_installed_packages()
    if (reply := respond(host, agent, data, request, env)) is not None:
        sys.stdout.write(jsonlite.dumps(reply) + "\n")
    return 0


def status_line(host: Host, agent: str, body: str, env: Mapping[str, str]) -> str:
    """One line to show; empty if no workflow is active. Raises nothing: an error is shown by its name.

    If the agent was allowed to stop, the line says why, until the next prompt.
    """
    try:
        conversation = host.conversation(jsonlite.loads(body))
        ref = hook_files.read_link(hook_files.link_path(UserFolders(env), agent, conversation))
        card = current_card(ref) if ref else None
        line = (card["statusLine"] or "") if card else ""
        if ref and line and (why := hook_files.mark_text(ref.folder, hook_files.LET_GO)):
            line = f"{line} · {why}"
        return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    except hook_files.UnsettledFork:
        return ""
    except Exception as error:  # noqa: BLE001 - people see the status line, but not a traceback
        return f"handrail: {type(error).__name__}"
