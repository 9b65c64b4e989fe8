"""A guided session that is followed: its journal is read once, from where it was read last."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.sessions import machine
from handrail.sessions.store import Session
from handrail.state import journal
from handrail.topics.rows import Message
from handrail.topics.session import SessionTopic


class LiveSession:
    """The topic of one session, kept up to date by `refresh`."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.offset = self.number = 0
        facts = {"agent": session.agent(), "conversation": session.id, "run": session.run()}
        self.topic = SessionTopic(session.plan, facts)
        self.refresh()

    def refresh(self) -> None:
        """Read what was recorded since the last call."""
        scan = journal.read(self.session.journal, self.offset, self.number)
        self.offset += scan.end
        self.number += len(scan.records)
        for record in scan.records:
            for data in record["events"]:
                self.topic.take(record["t"], machine.event_from_json(data))

    def messages(self, epoch: str, base: int, now: float) -> Iterator[Message]:
        """The messages for a receiver that has these rows."""
        rows = self.topic.rows
        yield from rows.messages(f"session:{self.session.id}", base if epoch == rows.epoch else 0, now)
