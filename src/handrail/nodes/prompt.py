"""`llm-prompt`, `codex-prompt`, `opencode-prompt`: give a prompt to an agent and wait until it is done.

What it promised to write has to be there afterwards: an agent's word is not enough. A conversation that was cut off
is taken up again in its own session.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import Any

from handrail.artifacts.schemas import problems_of
from handrail.contracts import AgentSaid, NodeContext, NodeError, Work
from handrail.nodes.asking import chosen, failure, job_for, performed

RERUN = "safe"
PAUSES = (1.0, 4.0)
GO_ON = "You were cut off while you worked on this. Look at what is there already, and finish it; begin nothing anew."
_TOLD = ("executor", "model", "sessionId", "usage", "denied", "output", "result")


async def run(work: Work, context: NodeContext) -> Any:
    agent = chosen(work, context)
    prompt = work.prompt or str(work.params.get("prompt") or "")
    session = work.params.get("session")
    if context.session is not None and context.session[0] == agent.route.agent:
        session, prompt = context.session[1], f"{GO_ON}\n\n{prompt}"
    job = replace(job_for(agent, work, context, prompt), session=None if session is None else str(session))
    found = await performed(agent, job, context)
    for pause in PAUSES:
        if found["outcome"] != "unavailable":
            break
        context.tell(AgentSaid("retry", {"message": f"{found['message']}; again in {pause:g} s"}))
        await asyncio.sleep(pause)
        known = found["sessionId"] or job.session
        found = await performed(agent, replace(job, session=known, prompt=prompt if known is None else GO_ON), context)
    wrong = failure(found)
    if wrong is not None:
        raise wrong
    _refuse_missing(work, context)
    if job.schema is not None and (problems := problems_of(job.schema, found.get("result"))):
        raise NodeError("answer", f"{found['executor']}: its answer is not as asked: {'; '.join(problems)}")
    return {name: found[name] for name in _TOLD if name in found}


def _refuse_missing(work: Work, context: NodeContext) -> None:
    """Where the step does not say what to expect, what the agent had to write is looked for here."""
    wanted = work.params.get("requiredArtifacts") or []
    for path in wanted if work.own_checks and isinstance(wanted, list) else ():
        if not os.path.isfile(os.path.join(context.project, str(path))):
            told = work.params.get("missingArtifactsMessage") or "the agent did not write what it had to"
            raise NodeError("artifact-missing", f"{told}: `{path}`")
