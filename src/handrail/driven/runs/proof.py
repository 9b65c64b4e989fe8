"""The proof of a step: its `expect`, the files in `makes`, and whether the rounds of a repeat get anywhere.

A file that the step did not change is no proof. A repeat ends if a check fails in the same way in several rounds in
a row; only what the steps returned is compared, so a resumed run decides as the first one did.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from handrail.base.dataclasses import dataclass
from handrail.driven.flows.plan import Expectation, FlowPlan, Phase, Step
from handrail.driven.flows.results import Results
from handrail.driven.runs import run_events
from handrail.extensions.contracts import LastingError, NodeError, OutputVerdict, PromisedFile
from handrail.extensions.contracts.check import subject
from handrail.source.output_text import telling_line, without_variable_parts
from handrail.source.values import Unresolved, as_text, is_true, shown

if TYPE_CHECKING:
    from handrail.driven.runs.interpreter import Resolver

LONGEST_NAME = 80
LONGEST_DETAIL = 2_000
CheckResult = dict[str, Any]


async def check_expectations(values: Resolver, phase: Phase, step: Step, path: str) -> None:
    """Run all checks and record their results. Raises `NodeError` with all expectations that do not hold."""
    results: list[CheckResult] = []
    errors: list[NodeError] = []
    unresolved_error: Unresolved | None = None
    for number, expectation in enumerate(step.expect or ()):
        result = {"name": expectation.kind, "kind": expectation.kind, "held": None, "detail": "", "seconds": None}
        results.append(result)
        try:
            await _check(values, phase, path, expectation, f"expect.{number}", result)
        except NodeError as error:
            if result["held"] is None:
                result["detail"] = error.message
            errors.append(error)
        except Unresolved as error:
            result["detail"] = error.message
            if not errors:
                unresolved_error = error
                break
    short_results = [{**result, "detail": shown(result["detail"], LONGEST_DETAIL)} for result in results]
    values.durable.note(run_events.Checked(path, short_results))
    if unresolved_error is not None:
        raise unresolved_error
    if errors:
        message, is_transient = "; ".join(e.message for e in errors), all(e.transient for e in errors)
        output = "\n".join(e.output for e in errors if e.output)
        raise NodeError(errors[0].code, message, transient=is_transient, output=output)


async def _check(
    values: Resolver, phase: Phase, path: str, expectation: Expectation, place: str, result: CheckResult
) -> None:
    """Fill in what was found. Raises `NodeError` if the expectation does not hold or cannot be checked."""
    if expectation.when is not None and not is_true(await values.resolve(expectation.when, phase, path, place)):
        result["detail"] = "its condition does not hold"
        return
    params = {
        name: await values.resolve(value, phase, path, f"{place}.{name}") for name, value in expectation.params.items()
    }
    result["name"] = f"{expectation.kind}: {shown(subject(params), LONGEST_NAME)}"
    finding = await values.durable.check(expectation.kind, params)
    result |= {"held": finding.held, "detail": finding.detail, "seconds": finding.seconds}
    if not finding.held:
        message = expectation.message or f"`{result['name']}` does not hold"
        reason = ": ".join(part for part in (message.rstrip("."), finding.detail) if part)
        raise NodeError("expectation", reason, output=finding.detail.partition("\n")[2])


Before = dict[str, Any]
"""The fingerprint of each promised file that existed before the step; `*` is a key if not all paths were known."""


async def existing_outputs(values: Resolver, phase: Phase, step: Step, path: str) -> Before:
    """The promised files that exist before the first attempt of a step, as recorded then."""
    fingerprints: Before = {}
    for number, output in enumerate(step.makes):
        place = f"before.{number}"
        try:
            paths = await values.resolve(output.path, phase, path, place)
        except (Unresolved, NodeError):
            fingerprints["*"] = None
            continue
        for item in paths if isinstance(paths, list) else [paths]:
            if isinstance(item, str) and await values.durable.fact(path, place, "exists", item):
                fingerprints[item] = await values.durable.fact(path, place, "fingerprint", item)
    return fingerprints


async def made_by(values: Resolver, phase: Phase, step: Step, path: str, before: Before) -> list[PromisedFile]:
    """The files to publish. Raises `NodeError` if a required one was there before and the step did not change it."""
    files: list[PromisedFile] = []
    for number, output in enumerate(step.makes):
        resolved_paths = await values.resolve(output.path, phase, path, f"makes.{number}")
        if resolved_paths is None and not output.is_own:
            continue  # the node was not asked to make this file
        for item in resolved_paths if isinstance(resolved_paths, list) else [resolved_paths]:
            if not isinstance(item, str):
                raise LastingError("artifact-path", f"{shown(item, 80)} is not a path")
            old = before.get(item) if output.is_own else None
            if old is not None and old == await values.durable.look("fingerprint", item):
                if not output.required:
                    continue
                raise NodeError("artifact-unchanged", f"`{item}` was there before, and the step did not change it")
            is_new = item not in before and "*" not in before
            files.append(PromisedFile(item, output.name, output.schema, output.required, is_new))
    output_paths = output_of(values, phase, step, step.declared.published)
    paths = [output_paths] if isinstance(output_paths, str) else output_paths or ()
    return files + [PromisedFile(item, None, None, required=True) for item in paths if isinstance(item, str)]


def output_of(values: Resolver, phase: Phase, step: Step, name: str | None) -> Any:
    """An output of a step that has just run. None if it has no such output."""
    outputs = values.steps[phase.id][step.id].get("outputs") if name is not None else None
    return outputs.get(name) if isinstance(outputs, dict) else None


SAME_FAILURE = "same-failure"
LONGEST_FAILURE = 200


@dataclass(frozen=True)
class StepReport:
    """What a finished step says: what its check found, and whether an agent worked in it. None: no check failed."""

    failure: str | None = None
    has_worked: bool = False


class RoundResults:
    """The rounds of the repeats of one flow. `path_of` is the path of a step; `nested` has what nested flows said."""

    def __init__(self, plan: FlowPlan, steps: Callable[[], Results], path_of: Callable[[Phase, Step], str]) -> None:
        self.plan = plan
        self.steps = steps
        self.path_of = path_of
        self.nested: dict[str, StepReport] = {}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {phase.id: number for number, phase in enumerate(self.plan.phases)}

    def report_of(self, phase: Phase, step: Step) -> StepReport:
        entry = self.steps().get(phase.id, {}).get(step.id, {})
        if entry.get("status") != "done":
            return StepReport()
        if step.declared.nests is not None:
            return self.nested.get(self.path_of(phase, step), StepReport())
        verdict = step.declared.verdict
        link = phase.repeat_link
        if verdict is not None and verdict.must_be_used and (link is None or step.id not in link.until_steps):
            verdict = None
        return StepReport(_failure(verdict, entry.get("value")), step.declared.calls_agent)

    def whole(self) -> StepReport:
        """What the flow says as a whole: its last check counts."""
        failure, has_worked = None, False
        for phase in self.plan.phases:
            for step in phase.steps:
                report = self.report_of(phase, step)
                has_worked = has_worked or report.has_worked
                if self._has_verdict(phase, step):
                    failure = report.failure
        return StepReport(failure, has_worked)

    def _has_verdict(self, phase: Phase, step: Step) -> bool:
        is_done = self.steps().get(phase.id, {}).get(step.id, {}).get("status") == "done"
        return is_done and (step.declared.verdict is not None or step.declared.nests is not None)

    def refuse_same(self, phase: Phase, step: Step, most: int) -> None:
        """Raise `NodeError` if a step failed as in the rounds before. `most` holds if the repeat does not say."""
        link = phase.repeat_link
        if link is None or (step.declared.verdict is None and step.declared.nests is None):
            return
        limit, failure = most if link.limit is None else link.limit, self.report_of(phase, step).failure
        if limit < 2 or failure is None:
            return
        number, current = phase.steps.index(step), phase
        for _ in range(limit - 1):
            previous = self._previous_round(current)
            if previous is None or self.report_of(previous, previous.steps[number]).failure != failure:
                return
            if link.limit is None and not self._has_worked(previous, current):
                return
            current = previous
        message = f"`{step.id}` failed in the same way in {limit} rounds in a row, so the repeat ends"
        raise LastingError(SAME_FAILURE, f"{message}: {_words(step.declared.verdict, failure)}")

    def _previous_round(self, phase: Phase) -> Phase | None:
        previous = phase.repeat_link.previous if phase.repeat_link is not None else None
        return self.plan.phases[self._places[previous]] if previous is not None else None

    def _has_worked(self, first: Phase, last: Phase) -> bool:
        """True if an agent worked between a phase and the same phase of the next round."""
        phases = self.plan.phases[self._places[first.id] : self._places[last.id] + 1]
        return any(self.report_of(phase, step).has_worked for phase in phases for step in phase.steps)


def _words(verdict: OutputVerdict | None, failure: str) -> str:
    """The last line that tells the failure. If there is only the output that decides, its name is told, too."""
    line = shown(telling_line(failure), LONGEST_FAILURE)
    is_alone = verdict is not None and verdict.told[:1] == (verdict.output,) and len(failure.split()) == 1
    return f"`{verdict.output}` is {line}" if verdict is not None and is_alone else line


def _failure(verdict: OutputVerdict | None, value: Any) -> str | None:
    """What failed, without what differs each time; None if nothing did."""
    if verdict is None or _member(value, verdict.output) in (None, verdict.good):
        return None
    return without_variable_parts("\n".join(as_text(_member(value, name)) for name in verdict.told))


def _member(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
