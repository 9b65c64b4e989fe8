"""One step of a run for a person who opens it: what it was given, what it returned, its tries, checks and files.

All texts are cleaned, and no secret is in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handrail.errors import NotFound, StateError
from handrail.flows.outline import child_of
from handrail.flows.paths import segment, top
from handrail.flows.plan import FlowPlan
from handrail.runs import machine
from handrail.runs.loaded import LoadedRun
from handrail.runs.runs import Runs
from handrail.runs.spent import Spent
from handrail.runs.stored import seen
from handrail.secrets.redaction import masked
from handrail.source.clean import clean
from handrail.state import jsonlite
from handrail.topics.texts import cleaned, why

MOST = 256 * 1024
LAST_LINES = 20
Found = dict[str, Any]


def step_of(runs: Runs, id_: str, path: str, number: int | None = None) -> Found:
    """A step by its path, and one of its tries: by default the last one. Raises `NotFound`."""
    run = runs.load(id_)
    tries = _Tries(path)
    for at, event in run.records:
        tries.take(at, seen(event))
    if tries.status is None and not _is_planned(run, path):
        raise NotFound(f"run `{id_}` has no step `{clean(path)[:80]}`", "its tree has the paths of its steps")
    wanted = tries.found[-1] if tries.found else _new(1, None)
    if number is not None:
        wanted = next((one for one in tries.found if one["try"] == number), {}) or _missing(id_, path, number)
    shown = {name: value for name, value in wanted.items() if name not in ("given", "value", "usage")}
    return {
        "run": id_,
        "path": path,
        "status": tries.status or "pending",
        **shown,
        **_input(wanted["given"], run.payload),
        **_output(wanted["value"], run.payload),
        "usage": _sum(wanted["usage"]),
        "tries": [{name: one[name] for name in ("try", "started", "ended", "end", "why")} for one in tries.found],
        "artifacts": [cleaned(one) for one in tries.made],
        "lines": _printed(runs, id_, path),
    }


class _Tries:
    """What the events say about one step, try by try."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.status: str | None = None
        self.found: list[Found] = []
        self.made: list[Found] = []

    def take(self, at: float, event: machine.Event) -> None:
        if isinstance(event, machine.RunResumed) and top(self.path) in event.rewound:
            self.status, self.found, self.made = None, [], []
        if getattr(event, "path", None) != self.path:
            return
        match event:
            case machine.StepStarted():
                self.status = "running"
            case machine.NodeStarted():
                self._begin(at, event.attempt)["given"] = (event.given, event.payload)
            case machine.AttemptStarted():
                self._begin(at, event.attempt)
            case machine.NodeFinished():
                self._now(at).update(value=(event.value, event.payload), ended=at, end="done")
            case machine.NodeFailed() | machine.AttemptFailed():
                self._now(at).update(ended=at, end="failed", why=why(event.code, event.message))
            case machine.StepDone() | machine.StepSkipped():
                self.status = "done" if isinstance(event, machine.StepDone) else "skipped"
            case machine.StepFailed():
                self.status = "failed"
                self._now(at).update(ended=at, end="failed", why=why(event.code, event.message))
            case machine.ArtifactPublished():
                self.made.append(event.artifact)
            case _:
                self._of_try(at, event)

    def _of_try(self, at: float, event: machine.Event) -> None:
        match event:
            case machine.Checked():
                self._now(at)["checks"] = [{**cleaned(one), "at": at} for one in event.results]
            case machine.UsageReported():
                self._now(at)["usage"].append(event.usage)
            case machine.SessionOpened():
                self._now(at).update(who=clean(event.agent), conversation=clean(event.session))
            case machine.AgentActed():
                counts = self._now(at)["counts"]
                counts[event.kind] = counts.get(event.kind, 0) + 1
            case machine.Asked() | machine.Answered():
                self.status = "waiting" if isinstance(event, machine.Asked) else "running"
            case _:
                return

    def _begin(self, at: float, number: int) -> Found:
        if not self.found or self.found[-1]["try"] != number:
            self.found.append(_new(number, at))
        return self.found[-1]

    def _now(self, at: float) -> Found:
        return self.found[-1] if self.found else self._begin(at, 1)


def _new(number: int, at: float | None) -> Found:
    unknown = dict.fromkeys(("ended", "end", "why", "given", "value", "who", "conversation"))
    return {"try": number, "started": at, **unknown, "checks": [], "usage": [], "counts": {}}


def _missing(id_: str, path: str, number: int) -> Found:
    raise NotFound(f"step `{path}` of run `{id_}` has no try {number}")


def _is_planned(run: LoadedRun, path: str) -> bool:
    """True if the flow has this step, also if it has not begun."""
    plan: FlowPlan | None = run.plan
    names = path.split("/")
    while plan is not None and len(names) >= 2:
        steps = {(segment(phase.id), segment(step.id)): step for phase in plan.phases for step in phase.steps}
        step = steps.get((names[0], names[1]))
        if step is None or len(names) == 2:
            return step is not None
        plan, names = child_of(step, run.find), names[2:]
    return False


def _input(given: tuple[Any, str | None] | None, payload: Callable[[str], Any]) -> Found:
    """The prompt and the params; None if they are not recorded, or not readable any more."""
    value = _whole(given, payload)
    if not isinstance(value, dict):
        return {"prompt": None, "params": None}
    prompt = value.get("prompt")
    return {"prompt": None if prompt is None else clean(prompt)[:MOST], "params": _bounded(value.get("params"))[0]}


def _output(given: tuple[Any, str | None] | None, payload: Callable[[str], Any]) -> Found:
    value, is_cut = _bounded(_whole(given, payload))
    return {"output": value, "isCut": is_cut}


def _whole(given: tuple[Any, str | None] | None, payload: Callable[[str], Any]) -> Any:
    if given is None:
        return None
    value, digest = given
    if digest is None:
        return value
    try:
        return masked(payload(digest))
    except StateError:
        return None


def _bounded(value: Any) -> tuple[Any, bool]:
    """A value, cleaned. If it is too long, the beginning of its JSON as text."""
    text = jsonlite.dumps(value)
    if len(text) > MOST:
        return clean(text[:MOST]), True
    return cleaned(value), False


def _printed(runs: Runs, id_: str, path: str) -> list[Found]:
    lines, _ = runs.engine.activity(id_, None)
    return [{**one, "text": clean(one["text"])} for one in lines if one["node"] == path][-LAST_LINES:]


def _sum(reports: list[Found]) -> Found:
    """The sum of what agents reported; empty if none did."""
    spent = Spent()
    for report in reports:
        spent.add(report)
    return spent.to_json() if reports else {}
