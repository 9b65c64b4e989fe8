"""Runs in the environment of the other engines: steps that do nothing, on another durable engine.

`python peerrun.py ENGINE FOLDER EVERY STEPS...` makes one run per number in STEPS. Before the first step and after
every EVERY steps it prints a line and waits for a line, so that it takes turns with us. At the end it prints the
seconds of each step as JSON. It imports nothing of Handrail. A step's result is on disk before the next step starts.
"""

from __future__ import annotations

import importlib
import json
import operator
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

RESULT = "x" * 20
WARM_UP = 10
Run = Callable[[int], None]
Note = Callable[[], None]


class Count(TypedDict):
    """A state of constant size."""

    at: int


class Results(TypedDict):
    """A state that keeps the result of every step, as a flow does."""

    at: int
    made: Annotated[list[str], operator.add]


def dbos(folder: Path, note: Note) -> Run:
    """A DBOS workflow of steps, with its default database in SQLite."""
    engine: Any = importlib.import_module("dbos").DBOS
    database = f"sqlite:///{folder / 'dbos.sqlite'}"
    engine(config={"name": "bench", "system_database_url": database, "enable_otlp": False, "log_level": "CRITICAL"})

    def noop() -> str:
        note()
        return RESULT

    step = engine.step()(noop)

    def steps(count: int) -> None:
        for _ in range(count):
            step()

    workflow: Run = engine.workflow()(steps)
    engine.launch()
    return workflow


def langgraph(folder: Path, note: Note, *, keep: bool) -> Run:
    """One node in a loop, with a checkpoint in SQLite after each round."""
    graph: Any = importlib.import_module("langgraph.graph")
    saver: Any = importlib.import_module("langgraph.checkpoint.sqlite").SqliteSaver
    connection = sqlite3.connect(folder / "langgraph.sqlite", check_same_thread=False)
    limit = threads = 0

    def noop(state: dict[str, Any]) -> dict[str, Any]:
        note()
        return {"at": state["at"] + 1, **({"made": [RESULT]} if keep else {})}

    def following(state: dict[str, Any]) -> str:
        return "step" if state["at"] < limit else str(graph.END)

    builder = graph.StateGraph(Results if keep else Count)
    builder.add_node("step", noop)
    builder.add_edge(graph.START, "step")
    builder.add_conditional_edges("step", following)
    compiled = builder.compile(checkpointer=saver(connection))

    def run(count: int) -> None:
        nonlocal limit, threads
        limit, threads = count, threads + 1
        config = {"configurable": {"thread_id": f"{threads}"}, "recursion_limit": count + WARM_UP}
        compiled.invoke({"at": 0, **({"made": []} if keep else {})}, config, durability="sync")

    return run


ENGINES: dict[str, Callable[[Path, Note], Run]] = {
    "dbos": dbos,
    "langgraph": lambda folder, note: langgraph(folder, note, keep=False),
    "langgraph-kept": lambda folder, note: langgraph(folder, note, keep=True),
}


class Turns:
    """Measures each step, from its start to the start of the next, and waits while the other side runs."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.times: list[float] = []
        self.begun = 0
        self.since = 0.0

    def note(self) -> None:
        now = time.perf_counter()
        if self.begun:
            self.times.append(now - self.since)
        self.begun += 1
        if self.every and self.begun % self.every == 0:
            self.wait()
        self.since = time.perf_counter()

    def wait(self) -> None:
        print("waiting", flush=True)
        if not sys.stdin.readline():
            raise SystemExit("the benchmark has ended")


def main(name: str, folder: str, every: str, *counts: str) -> None:
    turns = Turns(0)
    run = ENGINES[name](Path(folder), turns.note)
    run(WARM_UP)
    turns.every = int(every)
    turns.wait()
    times: list[list[float]] = []
    for count in map(int, counts):
        turns.times, turns.begun = [], 0
        run(count)
        times.append(turns.times)
    print(json.dumps(times), flush=True)
    if name == "dbos":
        importlib.import_module("dbos").DBOS.destroy()


if __name__ == "__main__":
    main(*sys.argv[1:])
