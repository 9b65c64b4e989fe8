"""A run that is followed: its journal is read once, from where it was read last."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from handrail.errors import NotFound
from handrail.live.tail import Tail
from handrail.process.collector import without_collector
from handrail.project import random_token
from handrail.runs.loaded import LoadedRun
from handrail.runs.runs import Runs
from handrail.runs.stored import seen
from handrail.runs.summary import ENDED, given_in
from handrail.secrets.redaction import masked
from handrail.source.clean import clean
from handrail.source.values import as_text
from handrail.topics.bars import BARS
from handrail.topics.checks import CHECKS
from handrail.topics.rows import Message
from handrail.topics.run import RunTopic, routes_of
from handrail.topics.texts import LONG, short

MOST_PARAMS = 50
PROBE_AGAIN = 1.0
"""In seconds: how often it is asked which process drives the run. What is over is asked less often."""
PROBE_SELDOM = 10.0
MOST_NODES = 500
"""How many rows are fetched at once below one that is opened."""


class LiveRun:
    """The topic of one run, kept up to date by `refresh`. A restart begins a new topic: its epoch is another."""

    def __init__(self, runs: Runs, id_: str) -> None:
        self.runs = runs
        self.id = id_
        self._stamp: object = None
        self._next_probe = 0.0
        self._begin()

    def _begin(self) -> None:
        with without_collector():
            self._open()

    def _open(self) -> None:
        run = self.runs.load(self.id)
        self.attempt, self.offset = run.attempt, run.history.offset
        records = ((at, seen(event)) for at, event in run.records)
        self.topic = RunTopic(run.plan, run.find, run.attempt, _facts(run), records)
        self.tail = Tail(run.attempt)
        self.tail.refresh(self.runs, self.id)
        self._probe()

    def _probe(self) -> None:
        engine = self.runs.engine
        self.live = {"driver": engine.driver(self.id), "program": engine.has_program(self.id)}
        is_over = not any(self.live.values()) and self.topic.state.status in ENDED
        self._next_probe = time.monotonic() + (PROBE_SELDOM if is_over else PROBE_AGAIN)

    def is_stale(self) -> bool:
        """True if a look may find something. Only files are looked at, and sometimes the driver."""
        try:
            return time.monotonic() >= self._next_probe or self.runs.engine.stamp(self.id) != self._stamp
        except LookupError:
            return True  # it was removed, and `refresh` says so

    def refresh(self) -> None:
        """Read what was recorded since the last call. Cheap if nothing was. Raises `NotFound` if the run is gone."""
        try:
            self._refresh()
        except LookupError as error:
            raise NotFound(f"run `{self.id}` was removed", "`handrail runs` lists those that are there") from error

    def _refresh(self) -> None:
        before, self._stamp = self._stamp, self.runs.engine.stamp(self.id)
        if self.runs.attempts(self.id)[-1] != self.attempt:
            self._begin()
            return
        if before != self._stamp and not self.runs.engine.has(self.id, self.offset):
            self._begin()
            self.topic.rows.epoch += f".{random_token()}"  # the numbers count other events than before
            return
        self._probe()
        self.tail.refresh(self.runs, self.id)
        records, self.offset = self.runs.events(self.id, self.offset)
        self.topic.take_all((at, seen(event)) for at, event in records)

    def messages(self, epoch: str, base: int, now: float) -> Iterator[Message]:
        """The messages for a receiver that has these rows."""
        rows = self.topic.rows
        for message in rows.messages(f"run:{self.id}", base if epoch == rows.epoch else 0, now):
            yield {**message, "live": self.live}

    def nodes(self, under: str, start: int = 0) -> dict[str, Any]:
        """The rows directly below a phase or step, in their order, with their bars and checks: a page of them.

        `under` is the id of a row; empty for the outermost ones. An unknown id has no rows.
        """
        window = self.topic.window
        below = window.below.get(under, [])
        found = below[max(0, start) :][:MOST_NODES]
        return {
            "under": under,
            "start": max(0, start),
            "total": len(below),
            "nodes": [window.nodes[id_].copy() for id_ in found],
            "bars": [row.copy() for id_ in found for row in window.of(id_, BARS)],
            "checks": [row.copy() for id_ in found for row in window.of(id_, CHECKS)],
        }


def _facts(run: LoadedRun) -> dict[str, Any]:
    """What the head of a run has from its request."""
    request = run.about.request
    tree = request.worktree
    return {
        "run": run.id,
        "name": clean(run.plan.id),
        "about": short(given_in(run.about.to_text())[1]),
        "task": clean(masked(request.task))[:LONG],
        "params": {clean(name): _shown(value) for name, value in list(masked(request.params).items())[:MOST_PARAMS]},
        "routes": routes_of(run.about.request.routing),
        "digest": run.about.digest,
        "scope": request.scope or None,
        "worktree": None if tree is None else tree.branch,
        "limits": run.about.request.bounds.named,
    }


def _shown(value: Any) -> Any:
    """A parameter for a line: whole numbers and booleans stay, everything else is a short text.

    Also `1.0`, which a page would show as `1`.
    """
    return value if value is None or isinstance(value, bool | int) else short(as_text(value))
