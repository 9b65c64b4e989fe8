"""A loaded run as JSON, as an exit code, and as sentences that say what a person can do next. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from handrail.base.dataclasses import dataclass
from handrail.driven.flows.plan import FlowPlan, Phase, Step, child_of, path_segment, step_at
from handrail.driven.flows.results import FlowResult, Results, nested_flow_result, pending, result, skipped
from handrail.driven.runs import run_events
from handrail.driven.runs.choices import BUDGET_CODE, option_named_in
from handrail.driven.runs.loaded_run import LoadedRun
from handrail.driven.runs.memory import Memory
from handrail.driven.runs.restart import first_unfinished
from handrail.driven.runs.run_events import CANCELLED, RunStatus, StepStatus
from handrail.driven.runs.state import RunState, StepState, available_modes
from handrail.driven.runs.summary import waiting_for
from handrail.extensions.contracts import EventRecord
from handrail.settings.secrets import SECRET_MISSING

EXIT_CODES: dict[RunStatus, int] = {"completed": 0, "waiting": 4}


@dataclass(frozen=True)
class RunView:
    """A run for display: its state and how long its steps took. `moment` formats a time for people."""

    run: LoadedRun
    moment: Callable[[float], str]

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def state(self) -> RunState:
        return self.run.state

    @cached_property
    def seconds(self) -> dict[str, float]:
        return seconds_of(self.run.records)

    @property
    def delay(self) -> str | None:
        """Until when a running run waits, and why; None if it does not wait."""
        if self.state.status != "running" or not self.state.delays:
            return None
        first = min(self.state.delays.values(), key=lambda delay: delay.until)
        return f"`{first.path}` waits until {self.moment(first.until)}: {first.reason}"

    @property
    def exit_code(self) -> int:
        if self.state.status == "failed" and self.state.code == "timeout":
            return 3
        if self.state.code == BUDGET_CODE:
            return 6
        return EXIT_CODES.get(self.state.status, 1)

    def to_json(self) -> dict[str, Any]:
        state = self.state
        return {
            "run": self.id,
            "name": self.run.plan.id,
            "status": state.status,
            "outcome": state.outcome if state.status in ("completed", "stopped") else None,
            "reason": state.reason or self.delay,
            "error": state.error,
            "summary": state.summary,
            "attempt": self.run.attempt,
            "driver": self.run.driver,
            "modes": available_modes(state, self.run.plan).names(),
            "phases": [self._phase(phase) for phase in self.run.plan.phases],
            "questions": [
                {"id": asked.id, "path": asked.path, "form": asked.question} for asked in state.questions.values()
            ],
            "waitingFor": self._waiting_for(),
            "artifacts": state.artifacts,
            "worktree": _tree(self.run),
            "usage": total_usage(usage for many in state.usage.values() for usage in many),
        }

    def _waiting_for(self) -> list[dict[str, Any]] | None:
        """The open questions of a run that can be answered now; None if there is none."""
        asked = self.state.questions.values()
        return waiting_for(self.state.status, [(one.id, one.path, one.question) for one in asked])

    def _used(self, path: str) -> dict[str, Any]:
        """What a phase or step used, including all steps below it."""
        below = path + "/"
        found = [many for at, many in self.state.usage.items() if at == path or at.startswith(below)]
        return total_usage(usage for many in found for usage in many)

    def _phase(self, phase: Phase) -> dict[str, Any]:
        rows = [self._step(phase, step) for step in phase.steps]
        status: StepStatus = self.state.phases.get(path_segment(phase.id), "pending")
        if any(row["status"] == "failed" for row in rows):
            status = "failed"
        return {"id": phase.id, "status": status, "usage": self._used(path_segment(phase.id)), "steps": rows}

    def _step(self, phase: Phase, step: Step) -> dict[str, Any]:
        path = f"{path_segment(phase.id)}/{path_segment(step.id)}"
        found = self.state.steps.get(path, StepState())
        return {
            "id": step.id,
            "status": found.status,
            "value": self._value(step, path),
            "attempts": found.attempts,
            "seconds": self.seconds.get(path),
            "error": found.error,
            "usage": self._used(path),
        }

    def _value(self, step: Step, path: str) -> Any:
        found = self.state.steps.get(path, StepState())
        if found.has_value:
            return self.run.value(found)
        child = child_of(step, self.run.find) if found.status == "done" else None
        return None if child is None else nested_flow_result(child, self._ended(child, f"{path}/"))

    def _ended(self, plan: FlowPlan, base: str) -> FlowResult:
        """How a nested flow ended, by the events of the run."""
        results: Results = {}
        stopped: tuple[str, str] | None = None
        for phase in plan.phases:
            results[phase.id] = {}
            for step in phase.steps:
                path = f"{base}{path_segment(phase.id)}/{path_segment(step.id)}"
                found = self.state.steps.get(path, StepState())
                status = {"done": lambda: result(self._value(step, path)), "skipped": skipped}  # noqa: B023 - used at once
                results[phase.id][step.id] = status.get(found.status, pending)()
                if found.stop:
                    stopped = (f"{phase.id}:{step.id}", step.stop_outcome)
        by, outcome = stopped or (None, "success")
        return FlowResult(by, outcome, results)


def _tree(run: LoadedRun) -> dict[str, Any] | None:
    """The worktree in which a run works; None if it works in the project itself."""
    tree = run.about.request.worktree
    return None if tree is None else {"path": tree.path, "branch": tree.branch, "base": tree.base}


def total_usage(usages: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The sum of the known numbers; None for a number that is never known."""
    known = list(usages)
    found: dict[str, Any] = {}
    for name in ("inputTokens", "outputTokens", "usd"):
        counts = [usage[name] for usage in known if isinstance(usage.get(name), int | float)]
        found[name] = round(sum(counts), 6) if counts else None
    return found


def seconds_of(records: Iterable[EventRecord]) -> dict[str, float]:
    """How long each step took the last time it ran, without the time in which the run was not driven."""
    begun: dict[str, float] = {}
    took: dict[str, float] = {}
    last: float | None = None
    for moment, event in records:
        idle = 0.0 if last is None or not isinstance(event, run_events.RunResumed) else max(0.0, moment - last)
        begun = {path: start + idle for path, start in begun.items()} if idle else begun
        if not isinstance(event, run_events.Noticed) and getattr(event, "driven", True):
            last = moment
        if isinstance(event, run_events.StepStarted):
            begun[event.path] = moment
        elif isinstance(event, run_events.StepDone | run_events.StepFailed) and event.path in begun:
            took[event.path] = round(max(0.0, moment - begun[event.path]), 3)
    return took


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
    failed = failed_step(run)
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
    memory = Memory()
    for _, event in run.records:
        memory.take(event)
    return memory.tried(path).is_refuted


def failed_step(run: LoadedRun) -> run_events.StepFailed | None:
    """The step that made the run fail, the innermost one of nested flows; None if no step did."""
    found: run_events.StepFailed | None = None
    for _, event in run.records:
        if isinstance(event, run_events.RunResumed):
            found = None
        elif isinstance(event, run_events.StepFailed) and event.code != CANCELLED:
            is_around = found is not None and found.path.startswith(f"{event.path}/")
            found = found if is_around else event
    return found if found is not None and found.code == run.state.code else None
