"""The runs of a project, each in one line, read from their files alone. Imports as little as possible."""

from __future__ import annotations

import os

from handrail.errors import StateError
from handrail.runs.embedded.attempts import ABOUT, attempts, run_ids
from handrail.runs.embedded.lease import holder
from handrail.runs.summary import Summary, life
from handrail.state import journal, jsonlite


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
