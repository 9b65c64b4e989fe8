"""The workflow that an agent is driven through, as lines below its step: each phase, how it went, its time. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.contracts import GuideNews
from handrail.runs.machine import Guided
from handrail.source.dataclasses import dataclass, field
from handrail.source.plain import one_line, plain
from handrail.source.values import shown
from handrail.view.columns import SIGNS

MOST = 8
SHORT = 160
LONG = 300
_SIGNS_OF_KINDS = {"entered": SIGNS["running"], "finished": SIGNS["done"], "check-held": SIGNS["done"]}


@dataclass
class Visit:
    """One visit of a phase. `sign` is a key of `columns.SIGNS`, `remark` what happened in it last."""

    place: str
    began: float
    sign: str = "running"
    ended: float | None = None
    remark: str = ""


@dataclass
class Walk:
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
        return self.visits[-MOST:]


def guided_lines(event: Guided | GuideNews) -> Iterator[str]:
    """What happened, with its sign. The summary of the phase before has its own line."""
    if event.kind in ("entered", "finished") and event.text:
        yield f"  summary: {shown(one_line(event.text), LONG)}"
    yield f"{_SIGNS_OF_KINDS.get(event.kind, '!')} {plain(guided_words(event))}"


def guided_words(event: Guided | GuideNews, *, short: bool = False) -> str:
    """What happened, in one line. `short` is for a place where the phase is named already."""
    text, phase = shown(one_line(event.text), SHORT), event.phase
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
