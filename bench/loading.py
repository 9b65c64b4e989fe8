"""Measures loading a catalog, with and without the cache, compared with pi-workflows' loader on the same files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import BenchError, Job, interleave
from bench.piworkflows import NAME, Missing, PiWorkflows
from bench.place import ROOT, settle, write_catalog
from bench.rows import Bound, Part, Row, faster, skipped

ROUNDS = {10: 11, 100: 9, 1000: 9}
BOUNDS = {(1000, "cold"): Bound(2.5, at_least=True), (1000, "cached"): Bound(10, at_least=True)}
NAMES = {"cold": "no cache", "cached": "with the cache", "filling": "no cache, filling it"}
ABOUT = """\
Loading, checking and resolving workflows of six phases (seven files each), in a new process each time. For both sides
the time is measured inside the process, around the first call after the imports. The ratio says how many times as fast
Handrail is. pi-workflows has no cache: it reads every file each time. The result is the same with and without our
cache."""


class Catalog(NamedTuple):
    """A project with many workflows, and where its cache is kept."""

    size: int
    project: Path
    root: Path
    cache: Path


def probe(*arguments: str) -> dict[str, Any]:
    """The measurements of one new process of ours."""
    argv = [sys.executable, "-m", "bench.probe", *arguments]
    done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"`bench.probe {arguments[0]}` ended with {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def measure(folder: Path, pi: PiWorkflows | Missing) -> Part:
    catalogs = [_catalog(folder / f"catalog-{size}", size) for size in ROUNDS]
    settle()
    return Part("Loading a catalog", ABOUT, [row for catalog in catalogs for row in _rows(catalog, pi)])


def _catalog(project: Path, size: int) -> Catalog:
    return Catalog(size, project, write_catalog(project, size), project / "cache")


def _rows(catalog: Catalog, pi: PiWorkflows | Missing) -> list[Row]:
    what = {name: f"{catalog.size} workflows, {words}" for name, words in NAMES.items()}
    bounds = {name: BOUNDS.get((catalog.size, name)) for name in what}
    if isinstance(pi, Missing):
        return [skipped(what[name], NAME, bounds[name], pi.why) for name in what]
    root, cache = str(catalog.root), str(catalog.cache)
    probe("load", root, cache)
    emptied = iter(range(sys.maxsize))
    jobs: dict[str, Job] = {
        "cold": _checked(catalog.size, lambda: probe("load", root)),
        "cached": _checked(catalog.size, lambda: probe("load", root, cache), remembered=True),
        "filling": _checked(catalog.size, lambda: probe("load", root, f"{cache}-{next(emptied)}")),
        "pi": _checked(catalog.size, lambda: pi.load(catalog.project)),
    }
    times = interleave(f"{catalog.size} workflows", jobs, ROUNDS[catalog.size])
    return [faster(what[name], NAME, times[name], times["pi"], bounds[name]) for name in what]


def _checked(size: int, ask: Callable[[], dict[str, Any]], *, remembered: bool = False) -> Job:
    """A job that fails if a workflow was not loaded, or with `remembered` if the cache was not used."""

    def job() -> float:
        answer = ask()
        if answer["workflows"] != size or answer.get("problems"):
            raise BenchError(f"{answer['workflows']} of {size} workflows loaded, {answer.get('problems', 0)} problems")
        if remembered and not answer["remembered"]:
            raise BenchError("the cache was not used: were the sources edited during the run?")
        return float(answer["first_ms"])

    return job
