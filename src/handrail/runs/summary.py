"""A run in one line, from its events as plain data. Compiles no flow.

`handrail runs` imports nothing else of this package, so it starts fast. A test compares this with `runs.fold`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from handrail.errors import StateError
from handrail.state import jsonlite


class Summary(NamedTuple):
    """A run in one line. `status` is `damaged` if the run cannot be read, and `why` then says the reason.

    `created` is when the run was made, `seconds` how long it was driven so far, `given` its parameters and its task.
    """

    id: str
    flow: str
    status: str
    driver: int | None
    why: str
    created: float | None = None
    seconds: float | None = None
    given: str = ""


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
        params = {name: value for name, value in request["params"].items() if name != "task" and value is not None}
        task = str(request.get("task") or request["params"].get("task") or "")
    except (ValueError, TypeError, KeyError, AttributeError):
        return None, ""
    words = [f"{name}={_word(value)}" for name, value in params.items()]
    return created if isinstance(created, int | float) else None, " ".join([*([task] if task else []), *words])


def _word(value: Any) -> str:
    return value if isinstance(value, str) else jsonlite.dumps(value)


def seconds_in(events: Iterable[tuple[float, str]]) -> float | None:
    """How long a run was driven, from (time, type) of its events. None if it was not driven yet."""
    total, begun, last = 0.0, None, None
    for moment, kind in events:
        if begun is None or kind == "RunResumed":
            total += max(0.0, (last or 0.0) - begun) if begun is not None else 0.0
            begun = moment
        if kind in ("RunParked", "RunEnded"):
            total += max(0.0, moment - begun)
            begun = None
        last = moment
    return None if last is None else total + (0.0 if begun is None else max(0.0, last - begun))


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
            case "NodeStarted" | "NodeFinished" | "NodeFailed" | "SessionOpened" | "AttemptStarted" | "AttemptFailed":
                delays.pop(event["path"], None)
            case "Routed":
                delays.clear()
    first = min(delays.values(), key=lambda delay: delay["until"], default=None) if status == "running" else None
    delay = first and delay_words(first["path"], first["until"], first["reason"])
    return status, error or reason or delay or summary or ""


def delay_words(path: str, until: float, reason: str) -> str:
    """Says until when a step waits, and why."""
    return f"`{path}` waits until {time.strftime('%H:%M:%S', time.localtime(until))}: {reason}"
