"""Gives a job to an agent: chooses the agent, calls its program, and judges the outcome.

The program gets no login of git or of a forge unless the user allows it. It is killed with every process that it
started. The exit code alone does not decide the outcome: the reader of the agent judges by the output.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from handrail.base.dataclasses import dataclass
from handrail.base.files import why_outside
from handrail.base.processes import RunningProgram, Task
from handrail.driven.worktrees.records import work_folder
from handrail.extensions.contracts import (
    OUTCOMES,
    PERMISSIONS,
    AgentJob,
    AgentReader,
    AgentSaid,
    Executor,
    LastingError,
    Launch,
    NodeContext,
    NodeError,
    Work,
)
from handrail.guided.sessions.denials import denied_words
from handrail.guided.sessions.gate import may_work
from handrail.settings.environment import NoSuchProgram, chosen_program, without_logins
from handrail.settings.routes import Route
from handrail.settings.secrets import allowed_variables
from handrail.settings.sections import NoSuchAgent, agent_named
from handrail.source.fields import Field
from handrail.source.plain_text import counted
from handrail.source.values import json_value

KEEP_NOISE = 2_000


async def call_agent(executor: Executor, job: AgentJob) -> AsyncGenerator[AgentSaid]:
    """Everything that an agent does during a job. The last item is `finished`."""
    folder = tempfile.mkdtemp(prefix="handrail-")
    try:
        launch = executor.launch(job, folder)
        for name, content in launch.files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        name, env = launch.argv[0], _env(job, launch, folder)
        program = job.program if job.program and name == executor.PROGRAM else _program_path(name, job)
        argv = (program, *launch.argv[1:])
        task = Task(argv=argv, cwd=job.cwd, env=env, timeout=job.timeout, stdin=launch.stdin, hold=job.hold)
        async with contextlib.aclosing(_read_output(task, executor.reader(job, folder))) as events:
            async for event in events:
                yield event
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _env(job: AgentJob, launch: Launch, folder: str) -> dict[str, str]:
    """The environment of the program. Unless the user allows it, it has no logins of git and of forges."""
    env = {**job.env, **launch.env}
    if job.has_logins:
        return env
    return without_logins(env, os.path.join(folder, "no-logins"), job.keeps)


def _program_path(name: str, job: AgentJob) -> str:
    path = name if os.path.isabs(name) else shutil.which(name, path=job.env.get("PATH"))
    if path is None:
        raise LastingError("agent-missing", f"the program `{name}` is not installed or not on the PATH")
    return path


async def _read_output(task: Task, reader: AgentReader) -> AsyncGenerator[AgentSaid]:
    noise, end, in_time = "", time.monotonic() + task.timeout, True
    async with RunningProgram(task) as program:
        batches = program.lines()
        while True:
            try:
                async with asyncio.timeout(end - time.monotonic()):
                    lines = await anext(batches)
            except StopAsyncIteration:
                break
            except TimeoutError:
                in_time = False
                break
            for line in lines:
                data = json_value(line)
                if not isinstance(data, dict):
                    noise = (noise + line.decode("utf-8", "replace") + "\n")[-KEEP_NOISE:]
                    continue
                for event in reader.take(data):
                    yield event
    for event in reader.end(program.exit_code or 0, "\n".join(part for part in (program.errors, noise) if part)):
        if event.kind == "finished" and not in_time:
            message = f"not done after {counted(task.timeout, 'second')}"
            yield AgentSaid("finished", {**event.data, "outcome": "timeout", "message": message, "resetsAt": None})
        else:
            yield event


EXECUTOR = Field(
    "executor", ("text",), "the agent; by default the routing group or the settings choose it", names="agent"
)
MODEL = Field("model", ("text",), "the model, as the agent calls it")
PERMISSION = Field(
    "permissions",
    ("text",),
    "`read` may only read, `work` may edit and run programs in the project, `full` may do anything",
    default="work",
    choices=PERMISSIONS,
)
WORK_FOLDER = Field(
    "cwd",
    ("text", "null"),
    "where the agent works: a folder of the project, or a worktree that a step of the run made; by default the project",
    names="path",
)
DEFAULT_SECONDS = 3600.0
LONGEST_OUTPUT = 20_000
LASTING_OUTCOMES = ("refused", "auth", "overflow")


@dataclass(frozen=True)
class ChosenAgent:
    """The chosen agent and its executor."""

    route: Route
    executor: Executor


def choose_agent(work: Work, context: NodeContext, fixed: str | None = None) -> ChosenAgent:
    """The agent for a step. `fixed` is the agent of an `AGENT-prompt` node."""
    own = fixed or work.params.get(EXECUTOR.name) or None, work.params.get(MODEL.name) or None
    route = context.route(work.group, own)
    if route is None:
        hint = "use `--agent NAME`, or `agent: NAME` in `settings.yaml`"
        raise LastingError("agent-missing", "this step has no agent", hint)
    try:
        return ChosenAgent(route, context.registry.executor(route.agent))
    except KeyError:
        hint = context.registry.executor_hint(route.agent)
        raise LastingError("agent-unknown", f"there is no agent `{route.agent}`", hint) from None


def job_for(agent: ChosenAgent, work: Work, context: NodeContext, prompt: str) -> AgentJob:
    try:
        acp = agent_named(agent.route.agent, context.acp)
        program = chosen_program(agent.executor.PROGRAM, context.env)
    except NoSuchAgent as error:
        raise LastingError("agent-missing", error.message, error.hint) from None
    except NoSuchProgram as error:
        raise LastingError("agent-missing", error.message) from None
    names = (*agent.executor.ENVIRONMENT, *(acp.pass_env if acp is not None else ()), *context.pass_env)
    env = allowed_variables(context.env, names, context.secrets)
    env |= {"HANDRAIL_RUN": context.run, "HANDRAIL_STEP": work.path, "HANDRAIL_KEY": context.key}
    return AgentJob(
        prompt=prompt,
        cwd=_folder(work, context),
        env=env,
        timeout=float(work.timeout or DEFAULT_SECONDS),
        model=agent.route.model,
        permissions=work.params.get("permissions") or PERMISSION.default,
        schema=work.params.get("schema"),
        hold=context.hold(),
        program=program,
        usd=context.usd_left(),
        has_logins=context.keeps_logins,
        keeps=context.pass_env,
        acp=acp,
    )


def _folder(work: Work, context: NodeContext) -> str:
    """Where the agent works: in the project, or in the folder that the step names."""
    path = work.params.get(WORK_FOLDER.name)
    if path is None:
        return context.project
    folder = work_folder(context, path)
    if folder is None or not os.path.isdir(folder):
        why = "is not a folder" if folder is not None else why_outside(path)
        raise LastingError("params", f"`{WORK_FOLDER.name}`: `{path}` {why}")
    return folder


async def run_job(agent: ChosenAgent, job: AgentJob, context: NodeContext) -> dict[str, Any]:
    """Run a job and return its result. `outcome` says how it ended, `retried` that the agent's own retries failed."""
    name = agent.route.agent
    result: dict[str, Any] = {"executor": name, "model": agent.route.model, "sessionId": job.session, "usage": None}
    result |= {"denied": 0, "outcome": "crash", "message": "it printed nothing", "resetsAt": None, "retried": False}
    attempts = WorkAttempts(context.registry.host(name).aliases if context.registry.is_host(name) else lambda _: ())
    async with contextlib.aclosing(call_agent(agent.executor, job)) as events:
        async for event in events:
            context.tell(event if event.kind != "session" else AgentSaid("session", {**event.data, "agent": name}))
            _add_to_result(event, result)
            attempts.take(event)
    return {**result, "deniedWork": {} if attempts.has_worked else dict(attempts.denied)}


def _add_to_result(event: AgentSaid, result: dict[str, Any]) -> None:
    match event.kind:
        case "session":
            result["sessionId"] = event.data.get("id")
        case "usage":
            result["usage"] = event.data
        case "denied":
            result["denied"] += 1
        case "retry":
            result["retried"] = True
        case "text" | "tool" | "result":
            result["retried"] = False
        case "finished":
            result |= {key: event.data.get(key) for key in ("outcome", "message", "resetsAt")}
            text = str(event.data.get("text") or "")
            if (left_out := len(text) - LONGEST_OUTPUT) > 0:
                text = f"… {left_out} characters before this were left out\n{text[-LONGEST_OUTPUT:]}"
            result["output"] = text
            if event.data.get("structured") is not None:
                result["result"] = event.data["structured"]


class WorkAttempts:
    """Whether an agent's calls that may write or run something were denied. `aliases` are the other names of a tool."""

    def __init__(self, aliases: Callable[[str], tuple[str, ...]]) -> None:
        self.aliases = aliases
        self.names: dict[Any, str] = {}
        self.denied: Counter[str] = Counter()
        self.has_worked = False

    def take(self, event: AgentSaid) -> None:
        if event.kind not in ("tool", "result", "denied"):
            return
        id_ = event.data.get("id")
        name = str(event.data.get("name") or self.names.get(id_))
        if event.kind == "tool":
            self.names[id_] = name
        elif may_work((name, *self.aliases(name))):
            self.denied[name] += event.kind == "denied"
            self.has_worked |= event.kind == "result" and bool(event.data.get("ok"))


def denied_error(agent: str, tools: Mapping[str, int]) -> NodeError:
    """The error of an agent that says it is done, although every attempt at its work was denied."""
    return LastingError("denied", f"`{agent}` ended, but every attempt at its work failed: {denied_words(tools)}")


def correction_text(context: NodeContext) -> str | None:
    """Tells an agent what was wrong with the result of its last attempt; None if it did not end with a result."""
    if context.failure is None or context.failure[0] in OUTCOMES:
        return None
    return f"Your work was checked, and it is not done yet: {context.failure[1]}"


def outcome_error(result: dict[str, Any]) -> NodeError | None:
    """The error for any outcome other than `done`; None for `done`."""
    outcome = result["outcome"]
    if outcome == "done":
        return None
    message = f"{result['executor']}: {result['message'] or outcome}"
    return NodeError(outcome, message, transient=outcome not in LASTING_OUTCOMES, resets_at=result["resetsAt"])
