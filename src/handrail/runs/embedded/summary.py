"""A one-line summary of each run of a project, read only from its files. Imports as little as possible."""

from __future__ import annotations

import os

from handrail.errors import StateError
from handrail.runs.embedded.attempts import attempts, read_about, run_ids
from handrail.runs.embedded.driver import holder
from handrail.runs.summary import Summary, flow_of, given_in, life, seconds_in
from handrail.state import journal


def summaries(folder: str) -> list[Summary]:
    """The summaries of all runs in a folder, the oldest first."""
    return [_summary(os.path.join(folder, id_), id_) for id_ in run_ids(folder)]


def _summary(folder: str, id_: str) -> Summary:
    attempt = attempts(folder)[-1]
    try:
        about = read_about(attempt)
        flow = flow_of(about)
        records = journal.read(os.path.join(attempt, "journal")).records
    except StateError as error:
        return Summary(id_, "", "damaged", None, error.message)
    events = [event for record in records for event in record["events"]]
    status, why = life(events)
    created, given = given_in(about)
    seconds = seconds_in((event["t"], event["type"]) for event in events)
    return Summary(id_, flow, status, holder(folder), why, created, seconds, given)
