"""Gives one prompt to OpenCode's server and waits until the agent stops for good. Prints one JSON line per event.

Usage: opencode_served.py PROGRAM PROMPT [SESSION [--fork]]

After a stop, Handrail's plugin either sends the agent on or shows the person a text. Without a workflow it does
neither, and the conversation has no link.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

from handrail.agents.opencode.driver import LISTENS, Server

LINKS = Path(os.environ["HOME"]) / ".local" / "state" / "handrail" / "hosts" / "opencode"


def main(program: str, prompt: str, session: str | None = None, *options: str) -> int:
    argv = [program, "serve", "--hostname", "127.0.0.1", "--port", "0"]
    env = {**os.environ, "OPENCODE_SERVER_PASSWORD": "scripted"}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if LISTENS in line)
        server = Server(line.split(LISTENS)[1].decode().strip(), "scripted")
        try:
            return converse(server, prompt, session, *options)
        finally:
            process.terminate()


def converse(server: Server, prompt: str, session: str | None, *options: str) -> int:
    if session is None:
        session = str(server.ask("POST", "/session", {})["id"])
    elif "--fork" in options:
        session = str(server.ask("POST", f"/session/{session}/fork", {})["id"])
    say({"session": session})
    events = server.events()
    next(events)
    asking = Asking(server, session, prompt)
    asking.start()
    for event in events:
        kind, about = event.get("type"), event.get("properties") or {}
        if kind == "message.part.updated":
            say(event)
        is_idle = kind == "session.idle" and about.get("sessionID") == session
        is_shown = kind == "tui.toast.show" and about.get("title") == "Handrail"
        if is_shown or (is_idle and not os.path.lexists(LINKS / session)):
            say(event)
            break
    asking.join()
    return 0


class Asking(Thread):
    """Sends the prompt. A line that begins with a slash is a command, as in a terminal."""

    def __init__(self, server: Server, session: str, prompt: str) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.path = f"/session/{session}"
        self.prompt = prompt

    def run(self) -> None:
        name, _, rest = self.prompt.partition(" ")
        try:
            if name.startswith("/"):
                self.server.ask("POST", f"{self.path}/command", {"command": name[1:], "arguments": rest})
            else:
                parts = [{"type": "text", "text": self.prompt}]
                self.server.ask("POST", f"{self.path}/prompt_async", {"parts": parts})
        except OSError as error:
            say({"failed": str(error)})


def say(event: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
