"""Runs in a new process: measures one operation of Handrail after the imports, and prints one JSON object.

`python -m bench.probe load ROOT [CACHE]` or `python -m bench.probe context ROOT KEY TASK`. It measures in the same way
as `bench/pi-workflows/entry.mjs`.
"""

from __future__ import annotations

import gc
import json
import sys
import time

from handrail.extensions.registry import Registry
from handrail.guided.sessions.machine import State
from handrail.guided.sessions.words import context_text
from handrail.guided.workflows.catalog import Catalog, CatalogCache, read_catalog

CONTEXT_ROUNDS = 7
CONTEXT_CALLS = 1000


def load(root: str, cache: str | None = None) -> dict[str, object]:
    """Load, check and resolve a catalog; with a cache, as `App.catalog` does."""
    import handrail.guided.workflows.load  # noqa: F401 - imported on first use; the other side has all its imports, too

    gc.disable()  # as `handrail` itself does before it reads definitions
    begin = time.perf_counter()
    catalog, remembered = _remembered(root, cache) if cache else (read_catalog([("project", root)], Registry()), False)
    seconds = time.perf_counter() - begin
    return {
        "workflows": len(catalog.workflows),
        "problems": len(catalog.problems),
        "remembered": remembered,
        "first_ms": seconds * 1000,
    }


def _remembered(root: str, cache: str) -> tuple[Catalog, bool]:
    """The catalog, and whether the cache had all of it."""
    memory = CatalogCache(cache, time.time_ns, Registry())
    catalog = read_catalog([("project", root)], Registry(), memory)
    remembered = not memory.changed
    memory.save()
    return catalog, remembered


def context(root: str, key: str, task: str) -> dict[str, object]:
    """The context text in the first phase."""
    catalog = read_catalog([("project", root)], Registry())
    plan = catalog.plan(catalog.find(key))
    state = State("active", plan="0" * 32, task=task, task_id="wf-1763236800000-abc123")
    rounds: list[float] = []
    for _ in range(CONTEXT_ROUNDS):
        begin = time.perf_counter()
        for _ in range(CONTEXT_CALLS):
            context_text(plan, state)
        rounds.append(time.perf_counter() - begin)
    return {"chars": len(context_text(plan, state)), "us": min(rounds) * 1e6 / CONTEXT_CALLS}


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    print(json.dumps(load(*arguments) if what == "load" else context(*arguments)))
