"""What a person can do with a run that failed or was stopped: sentences with the commands that really help. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.flows.outline import child_of
from handrail.flows.paths import segment
from handrail.flows.plan import FlowPlan, Step
from handrail.runs import machine
from handrail.runs.bounds import CODE as BUDGET
from handrail.runs.bounds import option_named_in
from handrail.runs.loaded import LoadedRun
from handrail.runs.memory import Memory
from handrail.runs.restart import first_unfinished
from handrail.runs.tries import CANCELLED
from handrail.secrets.redaction import MISSING

_OF_DEFINITION = (
    "params", "node-unknown", "flow-missing", "flow-depth", "form", "path-escape", "bad-pattern", "ref-unresolvable",
    "ref-scope-unknown", "exists-needs-text", "not-a-list", "not-a-number", "artifact-path", "severities",
)  # fmt: skip
_OF_REFERENCE = ("issue-reference", "merge-request-reference", "pull-request-reference")
_OF_AGENT = ("agent-missing", "agent-unknown", "agent-unguided")


def onward(run: LoadedRun, changed: Sequence[str] = ()) -> list[str]:
    """What to do next. `changed` are the files of the run's flows that were changed since it began."""
    if run.state.status not in ("failed", "cancelled"):
        return []
    found = [_after_failure(run) if run.state.status == "failed" else _after_end(run)]
    found += changed_words(run, changed)
    return [*found, f"`handrail log {run.id}` shows what happened"]


def _after_end(run: LoadedRun) -> str:
    resume = f"handrail resume {run.id}"
    option = option_named_in(run.state.reason or "")
    if run.state.code == BUDGET and option is not None:
        return f"`{resume} {option} N` resumes it with a higher bound; what it has used so far counts"
    return f"`{resume}` resumes it"


def changed_words(run: LoadedRun, changed: Sequence[str]) -> list[str]:
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
    failed = failed_step(run)
    path = failed.path if failed is not None else ""
    step = step_at(run, run.plan, path)
    policy = step.policy if step is not None else "ask"
    if code == MISSING:
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
    memory = Memory()
    for _, event in run.records:
        memory.take(event)
    return memory.tried(path).is_refuted


def failed_step(run: LoadedRun) -> machine.StepFailed | None:
    """The step that made the run fail, the innermost one of nested flows; None if no step did."""
    found: machine.StepFailed | None = None
    for _, event in run.records:
        if isinstance(event, machine.RunResumed):
            found = None
        elif isinstance(event, machine.StepFailed) and event.code != CANCELLED:
            is_around = found is not None and found.path.startswith(f"{event.path}/")
            found = found if is_around else event
    return found if found is not None and found.code == run.state.code else None


def step_at(run: LoadedRun, plan: FlowPlan, path: str) -> Step | None:
    """The step at a path, also inside nested flows; None if it cannot be found."""
    parts = path.split("/")
    if len(parts) < 2:
        return None
    phases = [phase for phase in plan.phases if segment(phase.id) == parts[0]]
    steps = [step for phase in phases for step in phase.steps if segment(step.id) == parts[1]]
    if not steps or len(parts) == 2:
        return steps[0] if steps else None
    child = child_of(steps[0], run.find)
    return None if child is None else step_at(run, child, "/".join(parts[2:]))
