"""The MCP server with `workflow_step`: newline-delimited JSON-RPC on stdin and stdout.

One tool and six methods, so it is written out here: the maintained SDK starts eleven times slower and brings 27
packages, and a host waits for this server before its first turn (docs/design/mcp.md). The SDK's client is in
the tests. Which conversation calls is said by the host's hook, in arguments that the model cannot set.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from handrail import STEP_TOOL, __version__
from handrail.app import App
from handrail.errors import HandrailError
from handrail.hosts.context import mark_of, remember
from handrail.project import Places
from handrail.sessions import links
from handrail.sessions.report import View
from handrail.workflows.plan import Check

PROTOCOLS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MAX_LINE = 16 * 1024 * 1024
ACTIONS = ("status", "next", "loop", "cancel")
TOOL: dict[str, Any] = {
    "name": STEP_TOOL,
    "title": "Workflow step",
    "description": (
        "Moves through the workflow that is active in this conversation. `next`: the current phase is finished, show "
        "the next one; Handrail first runs the exit checks of the phase and refuses if they do not hold. `status`: "
        "where the workflow stands and what to do now. `loop`: start the current part over. `cancel`: give the "
        "workflow up; has to be called twice in a row."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(ACTIONS)},
            "summary": {"type": "string", "description": "With `next`: what was done in this phase, in a line or two."},
        },
        "required": ["action"],
    },
}

Say = Callable[[dict[str, Any]], None]


class _NoMethod(Exception):
    """The host asks for something that this server does not offer."""


class Server:
    """One connection to one host."""

    def __init__(self, agent: str, env: Mapping[str, str], say: Say) -> None:
        self.agent = agent
        self.env = env
        self.say = say
        self.running: dict[str, asyncio.Task[None]] = {}

    def take(self, line: str) -> None:
        """One message of the host. A request is answered when it is done; others may come meanwhile."""
        try:
            message = json.loads(line)
        except ValueError:
            return self.fail(None, -32700, "not JSON")
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return (
                None
                if isinstance(message, dict) and "method" not in message
                else self.fail(None, -32600, "not a request")
            )
        params = message["params"] if isinstance(message.get("params"), dict) else {}
        if "id" not in message:
            task = self.running.get(json.dumps(params.get("requestId")))
            if message["method"] == "notifications/cancelled" and task is not None:
                task.cancel()
            return None
        key = json.dumps(message["id"])
        task = asyncio.get_running_loop().create_task(self.answer(message["id"], message["method"], params))
        self.running[key] = task
        task.add_done_callback(lambda _: self.running.pop(key, None))
        return None

    def fail(self, id_: Any, code: int, message: str) -> None:
        self.say({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}})

    async def answer(self, id_: Any, method: str, params: dict[str, Any]) -> None:
        try:
            result = await self.result(method, params)
        except _NoMethod as error:
            return self.fail(id_, -32601, f"no method {error}")
        except Exception as error:  # noqa: BLE001 - the edge of this surface: the host gets an answer in any case
            return self.fail(id_, -32603, f"{type(error).__name__}: {error}")
        return self.say({"jsonrpc": "2.0", "id": id_, "result": result})

    async def result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                asked = params.get("protocolVersion")
                version = asked if asked in PROTOCOLS else PROTOCOLS[0]
                about = {"name": "handrail", "version": __version__}
                return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [TOOL]}
            case "tools/call":
                return await self.call(params)
            case _:
                raise _NoMethod(method)

    async def call(self, params: dict[str, Any]) -> dict[str, Any]:
        arguments = params.get("arguments") or {}
        if params.get("name") != STEP_TOOL or not isinstance(arguments, dict):
            return _text(f"There is no tool {params.get('name')}.", failed=True)
        action = arguments.get("action")
        if action not in ACTIONS:
            return _text(f"`action` has to be one of {', '.join(ACTIONS)}; it was {action!r}.", failed=True)
        if arguments.get("agent_id") and action != "status":
            return _text("Only the main conversation moves the workflow.", failed=True)
        conversation = str(arguments.get("session_id") or "")
        if not conversation:
            return _text("Handrail's hook did not say which conversation this is; nothing was done.", failed=True)
        seat = links.read(links.path(Places(self.env), self.agent, conversation))
        if seat is None:
            return _text("No workflow is active in this conversation. A person begins one with /workflow NAME TASK.")
        try:
            call = str(arguments.get("call_id") or "")
            return await self.step(seat, action, str(arguments.get("summary") or ""), _token(params), call)
        except HandrailError as error:
            return _text(error.message if error.hint is None else f"{error.message} ({error.hint})", failed=True)

    async def step(self, seat: dict[str, Any], action: str, summary: str, token: Any, call: str) -> dict[str, Any]:
        app = App(seat["project"], self.env)
        view = await self.act(app, seat["session"], action, summary, token)
        if view.state.is_active and view.refusal is None:
            remember(seat["folder"], mark_of({"state": view.state._asdict()}), call)
        return _text(view.message, failed=view.refusal is not None)

    async def act(self, app: App, session: str, action: str, summary: str, token: Any) -> View:
        if action == "next":
            return await app.next(session, summary.strip(), lambda check: self.progress(token, check))
        if action == "loop":
            return app.loop(session)
        return app.cancel(session, confirmed=False) if action == "cancel" else app.status(session)

    def progress(self, token: Any, check: Check) -> None:
        if token is not None:
            params = {"progressToken": token, "progress": 0, "message": f"checking: {check.name}"}
            self.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def _token(params: dict[str, Any]) -> Any:
    meta = params.get("_meta")
    return meta.get("progressToken") if isinstance(meta, dict) else None


def _text(text: str, *, failed: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": failed}


async def serve(agent: str, env: Mapping[str, str]) -> None:
    """Answer until the host closes the connection."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        """In a thread of its own: whatever stdin is, it can be read, and nothing waits for it at the end."""
        while line := sys.stdin.buffer.readline(MAX_LINE):
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, b"")

    threading.Thread(target=read, daemon=True).start()

    def say(message: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    server = Server(agent, env, say)
    while line := await lines.get():
        if text := line.decode("utf-8", "replace").strip():
            server.take(text)
    waiting = list(server.running.values())
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


def main(agent: str) -> int:
    try:
        asyncio.run(serve(agent, os.environ))
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    return 0
