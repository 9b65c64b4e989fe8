"""One case of the chaos harness, from outside: a project, a state folder, an external log, and the real command."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from chaos.scenario import VARIABLES, Scenario
from chaos.surroundings import (
    PROGRAMS,
    UMASKS,
    another_environment,
    change_definitions,
    change_settings,
    place_to_work,
)
from support import Said, trust_below, without_times

HANDRAIL = Path(sys.executable).parent / "handrail"
KEPT = ("PATH", "LANG", "TMPDIR")
LIMIT = 60
FIRST = dict.fromkeys(VARIABLES, "first")


class World:
    """A project with a random flow. Nothing of Handrail is called here but its command."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.scenario = Scenario(seed)
        self.folder = folder
        self.project = folder / "project"
        self.state = folder / "home"
        self.log = folder / "log"
        self.project.mkdir(parents=True)
        self.scenario.write(self.project)
        self.remember_definitions()
        self.cwd, self.named, self.umask = self.project, tuple[str, ...](), -1
        self.moves, self.program = 0, str(HANDRAIL)
        self.answers = folder / "answers.json"
        self.answers.write_text(json.dumps(self.scenario.answers))
        self.mark = f"chaos-{os.getpid()}-{seed}-{folder.name}"
        self.env = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.env |= {"HOME": str(folder), "HANDRAIL_HOME": str(self.state), "CHAOS_LOG": str(self.log), **FIRST}
        self.env |= {"CHAOS": self.mark, "NO_COLOR": "1"}
        self.changed: dict[str, str | None] = {}
        trust_below(folder, self.env)

    def start(self, *argv: str, changed: dict[str, str] | None = None) -> subprocess.Popen[str]:
        env = {**self.env, **self.changed, **(changed or {})}
        return subprocess.Popen(
            [self.program, *self.named, *argv],
            cwd=self.cwd,
            env={name: value for name, value in env.items() if value is not None},
            umask=self.umask,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )

    def change(self, chance: random.Random) -> None:
        """The next life finds another environment, folder to work in, settings and definitions."""
        self.changed, self.umask = another_environment(self.folder, chance), chance.choice(UMASKS)
        change_settings(self.project, chance)
        self.restore_definitions()
        change_definitions(list(self.definitions), chance)
        self.cwd, self.named = place_to_work(self.folder, self.project, chance)
        self.program = chance.choice([str(HANDRAIL), *PROGRAMS])

    def remember_definitions(self) -> None:
        self.definitions = {path: path.read_bytes() for path in self.project.rglob("*") if path.is_file()}

    def restore_definitions(self) -> None:
        for kind in ("flows", "workflows"):
            shutil.rmtree(self.project / ".handrail" / kind, ignore_errors=True)
        for path, data in self.definitions.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def move(self) -> Said:
        """Give the project another path, and take its runs along."""
        former, self.moves = self.project, self.moves + 1
        self.project = self.folder / f"moved {self.moves}"
        former.rename(self.project)
        self.definitions = {self.project / path.relative_to(former): data for path, data in self.definitions.items()}
        self.cwd, self.named = self.project, ()
        return self.call("adopt", str(former))

    def call(self, *argv: str, changed: dict[str, str] | None = None) -> Said:
        """Run a command to its end. A command that hangs is killed with everything that it started."""
        with self.start(*argv, changed=changed) as process:
            try:
                out, err = process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                self.kill_tree(process)
                out, err = process.communicate()
                return Said(-1, out, f"{err}\n`handrail {' '.join(argv)}` did not end within {LIMIT} s")
        return Said(process.returncode, out, err)

    def kill_tree(self, process: subprocess.Popen[str]) -> None:
        """Kill a command and every process that it started, found by this case's mark in the environment."""
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        for pid in self._marked():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def wait_for_orphans(self) -> None:
        """Wait until every process of this case has ended: a command outlives a Handrail that was killed alone."""
        end = time.monotonic() + LIMIT
        while self._marked() and time.monotonic() < end:
            threading.Event().wait(0.05)

    def _marked(self) -> list[int]:
        wanted = f"CHAOS={self.mark}\0".encode()
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and wanted in (entry / "environ").read_bytes() + b"\0":
                    found.append(int(entry.name))
        return found

    def run_id(self) -> str:
        return str(self.call("runs", "--json").data["runs"][0]["run"])

    def effects(self) -> Counter[str]:
        """How often each effect was done, by the external log."""
        return Counter(line.split(" ", 1)[1] for line in self._lines() if line.startswith("done "))

    def begun(self) -> Counter[str]:
        return Counter(line.split(" ", 1)[1] for line in self._lines() if line.startswith("begin "))

    def has_done(self, step: str) -> bool:
        return any(line.startswith(f"done {step} ") for line in self._lines())

    def _lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def files(self) -> dict[str, str]:
        """The project's files, without the definitions."""
        kept = [path for path in self.project.rglob("*") if path.is_file() and ".handrail" not in path.parts]
        return {str(path.relative_to(self.project)): without_times(path.read_text()) for path in kept}

    def account(self, end: dict[str, Any]) -> dict[str, Any]:
        """What has to be the same however often the run was interrupted."""
        steps = {
            f"{phase['id']}/{step['id']}": (step["status"], _stable(step.get("value")))
            for phase in end["phases"]
            for step in phase["steps"]
        }
        outcome = (end["status"], end["outcome"], end["error"])
        return {"end": outcome, "steps": steps, "effects": self.effects(), "files": self.files()}


def _stable(value: Any) -> Any:
    """The value of a step without what differs between two runs of the same flow: ids, times, a person's word."""
    if isinstance(value, dict):
        if "exitCode" in value or "assumedDone" in value:
            return "done"
        return {
            name: _stable(member) for name, member in value.items() if name not in ("seconds", "run", "submittedAt")
        }
    return [_stable(item) for item in value] if isinstance(value, list) else value
