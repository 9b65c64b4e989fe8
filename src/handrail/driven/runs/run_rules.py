"""What a run allows in its state: how it goes on, which question is answered, if a step may run again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from handrail.base.errors import RefusedError
from handrail.driven.flows.plan import FlowPlan, path_segment, top_phase
from handrail.driven.flows.results import WHOLE
from handrail.driven.runs.state import RERUN, Question, RunState, modes_of, stops_of
from handrail.extensions.contracts import NodeError
from handrail.source.values import typed_value


def paths_of(plan: FlowPlan) -> Iterable[str]:
    """The paths of the phases of a flow."""
    return (path_segment(phase.id) for phase in plan.phases)


def available_modes(state: RunState, plan: FlowPlan) -> list[str]:
    """How the run may go on while no process drives it: `resume`, `continue`, `restart`."""
    return modes_of(state, plan.again, (path_segment(phase.id) for phase in plan.phases))


def phases_to_rewind(run: str, state: RunState, plan: FlowPlan) -> list[str]:
    """The phases that run again when a run that ended is continued."""
    if state.status not in ("completed", "stopped"):
        raise RefusedError(f"run `{run}` has not ended", f"`handrail resume {run}` resumes it")
    if plan.again is None:
        message = f"flow `{plan.id}` does not allow `handrail continue`"
        raise RefusedError(message, f"add `continue: again` or `continue: from-stop`, or run `handrail restart {run}`")
    paths = list(paths_of(plan))
    if plan.again == "again":
        return paths
    stops = stops_of(state)
    if not stops:
        raise RefusedError(f"run `{run}` was not stopped by any step", f"`handrail restart {run}` starts it again")
    return paths[paths.index(top_phase(stops[-1])) :]


def next_question_id(state: RunState, attempt: int) -> str:
    """The id for the next question: `q1`, `q2` and so on; after a restart `q2.1`, so that no id is used twice."""
    number = len(state.closed) + len(state.questions) + 1
    return f"q{number}" if attempt == 1 else f"q{attempt}.{number}"


def question_to_answer(run: str, state: RunState, question: str | None, step: str | None) -> Question:
    """The open question with this id or at this step; without both, the only open one. Raises `RefusedError`."""
    if question is not None:
        return open_question(run, state, question)
    every = list(state.questions.values())
    fitting = [one for one in every if step in (None, one.path)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        message = f"run `{run}` waits for several answers: {_listed(fitting)}"
        raise RefusedError(message, "choose one with `--question ID`")
    if every:
        raise RefusedError(f"`{step}` does not wait for an answer", f"open: {_listed(every)}")
    raise RefusedError(f"run `{run}` does not wait for an answer", f"`handrail log {run}` shows its state")


def open_question(run: str, state: RunState, question: str) -> Question:
    """The open question with this id. Raises `RefusedError` if it is closed or was never asked."""
    for one in state.questions.values():
        if one.id == question:
            return one
    raise too_late_error(run, state, question)


def too_late_error(run: str, state: RunState, question: str) -> RefusedError:
    """Why an answer to this question comes too late."""
    how = state.closed.get(question)
    message = f"run `{run}` has no question `{question}` in its current attempt"
    if how is not None:
        message = f"question `{question}` of run `{run}` was {'already ' if how == 'answered' else ''}{how}"
    listed = _listed(state.questions.values())
    return RefusedError(message, f"open: {listed}" if listed else f"`handrail log {run}` shows what happened")


def _listed(questions: Iterable[Question]) -> str:
    """`q1` (`a/ask`: Who?), `q2` (`b/ask`: Why?)."""
    return ", ".join(f"`{one.id}` (`{one.path}`: {one.question.get('title') or 'no title'})" for one in questions)


def refuse_unless_waiting(run: str, state: RunState, *, is_driven: bool) -> None:
    """Refuse an answer to a run that does not wait: it must not start work that somebody stopped."""
    if state.status == "waiting" or (state.status == "running" and is_driven):
        return
    if state.status in ("completed", "stopped"):
        raise RefusedError(f"run `{run}` is {state.status}: it does not wait for an answer")
    status = "interrupted" if state.status == "running" else state.status
    message = f"run `{run}` is {status}: it does not wait for an answer"
    raise RefusedError(message, f"`handrail resume {run}` resumes it; if it asks again, answer then")


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
    when, about = {"field": RERUN, "equals": "done"}, "the flow uses it; JSON or text, `null` if there is none"
    outputs = [
        {
            "id": name if name == WHOLE else f"{_OUTPUT}{name}",
            "type": "text",
            "label": "its whole result" if name == WHOLE else f"its output `{name}`",
            "help": about,
            "required": True,
            "when": when,
            "json": True,
        }
        for name in reads
    ]
    return _rerun_form(title, f"attempt {start}", "what to do with it", options, outputs)


def refuted_form(path: str, number: int, reason: str) -> dict[str, Any]:
    """Asks whether a step whose proof does not hold may run again."""
    title = f"`{path}` has finished, but: {reason}"
    options = [_AGAIN, {"value": "fail", "label": "do not: fail the run, so that I can fix it by hand"}]
    return _rerun_form(title, f"after {number} failed attempts", "run it again?", options)


def _rerun_form(
    title: str, about: str, label: str, options: list[dict[str, str]], outputs: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    choice = {"id": RERUN, "type": "single-select", "label": label, "required": True, "options": options}
    return {"formId": RERUN, "title": title, "description": about, "fields": [choice, *outputs]}


def assumed_result(answer: Mapping[str, Any]) -> Any:
    """The result of a node that had finished, by the word of a person."""
    value = {
        name.removeprefix(_OUTPUT): _typed_answer(text) for name, text in answer.items() if name.startswith(_OUTPUT)
    }
    whole = _typed_answer(answer[WHOLE]) if answer.get(WHOLE) is not None else {}
    return {"assumedDone": True, **whole, **value} if isinstance(whole, dict) else whole


def _typed_answer(answer: Any) -> Any:
    return typed_value(answer) if isinstance(answer, str) else answer


def refuse_rerun(path: str, error: NodeError) -> NodeError:
    """The error of a step that must not run again, and whose proof does not hold."""
    message = f"{error.message}; `{path}` has `rerun: never`, so it is not run again"
    return NodeError(error.code, message, transient=False)
