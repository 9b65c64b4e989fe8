"""A run in one line, from its events as plain data. Compiles no flow.

`handrail runs` imports nothing else of this package, so it starts fast. A test compares this with `machine.fold`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from handrail.errors import StateError
from handrail.state import jsonlite

ENDED = ("completed", "stopped", "failed", "cancelled")


class Summary(NamedTuple):
    """A run in one line. `status` is `damaged` if the run cannot be read, and `why` then says the reason.

    `started` is the time of the first event of the current attempt, `ended` that of its end; None if there is none.
    """

    id: str
    flow: str
    status: str
    driver: int | None
    why: str
    started: float | None = None
    ended: float | None = None
    attempt: int = 1
    reason: str | None = None
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        is_damaged = self.status == "damaged"
        row: dict[str, Any] = {
            "run": self.id,
            "name": self.flow or None,
            "status": "failed" if is_damaged else self.status,
            "started": moment(self.started),
            "ended": moment(self.ended),
            "seconds": seconds(self.started, self.ended),
            "waitingFor": self.reason if self.status == "waiting" else None,
            "reason": self.reason,
            "error": self.why if is_damaged else self.error,
            "attempt": self.attempt,
            "driver": self.driver,
        }
        return {**row, "damaged": True} if is_damaged else row


def moment(at: float | None) -> str | None:
    """`2026-02-03T04:05:06+00:00`; None if the time is not known."""
    return None if at is None else time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(at))


def seconds(started: float | None, ended: float | None) -> float | None:
    return None if started is None or ended is None else round(max(0.0, ended - started), 3)


def summarize(id_: str, flow: str, events: Iterable[dict[str, Any]], attempt: int, driver: int | None) -> Summary:
    """The summary of a run, from the events of its journal as plain data. `t` of an event is its time."""
    known = list(events)
    status, why = life(known)
    ends = [event for event in known if event["type"] in ("RunEnded", "RunParked")]
    last = ends[-1] if ends and status != "running" else {}
    return Summary(
        id_,
        flow,
        status,
        driver,
        why,
        started=known[0].get("t") if known else None,
        ended=last.get("t") if status in ENDED else None,
        attempt=attempt,
        reason=last.get("reason") or (why if status == "running" else None) or None,
        error=last.get("error"),
    )


def flow_of(about: str) -> str:
    """The id of the flow in the request of a run. Raises `StateError` if the text has none."""
    try:
        return str(jsonlite.loads(about)["flow"])
    except (ValueError, TypeError, KeyError) as error:
        raise StateError(f"the request of the run cannot be read: {error}") from error


def life(events: Iterable[dict[str, Any]]) -> tuple[str, str]:
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
            case "NodeFinished" | "NodeFailed" | "SessionOpened":
                delays.pop(event["path"], None)
    first = min(delays.values(), key=lambda delay: delay["until"], default=None) if status == "running" else None
    delay = first and delay_words(first["path"], first["until"], first["reason"])
    return status, error or reason or delay or summary or ""


def delay_words(path: str, until: float, reason: str) -> str:
    """Says until when a step waits, and why."""
    return f"`{path}` waits until {time.strftime('%H:%M:%S', time.localtime(until))}: {reason}"
