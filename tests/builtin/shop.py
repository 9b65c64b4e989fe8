"""A small real project in a real repository, a scripted agent that works on it, and a forge that takes its changes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from agentweaver.agent import Mood, content, place, write_script
from builtin.forge import Forge
from handrail.driven.artifacts.schemas import builtin_schema, problems_of
from steps.nodes.repositories import Checkout, isolate
from steps.services.githubs import NAME, OWNER
from support import Project, Said

KEY = "task"
"""The scope of all runs."""
EFFECTS = ("git-push", "pr-open", "github-comment", "gitlab-comment")
APPROVED = [word for effect in EFFECTS for word in ("--approve", effect)]
REPORT = {"summary": "Fix what ci reports", "completed_actions": ["Wrote it"], "validation_steps": ["Ran the tests"]}
IGNORED = ".agentweaver\n.handrail\nanswers.json\n__pycache__\nnode_modules\n"
SCHEMAS = {
    "task-context": "task-context/v1",
    "planning-questions": "planning-questions/v1",
    "design": "implementation-design/v1",
    "plan": "implementation-plan/v1",
    "qa": "qa-plan/v1",
    "design-review": "design-review/v1",
    "review": "review-findings/v1",
    "review-fix": "review-fix-report/v1",
    "mr-description": "change-description/v1",
    "pr-fix": "review-fix-report/v1",
    "pr-checks": "github-checks/v1",
    "pr-comments": "github-review/v1",
    "pr-findings": "review-findings/v1",
}
"""The schema of a file in the scope, by the beginning of its name."""


class Killer(Protocol):
    """A service that kills the process once, when it gets a certain request."""

    kill: Callable[[], None] | None


def stage_agent(
    folder: Path, project: Path, key: str, writes: dict[str, dict[str, str]], mood: Mood, dies_at: str = ""
) -> None:
    """Write the script of an agent that works in `project` on the task `key`, and what it copies, to `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    commands = {}
    for number, (words, files) in enumerate(writes.items()):
        staged = folder / f"code-{number}"
        for name, text in files.items():
            (staged / name).parent.mkdir(parents=True, exist_ok=True)
            (staged / name).write_text(text)
        commands[words] = f"cp -R '{staged}/.' ."
    if dies_at:
        once = folder / "dead"
        commands[dies_at] += f"; mkdir '{once}' 2>/dev/null && kill -9 $(ps -o ppid= -p $PPID); true"
    write_script(folder, project, key, partial(content, mood=mood), commands)


class Shop:
    """The project. `writes` are the files that the agent writes, by a part of its prompt."""

    def __init__(self, project: Project, forge: Forge, patch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
        isolate(patch)
        self.project, self.forge, self.patch = project, forge, patch
        self.agent_folder = project.folder.parent / "agent"
        for name, value in {**forge.env(), "HANDRAIL_SCRIPT": str(self.agent_folder / "script.yaml")}.items():
            patch.setenv(name, value)
        self.checkout = Checkout(project.folder)
        for name, text in {".gitignore": IGNORED, **files}.items():
            self.checkout.write(name, text)
        self.checkout.commit()
        self.checkout.git("remote", "add", "origin", f"{forge.web.url}/{OWNER}/{NAME}.git")
        self.checkout.git("config", "remote.origin.pushurl", str(forge.bare))
        self.checkout.git("push", "-q", str(forge.bare), "main")
        self.answers: dict[str, Any] = {
            "planning-questions": {"speed": "fast"},
            "review-fix-selection": {"apply_all": True},
        }
        self.agent({}, Mood())

    def agent(self, writes: dict[str, dict[str, str]], mood: Mood, dies_at: str = "") -> None:
        """Let the agent write these files when its prompt has these words, and review with this mood.

        At the first prompt that has the words `dies_at`, it writes them and kills Handrail.
        """
        stage_agent(self.agent_folder, self.project.folder, KEY, writes, mood, dies_at)

    def words(self, flow: str, *argv: str) -> list[str]:
        self.project.write("answers.json", json.dumps(self.answers))
        return ["run", flow, *argv, "--scope", KEY, "--agent", "scripted", "--answers", "answers.json"]

    def run(self, flow: str, *argv: str, code: int = 0) -> dict[str, Any]:
        return self.project.json(*self.words(flow, *argv), code=code)

    def run_and_die(self, flow: str, *argv: str, at: str = "", killer: Killer | None = None) -> str:
        """Run a flow in a process of its own, which is killed: by the agent, or by a service at a request.

        `at` is the deadly request to the forge, `killer` is another service. Returns the run.
        """
        self.forge.deadly = at
        said = self._process(killer or self.forge, *self.words(flow, *argv))
        assert said.code == -signal.SIGKILL, said
        return str(self.project.json("runs")["runs"][0]["run"])

    def _process(self, killer: Killer, *argv: str) -> Said:
        program = [sys.executable, "-m", "handrail", *argv]
        with subprocess.Popen(
            program,
            cwd=self.project.folder,
            env=dict(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            killer.kill = process.kill
            out, err = process.communicate(timeout=600)
        return Said(process.returncode, out, err)

    def resume(self, run: str) -> dict[str, Any]:
        return self.project.json("resume", run, "--answers", "answers.json")

    def file(self, kind: str, turn: int = 1) -> Path:
        return self.project.folder / place(kind, KEY, turn)

    def data_files(self) -> list[Path]:
        return sorted((self.project.folder / ".agentweaver" / "scopes" / KEY).rglob("*.json"))

    def assert_valid(self, **others: str) -> None:
        """Every file in the scope that has a schema matches it. `others` replace the usual schemas."""
        checked, schemas = 0, SCHEMAS | {name.replace("_", "-"): schema for name, schema in others.items()}
        for path in self.data_files():
            begins = [name for name in SCHEMAS if path.name.startswith(f"{name}-{KEY}")]
            if begins:
                schema = builtin_schema(schemas[begins[0]])
                assert schema is not None
                assert problems_of(schema, json.loads(path.read_text())) == [], path
                checked += 1
        assert checked
