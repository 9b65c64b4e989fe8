"""Everything that runs or ran in a project, as rows in four groups: what needs a person comes first. Pure.

Runs and guided sessions are in one list. A row has the sign of its group and the place in it, so every surface shows
the same order. Activity never moves a row: within a group the order is by when it began, was asked or ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from handrail.runs.summary import ENDED, Summary, reason_words
from handrail.source.clean import clean
from handrail.topics.rows import Rows

ENTRIES = "entries"
NEEDS, RUNNING, DELAYED, RECENT = "needs", "running", "delayed", "recent"
MOST_RECENT = 100
SHORT = 200
_QUESTION, _STOPPED, _FAILED = range(3)
"""The order of what needs a person: questions, what stopped on its own, failures that nobody has looked at."""


class Seated(NamedTuple):
    """A guided session in one line. `let_go` is why its agent was allowed to stop; None if it was not."""

    id: str
    workflow: str
    task: str
    status: str
    place: str | None
    agent: str | None
    started: float | None
    let_go: str | None = None
    changed: float | None = None


class HomeTopic:
    """The rows of a project. Its numbers count by themselves, so the epoch names the process that counts."""

    def __init__(self, epoch: str) -> None:
        self.rows = Rows(epoch)

    def update(self, runs: Iterable[Summary], sessions: Iterable[Seated], seen: Mapping[str, float]) -> None:
        """Take the runs and sessions as they are now. `seen` says when the end of a run was first looked at."""
        self.rows.seq += 1
        known = [*(_run(run, seen) for run in runs), *(_session(session) for session in sessions)]
        ranked = _ranked(known)
        for row in self.rows.section(ENTRIES):
            if row["id"] not in ranked:
                self.rows.drop(ENTRIES, row["id"])
        for id_, row in ranked.items():
            self.rows.put(ENTRIES, id_, row)


def _ranked(rows: list[tuple[tuple[int, float], dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The rows by id, each with its place in its group. Of what ended, the newest are kept, and the rest is counted."""
    found: dict[str, dict[str, Any]] = {}
    for group in (NEEDS, RUNNING, DELAYED, RECENT):
        members = sorted((row for row in rows if row[1]["group"] == group), key=lambda row: row[0])
        kept = members[:MOST_RECENT] if group == RECENT else members
        for place, (_, row) in enumerate(kept):
            found[row.pop("id")] = {**row, "order": place}
    return found


def _run(run: Summary, seen: Mapping[str, float]) -> tuple[tuple[int, float], dict[str, Any]]:
    questions = run.questions or []
    begun = run.created if run.created is not None else run.started or 0.0
    ended = run.ended or begun
    is_new_failure = run.status in ("failed", "damaged") and run.id not in seen
    if questions or run.status == "waiting":
        group, rank = NEEDS, (_QUESTION, begun)
    elif run.is_interrupted:
        group, rank = NEEDS, (_STOPPED, begun)
    elif is_new_failure:
        group, rank = NEEDS, (_FAILED, -ended)
    elif run.status in ENDED or run.status == "damaged":
        group, rank = RECENT, (0, -ended)
    else:
        group, rank = RUNNING, (0, -begun)
    why = reason_words(run.error or run.reason or run.why or "")
    return rank, {
        "id": f"run:{run.id}",
        "kind": "run",
        "group": group,
        "status": "interrupted" if run.is_interrupted else run.status,
        "name": clean(run.flow or run.id),
        "about": clean(run.given)[:SHORT],
        "need": _need(questions),
        "why": clean(why)[:SHORT] or None,
        "started": run.started,
        "ended": run.ended,
        "seconds": run.seconds,
        "attempt": run.attempt,
        "seen": not is_new_failure,
    }


def _need(questions: list[dict[str, Any]]) -> dict[str, Any] | None:
    if not questions:
        return None
    return {"count": len(questions), "kind": "form", "title": clean(str(questions[0].get("title") or ""))[:SHORT]}


def _session(session: Seated) -> tuple[tuple[int, float], dict[str, Any]]:
    begun = session.started or 0.0
    if session.status == "active" and session.let_go is not None:
        group, rank = NEEDS, (_STOPPED, begun)
    elif session.status == "active":
        group, rank = RUNNING, (0, -begun)
    else:
        group, rank = RECENT, (0, -(session.changed or begun))
    return rank, {
        "id": f"session:{session.id}",
        "kind": "session",
        "group": group,
        "status": session.status,
        "name": clean(session.workflow),
        "about": clean(session.task)[:SHORT],
        "place": session.place,
        "who": session.agent,
        "need": None,
        "why": session.let_go,
        "started": session.started,
        "ended": None if session.status == "active" else session.changed,
        "seen": True,
    }
