"""What an engine has to remember so that no work is done twice, folded from the events. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never, get_args

from handrail.contracts import Answer, Done, Tried
from handrail.flows.paths import top
from handrail.runs import machine
from handrail.runs.fold import RunState
from handrail.runs.machine import Event
from handrail.runs.rerun import RERUN
from handrail.runs.tries import OWN, WAIT, Tries
from handrail.source.dataclasses import dataclass, replace

_OF_STATE_ALONE = (machine.StepDone, machine.StepStarted, machine.PhaseStarted, machine.PhaseDone)
OfAttempt = (
    machine.NodeStarted | machine.NodeFinished | machine.NodeFailed
    | machine.AttemptStarted | machine.AttemptFailed | machine.TimeSpent | machine.Delayed
)  # fmt: skip
_OF_ATTEMPT = get_args(OfAttempt)
_PROOF = ("expect", "after", "makes", "stopFlowIf")
BEFORE = "before."
"""How the places of facts begin that were found before the first attempt of their step and hold for all attempts."""


@dataclass(frozen=True)
class Kept:
    """The result of a node: the value itself, or the digest of a large value that is stored in a file."""

    value: Any
    payload: str | None


class Memory:
    """Everything that is known from the events of a run. All values are in their stored form.

    `finished` has the result of each node that finished in its current attempt, `inputs` the digest of what each node
    was started with, `delays` how often a node that is under way waited for a limit.
    """

    def __init__(self) -> None:
        self.state = RunState()
        self.finished: dict[str, Kept] = {}
        self.inputs: dict[str, str] = {}
        self.under_way: dict[str, str] = {}
        self.starts: dict[str, int] = {}
        self.facts: dict[str, dict[tuple[str, str, str], Any]] = {}
        self.answers: dict[tuple[str, str], Answer] = {}
        self.sessions: dict[str, tuple[str, str]] = {}
        self.published: dict[str, list[dict[str, Any]]] = {}
        self.noticed: set[machine.Noticed] = set()
        self.guided: set[tuple[str, int]] = set()
        self.waiting: set[str] = set()
        self.delays: dict[str, int] = {}
        self.tries = Tries()

    def take(self, event: Event) -> None:
        self.state.apply(event)
        if isinstance(event, _OF_STATE_ALONE):
            if self.tries.spent and isinstance(event, machine.StepDone | machine.PhaseDone):
                self.tries.spent.pop(event.path, None)
            return
        if isinstance(event, _OF_ATTEMPT):
            self._take_of_attempt(event)
            return
        match event:
            case machine.FactFound():
                self.facts.setdefault(event.path, {})[event.place, event.kind, event.subject] = event.value
            case machine.Asked() if event.question.get("formId") != RERUN:
                self.waiting.add(event.path)
            case machine.Answered():
                self.answers[event.path, event.input] = Answer(event.values, event.at)
            case machine.SessionOpened():
                self.sessions[event.path] = (event.agent, event.session)
            case machine.ArtifactPublished():
                self.published.setdefault(event.path, []).append(event.artifact)
            case machine.StepFailed():
                self._failed(event)
            case machine.Routed():
                self.delays.clear()
            case machine.RunResumed() if event.rewound:
                rewound = set(event.rewound)
                self._forget(lambda path: path == "" or top(path) in rewound)
            case machine.Noticed():
                self.noticed.add(event)
            case machine.Guided():
                self.guided.add((event.session, event.number))
            case _:
                pass

    def _take_of_attempt(self, event: OfAttempt) -> None:
        match event:
            case machine.NodeFinished():
                self.finished[event.path] = Kept(event.value, event.payload)
                self._end(event.path)
                self.tries.finish(event.path)
                self._drop_facts(event.path, (*_PROOF, WAIT, OWN))
            case machine.NodeStarted():
                self.waiting.discard(event.path)
                if self.finished.pop(event.path, None) is not None:  # a new attempt: only its own result counts
                    self._forget_answers(lambda pair: pair[0] == event.path)
                self.inputs[event.path] = event.input
                self.published.pop(event.path, None)
                self.tries.start(event.path)
                self.under_way[event.path] = event.input
                self.starts[event.path] = self.starts.get(event.path, 0) + 1
            case machine.NodeFailed():
                self._end(event.path)
                self.tries.fail(event.path, event.code, event.message)
                self._drop_facts(event.path, (WAIT,))
            case machine.AttemptStarted():
                self.tries.start(event.path)
                self.published.pop(event.path, None)
                self._drop_facts(event.path, _PROOF)
                if event.again:
                    self._forget_nested(f"{event.path}/")
            case machine.AttemptFailed():
                self.tries.fail(event.path, event.code, event.message, is_refuted=event.refuted)
                self._forget_proof(event.path)
            case machine.TimeSpent():
                self.tries.spend(event)
            case machine.Delayed():
                if event.path in self.under_way:
                    self.delays[event.path] = self.delays.get(event.path, 0) + 1
            case _:
                assert_never(event)

    def _end(self, path: str) -> None:
        self.under_way.pop(path, None)
        self.delays.pop(path, None)

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
            is_left_out = path in self.state.left_out
            return Done(status, is_left_out=is_left_out) if status in ("done", "skipped") else None
        step = self.state.steps.get(path)
        if step is None or step.status not in ("done", "skipped"):
            return None
        return Done(step.status, step.value, step.has_value, step.stop)

    def is_parked(self, path: str) -> bool:
        """True if this step only waits for a person's answer. Resuming it does not count as a new attempt."""
        return path in self.under_way and path in self.waiting

    def tried(self, path: str) -> Tried:
        """The attempts of a step so far."""
        is_interrupted = path in self.under_way and not self.is_parked(path)
        return replace(self.tries.of(path), is_interrupted=is_interrupted)

    def _failed(self, event: machine.StepFailed) -> None:
        """Forget what may change before the step is tried again."""
        path, step = event.path, self.state.steps[event.path]
        is_finished = step.has_value and path not in self.under_way
        self.tries.end(path, event.code, event.message, is_finished=is_finished)
        self._forget_answers(lambda pair: pair[0] == path and self.answers[pair].values.get(RERUN) == "fail")
        self._forget_proof(path)

    def _forget_proof(self, path: str) -> None:
        """Forget the facts that the proof of an attempt used. A node without a recorded start looks at all anew.

        What was there before the first attempt is kept.
        """
        if path not in self.starts:
            self._keep_before(path)
        self._drop_facts(path, _PROOF)

    def _keep_before(self, path: str) -> None:
        """Forget all facts of a step but which files existed before it."""
        kept = {key: value for key, value in self.facts.pop(path, {}).items() if key[0].startswith(BEFORE)}
        if kept:
            self.facts[path] = kept

    def _drop_facts(self, path: str, places: tuple[str, ...]) -> None:
        known = self.facts.get(path, {})
        for key in [key for key in known if key[0].partition(".")[0] in places]:
            del known[key]

    def _forget_nested(self, base: str) -> None:
        """Forget the steps of a nested flow that is tried again, but not which files existed before its first try."""
        for path in [path for path in self.facts if path.startswith(base)]:
            self._keep_before(path)
        kept = {path: known for path, known in self.facts.items() if path.startswith(base)}
        self._forget(lambda path: path.startswith(base))
        self.facts.update(kept)

    def _forget(self, is_gone: Callable[[str], bool]) -> None:
        """Forget everything about phases and steps that run again."""
        of_paths: list[dict[str, Any]] = [self.finished, self.inputs, self.under_way, self.starts, self.facts]
        for known in (*of_paths, self.published, self.sessions, self.delays):
            for path in [path for path in known if is_gone(path)]:
                del known[path]
        self._forget_answers(lambda pair: is_gone(pair[0]))
        self.tries.forget(is_gone)

    def _forget_answers(self, is_gone: Callable[[tuple[str, str]], bool]) -> None:
        for pair in [pair for pair in self.answers if is_gone(pair)]:
            del self.answers[pair]
