"""A run as rows: its head, the tree of its phases and steps, bars, questions and files. Pure.

A topic begins with the records that are there. Call `take` with every later one, in order. Each call changes only
the rows that the event is about, so following a run costs the same per event after ten steps and after ten thousand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from handrail.driven.flows.plan import FlowFinder, FlowPlan
from handrail.driven.runs import run_events
from handrail.driven.runs.run_events import Event, Routed
from handrail.driven.runs.run_rules import available_modes
from handrail.driven.runs.state import CANCELLED, ENDED, WAIT, RunState
from handrail.driven.runs.summary import UsageSum, rejection
from handrail.extensions.contracts import EventRecord
from handrail.view.rows.rows import HEAD, Row, Rows, failure_json, long_text, short_text, summary_text
from handrail.view.rows.run_sections import BarEnd, BarKind, BarRows, CheckRows, QuestionRows, act_words, take_visit
from handrail.view.rows.run_tree import NodeTree, RowWindow

ARTIFACTS = "artifacts"
MOST_ARTIFACTS = 500
_COUNTED = {"tool": "tools", "denied": "denied", "retry": "retries"}


class RunTopic:
    """The rows of one attempt of a run. `facts` are the fields of the head that do not come from events."""

    def __init__(
        self, plan: FlowPlan, find: FlowFinder, attempt: int, facts: Row, records: Iterable[EventRecord] = ()
    ) -> None:
        self.plan = plan
        self.attempt = attempt
        self.resumes = 0
        self.state = RunState()
        self._bound_mark = ""
        self.rows = Rows(self._epoch())
        empty = dict.fromkeys(("summary", "note", "started", "ended"))
        self.rows.put(HEAD, "", {**empty, **facts, "attempt": attempt})
        self.window = RowWindow(self.rows)
        self.tree = NodeTree(self.window, plan, find)
        self.bars = BarRows(self.window)
        self.checks = CheckRows(self.window, self.tree)
        self.needs = QuestionRows(self.rows, str(facts.get("run") or ""))
        self.clock = self.state.clock
        self._starts: dict[str, float] = {}  # what the clock showed when a phase or step started
        self._finished_steps: set[str] = set()
        self._artifacts: deque[str] = deque()
        self._counts: dict[str, dict[str, int]] = {}
        self._usage_sums: dict[str, UsageSum] = {}
        self._unreported: dict[str, None] = {}  # steps whose agent has not reported what it used
        self._waits: dict[str, float] = {}  # steps that wait for a point in time, also while nobody drives the run
        self._changes = self._changes_by_event()
        self.take_all(records)
        self.window.release()
        if self.window.is_bounded:  # what is shown now is decided by the end of these records, and by none before it
            self._bound_mark = f".{self.rows.seq}"
            self.rows.epoch = self._epoch()

    def take(self, at: float, event: Event) -> None:
        """Apply the next event of the journal, recorded at the time `at`."""
        self.apply(at, event)
        self._head()

    def take_all(self, records: Iterable[EventRecord]) -> None:
        """Apply several events. The rows are the same as if each was taken alone, but the head is made once."""
        for at, event in records:
            self.apply(at, event)
        self._head()

    def apply(self, at: float, event: Event) -> None:
        """Apply an event, and leave the head of the rows as it is."""
        self.rows.seq += 1
        if isinstance(event, run_events.RunResumed):
            self._resume(at, event)
        self.state.apply(event, at)
        if (change := self._changes.get(type(event))) is not None:
            change(at, event)
        if isinstance(event, _OF_STEP):
            self._status(event.path, at)
        elif isinstance(event, _OF_PHASE):
            self._phase_status(event.path, at)

    def _changes_by_event(self) -> dict[type[Event], Callable[[float, Any], object]]:
        return {
            run_events.RunStarted: self._start_run,
            run_events.RunResumed: lambda at, _: self._pause(at, is_over=False),
            run_events.RunEnded: self._end_run,
            run_events.PhaseStarted: lambda at, event: self._begin(event.path, at),
            run_events.PhaseDone: lambda at, event: self.tree.put(event.path, ended=at, took=self._took(event.path)),
            run_events.PhaseSkipped: self._skip,
            run_events.StepStarted: self._start,
            **dict.fromkeys((run_events.NodeStarted, run_events.AttemptStarted), self._work),
            run_events.NodeFinished: lambda at, event: self._settle(event.path, at, "done"),
            **dict.fromkeys((run_events.NodeFailed, run_events.AttemptFailed), self._fail),
            run_events.Delayed: self._delay,
            **dict.fromkeys(_ENDS, self._end),
            **dict.fromkeys((run_events.Asked, run_events.Answered), self._question),
            run_events.FactFound: self._fact,
            run_events.ArtifactPublished: self._artifact,
            run_events.Checked: self.checks.take,
            run_events.SummarySet: lambda _, event: self._put_head(summary=summary_text(event.text)),
            run_events.Routed: lambda _, event: self._put_head(routes=routes_of(event)),
            run_events.Bounded: lambda _, event: self._put_head(limits=event.named),
            run_events.AgentActed: self._act,
            run_events.Guided: self._guide,
            run_events.SessionOpened: self._open_session,
            run_events.UsageReported: self._use,
            run_events.Noticed: self._notice,
        }

    def _put_head(self, **fields: Any) -> None:
        self.rows.put(HEAD, "", fields)

    def _start_run(self, at: float, event: run_events.RunStarted) -> None:
        self._put_head(started=at)
        if usage := event.earlier.get("usage"):
            self._usage_sums.setdefault("", UsageSum()).add(usage)

    def _end_run(self, at: float, _: run_events.RunEnded) -> None:
        end = at if self.clock.last is None else self.clock.last
        self.bars.cancel(end)
        self._put_head(ended=end)
        self._pause(end, is_over=True)

    def _notice(self, at: float, event: run_events.Noticed) -> None:
        if event.path:
            self.tree.put(event.path, note=short_text(event.text))
            self._status(event.path, at)
        else:
            self._put_head(note=short_text(event.text))

    def _skip(self, _: float, event: run_events.PhaseSkipped) -> None:
        self.tree.put(event.path, why=failure_json("skipped", event.reason))
        self._finished_steps.update(self.tree.own_steps.intersection(self.tree.steps_of_phase.get(event.path, ())))

    def _start(self, at: float, event: run_events.StepStarted) -> None:
        path = event.path
        self._begin(path, at, why=None)
        self.tree.start_nested(path)
        self.checks.announce(path)

    def _begin(self, path: str, at: float, **fields: Any) -> None:
        self._starts[path] = self.clock.seconds
        self.tree.put(path, started=at, ended=None, took=None, **fields)

    def _took(self, path: str) -> float | None:
        """How long a phase or step ran, without the time in which no process drove the run."""
        return round(self.clock.seconds - self._starts[path], 3) if path in self._starts else None

    def elapsed(self, path: str, now: float) -> float | None:
        """How long a phase or step that has started has been running by now; None if it has not started."""
        return self.clock.at(now) - self._starts[path] if path in self._starts else None

    def _work(self, at: float, event: run_events.NodeStarted | run_events.AttemptStarted) -> None:
        path = event.path
        if isinstance(event, run_events.AttemptStarted) and event.again:
            self._forget([phase for phase in self.tree.steps_of_phase if phase.startswith(f"{path}/")], at)
        self.bars.open(path, "work", at, event.attempt)
        tries = max(self.tree.get(path)["tries"], event.attempt)
        self.tree.put(path, **{"try": event.attempt, "tries": tries, "until": None})
        self._wait(path, at)

    def _fail(self, at: float, event: run_events.NodeFailed | run_events.AttemptFailed) -> None:
        self._settle(event.path, at, "cancelled" if event.code == CANCELLED else "failed")
        self.tree.put(event.path, why=failure_json(event.code, event.message))

    def _delay(self, at: float, event: run_events.Delayed) -> None:
        path = event.path
        kind: BarKind = "delay" if self.bars.kind(path) in ("work", "delay") else "pause"
        self.bars.open(path, kind, at, self._try(path))
        self.tree.put(path, doing=short_text(event.reason), until=event.until)

    def _fact(self, at: float, event: run_events.FactFound) -> None:
        if event.place != WAIT:
            self.needs.take_fact(event)
        elif isinstance(event.value, int | float):
            self._waits[event.path] = float(event.value)
            self._wait(event.path, at)
            self._status(event.path, at)

    def _end(self, at: float, event: run_events.StepDone | run_events.StepSkipped | run_events.StepFailed) -> None:
        path = event.path
        end: BarEnd = "cancelled" if getattr(event, "code", "") == CANCELLED else _ENDS[type(event)]
        reason = failure_json(event.code, event.message) if isinstance(event, run_events.StepFailed) else None
        if isinstance(event, run_events.StepDone) and event.stop:  # it asked for a yes, and a person said no
            rejection_text = rejection(self.state.steps[path].value)
            reason = None if rejection_text is None else failure_json("stop-flow-if", rejection_text)
        self.bars.close(path, at, end)
        self.needs.withdraw(path)
        took = None if isinstance(event, run_events.StepSkipped) else self._took(path)
        self.tree.put(path, ended=at, took=took, doing=None, until=None, why=reason)
        if end in ("done", "skipped") and path in self.tree.own_steps:
            self._finished_steps.add(path)

    def _wait(self, path: str, at: float) -> None:
        """A step waits for a point in time, and goes on with that after a resume."""
        end = self._waits.get(path)
        if end is not None and end > at:
            self.bars.open(path, "delay", at, self._try(path))
            self.tree.put(path, until=end)

    def _pause(self, at: float, *, is_over: bool) -> None:
        """A run ends or goes on: so do the steps that were not finished, and their questions."""
        self.needs.set_over(is_over=is_over)
        for path in () if is_over else self.state.questions:
            if self.bars.kind(path) is None:  # it was closed when the run ended
                self.bars.open(path, "asked", at, self._try(path))
        for path, step in self.state.steps.items():
            if step.status == "running":
                self._status(path, at)

    def _status(self, path: str, at: float) -> None:
        state, row = self.state, self.tree.get(path)
        step = state.steps.get(path)
        status: str = "pending" if step is None else step.status
        if status == "running":
            if path in state.questions:
                status = "waiting"
            elif path in state.delays or row.get("until") is not None:
                status = "delayed"
            if state.status in ENDED:
                status = "cancelled"
        elif status == "failed" and (row["why"] or {}).get("code") == CANCELLED:
            status = "cancelled"
        work_seconds = self.bars.work_seconds(path)
        if work_seconds != row["worked"]:
            old_seconds = row["worked"] or 0.0
            self.tree.put(path, worked=work_seconds)
            self.tree.add_work_seconds(path, (work_seconds or 0.0) - old_seconds)
        is_changed = row["status"] != status and self.tree.set_status(path, status, at)
        phase = path.rpartition("/")[0]
        if phase and (is_changed or self.tree.get(phase)["status"] == "failed"):
            self._phase_status(phase, at)

    def _phase_status(self, path: str, at: float) -> None:
        """A phase has the status that the flow gives it. While it runs, its steps say more."""
        row = self.tree.get(path)
        status: str = self.state.phases.get(path, "pending")
        if status == "running":
            status = self.tree.among(path) or status
            if status == "failed" or row["ended"] is not None:
                self.tree.put(path, ended=at if status == "failed" else None)
        if row["status"] != status:
            self.tree.set_status(path, status, at)

    def _question(self, at: float, event: run_events.Asked | run_events.Answered) -> None:
        path = event.path
        if isinstance(event, run_events.Asked):
            self.bars.open(path, "asked", at, self._try(path))
            self.needs.ask(at, event, self.state.questions[path].id, self.checks.results())
        else:
            self.bars.close(path, at, "answered")
            self.needs.answer(at, event)

    def _artifact(self, at: float, event: run_events.ArtifactPublished) -> None:
        data, id_ = event.artifact, str(event.artifact["id"])
        row = {name: data.get(name) for name in _OF_ARTIFACT}
        row |= {"step": event.path, "created": data.get("created") or at, "path": short_text(str(data.get("path")))}
        row["name"] = short_text(str(data.get("name") or data.get("path")))
        if self.rows.get(ARTIFACTS, id_) is None:
            self._artifacts.append(id_)
        self.rows.put(ARTIFACTS, id_, row)
        if len(self._artifacts) > MOST_ARTIFACTS:
            self.rows.drop(ARTIFACTS, self._artifacts.popleft())

    def _work_again(self, path: str, at: float) -> None:
        """A delay during the work of a step is over. Its end is not recorded, only the time until which it lasts."""
        if self.bars.kind(path) == "delay":
            end = self.tree.get(path).get("until")
            self.bars.open(path, "work", at if end is None else min(at, end), self._try(path))
            self.tree.put(path, until=None)

    def _settle(self, path: str, at: float, end: BarEnd) -> None:
        """The node of a step has ended. If its agent did not report what it used, the sums are not complete."""
        self._work_again(path, at)
        self.bars.close(path, at, end)
        self._waits.pop(path, None)
        if path in self._unreported:
            del self._unreported[path]
            self._spend(path, {})

    def _act(self, _: float, event: run_events.AgentActed) -> None:
        counts = self._counts.setdefault(event.path, {})
        if event.kind in _COUNTED:
            name = _COUNTED[event.kind]
            counts[name] = counts.get(name, 0) + 1
        about = {"counts": dict(counts), "deniedTools": dict(self.state.denied.get(event.path, {}))}
        self.tree.put(event.path, doing=short_text(act_words(event)), **about)

    def _guide(self, _: float, event: run_events.Guided) -> None:
        take_visit(self.window, event)
        self.tree.put(event.path, doing=short_text(f"{event.place}: {event.text or event.kind}"))

    def _open_session(self, at: float, event: run_events.SessionOpened) -> None:
        self._unreported[event.path] = None
        self._work_again(event.path, at)
        self.tree.put(event.path, who=event.agent, conversation=event.session)

    def _use(self, _: float, event: run_events.UsageReported) -> None:
        self._unreported.pop(event.path, None)
        self._spend(event.path, event.usage, is_found=bool(event.session))

    def _spend(self, path: str, usage: Mapping[str, Any], *, is_found: bool = False) -> None:
        """Add what an agent used to its step, to everything that the step is in, and to the run.

        `is_found`: it was missing before.
        """
        self.tree.get(path)
        for id_ in (path, *self.tree.ancestors_of(path)):
            usage_sum = self._usage_sums.setdefault(id_, UsageSum())
            usage_sum.add(usage, is_found=is_found)
            self.tree.put(id_, usage=usage_sum.to_json())
        self._usage_sums.setdefault("", UsageSum()).add(usage, is_found=is_found)

    def _resume(self, at: float, event: run_events.RunResumed) -> None:
        """A resume is a new epoch: rows may go back to their beginning, so everybody reads all of them again."""
        self.resumes += 1
        for path in self._unreported:
            self._spend(path, {})
        self._unreported = {}
        self.rows.epoch = self._epoch()
        if self.clock.last is not None:
            self.bars.mark_away(max(self.clock.last, event.heard or 0.0), at)
        if removed_phases := set(event.rewound):
            self._forget([phase for phase in self.tree.steps_of_phase if phase.partition("/")[0] in removed_phases], at)
        if self.rows.head.get("started") is None:
            self._put_head(started=at)
        self._put_head(ended=None)

    def _epoch(self) -> str:
        return f"{self.attempt}.{self.resumes}{self._bound_mark}"

    def _forget(self, phases: list[str], at: float) -> None:
        for phase in phases:
            for path in (*self.tree.steps_of_phase.get(phase, ()), phase):
                self.window.forget(path)
                self.bars.forget(path)
                self.needs.withdraw(path)
                self.checks.forget(path)
                self._counts.pop(path, None)
                self._starts.pop(path, None)
                self._finished_steps.discard(path)
                self.tree.forget(path, at)

    def _try(self, path: str) -> int:
        return max(1, int(self.tree.get(path)["try"]))

    def _head(self) -> None:
        state = self.state
        is_over, denied = state.status in ("completed", "stopped"), state.denied_tools()
        clock, is_delayed = self.clock, state.status == "running" and self.tree.among("") == "delayed"
        since = round(clock.last - clock.seconds, 3) if clock.is_going and clock.last is not None else None
        self.rows.put(HEAD, "", {
            "status": "delayed" if is_delayed else state.status,
            "seconds": None if since is not None or clock.last is None else round(clock.seconds, 3),
            "since": since,
            "atLeast": clock.has_gaps,
            "outcome": state.outcome if is_over or state.outcome == run_events.DENIED else None,
            "why": self._end_reason(),
            "done": len(self._finished_steps),
            "total": len(self.tree.own_steps),
            "usage": self._usage_sums[""].to_json() if "" in self._usage_sums else {},
            "modes": available_modes(state, self.plan),
            "denied": sum(denied.values()),
            "deniedTools": denied,
        })  # fmt: skip

    def _end_reason(self) -> dict[str, Any] | None:
        state = self.state
        if state.status not in ("failed", "stopped", "cancelled"):
            return None
        path = next((path for path, step in state.steps.items() if step.status == "failed"), None)
        message = state.error or state.reason or ""
        if state.code == "stop-flow-if":
            stops = (one for one in reversed(state.steps) if state.steps[one].stop and one in self.tree.own_steps)
            path = next(stops, path)
            reason = (self.window.nodes[path]["why"] if path in self.window.nodes else None) or {}
            message = reason.get("message") or "the flow ended here, because `stopFlowIf` was true"
        return {"path": path, "code": state.code, "message": long_text(message)}


_ENDS: dict[type[Event], BarEnd] = {
    run_events.StepDone: "done",
    run_events.StepSkipped: "skipped",
    run_events.StepFailed: "failed",
}
_OF_STEP = (
    run_events.StepStarted, run_events.NodeStarted, run_events.AttemptStarted, run_events.NodeFinished,
    run_events.NodeFailed, run_events.AttemptFailed, run_events.Delayed, run_events.Asked, run_events.Answered,
    run_events.SessionOpened, run_events.StepDone, run_events.StepSkipped, run_events.StepFailed,
)  # fmt: skip
_OF_PHASE = (run_events.PhaseStarted, run_events.PhaseDone, run_events.PhaseSkipped)
"""After such an event, the status of its step or phase may be another one."""
_OF_ARTIFACT = ("version", "family", "schema", "size", "sha256", "supersedes")


def routes_of(routing: Routed) -> dict[str, Any]:
    """Which agent gets which step: the one for all steps, and those of routing groups."""
    route = ":".join(filter(None, (routing.agent, routing.model))) or None
    return {"agent": route, "preset": routing.preset or None, "groups": {**routing.table, **routing.routes}}
