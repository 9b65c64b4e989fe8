"""Performs the actions of a case on a stack machine: what pi-workflows would show without its defects.

A session keeps the definitions of its start (P-8), a confirmation is valid for one command (P-3), a loop enters a
phase (P-4), and a session that has moved gets no old reminder (P-7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance import reference
from conformance.seen import Facts, Seen
from handrail.guided.workflows.catalog import Catalog
from handrail.guided.workflows.spec import WorkflowSpec
from handrail.settings.settings import Settings
from handrail.source.templates import render

NOTHING_ACTIVE = {"refused": True, "asked": False}
DONE = {"refused": False, "asked": False}


class Ideal:
    def __init__(self, catalog: Callable[[], Catalog], task_id: Callable[[], str], *, says_yes: bool) -> None:
        self.catalog = catalog
        self.task_id = task_id
        self.says_yes = says_yes
        self.specs: dict[str, WorkflowSpec] = {}
        self.facts: Facts | None = None
        self.is_asked = False
        self.idle = 0
        self.countdown: float | None = None
        self.events: dict[str, str] = {}

    def do(self, action: str) -> Seen:
        verb, _, rest = action.partition(":")
        self.events = {}
        result = self._do(verb, rest)
        now = self.facts
        line = reference.status_line(self.specs, now.path) if now and now.active else None
        return Seen(now, line, self.events, result)

    def _do(self, verb: str, rest: str) -> dict[str, Any]:
        now = self.facts if self.facts and self.facts.active else None
        match verb:
            case "start" | "rawstart":
                self._start(rest.replace(":", " ", 1) if verb == "start" else rest)
            case "next" | "loop" | "cancel" | "status":
                return getattr(self, f"_{verb}")(now) if now else NOTHING_ACTIVE
            case "cancel-command":
                if now:
                    self._move(now._replace(active=False, cancelled=True, told=True))
            case "agent_end" | "agent_end_error" | "agent_end_aborted":
                self._agent_end(now, aborted=verb.endswith("aborted"))
            case "tick":
                self._tick(float(rest))
            case "reload":
                self.is_asked, self.countdown = False, None
            case "tool":
                return {"blocked": now is not None and reference.is_blocked(self.specs, now.path, rest)}
            case "complete":
                return {"completions": self._completions(rest)}
            case "before_agent":
                return {"context": now is not None}
        return {}

    def _move(self, facts: Facts) -> None:
        """Move to another position or to the end, and drop pending reminders."""
        self.facts, self.is_asked, self.idle, self.countdown = facts, False, 0, None

    def _values(self, facts: Facts) -> dict[str, str]:
        return reference.values(self.specs, facts.path, facts.task, self.task_id(), facts.steps)

    def _start(self, line: str) -> None:
        words = line.strip().split(None, 1)
        if len(words) < 2:
            return
        catalog = self.catalog()
        spec = next((spec for spec in catalog.visible() if spec.command == words[0]), None)
        if spec is None:
            self.events["error"] = ""
            return
        if self.facts and self.facts.active:
            self.events["confirm"], self.is_asked = "", False
            if not self.says_yes:
                return
        self.specs = dict(catalog.workflows)
        self._move(Facts(True, reference.enter(self.specs, [(spec.key, 0)]), 0, False, False, words[1]))
        assert self.facts
        shown = words[1][: spec.session_name_length]
        title = spec.texts.get("sessionNamePrefix", "Workflow: ") + shown + ("" if shown == words[1] else "…")
        self.events |= {"title": title, "message": render(spec.initial_message, self._values(self.facts))}

    def _next(self, now: Facts) -> dict[str, Any]:
        origin = reference.phase(self.specs, now.path).name
        path = reference.advance(self.specs, now.path)
        if path is None:
            top = now.path[0][0]
            end = now.path if len(now.path) == 1 else [(top, len(self.specs[top].entries))]
            self._move(now._replace(active=False, path=end, steps=now.steps + 1))
            return {**DONE, "from": origin, "to": "DONE"}
        self._move(now._replace(path=path, steps=now.steps + 1))
        coming = reference.advance(self.specs, path)
        after = "DONE" if coming is None else reference.phase(self.specs, coming).name
        return {**DONE, "from": origin, "to": reference.phase(self.specs, path).name, "next": after}

    def _loop(self, now: Facts) -> dict[str, Any]:
        if not self.specs[now.path[-1][0]].loopable:
            self.is_asked = False
            return NOTHING_ACTIVE
        self._move(now._replace(path=reference.restart(self.specs, now.path), steps=now.steps + 1))
        assert self.facts
        return {**DONE, "to": reference.phase(self.specs, self.facts.path).name}

    def _cancel(self, now: Facts) -> dict[str, Any]:
        if not self.is_asked:
            self.is_asked = True
            return {"refused": False, "asked": True}
        self._move(now._replace(active=False, cancelled=True))
        return DONE

    def _status(self, _now: Facts) -> dict[str, Any]:
        return DONE

    def _agent_end(self, now: Facts | None, *, aborted: bool) -> None:
        if now is None:
            self.facts = self.facts and self.facts._replace(told=True)
        elif not aborted:
            self.idle += 1
            if self.idle > Settings().idle_stops:
                self.idle = 0
            else:
                self.countdown = 3.0

    def _tick(self, seconds: float) -> None:
        if self.countdown is None or self.facts is None:
            return
        self.countdown -= seconds
        if self.countdown <= 0:
            self.countdown = None
            here = reference.phase(self.specs, self.facts.path)
            template = self.specs[self.facts.path[0][0]].texts.get("notDoneReminder")
            default = f"<default reminder naming phase {here.emoji} {here.name}>"
            self.events["message"] = render(template, self._values(self.facts)) if template else default

    def _completions(self, prefix: str) -> list[str] | None:
        shown = [spec.command for spec in self.catalog().visible() if spec.command.startswith(prefix)]
        return sorted(shown) or None
