"""OpenCode as a host for the common tests. `test_opencode_host.py` tests more of it.

Without a terminal, its server is used: `opencode run` ends at the first stop of the agent.
"""

from __future__ import annotations

import json
from pathlib import Path

from real.guests.guest import Guest
from real.hosts import Ran
from real.screen import Screen


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
    interrupted = "interrupted"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.env["OPENCODE_PERMISSION"] = json.dumps({"external_directory": "allow"})

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
