"""A small summary file per run, so that a list of runs does not read their journals. Imports little.

The driver writes it when the run ends or waits. It says which journal it covers: one that is older than the journal, or
damaged, is not used, and the next list writes a new one.
"""

from __future__ import annotations

import contextlib
import os
import time

from handrail.base import files, journal, jsonlite
from handrail.base.errors import StateError
from handrail.driven.engines.embedded.run_folders import (
    ABOUT,
    WAY_OUT,
    attempt_folders,
    created_at,
    created_file_time,
    has_program,
    holder,
    number_of,
    read_about,
    run_names,
)
from handrail.driven.runs.summary import Summary, plain_state, summarize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from handrail.driven.engines.embedded.run_journal import Ledger

SUMMARY = "summary"
FORMAT = 4
JOURNAL = "journal"
PATIENCE = 5.0
"""In seconds. So long may a new run be without a process that drives it, and count as one that goes on."""
_NOW = ("id", "driver", "goes_on")
"""The fields of a summary that are not stored: they are true only now, or the name of the folder says them."""


def summaries(folder: str) -> list[Summary]:
    """The summaries of all runs in a folder, the oldest first. A damaged run does not prevent the others."""
    found = [summary_of(os.path.join(folder, id_), id_) for id_ in run_names(folder)]
    return sorted(found, key=lambda run: (run.created or 0.0, created_file_time(os.path.join(folder, run.id)), run.id))


def summary_of(folder: str, id_: str) -> Summary:
    try:
        return _read(folder, id_)
    except StateError as error:
        return Summary(id_, "", "damaged", None, error.message, created_at(folder))


def _read(folder: str, id_: str) -> Summary:
    found = attempt_folders(folder)
    if not found:
        raise StateError(f"the request of the run in `{folder}` is missing", WAY_OUT)
    attempt = found[-1]
    mark = mark_of(attempt)
    known = _stored(folder, id_, mark)
    driver = holder(folder)
    if known is not None:
        return known._replace(driver=driver, goes_on=outlived(attempt, known.status, driver))
    about = read_about(attempt)
    records = journal.read(os.path.join(attempt, JOURNAL)).records
    try:
        events: list[dict[str, Any]] = [event for record in records for event in record["events"]]
        summary = summarize(id_, about, plain_state(events), number_of(attempt), driver)._replace(
            created=created_at(folder)
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise StateError(f"the journal in `{attempt}` cannot be read: {error!r}", WAY_OUT) from error
    if driver is None and mark_of(attempt) == mark:
        _write(folder, summary, mark)
    return summary._replace(goes_on=outlived(attempt, summary.status, driver))


def outlived(attempt: str, status: str, driver: int | None) -> bool:
    """True if no process drives the run, but a program of it still runs, or the run was made a moment ago."""
    if status != "running" or driver is not None:
        return False
    return has_program(attempt) or _is_new(attempt)


def _is_new(attempt: str) -> bool:
    try:
        begun = os.stat(os.path.join(attempt, ABOUT)).st_mtime
    except OSError:
        return False
    return time.time() - begun < PATIENCE and not os.path.exists(os.path.join(attempt, JOURNAL))


def store_summary(folder: str, ledger: Ledger, about: str | None) -> None:
    """Write the summary of a run after its driver closed the journal. If this fails, the next list is slower.

    `about` is the request of its attempt, if the caller knows it.
    """
    if not ledger.records or ledger.state.status == "running":
        return
    try:
        about = about if about is not None else read_about(ledger.attempt)
        summary = summarize("", about, ledger.state, number_of(ledger.attempt), None)
    except StateError:
        return
    _write(folder, summary._replace(created=created_at(folder)), mark_of(ledger.attempt))


def mark_of(attempt: str) -> list[int]:
    """Identifies the content of an attempt: its number, and the size and time of its journal and its request."""
    mark = [number_of(attempt)]
    for name in (JOURNAL, ABOUT):
        try:
            seen = os.stat(os.path.join(attempt, name))
            mark += [seen.st_size, seen.st_mtime_ns]
        except OSError:
            mark += [0, 0]
    return mark


def _stored(folder: str, id_: str, mark: list[int]) -> Summary | None:
    """The stored summary if it covers the journal with this mark, else None."""
    try:
        data = jsonlite.decode_line(files.read_regular(os.path.join(folder, SUMMARY)).removesuffix(b"\n"))
    except OSError:
        return None
    if data is None or data.get("format") != FORMAT or data.get("mark") != mark:
        return None
    try:
        return Summary(id_, driver=None, **data["run"])
    except (KeyError, TypeError):
        return None


def _write(folder: str, summary: Summary, mark: list[int]) -> None:
    row = {name: value for name, value in summary._asdict().items() if name not in _NOW}
    data = jsonlite.encode_line({"format": FORMAT, "mark": mark, "run": row})
    with contextlib.suppress(OSError):
        files.write_whole(os.path.join(folder, SUMMARY), data, durable=False)
