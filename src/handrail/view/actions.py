"""What a person does in a surface: launch, resume, restart, answer, stop; cancel, move or reload a session.

A surface never drives a run. It starts a process in the background that does, as `handrail run --detach`: closing or
crashing a surface affects no run. Definitions and settings are read again for each action.
A text in a field of a launch is read as on the command line; what is wrong is reported for each field.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, Literal

from handrail.app import App
from handrail.base.dataclasses import dataclass, field
from handrail.base.errors import HandrailError, RefusedError, UsageError
from handrail.base.processes import start_detached
from handrail.driven.flows.catalog import FoundFlow
from handrail.driven.flows.plan import FlowPlan, Param
from handrail.driven.forms import form_params
from handrail.driven.forms.form import AnswerProblem, WrongAnswers, accept
from handrail.driven.runs.life import resume_event
from handrail.driven.runs.request import LoadedRun, RunRequest, scope_of
from handrail.driven.runs.restart import refuse_restart
from handrail.driven.runs.run_events import BOUND_NAMES, Bounded
from handrail.driven.runs.run_rules import programs_of_run, refuse_phases, refuse_unless_waiting
from handrail.driven.runs.runs import ChangedError, refuse_changed
from handrail.extensions.registry import Registry
from handrail.guided.sessions.store import SessionReport
from handrail.guided.sessions.words import question_form
from handrail.project.notifications import Notifier, open_question_alerts
from handrail.settings.routes import DEFAULT, find_preset, parse_route
from handrail.settings.sections import Channel
from handrail.settings.settings import GROUPS
from handrail.settings.trust import TRUST_VARIABLE
from handrail.source.suggestions import did_you_mean
from handrail.source.values import same, shown, typed_value
from handrail.view.rows.run_sections import answer_to_question, path_of_question

TASK = "task"


class WrongFields(HandrailError):
    """Answers or parameters that are not accepted, with the field of each."""

    code = "wrong"
    exit_code = 2

    def __init__(self, problems: list[AnswerProblem]) -> None:
        super().__init__("; ".join(problem.text for problem in problems))
        self.problems = problems


@dataclass(frozen=True, kw_only=True)
class LaunchForm:
    """A new run, as a person asks for it in a surface. `routes` are by group, as `AGENT` or `AGENT:MODEL`."""

    name: str
    task: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    agent: str | None = None
    model: str | None = None
    routes: Mapping[str, str] = field(default_factory=dict)
    preset: str = ""
    scope: str = ""
    start: str | None = None
    until: str | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)


def kind_of_param(param: Param) -> str:
    """How a param is filled in: `boolean`, `choice`, `number`, `json`, `text`, or `any` if the flow does not say."""
    if param.choices:
        return "choice"
    if param.name == TASK:
        return "text"
    match param.default:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "text"
        case list() | dict():
            return "json"
    return "any"


def declared_params(plan: FlowPlan) -> tuple[Param, ...]:
    """The params of a flow. If it declares none, those that it certainly reads."""
    if plan.params is not None:
        return plan.params
    return tuple(Param(name, required=True, default=None, about="") for name, *_ in plan.reads)


def request_of(app: App, flow: FoundFlow, form: LaunchForm) -> RunRequest:
    """The request that `Runs.begin` takes. Raises `WrongFields` with a problem for each field that is not accepted."""
    assert flow.plan is not None
    problems: list[AnswerProblem] = []
    params = _params(flow.plan, form, problems)
    limits = _limits(form.limits, problems)
    problems += _routes(app, form)
    bounds = Bounded(**app.settings.limits, places=app.settings.limit_places).with_later(Bounded(**limits))
    request = RunRequest(
        params=params,
        task=form.task if TASK not in params else "",
        scope=form.scope,
        agent=form.agent or None,
        model=form.model or None,
        routes={group: route for group, route in form.routes.items() if route},
        table=app.runs.presets.get(form.preset, {}),
        preset=form.preset,
        start=form.start or None,
        until=form.until or None,
        limits=bounds.named,
        limit_places=bounds.places,
    )
    problems += _parts(app, flow.plan, request)
    if problems:
        raise WrongFields(problems)
    return request


def _params(plan: FlowPlan, form: LaunchForm, problems: list[AnswerProblem]) -> dict[str, Any]:
    """The values of the params. Empty fields are left out, so that their defaults hold."""
    params = {param.name: param for param in declared_params(plan)}
    task = {TASK: form.task} if TASK in params and form.task else {}
    values: dict[str, Any] = {}
    for name, value in {**task, **form.params}.items():
        param = params.get(name)
        if param is None and plan.params is not None and not plan.is_foreign:
            close = did_you_mean(name, sorted(params))
            problems.append(AnswerProblem(name, "is not a param of this flow" + (f"; {close}" if close else ""), True))
        elif value is None or (isinstance(value, str) and not value.strip()):
            continue
        else:
            values[name] = _value(param, value, problems) if param is not None else _typed_value(value)
    if form.task and TASK not in params and plan.params is not None and not plan.is_foreign:
        problems.append(AnswerProblem(TASK, "is not taken by this flow"))
    missing_names = [name for name, param in params.items() if param.required and name not in values]
    wrong_fields = {problem.field for problem in problems}
    problems += [AnswerProblem(name, "is required") for name in missing_names if name not in wrong_fields]
    if plan.params is None and form.task:
        values.pop(TASK, None)
    return values


def _typed_value(value: Any) -> Any:
    return typed_value(value) if isinstance(value, str) else value


_KINDS: dict[str, tuple[type | UnionType, str]] = {
    "boolean": (bool, "true or false"),
    "number": (int | float, "a number"),
    "json": (list | dict, "a list or a mapping in JSON"),
}
"""The values of each kind of param, and their name."""


def _value(param: Param, value: Any, problems: list[AnswerProblem]) -> Any:
    kind, typed = kind_of_param(param), _typed_value(value)
    if kind == "text":
        return value if isinstance(value, str) else shown(value)
    if kind == "choice":
        for choice in param.choices:
            if same(value, choice) or same(typed, choice):
                return choice
        expectation = f"one of {', '.join(f'`{shown(choice)}`' for choice in param.choices)}"
    else:
        types, expectation = _KINDS.get(kind, (object, ""))
        if isinstance(typed, types) and (kind != "number" or not isinstance(typed, bool)):
            return typed
    text = json.dumps(value, ensure_ascii=False) if kind == "json" else shown(value)
    problems.append(AnswerProblem(param.name, f"has to be {expectation}, found `{text[:40]}`"))
    return typed


def _limits(fields: Mapping[str, Any], problems: list[AnswerProblem]) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    for name, value in fields.items():
        number, field_ = _typed_value(value), f"limits.{name}"
        if name not in BOUND_NAMES:
            problems.append(AnswerProblem(field_, f"is not a limit; there are {', '.join(BOUND_NAMES)}", True))
        elif isinstance(number, int | float) and not isinstance(number, bool) and 0 < number < float("inf"):
            limits[name] = number
        elif value is not None and value != "":
            problems.append(AnswerProblem(field_, f"has to be a number above 0, found `{str(value)[:40]}`"))
    return limits


def _routes(app: App, form: LaunchForm) -> Iterator[AnswerProblem]:
    """What is wrong with the chosen agents. `routes.GROUP` is the field of a route."""
    if form.preset:
        try:
            find_preset(app.runs.presets, form.preset)
        except UsageError as error:
            yield AnswerProblem("preset", f"is not a preset: {error.message}")
    if form.agent and not app.registry.has_executor(form.agent):
        yield AnswerProblem("agent", _no_agent(app.registry, form.agent))
    yield from wrong_routes(app.registry, form.routes)


def wrong_routes(registry: Registry, routes: Mapping[str, str]) -> Iterator[AnswerProblem]:
    """What is wrong with routes by group. Empty ones are left out."""
    for group, route in routes.items():
        if group not in (*GROUPS, DEFAULT):
            yield AnswerProblem(f"routes.{group}", f"is not a group; there are {', '.join((*GROUPS, DEFAULT))}", True)
        elif route:
            try:
                agent = parse_route(route).agent
            except ValueError:
                yield AnswerProblem(f"routes.{group}", f"has to be `AGENT` or `AGENT:MODEL`, found `{route[:40]}`")
                continue
            if not registry.has_executor(agent):
                yield AnswerProblem(f"routes.{group}", _no_agent(registry, agent))


def _no_agent(registry: Registry, name: str) -> str:
    return f"names no agent: `{name[:40]}`; {registry.executor_hint(name)}"


def _parts(app: App, plan: FlowPlan, request: RunRequest) -> Iterator[AnswerProblem]:
    """What is wrong with the phases and with the scope."""
    try:
        refuse_phases(plan, request)
    except UsageError as error:
        ids = [phase.id for phase in plan.phases]
        field_ = "start" if request.start is not None and request.start not in ids else "until"
        yield AnswerProblem(field_, f"is wrong: {error.message}")
    try:
        scope_of(request, app.project, app.runs.secrets, is_foreign=plan.is_foreign)
    except UsageError as error:
        yield AnswerProblem("scope", f"is wrong: {error.message}")


ResumeMode = Literal["resume", "continue", "restart"]


class LateAnswer(RefusedError):
    """Somebody else answered first, or the question has changed. `first_answer`: `by`, `at`, `verdict`, if known."""

    code = "late"

    def __init__(
        self, message: str, hint: str | None = None, *, has_changed: bool, first_answer: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, hint)
        self.has_changed = has_changed
        self.first_answer = first_answer


class Actions:
    """The actions of one surface. Each raises `HandrailError` if it is refused, and then nothing has changed."""

    def __init__(self, app: App, surface: str) -> None:
        self.app = app
        self.surface = surface

    def refuse(self, action: str, *, run: str | None = None, session: str | None = None) -> None:
        """Raise `RefusedError` if an agent or a run started this surface. The run or the session gets a notice.

        Not to be called in an event loop, because it may have to write the notice.
        """
        self.app.refuse_agents(f"{self.surface}: {action}", run=run, session=session)

    def launch(self, form: LaunchForm) -> str:
        """Begin a run and drive it in the background. Returns its id. Raises `WrongFields`."""
        self.refuse("launch")
        app = self.app.reread()
        flow = app.definitions.flow_named(form.name)
        app.check_settings()
        request = request_of(app, flow, form)
        app.trust.refuse(lambda: app.definitions.programs_of_flow(flow))
        run = app.runs.begin(app.flows, flow, request, f"r-{app.token()}")
        self._drive(run.id, "resume", "--first")
        return run.id

    def resume(self, id_: str, mode: ResumeMode, start: str | None = None) -> None:
        """Resume, continue or restart a run in the background. `start` is the phase from which it is restarted.

        What that process would refuse is raised here, because nobody sees what it prints.
        """
        self.refuse(mode, run=id_)
        run = self.app.runs.load(id_)
        if run.driver is not None:
            raise RefusedError(f"run `{id_}` is driven by process {run.driver}", "wait for its end, or stop it")
        self.app.trust.refuse(lambda: programs_of_run(run))
        app = self.app.reread()
        app.check_settings()
        if mode == "restart":
            flows = app.definitions.with_shipped(run.about.flow)
            refuse_restart(app.runs, flows, app.definitions.flow_of_run, run, start)
        elif run.records:
            resume_event(id_, run.state, run.plan, mode)
        self._drive(id_, mode, *(["--from", start] if start is not None else []))

    async def answer(self, id_: str, question: str, digest: str, values: Mapping[str, object]) -> None:
        """Give the answer to a question. It counts only if the question is still open, and still the same.

        A yes to something that has changed since it was asked is refused, and the run asks again.
        """
        await asyncio.to_thread(self.refuse, "answer", run=id_)
        run = self.app.runs.load(id_)
        if question in run.state.closed:
            raise _late_answer(run, question)
        refuse_unless_waiting(id_, run.state, is_driven=run.driver is not None)
        open_question = next((one for one in run.state.questions.values() if one.id == question), None)
        if open_question is None or open_question.input != digest:
            raise LateAnswer("the question has changed since you opened it", has_changed=True)
        self.app.trust.refuse(lambda: programs_of_run(run))
        self.app.reread().check_settings()
        try:
            answers = accept(form_params.form_from(open_question.question), values)
        except WrongAnswers as error:
            raise WrongFields(error.problems) from error
        try:
            await refuse_changed(self.app.runs, run, open_question, answers)
        except ChangedError as error:
            if error.can_ask_again and await self.app.runs.engine.ask_again(id_):
                self._drive(id_, "resume", "--answered")
            raise LateAnswer(error.message, error.hint, has_changed=True) from error
        try:
            has_no_driver = await self.app.runs.answer(run, question, answers, self.surface)
        except RefusedError as error:
            run = self.app.runs.load(id_)  # somebody stopped it, or gave another answer
            is_open = any(open_question.id == question for open_question in run.state.questions.values())
            if is_open and run.state.status != "waiting" and run.driver is None:
                raise
            raise _late_answer(run, question) from error
        if has_no_driver:
            self._drive(id_, "resume", "--answered")

    def answer_session(self, id_: str, question: str, digest: str, values: Mapping[str, object]) -> None:
        """Give the answer to what a session asks. It counts only if it still asks that."""
        self.refuse("answer", session=id_)
        state = self.app.sessions.status(id_).state
        form = question_form(state)
        if form is None or (form["formId"], state.task_id) != (question, digest):
            raise LateAnswer("the session does not ask this any more", has_changed=True)
        try:
            answers = accept(form_params.form_from(form), values)
        except WrongAnswers as error:
            raise WrongFields(error.problems) from error
        _refuse_if(self.app.sessions.answer_form(id_, answers))

    async def stop(self, id_: str) -> None:
        """Stop a run and everything that it started."""
        await asyncio.to_thread(self.refuse, "stop", run=id_)
        await self.app.runs.stop(self.app.runs.load(id_))

    def claim(self, id_: str, question: str) -> bool:
        """True if this surface is the first that shows an open question on the desktop. Nobody else does it then."""
        self.refuse("told", run=id_)
        notifier, desktop = Notifier(self.app.runs), Channel("desktop")
        alerts = (alert for alert in open_question_alerts(self.app.runs.load(id_)) if alert.key == f"need.{question}")
        return any(notifier.is_first(alert, desktop) for alert in alerts)

    def cancel(self, session: str) -> None:
        """Cancel the workflow of a session. The person has confirmed it."""
        self.refuse("cancel", session=session)
        self.app.sessions.choose(session)
        _refuse_if(self.app.cancel(session, confirmed=True))

    def go_to(self, session: str, phase: str = "", reason: str = "") -> None:
        """Move a session to a phase, by its number. The agent is told the reason."""
        self.refuse("goto", session=session)
        if not reason.strip():
            raise WrongFields([AnswerProblem("reason", "is required")])
        _refuse_if(self.app.sessions.go_to(session, phase, self.app.secrets.mask(reason.strip())))

    def reload(self, session: str) -> None:
        """Continue a session with the files of its workflow as they are now, in the same phase."""
        self.refuse("reload", session=session)
        _refuse_if(self.app.reread().reload(session))

    def _drive(self, id_: str, command: str, *options: str) -> None:
        argv = [sys.executable, "-P", "-m", "handrail", "--project", self.app.project, command, id_, *options]
        trusted = {TRUST_VARIABLE: "1"} if self.app.trust.is_for_call else {}  # the surface is the call
        start_detached(argv, {**self.app.env, **trusted}, self.app.runs.engine.log(id_))


def _late_answer(run: LoadedRun, question: str) -> LateAnswer:
    """Why an answer comes too late: who gave another one and when, or that the question was asked again."""
    if path_of_question(run.records, question) in run.state.questions:
        return LateAnswer("what was asked has changed meanwhile, so it is asked again", has_changed=True)
    if run.state.closed.get(question) == "withdrawn":
        return LateAnswer(f"question `{question}` was withdrawn meanwhile", has_changed=True)
    answer = answer_to_question(run.records, question)
    if answer is None:
        return LateAnswer(f"question `{question}` already has an answer", has_changed=False)
    words = f"was {answer['verdict']} meanwhile" + (f" in {answer['by']}" if answer["by"] else "")
    return LateAnswer(f"question `{question}` {words}", has_changed=False, first_answer=answer)


def _refuse_if(report: SessionReport) -> None:
    if report.refusal is not None:
        raise RefusedError(report.refusal.reason)
