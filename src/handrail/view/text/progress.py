"""The rows of a run as lines for a screen: its phases and steps, what runs now and for how long. Pure.

The phases and steps of the flow are known from its plan. Those of nested flows appear when they start. If an agent
is driven through a workflow, its phases are lines below the step: how each went, and its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from handrail.driven.flows.plan import FlowPlan
from handrail.driven.runs.run_events import Event
from handrail.driven.runs.summary import reason_words
from handrail.extensions.contracts import EventRecord
from handrail.source.plain_text import counted, one_line, plain
from handrail.view.rows.rows import Row
from handrail.view.rows.run import RunTopic
from handrail.view.rows.run_sections import NEEDS, VISITS
from handrail.view.rows.run_tree import copies_words, joined_rounds, repeat_words
from handrail.view.text.columns import clipped, duration, sign_of

MOST_VISITS = 8
MOST_QUESTIONS = 3
_RUNNING = ("running", "waiting", "delayed")
_UNFOLDED = (*_RUNNING, "failed", "interrupted", "cancelled")
ProgressPlace = tuple[str, int, Row | None]
"""A line of the screen: the path of a phase or step, its depth, and the visit of a workflow's phase, if it is one."""


class Progress:
    """The progress of a run. Call `take` with every event, including those before a resume, and `lines` at any time."""

    def __init__(self, plan: FlowPlan, past: Iterable[EventRecord] = ()) -> None:
        self.topic = RunTopic(plan, lambda _: None, 1, {}, past)
        self._row = self.topic.tree.get
        self._last_copies: dict[str, Row] = {}

    def take(self, event: Event, now: float) -> None:
        """Apply an event that happened at the time `now`."""
        self.topic.take(now, event)

    def lines(self, now: float, width: int, height: int, *, asks: bool = True) -> list[str]:
        """The lines of the screen: at most `height` lines, none wider than `width` columns.

        Without `asks` there are no open questions: they are asked below.
        """
        places, current = self._places()
        rows = [row for row in self.topic.rows.section(NEEDS) if row["answered"] is None][:MOST_QUESTIONS]
        questions = [f"? {plain(row['path'])}  {one_line(row['title'])} ({row['id']})" for row in rows if asks]
        foot = [*questions, *self._notices(places), self._foot(now)][-max(1, height) :]
        room = max(0, height - len(foot))
        start = max(0, min(current - room // 2, len(places) - room))
        lines = [self._line(*place, now) for place in places[start : start + room]]
        if start and room > 2:
            lines[0] = f"… {start + 1} above"
        if start + room < len(places) and room > 2:
            lines[-1] = f"… {len(places) - start - room + 1} below"
        return [clipped(line, width) for line in [*lines, *foot]]

    def _places(self) -> tuple[list[ProgressPlace], int]:
        """The place of every possible line, and the index of the line that is current."""
        places: list[ProgressPlace] = []
        current = 0
        for path in self.topic.window.children[""]:
            status = self._row(path)["status"]
            if status in _UNFOLDED:
                begin = len(places)
                places.extend(self._unfold(path, 0))
                numbers = range(len(places) - 1, begin, -1)
                current = next((n for n in numbers if self._row(places[n][0])["status"] in _UNFOLDED), begin)
                continue
            if status != "pending" and current == len(places) - 1:
                current = len(places)
            places.append((path, 0, None))
        return places, current

    def _unfold(self, path: str, depth: int) -> Iterator[ProgressPlace]:
        """A running or failed phase or step is shown with everything below it, any other in one line."""
        yield path, depth, None
        if self._row(path)["status"] in _UNFOLDED:
            yield from ((path, depth + 1, visit) for visit in self.topic.window.rows_of(path, VISITS)[-MOST_VISITS:])
            own, below = self.topic.tree.own_steps, self.topic.window.children
            children = below.get(path, ())
            if len(children) == 1 and self._row(path)["kind"] == "round":
                children = below.get(children[0], ())
            rows = (self._row(child) for child in children)
            known_rows = [
                row for row in rows if row["status"] != "pending" or row["kind"] == "round" or row["id"] in own
            ]
            for first, *others in joined_rounds(known_rows):
                self._last_copies[first["id"]] = (others or [first])[-1]
                yield from self._unfold(first["id"], depth + 1)

    def _line(self, path: str, depth: int, visit: Row | None, now: float) -> str:
        if visit is None:
            row = self._row(path)
            status = "running" if row["status"] in _RUNNING else row["status"]
            took = row["worked"] if row["kind"] in ("repeat", "round") and status != "running" else row["took"]
            if took is None and status in ("running", "interrupted"):
                took = self.topic.elapsed(row["id"], now)
            time = "" if took is None else duration(took)
            parts = [f"{sign_of(status)} {self._name(row)}", time, self._remark(row, now)]
        else:
            clock = self.topic.clock
            took = (visit["to"] or (now if clock.is_going else clock.last or now)) - visit["from"]
            parts = [f"{sign_of(visit['status'])} {plain(visit['place'])}", duration(took), one_line(visit["note"])]
        return "  " * depth + "  ".join(part for part in parts if part)

    def _name(self, row: Row) -> str:
        last = self._last_copies.get(row["id"], row)
        if row["kind"] not in ("repeat", "round"):
            return last_id(row["id"])
        count = f"  {repeat_words(row)}" if row["kind"] == "repeat" else ""
        return f"{plain(row['name'])}{count}" if last is row else copies_words(row, last)

    def _remark(self, row: Row, now: float) -> str:
        """The text after the name and the time of a phase or step; may be empty."""
        if row["status"] not in _RUNNING:
            return one_line((row["why"] or {}).get("message", ""))
        if row["id"] in self.topic.state.questions:
            return "waits for an answer"
        text, end = row["doing"] or "", row.get("until")
        if end is not None:
            text = f"waits {duration(end - now)}{text and f': {text}'}" if end > now else ""
        visits = self.topic.window.rows_of(row["id"], VISITS)
        if visits and text.startswith(visits[-1]["place"]):
            text = ""  # the line of the visit says it
        return one_line(text) or (attempt_words(self.topic, row["id"]) if row["try"] > 1 else "")

    def _notices(self, places: list[ProgressPlace]) -> list[str]:
        """The last notice about a step that runs, and the last one about the run."""
        rows = [self._row(path) for path, _, visit in places if visit is None]
        rows_with_notes = [row for row in rows if row.get("note") and row["status"] in _RUNNING]
        newest = max(rows_with_notes, key=lambda row: row.get("v", 0), default=None)
        step_notices = [] if newest is None else [f"! {plain(newest['id'])}  {one_line(newest['note'])}"]
        note = self.topic.rows.head["note"]
        return [*step_notices, *([f"! {one_line(note)}"] if note else [])]

    def _foot(self, now: float) -> str:
        topic, state = self.topic, self.topic.state
        head = topic.rows.head
        parts = [f"{head['done']}/{counted(head['total'], 'step')}"]
        if topic.clock.last is not None:
            parts.append(duration(topic.clock.at(now)))
        names = (("inputTokens", "{:,} in"), ("outputTokens", "{:,} out"), ("usd", "${:.2f}"))
        parts += [words.format(head["usage"][name]) for name, words in names if head["usage"].get(name) is not None]
        if state.status != "running":
            parts.insert(0, state.status)
        reason = state.error or reason_words(state.reason or "") if state.status not in ("running", "waiting") else None
        if any(step.status == "failed" and step.error == reason for step in state.steps.values()):
            reason = None  # the line of the step says it
        return ", ".join(parts) + (f": {one_line(reason)}" if reason else "")


def attempt_words(topic: RunTopic, path: str) -> str:
    """`attempt 2 of 3, after: ...`."""
    step, plan_step = topic.state.steps[path], topic.tree.steps.get(path)
    limit_words = f" of {plan_step.retry.attempts}" if plan_step and plan_step.retry.attempts >= step.attempts else ""
    error_words = f", after: {one_line(step.error)}" if step.error else ""
    return f"attempt {step.attempts}{limit_words}{error_words}"


def last_id(path: str) -> str:
    """The id at the end of a path."""
    return plain(path.rpartition("/")[2].replace("%2F", "/").replace("%25", "%"))
