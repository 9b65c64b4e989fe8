"""Whether a project may run programs: by the record of a person, or by a word for this one call.

The record is one small file for each project, below Handrail's state folder; nothing in a project can change it. Who
may give the word for one call is decided where the call comes in; this module never reads the environment.
Imports little, because hooks and the server of `workflow_step` use it.
"""

from __future__ import annotations

import os

from handrail.base.errors import UntrustedError
from handrail.base.files import make_private, read_regular, refuse_shared, remove, remove_record, replace, upwards
from handrail.base.jsonlite import dumps, loads
from handrail.base.record import Record
from handrail.settings.folders import file_name, shown_path
from handrail.source.plain_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

TRUST_FOLDER = "trust"
RUNS_NOTHING = "its definitions and settings run nothing; runs of other flows and agents need trust, too"


class TrustRecord(Record):
    """A person's word for one folder. With `below` it holds for every project inside of it too."""

    path: str
    at: float
    below: bool


class TrustStore:
    """The folders that a person trusted. `state` is Handrail's state folder."""

    __slots__ = ("folder", "state")

    def __init__(self, state: str) -> None:
        self.state = state
        self.folder = os.path.join(state, TRUST_FOLDER, "projects")

    def find(self, project: str) -> TrustRecord | None:
        """The record that trusts a project: its own, or that of a folder above it which trusts everything below."""
        project = os.path.realpath(project)
        refuse_shared(self.state, self.folder)
        records = filter(None, map(self._read, upwards(project)))
        return next((record for record in records if record.below or record.path == project), None)

    def grant(self, project: str, at: float, *, below: bool = False) -> TrustRecord:
        """Trust a folder. Repeating it changes nothing but the time."""
        project = os.path.realpath(project)
        refuse_shared(self.state, self.folder)
        make_private(self.folder)
        record = {"path": project, "at": at, "below": below}
        replace(self._file(project), dumps(record).encode() + b"\n", durable=True)
        return TrustRecord(project, at, below=below)

    def revoke(self, project: str) -> bool:
        """Take back the word for exactly this folder. False if there was none."""
        refuse_shared(self.state, self.folder)
        return remove_record(self._file(os.path.realpath(project)))

    def all(self) -> list[TrustRecord]:
        """Every record, by path."""
        refuse_shared(self.state, self.folder)
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        records = [_read_record(os.path.join(self.folder, name)) for name in names if name.endswith(".json")]
        return sorted((one for one in records if one is not None), key=lambda one: one.path)

    def _read(self, path: str) -> TrustRecord | None:
        """The record of exactly this path. A file that cannot be read, or that says another path, trusts nothing."""
        record = _read_record(self._file(path))
        return record if record is not None and record.path == path else None

    def _file(self, path: str) -> str:
        return os.path.join(self.folder, f"{file_name(path)}.json")


def _read_record(path: str) -> TrustRecord | None:
    try:
        data: Any = loads(read_regular(path).decode())
        return TrustRecord(str(data["path"]), float(data["at"]), below=data["below"] is True)
    except (OSError, ValueError, KeyError, TypeError):
        return None


MAX_SHOWN_PROGRAM = 80


class ProgramUse(Record):
    """One thing that would be run. `kind` is `program`, `agent` or `node`; `what` is the command line or the name.

    `by` is what runs it: a workflow and its phase, or a flow and its step. `line` is 0 if it is not known.
    """

    kind: str
    what: str
    by: str
    file: str
    line: int = 0

    def words(self, path_text: Callable[[str], str] = str) -> str:
        """The program in one line: "ship/review runs `make test` (review.md:7)"."""
        what = one_line(self.what)
        what = what if len(what) <= MAX_SHOWN_PROGRAM else f"{what[: MAX_SHOWN_PROGRAM - 1]}…"
        verb = {"program": f"runs `{what}`", "agent": f"starts an agent (`{what}`)"}.get(self.kind, f"uses `{what}`")
        place = f"{path_text(self.file)}:{self.line}" if self.line else path_text(self.file)
        return one_line(f"{self.by} {verb}") + (f" ({one_line(place)})" if place else "")

    def to_json(self, path_text: Callable[[str], str] = str) -> dict[str, Any]:
        place = {"file": path_text(self.file), "line": self.line or None}
        return {"kind": self.kind, "what": self.what, "by": self.by, **place}


def unique_programs(programs: Sequence[ProgramUse]) -> list[ProgramUse]:
    """Each program once: a repeat of a flow has the same step in every round."""
    return list(dict.fromkeys(programs))


if TYPE_CHECKING:
    Programs = Callable[[], Sequence[ProgramUse]]

TRUST_VARIABLE = "HANDRAIL_TRUST"
"""The variable with which a person or a script trusts a project for one call. It is not passed on."""


def without_trust_variable(env: Mapping[str, str]) -> Mapping[str, str]:
    """The environment for programs, agents and everything else: the word holds for one call only."""
    return {name: value for name, value in env.items() if name != TRUST_VARIABLE} if TRUST_VARIABLE in env else env


class Trust:
    """Whether one project is trusted. `word` says whether somebody who may do so trusts it for this one call.

    It is asked when it matters, because it may have to look who calls.

    A run that was started by such a call keeps a mark in Handrail's state while it is driven. So the exit checks of its
    agents and a driver in the background are trusted like the call itself, and nothing that they start is. The driver
    holds a lock on the mark: the mark of a driver that was killed counts no more.
    """

    __slots__ = ("project", "state", "store", "word")

    def __init__(self, state: str, project: str) -> None:
        self.state = state
        self.project = os.path.realpath(project)
        self.store = TrustStore(state)
        self.word: Callable[[], bool] = bool

    @property
    def is_for_call(self) -> bool:
        """True if somebody who may do so trusts the project for this one call."""
        return self.word()

    @property
    def record(self) -> TrustRecord | None:
        """The record of a person that trusts the project."""
        return self.store.find(self.project)

    def holds(self, run: str | None = None) -> bool:
        """True if the project may run programs now. `run` is the run on whose behalf, if there is one."""
        return self.is_for_call or self.record is not None or (run is not None and self._is_held(run))

    def refuse(self, programs: Programs, run: str | None = None) -> None:
        """Raise `UntrustedError` if the project is not trusted, and there is something to run."""
        if not self.holds(run) and (uses := programs()):
            raise self.refusal(uses)

    def refusal(self, programs: Sequence[ProgramUse]) -> UntrustedError:
        """Why nothing is run. Says what would be run first."""
        line = programs[0].words(self.shown)
        suffix = f", and {len(programs) - 1} more" if len(programs) > 1 else ""
        return UntrustedError(f"`{self.project}` is not trusted, so nothing was run: {line}{suffix}", self.cure)

    def shown(self, path: str) -> str:
        """A path for messages: relative to the project if it is in it."""
        return shown_path(path, self.project)

    @property
    def cure(self) -> str:
        hint = f"a person runs `handrail trust {self.project}` in a terminal"
        return f"{hint}; for one call of a script, add `--trust` or set {TRUST_VARIABLE}=1"

    def grant(self, at: float, *, below: bool = False) -> TrustRecord:
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
        if self.is_marked(run):
            self.word = lambda: True

    def unmark(self, run: str) -> None:
        remove(self.mark_of(run))

    def is_marked(self, run: str) -> bool:
        """True if a call trusted this run for itself. It counts while the mark is locked, and for the first drive."""
        path = self.mark_of(run)
        refuse_shared(self.state, os.path.dirname(path))
        return os.path.isfile(path)

    def _is_held(self, run: str) -> bool:
        if not self.is_marked(run):
            return False
        from handrail.base.locks import is_locked  # only here, because most calls find no mark

        return is_locked(self.mark_of(run))

    def mark_of(self, run: str) -> str:
        return os.path.join(self.state, TRUST_FOLDER, "runs", file_name(self.project), file_name(run))
