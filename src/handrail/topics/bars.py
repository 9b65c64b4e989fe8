"""When each step worked and when it waited, as bars for a timeline. Pure.

A bar is one stretch of time of one step. `work`: its node ran. `pause`: between two tries. `delay`: it waited for a
point in time, such as the reset of a quota. `asked`: a person was asked. `away`: no process drove the run.
"""

from __future__ import annotations

from typing import Any, Literal

from handrail.topics.window import Window

BARS = "bars"
Kind = Literal["work", "pause", "delay", "asked", "away"]
End = Literal["done", "failed", "interrupted", "skipped", "answered"]


class Bars:
    """The bars of all steps of a run. At most one bar of a step is open, and an open one has no `to`."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._open: dict[str, tuple[str, Kind, float]] = {}
        self._count: dict[str, int] = {}
        self._worked: dict[str, float] = {}

    def open(self, path: str, kind: Kind, at: float, number: int) -> None:
        """Begin a bar; the one that is open ends here. `number` is that of the try."""
        self.close(path, at)
        self._count[path] = self._count.get(path, 0) + 1
        id_ = f"{path}#{self._count[path]}"
        self._open[path] = (id_, kind, at)
        row = {"node": path, "kind": kind, "try": number, "from": at, "to": None, "end": None}
        self.window.put(BARS, id_, path, row)

    def close(self, path: str, at: float, end: End | None = None) -> None:
        """End the open bar of a step, if it has one."""
        found = self._open.pop(path, None)
        if found is None:
            return
        id_, kind, begun = found
        self.window.put(BARS, id_, path, {"to": max(begun, at), "end": end})
        if kind == "work":
            self._worked[path] = self._worked.get(path, 0.0) + max(0.0, at - begun)

    def kind(self, path: str) -> Kind | None:
        """What the open bar of a step is; None if none is open."""
        found = self._open.get(path)
        return None if found is None else found[1]

    def worked(self, path: str) -> float | None:
        """The seconds of all work bars of a step that have ended. None if it never worked."""
        return None if path not in self._worked else round(self._worked[path], 3)

    def away(self, last: float, now: float) -> None:
        """Nobody drove the run from `last` to `now`: what worked was interrupted, and what was asked is still asked."""
        for path, (id_, kind, _) in list(self._open.items()):
            if kind == "asked":
                continue
            number = self._try_of(id_)
            self.close(path, last, "interrupted")
            self.open(path, "away", last, number)
            self.close(path, now)

    def interrupt(self, at: float) -> None:
        """The run ended: whatever was open ends with it."""
        for path in list(self._open):
            self.close(path, at, "interrupted")

    def forget(self, path: str) -> None:
        """Remove all bars of a step that runs again from its beginning."""
        self._open.pop(path, None)
        self._worked.pop(path, None)
        for number in range(1, self._count.pop(path, 0) + 1):
            self.window.drop(BARS, f"{path}#{number}", path)

    def _try_of(self, id_: str) -> int:
        row: dict[str, Any] = self.window.get(BARS, id_) or {}
        return int(row.get("try", 1))
