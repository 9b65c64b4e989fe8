"""A run as rows: its head, the tree of its phases and steps, bars, questions and files. Pure.

Call `take` with every record in order. Each call changes only the rows that the event is about, so following a run
costs the same per event after ten steps and after ten thousand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.flows.plan import FlowPlan
from handrail.runs import machine
from handrail.runs.fold import RunState
from handrail.runs.machine import Event
from handrail.runs.modes import available
from handrail.runs.spent import Spent
from handrail.source.clean import clean
from handrail.topics.bars import Bars, End
from handrail.topics.rows import HEAD, Rows
from handrail.topics.tree import Finder, Tree

NEEDS, ARTIFACTS = "needs", "artifacts"
SHORT, LONG, SUMMARY = 200, 500, 8_000
_COUNTED = {"tool": "tools", "denied": "denied", "retry": "retries"}


class RunTopic:
    """The rows of one attempt of a run. `facts` are the fields of the head that do not come from events."""

    def __init__(self, plan: FlowPlan, find: Finder, attempt: int, facts: Mapping[str, Any]) -> None:
        self.plan = plan
        self.attempt = attempt
        self.resumes = 0
        self.state = RunState()
        self.rows = Rows(f"{attempt}.0")
        self.rows.put(HEAD, "", {**facts, "attempt": attempt, "started": None, "ended": None})
        self.tree = Tree(self.rows, plan, find)
        self.bars = Bars(self.rows)
        self.last: float | None = None
        self._done: set[str] = set()
        self._open: dict[str, str] = {}
        self._counts: dict[str, dict[str, int]] = {}
        self._spent: dict[str, Spent] = {}
        self._head()

    def take(self, at: float, event: Event) -> None:
        """Apply the next event of the journal, recorded at the time `at`."""
        self.rows.seq += 1
        if isinstance(event, machine.RunResumed):
            self._resume(at, event)
        self.state.apply(event)
        match event:
            case machine.RunStarted():
                self.rows.put(HEAD, "", {"started": at})
            case machine.RunEnded():
                end = at if event.driven or self.last is None else self.last
                self.bars.interrupt(end)
                self.rows.put(HEAD, "", {"ended": end})
            case machine.PhaseStarted() | machine.PhaseDone() | machine.PhaseSkipped():
                self._phase(at, event)
            case machine.Asked() | machine.Answered():
                self._question(at, event)
            case machine.ArtifactPublished():
                self._artifact(at, event)
            case machine.AgentActed() | machine.Guided() | machine.SessionOpened() | machine.UsageReported():
                self._agent(event)
            case _:
                self._step(at, event)
        if not isinstance(event, machine.Noticed) and getattr(event, "driven", True):
            self.last = at
        self._head()

    def _phase(self, at: float, event: machine.PhaseStarted | machine.PhaseDone | machine.PhaseSkipped) -> None:
        path = event.path
        match event:
            case machine.PhaseStarted():
                self.tree.put(path, started=at, ended=None)
            case machine.PhaseDone():
                self.tree.put(path, ended=at)
            case machine.PhaseSkipped():
                self.tree.put(path, why=_why("skipped", event.reason))
                self._done.update(self.tree.own.intersection(self.tree.steps(path)))
        self._phase_status(path)

    def _step(self, at: float, event: Event) -> None:
        path = getattr(event, "path", "")
        match event:
            case machine.StepStarted():
                self.tree.put(path, started=at, ended=None, why=None)
                self.tree.start_nested(path)
            case machine.NodeStarted() | machine.AttemptStarted():
                self.bars.open(path, "work", at, event.attempt)
                most = max(self.tree.get(path)["tries"], event.attempt)
                self.tree.put(path, **{"try": event.attempt, "tries": most, "until": None})
            case machine.NodeFinished():
                self.bars.close(path, at, "done")
            case machine.NodeFailed() | machine.AttemptFailed():
                self.bars.close(path, at, "failed")
                self.tree.put(path, why=_why(event.code, event.message))
            case machine.Delayed():
                self.bars.open(path, "delay" if self.bars.kind(path) == "work" else "pause", at, self._try(path))
                self.tree.put(path, doing=short(event.reason), until=event.until)
            case machine.StepSkipped() | machine.StepDone():
                self._end(path, at, "skipped" if isinstance(event, machine.StepSkipped) else "done")
                self.tree.put(path, why=None)
            case machine.StepFailed():
                self._end(path, at, "failed")
                self.tree.put(path, why=_why(event.code, event.message))
            case machine.Noticed() if path:
                self.tree.put(path, note=short(event.text))
            case _:
                return
        self._status(path)

    def _end(self, path: str, at: float, how: End) -> None:
        self.bars.close(path, at, how)
        self._withdraw(path)
        self.tree.put(path, ended=at, doing=None, until=None)
        if path in self.tree.own:
            self._done.add(path)

    def _status(self, path: str) -> None:
        found = self.state.steps.get(path)
        status: str = "pending" if found is None else found.status
        if status == "running" and path in self.state.questions:
            status = "waiting"
        elif status == "running" and path in self.state.delays:
            status = "delayed"
        self.tree.put(path, worked=self.bars.worked(path))
        self.tree.status(path, status)
        phase = path.rpartition("/")[0]
        if phase:
            self._phase_status(phase)

    def _phase_status(self, path: str) -> None:
        """A phase has the status that the flow gives it. While it runs, its steps say more."""
        status: str = self.state.phases.get(path, "pending")
        self.tree.status(path, (self.tree.among(path) or status) if status == "running" else status)

    def _question(self, at: float, event: machine.Asked | machine.Answered) -> None:
        path = event.path
        if isinstance(event, machine.Asked):
            self._withdraw(path)
            id_ = self._open[path] = self.state.questions[path].id
            self.bars.open(path, "asked", at, self._try(path))
            title, kind = short(str(event.question.get("title") or "a question")), event.question.get("kind") or "form"
            row = {"path": path, "kind": kind, "digest": event.input, "title": title, "since": at, "answered": None}
            self.rows.put(NEEDS, id_, {**row, "form": event.question})
        else:
            self.bars.close(path, at, "answered")
            if path in self._open:
                self.rows.put(NEEDS, self._open.pop(path), {"answered": {"by": event.by, "at": event.at or at}})
        self._status(path)

    def _withdraw(self, path: str) -> None:
        """Nobody needs an answer to the open question of a step any more."""
        if path in self._open:
            self.rows.drop(NEEDS, self._open.pop(path))

    def _artifact(self, at: float, event: machine.ArtifactPublished) -> None:
        known = {name: event.artifact.get(name) for name in ("name", "path", "schema", "sha256", "size", "version")}
        self.rows.put(ARTIFACTS, str(event.artifact["id"]), {**known, "step": event.path, "created": at})

    def _agent(
        self, event: machine.AgentActed | machine.Guided | machine.SessionOpened | machine.UsageReported
    ) -> None:
        path = event.path
        match event:
            case machine.AgentActed():
                counts = self._counts.setdefault(path, {})
                if event.kind in _COUNTED:
                    name = _COUNTED[event.kind]
                    counts[name] = counts.get(name, 0) + 1
                self.tree.put(path, doing=short(event.text), counts=dict(counts))
            case machine.Guided():
                self.tree.put(path, doing=short(f"{event.place}: {event.text or event.kind}"))
            case machine.SessionOpened():
                self.tree.put(path, who=event.agent, conversation=event.session)
            case machine.UsageReported():
                self._spend(path, event.usage)

    def _spend(self, path: str, usage: Mapping[str, Any]) -> None:
        """Add what an agent used to its step, to everything that the step is in, and to the run."""
        while path:
            spent = self._spent.setdefault(path, Spent())
            spent.add(usage)
            self.tree.put(path, usage=spent.to_json())
            path = path.rpartition("/")[0]
        self._spent.setdefault("", Spent()).add(usage)

    def _resume(self, at: float, event: machine.RunResumed) -> None:
        """A resume is a new epoch: rows may go back to their beginning, so everybody reads all of them again."""
        self.resumes += 1
        self.rows.epoch = f"{self.attempt}.{self.resumes}"
        if self.last is not None:
            self.bars.away(self.last, at)
        gone = set(event.rewound)
        for phase in self.tree.phases():
            if phase.partition("/")[0] in gone:
                for path in (*self.tree.steps(phase), phase):
                    self.bars.forget(path)
                    self._withdraw(path)
                    self._counts.pop(path, None)
                    self._done.discard(path)
                    self.tree.forget(path)
        if (self.rows.get(HEAD, "") or {}).get("started") is None:
            self.rows.put(HEAD, "", {"started": at})
        self.rows.put(HEAD, "", {"ended": None})

    def _try(self, path: str) -> int:
        return max(1, int(self.tree.get(path)["try"]))

    def _head(self) -> None:
        state = self.state
        is_over = state.status in ("completed", "stopped")
        self.rows.put(HEAD, "", {
            "status": state.status,
            "outcome": state.outcome if is_over else None,
            "why": self._why_ended(),
            "done": len(self._done),
            "total": len(self.tree.own),
            "usage": self._spent[""].to_json() if "" in self._spent else {},
            "modes": available(state, self.plan).names(),
            "summary": None if state.summary is None else state.summary[:SUMMARY],
        })  # fmt: skip

    def _why_ended(self) -> dict[str, Any] | None:
        state = self.state
        if state.status not in ("failed", "stopped", "cancelled"):
            return None
        path = next((path for path, step in state.steps.items() if step.status == "failed"), None)
        return {"path": path, "code": state.code, "message": _long(state.error or state.reason or "")}


def short(text: str) -> str:
    """One line for a column."""
    return clean(" ".join(text.split()))[:SHORT]


def _long(text: str) -> str:
    return clean(" ".join(text.split()))[:LONG]


def _why(code: str, message: str) -> dict[str, str]:
    return {"code": code, "message": _long(message)}
