"""Runs any agent that speaks the Agent Client Protocol for a flow: `driver` holds the conversation.

The command of the agent comes from the user's settings. The protocol's package is an extra.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from handrail.agents import outcomes
from handrail.agents.outcomes import DONE, JobOutcome, JobUsage, brief, total
from handrail.base.jsonlite import within
from handrail.extensions.contracts import OUTCOMES, AgentJob, AgentSaid, Launch, NodeError
from handrail.settings.folders import UserFolders
from handrail.settings.sections import AcpAgent
from handrail.source.plain_text import counted

PROGRAM = sys.executable
ENVIRONMENT = ("PYTHONPATH", *outcomes.PROVIDER_VARIABLES)
PACKAGE = "acp"
INTERNAL = "Internal error"
PATIENCE = 120.0
"""For how many seconds an agent may be silent before its first turn."""
CANCELLING, SHARE = 3.0, 0.25
"""The agent is asked to cancel its turn so many seconds before the time limit, or in this last share of the time."""
_REPORTED = ("text", "tool", "result", "denied", "allowed", "plan", "retry")
_STOPPED = {
    "max_tokens": ("crash", outcomes.CUT_OFF),
    "max_turn_requests": ("crash", "it stopped, because its turn had too many requests to the model"),
    "refusal": ("refused", "the model refused"),
    "cancelled": ("crash", "it was stopped before the end of its turn"),
}


def launch(job: AgentJob, _folder: str) -> Launch:
    agent = job.acp
    if agent is None:
        raise NodeError("agent-missing", "the settings name no command for this agent", transient=False)
    if find_spec(PACKAGE) is None:
        message = "agents of the Agent Client Protocol need a package: run `pip install 'handrail[acp]'`"
        raise NodeError("agent-missing", message, transient=False)
    early = min(CANCELLING, job.timeout * SHARE)
    job_data: dict[str, Any] = {
        "command": [_program(agent, job), *agent.command[1:], *job.extra],
        "cwd": os.path.realpath(job.cwd),
        "hold": job.hold,
        "prompt": _prompt(job.prompt, job),
        "fresh": None if job.fresh is None else _prompt(job.fresh, job),
        "session": job.session,
        "model": job.model,
        "mode": agent.modes.get(job.permissions),
        "auth": agent.auth,
        "permissions": job.permissions,
        "guarded": [os.path.join(os.path.realpath(job.cwd), ".git"), UserFolders(job.env).state],
        "patience": PATIENCE,
        "deadline": time.time() + job.timeout - early,
        "grace": early / 2,
        "late": f"not done after {counted(job.timeout, 'second')}",
    }
    argv = (PROGRAM, "-P", "-m", "handrail.agents.acp.driver")
    return Launch(argv, stdin=json.dumps(job_data).encode())


def _program(agent: AcpAgent, job: AgentJob) -> str:
    name = agent.command[0]
    path = shutil.which(os.path.expanduser(name), path=job.env.get("PATH"))
    if path is None:
        message = f"the program `{name}` of your settings is not installed or not on the PATH"
        raise NodeError("agent-missing", message, transient=False)
    return os.path.abspath(path)


def _prompt(prompt: str, job: AgentJob) -> str:
    text = outcomes.prompt_for_json(prompt, job.schema) if job.schema else prompt
    return f"\n{text}" if text.startswith("/") else text  # it would be read as a command of the agent


class AcpReader:
    def __init__(self, job: AgentJob, _folder: str) -> None:
        self.job = job
        self.text: str | None = None
        self.outcome: JobOutcome | None = None
        self.code: int | None = None
        self.spent = JobUsage()

    def take(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        kind = data.pop("type", None)
        if kind == "text":
            self.text = str(data.get("text"))
        if kind == "session":
            yield AgentSaid("session", {"id": data.get("id")})
        elif kind in _REPORTED:
            yield AgentSaid(str(kind), data)
        elif kind == "usage":
            if _count(data, self.spent):
                yield self.spent.event()
        elif kind == "end":
            stopped = _STOPPED.get(str(data.get("reason")))
            self.outcome = DONE if stopped is None else JobOutcome(*stopped)
        elif kind == "failed":
            self.outcome = _failure(data)
        elif kind == "ended":
            self.code = data.get("code")

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        code = self.code if isinstance(self.code, int) else exit_code
        outcome = self.outcome or outcomes.failure(outcomes.last_error(code, errors))
        yield outcomes.finished(outcome, self.text, self.job.schema)


def _failure(data: dict[str, Any]) -> JobOutcome:
    """How an error ended the turn. Agents put the error of the service into its message or its data."""
    message, details = str(data.get("message")), data.get("data")
    if data.get("outcome") in OUTCOMES:
        return JobOutcome(str(data["outcome"]), brief(message))
    more = "" if details is None else details if isinstance(details, str) else json.dumps(details)
    if message == INTERNAL:  # the protocol's words for any failure; the service could mean something else with them
        return outcomes.failure(more) if more else JobOutcome("crash", "it had an internal error")
    return outcomes.failure(f"{message} {more}".strip())


def _count(data: dict[str, Any], spent: JobUsage) -> bool:
    """Add the tokens of one prompt. Dollars are those of all prompts so far. False if the agent told no tokens."""
    tokens = within(data, "tokens") or within(data, "meta", "quota", "token_count")  # Gemini CLI has it there
    usd, prompt = data.get("usd"), total(tokens, "input_tokens")
    price = float(usd) - spent.usd if isinstance(usd, int | float) else 0.0
    output = total(tokens, "output_tokens", "thought_tokens")
    cached = total(tokens, "cached_read_tokens", "cached_write_tokens")
    if total(tokens, "total_tokens") >= prompt + output + cached:  # only some agents count cached tokens as input
        prompt += cached
    return spent.add(prompt, output, total(tokens, "cached_read_tokens"), price)


reader = AcpReader
