"""A run in one line: its status, where it stands, what it does, what it asks and what it used.

Derived from the state of the run. The facts about its flow (how many steps it has, which phases are rounds) are the
`shape` of its request; what it lacks is None. An unknown usage is never zero: it makes a sum incomplete. Of this
package, `handrail runs` imports only this and `state`, so it starts fast.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from handrail.base import jsonlite
from handrail.base.errors import StateError
from handrail.driven.runs.state import ENDED, RERUN, WAIT, Delay, Question, RunState, modes_of, stops_of

USAGE_NAMES = ("inputTokens", "outputTokens", "usd")
APPROVED = "approved"
_APPROVALS = ("approve", "propose")
_LONGEST = 200


class UsageSum:
    """The sum of what agents used. `missing` is how many reports lack a number."""

    __slots__ = ("missing", "sums")

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.missing = 0

    def add(self, usage: Mapping[str, Any], *, is_found: bool = False) -> None:
        """Add a report, or a sum. `is_found`: it is that of an empty report that was added before."""
        for name in USAGE_NAMES:
            if isinstance(usage.get(name), int | float):
                self.sums[name] = self.sums.get(name, 0) + usage[name]
        is_whole = usage.get("complete", True) and all(usage.get(name) is not None for name in USAGE_NAMES)
        self.missing += (not is_whole) - is_found

    def to_json(self) -> dict[str, Any]:
        sums = {name: round(self.sums[name], 6) if name in self.sums else None for name in USAGE_NAMES}
        return {**sums, "complete": not self.missing}


_HEADING_MARK = re.compile(r"^#+ +")


class Glance:
    """Where a run stands. `shape` is what its request says about its flow."""

    def __init__(self, state: RunState, shape: Mapping[str, Any] | None) -> None:
        self.state = state
        self.again = (shape or {}).get("again")
        self.phases: dict[str, list[Any]] = {str(row[0]): list(row) for row in (shape or {}).get("phases") or []}
        steps = [(step.order, path) for path, step in state.steps.items() if step.status == "running"]
        self.running = [path for _, path in sorted(steps)]  # the last started one last

    def delay(self) -> Delay | None:
        """The delay that ends first, if the run waits for a point in time, and nothing else goes on in it."""
        leaves = [path for path in self.running if not any(other.startswith(f"{path}/") for other in self.running)]
        delays = [self.state.delays.get(path) or self._wait(path) for path in leaves]
        known_delays = [delay for delay in delays if delay is not None]
        is_delayed = self.state.status == "running" and known_delays and len(known_delays) == len(delays)
        return min(known_delays, key=lambda delay: delay.until) if is_delayed else None

    def _wait(self, path: str) -> Delay | None:
        """A node waits for a point in time, and goes on with that after a resume."""
        facts = self.state.facts.get(path, {})
        until = next((value for (place, *_), value in facts.items() if place == WAIT), None)
        if not isinstance(until, int | float) or not self.state.steps[path].is_under_way:
            return None
        return Delay(path, until, "waits")

    def path(self, delay: Delay | None) -> str:
        """Where the run stands: at its oldest question, at what failed, at its next delay, or at its last start."""
        state = self.state
        if state.status == "completed":
            return ""
        if state.questions and state.status not in ENDED:
            return next(iter(state.questions))
        if state.status in ENDED:
            failures = [(step.order, path) for path, step in state.steps.items() if step.status == "failed"]
            return min(failures)[1] if failures else next(reversed(stops_of(state)), "")
        if delay is not None:
            return delay.path
        return self.running[-1] if self.running else next(reversed(state.phases), "")

    def done(self) -> int:
        """How many steps of the flow itself are behind the run."""
        state = self.state
        skipped_paths = {path for path, status in state.phases.items() if status == "skipped" and "/" not in path}
        steps_of_skipped = sum(int(self.phases[path][1]) for path in skipped_paths if path in self.phases)
        ended_paths = (path for path, step in state.steps.items() if step.status in ("done", "skipped"))
        return steps_of_skipped + sum(
            path.count("/") == 1 and path.partition("/")[0] not in skipped_paths for path in ended_paths
        )

    def usage(self) -> dict[str, Any]:
        total = UsageSum()
        total.missing = len(self.state.lost) + (not self.state.is_counted)
        for reports in self.state.usage.values():
            for usage in reports:
                total.add(usage)
        return total.to_json() if self.state.usage or total.missing else {}

    def to_json(self) -> dict[str, Any]:
        state, delay = self.state, self.delay()
        path = self.path(delay)
        phase, *steps = (part.replace("%2F", "/").replace("%25", "%") for part in path.split("/"))
        row = self.phases.get(path.partition("/")[0], [])
        is_going = state.status in ("running", "waiting")
        return {
            "place": [row[4] if len(row) > 4 else phase, *steps] if path else [],
            "round": row[2:4] if len(row) > 4 else None,
            "done": self.done(),
            "total": sum(int(phase_row[1]) for phase_row in self.phases.values()) if self.phases else None,
            "need": _need(list(state.questions.values())) if is_going and state.questions else None,
            "delay": delay and {"path": delay.path, "until": delay.until, "reason": short(delay.reason)},
            "doing": short(state.doing[path]) if is_going and path in state.doing else None,
            "who": state.agent,
            "agents": sorted({agent for agent, _ in state.sessions.values()}),
            "usage": self.usage(),
            "modes": modes_of(state, self.again, self.phases),
            "code": state.code,
            "rejected": self._rejected(path) if state.code == "stop-flow-if" else None,
            "path": path or None,
            "last": state.clock.last,
        }

    def _rejected(self, path: str) -> str | None:
        """The no of a person that ended the run."""
        question, values = self.state.answered.get(path, (None, {}))
        if question is None or kind_of_question(question.question) != "approval" or (no := rejection(values)) is None:
            return None
        from handrail.settings.secrets import masked  # it is slow to import, and most lists of runs need none

        return short(masked(no))


def _need(questions: list[Question]) -> dict[str, Any]:
    first = min(questions, key=lambda question: question.since)
    form = first.question
    fields = form.get("fields")
    return {
        "count": len(questions),
        "id": first.id,
        "path": first.path,
        "kind": kind_of_question(form),
        "title": short(form.get("title") or "a question"),
        "fields": len(fields) if isinstance(fields, list) else None,
        "since": first.since,
    }


def short(text: str) -> str:
    """One line for a column."""
    return " ".join(str(text).split())[:_LONGEST]


def kind_of_question(form: Mapping[str, Any]) -> str:
    """What kind of answer a form asks for: `rerun`, `approval` or `form`."""
    id_, fields = form.get("formId"), form.get("fields") or [{}]
    if id_ == RERUN:
        return "rerun"
    is_yes_or_no = fields[0].get("id") == APPROVED and fields[0].get("type") == "boolean"
    return "approval" if id_ in _APPROVALS and is_yes_or_no else "form"


def verdict_of(kind: str, values: Mapping[str, Any]) -> str:
    """An answer in one word. `kind` is that of its question."""
    if kind == "approval":
        return "approved" if values.get(APPROVED) is True else "rejected"
    return str(values.get(RERUN)) if kind == "rerun" else "answered"


def answer_words(values: Mapping[str, Any]) -> tuple[str, str]:
    """An answer whose question is not at hand, in one word, and the reason for a no."""
    verdict = verdict_of("approval" if isinstance(values.get(APPROVED), bool) else "form", values)
    return verdict, str(values.get("reason") or "").strip() if verdict == "rejected" else ""


def rejection(values: Any) -> str | None:
    """`rejected: not now`, if these values are a no to an approval; else None."""
    if not isinstance(values, Mapping) or values.get(APPROVED) is not False:
        return None
    return f"rejected: {answer_words(values)[1] or 'no reason was given'}"


class Summary(NamedTuple):
    """A run in one line. `status` is `damaged` if the run cannot be read, and `why` then says the reason.

    `created` is when the run was made, `given` its parameters and its task. `seconds` is how long it
    was driven so far, in all attempts. If a process was killed, the time after its last record is not known: then
    `is_least` is true.
    `started` is the time of the first event of the current attempt, `ended` that of its end; None if there is none.
    `questions` are those that a person can answer now. `glance` is where it stands (`Glance`); None if that is
    not known. `goes_on`: no process drives the run, but a program that it started is still running, or the run
    was made a moment ago and its process is about to start. `is_answered`: the run waits, and its answer is stored, but
    no process drives it.
    """

    id: str
    flow: str
    status: str
    driver: int | None
    why: str
    created: float | None = None
    seconds: float | None = None
    given: str = ""
    started: float | None = None
    ended: float | None = None
    attempt: int = 1
    reason: str | None = None
    error: str | None = None
    questions: list[dict[str, Any]] | None = None
    is_least: bool = False
    glance: dict[str, Any] | None = None
    goes_on: bool = False
    is_answered: bool = False

    @property
    def shown_status(self) -> str:
        """The status in one word, with what is true only now."""
        if self.is_interrupted or self.is_answered:
            return "interrupted" if self.is_interrupted else "answered"
        return "delayed" if self.status == "running" and (self.glance or {}).get("delay") else self.status

    @property
    def is_interrupted(self) -> bool:
        """True if the run has not ended, does not wait, and no process drives it."""
        return self.status == "running" and self.driver is None

    @property
    def usage(self) -> dict[str, Any]:
        """What all attempts used, as far as it is known; empty if no agent was called."""
        return (self.glance or {}).get("usage") or {}

    @property
    def agents(self) -> list[str]:
        return (self.glance or {}).get("agents") or []

    def to_json(self) -> dict[str, Any]:
        """The run as JSON; `docs/reference/view.md` says what each field means."""
        is_damaged = self.status == "damaged"
        return {
            "run": self.id,
            "name": self.flow or None,
            "status": "failed" if is_damaged else self.status,
            "started": moment(self.started if self.created is None else self.created),
            "ended": moment(self.ended),
            "seconds": None if self.seconds is None else round(self.seconds, 3),
            "secondsAtLeast": self.is_least,
            "waitingFor": self.questions,
            "reason": self.reason,
            "error": self.why if is_damaged else self.error,
            "attempt": self.attempt,
            "driver": self.driver,
            "interrupted": self.is_interrupted,
            "answered": self.is_answered,
            "hint": f"handrail resume {self.id}" if self.is_interrupted or self.is_answered else None,
            "damaged": is_damaged,
            "agents": self.agents,
            "usage": {name: self.usage.get(name) for name in USAGE_NAMES},
        }


def moment(at: float | None) -> str | None:
    """`2026-02-03T04:05:06+00:00`; None if the time is not known."""
    return None if at is None else time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(at))


def totals_of(runs: Iterable[Summary]) -> dict[str, Any]:
    """How long these runs took, and what their agents used. Runs without an agent used nothing."""
    total, count, seconds = UsageSum(), 0, 0.0
    for count, run in enumerate(runs, 1):  # noqa: B007 - the last one is told
        seconds += run.seconds or 0.0
        if run.usage:
            total.add(run.usage)
    return {"runs": count, "seconds": round(seconds, 3), **total.to_json()}


def summarize(
    id_: str, about: str, state: RunState, attempt: int, driver: int | None, heard: float | None = None
) -> Summary:
    """`heard` is when an agent or a program of the run printed something last."""
    request = _parse_request(about)
    try:
        flow = str(request["flow"])
    except (TypeError, KeyError) as error:
        raise StateError(f"the request of the run cannot be read: {error}") from error
    created, given = given_in(about, request)
    summary = Summary(id_, flow, "", driver, "", created, given=given, attempt=attempt)
    return with_state(summary, state, request.get("shape"), heard, None if driver is None else time.time())


def with_state(
    summary: Summary, state: RunState, shape: Any, heard: float | None = None, now: float | None = None
) -> Summary:
    """The summary with what the state says. If the run is at work, the time until `now` counts, or until `heard`."""
    status, clock = state.status, state.clock
    waits = [delay for path, delay in state.delays.items() if state.status_of(path) in (None, "pending", "running")]
    first = min(waits, key=lambda delay: delay.until) if waits and status == "running" else None
    delay = None
    if first is not None:
        delay = f"`{first.path}` waits until {time.strftime('%H:%M:%S', time.localtime(first.until))}: {first.reason}"
    questions = state.questions.values() if status in ("waiting", "running") else ()
    glance = Glance(state, shape if isinstance(shape, dict) else None).to_json()
    return summary._replace(
        status=status,
        why=state.error or state.reason or delay or _HEADING_MARK.sub("", state.summary or ""),
        seconds=None if clock.last is None else clock.at(now or heard or clock.last),
        started=state.started,
        ended=state.ended,
        reason=state.reason or delay,
        error=state.error,
        questions=[
            {"question": question.id, "path": question.path, "title": question.question.get("title")}
            for question in questions
        ]
        or None,
        is_least=clock.has_gaps or (clock.is_going and summary.driver is None),
        glance={**glance, "last": max(clock.last, heard) if heard and clock.is_going and clock.last else clock.last},
    )


def shape_in(about: str) -> Any:
    """What the request of a run says about its flow; None in requests of earlier versions."""
    try:
        return _parse_request(about).get("shape")
    except (StateError, AttributeError):
        return None


def _parse_request(about: str) -> Any:
    try:
        return jsonlite.loads(about)
    except (ValueError, RecursionError) as error:
        raise StateError(f"the request of the run cannot be read: {error}") from error


def given_in(about: str, data: Any = None) -> tuple[float | None, str]:
    """When a run was made, and its parameters and its task in one line. Both may be unknown.

    `data` is the request as data, if the caller has it.
    """
    try:
        data = data or jsonlite.loads(about)
        created, request = data.get("created"), data.get("request") or {}
        if data.get("written"):  # numbers such as `1.10`; most requests have none
            from handrail.source.values import restore

            restore(request["params"], data["written"])
        if "${secret:" in about:
            from handrail.settings.secrets import masked

            request = masked(request)
        params = {name: value for name, value in request["params"].items() if name != "task" and value is not None}
        task = str(request.get("task") or request["params"].get("task") or "")
    except (ValueError, TypeError, KeyError, AttributeError):
        return None, ""
    words = [f"{name}={_word(value)}" for name, value in params.items()]
    return created if isinstance(created, int | float) else None, " ".join([*([task] if task else []), *words])


def _word(value: Any) -> str:
    if isinstance(value, int | float) and hasattr(value, "text"):
        return str(value.text)
    return value if isinstance(value, str) else jsonlite.dumps(value)


def reason_words(reason: str) -> str:
    """The reason for an end, for people. Data has AgentWeaver's text for a step that stopped the flow: `PHASE:STEP`."""
    by = "Stopped by "
    return f"stopped by `{reason.removeprefix(by).replace(':', '/', 1)}`" if reason.startswith(by) else reason
