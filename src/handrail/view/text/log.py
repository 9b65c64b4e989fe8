"""The events of a run as lines: of a log, of plain progress, and for a search by kind. Pure.

`Story` has lines for the events that people care about, below their phase and step. Names are short as long as the
lines above show where they belong; else the whole path is shown. `line_of` gives a line for every event, with a kind
that people can choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from handrail.driven.flows.plan import FlowPlan, path_segment, round_numbers
from handrail.driven.runs import run_events
from handrail.driven.runs.run_events import Event, Guided
from handrail.driven.runs.state import CANCELLED
from handrail.driven.runs.summary import answer_words, reason_words
from handrail.extensions.contracts import EventRecord, GuideNews
from handrail.source.output_text import clean
from handrail.source.plain_text import caller_words, joined_lines, one_line, plain
from handrail.source.values import as_text, shown
from handrail.view.rows.run import RunTopic
from handrail.view.rows.run_sections import act_words, guided_words, question_title
from handrail.view.text.columns import DONE, FAILED, RUNNING, SKIPPED, STOPPED, duration, sign_of
from handrail.view.text.progress import attempt_words, last_id

LONGEST_SUMMARY = 300
KEPT = "kept from the attempt before"
_UNMET, _ALL_UNMET = "its condition does not hold", "their conditions do not hold"
_BELOW = {"asked": "? asks: {}", "made": "made {}", "session": "{}", "usage": "used {}", "notice": "! {}"}
"""How a line that is below a step begins, by what it says."""
_UNWATCHED = (run_events.Answered, run_events.ArtifactPublished, run_events.SessionOpened, run_events.UsageReported)
"""Events that plain progress leaves out, besides those of the whole run."""
_Line = tuple[str, str]
"""The path that a line is about, and its text. A path that ends with `/`: the line is about something below it."""


class Story:
    """Tells one attempt of a run. Call `lines` with all events, in order, in parts of any size.

    `clock` formats a time of day. In one part, a step that only starts and ends is one line, and so are phases that are
    skipped for the same reason, and a phase that a restart kept.
    """

    def __init__(self, plan: FlowPlan, clock: Callable[[float], str], past: Sequence[EventRecord] = ()) -> None:
        self.clock = clock
        self.topic = RunTopic(plan, lambda _: None, 1, {}, past)
        self.rounds: dict[str, str] = {}
        for phase in plan.phases:
            numbers = round_numbers(phase)
            names = [str(number) if len(numbers) == 1 else f"{name} = {number}" for name, number in numbers.items()]
            self.rounds[path_segment(phase.id)] = f"round {', '.join(names)}" if names else ""
        self._place = ""
        self._failures: set[str] = set()
        self._held: list[tuple[float, str, str]] = []

    def lines(self, records: Sequence[EventRecord]) -> Iterator[tuple[float, str]]:
        """The lines for these events, each with its time. There is none for an event that people need not see.

        If a step failed, what it printed is behind a line break in its line.
        """
        lines: list[tuple[float, str, str]] = []
        copied_count = run_events.number_of_copied(records)
        for number, (moment, event) in enumerate(records):
            self.topic.apply(moment, event)
            at = event.time if isinstance(event, Guided) else moment
            new = self._lines(event, moment) if number >= copied_count else _copied_lines(event)
            _insert(lines, [(at, *line) for line in new])
        for at, path, text in _join_lines(lines):
            head, *output = self._with_place(path, text).split("\n")
            yield at, "\n".join([f"{self.clock(at)}  {head}", *output])

    def news(self, event: Event, now: float) -> list[str]:
        """The lines that a person who watches the run sees: with whole paths, without what agents usually do."""
        self.topic.apply(now, event)
        is_usual = isinstance(event, run_events.AgentActed) and event.is_usual
        if is_usual or isinstance(event, _UNWATCHED):
            return []
        if isinstance(event, Guided):
            return [f"{'  ' * (event.path.count('/') + 1)}{guided_sign(event)} {plain(guided_words(event))}"]
        new = [(now, path, text) for path, text in self._lines(event, now) if path]
        is_end = isinstance(event, run_events.RunEnded | run_events.RunParked)
        self._held += new
        if not is_end and all(_is_skipped(text) for _, _, text in self._held):
            return []  # of a row of skipped phases, one line is printed
        lines, self._held = _join_lines(self._held), []
        return [line for _, path, text in lines for line in _line_with_path(path.rstrip("/"), text).split("\n")]

    def _with_place(self, path: str, text: str) -> str:
        """The text, indented below its path. If the lines above are about another place, the whole path is shown."""
        if not path:
            self._place = ""
            return text
        parent, _, name = path.rpartition("/")
        near = f"{self._place}/".startswith(f"{parent}/") if parent else True
        self._place, indent = path.rstrip("/"), "  " * path.count("/")
        if not name:
            return f"{indent}{text}" if near else f"{indent}{plain(parent)}: {text}"
        return f"{indent}{text[0]} {last_id(path) if near else plain(path)}{text[1:]}"

    def _lines(self, event: Event, now: float) -> Iterator[_Line]:
        match event:
            case run_events.PhaseStarted():
                yield event.path, _line_text(RUNNING.char, self.rounds.get(event.path, ""))
            case run_events.StepStarted():
                yield event.path, RUNNING.char
            case run_events.PhaseDone() | run_events.StepDone():
                note = "ends the flow here" if isinstance(event, run_events.StepDone) and event.stop else ""
                yield event.path, _line_text(DONE.char, self._took(event.path), note)
            case run_events.PhaseSkipped():
                yield event.path, _line_text(SKIPPED.char, f"skipped: {event.reason}")
            case run_events.StepSkipped() if event.path.rpartition("/")[0] in self.topic.state.phases:
                yield event.path, _line_text(SKIPPED.char, f"skipped: {_UNMET}")
            case run_events.StepFailed():
                self._failures.add(event.message)
                reason = event.message.partition("\n")[0] if event.output else event.message
                sign = sign_of("cancelled" if event.code == CANCELLED else "failed")
                line = _line_text(sign, self._took(event.path), reason)
                yield event.path, "\n".join([line, *output_lines(event.output)])
            case run_events.NodeStarted() | run_events.AttemptStarted() if event.attempt > 1:
                yield f"{event.path}/", attempt_words(self.topic, event.path)
            case run_events.RunStarted() | run_events.RunResumed() | run_events.RunParked() | run_events.RunEnded():
                yield "", self._run_words(event, now)
            case _:
                yield from self._below_step(event, now)

    def _below_step(self, event: Event, now: float) -> Iterator[_Line]:
        """Lines below a step: questions, files, and what its agent did."""
        line = line_of(event, None)
        match event:
            case run_events.Answered():
                yield f"{event.path}/", f"answered{_by(event)}: {given_words(event.values)}"
            case run_events.AgentActed():
                yield f"{event.path}/", ("" if event.is_usual else "! ") + one_line(act_words(event))
            case run_events.Delayed() if event.until > now:
                yield f"{event.path}/", f"! waits {duration(event.until - now)}: {one_line(event.reason)}"
            case Guided():
                yield from ((f"{event.path}/", text) for text in guided_lines(event))
            case run_events.ParamsChanged():
                yield "", f"other params: {given_words(event.params)}"
            case run_events.SummarySet():
                yield "", f"summary: {shown(one_line(event.text), LONGEST_SUMMARY)}"
            case _ if line.word in _BELOW:
                yield f"{line.path}/", _BELOW[line.word].format(line.text)

    def _run_words(
        self,
        event: run_events.RunStarted | run_events.RunResumed | run_events.RunParked | run_events.RunEnded,
        now: float,
    ) -> str:
        took = duration(self.topic.clock.at(now))
        match event:
            case run_events.RunStarted():
                words = f", until phase {plain(event.until)}" if event.until else ""
                return f"started{_by(event)}{words}{earlier_words(event.earlier)}"
            case run_events.RunResumed():
                note = f"; these phases run again: {', '.join(map(plain, event.rewound))}" if event.rewound else ""
                return f"{'continued' if event.mode == 'continue' else 'resumed'}{_by(event)}{note}"
            case run_events.RunParked():
                return f"waits for a person, after {took}"
        reason = event.error or reason_words(event.reason or "")
        words = f": {one_line(reason)}" if reason and reason not in self._failures else ""
        return f"{sign_of(event.status)} {event.status} after {took}{words}"

    def _took(self, path: str) -> str:
        took = self.topic.tree.get(path)["took"]
        return "" if took is None else duration(took)


def _by(event: run_events.RunStarted | run_events.RunResumed | run_events.Answered) -> str:
    return f" by {words}" if (words := caller_words(event.by)) else ""


def output_lines(output: str | None) -> list[str]:
    """What a failed step printed, as lines for a screen, below its own line."""
    return [f"    {line}".rstrip() for line in clean(output).split("\n")] if output else []


def _line_with_path(path: str, text: str) -> str:
    """A line with the whole path behind its sign."""
    sign, rest = (text[0], text[1:]) if text[1:2] in ("", " ") else (RUNNING.char, text)
    words = f"{sign} {plain(path)}  {rest.strip()}" if path else f"{sign} {rest.strip()}"
    return "  " * path.count("/") + words.rstrip()


def _insert(lines: list[tuple[float, str, str]], new: list[tuple[float, str, str]]) -> None:
    """Add the lines of an event. What a workflow did is known later than it happened, so it may move up in its step."""
    place = len(lines)
    while new and place and lines[place - 1][1] == new[0][1] and lines[place - 1][0] > new[0][0]:
        place -= 1
    lines[place:place] = new


def _copied_lines(event: Event) -> Iterator[_Line]:
    if isinstance(event, run_events.RunStarted):
        yield "", f"started again{_by(event)}"
    elif isinstance(event, run_events.PhaseDone | run_events.PhaseSkipped):
        yield event.path, _line_text((DONE if isinstance(event, run_events.PhaseDone) else SKIPPED).char, KEPT)


def _join_lines(lines: list[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """The lines, with those of the same thing joined: a start and its end, and a row of skipped or kept phases."""
    joined: list[tuple[float, str, str]] = []
    for at, path, text in lines:
        last = joined[-1] if joined else (0.0, "", "")
        plural_text = text.replace(_UNMET, _ALL_UNMET)
        parent, _, name = path.rpartition("/")
        is_near = name and parent == last[1].rpartition("/")[0] and plural_text == last[2].replace(_UNMET, _ALL_UNMET)
        is_end = last[1:] == (path, RUNNING.char) and text[0] in (DONE.char, FAILED.char, STOPPED.char, SKIPPED.char)
        if path and is_end:
            joined[-1] = (at, path, text)
        elif is_near and (text.endswith(KEPT) or _is_skipped(text)):
            joined[-1] = (last[0], f"{last[1]}, {name}", plural_text)
        else:
            joined.append((at, path, text))
    return [(at, _folded(path), text) for at, path, text in joined]


def _is_skipped(text: str) -> bool:
    return text.startswith(f"{SKIPPED.char}  skipped")


def _folded(path: str) -> str:
    """`a/fix-2 to fix-9, last` for `a/fix-2, fix-3, ..., last`: names that differ only in their last number."""
    stems: dict[str, list[str]] = {}
    parent, slash, names = path.rpartition("/")
    for name in names.split(", "):
        stems.setdefault(name.rstrip("0123456789"), []).append(name)
    folded = [" to ".join([row[0], row[-1]]) if len(row) > 2 else ", ".join(row) for row in stems.values()]
    return parent + slash + ", ".join(folded)


def _line_text(sign: str, *parts: str) -> str:
    return "  ".join([sign, *(one_line(part) for part in parts if part)])


def guided_lines(event: Guided | GuideNews) -> Iterator[str]:
    """What happened in a workflow, with its sign. The summary of the phase before has its own line."""
    if event.kind in ("entered", "finished") and event.text:
        yield f"  summary: {shown(one_line(event.text), LONGEST_SUMMARY)}"
    yield f"{guided_sign(event)} {plain(guided_words(event))}"


def guided_sign(event: Guided | GuideNews) -> str:
    return {"entered": RUNNING.char, "finished": DONE.char, "check-held": DONE.char}.get(event.kind, "!")


def given_words(values: Mapping[str, Any]) -> str:
    """Parameters or answers in one line: `version=1.2 deep=true`."""
    return one_line(" ".join(f"{name}={as_text(value)}" for name, value in values.items() if value is not None))


LOG_KINDS = ("steps", "agent", "people", "checks", "facts")
LONGEST_LOG_LINE = 500


class LogLine(NamedTuple):
    """A line: which of `LOG_KINDS` it is, the path of its step, a word for its sign, and its text."""

    kind: str
    path: str
    word: str
    text: str


def line_of(event: Event, longest: int | None = LONGEST_LOG_LINE) -> LogLine:
    """The line of an event. Every event has one."""
    kind, word, text = _LINES.get(type(event), lambda _: ("steps", "notice", ""))(event)
    return LogLine(kind, str(getattr(event, "path", "")), word, clean(joined_lines(text))[:longest])


def _answer(event: run_events.Answered) -> tuple[str, str, str]:
    surface = event.surface or event.by
    place = "by default, at its deadline" if event.by == run_events.BY_DEADLINE else f"in {surface}" if surface else ""
    verdict, reason = answer_words(event.values)
    return "people", verdict, ": ".join(filter(None, (place, reason)))


def _fact(event: run_events.FactFound) -> tuple[str, str, str]:
    return "facts", "fact", f"{event.place}: {event.kind} {event.subject} is {as_text(event.value)}"


def _check_words(result: Mapping[str, Any]) -> str:
    is_held = result.get("held")
    words = "not run" if is_held is None else "holds" if is_held else f"does not hold ({result.get('detail')})"
    return f"{result.get('name')}: {words}"


def earlier_words(earlier: Mapping[str, Any]) -> str:
    """`; the attempts before took 2s and used 100 in, 20 out, $0.40`, of `RunStarted.earlier`; empty without one."""
    if not earlier:
        return ""
    used = f" and used {usage_words(earlier['usage'])}" if earlier["usage"] else ""
    return f"; the attempts before took {duration(earlier['seconds'])}{used}"


def usage_words(usage: Mapping[str, Any]) -> str:
    """`1,200 tokens in, 30 out, $0.25`; numbers that are not known are left out."""
    words = (("inputTokens", "{:,} tokens in"), ("outputTokens", "{:,} out"), ("usd", "${:.2f}"))
    parts = [text.format(usage[name]) for name, text in words if isinstance(usage.get(name), int | float)]
    return ", ".join(parts) or "an unknown amount"


def _failure(event: Any) -> tuple[str, str, str]:
    if event.code == CANCELLED:
        return "steps", "cancelled", event.message
    return "steps", "failed", f"{event.code}: {event.message}"


def _event_word(word: str) -> Callable[[Any], tuple[str, str, str]]:
    return lambda event: ("steps", word, getattr(event, "reason", ""))


_LINES: dict[type[Event], Callable[[Any], tuple[str, str, str]]] = {
    run_events.Asked: lambda event: ("people", "asked", one_line(question_title(event.question))),
    run_events.Answered: _answer,
    run_events.RunParked: lambda event: ("people", "waits", event.reason),
    run_events.ParamsChanged: lambda event: ("people", "params", given_words(event.params)),
    run_events.Permitted: lambda _: ("people", "permitted", ""),
    run_events.AgentActed: lambda event: ("agent", event.kind, event.text),
    Guided: lambda event: ("agent", event.kind, f"{event.place}: {event.text}".rstrip(": ")),
    run_events.SessionOpened: lambda event: (
        "agent",
        "session",
        f"{event.agent} begins the conversation {event.session}",
    ),
    run_events.UsageReported: lambda event: ("agent", "usage", usage_words(event.usage)),
    run_events.Checked: lambda event: ("checks", "checked", "; ".join(map(_check_words, event.results))),
    run_events.FactFound: _fact,
    run_events.TimeSpent: lambda event: ("facts", "time", f"{event.seconds:g} s"),
    run_events.NodeStarted: lambda event: ("steps", "started", f"try {event.attempt}"),
    run_events.AttemptStarted: lambda event: ("steps", "started", f"try {event.attempt}"),
    **dict.fromkeys((run_events.NodeFailed, run_events.AttemptFailed, run_events.StepFailed), _failure),
    run_events.ArtifactPublished: lambda event: ("steps", "made", str(event.artifact.get("path"))),
    run_events.Noticed: lambda event: ("steps", "notice", event.text),
    run_events.SummarySet: lambda event: ("steps", "summary", event.text),
    run_events.RunResumed: lambda event: ("steps", "resumed", event.mode),
    run_events.RunEnded: lambda event: ("steps", event.status, event.error or event.reason or ""),
    **dict.fromkeys((run_events.PhaseSkipped, run_events.StepSkipped), _event_word("skipped")),
    **dict.fromkeys((run_events.RunStarted, run_events.PhaseStarted, run_events.StepStarted), _event_word("started")),
    **dict.fromkeys((run_events.PhaseDone, run_events.StepDone), _event_word("done")),
    run_events.NodeFinished: _event_word("finished"),
    run_events.Delayed: _event_word("delayed"),
    run_events.Routed: _event_word("routed"),
    run_events.Bounded: _event_word("limits"),
}
