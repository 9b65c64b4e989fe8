"""What happened in a run or a session as lines: time, sign or kind, place, text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from handrail.contracts import Record
from handrail.flows.plan import FlowPlan
from handrail.runs import machine
from handrail.runs.machine import Event
from handrail.source.clean import clean
from handrail.tui.drawing.words import STYLES, Line, Piece, Times, cell, line, path_words, wrapped
from handrail.view.columns import columns
from handrail.view.story import Story

STEPS, AGENT, PEOPLE, CHECKS, FACTS = KINDS = ("steps", "agent", "people", "checks", "facts")


class Entry(NamedTuple):
    """A line of the log. `kind` is one of `KINDS`."""

    number: int
    at: float
    kind: str
    path: str
    text: str


def kind_of(event: Event) -> str:
    match event:
        case machine.Asked() | machine.Answered():
            return PEOPLE
        case machine.AgentActed() | machine.Guided() | machine.SessionOpened() | machine.UsageReported():
            return AGENT
        case machine.ArtifactPublished() | machine.SummarySet() | machine.Noticed():
            return FACTS
        case _:
            return CHECKS if type(event).__name__ == "Checked" else STEPS


class Teller:
    """Turns events into lines of the log, in order, in parts of any size."""

    def __init__(self, plan: FlowPlan) -> None:
        self.story = Story(plan, lambda _: "")
        self.number = 0

    def entries(self, records: Iterable[Record]) -> Iterator[Entry]:
        for record in records:
            event = record[1]
            path = str(getattr(event, "path", "") or "")
            for at, text in self.story.lines([record]):
                self.number += 1
                yield Entry(self.number, at, kind_of(event), path, clean(text.strip()))


def _without_place(text: str, path: str) -> str:
    """A text without the path or the name of its step at its begin: its place has a column of its own."""
    for name in filter(None, (path, path.rpartition("/")[2])):
        if text == name or text.startswith((f"{name} ", f"{name}:")):
            return text[len(name) :].lstrip(": ")
    return text


def log_lines(
    entries: Iterable[Entry], kinds: Iterable[str], times: Times, width: int, *, wraps: bool = False
) -> Iterator[Line]:
    """The lines of these kinds, and how many there are."""
    shown, count = set(kinds), 0
    place_width = max(12, min(30, width // 4))
    for entry in entries:
        if entry.kind not in shown:
            continue
        count += 1
        sign = entry.text[:1] if entry.text[1:2] == " " and entry.text[:1] in (*STYLES, "!") else ""
        text = (entry.text[2:] if sign else entry.text).strip()
        text = _without_place(text, entry.path) if sign else text
        head = f" {times.of_day(entry.at)}  "
        place = cell(path_words(entry.path), place_width)
        room = max(8, width - columns(head) - 2 - place_width - 1)
        texts = wrapped(text, room) if wraps else [cell(text, room)]
        for number, part in enumerate(texts):
            first = (Piece(head, "dim"), Piece(f"{sign or ' '} ", STYLES.get(sign, "need")), Piece(f"{place} ", "dim"))
            lead = first if not number else (Piece(" " * (columns(head) + 2 + place_width + 1)),)
            yield line(str(entry.number) if not number else None, *lead, Piece(part))
    yield line(None, Piece(f" ── end · {count:,} {'line' if count == 1 else 'lines'}", "dim"))
