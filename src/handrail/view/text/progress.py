"""Turns the events of a run into lines for a screen: its state, what runs now and for how long. Pure.

The phases and steps of the flow are known from its plan. Those of nested flows appear when they start. If an agent
is driven through a workflow, its phases are lines below the step: how each went, and its time.
"""

from __future__ import annotations

from collections.abc import Iterator

from handrail.base.dataclasses import dataclass, field
from handrail.driven.flows.plan import FlowPlan, path_segment, top_phase
from handrail.driven.runs import run_events
from handrail.driven.runs.run_events import Event, Guided
from handrail.driven.runs.state import StepState
from handrail.driven.runs.summary import reason_words
from handrail.extensions.contracts import GuideNews
from handrail.source.plain_text import counted, one_line, plain
from handrail.source.values import shown
from handrail.view.rows.rows import HEAD, Row
from handrail.view.rows.run import RunTopic
from handrail.view.text.columns import SIGNS, clipped, duration

MOST_VISITS = 8
SHORT_REMARK = 160
LONG_SUMMARY = 300
_SIGNS_OF_KINDS = {"entered": SIGNS["running"], "finished": SIGNS["done"], "check-held": SIGNS["done"]}


@dataclass
class Visit:
    """One visit of a phase. `sign` is a key of `SIGNS`, `remark` what happened in it last."""

    place: str
    began: float
    sign: str = "running"
    ended: float | None = None
    remark: str = ""


@dataclass
class GuidedWalk:
    """The phases that an agent visited so far, in order."""

    visits: list[Visit] = field(default_factory=list)

    def take(self, event: Guided) -> None:
        last = self.visits[-1] if self.visits else None
        if event.kind in ("entered", "looped"):
            self._leave(event, "done" if event.kind == "entered" else "skipped", event.text)
            self.visits.append(Visit(event.place, event.time, remark="" if event.kind == "entered" else "started over"))
        elif event.kind == "finished":
            self._leave(event, "done", event.text)
        elif event.kind in ("let-go", "cancelled"):
            self._leave(event, "failed", guided_words(event))
        elif last is not None:
            last.remark = guided_words(event, short=True)

    def _leave(self, event: Guided, sign: str, remark: str) -> None:
        if self.visits and self.visits[-1].ended is None:
            last = self.visits[-1]
            last.sign, last.ended, last.remark = sign, event.time, remark

    @property
    def shown(self) -> list[Visit]:
        return self.visits[-MOST_VISITS:]


def guided_lines(event: Guided | GuideNews) -> Iterator[str]:
    """What happened, with its sign. The summary of the phase before has its own line."""
    if event.kind in ("entered", "finished") and event.text:
        yield f"  summary: {shown(one_line(event.text), LONG_SUMMARY)}"
    yield f"{_SIGNS_OF_KINDS.get(event.kind, '!')} {plain(guided_words(event))}"


def guided_words(event: Guided | GuideNews, *, short: bool = False) -> str:
    """What happened, in one line. `short` is for a place where the phase is named already."""
    text, phase = shown(one_line(event.text), SHORT_REMARK), event.phase
    match event.kind:
        case "entered":
            return f"phase {event.place}"
        case "looped":
            return f"the agent starts over at {event.place}"
        case "check-failed":
            return f"cannot be left yet: {text}" if short else f"{phase} cannot be left yet: {text}"
        case "check-held":
            return f"checked: {text}"
        case "sent-on":
            return f"the agent stopped early{'' if short else f' in {phase}'} and was told to continue"
        case "let-go":
            return f"the agent stopped in {phase}: {text}"
        case "finished":
            return "the workflow is done"
        case "cancelled":
            return f"the workflow was cancelled in {phase}" + (f": {text}" if text else "")
        case _:
            return f"{event.kind}: {text}"


MOST_QUESTIONS = 3


ProgressPlace = tuple[str, int, Visit | None]
"""A line of the screen: the path of a phase or step, its depth, and the visit of a workflow's phase, if it is one."""


class Progress:
    """The progress of a run. Call `take` with every event, including those before a resume, and `lines` at any time."""

    def __init__(self, plan: FlowPlan) -> None:
        self.phases = [path_segment(phase.id) for phase in plan.phases]
        self.topic = RunTopic(plan, lambda _: None, 1, {})
        self.state = self.topic.state
        self.notice: run_events.Noticed | None = None
        self._doing: dict[str, run_events.AgentActed | run_events.Delayed] = {}
        self._walks: dict[str, GuidedWalk] = {}

    def take(self, event: Event, now: float) -> None:
        """Apply an event that happened at the time `now`."""
        self.topic.take(now, event)
        match event:
            case run_events.RunResumed():
                rewound = set(event.rewound)
                self._walks = {path: walk for path, walk in self._walks.items() if top_phase(path) not in rewound}
            case run_events.Noticed():
                self.notice = event
            case run_events.AgentActed() | run_events.Delayed():
                self._doing[event.path] = event
            case run_events.Guided():
                self._walks.setdefault(event.path, GuidedWalk()).take(event)
                self._doing.pop(event.path, None)
            case run_events.StepDone() | run_events.StepSkipped() | run_events.StepFailed():
                self._doing.pop(event.path, None)
                if self.notice is not None and self.notice.path == event.path:
                    self.notice = None

    @property
    def head(self) -> Row:
        return self.topic.rows.get(HEAD, "") or {}

    def _below(self, path: str) -> list[str]:
        """The steps of a phase, or the phases that began in the flow of a step."""
        own, below = self.topic.tree.own, self.topic.window.below.get(path, ())
        return [child for child in below if child in own or self.status(child) != "pending"]

    def driven(self, now: float) -> float:
        """How long the run was driven, without the time in which it waited for a person or for a resume."""
        return self.topic.clock.at(now)

    def status(self, path: str) -> str:
        """The status of a phase or step, by its path. A phase has failed if a step has failed and none is running."""
        if _is_step(path):
            return self.state.steps.get(path, StepState()).status
        status = self.state.phases.get(path, "pending")
        if status == "running":
            below = {self.status(step) for step in self._below(path)}
            return "failed" if "failed" in below and "running" not in below else status
        return status

    def elapsed(self, path: str, now: float) -> float | None:
        """How long a phase or step took, or has been running; None if it has not started."""
        return self.topic.elapsed(path, now) if self.status(path) == "running" else self.took(path)

    def took(self, path: str) -> float | None:
        found: float | None = self.topic.tree.get(path)["took"]
        return found

    def lines(self, now: float, width: int, height: int, *, asks: bool = True) -> list[str]:
        """The lines of the screen: at most `height` lines, none wider than `width` columns.

        Without `asks` there are no open questions: they are asked below.
        """
        foot = [*(self._questions() if asks else ()), *self._noticed(), self._foot(now)][-max(1, height) :]
        room = max(0, height - len(foot))
        places, at = self._places()
        start = max(0, min(at - room // 2, len(places) - room))
        shown = [self._line(*place, now) for place in places[start : start + room]]
        if start and room > 2:
            shown[0] = f"… {start + 1} above"
        if start + room < len(places) and room > 2:
            shown[-1] = f"… {len(places) - start - room + 1} below"
        return [clipped(line, width) for line in [*shown, *foot]]

    def _places(self) -> tuple[list[ProgressPlace], int]:
        """The place of every possible line, and the index of the line that is current."""
        places: list[ProgressPlace] = []
        at = 0
        for path in self.phases:
            status = self.state.phases.get(path, "pending")
            if status == "running":
                begin = len(places)
                places.extend(self._unfold(path, 0))
                below = range(len(places) - 1, begin, -1)
                at = next((n for n in below if self.status(places[n][0]) in ("running", "failed")), begin)
                continue
            if status != "pending" and at == len(places) - 1:
                at = len(places)
            places.append((path, 0, None))
        return places, at

    def _unfold(self, path: str, depth: int) -> Iterator[ProgressPlace]:
        """A running or failed phase or step is shown with everything below it, any other in one line."""
        yield path, depth, None
        if self.status(path) in ("running", "failed"):
            for visit in self._walks[path].shown if path in self._walks else ():
                yield path, depth + 1, visit
            for child in self._below(path):
                yield from self._unfold(child, depth + 1)

    def _line(self, path: str, depth: int, visit: Visit | None, now: float) -> str:
        if visit is not None:
            took = (visit.ended or (now if self.topic.clock.is_going else self.topic.clock.last or now)) - visit.began
            parts = [f"{'  ' * depth}{SIGNS[visit.sign]} {plain(visit.place)}", duration(took), one_line(visit.remark)]
            return "  ".join(part for part in parts if part)
        status = self.status(path)
        parts = [f"{'  ' * depth}{SIGNS[status]} {last_id(path)}"]
        elapsed = self.elapsed(path, now)
        if elapsed is not None:
            parts.append(duration(elapsed))
        parts.append(self._remark(path, status, now))
        return "  ".join(part for part in parts if part)

    def _remark(self, path: str, status: str, now: float) -> str:
        """The text after the name and the time of a phase or step; may be empty."""
        step = self.state.steps.get(path, StepState())
        if status == "failed":
            return one_line(step.error or "")
        if status != "running":
            why = self.topic.tree.get(path)["why"] if status == "skipped" else None
            return one_line((why or {}).get("message", ""))
        if path in self.state.questions:
            return "waits for an answer"
        doing = self._doing.get(path)
        attempt = self.attempt(path) if step.attempts > 1 else ""
        return attempt if doing is None else one_line(act_words(doing, now)) or attempt

    def attempt(self, path: str) -> str:
        """`attempt 2 of 3, after: ...`."""
        step = self.state.steps[path]
        planned = self.topic.tree.step(path)
        most = f" of {planned.retry.attempts}" if planned and planned.retry.attempts >= step.attempts else ""
        after = f", after: {one_line(step.error)}" if step.error else ""
        return f"attempt {step.attempts}{most}{after}"

    def _questions(self) -> list[str]:
        if self.state.status not in ("running", "waiting"):
            return []
        asked = list(self.state.questions.values())[:MOST_QUESTIONS]
        return [f"? {plain(question.path)}  {question_title(question)} ({question.id})" for question in asked]

    def _noticed(self) -> list[str]:
        if self.notice is None:
            return []
        return [f"! {plain(self.notice.path)}  {one_line(self.notice.text)}"]

    def _usage(self) -> list[str]:
        """What the agents reported as used so far."""
        used = self.head["usage"]
        names = (("inputTokens", "{:,} in"), ("outputTokens", "{:,} out"), ("usd", "${:.2f}"))
        return [words.format(used[name]) for name, words in names if used.get(name) is not None]

    def _foot(self, now: float) -> str:
        state = self.state
        parts = [f"{self.head['done']}/{counted(self.head['total'], 'step')}"]
        if self.topic.clock.last is not None:
            parts.append(duration(self.driven(now)))
        parts.extend(self._usage())
        if state.status != "running":
            parts.insert(0, state.status)
        why = state.error or reason_words(state.reason or "") if state.status not in ("running", "waiting") else None
        if any(step.status == "failed" and step.error == why for step in state.steps.values()):
            why = None  # the line of the step says it
        return ", ".join(parts) + (f": {one_line(why)}" if why else "")


def event_line(event: Event, progress: Progress, now: float) -> str | None:
    """One line for an event that `progress` has just taken; None if people need not see it."""
    sign, more = "", ""
    match event:
        case run_events.PhaseStarted() | run_events.StepStarted():
            sign = SIGNS["running"]
        case run_events.PhaseDone() | run_events.StepDone():
            sign = SIGNS["done"]
        case run_events.PhaseSkipped():
            sign, more = SIGNS["skipped"], event.reason
        case run_events.StepSkipped() if event.path.rpartition("/")[0] in progress.state.phases:
            sign = SIGNS["skipped"]
        case run_events.StepFailed():
            sign, more = SIGNS["failed"], event.message
        case run_events.NodeStarted() | run_events.AttemptStarted() if event.attempt > 1:
            return _said(event.path, SIGNS["running"], progress.attempt(event.path))
        case run_events.Asked():
            sign, more = "?", question_title(event)
        case run_events.Noticed():
            sign, more = "!", event.text
        case run_events.Delayed():
            sign, more = "!", act_words(event, now)
        case run_events.AgentActed() if not event.is_usual:
            sign, more = "!", act_words(event, now)
        case run_events.Guided():
            sign = {"entered": SIGNS["running"], "finished": SIGNS["done"]}.get(event.kind, "!")
            return _said(f"{event.path}/", sign, guided_words(event))
        case _:
            return None
    elapsed = progress.took(event.path) if sign in (SIGNS["done"], SIGNS["failed"]) else None
    return _said(event.path, sign, "" if elapsed is None else duration(elapsed), one_line(more))


def _said(path: str, sign: str, *parts: str) -> str:
    """A line about a path. A path that ends with `/` is not shown: the line is about something below it."""
    words = [] if path.endswith("/") else [plain(path)]
    return f"{'  ' * path.count('/')}{sign} " + "  ".join(word for word in (*words, *map(plain, parts)) if word)


def act_words(event: run_events.AgentActed | run_events.Delayed, now: float) -> str:
    """What an agent does, or how long the step waits; empty if the wait is over."""
    if isinstance(event, run_events.Delayed):
        return f"waits {duration(event.until - now)}: {event.reason}" if event.until > now else ""
    if event.kind == "again":
        return f"the agent is called again: {event.text}"
    return event.text if event.kind == "tool" else f"{event.kind}: {event.text}"


def question_title(asked: run_events.Asked) -> str:
    return one_line(str(asked.question.get("title") or asked.question.get("id") or "a question"))


def _is_step(path: str) -> bool:
    return path.count("/") % 2 == 1


def last_id(path: str) -> str:
    """The id at the end of a path."""
    return plain(path.rpartition("/")[2].replace("%2F", "/").replace("%25", "%"))
