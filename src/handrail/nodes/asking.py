"""Gives a job to an agent, for every node that does so: chooses the agent, its environment, and judges the outcome."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from handrail import registry
from handrail.contracts import OUTCOMES, PERMISSIONS, AgentJob, AgentSaid, Executor, NodeContext, NodeError, Work
from handrail.nodes.calling import call
from handrail.process.chosen import NoSuchProgram, chosen_program
from handrail.secrets.rules import allowed
from handrail.settings import Route
from handrail.source.agents import AcpAgent, NoSuchAgent, agent_named
from handrail.source.dataclasses import dataclass
from handrail.source.fields import Field, Reader, quoted
from handrail.source.suggest import did_you_mean
from handrail.source.values import as_text
from handrail.source.yamltree import Node
from handrail.state.regular import why_outside
from handrail.worktrees.roots import work_folder


def _check_agent(reader: Reader, node: Node) -> None:
    if not registry.has_executor(node.value):
        hint = did_you_mean(node.value, registry.executors()) or f"known: {', '.join(registry.executors())}"
        reader.on(node, "bad-value", f"there is no agent {quoted(node)}", hint)


EXECUTOR = Field(
    "executor", ("text",), "the agent; by default the routing group or the settings choose it", check=_check_agent
)
MODEL = Field("model", ("text",), "the model, as the agent calls it")
PERMISSION = Field(
    "permissions",
    ("text",),
    "`read` may only read, `work` may edit and run programs in the project, `full` may do anything",
    default="work",
    choices=PERMISSIONS,
)
FOLDER = Field(
    "cwd",
    ("text", "null"),
    "where the agent works: a folder of the project, or a worktree that a step of the run made; by default the project",
    names="path",
)
SECONDS = 3600.0
KEEP = 20_000
LASTING = ("refused", "auth", "overflow")


@dataclass(frozen=True)
class Agent:
    """The chosen agent and its executor."""

    route: Route
    executor: Executor


def choose_agent(work: Work, context: NodeContext, fixed: str | None = None) -> Agent:
    """The agent for a step. `fixed` is the agent of an `AGENT-prompt` node."""
    own = fixed or _name(work.params.get(EXECUTOR.name)), _name(work.params.get(MODEL.name))
    route = context.route(work.group, own)
    if route is None:
        message = "this step has no agent: use `--agent NAME`, or `agent: NAME` in `settings.yaml`"
        raise NodeError("agent-missing", message, transient=False)
    try:
        return Agent(route, registry.executor(route.agent))
    except KeyError:
        hint = did_you_mean(route.agent, registry.executors()) or f"known: {', '.join(registry.executors())}"
        raise NodeError("agent-unknown", f"there is no agent `{route.agent}`; {hint}", transient=False) from None


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def job_for(agent: Agent, work: Work, context: NodeContext, prompt: str) -> AgentJob:
    acp = _of_settings(agent, context)
    names = (*agent.executor.ENVIRONMENT, *(acp.pass_env if acp is not None else ()), *context.pass_env)
    env = allowed(context.env, names, context.secrets)
    env |= {"HANDRAIL_RUN": context.run, "HANDRAIL_STEP": work.path, "HANDRAIL_KEY": context.key}
    permissions, schema = work.params.get("permissions", "work"), work.params.get("schema")
    if permissions not in PERMISSIONS:
        raise NodeError("params", f"`permissions` has to be one of {', '.join(PERMISSIONS)}", transient=False)
    return AgentJob(
        prompt=prompt,
        cwd=_folder(work, context),
        env=env,
        timeout=float(work.timeout or SECONDS),
        model=agent.route.model,
        permissions=permissions,
        schema=schema if isinstance(schema, dict) else None,
        hold=context.hold(),
        program=_chosen(agent, context),
        usd=context.usd_left(),
        has_logins=context.keeps_logins,
        keeps=context.pass_env,
        acp=acp,
    )


def _of_settings(agent: Agent, context: NodeContext) -> AcpAgent | None:
    try:
        return agent_named(agent.route.agent, context.acp)
    except NoSuchAgent as error:
        raise NodeError("agent-missing", f"{error.message}; {error.hint}", transient=False) from None


def _folder(work: Work, context: NodeContext) -> str:
    """Where the agent works: in the project, or in the folder that the step names."""
    given = work.params.get(FOLDER.name)
    if given is None:
        return context.project
    folder = work_folder(context, as_text(given))
    if folder is None or not os.path.isdir(folder):
        why = "is not a folder" if folder is not None else why_outside(as_text(given))
        raise NodeError("params", f"`{FOLDER.name}`: `{as_text(given)}` {why}", transient=False)
    return folder


def _chosen(agent: Agent, context: NodeContext) -> str | None:
    try:
        return chosen_program(agent.executor.PROGRAM, context.env)
    except NoSuchProgram as error:
        raise NodeError("agent-missing", error.message, transient=False) from None


async def run_job(agent: Agent, job: AgentJob, context: NodeContext) -> dict[str, Any]:
    """Run a job and return its result. `outcome` says how it ended, `retried` that the agent's own retries failed."""
    name = agent.route.agent
    found: dict[str, Any] = {"executor": name, "model": agent.route.model, "sessionId": job.session, "usage": None}
    found |= {"denied": 0, "outcome": "crash", "message": "it printed nothing", "resetsAt": None, "retried": False}
    async with contextlib.aclosing(call(agent.executor, job)) as saying:
        async for said in saying:
            context.tell(said if said.kind != "session" else AgentSaid("session", {**said.data, "agent": name}))
            _take(said, found)
    return found


def _take(said: AgentSaid, found: dict[str, Any]) -> None:
    """Put what an agent did into the result of its job."""
    match said.kind:
        case "session":
            found["sessionId"] = said.data.get("id")
        case "usage":
            found["usage"] = said.data
        case "denied":
            found["denied"] += 1
        case "retry":
            found["retried"] = True
        case "text" | "tool" | "result":
            found["retried"] = False
        case "finished":
            found |= {key: said.data.get(key) for key in ("outcome", "message", "resetsAt")}
            found["output"] = _end_of(str(said.data.get("text") or ""))
            if said.data.get("structured") is not None:
                found["result"] = said.data["structured"]


def _end_of(text: str) -> str:
    """The end of a text. If its beginning is left out, the first line says so."""
    left_out = len(text) - KEEP
    return text if left_out <= 0 else f"… {left_out} characters before this were left out\n{text[-KEEP:]}"


def missing_words(context: NodeContext) -> str | None:
    """Tells an agent what was wrong with the result of its last attempt; None if it did not end with a result."""
    if context.failure is None or context.failure[0] in OUTCOMES:
        return None
    return f"Your work was checked, and it is not done yet: {context.failure[1]}"


def failure(found: dict[str, Any]) -> NodeError | None:
    """The error for any outcome other than `done`; None for `done`."""
    outcome = found["outcome"]
    if outcome == "done":
        return None
    message = f"{found['executor']}: {found['message'] or outcome}"
    return NodeError(outcome, message, transient=outcome not in LASTING, resets_at=found["resetsAt"])
