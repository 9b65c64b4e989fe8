"""The six real agents, each offline in its own home, with the scripted model of its protocol.

A host is one program in the version for the tests; the rest is in `handrail.agents.NAME.offline`. A seat is a host with
a home, a project and a model.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from handrail.agents.probe.scripted_model import Json, ScriptedCall, ScriptedModel
from handrail.doctor import probe
from handrail.extensions import registry
from handrail.extensions.contracts.agent import PROMPT, filled
from handrail.extensions.registry import Registry
from real.waiting import LONG
from support import trust_below

CACHE = Path(__file__).parent.parent.parent / ".cache" / "agents"
NODE = CACHE / "node_modules" / ".bin"
LIMIT = LONG


class Host(NamedTuple):
    """One program. `options` is its documented headless command line, which prints one JSON line per event.

    If the options do not contain the prompt, it is passed on stdin. `write`, `shell` and `read` return the tool calls
    that write a file, run a command and read a file.
    """

    name: str
    protocol: type[ScriptedModel]
    options: tuple[str, ...]
    env: Mapping[str, str]
    files: Mapping[str, str]
    write: Callable[[Path, str], ScriptedCall]
    shell: Callable[[str], ScriptedCall]
    read: Callable[[Path], ScriptedCall]
    programs: Path | None = None

    @property
    def program(self) -> Path:
        return (self.programs or CACHE / self.name / "node_modules" / ".bin") / self.name

    @property
    def package(self) -> str:
        """The package and its version, as installed by `scripts/agents`."""
        return (CACHE / "have" / self.name).read_text().strip()

    def argv(self, prompt: str) -> list[str]:
        return [str(self.program), *(prompt if option == PROMPT else option for option in self.options)]

    def stdin(self, prompt: str) -> str | None:
        return None if PROMPT in self.options else prompt


def _host(name: str) -> Host:
    module = Registry().offline(name)
    env = {**module.ENVIRONMENT, **({"COPILOT_PKG_CACHE_HOME": str(CACHE / "copilot")} if name == "copilot" else {})}
    programs = NODE if name == "claude" else None
    calls = module.write, module.shell, module.read
    return Host(name, module.PROTOCOL, module.OPTIONS, env, module.FILES, *calls, programs)


HOSTS = {name: _host(name) for name in registry.AGENTS if "offline" in registry.AGENTS[name]}


class Ran(NamedTuple):
    """The end of one run of a program: its exit code, stdout and stderr."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def events(self) -> list[Json]:
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


class Seat:
    """A host with its home, a project with a repository, and a scripted model."""

    def __init__(self, host: Host, folder: Path, model: ScriptedModel) -> None:
        assert host.program.exists(), "the agents are not installed; run scripts/agents"
        self.host = host
        self.model = model
        self.home = folder / "home"
        self.project = folder / "project"
        self.home.mkdir(parents=True)
        self.project.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
        self.place(host.files)
        self.env = surroundings(self.home) | {name: self.filled(text) for name, text in host.env.items()}
        trust_below(folder, self.env)

    def place(self, files: Mapping[str, str]) -> None:
        """Write files of the home."""
        for name, text in files.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.filled(text), encoding="utf-8")

    def filled(self, text: str) -> str:
        return filled(text, self.model.url, self.project)

    def spawn(self, prompt: str, **env: str) -> subprocess.Popen[str]:
        """Start the program without a terminal, in its own process session."""
        return subprocess.Popen(
            self.host.argv(prompt),
            cwd=self.project,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL if self.host.stdin(prompt) is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, prompt: str, **env: str) -> Ran:
        """Run the program without a terminal."""
        return self.ended(self.spawn(prompt, **env), self.host.stdin(prompt))

    def ended(self, process: subprocess.Popen[str], given: str | None = None) -> Ran:
        """Wait until a program has ended. After a timeout, all its processes are killed."""
        begun = time.monotonic()
        with process:
            try:
                out, err = process.communicate(given, timeout=LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return Ran(process.returncode, out, err, time.monotonic() - begun)


def surroundings(home: Path) -> dict[str, str]:
    """The variables of every program: none of the person who runs the tests, and no network access."""
    return probe.surroundings(str(home), f"{NODE}{os.pathsep}/usr/local/bin:/usr/bin:/bin")
