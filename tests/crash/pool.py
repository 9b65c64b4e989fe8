"""A few drivers in parallel. Each runs the command lines of one case after the other."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol, TypeVar

from crash.children.doom import Doom
from support import Said

TESTS = Path(__file__).parents[1]
WORKERS = 2 if "PYTEST_XDIST_WORKER" in os.environ else 4
Item = TypeVar("Item")
Result = TypeVar("Result")


class Place(Protocol):
    """Where a command runs. `id` is the word after its verb; `folder` gets what it prints."""

    @property
    def id(self) -> str: ...
    @property
    def folder(self) -> Path: ...
    @property
    def project(self) -> Path: ...
    @property
    def env(self) -> dict[str, str]: ...


class Pool:
    """Processes that are started once and fork for each command line."""

    def __init__(self, workers: int = WORKERS) -> None:
        paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        argv = [sys.executable, "-m", "crash.children.driver"]
        self.drivers = [
            subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(workers)
        ]
        self.idle: queue.Queue[subprocess.Popen[str]] = queue.Queue()
        for driver in self.drivers:
            self.idle.put(driver)

    def run(self, case: Place, verb: str, *more: str, doom: Doom | None = None, room: int | None = None) -> Said:
        """Run a command in a new process, which is killed or fails where `doom` says."""
        order = {"argv": [verb, case.id, *more], "folder": str(case.folder), "cwd": str(case.project), "env": case.env}
        driver = self.idle.get()
        try:
            assert driver.stdin is not None
            assert driver.stdout is not None
            driver.stdin.write(json.dumps({**order, "room": room, "doom": (doom or Doom())._asdict()}) + "\n")
            driver.stdin.flush()
            code = int(driver.stdout.readline())
        finally:
            self.idle.put(driver)
        return Said(code, (case.folder / "out").read_text(), (case.folder / "err").read_text())

    def each(self, do: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        with ThreadPoolExecutor(WORKERS) as threads:
            return list(threads.map(do, items))

    def close(self) -> None:
        for driver in self.drivers:
            with driver:
                assert driver.stdin is not None
                driver.stdin.close()
