"""A guided session that is followed: its journal is read once, from where it was read last.

Beside the journal are the trail of denied calls and marks. They have no place in the journal's numbers, so the
epoch of a session names this process, too: whoever was connected to another one gets all rows again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from handrail.app import App
from handrail.base import files, journal
from handrail.base.errors import NotFound, RefusedError
from handrail.guided.sessions import hook_files, machine, words
from handrail.guided.sessions.denials import Denial, read_trail, trail_size
from handrail.guided.sessions.store import Session
from handrail.settings.folders import random_token
from handrail.source.output_text import clean
from handrail.view.rows.rows import RowMessage
from handrail.view.rows.session import SessionTopic

Hide = Callable[[str], str]


class LiveSession:
    """The topic of one session, kept up to date by `refresh`. `hide` takes secrets out of a text."""

    def __init__(self, session: Session, hide: Hide = str) -> None:
        self.session = session
        self.hide = hide
        self._process = random_token()
        self._stamp: object = None
        self._open()

    def _open(self) -> None:
        self.offset = self.number = self.trail_offset = 0
        about = self.session.about()
        facts = {"agent": about.agent, "conversation": self.session.id, "run": about.run}
        self.topic = SessionTopic(self.session.plan, facts, f".{self._process}")
        self._read_news()

    def is_stale(self) -> bool:
        """True if a look may find something. Marks are files that are made, replaced or removed in the folder."""
        return self._files_stamp() != self._stamp

    def _files_stamp(self) -> tuple[int, int, int]:
        folder = self.session.folder
        return files.size_and_time(folder)[1], files.size(self.session.journal), trail_size(folder)

    def refresh(self) -> None:
        """Read what was recorded since the last call. Raises `NotFound` if the session is gone."""
        self._stamp = self._files_stamp()
        folder = self.session.folder
        if not os.path.isdir(folder):
            hint = "`handrail sessions` lists those that are there"
            raise NotFound(f"session `{self.session.id}` was removed", hint)
        # The older half of the trail was dropped, or somebody cut or replaced the journal.
        if trail_size(folder) < self.trail_offset or not journal.ends_at(self.session.journal, self.offset):
            self._process = random_token()
            self._open()
            return
        self._read_news()

    def _read_news(self) -> None:
        """Take new records of the journal and new denied calls in the order of their times."""
        folder = self.session.folder
        scan = journal.read(self.session.journal, self.offset, self.number)
        self.offset += scan.end
        self.number += len(scan.records)
        news: list[tuple[float, Any]] = [(record["t"], record) for record in scan.records]
        if trail_size(folder) != self.trail_offset:
            denials, self.trail_offset = read_trail(folder, self.trail_offset)
            news += [(denial.at, denial) for denial in denials]
        for at, one in sorted(news, key=lambda pair: pair[0]):
            if isinstance(one, Denial):
                self.topic.deny(one._replace(excerpt=self.hide(one.excerpt), reason=self.hide(one.reason)))
                continue
            for data in one["events"]:
                self.topic.take(at, machine.event_from_json(data), one.get("by"))
        is_turn = hook_files.has_mark(folder, hook_files.TURN) and not hook_files.has_mark(folder, hook_files.PAUSED)
        let_go = clean(hook_files.mark_text(folder, hook_files.LET_GO)) or None
        self.topic.mark({"turn": "agent" if is_turn else "person", "letGo": let_go})

    def messages(self, epoch: str, base: int, now: float) -> Iterator[RowMessage]:
        return self.topic.rows.messages(f"session:{self.session.id}", base, now, epoch)


def text_of_phase(app: App, id_: str, order: int | None = None) -> dict[str, Any]:
    """The text of a phase: for the current one what its agent is told now, for another one its instructions.

    `instructions` are those of the phase alone, for people.

    Raises `HandrailError` if there is no such session or phase.
    """
    session = app.sessions.choose(id_)
    state = session.read().state
    plan = session.pinned_plan(state)
    if plan is None:
        raise RefusedError(f"no workflow was started in session `{id_}`")
    number = state.at if order is None else order
    if not 0 <= number < len(plan.stops):
        raise RefusedError(f"the workflow has no phase {number}", f"its phases: 0 to {len(plan.stops) - 1}")
    stop, is_told = plan.stops[number], state.is_active and number == state.at
    text = words.context_text(plan, state) if is_told else stop.instructions
    instructions = words.variables(plan, state)["phaseInstructions"] if number == state.at else text
    texts = {name: clean(app.secrets.mask(one)) for name, one in (("text", text), ("instructions", instructions))}
    return {"stop": number, "name": clean(stop.name), "isTold": is_told, **texts}
