"""Where a run stands, for one line of a list: its place, what it does, what it asks, what it used. Pure.

Folds events as plain data, so that a list of runs compiles no flow and imports no event types. Imports little, because
`handrail runs` and `handrail status` read it. The facts about the flow (how many steps it has, which phases are
rounds) are the `shape` of the run's request; what it lacks is None. An unknown usage is never zero: it makes a sum
incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from handrail.driven.runs.clock import RunClock

USAGE_NAMES = ("inputTokens", "outputTokens", "usd")


class UnreportedCalls:
    """Which calls of agents have not reported what they used, by the paths of their steps."""

    def __init__(self) -> None:
        self._silent: dict[str, None] = {}

    def begin(self, path: str) -> None:
        self._silent[path] = None

    def report(self, path: str) -> None:
        self._silent.pop(path, None)

    def end(self, path: str) -> bool:
        """The node of a step has ended. True if what its agent used is not known."""
        return path in self._silent and self._silent.pop(path) is None

    def interrupt(self) -> list[str]:
        """The process was killed. The paths of the steps whose agents did not report what they used."""
        silent, self._silent = list(self._silent), {}
        return silent


class UsageSum:
    """A sum of reports of usage."""

    __slots__ = ("complete", "sums")

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.complete = True

    def add(self, usage: Mapping[str, Any]) -> None:
        for name in USAGE_NAMES:
            if isinstance(usage.get(name), int | float):
                self.sums[name] = self.sums.get(name, 0) + usage[name]
            else:
                self.complete = False

    def to_json(self) -> dict[str, Any]:
        sums = {name: round(self.sums[name], 6) if name in self.sums else None for name in USAGE_NAMES}
        return {**sums, "complete": self.complete}


ENDED = ("completed", "stopped", "failed", "cancelled")
APPROVED, RERUN = "approved", "rerun"
_APPROVALS = ("approve", "propose")
_TEXT = 200
_WAIT = "wait"
"""The place of the fact that says when the wait of a node ends."""


class Glance:
    """The facts about one attempt of a run. Call `take` with each event in order; `t` is its time."""

    def __init__(self, shape: Mapping[str, Any] | None = None) -> None:
        self.shape = shape or {}
        self.status = "running"
        self.reason: str | None = None
        self.error: str | None = None
        self.code: str | None = None
        self.summary: str | None = None
        self.clock = RunClock()
        self.started: float | None = None
        self.ended: float | None = None
        self.who: str | None = None
        self.questions: dict[str, dict[str, Any]] = {}
        self.delays: dict[str, dict[str, Any]] = {}
        self._waits: dict[str, dict[str, Any]] = {}  # nodes that wait for a point in time, also while nobody drives
        self._phases: dict[str, str] = {}
        self._running: dict[str, None] = {}  # paths of steps, the last started one last
        self._over: dict[str, str] = {}  # paths of steps of the outermost flow that ended → how
        self._failed: dict[str, None] = {}
        self._stops: dict[str, None] = {}
        self._doing: dict[str, str] = {}
        self._rejections: dict[str, str] = {}
        self._spent: UsageSum | None = None
        self._calls = UnreportedCalls()
        self._ids: set[str] = set()
        rows = self.shape.get("phases") or []
        self._written: dict[str, list[Any]] = {str(row[0]): list(row) for row in rows}

    def take(self, event: Mapping[str, Any]) -> None:
        """Apply the next event of the journal."""
        kind, at, path = event["type"], event["t"], event.get("path") or ""
        self.started = at if self.started is None else self.started
        self.clock.take(at, kind, event)
        match kind:
            case "RunResumed" | "RunParked" | "RunEnded":
                self._live(kind, at, event)
            case "PhaseStarted" | "PhaseDone" | "PhaseSkipped":
                self._phases[path] = kind
            case "StepStarted":
                self._start(path)
            case "StepDone" | "StepSkipped" | "StepFailed":
                self._end(kind, path, stop=bool(event.get("stop")))
            case "Asked":
                self._ask(at, event)
            case "Answered":
                self._answer(path, event["values"])
            case "Delayed":
                self.delays[path] = {"path": path, "until": event["until"], "reason": event["reason"]}
            case "FactFound" if event["place"] == _WAIT and isinstance(event["value"], int | float):
                self.delays[path] = self._waits[path] = {"path": path, "until": event["value"], "reason": "waits"}
            case "AgentActed":
                self._doing[path] = short(event["text"])
            case "Guided":
                self._doing[path] = short(f"{event['place']}: {event['text'] or event['kind']}")
            case "UsageReported":
                self._calls.report(path)
                self._spend(event["usage"])
            case "Routed":
                self.delays.clear()
            case "SummarySet":
                self.summary = event["text"]
            case _:
                self._work(kind, path, event)

    def _work(self, kind: str, path: str, event: Mapping[str, Any]) -> None:
        """A node or an attempt begins or ends: a delay before it is over."""
        if kind in ("NodeStarted", "NodeFinished", "NodeFailed", "SessionOpened", "AttemptStarted", "AttemptFailed"):
            self.delays.pop(path, None)
        if kind in ("NodeFinished", "NodeFailed"):
            self._waits.pop(path, None)
        elif kind == "NodeStarted" and path in self._waits:
            self.delays[path] = self._waits[path]
        if kind == "SessionOpened":
            self.who = event["agent"]
            self._calls.begin(path)
        elif kind in ("NodeFinished", "NodeFailed") and self._calls.end(path):
            self._spend({})
        if kind == "AttemptStarted" and event.get("again"):
            self._forget(lambda other: other.startswith(f"{path}/"))

    def _spend(self, usage: Mapping[str, Any]) -> None:
        self._spent = self._spent or UsageSum()
        self._spent.add(usage)

    def _live(self, kind: str, at: float, event: Mapping[str, Any]) -> None:
        self.error, self.code, self.reason, self.ended = None, None, None, None
        if kind == "RunResumed":
            self.status = "running"
            for _ in self._calls.interrupt():
                self._spend({})
            gone = set(event["rewound"])
            self._forget(lambda path: path.partition("/")[0] in gone)
        elif kind == "RunParked":
            self.status, self.reason = "waiting", event["reason"]
        else:
            self.status, self.reason, self.error = event["status"], event["reason"], event["error"]
            self.code, self.ended = event.get("code"), at

    def _start(self, path: str) -> None:
        self._running.pop(path, None)
        self._running[path] = None
        self._failed.pop(path, None)
        self._over.pop(path, None)

    def _end(self, kind: str, path: str, *, stop: bool) -> None:
        for known in (self._running, self._doing, self.delays, self.questions):
            known.pop(path, None)
        if kind == "StepFailed":
            self._failed[path] = None
        if path.count("/") == 1:
            self._over[path] = kind
            if stop:
                self._stops[path] = None

    def _answer(self, path: str, values: Mapping[str, Any]) -> None:
        asked = self.questions.pop(path, None)
        if asked is not None and asked["kind"] == "approval" and (no := rejection(values)) is not None:
            from handrail.settings.secrets import masked  # it is slow to import, and most lists of runs need none

            self._rejections[path] = short(masked(no))

    def _ask(self, at: float, event: Mapping[str, Any]) -> None:
        path, form = event["path"], event["question"]
        id_ = event.get("id") or f"q{len(self._ids) + 1}"
        self._ids.add(id_)
        self.questions.pop(path, None)
        fields = form.get("fields")
        self.questions[path] = {
            "id": id_,
            "path": path,
            "kind": kind_of_question(form),
            "title": form.get("title"),
            "fields": len(fields) if isinstance(fields, list) else None,
            "since": at,
        }

    def _forget(self, is_gone: Any) -> None:
        known: dict[str, Any]
        steps = (self._phases, self._running, self._over, self._failed, self._stops)
        everything = (*steps, self.questions, self.delays, self._waits)
        for known in everything:
            for path in [path for path in known if is_gone(path)]:
                del known[path]

    @property
    def is_delayed(self) -> bool:
        """True if the run waits for a point in time, and nothing else goes on in it."""
        leaves = [one for one in self._running if not any(other.startswith(f"{one}/") for other in self._running)]
        return self.status == "running" and bool(leaves) and all(path in self.delays for path in leaves)

    @property
    def pause(self) -> dict[str, Any] | None:
        """The delay that ends first in a run at work, such as the reset of a quota; None if no step is delayed."""
        delays = [delay for path, delay in self.delays.items() if delay is not self._waits.get(path)]
        return min(delays, key=lambda delay: delay["until"]) if delays and self.status == "running" else None

    @property
    def path(self) -> str:
        """Where the run stands: at its oldest question, at what failed, at its next delay, or at its last start."""
        if self.status == "completed":
            return ""
        if self.questions and self.status in ("running", "waiting"):
            return next(iter(self.questions))
        if self.status in ENDED:
            return next(iter(self._failed), "") or next(reversed(self._stops), "")
        if self.is_delayed:
            return str(self._delay["path"])
        return next(reversed(self._running), "") or next(reversed(self._phases), "")

    @property
    def _delay(self) -> dict[str, Any]:
        return min(self.delays.values(), key=lambda delay: delay["until"])

    @property
    def _done(self) -> int:
        skipped = {path for path, kind in self._phases.items() if kind == "PhaseSkipped" and "/" not in path}
        inside = sum(int(self._written[path][1]) for path in skipped if path in self._written)
        ended = (path for path, how in self._over.items() if how != "StepFailed")
        return inside + sum(path.partition("/")[0] not in skipped for path in ended)

    def _modes(self) -> list[str]:
        """What may be done with the run while no process drives it, as `driven.runs.state` says it."""
        is_over = self.status in ("completed", "stopped")
        is_partial = self.status == "completed" and any(id_ not in self._phases for id_ in self._written)
        again = self.shape.get("again")
        resumes = bool(self._phases) and (not is_over or is_partial)
        continues = is_over and (again == "again" or (again is not None and bool(self._stops)))
        return [*(["resume"] if resumes else []), *(["continue"] if continues else []), "restart"]

    def to_json(self) -> dict[str, Any]:
        """The facts as data."""
        path = self.path
        phase, *steps = (part.replace("%2F", "/").replace("%25", "%") for part in path.split("/"))
        row = self._written.get(path.partition("/")[0], [])
        is_going = self.status in ("running", "waiting")
        questions = list(self.questions.values()) if is_going else []
        return {
            "place": [row[4] if len(row) > 4 else phase, *steps] if path else [],
            "round": row[2:4] if len(row) > 4 else None,
            "done": self._done,
            "total": sum(int(one[1]) for one in self._written.values()) if self._written else None,
            "need": {"count": len(questions), **_first(questions)} if questions else None,
            "delay": {**self._delay, "reason": short(self._delay["reason"])} if self.is_delayed else None,
            "doing": self._doing.get(path) if is_going else None,
            "who": self.who,
            "usage": {} if self._spent is None else self._spent.to_json(),
            "modes": self._modes(),
            "code": self.code,
            "rejected": self._rejections.get(path) if self.code == "stop-flow-if" else None,
            "path": path or None,
            "last": self.clock.last,
        }


def plain_events(records: Iterable[tuple[float, object]]) -> Iterator[dict[str, Any]]:
    """Events as plain data. `t` is the time of an event, `type` its name."""
    for at, event in records:
        yield {**vars(event), "type": type(event).__name__, "t": at}


def kind_of_question(form: Mapping[str, Any]) -> str:
    """What kind of answer a form asks for: `rerun`, `approval` or `form`."""
    id_, fields = form.get("formId"), form.get("fields") or [{}]
    if id_ == RERUN:
        return "rerun"
    is_yes_or_no = fields[0].get("id") == APPROVED and fields[0].get("type") == "boolean"
    return "approval" if id_ in _APPROVALS and is_yes_or_no else "form"


def verdict_of(kind: str, values: Mapping[str, Any]) -> str:
    """An answer in one word. `kind` is that of its question."""
    if kind == "approval":
        return "approved" if values.get(APPROVED) is True else "rejected"
    return str(values.get(RERUN)) if kind == "rerun" else "answered"


def answer_words(values: Mapping[str, Any]) -> tuple[str, str]:
    """An answer whose question is not at hand, in one word, and the reason for a no."""
    verdict = verdict_of("approval" if isinstance(values.get(APPROVED), bool) else "form", values)
    return verdict, str(values.get("reason") or "").strip() if verdict == "rejected" else ""


def rejection(values: Any) -> str | None:
    """`rejected: not now`, if these values are a no to an approval; else None."""
    if not isinstance(values, Mapping) or values.get(APPROVED) is not False:
        return None
    return f"rejected: {answer_words(values)[1] or 'no reason was given'}"


def _first(questions: list[dict[str, Any]]) -> dict[str, Any]:
    first = min(questions, key=lambda question: question["since"])
    return {**first, "title": short(str(first["title"] or "a question"))}


def short(text: str) -> str:
    """One line for a column."""
    return " ".join(str(text).split())[:_TEXT]
