"""Copilot CLI as a host for the common tests. `test_copilot_host.py` tests what is special to it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from real.guests.guest import Guest
from real.hosts import Ran
from real.models.turn import Call, Turn
from real.screen import Screen
from real.waiting import until

ALLOWED = ("--allow-all-tools", "--allow-all-paths")


class Copilot(Guest):
    name = "copilot"
    step_tool = "handrail-copilot-workflow_step"
    interrupt = "C-c"
    interrupted = "Operation cancelled by user"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.env["PATH"] = f"{self.seat.host.program.parent}{os.pathsep}{self.env['PATH']}"
        own = self.home / ".copilot"
        own.mkdir()
        (own / "config.json").write_text(json.dumps({"trustedFolders": [str(self.project)]}))

    def subagent(self, task: str) -> Call:
        kind = {"agent_type": "general-purpose", "name": "part", "mode": "sync"}
        return "task", {"description": "a part", "prompt": task, **kind}

    def argv(self, prompt: str, thread: str | None = None) -> list[str]:
        shape = ["--output-format", "json", *ALLOWED, *([f"--resume={thread}"] if thread else [])]
        return [str(self.seat.host.program), "-p", prompt, *shape]

    def thread(self, ran: Ran) -> str:
        return str(next(event["sessionId"] for event in ran.events if event["type"] == "result"))

    def screen(self, thread: str | None = None) -> Screen:
        argv = [str(self.seat.host.program), *ALLOWED, *([f"--resume={thread}"] if thread else [])]
        return Screen(argv, self.project, self.env, "/ commands")

    def fork(self, thread: str, prompt: str) -> Ran:
        """Only a person can fork, in a terminal."""
        with self.screen(thread) as screen:
            screen.say("/fork")
            screen.wait("Forked from")
            screen.say(prompt)
            until(lambda: not self.model.turns, "all turns")
            screen.wait("esc interrupt", gone=True)
        return Ran(0, "", "", 0.0)

    def compact(self, screen: Screen) -> None:
        self.model.script(Turn("A summary of it all."))
        screen.say("/compact")
        screen.wait("Compaction completed")

    def stubs(self) -> list[Path]:
        return sorted((self.home / ".copilot" / "handrail" / "bin").iterdir())

    def settings(self) -> dict[Path, str]:
        own = {"theme": "dark", "statusLine": {"type": "command", "command": "echo mine"}}
        servers = {"mcpServers": {"notes": {"type": "local", "command": "true", "args": [], "tools": ["*"]}}}
        folder = self.home / ".copilot"
        return {
            folder / "mcp-config.json": json.dumps(servers, indent=3),
            folder / "settings.json": json.dumps(own, indent=3),
        }
