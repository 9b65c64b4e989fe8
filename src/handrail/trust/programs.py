"""What a definition would run: a program, an agent, or a node that does more than read and compute. Pure.

`workflows/programs.py` and `flows/programs.py` find it. Whoever asks a person for trust shows it.
"""

from __future__ import annotations

from handrail.source.plain import one_line
from handrail.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

WIDEST = 80


class Program(Record):
    """One thing that would be run. `kind` is `program`, `agent` or `node`; `what` is the command line or the name.

    `by` is what runs it: a workflow and its phase, or a flow and its step. `line` is 0 if it is not known.
    """

    kind: str
    what: str
    by: str
    file: str
    line: int = 0

    def words(self, shown: Callable[[str], str] = str) -> str:
        """The program in one line: "ship/review runs `make test` (review.md:7)"."""
        what = one_line(self.what)
        what = what if len(what) <= WIDEST else f"{what[: WIDEST - 1]}…"
        does = {"program": f"runs `{what}`", "agent": f"starts an agent (`{what}`)"}.get(self.kind, f"uses `{what}`")
        place = f"{shown(self.file)}:{self.line}" if self.line else shown(self.file)
        return one_line(f"{self.by} {does}") + (f" ({one_line(place)})" if place else "")

    def to_json(self, shown: Callable[[str], str] = str) -> dict[str, Any]:
        place = {"file": shown(self.file), "line": self.line or None}
        return {"kind": self.kind, "what": self.what, "by": self.by, **place}


def unique(programs: Sequence[Program]) -> list[Program]:
    """Each program once: a repeat of a flow has the same step in every round."""
    return list(dict.fromkeys(programs))
