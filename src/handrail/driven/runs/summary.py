"""A run in one line, from its events as plain data. Compiles no flow.

`handrail runs` imports only this and `overview` of this package, so it starts fast. A test compares this with `state`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from handrail.base import jsonlite
from handrail.base.errors import StateError
from handrail.driven.runs.overview import ENDED as ENDED
from handrail.driven.runs.overview import Glance

END_WITHOUT_DRIVER = "RunEnded without a driver"
"""The type of a `RunEnded` that was recorded when no process drove the run any more, for `seconds_in`."""
RESTARTED = "RunResumed by restart"
"""The type of a `RunResumed` that begins to drive a new attempt, for `seconds_in`."""


class Summary(NamedTuple):
    """A run in one line. `status` is `damaged` if the run cannot be read, and `why` then says the reason.

    `created` is when the run was made, `given` its parameters and its task. `seconds` is how long its current attempt
    was driven so far. If its process was killed, the time after the last record is not known: `is_least` is true.
    `started` is the time of the first event of the current attempt, `ended` that of its end; None if there is none.
    `questions` are those that a person can answer now. `glance` is where it stands, as `overview` says it; None if
    that is not known. `goes_on`: no process drives the run, but a program that it started is still running, or the run
    was made a moment ago and its process is about to start.
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

    @property
    def is_interrupted(self) -> bool:
        """True if the run has not ended, does not wait, and no process drives it."""
        return self.status == "running" and self.driver is None

    def to_json(self) -> dict[str, Any]:
        is_damaged = self.status == "damaged"
        row: dict[str, Any] = {
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
            "hint": f"handrail resume {self.id}" if self.is_interrupted else None,
        }
        return {**row, "damaged": True} if is_damaged else row


def moment(at: float | None) -> str | None:
    """`2026-02-03T04:05:06+00:00`; None if the time is not known."""
    return None if at is None else time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(at))


def summarize(id_: str, about: str, events: Iterable[dict[str, Any]], attempt: int, driver: int | None) -> Summary:
    """The summary of a run, from its request and the events of its journal as plain data. `t` is an event's time."""
    known = list(events)
    status, why = status_and_reason(known)
    ends = [event for event in known if event["type"] in ("RunEnded", "RunParked")]
    last = ends[-1] if ends and status != "running" else {}
    created, given = given_in(about)
    now = [(time.time(), "")] if driver is not None and status == "running" and known else []
    moments = [*((event["t"], kind_of(event["type"], event)) for event in known), *now]
    return Summary(
        id_,
        flow_of(about),
        status,
        driver,
        why,
        created,
        seconds=seconds_in(moments),
        given=given,
        started=known[0]["t"] if known else None,
        ended=last.get("t") if status in ENDED else None,
        attempt=attempt,
        reason=last.get("reason") or (why if status == "running" else None) or None,
        error=last.get("error"),
        questions=waiting_for(status, open_questions(known)),
        is_least=was_killed(moments, is_driven=driver is not None),
        glance=glance_at(shape_in(about), known),
    )


def glance_at(shape: dict[str, Any] | None, events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Where a run stands after these events."""
    glance = Glance(shape)
    for event in events:
        glance.take(event)
    return glance.to_json()


def shape_in(about: str) -> dict[str, Any] | None:
    """What the request of a run says about its flow; None in requests of earlier versions."""
    try:
        shape = jsonlite.loads(about).get("shape")
    except (ValueError, AttributeError):
        return None
    return shape if isinstance(shape, dict) else None


def waiting_for(status: str, questions: Iterable[tuple[str, str, Any]]) -> list[dict[str, Any]] | None:
    """The open questions, (id, path, form) each, of a run that can be answered now; None if there is none."""
    if status not in ("waiting", "running"):
        return None
    return [{"question": id_, "path": path, "title": form.get("title")} for id_, path, form in questions] or None


def open_questions(events: Iterable[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    """(id, path, form) of each question without an answer that is still needed, as `driven.runs.state` finds them."""
    found: dict[str, tuple[str, str, Any]] = {}
    ids: set[str] = set()
    for event in events:
        match event["type"]:
            case "Asked":
                id_ = event.get("id") or f"q{len(ids) + 1}"
                ids.add(id_)
                found.pop(event["path"], None)
                found[event["path"]] = (id_, event["path"], event["question"])
            case "Answered" | "StepDone" | "StepSkipped" | "StepFailed":
                found.pop(event["path"], None)
            case "AttemptStarted" if event["again"]:
                below = f"{event['path']}/"
                found = {path: asked for path, asked in found.items() if not path.startswith(below)}
            case "RunResumed" if event["rewound"]:
                found = {path: asked for path, asked in found.items() if path.partition("/")[0] not in event["rewound"]}
            case _:
                pass
    return list(found.values())


def flow_of(about: str) -> str:
    """The id of the flow in the request of a run. Raises `StateError` if the text has none."""
    try:
        return str(jsonlite.loads(about)["flow"])
    except (ValueError, TypeError, KeyError) as error:
        raise StateError(f"the request of the run cannot be read: {error}") from error


def given_in(about: str) -> tuple[float | None, str]:
    """When a run was made, and its parameters and its task in one line. Both may be unknown."""
    try:
        data = jsonlite.loads(about)
        created, request = data.get("created"), data.get("request") or {}
        request = _masked(about, _as_written(request, data.get("written")))
        params = {name: value for name, value in request["params"].items() if name != "task" and value is not None}
        task = str(request.get("task") or request["params"].get("task") or "")
    except (ValueError, TypeError, KeyError, AttributeError):
        return None, ""
    words = [f"{name}={_word(value)}" for name, value in params.items()]
    return created if isinstance(created, int | float) else None, " ".join([*([task] if task else []), *words])


def _as_written(request: Any, texts: dict[str, str] | None) -> Any:
    """The request, with numbers such as `1.10` as they were written. Most have none: then nothing more is imported."""
    if texts:
        from handrail.source.values import restore

        restore(request["params"], texts)
    return request


def _masked(about: str, request: Any) -> Any:
    """The request as people see it. Most requests have no secrets, and then nothing more is imported."""
    if "${secret:" not in about:
        return request
    from handrail.settings.secrets import masked

    return masked(request)


def _word(value: Any) -> str:
    if isinstance(value, int | float) and hasattr(value, "text"):
        return str(value.text)
    return value if isinstance(value, str) else jsonlite.dumps(value)


def seconds_in(events: Iterable[tuple[float, str]]) -> float | None:
    """How long an attempt was driven, from (time, type) of its events. None if it was not driven yet.

    The time of a process that was killed counts up to its last record.
    """
    total, begun, last = 0.0, None, None
    for moment, kind in events:
        if kind in ("Noticed", END_WITHOUT_DRIVER):  # may be recorded when no process drives the run
            continue
        if begun is None or kind in ("RunResumed", RESTARTED):
            total += max(0.0, (last or 0.0) - begun) if begun is not None else 0.0
            begun = moment
        if kind in ("RunParked", "RunEnded"):
            total += max(0.0, moment - begun)
            begun = None
        last = moment
    return None if last is None else total + (0.0 if begun is None else max(0.0, last - begun))


def kind_of(type_: str, event: Mapping[str, Any]) -> str:
    """The type of an event for `seconds_in` and `was_killed`."""
    if event.get("driven") is False:
        return END_WITHOUT_DRIVER
    return RESTARTED if event.get("mode") == "restart" else type_


def was_killed(events: Iterable[tuple[float, str]], *, is_driven: bool) -> bool:
    """True if a process that drove the attempt recorded no end, so that its last moments are not known."""
    is_open = False
    for _, kind in events:
        if kind in ("RunResumed", END_WITHOUT_DRIVER) and is_open:
            return True
        is_open = kind not in ("RunParked", "RunEnded") and (is_open or kind in ("RunStarted", "RunResumed"))
    return is_open and not is_driven


def status_and_reason(events: Iterable[dict[str, Any]]) -> tuple[str, str]:
    """The status after the events of a journal, and the reason for it."""
    status, reason, error, summary = "running", None, None, None
    delays: dict[str, dict[str, Any]] = {}
    for event in events:
        match event["type"]:
            case "RunResumed":
                status, reason, error = "running", None, None
            case "RunParked":
                status, reason, error = "waiting", event["reason"], None
            case "RunEnded":
                status, reason, error = event["status"], event["reason"], event["error"]
            case "SummarySet":
                summary = event["text"]
            case "Delayed":
                delays[event["path"]] = event
            case "NodeStarted" | "NodeFinished" | "NodeFailed" | "SessionOpened" | "AttemptStarted" | "AttemptFailed":
                delays.pop(event["path"], None)
            case "Routed":
                delays.clear()
    first = min(delays.values(), key=lambda delay: delay["until"], default=None) if status == "running" else None
    delay = first and delay_words(first["path"], first["until"], first["reason"])
    return status, error or reason or delay or summary or ""


def reason_words(reason: str) -> str:
    """The reason for an end, for people. Data has AgentWeaver's text for a step that stopped the flow: `PHASE:STEP`."""
    by = "Stopped by "
    return f"stopped by `{reason.removeprefix(by).replace(':', '/', 1)}`" if reason.startswith(by) else reason


def delay_words(path: str, until: float, reason: str) -> str:
    """Says until when a step waits, and why."""
    return f"`{path}` waits until {time.strftime('%H:%M:%S', time.localtime(until))}: {reason}"
