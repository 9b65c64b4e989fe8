"""pi as a host for the common tests. `test_pi_host.py` tests more of it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import ClassVar

from handrail.agents.pi.offline import MODEL
from handrail.agents.probe.scripted_model import Turn
from real.guests.guest import Guest
from real.hosts import CACHE, NODE, Ran
from real.screen import Screen


class Patient(Screen):
    """pi shows its editor, between two rules, before it has started. Until then, a line stays in the editor."""

    def say(self, text: str) -> None:
        super().say(text)
        self.until(lambda screen: self._is_taken(screen, text[-30:]), f"{text} is taken")

    def _is_taken(self, screen: str, end: str) -> bool:
        parts = re.split(r"^─+$", screen, flags=re.MULTILINE)
        if len(parts) < 3 or end not in parts[-2]:
            return True
        if "Startup is still in progress" in screen:
            self.key("Enter")
        return False


class Pi(Guest):
    """`prefix` is the folder of this version. `approved` trusts the project, so that its extensions are loaded."""

    prefix: ClassVar[str] = "pi"
    approved: ClassVar[tuple[str, ...]] = ("--approve",)
    name = "pi"
    interrupted = "Operation aborted"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.seat.host = self.seat.host._replace(programs=CACHE / self.prefix / "node_modules" / ".bin")
        self.env["PATH"] = f"{self.seat.host.program.parent}{os.pathsep}{self.env['PATH']}"
        settings = self.home / ".pi" / "agent" / "settings.json"
        compaction = {"keepRecentTokens": 1}  # a version refuses to compact what it would keep
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "compaction": compaction}))

    def argv(self, prompt: str, thread: str | None = None) -> list[str]:
        more = ["--session", thread] if thread else []
        return [str(self.seat.host.program), "--mode", "json", "-p", *MODEL, *self.approved, *more, prompt]

    def screen(self, thread: str | None = None) -> Screen:
        more = ["--session", thread] if thread else []
        return Patient([str(self.seat.host.program), *MODEL, *self.approved, *more], self.project, self.env, "fake-1")

    def fork(self, thread: str, prompt: str) -> Ran:
        argv = [str(self.seat.host.program), "--mode", "json", "-p", *MODEL, *self.approved, "--fork", thread, prompt]
        return self.seat.ended(self.spawn_argv(argv))

    def compact(self, screen: Screen) -> None:
        self.model.script(Turn("A summary of it all."), Turn("And more of it."))
        screen.say("/compact")
        screen.wait("ompacted")

    def stubs(self) -> list[Path]:
        return [self.home / ".pi" / "agent" / "extensions" / "handrail" / "handrail.json"]

    def settings(self) -> dict[Path, str]:
        own = {"packages": ["npm:@harms-haus/pi-workflows"], "retry": {"maxRetries": 1}}
        return {self.home / ".pi" / "agent" / "settings.json": json.dumps(own, indent=3)}


class OldPi(Pi):
    """The last version for Node 20, with the Node of the system."""

    prefix = "pi-0.74"
    approved = ()
    ends_at_stops = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.env["PATH"] = self.env["PATH"].replace(f"{NODE}{os.pathsep}", "")


class NewPi(Pi):
    prefix = "pi-1.5"
