"""The state of a run, folded from its events: what it allows, and which questions are open. Pure.

The state is changed in place, so an event costs the same after ten steps and after ten thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, assert_never

from handrail.base.dataclasses import dataclass, replace
from handrail.base.errors import RefusedError
from handrail.driven.flows.plan import FlowPlan, path_segment, top_phase
from handrail.driven.runs.choices import Bounded, Permitted, Routed
from handrail.driven.runs.run_events import (
    LEFT_OUT,
    AgentActed,
    Answered,
    ArtifactPublished,
    Asked,
    AttemptFailed,
    AttemptStarted,
    Checked,
    Delayed,
    Event,
    FactFound,
    Guided,
    NodeFailed,
    NodeFinished,
    NodeStarted,
    Noticed,
    OfRun,
    PhaseDone,
    PhaseSkipped,
    PhaseStarted,
    PhaseStatus,
    RunEnded,
    RunParked,
    RunResumed,
    RunStarted,
    RunStatus,
    SessionOpened,
    StepDone,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepStatus,
    SummarySet,
    TimeSpent,
    UsageReported,
)


@dataclass(slots=True)
class StepState:
    """The state of a step. `value` is its result; if it is large, `payload` is its digest instead."""

    status: StepStatus = "pending"
    value: Any = None
    payload: str | None = None
    has_value: bool = False
    attempts: int = 0
    stop: bool = False
    error: str | None = None


class RunState:
    """The state of a run: every phase and step that was reached, by path."""

    def __init__(self) -> None:
        self.phases: dict[str, PhaseStatus] = {}
        self.steps: dict[str, StepState] = {}
        self.left_out: set[str] = set()
        self.questions: dict[str, Asked] = {}
        self.closed: dict[str, Literal["answered", "withdrawn"]] = {}
        self.artifacts: list[dict[str, Any]] = []
        self.usage: dict[str, list[dict[str, Any]]] = {}
        self.delays: dict[str, Delayed] = {}
        self.status: RunStatus = "running"
        self.outcome = "success"
        self.code: str | None = None
        self.reason: str | None = None
        self.error: str | None = None
        self.summary: str | None = None
        self.until: str | None = None
        self.rewinds = 0
        self.routing: Routed | None = None
        self.bounds: Bounded | None = None
        self.permits: Permitted | None = None

    def apply(self, event: Event) -> None:
        """Change the state by one event. Touches only the phase or step that the event is about."""
        if isinstance(event, StepDone | StepSkipped | StepFailed):
            self._withdraw(event.path)
        match event:
            case StepStarted():
                step = self._step(event.path)
                step.status, step.error = "running", None
            case NodeFinished():
                step = self._step(event.path)
                step.value, step.payload, step.has_value = event.value, event.payload, True
                step.attempts = event.attempt
                self.delays.pop(event.path, None)
            case StepDone():
                step = self._step(event.path)
                step.status, step.stop, step.error = "done", event.stop, None
                self.delays.pop(event.path, None)
            case PhaseStarted() | PhaseDone() | PhaseSkipped():
                self.phases[event.path] = _PHASE_STATUS[type(event).__name__]
                if isinstance(event, PhaseSkipped) and event.reason == LEFT_OUT:
                    self.left_out.add(event.path)
            case StepSkipped():
                self._step(event.path).status = "skipped"
            case NodeStarted() | AttemptStarted():
                self._step(event.path).attempts = event.attempt
                self.delays.pop(event.path, None)
                if isinstance(event, AttemptStarted) and event.again:
                    self._forget(lambda path: path.startswith(f"{event.path}/"))
            case AttemptFailed():
                self._step(event.path).error = event.message
                self.delays.pop(event.path, None)
            case NodeFailed():
                step = self._step(event.path)
                step.error, step.attempts = event.message, event.attempt
                self.delays.pop(event.path, None)
            case StepFailed():
                step = self._step(event.path)
                step.status, step.error = "failed", event.message
            case _:
                self._apply_to_run(event)

    def _apply_to_run(self, event: OfRun) -> None:
        match event:
            case Asked():
                self._withdraw(event.path)
                known = len(self.closed) + len(self.questions)
                self.questions[event.path] = event if event.id else replace(event, id=f"q{known + 1}")
            case Answered():
                asked = self.questions.pop(event.path, None)
                if asked is not None:
                    self.closed[asked.id] = "answered"
            case ArtifactPublished():
                if all(known["id"] != event.artifact["id"] for known in self.artifacts[-100:]):
                    self.artifacts.append(event.artifact)
            case SummarySet():
                self.summary = event.text
            case RunStarted() | RunResumed() | RunParked() | RunEnded():
                self._apply_to_life(event)
            case UsageReported():
                self.usage.setdefault(event.path, []).append(event.usage)
            case Delayed():
                self.delays[event.path] = event
            case Routed():
                self.routing = event
                self.delays.clear()  # the limit of another agent is not waited for
            case Bounded() | Permitted():
                self._allow(event)
            case SessionOpened():
                self.delays.pop(event.path, None)
            case FactFound() | Checked() | Noticed() | AgentActed() | Guided() | TimeSpent():
                pass
            case _:
                assert_never(event)

    def _allow(self, event: Bounded | Permitted) -> None:
        if isinstance(event, Bounded):
            self.bounds = event
        else:
            self.permits = event

    def _apply_to_life(self, event: RunStarted | RunResumed | RunParked | RunEnded) -> None:
        match event:
            case RunStarted():
                self.until = event.until
            case RunResumed():
                self._resume(event)
            case RunParked():
                self.status, self.reason, self.error, self.code = "waiting", event.reason, None, None
            case RunEnded():
                self.status, self.outcome = event.status, event.outcome or "success"
                self.reason, self.error, self.code = event.reason, event.error, _end_code(event)
            case _:
                assert_never(event)

    def _resume(self, event: RunResumed) -> None:
        self.status, self.outcome, self.reason, self.error, self.code = "running", "success", None, None, None
        self.until = event.until
        self.rewinds += bool(event.rewound)
        gone = set(event.rewound)
        if gone:
            self._forget(lambda path: top_phase(path) in gone)

    def _forget(self, is_gone: Callable[[str], bool]) -> None:
        """Forget phases and steps that run again, and withdraw their questions."""
        known: dict[str, Any]
        for known in (self.phases, self.steps):
            for path in [path for path in known if is_gone(path)]:
                del known[path]
        self.left_out = {path for path in self.left_out if not is_gone(path)}
        for path in [path for path in self.questions if is_gone(path)]:
            self._withdraw(path)

    def _withdraw(self, path: str) -> None:
        """Close the question of a step, if it has one: nobody needs an answer any more."""
        asked = self.questions.pop(path, None)
        if asked is not None:
            self.closed[asked.id] = "withdrawn"

    def _step(self, path: str) -> StepState:
        found = self.steps.get(path)
        if found is None:
            found = self.steps[path] = StepState()
        return found


_PHASE_STATUS: dict[str, PhaseStatus] = {"PhaseStarted": "running", "PhaseDone": "done", "PhaseSkipped": "skipped"}


def _end_code(event: RunEnded) -> str | None:
    """The code of the event. In journals of 0.1.0 it is missing, and `reason` is `CODE at PATH` or only the code."""
    if event.code is None and event.status == "failed" and event.reason is not None:
        return event.reason.partition(" at ")[0]
    return event.code


def fold(events: Iterable[Event]) -> RunState:
    """The state after these events."""
    state = RunState()
    for event in events:
        state.apply(event)
    return state


@dataclass(frozen=True)
class Modes:
    """`resume`: the run has started and not ended. `continue_`: it ended, and its flow allows `continue`."""

    resume: bool
    continue_: bool
    restart: bool = True

    def names(self) -> list[str]:
        known = (("resume", self.resume), ("continue", self.continue_), ("restart", self.restart))
        return [name for name, possible in known if possible]


def is_partial(state: RunState, plan: FlowPlan) -> bool:
    """True if the run was started with `--until` and has phases left."""
    return state.status == "completed" and any(path_segment(phase.id) not in state.phases for phase in plan.phases)


def available_modes(state: RunState, plan: FlowPlan) -> Modes:
    ended = state.status in ("completed", "stopped")
    begun = bool(state.phases or state.steps)
    rest = is_partial(state, plan)
    can_continue = ended and plan.again is not None and (plan.again == "again" or bool(_stops(state)))
    return Modes(begun and (not ended or rest), can_continue)


def _stops(state: RunState) -> list[str]:
    """The steps of the outermost flow that stopped it, in order."""
    return [path for path, step in state.steps.items() if step.stop and path.count("/") == 1]


def phases_to_rewind(run: str, state: RunState, plan: FlowPlan) -> list[str]:
    """The phases that run again when a run that ended is continued."""
    if state.status not in ("completed", "stopped"):
        raise RefusedError(f"run `{run}` has not ended", f"`handrail resume {run}` resumes it")
    if plan.again is None:
        message = f"flow `{plan.id}` does not allow `handrail continue`"
        raise RefusedError(message, f"add `continue: again` or `continue: from-stop`, or run `handrail restart {run}`")
    ids = [path_segment(phase.id) for phase in plan.phases]
    if plan.again == "again":
        return ids
    stops = _stops(state)
    if not stops:
        raise RefusedError(f"run `{run}` was not stopped by any step", f"`handrail restart {run}` starts it again")
    return ids[ids.index(top_phase(stops[-1])) :]


def next_question_id(state: RunState, attempt: int) -> str:
    """The id for the next question: `q1`, `q2` and so on; after a restart `q2.1`, so that no id is used twice."""
    number = len(state.closed) + len(state.questions) + 1
    return f"q{number}" if attempt == 1 else f"q{attempt}.{number}"


def question_to_answer(run: str, state: RunState, question: str | None, step: str | None) -> Asked:
    """The open question with this id or at this step; without both, the only open one. Raises `RefusedError`."""
    found = list(state.questions.values())
    if question is not None:
        return open_question(run, state, question)
    if step is not None:
        found = [asked for asked in found if asked.path == step]
    if len(found) == 1:
        return found[0]
    if found:
        raise RefusedError(
            f"run `{run}` waits for several answers: {questions_text(found)}", "choose one with `--question ID`"
        )
    if step is not None and state.questions:
        raise RefusedError(
            f"`{step}` does not wait for an answer", f"open: {questions_text(list(state.questions.values()))}"
        )
    raise RefusedError(f"run `{run}` does not wait for an answer", f"`handrail log {run}` shows its state")


def open_question(run: str, state: RunState, question: str) -> Asked:
    """The open question with this id. Raises `RefusedError` if it is closed or was never asked."""
    for asked in state.questions.values():
        if asked.id == question:
            return asked
    raise too_late_error(run, state, question)


def too_late_error(run: str, state: RunState, question: str) -> RefusedError:
    """Why an answer to this question comes too late."""
    open_ = list(state.questions.values())
    hint = f"open: {questions_text(open_)}" if open_ else f"`handrail log {run}` shows what happened"
    match state.closed.get(question):
        case "answered":
            return RefusedError(f"question `{question}` of run `{run}` was already answered", hint)
        case "withdrawn":
            return RefusedError(f"question `{question}` of run `{run}` was withdrawn", hint)
        case None:
            return RefusedError(f"run `{run}` has no question `{question}` in its current attempt", hint)


def refuse_unless_waiting(run: str, state: RunState, *, is_driven: bool) -> None:
    """Refuse an answer to a run that does not wait: it must not start work that somebody stopped."""
    if state.status == "waiting" or (state.status == "running" and is_driven):
        return
    if state.status in ("completed", "stopped"):
        raise RefusedError(f"run `{run}` is {state.status}: it does not wait for an answer")
    status = "interrupted" if state.status == "running" else state.status
    message = f"run `{run}` is {status}: it does not wait for an answer"
    raise RefusedError(message, f"`handrail resume {run}` resumes it; if it asks again, answer then")


def questions_text(questions: list[Asked]) -> str:
    """`q1` (`a/ask`: Who?), `q2` (`b/ask`: Why?)."""
    return ", ".join(
        f"`{asked.id}` (`{asked.path}`: {asked.question.get('title') or 'no title'})" for asked in questions
    )
