"""What a person is told about a run, in one line. Pure.

The line has the name of the run and the question, or how the run ended. It never has what an agent or a program wrote:
it goes to other programs and to other machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from handrail.runs.rerun import RERUN
from handrail.source.clean import clean
from handrail.source.dataclasses import dataclass

MOST = 120
LONG_RUN = 60.0
"""In seconds: only the end of a run that took longer is told."""
_WORDS = {"completed": "is done", "stopped": "stopped", "failed": "failed", "cancelled": "was cancelled"}


@dataclass(frozen=True)
class Alert:
    """`key` says what it is about: of all alerts of a run with the same key, one is sent per channel."""

    run: str
    key: str
    kind: Literal["need", "end"]
    name: str
    words: str

    @property
    def text(self) -> str:
        """The whole line, of at most `MOST` characters. The name is cut first: the question says what to do."""
        room = MOST - len(self.words) - 2
        name = _cut(self.name, max(room, 20))
        return _cut(f"{name}: {self.words}", MOST)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "run": self.run, "name": self.name, "text": self.text}


def of_question(run: str, name: str, question: str, path: str, form: Mapping[str, Any]) -> Alert:
    """A question is open. `question` is its id, `path` the step that asks, `form` what it asks."""
    title = one_line(str(form.get("title") or "a question"))
    if form.get("formId") == RERUN:  # its title quotes why a check failed
        title = f"may `{one_line(path)}` run again?"
    return Alert(run, f"need.{question}", "need", one_line(name), title)


def of_end(run: str, name: str, resumes: int, status: str, path: str | None) -> Alert:
    """A run has ended, after so many resumes in this attempt. `path` is the step that made it fail."""
    where = f" at {one_line(path)}" if path and status == "failed" else ""
    return Alert(run, f"end.{resumes}", "end", one_line(name), f"{_WORDS.get(status, status)}{where}")


def one_line(text: str) -> str:
    return clean(" ".join(text.split()))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
