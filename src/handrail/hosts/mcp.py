"""The MCP server with `workflow_step`: newline-delimited JSON-RPC on stdin and stdout.

It does not use the MCP SDK: a host waits for this server before its first turn, and the SDK starts many times slower
(docs/design/mcp.md). The tests use the SDK's client. The host's hook adds the calling conversation to the arguments;
the model cannot set it. Standard library only; a call imports what it needs.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock

from handrail import FOR_ONE_CALL, STEP_TOOL, __version__, registry
from handrail.contracts.step import ACTIONS, TOOL
from handrail.errors import HandrailError
from handrail.state import jsonlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Thread
    from typing import Any

    from handrail.contracts import CheckContext
    from handrail.contracts.messages import StepCaller
    from handrail.sessions.links import SessionRef
    from handrail.sessions.report import Report
    from handrail.sessions.results import Place, Result
    from handrail.sessions.sessions import Leaving
    from handrail.workflows.plan import ExitCheck

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


class Call:
    """One request in progress. `cancel` is set while cancellable work runs."""

    def __init__(self, id_: Any, params: dict[str, Any]) -> None:
        self.id = id_
        self.params = params
        meta = params.get("_meta")
        self.meta: dict[str, Any] = meta if isinstance(meta, dict) else {}
        self.token = self.meta.get("progressToken")
        self.cancel: Callable[[], object] | None = None
        self.is_cancelled = False

    def withdraw(self) -> None:
        self.is_cancelled = True
        if self.cancel is not None:
            self.cancel()


class Server:
    """One connection to one host. Each tool call runs in its own thread, so that the server can answer others."""

    def __init__(self, agent: str, env: Mapping[str, str], say: Callable[[dict[str, Any]], None]) -> None:
        self.agent = agent
        self.env = env
        self.say = say
        self.calls: dict[str, Call] = {}
        self.threads: list[Thread] = []

    def take(self, line: str) -> None:
        """Handle one message of the host."""
        try:
            message = jsonlite.loads(line)
        except ValueError:
            return self.fail(None, -32700, "not JSON")
        if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
            return self.fail(None, -32600, "not a request")
        if "method" not in message:
            return None  # a response; this server sends no requests
        params = message["params"] if isinstance(message.get("params"), dict) else {}
        if "id" not in message:
            call = self.calls.get(jsonlite.dumps(params.get("requestId")))
            if message["method"] == "notifications/cancelled" and call is not None:
                call.withdraw()
            return None
        call = Call(message["id"], params)
        if message["method"] != "tools/call":
            return self.answer(call, message["method"])
        from threading import Thread

        self.calls[jsonlite.dumps(call.id)] = call
        self.threads = [thread for thread in self.threads if thread.is_alive()]
        self.threads.append(Thread(target=self.answer, args=(call, message["method"]), daemon=True))
        return self.threads[-1].start()

    def close(self) -> None:
        """Cancel all calls and wait for their threads."""
        for call in list(self.calls.values()):
            call.withdraw()
        for thread in self.threads:
            thread.join()

    def fail(self, id_: Any, code: int, message: str) -> None:
        self.say({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}})

    def answer(self, call: Call, method: str) -> None:
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

    def result(self, method: str, call: Call) -> dict[str, Any]:
        if method == "initialize":
            asked = call.params.get("protocolVersion")
            version = asked if asked in PROTOCOLS else PROTOCOLS[0]
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
            registry.host(self.agent)
            for module in (
                "threading",
                "handrail.hosts.context",
                "handrail.sessions.checking",
                "handrail.sessions.sessions",
            ):
                __import__(module)
        except Exception as error:  # noqa: BLE001 - the server goes on; the call itself will say what is missing
            sys.stderr.write(f"handrail: not prepared for calls: {type(error).__name__}: {error}\n")

    def call_tool(self, call: Call) -> dict[str, Any]:
        arguments = call.params.get("arguments") or {}
        if call.params.get("name") != STEP_TOOL or not isinstance(arguments, dict):
            return _text(f"There is no tool {call.params.get('name')}.", failed=True)
        action = arguments.get("action")
        if action not in ACTIONS:
            return _text(f"`action` has to be one of {', '.join(ACTIONS)}; it was {action!r}.", failed=True)
        host = registry.host(self.agent)
        caller = host.step_caller(arguments, call.meta)
        if caller["is_subagent"] and action != "status":
            return _text("Only the main conversation moves the workflow.", failed=True)
        from handrail.sessions import marks

        ref = self.session(caller["conversation"])
        if ref is None:
            start = f"A person starts one with {host.COMMANDS['start']} NAME TASK."
            return _text(f"No workflow is active in this conversation. {start}")
        if caller.get("needs_hook") and action != "status" and not marks.was_seen(ref.folder, caller["call"]):
            return _text(
                f"{NOT_GATED} The person repairs that in a terminal: `handrail install {self.agent}`.", failed=True
            )
        try:
            return self.step(call, ref, str(action), str(arguments.get("summary") or ""), caller)
        except HandrailError as error:
            return _text(error.message if error.hint is None else f"{error.message} ({error.hint})", failed=True)

    def session(self, conversation: str) -> SessionRef | None:
        """The session of a conversation; None if it has no workflow. The hook then passes an empty id."""
        conversation = self.env.get(FOR_ONE_CALL) or conversation
        from handrail.project import Places
        from handrail.sessions import links

        return links.read(links.path(Places(self.env), self.agent, conversation)) if conversation else None

    def step(self, call: Call, ref: SessionRef, action: str, summary: str, caller: StepCaller) -> dict[str, Any]:
        from handrail.hosts.context import mark_of
        from handrail.sessions import marks
        from handrail.sessions.machine import state_to_json

        report = self.act(call, ref, action, summary.strip(), caller.get("cwd", ""))
        if report.state.is_active and report.refusal is None:
            marks.remember(ref.folder, mark_of(state_to_json(report.state)), caller["call"])
        return _text(report.message, failed=report.refusal is not None)

    def act(self, call: Call, ref: SessionRef, action: str, summary: str, cwd: str) -> Report:
        import time

        from handrail.project import random_token
        from handrail.sessions.results import Place
        from handrail.sessions.sessions import Sessions

        sessions = Sessions(ref.project, self.env, time.time, random_token, lambda: f"agent:{self.agent}")
        if action == "next":
            from handrail.sessions.checking import check_context

            leaving = sessions.leaving(ref.session)
            context = check_context(sessions.project, self.env)
            results, place = self.checked(call, leaving, context, cwd) if leaving.checks else ((), Place(cwd))
            return sessions.leave(leaving, context.mask(summary), results, place)
        if action == "loop":
            return sessions.loop(ref.session)
        return sessions.cancel(ref.session, confirmed=False) if action == "cancel" else sessions.status(ref.session)

    def checked(
        self, call: Call, leaving: Leaving, context: CheckContext, cwd: str
    ) -> tuple[tuple[Result, ...], Place]:
        """The results of the exit checks, and where they ran. Raises `_Cancelled` if the host cancels its request."""
        import asyncio

        from handrail.project import Places
        from handrail.sessions.checking import run_checks, work_folder
        from handrail.sessions.results import Place
        from handrail.source.dataclasses import replace
        from handrail.trust.guard import Trust

        trust = Trust(Places(self.env).state, context.definitions)
        is_trusted = trust.holds(leaving.session.run())
        context = replace(context, project=work_folder(context.project, cwd))

        async def run() -> tuple[Result, ...]:
            checking = run_checks(leaving.checks, context, is_trusted, lambda c: self.tell(call, c))
            task = asyncio.ensure_future(checking)
            loop = asyncio.get_running_loop()
            call.cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            if call.is_cancelled:
                task.cancel()
            return await task

        try:
            return asyncio.run(run()), Place(cwd, context.project)
        except asyncio.CancelledError:
            raise _Cancelled from None
        finally:
            call.cancel = None

    def tell(self, call: Call, check: ExitCheck) -> None:
        if call.token is not None:
            params = {"progressToken": call.token, "progress": 0, "message": f"checking: {check.name}"}
            self.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def _text(text: str, *, failed: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def serve(agent: str, env: Mapping[str, str], kind: type[Server] = Server) -> None:
    """Answer messages until the host closes the connection."""
    lock = allocate_lock()

    def say(message: dict[str, Any]) -> None:
        with lock:
            sys.stdout.write(jsonlite.dumps(message) + "\n")
            sys.stdout.flush()

    server = kind(agent, env, say)
    while line := sys.stdin.buffer.readline(MAX_LINE):
        if text := line.decode("utf-8", "replace").strip():
            server.take(text)
    server.close()


def main(argv: list[str], command: str = "mcp", kind: type[Server] = Server) -> int:
    """`handrail mcp --agent NAME`, and other commands that serve in the same way."""
    agent = argv[1] if argv[:1] == ["--agent"] and len(argv) == 2 else ""
    if "/" in agent:
        __import__("handrail.hosts.plugged")  # by name: it needs third-party packages
        if not sys.modules["handrail.hosts.plugged"].find_plugins(agent, os.environ):
            return 2
    if not registry.is_host(agent):
        sys.stderr.write(f"error: `handrail {command} --agent` takes one of: {', '.join(registry.hosts())}\n")
        return 2
    try:
        serve(agent, os.environ, kind)
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    return 0
