"""A loaded run as JSON, as an exit code, and as sentences that say what a person can do next. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handrail.driven.flows.plan import FlowPlan, Phase, Step, child_of, path_segment, step_at
from handrail.driven.flows.results import (
    FlowResult,
    Results,
    nested_flow_result,
    pending,
    result,
    skipped,
    without_copies,
)
from handrail.driven.runs.choices import BUDGET_CODE, option_named_in
from handrail.driven.runs.loaded_run import LoadedRun
from handrail.driven.runs.restart import first_unfinished
from handrail.driven.runs.run_events import RunStatus, StepStatus
from handrail.driven.runs.state import RunState, StepState
from handrail.driven.runs.summary import USAGE_NAMES
from handrail.settings.secrets import SECRET_MISSING
from handrail.view.rows.rows import HEAD, Row
from handrail.view.rows.run import RunTopic

EXIT_CODES: dict[RunStatus, int] = {"completed": 0, "waiting": 4}


def exit_code_of(state: RunState) -> int:
    """The exit code of a command that drove a run."""
    if state.status == "failed" and state.code == "timeout":
        return 3
    if state.code == BUDGET_CODE:
        return 6
    return EXIT_CODES.get(state.status, 1)


def run_json(run: LoadedRun) -> dict[str, Any]:
    """A run as JSON, as `docs/reference/view.md` describes it."""
    state = run.state
    topic = RunTopic(run.plan, lambda _: None, run.attempt, {}, run.records)
    head = topic.rows.get(HEAD, "") or {}
    tree = run.about.request.worktree
    return {
        **run.summary.to_json(),
        "outcome": head["outcome"],
        "summary": state.summary,
        "modes": head["modes"],
        "phases": [_phase_json(run, topic, phase) for phase in run.plan.phases],
        "questions": [
            {"id": asked.id, "path": asked.path, "form": asked.question} for asked in state.questions.values()
        ],
        "artifacts": state.artifacts,
        "worktree": None if tree is None else {"path": tree.path, "branch": tree.branch, "base": tree.base},
        "usage": _usage_json(head),
    }


def _usage_json(row: Row) -> dict[str, Any]:
    """What a row used. None for a number that is never known."""
    return {name: row["usage"].get(name) for name in USAGE_NAMES}


def _phase_json(run: LoadedRun, topic: RunTopic, phase: Phase) -> dict[str, Any]:
    path = path_segment(phase.id)
    steps = [_step_json(run, topic, step, f"{path}/{path_segment(step.id)}") for step in phase.steps]
    status: StepStatus = run.state.phases.get(path, "pending")
    if any(row["status"] == "failed" for row in steps):
        status = "failed"
    return {"id": phase.id, "status": status, "usage": _usage_json(topic.tree.get(path)), "steps": steps}


def _step_json(run: LoadedRun, topic: RunTopic, step: Step, path: str) -> dict[str, Any]:
    found, row = run.state.steps.get(path, StepState()), topic.tree.get(path)
    return {
        "id": step.id,
        "status": found.status,
        "value": _value_json(run, step, path),
        "attempts": found.attempts,
        "seconds": row["took"],
        "error": found.error,
        "usage": _usage_json(row),
    }


def _value_json(run: LoadedRun, step: Step, path: str) -> Any:
    found = run.state.steps.get(path, StepState())
    if found.has_value:
        return run.value(found)
    child = child_of(step, run.find) if found.status == "done" else None
    return None if child is None else without_copies(nested_flow_result(child, _ended(run, child, f"{path}/")))


def _ended(run: LoadedRun, plan: FlowPlan, base: str) -> FlowResult:
    """How a nested flow ended, by the events of the run."""
    results: Results = {}
    stopped: tuple[str, str] | None = None
    for phase in plan.phases:
        results[phase.id] = {}
        for step in phase.steps:
            path = f"{base}{path_segment(phase.id)}/{path_segment(step.id)}"
            found = run.state.steps.get(path, StepState())
            status = {"done": lambda: result(_value_json(run, step, path)), "skipped": skipped}  # noqa: B023 - used at once
            results[phase.id][step.id] = status.get(found.status, pending)()
            if found.stop:
                stopped = (f"{phase.id}:{step.id}", step.stop_outcome)
    by, outcome = stopped or (None, "success")
    return FlowResult(by, outcome, results)


_OF_DEFINITION = (
    "params", "node-unknown", "flow-missing", "flow-depth", "form", "path-escape", "bad-pattern", "ref-unresolvable",
    "ref-scope-unknown", "exists-needs-text", "not-a-list", "not-a-number", "artifact-path", "severities",
)  # fmt: skip
_OF_REFERENCE = ("issue-reference", "merge-request-reference", "pull-request-reference")
_OF_AGENT = ("agent-missing", "agent-unknown", "agent-unguided")


def next_steps(run: LoadedRun, changed: Sequence[str] = ()) -> list[str]:
    """What to do next. `changed` are the files of the run's flows that were changed since it began."""
    if run.state.status not in ("failed", "cancelled"):
        return []
    found = [_after_failure(run) if run.state.status == "failed" else _after_end(run)]
    found += changed_files_words(run, changed)
    return [*found, f"`handrail log {run.id}` shows what happened"]


def _after_end(run: LoadedRun) -> str:
    resume = f"handrail resume {run.id}"
    option = option_named_in(run.state.reason or "")
    if run.state.code == BUDGET_CODE and option is not None:
        return f"`{resume} {option} N` resumes it with a higher bound; what it has used so far counts"
    return f"`{resume}` resumes it"


def changed_files_words(run: LoadedRun, changed: Sequence[str]) -> list[str]:
    """Says that the run does not use the files as they are now."""
    told = f"since this run began, and a resumed run uses the old one; `{restart_command(run)}` uses the new one"
    return [f"`{file}` was changed {told}" for file in changed]


def restart_command(run: LoadedRun) -> str:
    """The command that runs the unfinished phases with the current definitions."""
    first = first_unfinished(run.state, run.plan.phases)
    is_first = first is None or first == run.plan.phases[0].id
    return f"handrail restart {run.id}" + ("" if is_first else f" --from {first}")


def _after_failure(run: LoadedRun) -> str:
    code, resume, restart = run.state.code or "", f"handrail resume {run.id}", restart_command(run)
    failed = run.failed_step
    path = failed.path if failed is not None else ""
    step = step_at(run.plan, path, run.find)
    policy = step.policy if step is not None else "ask"
    if code == SECRET_MISSING:
        return f"set the variable, then run `{resume}`"
    if code == "artifact-secret":
        settings = "`secrets: {except: [NAME]}` in your own settings says that the variable holds no secret"
        return f"remove the secret from the file, then run `{resume}`; {settings}"
    if failed is not None and _is_refuted(run, path):
        again = f"checks again what is expected of `{path}`"
        match policy:
            case "never":
                return f"fix it by hand, then run `{resume}`; only `{restart}` runs `{path}` again"
            case "ask":
                return f"`{resume}` {again}, and if it does not hold, asks whether to run the step again"
            case _:
                return f"`{resume}` {again}, and if it does not hold, runs the step again"
    if code == "rerun":
        return f"find out whether `{path}` had finished; " + (
            f"`{restart}` runs it again" if policy == "never" else f"`{resume}` asks again"
        )
    if code == "issue-unknown":
        return f"set JIRA_BASE_URL, then run `{restart}`; or start the flow again with an issue"
    if code in _OF_REFERENCE:
        return f"`{restart}` asks its questions again; if it was given at the start, start the flow again with another"
    if code in _OF_AGENT:
        return f"fix the cause, then run `{resume}`, or `{resume} --agent NAME` continues with another agent"
    if code in _OF_DEFINITION:
        return f"if the flow is wrong, correct its file, then run `{restart}`; `{resume}` uses the flow as it was"
    if code == "timeout":
        return f"`{resume}` continues, with the whole time limit again"
    return f"fix the cause, then run `{resume}`"


def _is_refuted(run: LoadedRun, path: str) -> bool:
    return path in run.state.steps and run.state.steps[path].is_refuted
