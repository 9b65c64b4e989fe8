"""Runs in the peers' own environment: steps that do nothing, on another engine that remembers each of them.

`python peerrun.py ENGINE FOLDER EVERY STEPS...` makes a run for each number of steps. It prints a line and waits for
one before the first step and after every so many, so that it takes turns with others; at last it prints the seconds of
each step, as JSON. Imports nothing of ours. A step has a short text as its result, on disk before the next one begins.
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
    """A state that stays as large as it was."""

    at: int


class Results(TypedDict):
    """A state that keeps what every step made, as a flow does."""

    at: int
    made: Annotated[list[str], operator.add]


def dbos(folder: Path, note: Note) -> Run:
    """A workflow of steps, with what it has by default: a database in SQLite."""
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
    """One node in a circle, and after each round a checkpoint in SQLite before the next one begins."""
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
    """Notes how long each step takes, from its begin to the begin of the next, and waits when it is another's turn."""

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
            raise SystemExit("nobody is there any more")


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
