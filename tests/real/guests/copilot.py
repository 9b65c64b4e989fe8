"""Copilot CLI as a host for the common tests. `test_copilot_host.py` tests what is special to it."""

from __future__ import annotations

import json
from pathlib import Path

from handrail.agents.copilot.offline import ALLOWED
from handrail.agents.probe.scripted_model import Turn
from real.guests.guest import Guest
from real.hosts import Ran
from real.screen import Screen
from real.waiting import until


class Copilot(Guest):
    name = "copilot"
    interrupt = "C-c"
    interrupted = "Operation cancelled by user"

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
