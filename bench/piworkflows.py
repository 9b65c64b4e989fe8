"""Runs the loader and the prompts of pi-workflows in a node process. Says why if node or npm is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import BenchError, talk
from bench.place import CACHE, KEY, ROOT, TASK

SETUP = ROOT / "bench" / "pi-workflows" / "setup.sh"
NAME = "pi-workflows"


class Missing(NamedTuple):
    """Why a program cannot be measured here."""

    why: str


class PiWorkflows(NamedTuple):
    """The code of pi-workflows, ready to run. `folder` has its bundles."""

    node: str
    folder: str
    version: str

    def load(self, project: Path) -> dict[str, Any]:
        """`first_ms` and `workflows` of a new process."""
        return self._run(project)

    def context(self, project: Path) -> dict[str, Any]:
        """`us` and `chars` of the context text in the first phase."""
        found: dict[str, Any] = self._run(project, KEY, TASK)["context"]
        return found

    def session(self, project: Path, prompts: list[dict[str, Any]]) -> dict[str, int]:
        """How many characters it gives the model, by kind; see `bench/pi-workflows/session.mjs`."""
        return self._node("session.mjs", project, KEY, TASK, json.dumps(prompts))

    def _run(self, project: Path, *more: str) -> dict[str, Any]:
        return self._node("pi-workflows.mjs", project, "0", *more)

    def _node(self, bundle: str, project: Path, *more: str) -> dict[str, Any]:
        argv = [self.node, str(Path(self.folder) / bundle), str(project / "no-agent-dir"), str(project), *more]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"pi-workflows failed: {done.stderr.strip()[-400:]}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


def find_pi_workflows() -> PiWorkflows | Missing:
    """pi-workflows, downloaded and bundled once into the cache folder."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return Missing(f"{'npm' if node else 'node'} is not installed")
    talk("pi-workflows: downloading and bundling if needed")
    done = subprocess.run([str(SETUP), str(CACHE / "pi-workflows")], stdout=subprocess.PIPE, text=True, check=False)
    bundle = done.stdout.strip()
    if done.returncode != 0 or not os.path.isfile(bundle):
        return Missing("its package could not be downloaded; see above")
    version = subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True, check=True)
    return PiWorkflows(node, os.path.dirname(bundle), version.stdout.strip())
