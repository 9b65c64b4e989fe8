"""What an engine has to remember so that no work is done twice, folded from the events. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from handrail.contracts import Done
from handrail.flows.paths import top
from handrail.runs import machine
from handrail.runs.machine import Event, RunState

_OF_STATE_ALONE = (machine.StepDone, machine.StepStarted, machine.PhaseStarted, machine.PhaseDone)
RERUN = "rerun"
"""The id of the form that asks whether an interrupted node may run again."""


@dataclass(frozen=True)
class Kept:
    """The result of a node: the value itself, or the digest of a large value that is stored in a file."""

    value: Any
    payload: str | None


class Memory:
    """Everything that is known from the events of a run. All values are in their stored form.

    `finished` has the result of each node that finished in its current attempt, `inputs` the digest of what each node
    was started with.
    """

    def __init__(self) -> None:
        self.state = RunState()
        self.finished: dict[str, Kept] = {}
        self.inputs: dict[str, str] = {}
        self.under_way: dict[str, str] = {}
        self.starts: dict[str, int] = {}
        self.facts: dict[str, dict[tuple[str, str, str], Any]] = {}
        self.answers: dict[tuple[str, str], dict[str, Any]] = {}
        self.sessions: dict[str, tuple[str, str]] = {}
        self.published: dict[str, list[dict[str, Any]]] = {}
        self.noticed: set[machine.Noticed] = set()
        self.guided: set[tuple[str, int]] = set()
        self.waiting: set[str] = set()

    def take(self, event: Event) -> None:
        self.state.apply(event)
        if isinstance(event, _OF_STATE_ALONE):
            return
        match event:
            case machine.NodeFinished():
                self.finished[event.path] = Kept(event.value, event.payload)
                self.under_way.pop(event.path, None)
            case machine.NodeStarted():
                self.waiting.discard(event.path)
                self.finished.pop(event.path, None)  # a new attempt: only its own result counts
                self.inputs[event.path] = event.input
                self.under_way[event.path] = event.input
                self.starts[event.path] = self.starts.get(event.path, 0) + 1
            case machine.NodeFailed():
                self.under_way.pop(event.path, None)
            case machine.FactFound():
                self.facts.setdefault(event.path, {})[event.place, event.kind, event.subject] = event.value
            case machine.Asked() if event.question.get("formId") != RERUN:
                self.waiting.add(event.path)
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
            case machine.Noticed():
                self.noticed.add(event)
            case machine.Guided():
                self.guided.add((event.session, event.number))
            case _:
                pass

    def is_news(self, event: Event) -> bool:
        """True if a note was not recorded before, including in an earlier life of the run."""
        match event:
            case machine.StepStarted():
                step = self.state.steps.get(event.path)
                return step is None or step.status in ("pending", "failed")
            case machine.StepDone() | machine.StepSkipped():
                step = self.state.steps.get(event.path)
                return step is None or step.status not in ("done", "skipped")
            case machine.PhaseStarted():
                return event.path not in self.state.phases
            case machine.PhaseDone() | machine.PhaseSkipped():
                return self.state.phases.get(event.path) not in ("done", "skipped")
            case machine.Noticed():
                return event not in self.noticed
            case machine.Guided():
                return (event.session, event.number) not in self.guided
            case _:
                return True

    def done(self, path: str) -> Done | None:
        status = self.state.phases.get(path)
        if status is not None:
            return Done(status) if status in ("done", "skipped") else None
        step = self.state.steps.get(path)
        if step is None or step.status not in ("done", "skipped"):
            return None
        return Done(step.status, step.value, step.has_value, step.stop)

    def is_parked(self, path: str) -> bool:
        """True if this step only waits for a person's answer. Resuming it does not count as a new attempt."""
        return path in self.under_way and path in self.waiting

    def _failed(self, path: str) -> None:
        """Forget the facts that may change before the step is retried."""
        for pair in [pair for pair in self.answers if pair[0] == path and self.answers[pair].get(RERUN) == "fail"]:
            del self.answers[pair]
        if path not in self.starts:
            self.facts.pop(path, None)
        known = self.facts.get(path, {})
        for key in [key for key in known if key[0].partition(".")[0] in ("expect", "after", "makes", "stopFlowIf")]:
            del known[key]

    def _forget(self, phases: set[str]) -> None:
        """Forget everything about these phases of the outermost flow."""
        if not phases:
            return
        of_paths: list[dict[str, Any]] = [self.finished, self.inputs, self.under_way, self.starts, self.facts]
        for known in (*of_paths, self.published, self.sessions):
            for path in [path for path in known if top(path) in phases]:
                del known[path]
        for pair in [pair for pair in self.answers if top(pair[0]) in phases]:
            del self.answers[pair]
