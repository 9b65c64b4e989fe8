"""Guided sessions for a node that drives an agent through a workflow: begin one, say where it stands."""

from __future__ import annotations

from collections.abc import Callable

from handrail.contracts import Standing, Stubs
from handrail.sessions import words as prompts
from handrail.sessions.report import View

Begin = Callable[[str, str, str, tuple[str, str] | None], View]
OWN_HOOK = ("scripted",)


class SessionGuide:
    """Sessions of agents that we start ourselves; each is known by its agent and its conversation."""

    def __init__(self, begin: Begin, standing: Callable[[str], View | None], idle_stops: int, stubs: Stubs) -> None:
        self._begin = begin
        self._standing = standing
        self.idle_stops = idle_stops
        self.stubs = stubs

    def begin(self, workflow: str, task: str, host: tuple[str, str]) -> Standing:
        view = self._begin(workflow, task, _session(host), None if host[0] in OWN_HOOK else host)
        return _seen(view, view.message)

    def standing(self, host: tuple[str, str]) -> Standing | None:
        view = self._standing(_session(host))
        if view is None:
            return None
        active = view.plan is not None and view.state.is_active
        return _seen(view, prompts.reminder(view.plan, view.state) if active and view.plan else view.message)


def _session(host: tuple[str, str]) -> str:
    return host[1] if host[0] in OWN_HOOK else f"{host[0]}-{host[1]}"


def _seen(view: View, message: str) -> Standing:
    summaries = [{"phase": phase, "summary": text} for phase, text in view.state.summaries]
    return Standing(
        session=view.session,
        status=view.state.status,
        steps=view.state.steps,
        status_line=view.status_line,
        message=message,
        summaries=summaries,
    )
