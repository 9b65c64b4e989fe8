"""What an engine has to know to do nothing twice: folded from the journal, beside the state that people see."""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.contracts import Done
from handrail.driven import machine
from handrail.driven.machine import Event, RunState

_SAID_AGAIN = (
    machine.StepFailed, machine.SummarySet, machine.RunParked, machine.RunEnded, machine.RunResumed,
    machine.AgentActed, machine.UsageReported, machine.Delayed,
)  # fmt: skip


class Kept(NamedTuple):
    """What a node made: the value itself, or the digest of the file that holds it."""

    value: Any
    payload: str | None


class Memory:
    """Everything that a run's journal tells."""

    def __init__(self) -> None:
        self.state = RunState()
        self.finished: dict[tuple[str, str], Kept] = {}
        self.under_way: dict[str, str] = {}
        self.starts: dict[str, int] = {}
        self.facts: dict[str, dict[tuple[str, str, str], Any]] = {}
        self.answers: dict[tuple[str, str], dict[str, Any]] = {}
        self.sessions: dict[str, tuple[str, str]] = {}
        self.published: dict[str, list[dict[str, Any]]] = {}
        self.said: set[tuple[str, ...]] = set()
        self.is_empty = True

    def take(self, event: Event) -> None:
        self.is_empty = False
        self.state.apply(event)
        match event:
            case machine.NodeStarted():
                self.under_way[event.path] = event.input
                self.starts[event.path] = self.starts.get(event.path, 0) + 1
            case machine.NodeFinished():
                self.finished[event.path, event.input] = Kept(event.value, event.payload)
                self.under_way.pop(event.path, None)
            case machine.NodeFailed():
                self.under_way.pop(event.path, None)
            case machine.FactFound():
                self.facts.setdefault(event.path, {})[event.place, event.kind, event.subject] = event.value
            case machine.Answered():
                self.answers[event.path, event.input] = event.values
            case machine.SessionOpened():
                self.sessions[event.path] = (event.agent, event.session)
            case machine.ArtifactPublished():
                self.published.setdefault(event.path, []).append(event.artifact)
            case machine.StepFailed():
                self._failed(event.path)
            case machine.RunResumed():
                self._forget(set(event.rewound))
            case machine.AgentActed() | machine.UsageReported() | machine.Delayed():
                pass
            case _:
                self.said.add(key(event))

    def is_news(self, event: Event) -> bool:
        """Notes are told once, also over several lives of a run."""
        return isinstance(event, _SAID_AGAIN) or key(event) not in self.said

    def done(self, path: str) -> Done | None:
        status = self.state.phases.get(path)
        if status is not None:
            return Done(status) if status in ("done", "skipped") else None
        step = self.state.steps.get(path)
        if step is None or step.status not in ("done", "skipped"):
            return None
        return Done(step.status, step.value, step.has_value, step.stop)

    def _failed(self, path: str) -> None:
        """It may be tried again; what it looked at before it began may have been mended by then."""
        self.said.discard(key(machine.StepStarted(path)))
        if path not in self.starts:
            self.facts.pop(path, None)

    def _forget(self, phases: set[str]) -> None:
        """All that is known of these phases of the outermost flow."""
        if not phases:
            return
        for known in (self.under_way, self.starts, self.facts, self.published, self.sessions):
            for path in [path for path in known if machine.top(path) in phases]:
                del known[path]
        for keyed in (self.finished, self.answers):
            for pair in [pair for pair in keyed if machine.top(pair[0]) in phases]:
                del keyed[pair]
        self.said = {said for said in self.said if len(said) < 2 or machine.top(said[1]) not in phases}


def key(event: Event) -> tuple[str, ...]:
    """What tells a note from another."""
    return type(event).__name__, *map(str, event)
