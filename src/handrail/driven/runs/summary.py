"""A run in one line, from its events as plain data. Compiles no flow.

`handrail runs` imports only this and `overview` of this package, so it starts fast. A test compares this with `state`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from handrail.base import jsonlite
from handrail.base.errors import StateError
from handrail.driven.runs.overview import ENDED as ENDED
from handrail.driven.runs.overview import Glance


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
            "hint": f"handrail resume {self.id}" if self.is_interrupted else None,
            "damaged": is_damaged,
        }


def moment(at: float | None) -> str | None:
    """`2026-02-03T04:05:06+00:00`; None if the time is not known."""
    return None if at is None else time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(at))


def summarize(id_: str, about: str, events: Iterable[dict[str, Any]], attempt: int, driver: int | None) -> Summary:
    """The summary of a run, from its request and the events of its journal as plain data. `t` is an event's time."""
    overview = Glance(shape_in(about))
    for event in events:
        overview.take(event)
    created, given = given_in(about)
    summary = Summary(id_, flow_of(about), "", driver, "", created, given=given, attempt=attempt)
    return with_overview(summary, overview, None if driver is None else time.time())


def with_overview(summary: Summary, overview: Glance, now: float | None = None) -> Summary:
    """The summary with what the events of the run say. The time until `now` counts if the run is at work."""
    status, clock, pause = overview.status, overview.clock, overview.pause
    delay = None if pause is None else delay_words(pause["path"], pause["until"], pause["reason"])
    asked = overview.questions.values() if status in ("waiting", "running") else ()
    return summary._replace(
        status=status,
        why=overview.error or overview.reason or delay or (overview.summary or "").lstrip("# "),
        seconds=None if clock.last is None else clock.seconds if now is None else clock.at(now),
        started=overview.started,
        ended=overview.ended if status in ENDED else None,
        reason=overview.reason or delay,
        error=overview.error,
        questions=[{"question": one["id"], "path": one["path"], "title": one["title"]} for one in asked] or None,
        is_least=clock.has_gaps or (clock.is_going and summary.driver is None),
        glance=overview.to_json(),
    )


def shape_in(about: str) -> dict[str, Any] | None:
    """What the request of a run says about its flow; None in requests of earlier versions."""
    try:
        shape = jsonlite.loads(about).get("shape")
    except (ValueError, AttributeError):
        return None
    return shape if isinstance(shape, dict) else None


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


def reason_words(reason: str) -> str:
    """The reason for an end, for people. Data has AgentWeaver's text for a step that stopped the flow: `PHASE:STEP`."""
    by = "Stopped by "
    return f"stopped by `{reason.removeprefix(by).replace(':', '/', 1)}`" if reason.startswith(by) else reason


def delay_words(path: str, until: float, reason: str) -> str:
    """Says until when a step waits, and why."""
    return f"`{path}` waits until {time.strftime('%H:%M:%S', time.localtime(until))}: {reason}"
