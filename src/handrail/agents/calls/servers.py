"""The servers that an agent keeps open: `handrail mcp` with `workflow_step`, and `handrail serve`.

Newline-delimited JSON-RPC without the MCP SDK, which starts many times slower (docs/design/mcp.md). `serve` is for
plugins: one more method, `hook`, takes a message of the host. Standard library only; a call imports what it needs.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock

from handrail import FOR_ONE_CALL, STEP_TOOL, __version__
from handrail.agents.calls.hook import find_registry, import_lazily, respond
from handrail.base import jsonlite
from handrail.base.errors import HandrailError, RefusedError
from handrail.extensions.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from threading import Thread
    from typing import Any

    from handrail.extensions.contracts.messages import SessionPosition, StepCaller
    from handrail.guided.sessions.hook_files import SessionRef
    from handrail.guided.sessions.sessions import Sessions
    from handrail.guided.sessions.store import SessionReport
    from handrail.guided.workflows.plan import ExitCheck

ACTIONS = ("status", "next", "loop", "blocked", "cancel")
TOOL: dict[str, Any] = {
    "name": STEP_TOOL,
    "title": "Workflow step",
    "description": (
        "Moves through the workflow that is active in this conversation. `next`: the current phase is finished, show "
        "the next one; Handrail first runs the exit checks of the phase and refuses if one fails. `status`: show the "
        "current phase and what to do now. `loop`: restart the current part of the workflow. `blocked`: you cannot go "
        "on without a person; say why. `cancel`: ask to cancel the workflow; say why."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(ACTIONS)},
            "summary": {"type": "string", "description": "With `next`: what was done in this phase, in a line or two."},
            "reason": {"type": "string", "description": "With `blocked` and `cancel`: why, in a line or two."},
            "question": {"type": "string", "description": "With `blocked`: what the person has to decide or tell you."},
        },
        "required": ["action"],
    },
}
"""The tool `workflow_step` as agents see it."""
PROTOCOLS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MAX_LINE = 16 * 1024 * 1024
NOT_GATED = (
    "The workflow stays in its phase: Handrail's hook did not see this call, so nothing holds you to the phase. "
    "Stop, and tell the person that the hooks of Handrail do not run here."
)


class _NoMethod(Exception):
    """The host calls a method that this server does not have."""


class _Cancelled(Exception):
    """The host cancelled its request."""


class RpcCall:
    """One request in progress. `cancel` is set while cancellable work runs."""

    def __init__(self, id_: Any, params: dict[str, Any]) -> None:
        self.id = id_
        self.params = params
        self.meta = jsonlite.within(params, "_meta")
        self.token = self.meta.get("progressToken")
        self.cancel: Callable[[], object] | None = None
        self.is_cancelled = False

    def withdraw(self) -> None:
        self.is_cancelled = True
        if self.cancel is not None:
            self.cancel()


class McpServer:
    """One connection to one host. Each tool call runs in its own thread, so that the server can answer others."""

    def __init__(
        self, agent: str, registry: Registry, env: Mapping[str, str], say: Callable[[dict[str, Any]], None]
    ) -> None:
        self.agent = agent
        self.registry = registry
        self.env = env
        self.say = say
        self.calls: dict[str, RpcCall] = {}
        self.threads: list[Thread] = []

    def take(self, line: str) -> None:
        try:
            message = jsonlite.loads(line)
        except ValueError:
            return self.fail(None, -32700, "not JSON")
        if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
            return self.fail(None, -32600, "not a request")
        if "method" not in message:
            return None  # a response; this server sends no requests
        params = jsonlite.within(message, "params")
        if "id" not in message:
            call = self.calls.get(jsonlite.dumps(params.get("requestId")))
            if message["method"] == "notifications/cancelled" and call is not None:
                call.withdraw()
            return None
        call = RpcCall(message["id"], params)
        if message["method"] != "tools/call":
            return self.answer(call, message["method"])
        from threading import Thread

        self.calls[jsonlite.dumps(call.id)] = call
        self.threads = [thread for thread in self.threads if thread.is_alive()]
        self.threads.append(Thread(target=self.answer, args=(call, message["method"]), daemon=True))
        return self.threads[-1].start()

    def close(self) -> None:
        for call in list(self.calls.values()):
            call.withdraw()
        for thread in self.threads:
            thread.join()

    def fail(self, id_: Any, code: int, message: str) -> None:
        self.say({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}})

    def answer(self, call: RpcCall, method: str) -> None:
        try:
            result = self.result(method, call)
        except _NoMethod as error:
            self.fail(call.id, -32601, f"no method {error}")
        except _Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - the outermost edge: the host needs an answer after any error
            self.fail(call.id, -32603, f"{type(error).__name__}: {error}")
        else:
            self.say({"jsonrpc": "2.0", "id": call.id, "result": result})
            if method == "tools/list":
                self.prepare()
        finally:
            self.calls.pop(jsonlite.dumps(call.id), None)

    def result(self, method: str, call: RpcCall) -> dict[str, Any]:
        if method == "initialize":
            requested = call.params.get("protocolVersion")
            version = requested if requested in PROTOCOLS else PROTOCOLS[0]
            about = {"name": "handrail", "version": __version__}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": [TOOL]}
        if method == "tools/call":
            return self.call_tool(call)
        raise _NoMethod(method)

    def prepare(self) -> None:
        """Import what a call needs now, while the model thinks, and not while it waits for its result."""
        try:
            self.registry.host(self.agent)
            for module in (
                "threading",
                "handrail.extensions.contracts",
                "handrail.agents.calls.turns",
                "handrail.guided.sessions.exit_checks",
                "handrail.guided.sessions.sessions",
            ):
                __import__(module)
        except Exception as error:  # noqa: BLE001 - the server goes on; the call itself will say what is missing
            sys.stderr.write(f"handrail: not prepared for calls: {type(error).__name__}: {error}\n")

    def call_tool(self, call: RpcCall) -> dict[str, Any]:
        arguments = call.params.get("arguments") or {}
        if call.params.get("name") != STEP_TOOL or not isinstance(arguments, dict):
            return _text_result(f"There is no tool {call.params.get('name')}.", failed=True)
        action = arguments.get("action")
        if action not in ACTIONS:
            return _text_result(f"`action` has to be one of {', '.join(ACTIONS)}; it was {action!r}.", failed=True)
        host = self.registry.host(self.agent)
        caller = host.step_caller(arguments, call.meta)
        if caller["is_subagent"] and action != "status":
            return _text_result("Only the main conversation moves the workflow.", failed=True)
        from handrail.guided.sessions import hook_files

        ref = self.session(caller["conversation"])
        hidden = self.session(self.env.get(host.CONVERSATION or "") or "") if not caller["conversation"] else None
        if ref is None and hidden is None:
            start = f"A person starts one with {host.COMMANDS['start']} NAME TASK."
            return _text_result(f"No workflow is active in this conversation. {start}")
        is_seen = not caller.get("needs_hook") or (ref is not None and hook_files.was_seen(ref.folder, caller["call"]))
        if ref is None or (action != "status" and not is_seen):
            return _text_result(
                f"{NOT_GATED} The person repairs that in a terminal: `handrail install {self.agent}`.", failed=True
            )
        try:
            return self.step(call, ref, arguments, caller)
        except HandrailError as error:
            return _text_result(error.message if error.hint is None else f"{error.message} ({error.hint})", failed=True)

    def session(self, conversation: str) -> SessionRef | None:
        """The session of a conversation; None if it has no workflow. The hook then passes an empty id."""
        conversation = self.env.get(FOR_ONE_CALL) or conversation
        from handrail.guided.sessions import hook_files
        from handrail.settings.folders import UserFolders

        if not conversation:
            return None
        return hook_files.read_link(hook_files.link_path(UserFolders(self.env), self.agent, conversation))

    def step(self, call: RpcCall, ref: SessionRef, arguments: Mapping[str, Any], caller: StepCaller) -> dict[str, Any]:
        import time

        from handrail.agents.calls.turns import context_mark
        from handrail.guided.sessions import hook_files
        from handrail.guided.sessions.machine import state_to_json
        from handrail.guided.sessions.sessions import Sessions
        from handrail.settings.folders import random_token

        practices = lambda *phase: import_lazily("handrail.steps.playbook.guidance").practices_for(*phase)  # noqa: E731
        sessions = Sessions(ref.project, self.env, time.time, random_token, practices, lambda: f"agent:{self.agent}")
        action, summary = arguments["action"], str(arguments.get("summary") or "").strip()
        if action == "next":
            report = self.next(call, sessions, ref.session, summary, caller.get("cwd", ""))
        elif action == "loop":
            report = sessions.loop(ref.session)
        elif action == "status":
            report = sessions.status(ref.session)
        else:
            report = self.ask_person(sessions, ref.session, action, arguments)
        if report.state.is_active and report.refusal is None:
            hook_files.remember_shown(ref.folder, context_mark(state_to_json(report.state)), caller["call"])
        is_unseen = report.state.status == "done" and not getattr(self.registry.host(self.agent), "SHOWS_END", True)
        tail = "\n\nThe person does not see this. Tell them how the workflow ended." if is_unseen else ""
        return _text_result(report.message + tail, failed=report.refusal is not None)

    def ask_person(self, sessions: Sessions, session: str, action: str, arguments: Mapping[str, Any]) -> SessionReport:
        """`blocked` or `cancel`: a person is asked, and told that they are."""
        from handrail.guided.sessions.exit_checks import check_context
        from handrail.guided.sessions.machine import Block, Cancel

        mask = check_context(sessions.project, self.env, self.registry, "").mask
        given = (mask(str(arguments.get(name) or "").strip()) for name in ("reason", "summary", "question"))
        reason, summary, question = given
        reason = reason or summary or question
        if action == "blocked" and not reason:
            raise RefusedError('"blocked" needs a `reason`: what keeps you from going on')
        command = Cancel(False, reason, by_agent=True) if action == "cancel" else Block(reason, question)
        report = sessions.ask_person(session, command)
        if report.event is not None and report.state.question:
            import_lazily("handrail.project.notifications").tell_of_session(sessions.project, self.env, report)
        return report

    def next(self, call: RpcCall, sessions: Sessions, session: str, summary: str, cwd: str) -> SessionReport:
        from handrail.guided.sessions.exit_checks import check_context
        from handrail.guided.sessions.machine import WorkFolders
        from handrail.guided.sessions.sessions import PhaseExit
        from handrail.settings.trust import Trust

        leaving, project = sessions.leaving(session), sessions.project
        registry = Registry(lambda: import_lazily("handrail.app").App(project, self.env).definitions.plugins)
        where = cwd if leaving.checks else ""
        context = check_context(project, self.env, registry, where, leaving.session.entered)
        place = WorkFolders(cwd, context.project if leaving.checks else "")
        way = PhaseExit(context, Trust(sessions.places.state, project), lambda check: self.tell(call, check), place)
        moving = sessions.next(leaving, summary, way)
        return self.cancellable(call, moving) if leaving.checks else _result_without_waiting(moving)

    def cancellable(self, call: RpcCall, moving: Coroutine[Any, Any, SessionReport]) -> SessionReport:
        """The result of a coroutine. Raises `_Cancelled` if the host cancels its request."""
        import asyncio

        async def run() -> SessionReport:
            task = asyncio.ensure_future(moving)
            loop = asyncio.get_running_loop()
            call.cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            if call.is_cancelled:
                task.cancel()
            return await task

        try:
            return asyncio.run(run())
        except asyncio.CancelledError:
            raise _Cancelled from None
        finally:
            call.cancel = None

    def tell(self, call: RpcCall, check: ExitCheck) -> None:
        if call.token is not None:
            params = {"progressToken": call.token, "progress": 0, "message": f"checking: {check.name}"}
            self.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def _result_without_waiting(moving: Coroutine[Any, Any, SessionReport]) -> SessionReport:
    """The result of a coroutine that has nothing to wait for. Importing `asyncio` takes longer than starting Python."""
    try:
        moving.send(None)
    except StopIteration as end:
        report: SessionReport = end.value
        return report
    raise AssertionError("a move without checks waits for nothing")


def _text_result(text: str, *, failed: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def serve(agent: str, registry: Registry, env: Mapping[str, str], kind: type[McpServer] = McpServer) -> None:
    lock = allocate_lock()

    def say(message: dict[str, Any]) -> None:
        with lock:
            sys.stdout.write(jsonlite.dumps(message) + "\n")
            sys.stdout.flush()

    server = kind(agent, registry, env, say)
    while line := sys.stdin.buffer.readline(MAX_LINE):
        if text := line.decode("utf-8", "replace").strip():
            server.take(text)
    server.close()


def mcp_main(argv: list[str], command: str = "mcp", kind: type[McpServer] = McpServer) -> int:
    """`handrail mcp --agent NAME`, and other commands that serve in the same way."""
    agent = argv[1] if argv[:1] == ["--agent"] and len(argv) == 2 else ""
    registry = find_registry(agent, os.environ)
    if registry is None:
        return 2
    if not registry.is_host(agent):
        sys.stderr.write(f"error: `handrail {command} --agent` takes one of: {', '.join(registry.hosts())}\n")
        return 2
    try:
        serve(agent, registry, os.environ, kind)
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    return 0


HOOK = "hook"
KEEPS = "keeps"
"""A parameter of `hook`: False if the plugin cannot store a place in the history now."""


class HookServer(McpServer):
    """A connection that also answers hooks. They are quick, so they are answered one after the other."""

    def result(self, method: str, call: RpcCall) -> dict[str, Any]:
        if method != HOOK:
            return super().result(method, call)
        host = self.registry.host(self.agent)
        request = host.request(call.params)
        if request is None:
            return {"reply": None}
        before = self.readable_session(request["conversation"])  # the link is gone after the end
        reply = respond(host, self.agent, call.params, request, self.env)
        if request["event"] in ("tool", "step", "model", "names") or call.params.get(KEEPS) is False:
            return {"reply": reply}
        ref = self.readable_session(request["conversation"]) or before
        if ref is None:
            return {"reply": reply, "standing": None}
        at = request["at"] if request["event"] == "branch" and request["foreign"] is None else None
        return {"reply": reply, "standing": standing_of(ref, is_known=at is not None and at["session"] == ref.session)}

    def call_tool(self, call: RpcCall) -> dict[str, Any]:
        caller = self.registry.host(self.agent).step_caller(call.params.get("arguments") or {}, call.meta)
        ref = None if caller["is_subagent"] else self.readable_session(caller["conversation"])
        return {**super().call_tool(call), "standing": None if ref is None else standing_of(ref)}

    def readable_session(self, conversation: str) -> SessionRef | None:
        """The session of a conversation; None if it has none, or if it cannot be read."""
        try:
            return self.session(conversation)
        except (ValueError, OSError):
            return None


def standing_of(ref: SessionRef, *, is_known: bool = False) -> SessionPosition | None:
    """Where a session is; None if that cannot be read. The host stores this place if it is new.

    `is_known`: the session was just brought to a place that the host has stored already.
    """
    from handrail.agents.calls.turns import context_mark
    from handrail.base.errors import StateError
    from handrail.guided.sessions import hook_files
    from handrail.guided.sessions.gate import current_card

    try:
        card = current_card(ref) and hook_files.read_fresh_card(ref.folder)
    except (StateError, ValueError, OSError):
        return None
    if not card:
        return None
    number, status = str(card["number"]), card["state"]["status"]
    is_new = not is_known and status != "none" and hook_files.mark_text(ref.folder, hook_files.BRANCH) != number
    if is_new:
        hook_files.set_mark(ref.folder, hook_files.BRANCH, number)
    return {
        "session": ref.session,
        "project": ref.project,
        "number": card["number"],
        "mark": context_mark(card["state"]),
        "status": status,
        "status_line": card["statusLine"],
        "title": card["title"],
        "is_new": is_new,
    }


def serve_main(argv: list[str]) -> int:
    return mcp_main(argv[1:] if argv[:1] == ["--stdio"] else argv, "serve --stdio", HookServer)
