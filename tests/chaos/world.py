"""One case of the chaos harness, from outside: a project, a state folder, an external log, and the real command."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from chaos.scenario import VARIABLES, Scenario
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
        self.answers = folder / "answers.json"
        self.answers.write_text(json.dumps(self.scenario.answers))
        self.mark = f"chaos-{os.getpid()}-{seed}-{folder.name}"
        self.env = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.env |= {"HOME": str(folder), "HANDRAIL_HOME": str(self.state), "CHAOS_LOG": str(self.log), **FIRST}
        self.env |= {"CHAOS": self.mark, "NO_COLOR": "1"}
        trust_below(folder, self.env)

    def start(self, *argv: str, changed: dict[str, str] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(HANDRAIL), *argv],
            cwd=self.project,
            env={**self.env, **(changed or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

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
