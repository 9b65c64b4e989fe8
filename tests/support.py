"""A project on disk for tests: write files, run the command, check what the user sees."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from handrail.cli.main import main
from handrail.extensions.callers import OPEN
from handrail.extensions.registry import Registry
from handrail.settings.folders import UserFolders
from handrail.settings.trust import TrustStore

_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
PHASE = "---\nid: {id}\nname: {name}\nemoji: {emoji}\n{more}---\n\nDo {id}.\n"


def open_to_agents(home: Path) -> None:
    """Let the tests run every command, also if an agent runs the tests: the way that `docs/design/callers.md` names.

    The projects beside this home are trusted.
    """
    home.mkdir(mode=0o700)
    (home / "state").mkdir(mode=0o700)
    (home / "state" / OPEN).touch(mode=0o600)
    trust_below(home.parent, {"HANDRAIL_HOME": str(home)})


def trust_below(folder: Path, env: Mapping[str, str]) -> None:
    """Trust every project in this folder, as a person does with `handrail trust --below`."""
    TrustStore(UserFolders(env).state).grant(str(folder), 0.0, below=True)


def without_times(text: str) -> str:
    """The file with the answers to a form says when they were given. That differs from run to run."""
    return _TIME.sub("a time", text)


class Said(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


class Project:
    """A temporary project with its own Handrail home."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder / "project"
        self.home = folder / "home"
        self.capture = capture
        self.folder.mkdir()
        for name in [n for n in os.environ if n.startswith(("XDG_", "HANDRAIL_", "PI_", "CLAUDE_", "CODEX_"))]:
            patch.delenv(name)
        patch.setenv("HOME", str(folder / "user"))
        patch.setenv("HANDRAIL_HOME", str(self.home))
        patch.setenv("NO_COLOR", "1")
        for variables, _ in Registry().signs().values():
            for name in variables:
                patch.delenv(name, raising=False)
        open_to_agents(self.home)
        patch.chdir(self.folder)
        (self.folder / ".handrail").mkdir()

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def phase(self, workflow: str, id_: str, more: str = "", root: str = ".handrail/workflows") -> None:
        text = PHASE.format(id=id_, name=id_.title(), emoji="•", more=more)
        self.write(f"{root}/{workflow}/{id_}.md", text)

    def workflow(self, key: str, phases: list[str], head: str = "", root: str = ".handrail/workflows") -> None:
        """Write a workflow with these phases; `@x` means the subworkflow x. Existing phase files are kept."""
        entries = [f"  - subworkflow: {p[1:]}" if p.startswith("@") else f"  - {p}.md" for p in phases]
        start = f"commandName: {key}\ninitialMessage: begin {{firstPhaseName}}\n"
        self.write(
            f"{root}/{key}/workflow.yaml", f"name: {key.title()}\n{start}{head}phases:\n" + "\n".join(entries) + "\n"
        )
        for phase in phases:
            if not phase.startswith("@") and not (self.folder / root / key / f"{phase}.md").exists():
                self.phase(key, phase, root=root)

    def run(self, *argv: str) -> Said:
        """Run the command line in this process."""
        self.capture.readouterr()
        code = main(list(argv))
        out, err = self.capture.readouterr()
        return Said(code, out, err)

    def json(self, *argv: str, code: int = 0) -> dict[str, Any]:
        said = self.run(*argv, "--json")
        assert said.code == code, said
        return said.data

    def process(self, *argv: str, stdin: str = "", **env: str) -> Said:
        """Run the command line as a separate process."""
        ended = subprocess.run(
            [os.path.join(os.path.dirname(sys.executable), "handrail"), *argv],
            input=stdin,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Said(ended.returncode, ended.stdout, ended.stderr)


def is_running(pid: int) -> bool:
    """True if a process with this id is running. A zombie is not running."""
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return listed.stdout.strip()[:1] not in ("", "Z")
