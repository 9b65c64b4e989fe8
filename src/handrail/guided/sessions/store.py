"""One session on disk: a journal, its pinned plans, the card that hooks read, and the report after a command.

Every command goes through `Session.do`: lock, read, decide, record, write the card. The journal is the only source of
the state, and a command is answered only after it is recorded. The file `about` has the id, the project, the link and
the run of a session, in one line with a checksum; version 0.1.0 wrote it without one, and such a file is still read.
Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import time

from handrail.base import files, journal, jsonlite, locks
from handrail.base.digest import hex_digest
from handrail.base.errors import StateError
from handrail.base.files import make_private
from handrail.base.record import Record
from handrail.guided.sessions import hook_files, machine, words
from handrail.guided.sessions.decisions import decide
from handrail.guided.sessions.denials import denials_since, tool_counts
from handrail.guided.sessions.hook_files import ABOUT, JOURNAL, SessionRef
from handrail.guided.sessions.machine import CheckResult, Command, Decision, Refusal, State
from handrail.guided.workflows.plan import Plan, plan_from_json, plan_to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from handrail.extensions.contracts.messages import Card, CardBody
    from handrail.guided.sessions.machine import Event

    Who = Callable[[], str]
    """Who writes: `person`, `script`, `agent:NAME` or `run:ID`."""


class SessionAbout(Record):
    """What is known about a session without its journal: the host's link to it, and the run that drives its agent.

    `names` are the variables of the environment in which it was started, and `path` is `PATH` there. Other values are
    not stored, because they may be secret. Sessions of earlier versions have neither.
    """

    session: str
    project: str
    link: str | None = None
    run: str | None = None
    path: str = ""
    names: tuple[str, ...] = ()

    def environment(self, env: Mapping[str, str]) -> Mapping[str, str]:
        """The environment of exit checks: without variables that were added since the start, and with `PATH` of then.

        So whoever calls `next` chooses neither `PATH` nor adds variables. The values of the others are the caller's.
        """
        kept = {name: value for name, value in env.items() if name in self.names and name != "PATH"}
        return {**kept, **({"PATH": self.path} if "PATH" in self.names else {})} if self.names else env

    @property
    def agent(self) -> str | None:
        """The agent whose conversation this session belongs to; None if no link leads to it."""
        return os.path.basename(os.path.dirname(self.link)) if self.link is not None else None


def read_about(folder: str) -> SessionAbout | None:
    """What the file in this folder says; None if there is none or it is damaged."""
    try:
        data = files.read_regular(os.path.join(folder, ABOUT))
        is_plain = data.startswith(b"{")
        about = jsonlite.loads(data.decode()) if is_plain else jsonlite.decode_line(data.removesuffix(b"\n"))
    except (OSError, ValueError):
        return None
    if not isinstance(about, dict) or not {"session", "project"} <= about.keys():
        return None
    link, run, path, names = (about.get(name) for name in ("link", "run", "path", "names"))
    return SessionAbout(about["session"], about["project"], link, run, path or "", tuple(names or ()))


def sessions_in(folder: str, project: str, clock: Callable[[], float], by: Who | None = None) -> Iterator[Session]:
    """Every session in the folder of a project, sorted by name.

    A session whose `about` is missing or damaged is listed too, by the name of its folder.
    """
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise StateError(f"the sessions in `{folder}` cannot be listed: {error.strerror}") from error
    for name in names:
        path = os.path.join(folder, name)
        about = read_about(path) if not name.startswith(".") else None
        if about is not None:
            yield Session(SessionRef(path, about.project, about.session), clock, by)
        elif not name.startswith(".") and os.path.lexists(os.path.join(path, JOURNAL)):
            from urllib.parse import unquote

            id_ = unquote(name.replace("+", "/"), errors="surrogateescape")  # a long id cannot be restored
            yield Session(SessionRef(path, project, id_), clock, by)


LEFT = "left"
"""The status of an active session whose run has ended. It is removed only together with its run."""
LOCK_SECONDS = 8.0
"""Less than a hook may take (`agents.calls.hook.SECONDS`), so that a hook can still say why it failed."""


class SessionBusy(StateError):
    """Another process holds the session's lock."""

    code = "busy"


class Snapshot(Record):
    """The state from a session's journal, and where the next record goes. `by` is who caused the last record."""

    state: State
    number: int = 0
    end: int = 0
    last: int = 0
    mark: str = ""
    by: str | None = None


class CommandOutcome(Record):
    """A decided command: the states before and after it, the decision, and who caused the last record."""

    plan: Plan | None
    before: State
    after: State
    decision: Decision
    by: str | None = None


class Session:
    """One agent conversation, on disk. `by` says who writes to it, and is asked only then."""

    def __init__(self, ref: SessionRef, clock: Callable[[], float], by: Who | None = None) -> None:
        self.ref = ref
        self.folder = ref.folder
        self.id = ref.session
        self.clock = clock
        self._by = by
        self.journal = os.path.join(ref.folder, hook_files.JOURNAL)
        self._plans: dict[str, Plan] = {}

    @property
    def exists(self) -> bool:
        return os.path.exists(self.journal)

    def read(self) -> Snapshot:
        """The current state. Takes no lock: a record that is being written at this moment is not included."""
        if (card := hook_files.read_card(self.folder)) is not None:
            size = hook_files.journal_size(self.folder) or 0
            if isinstance(card.get("end"), int) and card["end"] > size:
                message = f"the journal `{self.journal}` has lost its end: {size} of {card['end']} bytes are there"
                raise journal.JournalDamaged(message, self._way_out)
            with contextlib.suppress(ValueError, KeyError, TypeError, StateError):
                return self._from_card(card)
        scan = journal.read(self.journal)
        try:
            return self._apply_records(State(), 0, scan)
        except (ValueError, KeyError, TypeError) as error:
            message = f"the journal `{self.journal}` has a record that this version cannot read: {error}"
            raise StateError(message, "use the version that wrote it, or `handrail cancel --yes`") from error

    def _from_card(self, card: Card) -> Snapshot:
        """Read on from the card. Raises `ValueError` if the card's last record differs from the journal's."""
        last, number = card["last"], card["number"]
        scan = journal.read(self.journal, last, number - 1)
        if not scan.records or scan.mark != card["mark"]:
            raise ValueError("the card belongs to another journal")
        return self._apply_records(machine.state_from_json(card["state"]), number, scan, last)

    def _apply_records(self, state: State, number: int, scan: journal.Scan, offset: int = 0) -> Snapshot:
        """The state after a scan that began at `offset`. `state` is the one after the first `number` records.

        Raises `JournalDamaged` for a move that `decide` cannot have decided.
        """
        new_records = [record for record in scan.records if record["n"] >= number]
        for record in new_records:
            events = [machine.event_from_json(data) for data in record["events"]]
            for place, event in enumerate(events):
                reason = machine.why_impossible(self.plan, state, event, events[:place])
                if isinstance(event, machine.Rewound) and event.state != self.state_after(event.to):
                    reason = "there was no such state"
                if reason is not None:
                    message = f"the journal `{self.journal}` is damaged at record {record['n']}: {reason}"
                    raise journal.JournalDamaged(message, self._way_out)
                state = machine.apply(state, event)
        by = scan.records[-1].get("by") if scan.records else None
        return Snapshot(state, number + len(new_records), offset + scan.end, offset + scan.last, scan.last_mark, by)

    def state_after(self, number: int) -> State:
        """The state after the first `number` records. Before them, no workflow is active in the first plan.

        Raises `StateError` if there are fewer records.
        """
        records = self.records()
        if not 0 <= number <= len(records):
            raise StateError(f"the journal `{self.journal}` has {len(records)} records, not {number}", self._way_out)
        events = [[machine.event_from_json(data) for data in record["events"]] for record in records[: number or 1]]
        state = machine.fold([event for few in events for event in few])
        return state if number else State(plan=state.plan)

    @property
    def _way_out(self) -> str:
        return f"`handrail cancel --yes --session {self.id}` moves it away and frees the session"

    def plan(self, digest: str) -> Plan | None:
        """The pinned plan with this digest; None if the digest is empty. Each plan is read once."""
        if not digest:
            return None
        path = os.path.join(self.folder, f"plan-{digest}")
        try:
            if digest not in self._plans:
                text = files.read_regular(path).decode()
                if _digest(text) != digest:
                    raise ValueError("its content does not match its name")
                self._plans[digest] = plan_from_json(jsonlite.loads(text))
        except (OSError, ValueError) as error:
            message = f"the pinned plan `{path}` cannot be read: {error}"
            raise StateError(message, "`handrail cancel --yes` frees the session") from error
        return self._plans[digest]

    def pinned_plan(self, state: State) -> Plan | None:
        """The pinned plan of a state. Raises `StateError` if the state is not inside the plan."""
        plan = self.plan(state.plan)
        if plan is not None and not 0 <= state.at < len(plan.stops):
            raise StateError(f"session `{self.id}` is at phase {state.at}, but its plan has {len(plan.stops)}")
        return plan

    def about(self) -> SessionAbout:
        """What the session's file `about` says. Without one, neither a link nor a run is known."""
        return read_about(self.folder) or SessionAbout(self.id, self.ref.project)

    def describe(self, link: str | None, run: str | None = None, env: Mapping[str, str] | None = None) -> None:
        """Record the id, project, link, run and environment of this session. With a link, also write the link.

        Without `env`, the environment that was recorded before is kept.
        """
        make_private(self.folder)
        old = self.about()
        path, names = (old.path, old.names) if env is None else (env.get("PATH", ""), tuple(sorted(env)))
        about = SessionAbout(self.id, self.ref.project, link, run, path, names)
        files.replace(os.path.join(self.folder, ABOUT), jsonlite.encode_line(about._asdict()), durable=True)
        if link is not None:
            make_private(os.path.dirname(link))
            hook_files.write_link(link, self.ref)

    def pin(self, plan: Plan) -> str:
        """Store a plan with the session and return its digest. Has to run before a record refers to the plan."""
        text = jsonlite.dumps(plan_to_json(plan))
        digest = _digest(text)
        path = os.path.join(self.folder, f"plan-{digest}")
        if not os.path.exists(path):
            make_private(self.folder)
            files.replace(path, text.encode(), durable=True)
        self._plans[digest] = plan
        return digest

    def locked(self, seconds: float = LOCK_SECONDS) -> AbstractContextManager[int]:
        """Hold the session's lock, so that no other process writes to the session."""
        return _locked(os.path.join(self.folder, "lock"), seconds, f"session `{self.id}` is held by another process")

    def do(
        self,
        command: Command,
        guard: Callable[[State], Refusal | None] | None = None,
        seconds: float = LOCK_SECONDS,
    ) -> CommandOutcome:
        """Decide a command and record its events. `guard` may refuse it because of the state."""
        with self.locked(seconds):
            snapshot = self.read()
            plan = self.pinned_plan(snapshot.state)
            decision = decide(plan, snapshot.state, command, guard(snapshot.state) if guard else None)
            if not decision.events:
                return CommandOutcome(plan, snapshot.state, snapshot.state, decision, snapshot.by)
            by = self._by() if self._by is not None else None
            events = [event._replace(by=by or "") if "by" in event._fields else event for event in decision.events]  # type: ignore[call-arg]  # it has the field
            decision = decision._replace(events=tuple(events))
            return CommandOutcome(plan, snapshot.state, self._record(snapshot, decision, plan, by), decision, by)

    def _record(self, snapshot: Snapshot, decision: Decision, plan: Plan | None, by: str | None) -> State:
        events = [machine.event_to_json(event) for event in decision.events]
        line = jsonlite.encode_line({"n": snapshot.number, "t": self.clock(), "by": by, "events": events})
        end = journal.append(self.journal, snapshot.end, line)
        state = machine.fold(decision.events, snapshot.state)
        if state.plan != snapshot.state.plan:
            plan = self.plan(state.plan)
        if plan is not None:
            self._write_card(plan, Snapshot(state, snapshot.number + 1, end, snapshot.end, journal.mark_of(line)))
        if (state.told or state.status == "none") and (link := self.about().link):
            with contextlib.suppress(OSError):  # the card says that the workflow has ended
                os.unlink(link)
        return state

    def _write_card(self, plan: Plan, snapshot: Snapshot) -> CardBody:
        """Write the card for hooks, with the part of the journal it covers and the mark of its last record."""
        body: CardBody = {
            "session": self.id,
            "project": self.ref.project,
            "state": machine.state_to_json(snapshot.state),
            **words.card_texts(plan, snapshot.state),
        }
        place = {"number": snapshot.number, "end": snapshot.end, "last": snapshot.last, "mark": snapshot.mark}
        hook_files.write_card(self.folder, {"format": hook_files.CARD_FORMAT, **place, **body})  # type: ignore[typeddict-item]  # the four
        return body

    def card(self) -> CardBody | None:
        """The up-to-date card; written if it was outdated. None if no workflow was ever started."""
        if (card := hook_files.read_fresh_card(self.folder)) is not None:
            return card
        snapshot = self.read()
        plan = self.pinned_plan(snapshot.state)
        return None if plan is None else self._write_card(plan, snapshot)

    def entered(self) -> float:
        """When the current phase was entered, or when a person last moved or reloaded it."""
        events = [(record["t"], event) for record in self.records() for event in record["events"]]
        times = [at for at, event in events if "to" in event or event["type"] in ("Started", "Adopted")]
        return max(times, default=0.0)

    def records(self) -> list[dict[str, Any]]:
        return journal.read(self.journal).records


def start_lock(folder: str) -> AbstractContextManager[int]:
    """Hold the lock for starting a session in this folder."""
    busy = f"another process is starting a session in `{folder}`"
    return _locked(os.path.join(folder, ".lock"), LOCK_SECONDS, busy)


def _locked(path: str, seconds: float, busy: str) -> AbstractContextManager[int]:
    hint = "wait for it to end, then run the command again"
    return locks.locked(path, seconds, lambda: SessionBusy(busy, hint))


def fork_session(parent: SessionRef, child: SessionRef) -> None:
    """Copy the parent's session at its current phase. From then on the two are independent."""
    parent_session, child_session = Session(parent, time.time), Session(child, time.time)
    make_private(child_session.folder)
    with parent_session.locked():
        snapshot = parent_session.read()
        for name in os.listdir(parent_session.folder):
            if name.startswith("plan-") and not name.endswith(".new"):
                plan = files.read_regular(os.path.join(parent_session.folder, name))
                files.replace(os.path.join(child_session.folder, name), plan, durable=True)
        files.replace(child_session.journal, files.read_regular(parent_session.journal)[: snapshot.end], durable=True)
    about = parent_session.about()
    env = dict.fromkeys(about.names, "") | {"PATH": about.path}
    child_session.describe(child.link, None, env if about.names else None)


def _digest(text: str) -> str:
    return hex_digest(text.encode())[:32]


class SessionReport(Record):
    """The state of a session, and the message about the last command. `refusal` is None if it was carried out.

    `message` is for the agent; `view.text.session` has that for a person. `event` is what the command caused last.
    `by` is who caused the last record of the session. `run` is the id of the run that the session belongs to; None if a
    person works in it, or if it was not looked up. `denied` says how many calls of each tool were denied. `let_go` says
    why its agent was allowed to stop.
    """

    session: str
    plan: Plan | None
    state: State
    message: str
    refusal: Refusal | None = None
    results: tuple[CheckResult, ...] = ()
    notices: tuple[str, ...] = ()
    event: Event | None = None
    by: str | None = None
    run: str | None = None
    denied: Mapping[str, int] = {}
    let_go: str = ""

    @property
    def status_line(self) -> str | None:
        return words.status_line(self.plan, self.state) if self.plan else None

    @property
    def path(self) -> list[tuple[str, int]]:
        """The stack of (workflow key, index), as in pi-workflows.

        If a workflow that ends with a subworkflow is done, it is one past the last entry of the top level.
        """
        if self.plan is None:
            return []
        stop = self.plan.stops[self.state.at]
        if self.state.status == "done" and len(stop.levels) > 1:
            return [(self.plan.key, stop.levels[0].total)]
        return stop.path


def report_now(session: Session, snapshot: Snapshot) -> SessionReport:
    """The report of a session without a command."""
    plan = session.pinned_plan(snapshot.state)
    message = words.status_text(plan, snapshot.state, moment(snapshot.state.started)) if plan else ""
    denied = tool_counts(denials_since(session.folder, snapshot.state.started))
    let_go = hook_files.mark_text(session.folder, hook_files.LET_GO)
    return SessionReport(session.id, plan, snapshot.state, message, by=snapshot.by, denied=denied, let_go=let_go)


def report_after(session: Session, outcome: CommandOutcome, results: tuple[CheckResult, ...] = ()) -> SessionReport:
    plan = session.plan(outcome.after.plan)
    message = _message(outcome, plan, results)
    decision = outcome.decision
    event = decision.events[-1] if decision.events and decision.refusal is None else None
    denied = tool_counts(denials_since(session.folder, outcome.after.started))
    return SessionReport(
        session.id, plan, outcome.after, message, decision.refusal, results, event=event, by=outcome.by, denied=denied
    )


def moment(seconds: float) -> str:
    """`2026-02-03T04:05:06+00:00`."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(seconds))


def _message(outcome: CommandOutcome, plan: Plan | None, results: tuple[CheckResult, ...]) -> str:
    before, after, decision = outcome.before, outcome.after, outcome.decision
    if plan is None or outcome.plan is None:
        return decision.refusal.reason if decision.refusal else ""
    if decision.refusal:
        if decision.refusal.code == "check-failed":
            return words.checks_failed_text(results, outcome.plan.stops[before.at], after)
        return decision.refusal.reason
    match decision.events[-1]:
        case machine.Moved() | machine.Finished() as left:
            text = words.moved_text(plan, before, after)
            note = f"\n\nNote: the summary was too long. Its first {machine.SUMMARY_LENGTH:,} characters are kept."
            return text + note if machine.is_cut_summary(left.summary) else text
        case machine.Looped():
            return words.looped_text(plan, before, after)
        case machine.Blocked() | machine.CancelAsked() as asked if asked.question:
            return words.blocked_text(after)
        case machine.CancelAsked():
            return words.cancel_asked_text(after)
        case machine.WentTo() | machine.Answered():
            return words.status_text(plan, after, moment(after.started))
        case machine.Cancelled():
            return words.farewell(plan, after) or ""
        case machine.Reloaded():
            return f"The session continues with the edited files at {words.status_line(plan, after)}."
        case _:
            return ""
