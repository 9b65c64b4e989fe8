"""Everything that runs or ran in a project, as rows in four groups: what needs a person comes first. Pure.

Runs and guided sessions are in one list. A row has its group and its place in it (`order`), so every surface shows
the same order. Activity never moves a row: within a group the order is by when it began, was asked, continues or
ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from handrail.driven.runs.state import ENDED
from handrail.driven.runs.summary import Summary, reason_words
from handrail.source.output_text import clean
from handrail.view.rows.rows import LONG, SHORT, Rows, short_text
from handrail.view.text.columns import session_status

ENTRIES = "entries"
OPEN = ("active", "waiting", "interrupted")
"""The statuses of a session that has not ended."""
_PATH = re.compile(r" `/[^`]*`")
NEEDS, RUNNING, DELAYED, RECENT = GROUPS = ("needs", "running", "delayed", "recent")
MOST_OF_GROUP, MOST = 100, 200
"""How many rows of a group, and how many in all, are sent. The head says how many more there are."""
_QUESTION, _STOPPED, _FAILED = range(3)
"""The order of what needs a person: questions, what stopped on its own, failures that nobody has looked at."""
_GOING = ("running", "delayed")
_UNDRIVEN = (*(("interrupted", status) for status in _GOING), ("answered", "waiting"))
Ranked = tuple[tuple[int, float, str], dict[str, Any]]
"""The place of a row in its group, and the row."""


class SessionLine(NamedTuple):
    """A guided session in one line. `let_go` is why its agent was allowed to stop; None if it was not.

    `place` are the names of the phase and of what it is in, `done` the phases before it, `changed` the time of the last
    change. `problem` is why it cannot be read, `asks` the form of what it asks a person.
    """

    id: str
    workflow: str
    task: str
    status: str
    place: tuple[str, ...] = ()
    agent: str | None = None
    started: float | None = None
    let_go: str | None = None
    changed: float | None = None
    done: int | None = None
    total: int | None = None
    line: str | None = None
    problem: str | None = None
    asks: Mapping[str, Any] | None = None


class HomeTopic:
    """The rows of a project. Its numbers count by themselves, so the epoch names the process that counts."""

    def __init__(self, epoch: str) -> None:
        self.rows = Rows(epoch)
        self._recent: list[Ranked] = []
        self._built: dict[str, tuple[Any, float | None, Ranked]] = {}

    def update(
        self,
        runs: Iterable[Summary],
        sessions: Iterable[SessionLine],
        open_times: Mapping[str, float],
        title: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the runs and sessions as they are now. `open_times` says when each was opened last, by row id.

        `title` are further fields of the head.
        """
        old_built, self._built = self._built, {}
        for prefix, entries in (("run:", runs), ("session:", sessions)):
            for one in entries:
                id_ = prefix + one.id
                opened_at, built = open_times.get(id_), old_built.get(id_)
                if built is None or built[0] is not one or built[1] != opened_at:
                    row = _run(one, opened_at) if isinstance(one, Summary) else _session(one, opened_at)
                    built = (one, opened_at, row)
                self._built[id_] = built
        groups = _grouped(row for _, _, row in self._built.values())
        self._recent = groups[RECENT]
        rows = [row for group in GROUPS for row in _with_order(groups[group][:MOST_OF_GROUP])][:MOST]
        self.rows.replace(ENTRIES, rows, {**(title or {}), **_counts(groups, rows)})

    def older(self, after: str | None = None, count: int = MOST_OF_GROUP) -> list[dict[str, Any]]:
        """The next page of what ended, behind the row with this id; without one, behind the rows of the topic."""
        ids = [row["id"] for _, row in self._recent]
        start = sum(row["group"] == RECENT for row in self.rows.section(ENTRIES))
        if after in ids:
            start = ids.index(after) + 1
        page = _with_order(self._recent[start : start + count], start)
        return [{**row, "v": self.rows.seq} for row in page]


def _grouped(rows: Iterable[Ranked]) -> dict[str, list[Ranked]]:
    """The rows of each group, in order."""
    groups: dict[str, list[Ranked]] = {group: [] for group in GROUPS}
    for entry in sorted(rows, key=itemgetter(0)):
        groups[entry[1]["group"]].append(entry)
    return groups


def _with_order(members: list[Ranked], start: int = 0) -> list[dict[str, Any]]:
    """The rows with their places in the group."""
    return [{**row, "order": place} for place, (_, row) in enumerate(members, start)]


def _counts(groups: Mapping[str, list[Ranked]], sent_rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How many there are. `hidden` counts those of each group that are not among the rows; `older` those that ended."""
    hidden = {group: len(rows) - sum(row["group"] == group for row in sent_rows) for group, rows in groups.items()}
    older = hidden.pop(RECENT)
    names = ("need", "running", "delayed", "ended")
    counts = {name: len(groups[group]) for name, group in zip(names, GROUPS, strict=True)}
    return {**counts, "older": older, "hidden": {group: count for group, count in hidden.items() if count}}


def _run(run: Summary, opened_at: float | None) -> Ranked:
    glance = run.glance or {}
    is_seen = run.status not in (*ENDED, "damaged") or (opened_at is not None and opened_at >= (run.ended or 0.0))
    is_left = run.is_interrupted and not run.goes_on
    delay = glance.get("delay")
    group, status, rank = _place(run, glance, is_seen=is_seen, is_left=is_left)
    return (*rank, run.id), {
        "id": f"run:{run.id}",
        "kind": "run",
        "group": group,
        "status": status,
        "name": clean(run.flow or run.id)[:SHORT],
        "about": clean(run.given)[:SHORT],
        "place": [clean(part)[:SHORT] for part in glance.get("place") or ()],
        "round": glance.get("round"),
        "done": glance.get("done"),
        "total": glance.get("total"),
        "need": _need(run, glance.get("need")),
        "delay": {**delay, "reason": short_text(delay.get("reason") or "")} if delay and status == "delayed" else None,
        "doing": short_text(glance["doing"]) if status == "running" and glance.get("doing") else None,
        "why": _reason(run, glance, is_left=is_left),
        "who": glance.get("who"),
        "started": run.started if run.started is not None else run.created,
        "ended": run.ended,
        "seconds": run.seconds if run.driver is None else None,
        "atLeast": run.is_least,
        "last": glance.get("last"),
        "usage": glance.get("usage") or {},
        "modes": glance.get("modes", ["restart"]) if run.driver is None and status != "damaged" else [],
        "attempt": run.attempt,
        "driver": run.driver,
        "seen": is_seen,
    }


def with_interruption(head: dict[str, Any], entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """The head of a run as its row on home says it, if no process drives the run: its journal does not know that."""
    status = None if entry is None else entry.get("status")
    if entry is None or (status, head.get("status")) not in _UNDRIVEN:
        return head
    return {**head, "status": status, "seconds": entry.get("seconds"), "since": None, "atLeast": entry.get("atLeast")}


def nodes_with_interruption(nodes: list[dict[str, Any]], entry: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The steps of a run: one that was at work when its process was killed does not look as if it worked."""
    if entry is None or entry.get("status") != "interrupted":
        return nodes
    return [{**row, "status": "interrupted"} if row["status"] in _GOING else row for row in nodes]


def _place(
    run: Summary, glance: Mapping[str, Any], *, is_seen: bool, is_left: bool
) -> tuple[str, str, tuple[int, float]]:
    """The group of a run, its status, and its place in the group. `is_left`: nothing and nobody works on it."""
    status, need, delay = run.status, glance.get("need") or {}, glance.get("delay")
    start = run.created if run.created is not None else run.started or 0.0
    end = start if run.ended is None else run.ended
    if is_left:
        return NEEDS, "interrupted", (_STOPPED, glance.get("last") or start)
    if run.is_answered:
        return NEEDS, "answered", (_STOPPED, need.get("since") or start)
    if run.questions or status == "waiting":
        return NEEDS, status, (_QUESTION, need.get("since") or start)
    if status in ("failed", "damaged") and not is_seen:
        return NEEDS, status, (_FAILED, -end)
    if status in ENDED or status == "damaged":
        return RECENT, status, (0, -end)
    if delay is not None:
        return DELAYED, "delayed", (0, delay["until"])
    return RUNNING, status, (0, -start)


def _need(run: Summary, need: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The oldest open question, and how many there are."""
    if not run.questions or run.is_answered:
        return None
    title = (need or {}).get("title") or run.questions[0].get("title") or ""
    details = need or {"id": run.questions[0].get("question"), "kind": "form", "since": None}
    return {**details, "count": len(run.questions), "title": clean(str(title))[:SHORT]}


def _without_paths(text: str | None) -> str:
    """A reason in one line: the path of a file in the state folder would take all of it."""
    return _PATH.sub("", text or "")


def _reason(run: Summary, glance: Mapping[str, Any], *, is_left: bool) -> dict[str, Any] | None:
    """Why a run does not go on: {path, code, message}."""
    if run.status == "damaged":
        message = f"cannot be read: {_without_paths(run.why)}; `handrail log {run.id}` shows the readable part"
        return {"path": None, "code": "damaged", "message": clean(message)[:LONG]}
    if is_left:
        return {"path": glance.get("path"), "code": "interrupted", "message": "no process drives this run"}
    if run.is_answered:
        message = "its answer is stored, but no process drives this run"
        return {"path": glance.get("path"), "code": "answered", "message": message}
    if run.status == "running" and run.goes_on and run.started is not None:
        message = "no process drives this run, but a program that it started is still running"
        return {"path": glance.get("path"), "code": "program-running", "message": message}
    message = clean(glance.get("rejected") or reason_words(run.error or run.reason or ""))
    if run.status not in ("failed", "stopped", "cancelled") or not message:
        return None
    return {"path": glance.get("path"), "code": glance.get("code"), "message": message[:LONG]}


def _need_of_session(session: SessionLine) -> dict[str, Any] | None:
    if session.asks is None:
        return None
    about = {"id": session.asks["formId"], "kind": "form", "since": session.changed, "count": 1}
    return {**about, "title": clean(session.asks["title"])[:SHORT], "fields": len(session.asks["fields"])}


def _reason_of_session(session: SessionLine) -> dict[str, Any] | None:
    if session.problem is not None:
        message = clean(f"cannot be read: {_without_paths(session.problem)}")[:LONG]
        return {"path": None, "code": "damaged", "message": message}
    return None if session.let_go is None else {"path": None, "code": "stopped", "message": short_text(session.let_go)}


def _session(session: SessionLine, opened_at: float | None) -> Ranked:
    start = session.started or 0.0
    is_open, need = session.status in OPEN, _need_of_session(session)
    end = None if is_open or session.problem is not None else session.changed
    is_seen = (opened_at is not None) if session.problem is not None else (end is None or (opened_at or 0.0) >= end)
    if session.problem is not None and not is_seen:
        group, rank = NEEDS, (_FAILED, -(session.changed or 0.0))
    elif need is not None:
        group, rank = NEEDS, (_QUESTION, session.changed or start)
    elif is_open and session.let_go is not None:
        group, rank = NEEDS, (_STOPPED, session.changed or start)
    elif is_open:
        group, rank = RUNNING, (0, -start)
    else:
        group, rank = RECENT, (0, -(session.changed or start))
    return (*rank, session.id), {
        "id": f"session:{session.id}",
        "kind": "session",
        "group": group,
        "status": "damaged" if session.problem else session_status(session.status, session.asks, session.let_go),
        "name": clean(session.workflow or session.id)[:SHORT],
        "about": clean(session.task)[:SHORT],
        "place": [clean(part)[:SHORT] for part in session.place],
        **dict.fromkeys(("round", "delay", "doing", "seconds")),
        "atLeast": False,
        "need": need,
        "done": session.done,
        "total": session.total,
        "why": _reason_of_session(session),
        "who": session.agent,
        "started": session.started,
        "ended": end,
        "last": session.changed,
        "usage": {},
        "modes": [],
        "statusLine": None if session.line is None else clean(session.line)[:SHORT],
        "seen": is_seen,
    }
