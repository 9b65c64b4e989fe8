"""OpenCode as a host for the common tests. `test_opencode_host.py` tests more of it.

Without a terminal, its server is used: `opencode run` ends at the first stop of the agent.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from real.guests.guest import Guest
from real.hosts import Ran
from real.models.turn import Call
from real.screen import Screen

SERVED = Path(__file__).parent / "opencode_served.py"


class Interruptible(Screen):
    """OpenCode asks for a second Escape before it interrupts the agent.

    Enter completes a command that has no arguments, and does not send it; a space ends the completion.
    """

    def say(self, text: str) -> None:
        super().say(f"{text} " if text == "/cancel-workflow" else text)

    def key(self, name: str) -> None:
        super().key(name)
        if name == "Escape":
            self.wait("again to interrupt")
            super().key(name)


class OpenCode(Guest):
    name = "opencode"
    step_tool = "workflow_step"
    interrupted = "interrupted"

    def __init__(self, folder: Path) -> None:
        """Its home is as after its first start: OpenCode has installed its package for plugins."""
        super().__init__(folder)
        settings = self.home / ".config" / "opencode"
        (settings / "node_modules").mkdir(parents=True)
        lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
        (settings / "package-lock.json").write_text(json.dumps(lock))
        self.env["PATH"] = f"{self.seat.host.program.parent}{os.pathsep}{self.env['PATH']}"
        self.env["OPENCODE_PERMISSION"] = json.dumps({"external_directory": "allow"})

    def subagent(self, task: str) -> Call:
        return "task", {"description": "a part", "prompt": task, "subagent_type": "general"}

    def argv(self, prompt: str, thread: str | None = None) -> list[str]:
        return [sys.executable, str(SERVED), str(self.seat.host.program), prompt, *([thread] if thread else [])]

    def thread(self, ran: Ran) -> str:
        return str(next(event["session"] for event in ran.events if "session" in event))

    def screen(self, thread: str | None = None) -> Screen:
        argv = [str(self.seat.host.program), *(["--session", thread] if thread else [])]
        return Interruptible(argv, self.project, self.env, "ctrl+p commands")

    def fork(self, thread: str, prompt: str) -> Ran:
        return self.seat.ended(self.spawn_argv([*self.argv(prompt, thread), "--fork"]))

    def compact(self, screen: Screen) -> None:
        """The scripted model answers a request without tools, such as this one, by itself."""
        screen.say("/compact")
        screen.wait("Compaction · fake-1 · ")

    def stubs(self) -> list[Path]:
        return [self.home / ".config" / "opencode" / "handrail" / "handrail.js"]

    def settings(self) -> dict[Path, str]:
        own = {"theme": "system", "plugin": [], "keybinds": {"leader": "ctrl+x"}}
        return {self.home / ".config" / "opencode" / "opencode.json": json.dumps(own, indent=3)}
