"""The first seed's own loader and prompt, in a node process. Where node or npm is missing, says why not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import BenchError, talk
from bench.place import CACHE, KEY, ROOT, TASK

SETUP = ROOT / "bench" / "seed" / "setup.sh"
NAME = "the first seed"


class Missing(NamedTuple):
    """Why the seed cannot be timed here."""

    why: str


class Seed(NamedTuple):
    """The seed's code, ready to run: `folder` has its bundles."""

    node: str
    folder: str
    version: str

    def load(self, project: Path) -> dict[str, Any]:
        """`first_ms` and `workflows` of a fresh process."""
        return self._run(project)

    def context(self, project: Path) -> dict[str, Any]:
        """`us` and `chars` of the context text in the first phase."""
        found: dict[str, Any] = self._run(project, KEY, TASK)["context"]
        return found

    def session(self, project: Path, prompts: list[dict[str, Any]]) -> dict[str, int]:
        """How many characters it puts before the model, by kind; see `bench/seed/session.mjs`."""
        return self._node("session.mjs", project, KEY, TASK, json.dumps(prompts))

    def _run(self, project: Path, *more: str) -> dict[str, Any]:
        return self._node("seed.mjs", project, "0", *more)

    def _node(self, bundle: str, project: Path, *more: str) -> dict[str, Any]:
        argv = [self.node, str(Path(self.folder) / bundle), str(project / "no-agent-dir"), str(project), *more]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"the seed failed: {done.stderr.strip()[-400:]}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


def find_seed() -> Seed | Missing:
    """The seed, fetched and bundled once into the cache folder."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return Missing(f"{'npm' if node else 'node'} is not installed")
    talk("the first seed: fetching and bundling, where it is not there yet")
    done = subprocess.run([str(SETUP), str(CACHE / "seed")], stdout=subprocess.PIPE, text=True, check=False)
    bundle = done.stdout.strip()
    if done.returncode != 0 or not os.path.isfile(bundle):
        return Missing("its package could not be fetched; see above")
    version = subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True, check=True)
    return Seed(node, os.path.dirname(bundle), version.stdout.strip())
