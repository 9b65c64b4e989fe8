"""An agent's host that runs Handrail: it performs every action of a case with files and sessions on disk.

Each action is a separate process. Handrail has no timers, so this host has the countdown of pi-workflows: it waits
three seconds before it says a reminder, and says it only if the session has not moved.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from conformance import compact
from conformance.corpus import Case
from conformance.seen import Facts, Seen
from handrail.app import App
from handrail.base.errors import HandrailError, NotFound, RefusedError
from handrail.extensions.registry import Registry
from handrail.guided.sessions.machine import AgentStopped, Resumed, SentOn, Tell
from handrail.guided.sessions.store import SessionReport
from handrail.guided.workflows.catalog import Catalog, read_catalog
from handrail.view.text.session import session_json

SESSION = "conformance"
COUNTDOWN = 3.0


class Waiting(NamedTuple):
    """A pending reminder, and the position of the session when it was requested."""

    due: float
    text: str
    stood: Any


class Host:
    def __init__(self, root: Path, case: Case) -> None:
        self.project = root / "project"
        self.workflows = self.project / ".pi" / "workflows"
        self.env = {"HOME": str(root / "home"), "HANDRAIL_HOME": str(root / "handrail")}
        self.says_yes = case.get("confirmAnswer", True)
        self.definitions = dict(case["definitions"])
        self.now = 1_000_000.0
        self.tokens = itertools.count()
        self.waiting: Waiting | None = None
        self.events: dict[str, str] = {}
        for key, definition in self.definitions.items():
            compact.write(self.workflows / key, key, definition)

    @property
    def app(self) -> App:
        return App(str(self.project), self.env, lambda: self.now, lambda: f"{next(self.tokens):06}")

    def catalog(self) -> Catalog:
        """The definitions of the case, as they are on disk now."""
        return read_catalog([("project", str(self.workflows))], Registry())

    def task_id(self) -> str:
        view = self.view()
        return view.state.task_id if view else ""

    def card(self) -> Any:
        return self.app.sessions.session(SESSION).card()

    def view(self) -> SessionReport | None:
        try:
            return self.app.sessions.status(SESSION)
        except NotFound:
            return None

    def do(self, action: str) -> Seen:
        verb, _, rest = action.partition(":")
        self.events = {}
        result = self._do(verb, rest)
        view = self.view()
        return Seen(facts(view) if view else None, view.status_line if view else None, self.events, result)

    def _do(self, verb: str, rest: str) -> dict[str, Any]:
        match verb:
            case "start":
                return self._start(rest.replace(":", " ", 1))
            case "rawstart":
                return self._start(rest)
            case "next" | "loop" | "cancel" | "cancel-command" | "status":
                return self._step(verb)
            case "agent_end" | "agent_end_aborted" | "agent_end_error":
                return self._stop(aborted=verb.endswith("aborted"))
            case "tick":
                return self._tick(float(rest))
            case "reload":
                return self._reload()
            case "tool":
                return {"blocked": not self.app.sessions.gate(rest, SESSION)["allow"]}
            case "complete":
                return {"completions": self._completions(rest)}
            case "before_agent":
                return {"context": (self.card() or {}).get("context") is not None}
            case "remove" | "redefine":
                return self._edit(*rest.partition(":")[::2])
            case "turn_end":
                return {}
            case _:
                raise AssertionError(f"no such action: {verb}")

    def _start(self, line: str) -> dict[str, Any]:
        """`/workflow NAME TASK` as a host reads it. Without a task, it only explains itself."""
        words = line.strip().split(None, 1)
        if len(words) < 2:
            return {}
        try:
            self._begin(*words)
        except HandrailError:
            self.events["error"] = ""
        return {}

    def _begin(self, name: str, task: str) -> None:
        before = self.view()
        try:
            view = self.app.start(name, task, SESSION, replaces=False)
        except RefusedError:
            if not (before and before.state.is_active and self.app.catalog.find(name).is_visible):
                raise
            self.events["confirm"] = ""
            if not self.says_yes:
                return
            view = self.app.start(name, task, SESSION, replaces=True)
        self.events |= {"title": session_json(view)["title"], "message": view.message}

    def _step(self, verb: str) -> dict[str, Any]:
        try:
            match verb:
                case "next":
                    view = asyncio.run(self.app.next(self.app.sessions.leaving(SESSION), ""))
                case "loop":
                    view = self.app.sessions.loop(SESSION)
                case "status":
                    view = self.app.sessions.status(SESSION)
                    return {"refused": not view.state.is_active, "asked": False}
                case _:
                    view = self.app.cancel(SESSION, confirmed=verb == "cancel-command")
        except NotFound:
            return {} if verb == "cancel-command" else {"refused": True, "asked": False}
        if verb == "cancel-command":
            return {}
        asked = verb == "cancel" and view.state.cancel_asked
        return {"refused": view.refusal is not None, "asked": asked, **told(verb, view)}

    def _stop(self, *, aborted: bool) -> dict[str, Any]:
        """The agent stops: tell the person once that the workflow is over, or send the agent on."""
        session = self.app.sessions.session(SESSION)
        card: Any = (session.card() if session.exists else None) or {}
        if card.get("farewell") is not None:
            session.do(Tell())
        elif card.get("reminder") is not None:
            events = session.do(AgentStopped(aborted)).decision.events
            if any(isinstance(event, SentOn) for event in events):
                text = card["reminder"].partition("\n\n(Reminder ")[0]  # a repeated one is numbered
                self.waiting = Waiting(self.now + COUNTDOWN, text, self._stands())
        return {}

    def _stands(self) -> Any:
        view = self.view()
        return view and (view.state.status, view.state.at, view.state.steps, view.state.task_id)

    def _tick(self, seconds: float) -> dict[str, Any]:
        self.now += seconds
        if self.waiting and self.now >= self.waiting.due:
            if self.waiting.stood == self._stands():
                self.events["message"] = self.waiting.text
            self.waiting = None
        return {}

    def _reload(self) -> dict[str, Any]:
        self.waiting = None
        if self.view():
            self.app.sessions.session(SESSION).do(Resumed())
        return {}

    def _completions(self, prefix: str) -> list[str] | None:
        return sorted(spec.command for spec in self.catalog().visible() if spec.command.startswith(prefix)) or None

    def _edit(self, key: str, phases: str) -> dict[str, Any]:
        shutil.rmtree(self.workflows / key, ignore_errors=True)
        if phases:
            self.definitions[key] = {**self.definitions[key], "phases": phases.split(",")}
            compact.write(self.workflows / key, key, self.definitions[key])
        return {}


def facts(view: SessionReport) -> Facts:
    state = view.state
    cancelled = state.status == "cancelled"
    return Facts(state.is_active, view.path, state.steps, cancelled, state.told, state.task)


def told(verb: str, view: SessionReport) -> dict[str, Any]:
    """The names in the answer to a move."""
    if view.refusal or verb == "cancel" or view.plan is None:
        return {}
    if verb == "loop":
        return {"to": view.plan.stops[view.state.at].name}
    first, *rest = view.message.split("\n")
    moved = re.fullmatch(r"✓ .*?: (?P<origin>.*) → (?:\S+ )?(?P<to>.*)", first)
    assert moved, first
    names = {"from": moved["origin"], "to": moved["to"]}
    return names if names["to"] == "DONE" else {**names, "next": rest[0].rpartition("Next: ")[2]}
