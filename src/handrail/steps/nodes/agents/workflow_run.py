"""`workflow-run`: drives an agent through a workflow in guided mode, without a terminal, until it is done.

The hooks enforce the phases. If the agent stops too early or its program dies, it is called again in the same
conversation, as long as it makes progress. If it says that it is blocked, the run asks a person. If the
workflow ended and its result was not accepted, it is started again in a new conversation, and the agent is told what
was missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import Counter
from typing import Any

from handrail.base.dataclasses import replace
from handrail.base.errors import StateError
from handrail.driven.forms import form_params
from handrail.extensions.contracts import AgentJob, AgentSaid, Guide, GuideStatus, LastingError, Node, NodeContext, Work
from handrail.source.fields import SCALARS, Field
from handrail.source.values import as_text
from handrail.steps.nodes.agents import agent_jobs

NODE = Node(
    about="Drives an agent through a workflow, with its gates and checks, until it is done.",
    params=(
        Field(
            "workflow",
            ("text",),
            "the workflow: its key or its command name",
            required=True,
            shortest=1,
            names="workflow",
        ),
        Field("task", SCALARS, "the task of the workflow"),
        agent_jobs.EXECUTOR,
        agent_jobs.MODEL,
        agent_jobs.PERMISSION,
    ),
    outputs={
        "session": "the session of the workflow",
        "status": "how it ended",
        "steps": "how many steps it took",
        "summaries": "the agent's summary of each phase",
        "executor": "the agent",
        "model": "the requested model; null if none was requested",
        "sessionId": "the agent's conversation",
        "calls": "how often the agent was called",
        "denied": "how many tool calls were denied",
    },
    routed=True,
)
LOOK_AGAIN = 0.2
OPEN = ("active", "waiting")
STOPPED = "it stopped before the workflow was done"
GO_ON = "You were interrupted. Continue the workflow at its current phase."


async def run(work: Work, context: NodeContext) -> Any:
    guide, agent = context.guide, agent_jobs.choose_agent(work, context)
    executors = context.registry.executors()
    names = [name for name in context.registry.hosts() if name in executors]
    if guide is None or agent.route.agent not in names:
        message = f"`{agent.route.agent}` cannot run a workflow yet; these agents can: {', '.join(names)}"
        raise LastingError("agent-unguided", message)
    host = _latest(guide, agent.route.agent, context)
    status, correction = guide.standing(host), agent_jobs.correction_text(context)
    if status is not None and status.status not in OPEN and context.failure is not None:
        host = (agent.route.agent, _conversation(context, context.failures))  # it had ended: begin again
        status = guide.standing(host)
    if status is not None:
        prompt = f"{GO_ON}\n\n{status.message}"
    else:
        status = guide.begin(work.params["workflow"], as_text(work.params.get("task") or ""), host, context.run)
        correction_note = "" if correction is None else f"\n\nThis workflow was done before. {correction}"
        prompt = status.message + correction_note
    job = agent_jobs.job_for(agent, work, context, prompt)
    job = replace(job, stubs=replace(guide.stubs, conversation=host[1]))
    outputs = await WorkflowDriver(agent, guide, context, host).drive(job, status)
    ended = guide.standing(host)
    if work.own_checks and ended is not None and ended.is_denied:
        raise agent_jobs.denied_error(agent.route.agent, Counter(tool for tool, _ in ended.denied))
    return outputs


def _latest(guide: Guide, agent: str, context: NodeContext) -> tuple[str, str]:
    """The newest conversation of this step that exists, else the first one."""
    for failures in range(context.failures, -1, -1):
        host = (agent, _conversation(context, failures))
        if guide.standing(host) is not None:
            break
    return host


def _conversation(context: NodeContext, failures: int) -> str:
    """The id of a conversation that does not exist yet. A workflow that had ended is begun again in another one."""
    suffix = f"#{failures}" if failures else ""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"handrail:{context.project}:{context.key}{suffix}"))


class WorkflowDriver:
    """Calls one agent until it has finished one workflow."""

    def __init__(
        self, agent: agent_jobs.ChosenAgent, guide: Guide, context: NodeContext, host: tuple[str, str]
    ) -> None:
        self.agent = agent
        self.guide = guide
        self.context = context
        self.host = host
        self.news = guide.follow(host)
        self.denied = 0
        self.calls = 0
        self.is_heard = False
        self.has_failed = False

    async def drive(self, job: AgentJob, status: GuideStatus) -> dict[str, Any]:
        """The outputs of the step. What happens in the session is told while the agent works."""
        self._tell_news()
        self.has_failed = False  # what happened before this call does not count
        following = asyncio.ensure_future(self._follow())
        try:
            status = await self._until_done(job, status)
        finally:
            following.cancel()
            self._tell_news()
        if status.status != "done":
            raise LastingError(status.status, status.message.partition("\n")[0])
        return {
            "session": status.session,
            "status": status.status,
            "steps": status.steps,
            "summaries": status.summaries,
            "executor": self.agent.route.agent,
            "model": self.agent.route.model,
            "sessionId": self.host[1],
            "calls": self.calls,
            "denied": self.denied,
        }

    async def _until_done(self, job: AgentJob, status: GuideStatus) -> GuideStatus:
        idle = 0
        context = replace(self.context, tell=self._tell)
        while status.status in OPEN:
            if status.asks is not None:  # raises `Waiting` until a person has answered
                form = form_params.to_json(form_params.form_from(status.asks))
                self.guide.answer(self.host, (await self.context.ask(form)).values)
                status, idle = self._status(), 0
                job = replace(job, prompt=status.message)
                continue
            thread = self.guide.thread(self.host)
            fresh = self.host[1] if thread is None else None
            result = await agent_jobs.run_job(self.agent, replace(job, session=thread, new_session=fresh), context)
            self._tell_news()
            self.calls += 1
            steps, before, status = status.steps, len(status.denied), self._status()
            self._tell_denied(status.denied[before:], result["denied"])
            error = agent_jobs.outcome_error(result)
            if status.status not in OPEN:
                break
            if status.asks is not None:
                continue
            if error is not None and result["outcome"] != "crash":
                raise error
            idle = 0 if status.steps > steps else idle + 1
            if idle > self.guide.idle_stops:
                reason = error.message if error is not None else "it stopped repeatedly without progress"
                raise LastingError("stuck", f"{status.status_line}: {reason}")
            job = replace(job, prompt=f"{GO_ON}\n\n{status.message}" if error is not None else status.message)
            self.context.tell(AgentSaid("again", {"message": error.message if error is not None else STOPPED}))
        return status

    def _tell(self, event: AgentSaid) -> None:
        """Pass on what the agent does. Ends it if it goes in circles, and if its hooks have not called Handrail."""
        self.context.tell(event)
        if self.has_failed:
            self.has_failed = False
            status = self._status()
            if status.warnings > self.guide.idle_stops:
                reason = f"its exit checks failed in the same way {status.same_failures} times in a row"
                raise LastingError("same-failure", f"{status.status_line}: {reason}")
        if event.kind == "session":
            self.guide.set_thread(self.host, str(event.data["id"]))
        if event.kind != "tool" or self.is_heard:
            return
        self.is_heard = self.guide.is_heard(self.host)
        if not self.is_heard:
            agent = self.agent.route.agent
            message = f"`{agent}` did not call Handrail's hooks, so the workflow is not enforced; `{agent}` was stopped"
            raise LastingError("unguarded", f"{message} (do its settings switch hooks off?)")

    def _tell_denied(self, denied: tuple[tuple[str, str], ...], told: int) -> None:
        """Tell the denied calls of a call of the agent. Some agents have told them, or more, themselves."""
        self.denied += max(told, len(denied))
        for tool, reason in denied[told:]:
            self.context.tell(AgentSaid("denied", {"name": tool, "reason": reason}))

    async def _follow(self) -> None:
        while True:
            self._tell_news()
            await asyncio.sleep(LOOK_AGAIN)

    def _tell_news(self) -> None:
        with contextlib.suppress(StateError, ValueError, KeyError):  # `_status` reports a session that is damaged
            for news in self.news():
                self.context.tell(AgentSaid("guided", {"news": news}))
                self.has_failed = self.has_failed or news.kind == "check-failed"

    def _status(self) -> GuideStatus:
        status = self.guide.standing(self.host)
        if status is None:
            raise LastingError("session-lost", "the session of this workflow does not exist any more")
        return status
