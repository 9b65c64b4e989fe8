"""Runs pi for a flow: `pi --mode json`, with the prompt on stdin."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from handrail import FOR_ONE_CALL, STEP_TOOL
from handrail.agents import outcomes
from handrail.agents.outcomes import DONE, JobOutcome, JobUsage, NewRecords, brief, is_since, total
from handrail.agents.pi import install
from handrail.base.jsonlite import within
from handrail.extensions.contracts import AgentJob, AgentSaid, Launch, NodeError

PROGRAM = "pi"
TESTED = ("0.74.2", "0.87.1", "1.5.0")
LOGIN = ("PI_CODING_AGENT_DIR", ".pi/agent", "auth.json")
ENVIRONMENT = ("PI_*", *outcomes.PROVIDER_VARIABLES)
_ID = re.compile(r"\w[\w-]*")
READS = ("read", "grep", "find", "ls")


def launch(job: AgentJob, folder: str) -> Launch:
    argv, files = [PROGRAM, "--mode", "json", "--print"], {}
    if job.model is not None:
        argv += ["--model", job.model]
    if job.session is not None:
        if not _ID.fullmatch(job.session):  # pi would create a file for a text that looks like a path
            raise NodeError("session-unknown", f"`{job.session}` is not a session id of pi", transient=False)
        argv += ["--session", job.session]
    if job.permissions == "read":
        argv += ["--tools", ",".join(READS if job.stubs is None else (*READS, STEP_TOOL))]
    env: dict[str, str] = {}
    if job.stubs is not None:
        argv += ["-e", os.path.join(folder, "extension", "index.js")]
        files = {os.path.join("extension", name): text for name, text in install.extension_files(job.stubs).items()}
        env = {FOR_ONE_CALL: job.stubs.conversation}  # an installed extension leaves this call to the one of the call
    prompt = job.prompt
    if prompt.lstrip().startswith("/"):  # it would be read as a slash command, also after spaces
        prompt = f"Do this:\n\n{prompt}"
    prompt = outcomes.prompt_for_json(prompt, job.schema) if job.schema else prompt
    return Launch((*argv, *job.extra), stdin=prompt.encode(), files=files, env=env)


class PiReader:
    def __init__(self, job: AgentJob, _folder: str) -> None:
        self.job = job
        self.session: str | None = None
        self.has_told_session = False
        self.settled = False
        self.last: dict[str, Any] | None = None
        self.spent = JobUsage()

    def take(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        match data.get("type"):
            case "session":
                self.session = data.get("id")
            case "agent_start":
                self.settled = False
            case "agent_end":
                self.settled = not data.get("willRetry")
            case "agent_settled":
                self.settled = True
            case "message_end":
                yield from self._message(within(data, "message"))
            case "tool_execution_start":
                call = {"id": data.get("toolCallId"), "name": data.get("toolName"), "input": data.get("args")}
                yield AgentSaid("tool", call)
            case "tool_execution_end":
                yield from self._result(data)
            case "auto_retry_start":
                yield AgentSaid("retry", {"message": outcomes.without_json(str(data.get("errorMessage")))})

    def _message(self, message: dict[str, Any]) -> Iterator[AgentSaid]:
        """Report a message of the model. The first one also reports the session, because pi saves it only then."""
        if message.get("role") != "assistant":
            return
        if not self.has_told_session and self.session is not None:
            self.has_told_session = True
            yield AgentSaid("session", {"id": self.session})
        self.last = message
        for text in _texts(message):
            yield AgentSaid("text", {"text": text})
        if _count(self.spent, message):
            yield self.spent.event()

    def _result(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        name = data.get("toolName")
        output = brief("\n".join(_texts(within(data, "result"))))
        is_ok = not data.get("isError")
        yield AgentSaid("result", {"id": data.get("toolCallId"), "ok": is_ok, "output": output})
        if self.job.permissions == "read" and not is_ok and name not in READS:
            yield AgentSaid("denied", {"name": name, "reason": output})

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        text = "\n".join(_texts(self.last)) if self.last is not None else None
        yield outcomes.finished(self._outcome(exit_code, errors), text, self.job.schema)

    def _outcome(self, exit_code: int, errors: str) -> JobOutcome:
        if self.last is None or not self.settled:
            return outcomes.failure(errors.strip() or outcomes.last_error(exit_code, errors))
        reason = self.last.get("stopReason")
        if reason == "error":
            return outcomes.failure(str(self.last.get("errorMessage") or "the model failed"))
        if reason in ("stop", "toolUse"):
            return DONE
        return JobOutcome("crash", outcomes.CUT_OFF if reason == "length" else f"the turn ended with `{reason}`")


def _count(spent: JobUsage, message: dict[str, Any]) -> bool:
    usage = within(message, "usage")
    whole = total(usage, "input", "cacheRead", "cacheWrite")
    usd = total(within(usage, "cost"), "total")
    return spent.add(whole, total(usage, "output"), total(usage, "cacheRead"), usd)


def spent(session: str, env: Mapping[str, str], since: float) -> dict[str, Any] | None:
    """What a session used since a moment, by pi's record of it."""
    base = env.get("PI_CODING_AGENT_DIR") or os.path.join(env.get("HOME", ""), ".pi", "agent")
    folder, found = Path(env.get("PI_CODING_AGENT_SESSION_DIR") or os.path.join(base, "sessions")), JobUsage()
    paths = [str(path) for path in folder.rglob(f"*_{session}.jsonl")] if _ID.fullmatch(session) else []
    for data in NewRecords(b'"role":"assistant"', b'"usage"').read(paths):
        if is_since(data, since):
            _count(found, within(data, "message"))
    return found.known()


def _texts(message: dict[str, Any]) -> list[str]:
    """The non-empty texts of a message or a result."""
    return [text for text in outcomes.content_texts(message.get("content")) if text.strip()]


reader = PiReader
