"""One session: a journal, the plans it was pinned to, and the card that hooks read.

Every command goes through `Session.do`: lock, read, decide, record, card. Only the journal is believed, and nothing is
answered before it is in the journal. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from handrail.errors import StateError
from handrail.sessions import card as cards
from handrail.sessions import links, machine, words
from handrail.sessions.links import SessionRef
from handrail.sessions.machine import Command, Decision, State
from handrail.state import files, journal, jsonlite, locks
from handrail.state.digest import hex_digest
from handrail.state.files import make_private
from handrail.workflows.plan import Plan, from_json, to_json

if TYPE_CHECKING:
    from handrail.contracts.messages import Card, CardBody

LOCK_SECONDS = 30.0
ABOUT = "about"


class SessionBusy(StateError):
    """Another process holds the session's lock."""

    code = "busy"


class Snapshot(NamedTuple):
    """What a session's journal tells: the state, and where the next record goes."""

    state: State
    number: int = 0
    end: int = 0
    last: int = 0
    mark: str = ""


class Outcome(NamedTuple):
    """A command that was decided: before and after, and what was decided."""

    plan: Plan | None
    before: State
    after: State
    decision: Decision


class Session:
    """One agent conversation, on disk."""

    def __init__(self, ref: SessionRef, clock: Callable[[], float]) -> None:
        self.ref = ref
        self.folder = ref.folder
        self.id = ref.session
        self.clock = clock
        self.journal = os.path.join(ref.folder, cards.JOURNAL)
        self._plans: dict[str, Plan] = {}

    @property
    def exists(self) -> bool:
        return os.path.exists(self.journal)

    def read(self) -> Snapshot:
        """The present state, without a lock. A record that is just being written is not there yet."""
        card = cards.read(self.folder)
        if card is not None:
            self._refuse_loss(card)
            with contextlib.suppress(ValueError, KeyError, TypeError, StateError):
                return self._from_card(card)
        scan = journal.read(self.journal)
        try:
            return _follow(Snapshot(State()), scan.records, scan.end, scan.last)
        except (ValueError, KeyError, TypeError) as error:
            message = f"the journal `{self.journal}` has a record that this version cannot read: {error}"
            raise StateError(message, "use the version that wrote it, or `handrail cancel --yes`") from error

    def _refuse_loss(self, card: Card) -> None:
        """A card is written after the journal: one that has read further than the journal goes shows a loss."""
        size = cards.journal_size(self.folder)
        if isinstance(card.get("end"), int) and card["end"] > (size or 0):
            message = f"the journal `{self.journal}` has lost its end: {size or 0} of {card['end']} bytes are there"
            raise journal.JournalDamaged(message, f"`handrail cancel --yes --session {self.id}` frees the session")

    def _from_card(self, card: Card) -> Snapshot:
        """Go on from the card, if the record it ends with is the one that the journal has there."""
        last, number = card["last"], card["number"]
        scan = journal.read(self.journal, last, number - 1)
        if not scan.records or scan.mark != card["mark"]:
            raise ValueError("the card is not of this journal")
        known = Snapshot(machine.state_from_json(card["state"]), number, mark=card["mark"])
        return _follow(known, scan.records[1:], last + scan.end, last + scan.last)

    def plan(self, digest: str) -> Plan | None:
        """The plan that was pinned under this digest; read once. None if the state speaks of none."""
        if not digest:
            return None
        if digest not in self._plans:
            self._plans[digest] = self._read_plan(digest)
        return self._plans[digest]

    def _read_plan(self, digest: str) -> Plan:
        path = os.path.join(self.folder, f"plan-{digest}")
        try:
            with open(path, "rb") as file:
                data = file.read()
            text = data.decode()
            if _digest(text) != digest:
                raise ValueError("its content does not fit its name")
            return from_json(jsonlite.loads(text))
        except (OSError, ValueError) as error:
            message = f"the pinned plan `{path}` cannot be read: {error}"
            raise StateError(message, "`handrail cancel --yes` frees the session") from error

    def pinned(self, state: State) -> Plan | None:
        """The plan that a state is about; the state has to fit it."""
        plan = self.plan(state.plan)
        if plan is not None and not 0 <= state.at < len(plan.stops):
            raise StateError(f"session `{self.id}` stands at phase {state.at}, its plan has {len(plan.stops)}")
        return plan

    def link(self) -> str | None:
        """The file by which a host's conversation finds this session, if one does."""
        return _about(self.folder).get("link")

    def describe(self, link: str | None) -> None:
        """Say whose session this is; with a link, let the host's conversation find it from now on."""
        make_private(self.folder)
        about = {"session": self.id, "project": self.ref.project, "link": link}
        files.replace(os.path.join(self.folder, ABOUT), jsonlite.dumps(about).encode(), durable=True)
        if link is not None:
            make_private(os.path.dirname(link))
            links.write(link, self.ref)

    def pin(self, plan: Plan) -> str:
        """Keep a plan with the session, before any record speaks of it."""
        text = jsonlite.dumps(to_json(plan))
        digest = _digest(text)
        path = os.path.join(self.folder, f"plan-{digest}")
        if not os.path.exists(path):
            make_private(self.folder)
            files.replace(path, text.encode(), durable=True)
        self._plans[digest] = plan
        return digest

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """No other process writes to the session meanwhile."""
        with locks.locked(os.path.join(self.folder, "lock"), LOCK_SECONDS, self._busy):
            yield

    def _busy(self) -> SessionBusy:
        message = f"session `{self.id}` is held by another process"
        return SessionBusy(message, "wait for it to end, then run the command again")

    def do(self, command: Command, guard: Callable[[State], Decision | None] | None = None) -> Outcome:
        """Decide a command and record what it makes true. `guard` may refuse it for the state it finds."""
        with self.locked():
            known = self.read()
            plan = self.pinned(known.state)
            decision = guard(known.state) if guard else None
            if decision is None:
                decision = machine.decide(plan, known.state, command)
            after = self._record(known, decision, plan) if decision.events else known.state
            return Outcome(plan, known.state, after, decision)

    def _record(self, known: Snapshot, decision: Decision, plan: Plan | None) -> State:
        events = [machine.event_to_json(event) for event in decision.events]
        record = {"n": known.number, "t": self.clock(), "events": events}
        end = journal.append(self.journal, known.end, record)
        state = machine.fold(decision.events, known.state)
        if state.plan != known.state.plan:
            plan = self.plan(state.plan)
        if plan is not None:
            self._lay_card(plan, Snapshot(state, known.number + 1, end, known.end, journal.mark(record)))
        if state.told and (link := self.link()):
            links.remove(link)
        return state

    def _lay_card(self, plan: Plan, known: Snapshot) -> CardBody:
        """Put down what hooks read. It says how far it has read the journal, and with which record that ends."""
        body = card_body(self.ref, plan, known.state)
        place = {"number": known.number, "end": known.end, "last": known.last, "mark": known.mark}
        cards.write(self.folder, {"format": cards.FORMAT, **place, **body})  # type: ignore[typeddict-item]  # the four
        return body

    def card(self) -> CardBody | None:
        """What a fresh card says; it is laid down, so that whoever asks next finds it. None: nothing was started."""
        fresh = cards.read_fresh(self.folder)
        if fresh is not None:
            return fresh
        known = self.read()
        plan = self.pinned(known.state)
        return None if plan is None else self._lay_card(plan, known)

    def records(self) -> list[dict[str, Any]]:
        return journal.read(self.journal).records

    def put_aside(self) -> str:
        """Take a session that cannot be read out of the way; nothing of it is deleted."""
        place = os.path.join(os.path.dirname(os.path.dirname(self.folder)), "..", "aside")
        place = os.path.normpath(place)
        make_private(place)
        number = 1
        while os.path.exists(aside := os.path.join(place, f"{os.path.basename(self.folder)}.{number}")):
            number += 1
        if link := self.link():
            links.remove(link)
        os.rename(self.folder, aside)
        return aside


def _follow(known: Snapshot, records: list[dict[str, Any]], end: int, last: int) -> Snapshot:
    state = known.state
    for record in records:
        state = machine.fold(map(machine.event_from_json, record["events"]), state)
    mark = journal.mark(records[-1]) if records else known.mark
    return Snapshot(state, known.number + len(records), end, last, mark)


def card_body(ref: SessionRef, plan: Plan, state: State) -> CardBody:
    """The part of a card that follows from plan and state alone."""
    active = state.is_active
    return {
        "session": ref.session,
        "project": ref.project,
        "state": machine.state_to_json(state),
        "gate": words.gate(plan, state),
        "statusLine": words.status_line(plan, state),
        "title": words.session_title(plan, state.task),
        "context": words.context(plan, state) if active else None,
        "brief": words.brief(plan, state) if active else None,
        "reminder": words.reminder(plan, state) if active else None,
        "farewell": None if state.told else words.farewell(plan, state),
    }


def sessions_in(folder: str, clock: Callable[[], float]) -> list[Session]:
    """Every session that is kept in a folder, by id."""
    found: list[Session] = []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    for name in names:
        path = os.path.join(folder, name)
        about = _about(path)
        if about:
            found.append(Session(SessionRef(path, about["project"], about["session"]), clock))
    return found


@contextlib.contextmanager
def exclusive(folder: str) -> Iterator[None]:
    """One process at a time looks at all sessions of a project and starts one."""
    with locks.locked(os.path.join(folder, ".lock"), LOCK_SECONDS, lambda: _starting(folder)):
        yield


def _starting(folder: str) -> SessionBusy:
    message = f"another process is starting a session in `{folder}`"
    return SessionBusy(message, "wait for it to end, then run the command again")


def _about(folder: str) -> dict[str, Any]:
    """Whose session a folder holds; empty where that cannot be read."""
    try:
        with open(os.path.join(folder, ABOUT), encoding="utf-8") as file:
            about = jsonlite.loads(file.read())
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) and {"session", "project"} <= about.keys() else {}


def fork_session(parent: SessionRef, child: SessionRef) -> None:
    """Let a second conversation go on from where the first one is now. After that the two are independent."""
    first, second = Session(parent, time.time), Session(child, time.time)
    make_private(second.folder)
    with first.locked():
        known = first.read()
        for name in os.listdir(first.folder):
            if name.startswith("plan-") and not name.endswith(".new"):
                with open(os.path.join(first.folder, name), "rb") as file:
                    files.replace(os.path.join(second.folder, name), file.read(), durable=True)
        with open(first.journal, "rb") as file:
            files.replace(second.journal, file.read(known.end), durable=True)
    second.describe(child.link)


def _digest(text: str) -> str:
    return hex_digest(text.encode())[:32]
