"""`llm-prompt`, `codex-prompt`, `opencode-prompt`: give a prompt to an agent and wait until it is done.

What it promised to write has to be there afterwards: an agent's word is not enough. A conversation that was cut off
is taken up again in its own session, where the agent has one.
"""

from __future__ import annotations

import os
from typing import Any

from handrail import registry
from handrail.contracts import PERMISSIONS, AgentJob, AgentSaid, NodeContext, NodeError, Work
from handrail.engine.calling import call
from handrail.secrets import allowed
from handrail.suggest import did_you_mean

RERUN = "safe"
SECONDS = 3600.0
FIXED = {"codex-prompt": "codex", "opencode-prompt": "opencode"}
KEEP = 20_000
GO_ON = "You were cut off while you worked on this. Look at what is there already, and finish it; begin nothing anew."
LASTING = ("refused", "auth", "overflow")


async def run(work: Work, context: NodeContext) -> Any:
    agent, model = _route(work, context)
    try:
        executor = registry.executor(agent)
    except KeyError:
        hint = did_you_mean(agent, registry.EXECUTORS) or f"known: {', '.join(registry.EXECUTORS)}"
        raise NodeError("agent-unknown", f"there is no agent `{agent}`; {hint}", transient=False) from None
    env = allowed(context.env, executor.ENVIRONMENT)
    env |= {"HANDRAIL_RUN": context.run, "HANDRAIL_STEP": work.path, "HANDRAIL_KEY": context.key}
    permissions = work.params.get("permissions", "work")
    if permissions not in PERMISSIONS:
        raise NodeError("params", f"`permissions` has to be one of {', '.join(PERMISSIONS)}", transient=False)
    prompt = work.prompt or str(work.params.get("prompt") or "")
    cut_off = context.session is not None and context.session[0] == agent
    session = context.session[1] if cut_off and context.session is not None else work.params.get("session")
    if cut_off:
        prompt = f"{GO_ON}\n\n{prompt}"
    limit = float(work.timeout or SECONDS)
    schema = work.params.get("schema")
    job = AgentJob(prompt, context.project, env, limit, model, session, permissions, schema, (), context.hold())
    found: dict[str, Any] = {"executor": agent, "model": model, "sessionId": session, "usage": None, "denied": 0}
    async for said in call(executor, job):
        context.tell(said if said.kind != "session" else AgentSaid("session", {**said.data, "agent": agent}))
        _take(found, said.kind, said.data)
    _judge(agent, found.pop("finished", {}))
    _refuse_missing(work, context)
    return found


def _route(work: Work, context: NodeContext) -> tuple[str, str | None]:
    agent = context.agent or FIXED.get(work.node) or work.params.get("executor")
    if not isinstance(agent, str):
        raise NodeError("agent-missing", "no agent is named for this step: `--agent NAME`", transient=False)
    model = context.model or work.params.get("model")
    return agent, None if model is None else str(model)


def _take(found: dict[str, Any], kind: str, data: dict[str, Any]) -> None:
    match kind:
        case "session":
            found["sessionId"] = data.get("id")
        case "usage":
            found["usage"] = data
        case "denied":
            found["denied"] += 1
        case "finished":
            found["finished"] = data
            found["output"] = str(data.get("text") or "")[-KEEP:]
            if data.get("structured") is not None:
                found["result"] = data["structured"]


def _judge(agent: str, finished: dict[str, Any]) -> None:
    """Truth over exit codes: anything but `done` is a failure with a name."""
    outcome = finished.get("outcome", "crash")
    if outcome != "done":
        message = f"{agent}: {finished.get('message') or outcome}"
        raise NodeError(outcome, message, transient=outcome not in LASTING, resets_at=finished.get("resetsAt"))


def _refuse_missing(work: Work, context: NodeContext) -> None:
    """Where the step does not say what to expect, what the agent had to write is looked for here."""
    wanted = work.params.get("requiredArtifacts") or []
    for path in wanted if work.own_checks and isinstance(wanted, list) else ():
        if not os.path.isfile(os.path.join(context.project, str(path))):
            told = work.params.get("missingArtifactsMessage") or "the agent did not write what it had to"
            raise NodeError("artifact-missing", f"{told}: `{path}`")
