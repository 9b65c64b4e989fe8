"""The runs of a project, each with where it stands in one line. Reads journals as plain data, compiles no flow.

`handrail runs` starts with this and nothing else of the room. A test holds it to what `machine.fold` says.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from handrail.errors import StateError
from handrail.runs.embedded.lease import holder
from handrail.state import journal, jsonlite

ABOUT = "about"


class Summary(NamedTuple):
    """A run in one line. `status` is `damaged` if the run cannot be read, and `why` says the reason then."""

    id: str
    flow: str
    status: str
    driver: int | None
    why: str


def run_ids(folder: str) -> list[str]:
    """Every run below a folder, the oldest first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [(paths[0], name) for name in names if (paths := attempts(os.path.join(folder, name)))]
    return [name for _, name in sorted((os.stat(path).st_mtime_ns, name) for path, name in found)]


def attempts(folder: str) -> list[str]:
    """The folders of all attempts at a run, the current one last."""
    try:
        numbers = sorted(int(name) for name in os.listdir(folder) if name.isdigit())
    except OSError:
        return []
    found = [os.path.join(folder, str(number)) for number in numbers]
    return [path for path in found if os.path.exists(os.path.join(path, ABOUT))]


def summaries(folder: str) -> list[Summary]:
    """Every run below a folder, the oldest first."""
    return [_summary(os.path.join(folder, id_), id_) for id_ in run_ids(folder)]


def _summary(folder: str, id_: str) -> Summary:
    attempt = attempts(folder)[-1]
    try:
        flow = _flow(os.path.join(attempt, ABOUT))
        records = journal.read(os.path.join(attempt, "journal")).records
    except StateError as error:
        return Summary(id_, "", "damaged", None, error.message)
    status, why = life(event for record in records for event in record["events"])
    return Summary(id_, flow, status, holder(folder), why)


def _flow(path: str) -> str:
    """The id of the flow that a run was asked for."""
    try:
        with open(path, "rb") as file:
            about = jsonlite.loads(file.read().decode("utf-8", "surrogatepass"))
        return str(about["flow"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StateError(f"`{path}` cannot be read: {error}") from error


def life(events: Iterable[dict[str, Any]]) -> tuple[str, str]:
    """The status that the events of a journal add up to, and why it is so."""
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
    """What a run waits for that goes on later by itself."""
    return f"`{path}` waits until {time.strftime('%H:%M:%S', time.localtime(until))}: {reason}"
