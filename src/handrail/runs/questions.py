"""Which question of a run an answer belongs to, and why an answer is refused. Pure."""

from __future__ import annotations

from handrail.errors import RefusedError
from handrail.runs.fold import RunState
from handrail.runs.machine import Asked


def next_id(state: RunState, attempt: int) -> str:
    """The id for the next question: `q1`, `q2` and so on; after a restart `q2.1`, so that no id is used twice."""
    number = len(state.closed) + len(state.questions) + 1
    return f"q{number}" if attempt == 1 else f"q{attempt}.{number}"


def choose(run: str, state: RunState, question: str | None, step: str | None) -> Asked:
    """The open question with this id or at this step; without both, the only open one. Raises `RefusedError`."""
    found = list(state.questions.values())
    if question is not None:
        return find(run, state, question)
    if step is not None:
        found = [asked for asked in found if asked.path == step]
    if len(found) == 1:
        return found[0]
    if found:
        raise RefusedError(f"run `{run}` waits for several answers: {listed(found)}", "choose one with `--question ID`")
    if step is not None and state.questions:
        raise RefusedError(f"`{step}` does not wait for an answer", f"open: {listed(list(state.questions.values()))}")
    raise RefusedError(f"run `{run}` does not wait for an answer", f"`handrail log {run}` shows its state")


def find(run: str, state: RunState, question: str) -> Asked:
    """The open question with this id. Raises `RefusedError` if it is closed or was never asked."""
    for asked in state.questions.values():
        if asked.id == question:
            return asked
    raise late(run, state, question)


def late(run: str, state: RunState, question: str) -> RefusedError:
    """Why an answer to this question comes too late."""
    open_ = list(state.questions.values())
    hint = f"open: {listed(open_)}" if open_ else f"`handrail log {run}` shows what happened"
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


def listed(questions: list[Asked]) -> str:
    """`q1` (`a/ask`: Who?), `q2` (`b/ask`: Why?)."""
    return ", ".join(
        f"`{asked.id}` (`{asked.path}`: {asked.question.get('title') or 'no title'})" for asked in questions
    )
