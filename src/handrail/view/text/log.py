"""The events of a run as lines of a log: for a terminal, and for a search by kind. Pure.

`Story` has one line per event that people care about, with its time, below its phase and step. Names are short as
long as the lines above show where they belong; else the whole path is shown. `line_of` gives a line for every
event, with a kind that people can choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from handrail.driven.flows.plan import FlowPlan, path_segment, round_numbers
from handrail.driven.runs import run_events
from handrail.driven.runs.overview import answer_words
from handrail.driven.runs.run_events import Event
from handrail.driven.runs.summary import reason_words
from handrail.extensions.contracts import EventRecord
from handrail.source.output_text import clean
from handrail.source.plain_text import one_line, plain
from handrail.source.values import as_text, shown
from handrail.view.text.columns import SIGNS, duration
from handrail.view.text.progress import Progress, act_words, guided_lines, last_id, question_title

STARTS, DONE, SKIPPED, FAILED = (SIGNS[status] for status in ("running", "done", "skipped", "failed"))
SHORT = 300
KEPT = "kept from the attempt before"
_UNMET, _ALL_UNMET = "its condition does not hold", "their conditions do not hold"
_ENDS = {"completed": DONE, "failed": FAILED}
_BELOW = {"asked": "? asks: {}", "made": "made {}", "session": "{}", "usage": "used {}", "notice": "! {}"}
"""How a line that is below a step begins, by what it says."""
_Line = tuple[str, str]
"""The path that a line is about, and its text. A path that ends with `/`: the line is about something below it."""


class Story:
    """Tells one attempt of a run. Call `lines` with all events, in order, in parts of any size.

    `clock` formats a time of day. In one part, a step that only starts and ends is one line, and so are phases that are
    skipped for the same reason, and a phase that a restart kept.
    """

    def __init__(self, plan: FlowPlan, clock: Callable[[float], str]) -> None:
        self.clock = clock
        self.progress = Progress(plan)
        self.rounds = {path_segment(phase.id): _round_words(round_numbers(phase)) for phase in plan.phases}
        self._shown = ""
        self._told: set[str] = set()

    def lines(self, records: Sequence[EventRecord]) -> Iterator[tuple[float, str]]:
        """The lines for these events, each with its time. There is none for an event that people need not see."""
        told: list[tuple[float, str, str]] = []
        kept = _number_of_kept(records)
        for number, (moment, event) in enumerate(records):
            self.progress.take(event, moment)
            at = event.time if isinstance(event, run_events.Guided) else moment
            found = self._tell(event, moment) if number >= kept else _kept(event)
            _insert(told, [(at, *line) for line in found])
        for at, path, text in _shortened(told):
            yield at, f"{self.clock(at)}  {self._placed(path, text)}"

    def _placed(self, path: str, text: str) -> str:
        """The text, indented below its path. If the lines above are about another place, the whole path is shown."""
        if not path:
            self._shown = ""
            return text
        parent, _, name = path.rpartition("/")
        near = f"{self._shown}/".startswith(f"{parent}/") if parent else True
        self._shown, indent = path.rstrip("/"), "  " * path.count("/")
        if not name:
            return f"{indent}{text}" if near else f"{indent}{plain(parent)}: {text}"
        return f"{indent}{text[0]} {last_id(path) if near else plain(path)}{text[1:]}"

    def _tell(self, event: Event, now: float) -> Iterator[_Line]:
        match event:
            case run_events.PhaseStarted():
                yield event.path, _joined(STARTS, self.rounds.get(event.path, ""))
            case run_events.StepStarted():
                yield event.path, STARTS
            case run_events.PhaseDone() | run_events.StepDone():
                more = "ends the flow here" if isinstance(event, run_events.StepDone) and event.stop else ""
                yield event.path, _joined(DONE, self._took(event.path), more)
            case run_events.PhaseSkipped():
                yield event.path, _joined(SKIPPED, f"skipped: {event.reason}")
            case run_events.StepSkipped() if event.path.rpartition("/")[0] in self.progress.state.phases:
                yield event.path, _joined(SKIPPED, f"skipped: {_UNMET}")
            case run_events.StepFailed():
                self._told.add(event.message)
                yield event.path, _joined(FAILED, self._took(event.path), event.message)
            case run_events.NodeStarted() if event.attempt > 1:
                yield f"{event.path}/", self.progress.attempt(event.path)
            case run_events.RunStarted() | run_events.RunResumed() | run_events.RunParked() | run_events.RunEnded():
                yield "", self._of_run(event, now)
            case _:
                yield from self._of_step(event, now)

    def _of_step(self, event: Event, now: float) -> Iterator[_Line]:
        """Lines below a step: questions, files, and what its agent did."""
        line = line_of(event)
        match event:
            case run_events.Answered():
                yield f"{event.path}/", f"answered: {given_words(event.values)}"
            case run_events.AgentActed() | run_events.Delayed():
                sign = "" if isinstance(event, run_events.AgentActed) and event.is_usual else "! "
                yield f"{event.path}/", sign + one_line(act_words(event, now))
            case run_events.Guided():
                for text in guided_lines(event):
                    yield f"{event.path}/", text
            case run_events.SummarySet():
                yield "", f"summary: {shown(one_line(event.text), SHORT)}"
            case _ if line.what in _BELOW:
                yield f"{line.path}/", _BELOW[line.what].format(line.text)

    def _of_run(
        self,
        event: run_events.RunStarted | run_events.RunResumed | run_events.RunParked | run_events.RunEnded,
        now: float,
    ) -> str:
        took = duration(self.progress.driven(now))
        match event:
            case run_events.RunStarted():
                return f"started, until phase {plain(event.until)}" if event.until else "started"
            case run_events.RunResumed():
                again = f"; these phases run again: {', '.join(map(plain, event.rewound))}" if event.rewound else ""
                return ("continued" if event.mode == "continue" else "resumed") + again
            case run_events.RunParked():
                return f"waits for a person, after {took}"
        sign = _ENDS.get(event.status, "!")
        why = event.error or reason_words(event.reason or "")
        return f"{sign} {event.status} after {took}" + (f": {one_line(why)}" if why and why not in self._told else "")

    def _took(self, path: str) -> str:
        took = self.progress.took(path)
        return "" if took is None else duration(took)


def _number_of_kept(records: Sequence[EventRecord]) -> int:
    """How many events a restart copied from the attempt before. It begins with them, and then resumes."""
    for number, (_, event) in enumerate(records):
        if isinstance(event, run_events.RunResumed):
            return number + 1 if event.mode == "restart" else 0
    return 0


def _insert(told: list[tuple[float, str, str]], lines: list[tuple[float, str, str]]) -> None:
    """Add the lines of an event. What a workflow did is known later than it happened, so it may move up in its step."""
    place = len(told)
    while lines and place and told[place - 1][1] == lines[0][1] and told[place - 1][0] > lines[0][0]:
        place -= 1
    told[place:place] = lines


def _kept(event: Event) -> Iterator[_Line]:
    if isinstance(event, run_events.RunStarted):
        yield "", "started again"
    elif isinstance(event, run_events.PhaseDone | run_events.PhaseSkipped):
        yield event.path, _joined(DONE if isinstance(event, run_events.PhaseDone) else SKIPPED, KEPT)


def _shortened(told: list[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """The lines, with those of the same thing joined: a start and its end, and a row of skipped or kept phases."""
    lines: list[tuple[float, str, str]] = []
    for at, path, text in told:
        before = lines[-1] if lines else (0.0, "", "")
        if path and before[1] == path and before[2] == STARTS and text[0] in (DONE, FAILED, SKIPPED):
            lines[-1] = (at, path, text)
        elif path and "/" not in path + before[1] and _of_many(text) == _of_many(before[2]) and _is_joinable(text):
            lines[-1] = (before[0], f"{before[1]}, {path}", _of_many(text))
        else:
            lines.append((at, path, text))
    return lines


def _of_many(text: str) -> str:
    return text.replace(_UNMET, _ALL_UNMET)


def _is_joinable(text: str) -> bool:
    return text.endswith(KEPT) or text.startswith(f"{SKIPPED}  skipped")


def _joined(sign: str, *parts: str) -> str:
    return "  ".join([sign, *(one_line(part) for part in parts if part)])


def _round_words(numbers: Mapping[str, int]) -> str:
    if len(numbers) == 1:
        return f"round {next(iter(numbers.values()))}"
    return "round " + ", ".join(f"{name} = {number}" for name, number in numbers.items()) if numbers else ""


def given_words(values: Mapping[str, Any]) -> str:
    """Parameters or answers in one line: `version=1.2 deep=true`."""
    return one_line(" ".join(f"{name}={as_text(value)}" for name, value in values.items() if value is not None))


def usage_words(usage: Mapping[str, Any]) -> str:
    """`1,200 tokens in, 30 out, $0.25`; numbers that are not known are left out."""
    words = (("inputTokens", "{:,} tokens in"), ("outputTokens", "{:,} out"), ("usd", "${:.2f}"))
    known = [text.format(usage[name]) for name, text in words if isinstance(usage.get(name), int | float)]
    return ", ".join(known) or "an unknown amount"


LOG_KINDS = ("steps", "agent", "people", "checks", "facts")
LONGEST_LOG_LINE = 500


class LogLine(NamedTuple):
    """A line: which of `LOG_KINDS` it is, the path of its step, a word for its sign, and its text."""

    kind: str
    path: str
    what: str
    text: str


def line_of(event: run_events.Event) -> LogLine:
    """The line of an event. Every event has one."""
    kind, what, text = _words(event)
    return LogLine(kind, str(getattr(event, "path", "")), what, clean(" ".join(text.split()))[:LONGEST_LOG_LINE])


def _words(event: run_events.Event) -> tuple[str, str, str]:
    match event:
        case run_events.Asked() | run_events.Answered() | run_events.RunParked() | run_events.Permitted():
            return ("people", *_of_people(event))
        case run_events.AgentActed():
            return "agent", event.kind, event.text
        case run_events.Guided():
            return "agent", event.kind, f"{event.place}: {event.text}".rstrip(": ")
        case run_events.SessionOpened():
            return "agent", "session", f"{event.agent} begins the conversation {event.session}"
        case run_events.UsageReported():
            return "agent", "usage", usage_words(event.usage)
        case run_events.Checked():
            return "checks", "checked", "; ".join(f"{one.get('name')}: {_held(one)}" for one in event.results)
        case run_events.FactFound():
            return "facts", "fact", f"{event.place}: {event.kind} {event.subject} is {as_text(event.value)}"
        case run_events.TimeSpent():
            return "facts", "time", f"{event.seconds:g} s"
        case _:
            return ("steps", *_of_step(event))


def _of_people(event: Any) -> tuple[str, str]:
    match event:
        case run_events.Asked():
            return "asked", question_title(event)
        case run_events.Answered():
            where = event.surface or event.by
            how, reason = answer_words(event.values)
            return how, ": ".join(filter(None, (f"in {where}" if where else "", reason)))
        case run_events.RunParked():
            return "waits", event.reason
        case _:
            return "permitted", ""


def _of_step(event: Any) -> tuple[str, str]:
    match event:
        case run_events.NodeStarted() | run_events.AttemptStarted():
            return "started", f"try {event.attempt}"
        case run_events.NodeFailed() | run_events.AttemptFailed() | run_events.StepFailed():
            return "failed", f"{event.code}: {event.message}"
        case run_events.PhaseSkipped() | run_events.StepSkipped():
            return "skipped", getattr(event, "reason", "")
        case run_events.ArtifactPublished():
            return "made", str(event.artifact.get("path"))
        case run_events.Delayed():
            return "delayed", event.reason
        case run_events.Noticed():
            return "notice", event.text
        case run_events.SummarySet():
            return "summary", event.text
        case run_events.RunResumed():
            return "resumed", event.mode
        case run_events.RunEnded():
            return event.status, event.error or event.reason or ""
        case _:
            return _WORDS.get(type(event).__name__, "notice"), ""


_WORDS = {
    "RunStarted": "started",
    "PhaseStarted": "started",
    "StepStarted": "started",
    "NodeFinished": "finished",
    "PhaseDone": "done",
    "StepDone": "done",
    "Routed": "routed",
    "Bounded": "limits",
}


def _held(result: dict[str, Any]) -> str:
    held = result.get("held")
    return "not run" if held is None else "holds" if held else f"does not hold ({result.get('detail')})"
