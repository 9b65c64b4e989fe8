"""Whether a project may run programs: by the record of a person, or by a word for this one call.

Standard library only, because the server of `workflow_step` uses it. Who may give a word for one call is decided where
the call comes in; this module never reads the environment.
"""

from __future__ import annotations

import os

from handrail.errors import UntrustedError
from handrail.project import file_name
from handrail.state.files import make_private, replace
from handrail.state.private import refuse_shared
from handrail.trust.store import FOLDER, TrustStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from handrail.trust.programs import Program
    from handrail.trust.store import Trusted

    Programs = Callable[[], Sequence[Program]]

WORD = "HANDRAIL_TRUST"
"""The variable with which a person or a script trusts a project for one call. It is not passed on."""


def without_word(env: Mapping[str, str]) -> Mapping[str, str]:
    """The environment for programs, agents and everything else: the word holds for one call only."""
    return {name: value for name, value in env.items() if name != WORD} if WORD in env else env


class Trust:
    """Whether one project is trusted. `is_for_call`: somebody who may do so trusts it for this one call.

    A run that was started by such a call keeps a mark in Handrail's state while it is driven. So the exit checks of its
    agents and a driver in the background are trusted like the call itself, and nothing that they start is. The driver
    holds a lock on the mark: the mark of a driver that was killed counts no more.
    """

    __slots__ = ("is_for_call", "project", "state", "store")

    def __init__(self, state: str, project: str) -> None:
        self.state = state
        self.project = os.path.realpath(project)
        self.store = TrustStore(state)
        self.is_for_call = False

    @property
    def record(self) -> Trusted | None:
        """The record of a person that trusts the project."""
        return self.store.find(self.project)

    def holds(self, run: str | None = None) -> bool:
        """True if the project may run programs now. `run` is the run on whose behalf, if there is one."""
        return self.is_for_call or self.record is not None or (run is not None and self._is_held(run))

    def refuse(self, programs: Programs, run: str | None = None) -> None:
        """Raise `UntrustedError` if the project is not trusted, and there is something to run."""
        if not self.holds(run) and (found := programs()):
            raise self.refusal(found)

    def refusal(self, programs: Sequence[Program]) -> UntrustedError:
        """Why nothing is run. Says what would be run first."""
        first = programs[0].words(self.shown)
        more = f", and {len(programs) - 1} more" if len(programs) > 1 else ""
        return UntrustedError(f"`{self.project}` is not trusted, so nothing was run: {first}{more}", self.cure)

    def shown(self, path: str) -> str:
        """A path for messages: relative to the project if it is in it."""
        base = f"{self.project}/"
        return path[len(base) :] if path.startswith(base) else path

    @property
    def cure(self) -> str:
        told = f"a person runs `handrail trust {self.project}` in a terminal"
        return f"{told}; for one call of a script, add `--trust` or set {WORD}=1"

    def grant(self, at: float, *, below: bool = False) -> Trusted:
        return self.store.grant(self.project, at, below=below)

    def mark(self, run: str) -> None:
        """Trust one run while it is driven, if this call is trusted and the project itself is not."""
        if self.is_for_call and self.record is None:
            path = self.mark_of(run)
            refuse_shared(self.state, os.path.dirname(path))
            make_private(os.path.dirname(path))
            replace(path, b"", durable=False)

    def take_mark(self, run: str) -> None:
        """Trust this call too: it is the first that drives a run, and the call that began the run left a mark."""
        self.is_for_call = self.is_for_call or self.is_marked(run)

    def unmark(self, run: str) -> None:
        try:  # noqa: SIM105 - `contextlib` takes longer to import than this module
            os.unlink(self.mark_of(run))
        except OSError:
            pass

    def is_marked(self, run: str) -> bool:
        """True if a call trusted this run for itself. It counts while the mark is locked, and for the first drive."""
        path = self.mark_of(run)
        refuse_shared(self.state, os.path.dirname(path))
        return os.path.isfile(path)

    def _is_held(self, run: str) -> bool:
        if not self.is_marked(run):
            return False
        from handrail.state.locks import is_locked  # only here, because most calls find no mark

        return is_locked(self.mark_of(run))

    def mark_of(self, run: str) -> str:
        return os.path.join(self.state, FOLDER, "runs", file_name(self.project), file_name(run))
