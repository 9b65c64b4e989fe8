"""What an engine remembers so that no work is done twice, folded from the events. Pure.

Also the two questions whether a step may run again: its node was interrupted and may have finished, or its node
finished and the proof of the step does not hold. What a node remembers while it works is recorded once, and found
again by its name after a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never, get_args

from handrail.base.dataclasses import dataclass, replace
from handrail.driven.flows.plan import top_phase
from handrail.driven.runs import run_events
from handrail.driven.runs.run_events import OWN, WAIT, Event, FactFound, Tries
from handrail.driven.runs.state import RunState
from handrail.extensions.contracts import Done, FormAnswer, NodeError, StepAttempts
from handrail.settings.secrets import Secrets
from handrail.source.values import typed_value

RERUN = "rerun"
"""The id of these forms, and of their first field."""
WHOLE = "value"
"""In `Work.reads`: the flow uses the whole result, not only outputs of it."""
_OUTPUT = "outputs."
_AGAIN = {"value": "again", "label": "run it again"}


def interrupted_form(path: str, start: int, reads: Sequence[str]) -> dict[str, Any]:
    """Asks what to do with an interrupted node. If it had finished, the outputs that the flow uses are asked for."""
    title = f"Did `{path}` finish? It was running when the run was interrupted"
    options = [
        _AGAIN,
        {"value": "done", "label": "it finished: continue"},
        {"value": "fail", "label": "neither: fail the run"},
    ]
    fields = [
        {"id": RERUN, "type": "single-select", "label": "what to do with it", "required": True, "options": options}
    ]
    when = {"field": RERUN, "equals": "done"}
    told = "the flow uses it; JSON or text, `null` if there is none"
    for name in reads:
        label = "its whole result" if name == WHOLE else f"its output `{name}`"
        id_ = name if name == WHOLE else f"{_OUTPUT}{name}"
        field = {"id": id_, "type": "text", "label": label, "help": told, "required": True, "when": when}
        fields.append({**field, "json": True})
    return {"formId": RERUN, "title": title, "description": f"attempt {start}", "fields": fields}


def interrupted_message(path: str) -> str:
    return f"`{path}` was running when the run was interrupted, and may have finished"


def assumed_result(answer: Mapping[str, Any]) -> Any:
    """The result of a node that had finished, by the word of a person."""
    value = {
        name.removeprefix(_OUTPUT): _typed_answer(text) for name, text in answer.items() if name.startswith(_OUTPUT)
    }
    whole = _typed_answer(answer[WHOLE]) if answer.get(WHOLE) is not None else {}
    return {"assumedDone": True, **whole, **value} if isinstance(whole, dict) else whole


def _typed_answer(answer: Any) -> Any:
    return typed_value(answer) if isinstance(answer, str) else answer


def refuted_form(path: str, number: int, reason: str) -> dict[str, Any]:
    """Asks whether a step whose proof does not hold may run again."""
    title = f"`{path}` has finished, but: {reason}"
    options = [_AGAIN, {"value": "fail", "label": "do not: fail the run, so that I can fix it by hand"}]
    field = {"id": RERUN, "type": "single-select", "label": "run it again?", "required": True, "options": options}
    return {"formId": RERUN, "title": title, "description": f"after {number} failed attempts", "fields": [field]}


def refuse_rerun(path: str, error: NodeError) -> NodeError:
    """The error of a step that must not run again, and whose proof does not hold."""
    told = f"{error.message}; `{path}` has `rerun: never`, so it is not run again"
    return NodeError(error.code, told, transient=False)


_OF_STATE_ALONE = (run_events.StepDone, run_events.StepStarted, run_events.PhaseStarted, run_events.PhaseDone)
OfAttempt = (
    run_events.NodeStarted | run_events.NodeFinished | run_events.NodeFailed
    | run_events.AttemptStarted | run_events.AttemptFailed | run_events.TimeSpent | run_events.Delayed
)  # fmt: skip
_OF_ATTEMPT = get_args(OfAttempt)
_PROOF = ("expect", "after", "makes", "stopFlowIf")
BEFORE = "before."
"""How the places of facts begin that were found before the first attempt of their step and hold for all attempts."""


@dataclass(frozen=True)
class StoredValue:
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
        self.finished: dict[str, StoredValue] = {}
        self.inputs: dict[str, str] = {}
        self.under_way: dict[str, str] = {}
        self.starts: dict[str, int] = {}
        self.facts: dict[str, dict[tuple[str, str, str], Any]] = {}
        self.answers: dict[tuple[str, str], FormAnswer] = {}
        self.sessions: dict[str, tuple[str, str]] = {}
        self.published: dict[str, list[dict[str, Any]]] = {}
        self.noticed: set[run_events.Noticed] = set()
        self.guided: set[tuple[str, int]] = set()
        self.waiting: set[str] = set()
        self.delays: dict[str, int] = {}
        self.tries = Tries()

    def take(self, event: Event) -> None:
        self.state.apply(event)
        if isinstance(event, _OF_STATE_ALONE):
            if self.tries.spent and isinstance(event, run_events.StepDone | run_events.PhaseDone):
                self.tries.spent.pop(event.path, None)
            return
        if isinstance(event, _OF_ATTEMPT):
            self._take_of_attempt(event)
            return
        match event:
            case run_events.FactFound():
                self.facts.setdefault(event.path, {})[event.place, event.kind, event.subject] = event.value
            case run_events.Asked() if event.question.get("formId") != RERUN:
                self.waiting.add(event.path)
            case run_events.Answered():
                self.answers[event.path, event.input] = FormAnswer(event.values, event.at)
            case run_events.SessionOpened():
                self.sessions[event.path] = (event.agent, event.session)
            case run_events.ArtifactPublished():
                self.published.setdefault(event.path, []).append(event.artifact)
            case run_events.StepFailed():
                self._failed(event)
            case run_events.Routed():
                self.delays.clear()
            case run_events.RunResumed() if event.rewound:
                rewound = set(event.rewound)
                self._forget(lambda path: path == "" or top_phase(path) in rewound)
            case run_events.Noticed():
                self.noticed.add(event)
            case run_events.Guided():
                self.guided.add((event.session, event.number))
            case _:
                pass

    def _take_of_attempt(self, event: OfAttempt) -> None:
        match event:
            case run_events.NodeFinished():
                self.finished[event.path] = StoredValue(event.value, event.payload)
                self._end(event.path)
                self.tries.finish(event.path)
                self._drop_facts(event.path, (*_PROOF, WAIT, OWN))
            case run_events.NodeStarted():
                self.waiting.discard(event.path)
                if self.finished.pop(event.path, None) is not None:  # a new attempt: only its own result counts
                    self._forget_answers(lambda pair: pair[0] == event.path)
                self.inputs[event.path] = event.input
                self.published.pop(event.path, None)
                self.tries.start(event.path)
                self.under_way[event.path] = event.input
                self.starts[event.path] = self.starts.get(event.path, 0) + 1
            case run_events.NodeFailed():
                self._end(event.path)
                self.tries.fail(event.path, event.code, event.message)
                self._drop_facts(event.path, (WAIT,))
            case run_events.AttemptStarted():
                self.tries.start(event.path)
                self.published.pop(event.path, None)
                self._drop_facts(event.path, _PROOF)
                if event.again:
                    self._forget_nested(f"{event.path}/")
            case run_events.AttemptFailed():
                self.tries.fail(event.path, event.code, event.message, is_refuted=event.refuted)
                self._forget_proof(event.path)
            case run_events.TimeSpent():
                self.tries.spend(event)
            case run_events.Delayed():
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
            case run_events.StepStarted():
                step = self.state.steps.get(event.path)
                return step is None or step.status in ("pending", "failed")
            case run_events.StepDone() | run_events.StepSkipped():
                step = self.state.steps.get(event.path)
                return step is None or step.status not in ("done", "skipped")
            case run_events.PhaseStarted():
                return event.path not in self.state.phases
            case run_events.PhaseDone() | run_events.PhaseSkipped():
                return self.state.phases.get(event.path) not in ("done", "skipped")
            case run_events.Noticed():
                return event not in self.noticed
            case run_events.Guided():
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

    def tried(self, path: str) -> StepAttempts:
        """The attempts of a step so far."""
        is_interrupted = path in self.under_way and not self.is_parked(path)
        return replace(self.tries.of(path), is_interrupted=is_interrupted)

    def _failed(self, event: run_events.StepFailed) -> None:
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


Facts = Mapping[str, Mapping[tuple[str, str, str], Any]]


def recall(facts: Facts, secrets: Secrets, path: str, name: str) -> Any:
    """The value that the work at this path recorded under a name. None if it recorded none."""
    known = facts.get(path, {}).get((OWN, "value", name))
    return None if known is None else secrets.from_storage(known)


def remember(
    facts: Facts, record: Callable[[FactFound], None], secrets: Secrets, path: str, name: str, value: Any
) -> Any:
    """The value that the work at this path recorded under a name. If it recorded none, it records this one."""
    known, key = facts.get(path, {}), (OWN, "value", name)
    if key in known:
        return secrets.from_storage(known[key])
    record(FactFound(path, *key, value))
    return value
