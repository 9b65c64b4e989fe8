"""A home and a project for one agent, far from those of the user, with a scripted model on loopback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from handrail import registry
from handrail.app import App
from handrail.contracts.offline import Files, filled
from handrail.doctor import notes
from handrail.hosts.install import Installer, installer_for
from handrail.models.turn import Call, Turn, calls
from handrail.process.child import Ended, Task, perform
from handrail.project import Places
from handrail.trust.store import TrustStore

NOBODY = "http://127.0.0.1:9"
"""An address where nothing listens: the proxy for everything except loopback."""
SECONDS = 150.0
"""How long one run of the agent may take. Most take some seconds."""
KEEP = 64 * 1024 * 1024
_PHASE = "---\nid: {id}\nname: {name}\nemoji: •\n{more}---\nDo {id}.\n"
_WORKFLOW = 'name: {name}\ncommandName: {key}\ninitialMessage: "Begin {{description}}."\nphases:\n{entries}'


def surroundings(home: str, path: str) -> dict[str, str]:
    """The variables of a program in a home of its own: none of the user, and no network except loopback."""
    return {
        "PATH": path,
        "HOME": home,
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "TZ": "UTC",
        "HTTP_PROXY": NOBODY,
        "HTTPS_PROXY": NOBODY,
        "NO_PROXY": "127.0.0.1,localhost",
        "npm_config_registry": NOBODY,
    }


class Place:
    """One agent in its own home. A context manager that ends the model."""

    def __init__(self, agent: str, program: str, env: Mapping[str, str], folder: str) -> None:
        self.agent = agent
        self.program = program
        self.offline = registry.offline(agent)
        self.model = self.offline.PROTOCOL()
        self.home, self.project = (os.path.join(os.path.realpath(folder), name) for name in ("home", "project"))
        for path in (self.home, self.project):
            os.makedirs(path, 0o700)
        self.write({**self.offline.FILES, **self.offline.HOST_FILES})
        path = os.pathsep.join([os.path.dirname(program), env.get("PATH") or os.defpath])
        passed = {name: env[name] for name in self.offline.PASSED if name in env}
        own = {name: self._filled(text) for name, text in self.offline.ENVIRONMENT.items()}
        self.env = surroundings(self.home, path) | passed | own
        TrustStore(Places(self.env).state).grant(self.project, 0.0)  # everything in it is made here

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None:
        self.model.close()

    def _filled(self, text: str) -> str:
        return filled(text, self.model.url, self.project)

    def write(self, files: Files) -> None:
        """Write files of the home."""
        for name, text in files.items():
            write_text(os.path.join(self.home, name), self._filled(text))

    def settings(self, text: str) -> None:
        write_text(os.path.join(self.project, ".handrail", "settings.yaml"), text)

    def workflow(self, key: str, **phases: str) -> None:
        """Write a workflow: the id of each phase, and the rules in its front matter."""
        folder = os.path.join(self.project, ".handrail", "workflows", key)
        entries = "".join(f"  - {id_}.md\n" for id_ in phases)
        text = _WORKFLOW.format(name=key.title(), key=key, entries=entries)
        write_text(os.path.join(folder, "workflow.yaml"), text)
        for id_, rules in phases.items():
            write_text(os.path.join(folder, f"{id_}.md"), _PHASE.format(id=id_, name=id_.title(), more=rules))

    def add_server(self) -> None:
        """Give the agent an MCP server that is not ours. Its tool writes to `notes.txt`."""
        self.write(self.offline.with_server([sys.executable, "-I", notes.__file__, self.path("notes.txt")]))

    def installer(self) -> Installer:
        return installer_for(App(self.project, self.env, by="person"), self.agent, for_project=False)

    def install(self) -> None:
        installer = self.installer()
        installer.apply(installer.plan_install())

    def path(self, name: str) -> str:
        return os.path.join(self.project, name)

    def made(self, name: str, word: str = "") -> bool:
        """True if a file of the project exists and contains the word."""
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return word in file.read()
        except OSError:
            return False

    def calls(self, *tools: Call) -> Turn:
        return calls(*tools, text="I call a tool.")

    def writes(self, name: str) -> Turn:
        return self.calls(self.offline.write(self.path(name), "written\n"))

    def step(self, action: str) -> Turn:
        return self.calls((self.offline.STEP, {"action": action, "summary": "I did it."}))

    async def start(self, words: str) -> Ended:
        """Start a workflow in a new conversation, as a person types it."""
        return await self.run(f"{registry.host(self.agent).COMMANDS['start']} {words}")

    async def run(self, prompt: str, thread: str | None = None) -> Ended:
        return await self.perform(self.offline.argv(self.program, prompt, thread, self.home))

    async def handrail(self, *argv: str) -> Ended:
        return await self.perform([sys.executable, "-I", "-m", "handrail", *argv])

    async def perform(self, argv: list[str]) -> Ended:
        return await perform(Task(argv=argv, cwd=self.project, env=self.env, timeout=SECONDS), KEEP)

    @contextmanager
    def broken(self, body: str) -> Iterator[None]:
        """Let our hooks start a shell script with this body in place of Python.

        The entry of our MCP server stays as it is: a server that does not start is another failure.
        """
        fake = os.path.join(self.home, "fake-python")
        write_text(fake, f"#!/bin/sh\n{body}\n")
        os.chmod(fake, 0o700)
        owned = [path for path in self.installer().known()["owned"] if not path.endswith(".mcp.json")]
        before = {path: text for path in owned if sys.executable in (text := read_text(path))}
        for path, text in before.items():
            write_text(path, text.replace(sys.executable, fake))
        try:
            yield
        finally:
            for path, text in before.items():
                write_text(path, text)


def read_text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def write_text(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
