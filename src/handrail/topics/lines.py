"""The events of a run as lines of a log, each with a kind that people can choose. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.runs import machine
from handrail.runs.glance import answer_words
from handrail.source.clean import clean
from handrail.source.values import as_text

_USED = {"inputTokens": "{:,} tokens in", "outputTokens": "{:,} out", "usd": "${:g}"}
KINDS = ("steps", "agent", "people", "checks", "facts")
LONGEST = 500


class Line(NamedTuple):
    """A line: which of `KINDS` it is, the path of its step, a word for its sign, and its text."""

    kind: str
    path: str
    what: str
    text: str


def line_of(event: machine.Event) -> Line:
    """The line of an event. Every event has one."""
    kind, what, text = _words(event)
    return Line(kind, str(getattr(event, "path", "")), what, clean(" ".join(text.split()))[:LONGEST])


def _words(event: machine.Event) -> tuple[str, str, str]:
    match event:
        case machine.Asked() | machine.Answered() | machine.RunParked() | machine.Permitted():
            return ("people", *_of_people(event))
        case machine.AgentActed():
            return "agent", event.kind, event.text
        case machine.Guided():
            return "agent", event.kind, f"{event.place}: {event.text}".rstrip(": ")
        case machine.SessionOpened():
            return "agent", "session", f"{event.agent} begins the conversation {event.session}"
        case machine.UsageReported():
            known = ((words, event.usage.get(name)) for name, words in _USED.items())
            return "agent", "usage", ", ".join(words.format(value) for words, value in known if value is not None)
        case machine.Checked():
            return "checks", "checked", "; ".join(f"{one.get('name')}: {_held(one)}" for one in event.results)
        case machine.FactFound():
            return "facts", "fact", f"{event.place}: {event.kind} {event.subject} is {as_text(event.value)}"
        case machine.TimeSpent():
            return "facts", "time", f"{event.seconds:g} s"
        case _:
            return ("steps", *_of_step(event))


def _of_people(event: Any) -> tuple[str, str]:
    match event:
        case machine.Asked():
            return "asked", str(event.question.get("title") or "a question")
        case machine.Answered():
            where = event.surface or event.by
            how, reason = answer_words(event.values)
            return how, ": ".join(filter(None, (f"in {where}" if where else "", reason)))
        case machine.RunParked():
            return "waits", event.reason
        case _:
            return "permitted", ""


def _of_step(event: Any) -> tuple[str, str]:
    match event:
        case machine.NodeStarted() | machine.AttemptStarted():
            return "started", f"try {event.attempt}"
        case machine.NodeFailed() | machine.AttemptFailed() | machine.StepFailed():
            return "failed", f"{event.code}: {event.message}"
        case machine.PhaseSkipped() | machine.StepSkipped():
            return "skipped", getattr(event, "reason", "")
        case machine.ArtifactPublished():
            return "made", str(event.artifact.get("path"))
        case machine.Delayed():
            return "delayed", event.reason
        case machine.Noticed():
            return "notice", event.text
        case machine.SummarySet():
            return "summary", event.text
        case machine.RunResumed():
            return "resumed", event.mode
        case machine.RunEnded():
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
