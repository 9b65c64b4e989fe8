"""pi as a host for the common tests. `test_pi_host.py` tests more of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import ClassVar

from handrail.agents.pi.offline import MODEL
from handrail.models.turn import Turn
from real.guests.guest import Guest
from real.hosts import CACHE, NODE, Ran
from real.screen import Screen


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

    def argv(self, prompt: str, thread: str | None = None) -> list[str]:
        more = ["--session", thread] if thread else []
        return [str(self.seat.host.program), "--mode", "json", "-p", *MODEL, *self.approved, *more, prompt]

    def screen(self, thread: str | None = None) -> Screen:
        more = ["--session", thread] if thread else []
        return Screen([str(self.seat.host.program), *MODEL, *self.approved, *more], self.project, self.env, "fake-1")

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

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.env["PATH"] = self.env["PATH"].replace(f"{NODE}{os.pathsep}", "")


class NewPi(Pi):
    prefix = "pi-1.5"
