"""What a person does in a surface: launch, resume, continue, restart, answer, stop; cancel or reload a session.

A surface never drives a run. It starts a process in the background that does, as `handrail run --detach`: closing or
crashing a surface affects no run. Definitions and settings are read again for each action.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Any, Literal

from handrail.alerts.telling import claim_desktop, needs_in
from handrail.app import App
from handrail.errors import RefusedError
from handrail.forms import read as formspec
from handrail.forms.form import WrongAnswers, accept
from handrail.live.wanted import Launch as Launch
from handrail.live.wanted import Wrong as Wrong
from handrail.live.wanted import request_of
from handrail.process.child import detach
from handrail.runs.life import resuming
from handrail.runs.loaded import LoadedRun
from handrail.runs.looking import ChangedError, refuse_changed
from handrail.runs.questions import refuse_unless_waiting
from handrail.runs.restart import refuse_restart
from handrail.runs.trusting import programs_of_run
from handrail.sessions.report import Report
from handrail.topics.needs import answer_to, path_of

Mode = Literal["resume", "continue", "restart"]


class Late(RefusedError):
    """Somebody else answered first, or the question has changed. `answered` has `by`, `at` and `verdict`, if known."""

    code = "late"

    def __init__(
        self, message: str, hint: str | None = None, *, has_changed: bool, answered: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, hint)
        self.has_changed = has_changed
        self.answered = answered


class Actions:
    """The actions of one surface. Each raises `HandrailError` if it is refused, and then nothing has changed."""

    def __init__(self, app: App, surface: str) -> None:
        self.app = app
        self.surface = surface

    @property
    def is_read_only(self) -> bool:
        """True if an agent or a run started this surface: then it only shows things."""
        return self.app.is_leashed

    def refuse(self, action: str, *, run: str | None = None, session: str | None = None) -> None:
        """Raise `RefusedError` if this surface may only show things. The run or the session gets a notice about it.

        Not to be called in an event loop, because it may have to write the notice.
        """
        self.app.refuse_agents(f"{self.surface}: {action}", run=run, session=session)

    def launch(self, wanted: Launch) -> str:
        """Begin a run and drive it in the background. Returns its id. Raises `Wrong` for fields that are not right."""
        self.refuse("launch")
        app = self.app.reread()
        flow = app.flow_named(wanted.name)
        app.check_settings()
        request = request_of(app, flow, wanted)
        app.trust.refuse(lambda: app.definitions.programs_of_flow(flow))
        begun = app.runs.begin(app.flows, flow, request, f"r-{app.token()}")
        self._drive(begun.id, "resume", "--first")
        return begun.id

    def again(self, id_: str, mode: Mode, start: str | None = None) -> None:
        """Resume, continue or restart a run in the background. `start` is the phase from which it is restarted.

        What that process would refuse is raised here, because nobody sees what it prints.
        """
        self.refuse(mode, run=id_)
        run = self.app.runs.load(id_)
        if run.driver is not None:
            raise RefusedError(f"run `{id_}` is driven by process {run.driver}", "wait for its end, or stop it")
        self._refuse_untrusted(run)
        if mode == "restart":
            self._refuse_restart(run, start)
        elif run.records:
            resuming(id_, run.state, run.plan, mode)
        self._drive(id_, mode, *(["--from", start] if start is not None else []))

    def _refuse_restart(self, run: LoadedRun, start: str | None) -> None:
        app = self.app.reread()
        app.check_settings()
        definitions = app.definitions
        flows = definitions.with_shipped(run.about.flow)
        refuse_restart(app.runs, flows, definitions.flow_of_run, run, start)

    async def answer(self, id_: str, question: str, digest: str, values: Mapping[str, object]) -> None:
        """Give the answer to a question. It counts only if the question is still open, and still the same.

        A yes to something that has changed since it was asked is refused, and the run asks again.
        """
        await asyncio.to_thread(self.refuse, "answer", run=id_)
        run = self.app.runs.load(id_)
        if question in run.state.closed:
            raise _late(run, question)
        refuse_unless_waiting(id_, run.state, is_driven=run.driver is not None)
        asked = next((one for one in run.state.questions.values() if one.id == question), None)
        if asked is None or asked.input != digest:
            raise Late("the question has changed since you opened it", has_changed=True)
        self._refuse_untrusted(run)
        try:
            accepted = accept(formspec.from_json(asked.question), values)
        except WrongAnswers as error:
            raise Wrong(error.problems) from error
        try:
            await refuse_changed(self.app.runs, run, asked, accepted)
        except ChangedError as error:
            if error.can_ask_again and await self.app.runs.ask_again(run):
                self._drive(id_, "resume", "--answered")
            raise Late(error.message, error.hint, has_changed=True) from error
        try:
            has_no_driver = await self.app.runs.answer(run, question, accepted, self.surface)
        except RefusedError as error:
            raise _refusal(self.app.runs.load(id_), question, error) from error
        if has_no_driver:
            self._drive(id_, "resume", "--answered")

    async def stop(self, id_: str) -> None:
        """Stop a run and everything that it started."""
        await asyncio.to_thread(self.refuse, "stop", run=id_)
        await self.app.runs.stop(self.app.runs.load(id_))

    def claim(self, id_: str, question: str) -> bool:
        """True if this surface is the first that shows an open question on the desktop. Nobody else does it then."""
        self.refuse("told", run=id_)
        runs = self.app.runs
        found = (alert for alert in needs_in(runs.load(id_)) if alert.key == f"need.{question}")
        return any(claim_desktop(runs, alert) for alert in found)

    def cancel(self, session: str) -> None:
        """Cancel the workflow of a session. The person has confirmed it."""
        self.refuse("cancel", session=session)
        self.app.sessions.choose(session)
        _refuse_if(self.app.cancel(session, confirmed=True))

    def reload(self, session: str) -> None:
        """Continue a session with the files of its workflow as they are now, in the same phase."""
        self.refuse("reload", session=session)
        _refuse_if(self.app.reread().reload(session))

    def _refuse_untrusted(self, run: LoadedRun) -> None:
        self.app.trust.refuse(lambda: programs_of_run(run))

    def _drive(self, id_: str, *words: str) -> None:
        command, *more = words
        argv = [sys.executable, "-P", "-m", "handrail", "--project", self.app.project, command, id_, *more]
        detach(argv, self.app.env, self.app.runs.log(id_))


def _refusal(run: LoadedRun, question: str, error: RefusedError) -> RefusedError:
    """Why an answer was refused: somebody stopped the run, or gave another answer."""
    is_open = any(asked.id == question for asked in run.state.questions.values())
    return error if is_open and run.state.status != "waiting" and run.driver is None else _late(run, question)


def _late(run: LoadedRun, question: str) -> Late:
    """Why an answer comes too late: who gave another one and when, or that the question was asked again."""
    if path_of(run.records, question) in run.state.questions:
        return Late("what was asked has changed meanwhile, so it is asked again", has_changed=True)
    if run.state.closed.get(question) == "withdrawn":
        return Late(f"question `{question}` was withdrawn meanwhile", has_changed=True)
    found = answer_to(run.records, question)
    if found is None:
        return Late(f"question `{question}` already has an answer", has_changed=False)
    where = f" in {found['by']}" if found["by"] else ""
    return Late(f"question `{question}` was {found['verdict']} meanwhile{where}", has_changed=False, answered=found)


def _refuse_if(report: Report) -> None:
    if report.refusal is not None:
        raise RefusedError(report.refusal.reason)
