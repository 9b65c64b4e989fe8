"""What an agent may do in a step, by the step's permissions: the answers to its requests.

An agent says of each tool call what kind it is, and which paths it is about. A kind that is missing counts as unknown,
and a step that may only read refuses what it does not know.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from handrail.source.dataclasses import dataclass
from handrail.state.files import is_below, real_inside

READS = ("read", "search", "think")
CHANGES = ("edit", "delete", "move")
ONLY_READ = "this step may only read"
OUTSIDE = "this path is outside of the project's folder"
GUARDED = "an agent may not change this path"


@dataclass(frozen=True)
class Policy:
    """`permissions` are those of the step: `read`, `work` or `full`. `guarded` are paths that no agent may change."""

    permissions: str
    project: str
    guarded: tuple[str, ...] = ()

    @property
    def only_reads(self) -> bool:
        return self.permissions == "read"

    def may_go_unasked(self, kind: str | None) -> bool:
        """True if the agent may do this without a request: it can be seen only afterwards."""
        return not self.only_reads or kind not in (*CHANGES, "execute")

    def refusal(self, kind: str | None, paths: Iterable[str]) -> str | None:
        """Why a tool call is refused; None if it is allowed."""
        if self.permissions == "full":
            return None
        if self.only_reads and kind not in READS:
            return ONLY_READ
        for path in paths:
            why = self.refused_write(path) if kind in CHANGES else self._outside(path)
            if why is not None:
                return f"{why}: `{path}`"
        return None

    def _outside(self, path: str) -> str | None:
        return None if self.permissions == "full" or real_inside(self.project, path) is not None else OUTSIDE

    def refused_write(self, path: str) -> str | None:
        """Why a file may not be written; None if it may. Guarded paths are guarded in every step."""
        if self.only_reads:
            return ONLY_READ
        real = os.path.realpath(os.path.join(self.project, path))
        if any(real == one or is_below(real, one) for one in map(os.path.realpath, self.guarded)):
            return GUARDED
        return self._outside(path)


def chosen_option(options: Iterable[tuple[str, str]], *, is_allowed: bool) -> str | None:
    """The option, of (id, kind) pairs, that answers a request; None if there is none.

    An answer for this one call is preferred: the next step may have other permissions.
    """
    kinds = ("allow_once", "allow_always") if is_allowed else ("reject_once", "reject_always")
    found = {kind: id_ for id_, kind in reversed(list(options))}
    return next((found[kind] for kind in kinds if kind in found), None)
