"""Events about the attempts and the time limits of steps, and what is known from them. Pure.

An attempt of a step is its node, its expectations, its `after` and its `makes`. `machine` adds these events to its own.
"""

from __future__ import annotations

from collections.abc import Callable

from handrail.contracts import Tried
from handrail.source.dataclasses import dataclass, replace

CANCELLED = "cancelled"
"""The code of a step that did not fail itself: the run was interrupted, or another step failed."""

WAIT = "wait"
"""The place of the fact that says when the wait of a node ends."""

OWN = "own"
"""The place of what a node remembers until it has finished."""


@dataclass(frozen=True)
class AttemptStarted:
    """A nested flow is tried again. With `again` it had ended, so all of its steps run again."""

    path: str
    attempt: int
    again: bool


@dataclass(frozen=True)
class AttemptFailed:
    """An attempt failed, and no `NodeFailed` says so. `refuted`: its work was finished, but its proof does not hold."""

    path: str
    code: str
    message: str
    refuted: bool


@dataclass(frozen=True)
class TimeSpent:
    """How many seconds of a time limit are used up, over all lives of the run. `is_over`: the limit was reached.

    Only time in which the run was driven counts. The path of the whole run is empty.
    """

    path: str
    seconds: float
    is_over: bool = False


class Tries:
    """The attempts and the used time of every step, folded from the events."""

    def __init__(self) -> None:
        self.known: dict[str, Tried] = {}
        self.spent: dict[str, float] = {}

    def of(self, path: str) -> Tried:
        return self.known.get(path, _NONE)

    def start(self, path: str) -> None:
        if path in self.known:
            tried = self.known[path]
            failures = 0 if tried.is_over else tried.failures
            self.known[path] = replace(tried, failures=failures, is_over=False, is_refuted=False)

    def finish(self, path: str) -> None:
        """The node has finished; its proof is still open."""
        self.spent.pop(path, None)
        if path in self.known:
            self.known[path] = replace(self.known[path], failure=None, is_refuted=False)

    def fail(self, path: str, code: str, message: str, *, is_refuted: bool = False) -> None:
        self.spent.pop(path, None)
        tried = self.of(path)
        self.known[path] = Tried(
            failures=(0 if tried.is_over else tried.failures) + 1,
            total=tried.total + 1,
            failure=(code, message),
            is_refuted=is_refuted,
        )

    def end(self, path: str, code: str, message: str, *, is_finished: bool) -> None:
        """The step has failed. In journals of 0.1.0 only this says that the proof of a finished node does not hold."""
        if code == CANCELLED:
            return
        tried = self.of(path)
        if is_finished and tried.failure is None:
            self.fail(path, code, message, is_refuted=True)
        elif tried.failure is None:
            return
        self.known[path] = replace(self.known[path], is_over=True)

    def spend(self, event: TimeSpent) -> None:
        if event.is_over:
            self.spent.pop(event.path, None)
        else:
            self.spent[event.path] = event.seconds

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        for path in [path for path in self.known if is_gone(path)]:
            del self.known[path]
        for path in [path for path in self.spent if is_gone(path)]:
            del self.spent[path]


_NONE = Tried()
