"""The state of a run: the one fold of its journal. Pure.

It says which work is finished and must not be done again, which questions are open, and where the run stands. An event
is taken as its name and its fields, so that a list of runs imports no event types: `handrail runs` starts fast. The
state is changed in place, so an event costs the same after ten steps and after ten thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from handrail.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.driven.runs.run_events import Event, PhaseStatus, RunStatus, StepStatus

ENDED = ("completed", "stopped", "failed", "cancelled")
CANCELLED = "cancelled"
"""The code of a step that did not fail itself: the run was interrupted, or another step failed."""
LEFT_OUT = "the run starts with a later phase"
RERUN = "rerun"
"""The id of the forms that ask whether a step may run again, and of their first field."""

WAIT = "wait"
"""The place of the fact that says when the wait of a node ends."""
OWN = "own"
"""The place of what a node remembers until it has finished."""
BEFORE = "before."
"""How the places of facts begin that were found before the first attempt of their step and hold for all attempts."""
_PROOF = ("expect", "after", "makes", "stopFlowIf")


class RunClock:
    """The clock of a run: it goes while a process drives the run, and stands still otherwise.

    Call `take` with every record of an attempt, in order. `seconds` is what the clock shows at the last one. It begins
    with what the earlier attempts of the run took.

    A process begins to drive a run with `RunStarted` or `RunResumed`, and ends with `RunParked` or `RunEnded`. If it
    was killed, its time is known only up to its last record, or to what was printed after that.
    Other records may be made while no process drives the run:
    every `Noticed`, a `RunEnded` that is not `driven`, and whatever is between an end and a resume. They take no time.
    A restart begins its journal with what it keeps of the attempt before, and then resumes: nothing was killed there.

    `last` is the time of the last record that a driver made; None before the first one. `is_going`: a process drives
    the run, as far as the records say. `has_gaps`: a process was killed, so its last moments are not known.
    """

    __slots__ = ("has_gaps", "is_going", "last", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.last: float | None = None
        self.is_going = False
        self.has_gaps = False

    def take(self, at: float, kind: str, event: Mapping[str, Any]) -> bool:
        """Take a record by its time, the name of its event and its fields. True if a driver made it."""
        if kind in ("RunStarted", "RunResumed"):
            earlier = event.get("earlier") or {}
            self.seconds += earlier.get("seconds", 0.0)
            self.has_gaps |= bool(earlier.get("isLeast")) or (self.is_going and event.get("mode") != "restart")
            self._hear(event)
        elif not self.is_going or self.last is None or kind == "Noticed":
            return False
        elif not event.get("driven", True):
            self._hear(event)
            self.is_going, self.has_gaps = False, True
            return False
        else:
            self.seconds += max(0.0, at - self.last)
        self.last = at
        self.is_going = kind not in ("RunParked", "RunEnded")
        return True

    def _hear(self, event: Mapping[str, Any]) -> None:
        """Count the time until a killed process was heard of last."""
        heard = event.get("heard")
        if self.is_going and heard is not None:
            self.seconds, self.last = self.at(heard), max(heard, self.last or heard)

    def at(self, now: float) -> float:
        """What the clock shows now, if the process that drove the run at the last record still drives it."""
        return self.seconds + (max(0.0, now - self.last) if self.is_going and self.last is not None else 0.0)


class Question(Record):
    """An open question to a person: its id, the path of its step, its form and the digest of the form."""

    id: str
    path: str
    input: str
    question: dict[str, Any]
    since: float


class Delay(Record):
    """A step waits until a point in time. `since` is when it began to wait."""

    path: str
    until: float
    reason: str
    since: float = 0.0

    def left(self, now: float) -> float:
        """How many seconds are left. At most the whole wait: the clock may have been set back."""
        return max(0.0, min(self.until - now, self.until - self.since))


class StepState:
    """The state of a step. `value` is its result; if it is large, `payload` is its digest instead.

    `output` are the last lines that it printed, if it failed.

    `order` is the number of the event that last started or ended the step. `is_finished`: its node finished in the
    current attempt. `is_under_way`: its node began and did not end; `input` is the digest of what it was last started
    with, `starts` how often it was started, `begun` when, `pauses` how often it waited for a limit since.
    `is_asking`: it asked a person, but not whether it may run again. `StepAttempts` says what the other fields mean.
    """

    status: StepStatus = "pending"
    order = 0
    value: Any = None
    payload: str | None = None
    has_value = False
    attempts = 0
    stop = False
    error: str | None = None
    output: str | None = None
    is_finished = False
    is_under_way = False
    is_asking = False
    input: str | None = None
    starts = 0
    begun: float | None = None
    pauses = 0
    failures = 0
    total = 0
    failure: tuple[str, str] | None = None
    is_refuted = False
    is_over = False

    def fail_attempt(self, code: str, message: str, *, is_refuted: bool = False) -> None:
        self.failures = (0 if self.is_over else self.failures) + 1
        self.total += 1
        self.failure, self.is_refuted, self.is_over = (code, message), is_refuted, False


class RunState:
    """The state of one attempt of a run. All values are in their stored form: without the values of secrets.

    `usage` is what agents reported, by step; what earlier attempts used is there with the empty path.

    `phases` and `steps` have what was reached, by path, and `facts` what expressions used. `closed` says of questions
    by their id whether they were `answered` or `withdrawn`; `answers` are the events of answers that still count.
    `delays` are waits for a limit or for the next attempt, and `spent` are the seconds of time limits that are used up.
    `denied` are the denied calls of agents: path → tool → how many.
    `silent` are conversations whose agent has not reported yet what it used: (path, id) → the agent, and since when.
    `lost` are those that cannot report it any more, because the process that drove the run was killed. `is_counted`:
    all others have reported it.
    """

    def __init__(self) -> None:
        self.phases: dict[str, PhaseStatus] = {}
        self.steps: dict[str, StepState] = {}
        self.left_out: set[str] = set()
        self.questions: dict[str, Question] = {}
        self.closed: dict[str, str] = {}
        self.answers: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.answered: dict[str, tuple[Question, Mapping[str, Any]]] = {}
        self.facts: dict[str, dict[tuple[str, str, str], Any]] = {}
        self.sessions: dict[str, tuple[str, str]] = {}
        self.published: dict[str, list[dict[str, Any]]] = {}
        self.artifacts: list[dict[str, Any]] = []
        self.usage: dict[str, list[dict[str, Any]]] = {}
        self.denied: dict[str, dict[str, int]] = {}
        self.silent: dict[tuple[str, str], tuple[str, float]] = {}
        self.lost: dict[tuple[str, str], tuple[str, float]] = {}
        self.is_counted = True
        self.delays: dict[str, Delay] = {}
        self.spent: dict[str, float] = {}
        self.notices: set[tuple[str, str]] = set()
        self.guided: set[tuple[str, int]] = set()
        self.doing: dict[str, str] = {}
        self.agent: str | None = None
        self.status: RunStatus = "running"
        self.outcome = "success"
        self.code: str | None = None
        self.reason: str | None = None
        self.error: str | None = None
        self.summary: str | None = None
        self.until: str | None = None
        self.rewinds = 0
        self.routing: Mapping[str, Any] | None = None
        self.bounds: Mapping[str, Any] | None = None
        self.permits: Mapping[str, Any] | None = None
        self.params: dict[str, Any] = {}
        self.clock = RunClock()
        self.started: float | None = None
        self.ended: float | None = None
        self.at = 0.0
        self.count = 0

    def apply(self, event: Event, at: float = 0.0) -> None:
        """Change the state by one event. Touches only the phase or step that the event is about."""
        self.take(type(event).__name__, vars(event), at)

    def take(self, kind: str, event: Mapping[str, Any], at: float) -> None:
        """Change the state by an event, given by its name, its fields and its time."""
        if self.started is None:
            self.started = at
        self.at = at
        self.count += 1
        self.clock.take(at, kind, event)
        if (change := _CHANGES.get(kind)) is not None:
            change(self, event)

    def status_of(self, path: str) -> str | None:
        """The status of a phase or a step; None if it was not reached."""
        step = self.steps.get(path)
        return self.phases.get(path) if step is None else step.status

    def is_news(self, event: Event) -> bool:
        """True if a note was not recorded before, including in an earlier life of the run."""
        kind, data = type(event).__name__, vars(event)
        if kind in _NO_NEWS:
            return self.status_of(data["path"]) not in _NO_NEWS[kind]
        if kind == "Noticed":
            return (data["path"], data["text"]) not in self.notices
        return kind != "Guided" or (data["session"], data["number"]) not in self.guided

    def _step(self, path: str) -> StepState:
        return self.steps.setdefault(path, StepState())

    def _phase_started(self, event: Mapping[str, Any]) -> None:
        self.phases[event["path"]] = "running"

    def _phase_done(self, event: Mapping[str, Any]) -> None:
        self.phases[event["path"]] = "done"
        self.spent.pop(event["path"], None)

    def _phase_skipped(self, event: Mapping[str, Any]) -> None:
        self.phases[event["path"]] = "skipped"
        if event["reason"] == LEFT_OUT:
            self.left_out.add(event["path"])

    def _step_started(self, event: Mapping[str, Any]) -> None:
        step = self._step(event["path"])
        step.status, step.error, step.output, step.order = "running", None, None, self.count

    def _end_step(self, path: str, status: StepStatus) -> StepState:
        step = self._step(path)
        step.status, step.order = status, self.count
        self.doing.pop(path, None)
        self._withdraw(path)
        return step

    def _step_done(self, event: Mapping[str, Any]) -> None:
        path = event["path"]
        step = self._end_step(path, "done")
        step.stop, step.error = bool(event.get("stop")), None
        self.delays.pop(path, None)
        self.spent.pop(path, None)

    def _step_skipped(self, event: Mapping[str, Any]) -> None:
        self._end_step(event["path"], "skipped")

    def _step_failed(self, event: Mapping[str, Any]) -> None:
        """Also forgets what may change before the step is tried again.

        In journals of 0.1.0 only this says that the proof of a finished node does not hold.
        """
        path, code, message = event["path"], event["code"], event["message"]
        step = self._end_step(path, "failed")
        step.error, step.output = message, event.get("output")
        if code != CANCELLED:
            if step.has_value and not step.is_under_way and step.failure is None:
                self.spent.pop(path, None)
                step.fail_attempt(code, message, is_refuted=True)
            step.is_over = step.is_over or step.failure is not None
        self._forget_answers(lambda pair: pair[0] == path and self.answers[pair]["values"].get(RERUN) == "fail")
        self._forget_proof(path)

    def _node_started(self, event: Mapping[str, Any]) -> None:
        path, step = event["path"], self._begin_attempt(event)
        if step.is_finished:  # a new attempt: only its own result counts
            step.is_finished = False
            self._forget_answers(lambda pair: pair[0] == path)
        step.input, step.starts = event["input"], step.starts + 1
        step.is_under_way, step.is_asking, step.begun = True, False, self.at

    def _begin_attempt(self, event: Mapping[str, Any]) -> StepState:
        path = event["path"]
        step = self._step(path)
        step.attempts, step.failures = event["attempt"], 0 if step.is_over else step.failures
        step.is_over = step.is_refuted = False
        self.delays.pop(path, None)
        self.published.pop(path, None)
        return step

    def _end_node(self, event: Mapping[str, Any]) -> StepState:
        path = event["path"]
        step = self._step(path)
        step.attempts, step.is_under_way, step.pauses = event["attempt"], False, 0
        self.delays.pop(path, None)
        self.spent.pop(path, None)
        self._hear(path, has_reported=False)
        return step

    def _hear(self, path: str, *, has_reported: bool) -> None:
        """From now on, a report of what the agent of a step used is not waited for."""
        for key in [key for key in self.silent if key[0] == path]:
            del self.silent[key]
            self.is_counted &= has_reported

    def _node_finished(self, event: Mapping[str, Any]) -> None:
        step = self._end_node(event)
        step.value, step.payload, step.has_value = event["value"], event.get("payload"), True
        step.is_finished, step.failure, step.is_refuted = True, None, False
        self._drop_facts(event["path"], (*_PROOF, WAIT, OWN))

    def _node_failed(self, event: Mapping[str, Any]) -> None:
        step = self._end_node(event)
        step.error = event["message"]
        step.fail_attempt(event["code"], event["message"])
        self._drop_facts(event["path"], (WAIT,))

    def _attempt_started(self, event: Mapping[str, Any]) -> None:
        self._begin_attempt(event)
        self._drop_facts(event["path"], _PROOF)
        if event["again"]:
            self._forget_nested(f"{event['path']}/")

    def _attempt_failed(self, event: Mapping[str, Any]) -> None:
        path = event["path"]
        step = self._step(path)
        step.error = event["message"]
        step.fail_attempt(event["code"], event["message"], is_refuted=event["refuted"])
        self.delays.pop(path, None)
        self.spent.pop(path, None)
        self._forget_proof(path)

    def _time_spent(self, event: Mapping[str, Any]) -> None:
        if event.get("is_over"):
            self.spent.pop(event["path"], None)
        else:
            self.spent[event["path"]] = event["seconds"]

    def _delayed(self, event: Mapping[str, Any]) -> None:
        path = event["path"]
        self.delays[path] = Delay(path, event["until"], event["reason"], self.at)
        if path in self.steps and self.steps[path].is_under_way:
            self.steps[path].pauses += 1

    def _fact_found(self, event: Mapping[str, Any]) -> None:
        key = event["place"], event["kind"], event["subject"]
        self.facts.setdefault(event["path"], {})[key] = event["value"]

    def _asked(self, event: Mapping[str, Any]) -> None:
        path, form = event["path"], event["question"]
        self._withdraw(path)
        self._hear(path, has_reported=False)  # its agent has ended
        id_ = event.get("id") or f"q{len(self.closed) + len(self.questions) + 1}"
        self.questions[path] = Question(id_, path, event["input"], form, self.at)
        if form.get("formId") != RERUN and path in self.steps:
            self.steps[path].is_asking = True

    def _answered(self, event: Mapping[str, Any]) -> None:
        path = event["path"]
        self.answers[path, event["input"]] = event
        if (question := self.questions.pop(path, None)) is not None:
            self.closed[question.id] = "answered"
            self.answered[path] = question, event["values"]

    def _artifact_published(self, event: Mapping[str, Any]) -> None:
        artifact = event["artifact"]
        self.published.setdefault(event["path"], []).append(artifact)
        if all(known["id"] != artifact["id"] for known in self.artifacts[-100:]):
            self.artifacts.append(artifact)

    def _summary_set(self, event: Mapping[str, Any]) -> None:
        self.summary = event["text"]

    def _session_opened(self, event: Mapping[str, Any]) -> None:
        path, self.agent = event["path"], event["agent"]
        self.sessions[path] = event["agent"], event["session"]
        self.delays.pop(path, None)
        begun = self.steps[path].begun if path in self.steps else None
        self.silent[path, event["session"]] = event["agent"], self.at if begun is None else begun

    def _usage_reported(self, event: Mapping[str, Any]) -> None:
        self.usage.setdefault(event["path"], []).append(event["usage"])
        if event.get("session"):
            self.lost.pop((event["path"], event["session"]), None)
        else:
            self._hear(event["path"], has_reported=True)

    def _agent_acted(self, event: Mapping[str, Any]) -> None:
        self.doing[event["path"]] = event["text"]
        if event["kind"] == "denied":
            tools, tool = self.denied.setdefault(event["path"], {}), event["text"].partition(": ")[0]
            tools[tool] = tools.get(tool, 0) + 1

    def denied_tools(self) -> dict[str, int]:
        """How many calls of each tool were denied in the whole run."""
        every = [tool for tools in self.denied.values() for tool in tools]
        return {tool: sum(tools.get(tool, 0) for tools in self.denied.values()) for tool in every}

    def _guided(self, event: Mapping[str, Any]) -> None:
        self.doing[event["path"]] = f"{event['place']}: {event['text'] or event['kind']}"
        self.guided.add((event["session"], event["number"]))

    def _noticed(self, event: Mapping[str, Any]) -> None:
        self.notices.add((event["path"], event["text"]))

    def _routed(self, event: Mapping[str, Any]) -> None:
        self.routing = event
        self.delays.clear()  # the limit of another agent is not waited for
        for step in self.steps.values():
            step.pauses = 0

    def _bounded(self, event: Mapping[str, Any]) -> None:
        self.bounds = event

    def _permitted(self, event: Mapping[str, Any]) -> None:
        self.permits = event

    def _params_changed(self, event: Mapping[str, Any]) -> None:
        self.params = dict(event["params"])

    def _run_started(self, event: Mapping[str, Any]) -> None:
        self.until = event.get("until")
        if usage := (event.get("earlier") or {}).get("usage"):
            self.usage[""] = [usage]

    def _run_parked(self, event: Mapping[str, Any]) -> None:
        self.status, self.reason, self.error, self.code, self.ended = "waiting", event["reason"], None, None, None

    def _run_ended(self, event: Mapping[str, Any]) -> None:
        """In journals of 0.1.0 there is no code, and `reason` is `CODE at PATH` or only the code."""
        self.status, self.outcome, self.ended = event["status"], event.get("outcome") or "success", self.at
        self.reason, self.error, self.code = event["reason"], event["error"], event.get("code")
        if self.code is None and self.status == "failed" and self.reason is not None:
            self.code = self.reason.partition(" at ")[0]

    def _run_resumed(self, event: Mapping[str, Any]) -> None:
        self.status, self.outcome, self.until = "running", "success", event.get("until")
        self.reason, self.error, self.code, self.ended = None, None, None, None
        self.lost, self.silent = {**self.silent, **self.lost}, {}
        if rewound := set(event["rewound"]):
            self.rewinds += 1
            self._forget(lambda path: path == "" or path.partition("/")[0] in rewound)

    def _withdraw(self, path: str) -> None:
        """Close the question of a step, if it has one: nobody needs an answer any more."""
        if (question := self.questions.pop(path, None)) is not None:
            self.closed[question.id] = "withdrawn"

    def _forget(self, is_gone: Callable[[str], bool]) -> None:
        """Forget everything about phases and steps that run again, and withdraw their questions."""
        of_paths: list[dict[str, Any]] = [self.phases, self.steps, self.facts, self.sessions, self.published]
        for known in (*of_paths, self.delays, self.spent, self.doing, self.denied):
            for path in [path for path in known if is_gone(path)]:
                del known[path]
        self.left_out = {path for path in self.left_out if not is_gone(path)}
        for path in [path for path in self.questions if is_gone(path)]:
            self._withdraw(path)
        self._forget_answers(lambda pair: is_gone(pair[0]))

    def _forget_nested(self, base: str) -> None:
        """Forget the steps of a nested flow that is tried again, but not which files existed before its first try."""
        paths = [path for path in self.facts if path.startswith(base)]
        existing_before = {path: facts for path in paths if (facts := self._before(path))}
        self._forget(lambda path: path.startswith(base))
        self.facts.update(existing_before)

    def _forget_answers(self, is_gone: Callable[[tuple[str, str]], bool]) -> None:
        for pair in [pair for pair in self.answers if is_gone(pair)]:
            del self.answers[pair]

    def _forget_proof(self, path: str) -> None:
        """Forget the facts that the proof of an attempt used. A node without a recorded start looks at all anew.

        What was there before the first attempt is kept.
        """
        if path in self.facts and not self._step(path).starts:
            self.facts[path] = self._before(path)
        self._drop_facts(path, _PROOF)

    def _before(self, path: str) -> dict[tuple[str, str, str], Any]:
        """Which files existed before the first attempt of a step."""
        return {key: value for key, value in self.facts[path].items() if key[0].startswith(BEFORE)}

    def _drop_facts(self, path: str, places: tuple[str, ...]) -> None:
        if known := self.facts.get(path):
            for key in [key for key in known if key[0].partition(".")[0] in places]:
                del known[key]


_CHANGES: dict[str, Callable[[RunState, Mapping[str, Any]], None]] = {
    name.title().replace("_", ""): method for name, method in vars(RunState).items() if callable(method)
}
"""A method that is named after an event applies it: `_step_started` applies `StepStarted`."""
_OVER = ("done", "skipped")
_NO_NEWS = {
    "PhaseStarted": ("running", *_OVER),
    "StepStarted": ("running", *_OVER),
    **dict.fromkeys(("PhaseDone", "PhaseSkipped", "StepDone", "StepSkipped"), _OVER),
}
"""A note of this kind is no news if its phase or step has such a status."""


def fold(records: Iterable[tuple[float, Event]]) -> RunState:
    state = RunState()
    for at, event in records:
        state.take(type(event).__name__, vars(event), at)
    return state


def modes_of(state: RunState, again: str | None, phases: Iterable[str]) -> list[str]:
    """What may be done with a run while no process drives it. `again` and `phases` are those of its flow.

    `resume`: it has started and not ended. `continue`: it ended, and its flow allows that. `restart`: always.
    """
    is_over = state.status in ("completed", "stopped")
    modes = ["restart"]
    if is_over and (again == "again" or (again is not None and stops_of(state))):
        modes.insert(0, "continue")
    if (state.phases or state.steps) and (not is_over or is_partial(state, phases)):
        modes.insert(0, "resume")
    return modes


def is_partial(state: RunState, phases: Iterable[str]) -> bool:
    """True if the run was started with `--until` and has some of these phases left."""
    return state.status == "completed" and any(path not in state.phases for path in phases)


def stops_of(state: RunState) -> list[str]:
    """The steps of the outermost flow that stopped it, in order."""
    return [path for path, step in state.steps.items() if step.stop and path.count("/") == 1]
