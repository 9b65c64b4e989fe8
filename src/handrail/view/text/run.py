"""A run as text: as JSON, as an exit code, what a person can do next, and what a run will likely take. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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
from handrail.driven.runs.estimate import Estimate, Forecast, Spread
from handrail.driven.runs.request import LoadedRun
from handrail.driven.runs.restart import first_unfinished
from handrail.driven.runs.run_events import BUDGET_CODE, DENIED, Bounded, RunStatus, StepStatus, option_named_in
from handrail.driven.runs.state import RunState, StepState
from handrail.driven.runs.summary import USAGE_NAMES
from handrail.settings.secrets import SECRET_MISSING
from handrail.source.output_text import clean
from handrail.source.plain_text import command_line, counted
from handrail.view.rows.rows import Row
from handrail.view.rows.run import RunTopic
from handrail.view.text.columns import duration

EXIT_CODES: dict[RunStatus, int] = {"completed": 0, "waiting": 4}


def exit_code_of(state: RunState) -> int:
    """The exit code of a command that drove a run."""
    if state.status == "failed" and state.code == "timeout":
        return 3
    if state.code == DENIED:
        return 5
    if state.code == BUDGET_CODE:
        return 6
    return EXIT_CODES.get(state.status, 1)


def run_json(run: LoadedRun) -> dict[str, Any]:
    """A run as JSON, as `docs/reference/view.md` describes it."""
    state = run.state
    topic = RunTopic(run.plan, lambda _: None, run.attempt, {}, run.records)
    head = topic.rows.head
    tree = run.about.request.worktree
    return {
        **run.summary.to_json(),
        "outcome": head["outcome"],
        "summary": state.summary,
        "modes": head["modes"],
        "phases": [_phase_json(run, topic, phase) for phase in run.plan.phases],
        "questions": [
            {"id": question.id, "path": question.path, "form": question.question}
            for question in state.questions.values()
        ],
        "artifacts": state.artifacts,
        "worktree": None if tree is None else {"path": tree.path, "branch": tree.branch, "base": tree.base},
        "denied": head["denied"],
        "deniedTools": head["deniedTools"],
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
    state, row = run.state.steps.get(path, StepState()), topic.tree.get(path)
    return {
        "id": step.id,
        "status": state.status,
        "value": _value_json(run, step, path),
        "attempts": state.attempts,
        "seconds": row["took"],
        "error": state.error,
        "output": clean(next(failed_outputs(run, path), ("", ""))[1]) or None,
        "usage": _usage_json(row),
        "denied": sum(row["deniedTools"].values()),
        "deniedTools": row["deniedTools"],
    }


def failed_outputs(run: LoadedRun, below: str = "") -> Iterator[tuple[str, str]]:
    """The path of each step that failed, and the last lines that it printed. `below`: only of this step."""
    for path, step in run.state.steps.items():
        if step.status == "failed" and step.output and f"{path}/".startswith(f"{below}/" if below else ""):
            yield path, step.output


def _value_json(run: LoadedRun, step: Step, path: str) -> Any:
    state = run.state.steps.get(path, StepState())
    if state.has_value:
        return run.value(state)
    child = child_of(step, run.find) if state.status == "done" else None
    return None if child is None else without_copies(nested_flow_result(child, _nested_result(run, child, f"{path}/")))


def _nested_result(run: LoadedRun, plan: FlowPlan, base: str) -> FlowResult:
    """How a nested flow ended, by the events of the run."""
    results: Results = {}
    stop: tuple[str, str] | None = None
    for phase in plan.phases:
        results[phase.id] = {}
        for step in phase.steps:
            path = f"{base}{path_segment(phase.id)}/{path_segment(step.id)}"
            state = run.state.steps.get(path, StepState())
            status = {"done": lambda: result(_value_json(run, step, path)), "skipped": skipped}  # noqa: B023 - used at once
            results[phase.id][step.id] = status.get(state.status, pending)()
            if state.stop:
                stop = (f"{phase.id}:{step.id}", step.stop_outcome)
    stopped_by, outcome = stop or (None, "success")
    return FlowResult(stopped_by, outcome, results)


_OF_DEFINITION = (
    "params", "node-unknown", "flow-missing", "flow-depth", "form", "path-escape", "bad-pattern", "ref-unresolvable",
    "ref-scope-unknown", "exists-needs-text", "not-a-list", "not-a-number", "artifact-path", "severities",
)  # fmt: skip
_OF_REFERENCE = ("issue-reference", "merge-request-reference", "pull-request-reference")
_OF_AGENT = ("agent-missing", "agent-unknown", "agent-unguided")


def next_steps(run: LoadedRun, changed_files: Sequence[str]) -> list[str]:
    """What to do next. `changed_files` are the files of the run's flows that were changed since it began."""
    if run.state.status not in ("failed", "cancelled"):
        return []
    resume, option = f"handrail resume {run.id}", option_named_in(run.state.reason or "")
    if run.state.status == "failed":
        advice = _advice_after_failure(run)
    elif run.state.code == BUDGET_CODE and option is not None:
        advice = f"`{resume} {option} N` resumes it with a higher bound; what it has used so far counts"
    else:
        advice = f"`{resume}` resumes it"
    log = f"handrail log {run.id}"
    outputs = [
        f"`{command_line(*log.split(), '--output', path)}` prints all that it printed"
        for path, _ in failed_outputs(run)
    ]
    return [advice, *changed_files_words(run, changed_files), *outputs[:1], f"`{log}` shows what happened"]


def changed_files_words(run: LoadedRun, changed_files: Sequence[str]) -> list[str]:
    """Says that the run does not use the files as they are now."""
    words = f"since this run began, and a resumed run uses the old one; `{restart_command(run)}` uses the new one"
    return [f"`{file}` was changed {words}" for file in changed_files]


def restart_command(run: LoadedRun) -> str:
    """The command that runs the unfinished phases with the current definitions."""
    first = first_unfinished(run.state, run.plan.phases)
    is_first = first is None or first == run.plan.phases[0].id
    return f"handrail restart {run.id}" + ("" if is_first else f" --from {first}")


def _advice_after_failure(run: LoadedRun) -> str:
    code, resume, restart = run.state.code or "", f"handrail resume {run.id}", restart_command(run)
    failed_step = run.failed_step
    path = failed_step.path if failed_step is not None else ""
    step = step_at(run.plan, path, run.find)
    policy = step.policy if step is not None else "ask"
    if code == SECRET_MISSING:
        return f"set the variable, then run `{resume}`"
    if code == "artifact-secret":
        settings = "`secrets: {except: [NAME]}` in your own settings says that the variable holds no secret"
        return f"remove the secret from the file, then run `{resume}`; {settings}"
    if path in run.state.steps and run.state.steps[path].is_refuted:
        checks_again = f"checks again what is expected of `{path}`"
        match policy:
            case "never":
                return f"fix it by hand, then run `{resume}`; only `{restart}` runs `{path}` again"
            case "ask":
                return f"`{resume}` {checks_again}, and if it does not hold, asks whether to run the step again"
            case _:
                return f"`{resume}` {checks_again}, and if it does not hold, runs the step again"
    if code == "rerun":
        then = f"`{restart}` runs it again" if policy == "never" else f"`{resume}` asks again"
        return f"find out whether `{path}` had finished; {then}"
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


UNKNOWN = "unknown"
_SECONDS = ((5400.0, "h", 3600.0), (90.0, "min", 60.0), (0.0, "s", 1.0))
_TOKENS = ((1e6, "M", 1e6), (1e3, "k", 1e3), (0.0, "", 1.0))


def estimate_lines(estimate: Estimate, bounds: Bounded, *, is_asked_for: bool = False) -> list[str]:
    """The estimate in one line and a warning for each bound that past runs went over. `is_asked_for`: also if short."""
    forecast, count = estimate.whole, len(estimate.whole.past)
    warnings = [f"warning: {line}" for line in bound_warnings(forecast, bounds)]
    if forecast.seconds is not None and is_brief(forecast):
        words = f"past runs took {seconds_words(forecast.seconds)} ({counted(count, 'run')}), no agent works"
        return [f"estimate: {words}", *warnings] if is_asked_for else warnings
    if not count:
        words = f"{UNKNOWN}; {_no_past_words(estimate)}"
    elif count == 1:
        words = f"{measures(forecast)} ({UNKNOWN} how much that varies: 1 past run)"
    else:
        smallest_share = min((one.share for one in _spreads(forecast) if one.count > 1), default=0.0)
        words = f"{measures(forecast)} ({_share(smallest_share)} stay within this; {counted(count, 'past run')})"
    return [f"estimate: {words}", *warnings]


def is_brief(forecast: Forecast) -> bool:
    """True if no agent works and past runs took less than a minute: nobody needs such an estimate."""
    return forecast.seconds is not None and forecast.seconds.high < 60 and not _has_agents(forecast)


def _has_agents(forecast: Forecast) -> bool:
    return forecast.tokens is None or forecast.tokens.high > 0


def brief_estimate(steps: tuple[int, int], estimate: Estimate) -> str:
    """For a dialog: `7 to 13 steps; last 5 runs: 5m 02s to 9m 10s, $0.40 to $0.70`."""
    low_count, high_count = steps
    number = counted(high_count, "step") if low_count == high_count else f"{low_count} to {counted(high_count, 'step')}"
    forecast = estimate.whole
    if forecast.seconds is None:
        why = "other agents worked in all past runs" if estimate.others else "no past run is like this one"
        return f"{number}; {why}"
    parts = [_range_text(duration(forecast.seconds.low), duration(forecast.seconds.high))]
    if forecast.usd is not None and forecast.usd.high:
        low, high = (f"${amount:.{2 if amount >= 0.1 else 4}f}" for amount in (forecast.usd.low, forecast.usd.high))
        parts.append(_range_text(low, high))
    elif forecast.tokens is None or forecast.tokens.high:
        parts.append("cost unknown")
    count = len(forecast.past)
    return f"{number}; {'last run' if count == 1 else f'last {count} runs'}: {', '.join(parts)}"


def _range_text(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _no_past_words(estimate: Estimate) -> str:
    words = f"no past run of `{estimate.flow}` in this project is like this one"
    return f"{words}: other agents or models worked in {counted(estimate.others, 'run')}" if estimate.others else words


def measures(likely: Forecast) -> str:
    """Time, tokens and cost, each with its interval and the usual value. Without agents, only the time."""
    if likely.seconds is None:
        return UNKNOWN
    parts = [seconds_words(likely.seconds)]
    if _has_agents(likely):
        parts.append("tokens unknown" if likely.tokens is None else tokens_words(likely.tokens))
        parts.append("cost unknown" if likely.usd is None else usd_words(likely.usd))
    return "; ".join(parts)


def estimate_rows(estimate: Estimate) -> list[tuple[str, ...]]:
    """A table: a row per phase, and one for the whole."""
    names = [row.phases[0] + f" (up to {len(row.phases)} rounds)" * (len(row.phases) > 1) for row in estimate.rows]
    rows = [(name, *_cells(row.likely)) for name, row in zip(names, estimate.rows, strict=True)]
    return [("PHASE", "TIME", "TOKENS", "COST", "RUNS"), *rows, ("whole run", *_cells(estimate.whole))]


def meaning_of_estimate(estimate: Estimate) -> str:
    """How the intervals of a table are to be read."""
    if not any(row.likely.past for row in estimate.rows):
        return _no_past_words(estimate)
    forecasts = [estimate.whole, *(row.likely for row in estimate.rows)]
    shares = {one.count: one.share for likely in forecasts for one in _spreads(likely) if one.count > 1}
    if not shares:
        return "one past run is not enough to say how much it varies"
    words = ", ".join(f"{_share(shares[count])} ({count} runs)" for count in sorted(shares, reverse=True))
    return f"from past runs; how many new ones stay within an interval: {words}"


def bound_warnings(likely: Forecast, bounds: Bounded) -> Iterator[str]:
    """Says how many past runs took more than the run may use."""
    for bound, limit in bounds.named.items():
        name, size = ("seconds", 60) if bound == "minutes" else (bound, 1)
        amounts = [amount / size for use in likely.past if (amount := getattr(use, name)) is not None]
        if count := sum(amount > limit for amount in amounts):
            number = int(limit) if bound == "tokens" else limit
            text = f"${limit:.4g}" if bound == "usd" else counted(number, bound[:-1])
            words = f"{count} of {counted(len(amounts), 'past run')} used more than {text}"
            yield f"{words} ({bounds.source(bound)}), so this run may end before it is done"


def seconds_words(spread: Spread) -> str:
    _, unit, size = next(row for row in _SECONDS if spread.high >= row[0])
    return _interval(spread, size, "", f" {unit}")


def tokens_words(spread: Spread) -> str:
    _, unit, size = next(row for row in _TOKENS if spread.high >= row[0])
    return _interval(spread, size, "", f"{unit} tokens")


def usd_words(spread: Spread) -> str:
    return _interval(spread, 1.0, "$", "", digits=2 if spread.high >= 0.1 else 4)


def _interval(spread: Spread, size: float, prefix: str, suffix: str, digits: int | None = None) -> str:
    """The interval, rounded so that it does not get narrower, and the usual value."""
    if not spread.high:
        return f"{prefix}0{suffix}"
    low = _round_text(spread.low / size, math.floor, digits)
    usual, high = _round_text(spread.usual / size, round, digits), _round_text(spread.high / size, math.ceil, digits)
    if spread.count == 1 or low == high:
        return f"{prefix}{usual}{suffix}"
    return f"{prefix}{low}–{high}{suffix}, usually {prefix}{usual}"


def _round_text(value: float, rounding: Callable[[float], int], digits: int | None) -> str:
    """The value with two digits or so; `digits` are those behind the point, if they are given."""
    places = digits if digits is not None else 0 if value >= 10 or not value else 1
    return f"{rounding(round(value * 10**places, 6)) / 10**places:.{places}f}"


def _cells(likely: Forecast) -> tuple[str, ...]:
    spreads = (likely.seconds, likely.tokens, likely.usd)
    words = (seconds_words, tokens_words, usd_words)
    cells = [UNKNOWN if one is None else say(one) for one, say in zip(spreads, words, strict=True)]
    return (cells[0], cells[1].replace(" tokens", ""), cells[2], str(len(likely.past)))


def _spreads(likely: Forecast) -> list[Spread]:
    return [one for one in (likely.seconds, likely.tokens, likely.usd) if one is not None]


def _share(share: float) -> str:
    return f"{math.floor(share * 10 + 1e-9)} of 10 runs"
