"""Runs a flow's plan. It uses no clock, no files and no processes itself: everything goes through `Durable`.

Read it top to bottom: a flow runs its phases, a phase its steps, and a step does `when`, then tries: params → prompt →
node → expect → after → publish → `stopFlowIf`. `Durable` returns the results of work that had finished before a crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from typing import Any

from handrail.driven.artifacts.names import NOT_PROVIDED
from handrail.driven.expressions.tree import Const, Every, Expression, ExpressionScope, error_with_place
from handrail.driven.flows import results
from handrail.driven.flows.keys import MAX_DEPTH
from handrail.driven.flows.plan import AfterAction, FlowFinder, FlowPlan, Phase, Prompt, Step, groups_of, path_segment
from handrail.driven.flows.prompts import OPTIONAL_FILE, compose_prompt, language_part, without_missing
from handrail.driven.runs import proof, run_events
from handrail.driven.runs.agentweaver import nested_params
from handrail.driven.runs.proof import Before, RoundResults, existing_outputs, made_by, output_of
from handrail.driven.runs.run_rules import refuse_rerun, refuted_form
from handrail.driven.runs.state import RERUN
from handrail.extensions.contracts import Done, Durable, Exhausted, LastingError, NodeError, StepAttempts, Work
from handrail.settings.secrets import SECRET_MISSING, has_lost, refuse_lost
from handrail.source.output_text import last_lines
from handrail.source.plain_text import counted
from handrail.source.templates import fill
from handrail.source.values import Unresolved, as_joined_text, as_text, is_true

FlowStop = tuple[str, str] | None


PROMPT_PLACE = "before.prompt"
"""The place of which optional files of a prompt exist: found before the first attempt, and kept for all of them."""


class NeedsFact(Exception):
    """An expression needs a fact about the world that is not recorded yet: its kind and subject."""


class Resolver:
    """The values of one flow: its parameters, its constants, its context and the results of its steps."""

    def __init__(self, durable: Durable, plan: FlowPlan) -> None:
        self.durable = durable
        self.plan = plan
        self.params: dict[str, Any] = {}
        self.context: dict[str, Any] = {}
        self.steps: results.Results = {}
        self.has_lost = False
        self._items: dict[str, dict[str, Any]] = {}

    def keep(self, phase: Phase, step: Step, value: Any) -> None:
        self.has_lost = self.has_lost or has_lost(value)
        self.steps[phase.id][step.id] = results.result(value)

    async def resolve(
        self, expression: Expression, phase: Phase, path: str, place: str, *, is_recalled: bool = False
    ) -> Any:
        """The value of an expression. `place` names the part of the step at `path` that contains it.

        Raises `Unresolved` if the value needs a secret that is not set any more, unless the step is only recalled.
        """
        if isinstance(expression, Const):
            return expression.value
        repeat = phase.rounds if not phase.items else {**phase.rounds, **await self._items_of(phase, path)}
        return await self._find(expression, repeat, path, place, is_recalled=is_recalled)

    async def resolve_guard(self, guard: Expression, phase: Phase, path: str, place: str = "repeat") -> Any:
        """The value of the guard of a round. It is resolved before the item of the round is known."""
        return await self._find(guard, phase.rounds, path, place)

    async def _items_of(self, phase: Phase, path: str) -> dict[str, Any]:
        """The items of this round of a repeat; resolved once."""
        if phase.id not in self._items:
            found: dict[str, Any] = {}
            for name, expression in phase.items:
                found[name] = await self._find(expression, {**phase.rounds, **found}, path, f"repeat.{name}")
            self._items[phase.id] = found
        return self._items[phase.id]

    async def _find(
        self, expression: Expression, repeat: dict[str, Any], path: str, place: str, *, is_recalled: bool = False
    ) -> Any:
        facts: dict[tuple[str, str], Any] = {}

        def fact(kind: str, subject: str) -> Any:
            if (kind, subject) not in facts:
                raise NeedsFact(kind, subject)
            return facts[kind, subject]

        values = {
            "params": self.params,
            "flow": self.plan.constants,
            "context": self.context,
            "repeat": repeat,
            "steps": self.steps,
        }
        scope = ExpressionScope(
            values,
            lambda path: bool(fact("exists", path)),
            lambda wanted: str(fact("artifact", wanted.to_text())),
            lambda wanted: list(fact("artifacts", wanted.to_text())),
            refuse_lost if self.has_lost and not is_recalled else None,
        )
        while True:
            try:
                return expression.resolve(scope)
            except NeedsFact as need:
                kind, subject = need.args
                facts[kind, subject] = await self.durable.fact(path, place, kind, subject)
            except Unresolved as error:
                raise error_with_place(error, expression, place) from error


class FlowFailed(Exception):
    """A step failed. Holds the path of the step and the reason."""

    def __init__(self, path: str, code: str, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.code = code
        self.message = message


class Interpreter:
    """Runs one flow. A nested flow gets its own interpreter, with a path below the path of its step.

    `same`: in how many rounds of a repeat a check may fail in the same way, if the repeat does not say.
    """

    def __init__(self, durable: Durable, plan: FlowPlan, find: FlowFinder, depth: int = 0, same: int = 0) -> None:
        self.durable = durable
        self.plan = plan
        self.find = find
        self.depth = depth
        self.same = same
        self.rounds = RoundResults(plan, lambda: self.values.steps, self.at)
        self.base = ""
        self.context: dict[str, Any] = {}
        self.values = Resolver(durable, plan)
        self.used: dict[str, list[str]] = {}
        self.left_out: set[str] = set()

    @cached_property
    def _uses_published(self) -> bool:
        """True if the flow uses what nested flows published. Most do not, and are looked through only once."""
        references = results.references_of(*results.expressions_of(self.plan.phases))
        return any(results.PUBLISHED in names for names in references)

    def prepare(self, params: dict[str, Any], context: dict[str, Any], base: str = "") -> None:
        self.base, self.context, self.values.params = base, context, params
        env = {name: value for name, value in context.get("env", {}).items() if name in self.plan.env}
        self.values.context = {**context, "env": env}
        self.values.has_lost = has_lost([params, self.values.context])
        self.values.steps = {
            phase.id: {step.id: results.pending() for step in phase.steps} for phase in self.plan.phases
        }

    async def run(self, until: str | None = None) -> results.FlowResult:
        """Run the flow, or its phases up to `until`. `prepare` was called."""
        stopped: FlowStop = None
        async with self.durable.limit(self.base.rstrip("/"), self.plan.timeout):
            for group in groups_of(self.plan.phases):
                if stopped is None:
                    stopped = await self._group(group)
                else:
                    for phase in group:
                        self.durable.note(run_events.PhaseSkipped(self.at(phase), "the flow stopped earlier"))
                if until is not None and stopped is None and any(phase.id == until for phase in group):
                    return results.FlowResult(None, "success", self.values.steps, group[-1] is not self.plan.phases[-1])
        by, outcome = stopped or (None, "success")
        return results.FlowResult(by, outcome, self.values.steps)

    def at(self, phase: Phase, step: Step | None = None) -> str:
        path = self.base + path_segment(phase.id)
        return path if step is None else f"{path}/{path_segment(step.id)}"

    async def _group(self, group: list[Phase]) -> FlowStop:
        lane = group[0].lane
        if lane is None:
            return await self._phase(group[0])
        lanes: dict[int, list[Phase]] = {}
        for phase in group:
            if phase.lane is not None:
                lanes.setdefault(phase.lane.number, []).append(phase)
        how = self.plan.groups[lane.group]
        works = [partial(self._lane, phases) for phases in lanes.values()]
        return _first(await self.durable.together(works, how.limit, how.on_failure))

    async def _lane(self, phases: list[Phase]) -> FlowStop:
        stopped: FlowStop = None
        for phase in phases:
            if stopped is None:
                stopped = await self._phase(phase)
            else:
                self.durable.note(run_events.PhaseSkipped(self.at(phase), "the flow stopped earlier"))
        return stopped

    async def _phase(self, phase: Phase) -> FlowStop:
        try:
            stopped = await self.phase(phase)
            if stopped is None and phase.id not in self.left_out:
                await self._check_bounds(phase)
            return stopped
        except (Unresolved, NodeError) as error:
            raise FlowFailed(self.at(phase), error.code, error.message) from error

    async def phase(self, phase: Phase) -> FlowStop:
        """Run a phase. Returns (the step that stopped the flow, outcome), or None if the flow continues."""
        path = self.at(phase)
        known = self.durable.done(path)
        if known is None and not await self._is_wanted(phase, path):
            for step in phase.steps:
                self.durable.note(run_events.StepSkipped(self.at(phase, step)))
            self.durable.note(run_events.PhaseSkipped(path, "its condition does not hold"))
            known = Done("skipped")
        if known is not None and known.status == "skipped":
            if known.is_left_out:
                self.left_out.add(phase.id)
            self.values.steps[phase.id] = {step.id: results.skipped() for step in phase.steps}
            return None
        self.durable.note(run_events.PhaseStarted(path))
        async with self.durable.limit(path, phase.timeout):
            stopped = await self._steps(phase, is_done=known is not None)
        self.durable.note(run_events.PhaseDone(path))
        return stopped

    async def _check_bounds(self, phase: Phase) -> None:
        """Fail if a repeat ends with this phase and its `until` never held."""
        for bound in phase.bounds:
            if not self._counts(bound.conditions[-1]):
                continue  # what the last `until` is about was left out
            exhausted = Every(tuple(filter(self._counts, bound.conditions)), True)
            if is_true(await self.values.resolve_guard(exhausted, phase, self.at(phase), "until")):
                raise LastingError("repeat-exhausted", bound.message)

    async def _is_wanted(self, phase: Phase, path: str) -> bool:
        """True if the guards and the condition of a phase hold."""
        for guard in filter(self._counts, phase.guards):
            if not is_true(await self.values.resolve_guard(guard, phase, path)):
                return False
        return phase.when is None or is_true(await self.values.resolve(phase.when, phase, path, "when"))

    def _counts(self, condition: Expression) -> bool:
        """False if a condition of a repeat is about a round that was left out by `--from`."""
        return not self.left_out or self.left_out.isdisjoint(results.phases_read(condition))

    async def _steps(self, phase: Phase, *, is_done: bool) -> FlowStop:
        if phase.parallel.limit > 1 or phase.parallel.on_failure == "finish":
            works: list[Callable[[], Awaitable[Any]]] = [partial(self.step, phase, step) for step in phase.steps]
            return _first(await self.durable.together(works, phase.parallel.limit, phase.parallel.on_failure))
        for step in phase.steps:
            if is_done and self.durable.done(self.at(phase, step)) is None:
                continue  # the flow stopped before this step
            if stopped := await self.step(phase, step):
                return stopped
        return None

    async def step(self, phase: Phase, step: Step) -> FlowStop:
        path = self.at(phase, step)
        known = self.durable.done(path)
        if known is None:
            self.durable.note(run_events.StepStarted(path))
        try:
            return await self._recalled(phase, step, known) if known else await self._work(phase, step, path)
        except (Unresolved, NodeError) as error:
            output = error.output if isinstance(error, NodeError) else ""
            self.durable.note(run_events.StepFailed(path, error.code, error.message, last_lines(output) or None))
            raise FlowFailed(path, error.code, error.message) from error
        except Exhausted as error:
            self.durable.note(run_events.StepFailed(path, "cancelled", str(error)))
            raise
        except asyncio.CancelledError as error:
            why = f"cancelled because `{error.args[0]}` failed" if error.args and error.args[0] else "cancelled"
            self.durable.note(run_events.StepFailed(path, "cancelled", why))
            raise

    async def _recalled(self, phase: Phase, step: Step, known: Done) -> FlowStop:
        """Take the result of a finished step. A nested flow is interpreted again; all its results are known too."""
        if known.status == "skipped":
            self.values.steps[phase.id][step.id] = results.skipped()
            return None
        value = known.value if step.declared.nests is None else results.with_copies(known.value)
        if not known.has_value:
            path = self.at(phase, step)
            value = await self.node(phase, step, path, self.durable.tried(path), is_recalled=True)
        self.values.keep(phase, step, value)
        return (f"{phase.id}:{step.id}", step.stop_outcome) if known.stop else None

    async def _work(self, phase: Phase, step: Step, path: str) -> FlowStop:
        resolve = self.values.resolve
        if step.when is not None and not is_true(await resolve(step.when, phase, path, "when")):
            self.values.steps[phase.id][step.id] = results.skipped()
            self.durable.note(run_events.StepSkipped(path))
            return None
        before = await existing_outputs(self.values, phase, step, path) if step.makes else {}
        stop = await self._attempts(phase, step, path, before)
        self.durable.note(run_events.StepDone(path, stop))
        return (f"{phase.id}:{step.id}", step.stop_outcome) if stop else None

    async def _attempts(self, phase: Phase, step: Step, path: str, before: Before) -> bool:
        """Try a step until its node and its proof succeed. Returns whether the step stops the flow.

        If the node had finished in an earlier life, first only its proof is looked at. The attempts of earlier lives
        count, until the step fails: when it is tried again after that, it gets all its attempts anew.
        """
        tried, again = self.durable.tried(path), False
        rounds = 0 if tried.is_over else tried.failures // step.retry.attempts  # killed before the step could fail
        spent = rounds * step.retry.attempts
        is_over = tried.is_over or spent > 0
        looks = tried.is_refuted
        if is_over and not looks:
            self._tell_anew(step, path)
        while True:
            if not looks:
                await self.durable.rest(path)
            is_proving = False
            try:
                value = await self.node(phase, step, path, tried, again=again)
                is_proving = True
                self.values.keep(phase, step, value)
                return await self._prove(phase, step, path, before)
            except NodeError as failure:
                error = failure
                if is_proving and not error.output:
                    error.output = as_text(output_of(self.values, phase, step, "output") or "")
            except Unresolved as failure:
                if not is_proving or failure.code == SECRET_MISSING:
                    raise  # without its secret the proof cannot be looked at, so the finished work is not done again
                error = LastingError(failure.code, failure.message)
            if looks and is_proving:
                if is_over:
                    await self._allow_again(step, path, error)
                    self._tell_anew(step, path)
            else:
                if self.durable.tried(path).total == tried.total and (is_proving or error.transient):
                    self.durable.note(run_events.AttemptFailed(path, error.code, error.message, is_proving))
                await self._wait_for_next(step, path, error, spent)
            looks, again, tried = False, is_proving, self.durable.tried(path)

    async def _wait_for_next(self, step: Step, path: str, error: NodeError, spent: int) -> None:
        """Wait for the next attempt after a failed one. Raises the error if there is none."""
        used = self.durable.tried(path).failures - spent
        if not error.transient or used >= step.retry.attempts:
            raise error
        await self.durable.pause(path, step.retry.wait * step.retry.factor ** (used - 1), error.message)

    async def _allow_again(self, step: Step, path: str, error: NodeError) -> None:
        """Raises the error if a step whose proof does not hold must not run again. May ask a person."""
        if step.policy == "safe":
            return
        if step.policy == "never":
            raise refuse_rerun(path, error)
        question = refuted_form(path, self.durable.tried(path).total, error.message)
        if (await self.durable.ask(path, question)).get(RERUN) != "again":
            raise error

    def _tell_anew(self, step: Step, path: str) -> None:
        if step.retry.attempts > 1:
            failed = counted(self.durable.tried(path).total, "attempt")
            notice = f"{failed} failed before; from here it gets {step.retry.attempts} attempts again"
            self.durable.note(run_events.Noticed(path, notice))

    async def _prove(self, phase: Phase, step: Step, path: str, before: Before) -> bool:
        """Look at the proof of a step: `expect`, `after` and `makes`. Returns whether the step stops the flow."""
        if step.expect:
            await proof.check_expectations(self.values, phase, step, path)
        self.rounds.refuse_same(phase, step, self.same)
        for number, action in enumerate(step.after):
            await self.run_after(phase, action, path, f"after.{number}")
        declared = step.declared
        if declared.summary and isinstance(summary := output_of(self.values, phase, step, declared.summary), str):
            self.durable.note(run_events.SummarySet(summary))
        if files := await made_by(self.values, phase, step, path, before):
            await self.durable.publish(path, files, self.used.get(path, []))
        if declared.stops and output_of(self.values, phase, step, declared.stops) is True:
            return True
        return step.stop_if is not None and is_true(await self.values.resolve(step.stop_if, phase, path, "stopFlowIf"))

    async def node(
        self,
        phase: Phase,
        step: Step,
        path: str,
        tried: StepAttempts,
        *,
        again: bool = False,
        is_recalled: bool = False,
    ) -> Any:
        """The result of the node of a step, or of its nested flow. One attempt, without the proof."""
        resolve = partial(self.values.resolve, is_recalled=is_recalled)
        params = {
            name: value.value if isinstance(value, Const) else await resolve(value, phase, path, f"params.{name}")
            for name, value in step.params.items()
        }
        prompt = await self.prompt(step.prompt, phase, path) if step.prompt is not None else None
        if step.makes or step.declared.published:
            self.used[path] = [*self.used.get(path, ()), *results.short_texts(params)]
        if step.declared.nests is not None:
            value = await self._nested(step, params, path, tried, again=again)
            is_used = self._uses_published and results.PUBLISHED in results.outputs_read(self.plan, phase.id, step.id)
            more = {results.PUBLISHED: results.published_by(self.durable.published, path)} if is_used else {}
            return {**value, **more}
        default = {name: await resolve(value, phase, path, f"default.{name}") for name, value in step.default.items()}
        work = Work(
            path=path,
            node=step.node,
            params=params,
            prompt=prompt,
            own_checks=step.expect is None,
            timeout=step.timeout,
            rerun=step.rerun,
            group=step.routing_group,
            reads=results.outputs_read(self.plan, phase.id, step.id) if tried.is_interrupted else (),
            fallback={"deadline": step.deadline, "default": default} if step.deadline else {},
        )
        return await self.durable.node(work, again=again)

    async def _nested(self, step: Step, params: dict[str, Any], path: str, tried: StepAttempts, *, again: bool) -> Any:
        """Run a nested flow as one attempt. Its finished steps run again only if its proof did not hold (`again`).

        The paths of its steps begin with this step's path; its result says how it ended.
        """
        if tried.failures and self.durable.done(path) is None and (again or not tried.is_refuted):
            self.durable.note(run_events.AttemptStarted(path, tried.total + 1, again))
        name = as_text(params.get(step.declared.nests or "", ""))
        child = self.find(name)
        if child is None:
            raise LastingError("flow-missing", f"there is no flow `{name}`")
        if self.depth >= MAX_DEPTH:
            raise LastingError("flow-depth", f"flows are nested deeper than {MAX_DEPTH}")
        inputs = {key: value for key, value in params.items() if key != step.declared.nests}
        async with self.durable.limit(path, step.timeout):
            if child.is_foreign:
                inputs = await nested_params(self.durable, child, inputs, path)
            inner = Interpreter(self.durable, child, self.find, self.depth + 1, self.same)
            inner.prepare(results.with_defaults(child, inputs), self.context, f"{path}/")
            try:
                ended = await inner.run()
            except FlowFailed as error:
                raise NodeError(error.code, error.message) from error
        self.rounds.nested[path] = inner.rounds.whole()
        return results.nested_flow_result(child, ended)

    async def prompt(self, prompt: Prompt, phase: Phase, path: str) -> str:
        values = [await self.values.resolve(value, phase, path, "prompt") for value in prompt.values]
        self.used[path] = list(results.short_texts(values))
        given = dict(zip(prompt.names, values, strict=True))
        for name, value in given.items() if OPTIONAL_FILE in prompt.text else ():
            if name.endswith(OPTIONAL_FILE) and value not in (None, "", NOT_PROVIDED):
                exists = await self.durable.fact(path, PROMPT_PLACE, "exists", as_text(value))
                given[name] = value if exists else None
        text = without_missing(prompt.text, given)
        body = fill(text, {name: as_joined_text(value) for name, value in given.items()})
        extra = None if prompt.extra is None else await self.values.resolve(prompt.extra, phase, path, "extraPrompt")
        language = language_part(self.context.get("language"), is_foreign=self.plan.is_foreign)
        return compose_prompt(body, ["" if extra is None else as_text(extra), language], is_plain=prompt.plain)

    async def run_after(self, phase: Phase, action: AfterAction, path: str, place: str) -> None:
        if action.when is not None and not is_true(await self.values.resolve(action.when, phase, path, place)):
            return
        source = as_text(await self.values.resolve(action.params["path"], phase, path, place))
        text = await self.durable.look("text", source)
        if text is None:
            raise NodeError("file-missing", f"the step did not make `{source}`")
        self.durable.note(run_events.SummarySet(str(text).strip()))


def _first(stops: list[Any]) -> FlowStop:
    return next((stop for stop in stops if stop is not None), None)
