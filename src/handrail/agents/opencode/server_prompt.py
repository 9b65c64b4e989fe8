"""Gives one prompt to OpenCode's server and waits until the agent stops for good.

Usage: python -m handrail.agents.opencode.server_prompt PROGRAM PROMPT [SESSION [--fork]]. Prints one JSON line per
event. After a stop, Handrail's plugin either sends the agent on or shows the person a text. Without a workflow it does
neither, and the conversation has no link. If Handrail is broken, the plugin may do neither, too: then this program ends
some seconds after the stop, or when the command was refused. An error that the plugin shows before a stop ends nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from threading import Thread, Timer

from handrail.agents.opencode.driver import ServerClient, say, start_server

PATIENCE = 20.0
"""Seconds from a stop until a plugin surely does nothing more."""
LINKS = Path(os.environ["HOME"]) / ".local" / "state" / "handrail" / "hosts" / "opencode"


async def main(program: str, prompt: str, session: str | None = None, *options: str) -> int:
    process, server = await start_server(program, own_group=False)
    assert process.stdout is not None
    rest = asyncio.ensure_future(process.stdout.read())

    def end() -> None:
        """End the server. The thread of a timer may call it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)

    try:
        if server is None:
            return 1
        return await asyncio.to_thread(converse, server, end, prompt, session, *options)
    except (OSError, HTTPException):
        return 0  # the server was ended, because nothing more happens
    finally:
        end()
        await process.wait()
        rest.cancel()


def converse(server: ServerClient, end: Callable[[], None], prompt: str, session: str | None, *options: str) -> int:
    if session is None:
        session = str(server.ask("POST", "/session", {})["id"])
    elif "--fork" in options:
        session = str(server.ask("POST", f"/session/{session}/fork", {})["id"])
    say("session", session=session)
    events = server.events()
    next(events)
    Thread(target=give_prompt, args=(server, session, prompt, end), daemon=True).start()
    timer, has_stopped = Timer(PATIENCE, end), False
    for event in events:
        kind, about = event.pop("type", ""), event.get("properties") or {}
        if kind == "message.part.updated":
            say(kind, **event)
        is_idle = kind == "session.idle" and about.get("sessionID") == session
        is_error = about.get("variant") == "error" and not has_stopped
        is_shown = kind == "tui.toast.show" and about.get("title") == "Handrail" and not is_error
        has_stopped = has_stopped or is_idle
        if is_shown or (is_idle and not os.path.lexists(LINKS / session)):
            say(kind, **event)
            break
        if is_idle:
            timer.cancel()
            timer = Timer(PATIENCE, end)
            timer.daemon = True
            timer.start()
    timer.cancel()
    return 0


def give_prompt(server: ServerClient, session: str, prompt: str, end: Callable[[], None]) -> None:
    """Send the prompt. A line that begins with a slash and the name of a command is that command, as in a terminal."""
    name, _, rest = prompt.partition(" ")
    try:
        if name.startswith("/") and name[1:] in [one["name"] for one in server.ask("GET", "/command")]:
            server.ask("POST", f"/session/{session}/command", {"command": name[1:], "arguments": rest})
        else:
            server.ask("POST", f"/session/{session}/prompt_async", {"parts": [{"type": "text", "text": prompt}]})
    except OSError as error:
        say("failed", message=str(error))
        end()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
