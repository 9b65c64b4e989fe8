"""Runs Copilot CLI for a flow: a stream of JSON lines, with the prompt on stdin.

Copilot CLI writes its token count to a file at the end. It counts per session, so the count before this job is read
from the session's file. It exits with 0 even if a signal stopped it. In guided mode, the stubs are in a plugin that is
passed for this call only; nothing is installed.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import sys
import uuid
from collections.abc import Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Any

from handrail import STEP_TOOL
from handrail.agents import outcomes, recipes
from handrail.agents.copilot import install
from handrail.agents.copilot.host import OWN_STEP, SERVER
from handrail.agents.outcomes import DONE, JobOutcome, JobUsage, NewRecords, brief, is_since, total
from handrail.base.dataclasses import replace
from handrail.base.jsonlite import within
from handrail.extensions.contracts import AgentJob, AgentSaid, Launch

PROGRAM = "copilot"
TESTED = ("1.0.102",)
ENVIRONMENT = ("COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST")
TOKENS = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
"""Copilot CLI logs in with the first of these. Without the logins of the person it gets the token only as the first
one, which git and other programs do not know, and keeps it from the programs that it runs."""
READS = ("view", "grep", "glob")
_AVAILABLE = "--available-tools="
_MODES = {
    "read": ("--allow-all-tools", f"{_AVAILABLE}{','.join(READS)}", "--deny-tool=write", "--deny-tool=shell"),
    "work": ("--allow-all-tools",),
    "full": ("--allow-all",),
}
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def launch(job: AgentJob, folder: str) -> Launch:
    session = job.session or job.new_session or str(uuid.uuid4())
    program = job.program or _real_program(job.env.get("PATH")) or PROGRAM
    argv = [program, "--output-format=json", "--no-auto-update", "--no-ask-user"]
    argv += [f"--usage-output-file={os.path.join(folder, 'usage.json')}", *_MODES[job.permissions]]
    files, env = {"session": session}, {"COPILOT_ALLOW_ALL": ""}  # only the options decide what is allowed
    if job.stubs is not None:
        files |= {os.path.join("plugin", name): text for name, text in install.plugin_files(job.stubs).items()}
        env |= recipes.variables(job.stubs)  # installed stubs then leave this conversation to those of the plugin
        argv = [f"{option},{OWN_STEP}" if option.startswith(_AVAILABLE) else option for option in argv]
        argv += [f"--plugin-dir={os.path.join(folder, 'plugin')}", f"--allow-tool={SERVER}({STEP_TOOL})"]
    token = None if job.has_logins else next(filter(None, map(job.env.get, TOKENS)), None)
    if token is not None:
        env[TOKENS[0]] = token
        argv.append(f"--secret-env-vars={','.join(TOKENS)}")
    argv.append(f"--session-id={session}" if _begins(job) else f"--resume={session}")
    if job.model is not None:
        argv.append(f"--model={job.model}")
    prompt = job.fresh or job.prompt if _begins(job) else job.prompt
    prompt = outcomes.prompt_for_json(prompt, job.schema) if job.schema else prompt
    return Launch((*argv, *job.extra), env, stdin=prompt.encode(), files=files)


def _begins(job: AgentJob) -> bool:
    """True if the conversation begins, perhaps again: Copilot CLI may have been killed before it saved it.

    A conversation that the flow itself names is never begun: the agent would not know what happened in it.
    """
    is_ours = job.fresh is not None or job.stubs is not None
    return job.session is None or (is_ours and not SessionCount(job.env).has(job.session))


def _real_program(path: str | None) -> str | None:
    """The path of the real program. The script that npm puts on the PATH does not forward signals to it."""
    script = shutil.which(PROGRAM, path=path)
    if script is None:
        return None
    package = Path(script).resolve().parent
    names = f"copilot-{sys.platform}*-{_MACHINES.get(platform.machine().lower(), '?')}/{PROGRAM}"
    programs = [*package.parent.glob(names), *package.glob(f"node_modules/@github/{names}")]
    return str(programs[0]) if len(programs) == 1 and os.access(programs[0], os.X_OK) else None


class CopilotReader:
    def __init__(self, job: AgentJob, folder: str) -> None:
        self.job = job
        self.folder = folder
        self.session = _read_text(folder, "session")
        self.count = SessionCount(job.env)
        self.before = JobUsage() if _begins(job) else self.count.usage(job.session or "")
        self.last_tokens = self.before.tokens if self.before is not None else None
        self.names: dict[str, str] = {}
        self.text: str | None = None
        self.failed: dict[str, Any] = {}
        self.error: dict[str, Any] | None = None
        self.was_stopped = False
        self.result: dict[str, Any] | None = None

    def take(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        about = within(data, "data")
        match data.get("type"):
            case "user.message" if self.session is not None:
                yield AgentSaid("session", {"id": self.session})
            case "assistant.message" if str(about.get("content") or "").strip():
                text = str(about["content"])
                if about.get("parentToolCallId") is None:
                    self.text = text
                yield AgentSaid("text", {"text": text})
            case "tool.execution_start":
                self.names[str(about.get("toolCallId"))] = str(about.get("toolName"))
                call = {"id": about.get("toolCallId"), "name": about.get("toolName"), "input": about.get("arguments")}
                yield AgentSaid("tool", call)
            case "tool.execution_complete":
                yield from self._result(about)
                yield from self._usage_so_far()
            case "model.call_failure":
                self.failed = about
            case "assistant.turn_retry":
                message = str(self.failed.get("errorMessage") or about.get("reason"))
                yield AgentSaid("retry", {"message": outcomes.without_json(message)})
            case "session.error":
                self.error = about
            case "abort":
                self.was_stopped = True
            case "result":
                self.result = data

    def _result(self, about: dict[str, Any]) -> Iterator[AgentSaid]:
        error, result = within(about, "error"), within(about, "result")
        output = brief(str(error.get("message") or result.get("content") or ""))
        name, is_ok = self.names.get(str(about.get("toolCallId")), ""), bool(about.get("success"))
        if error.get("code") == "denied" or (self.job.permissions == "read" and not is_ok and name not in READS):
            yield AgentSaid("denied", {"name": name, "reason": output})
        yield AgentSaid("result", {"id": about.get("toolCallId"), "ok": is_ok, "output": output})

    def _usage_so_far(self) -> Iterator[AgentSaid]:
        """The usage so far, if it has changed. Copilot CLI records it a moment after each answer of the model."""
        spent = self.count.usage(self.session) if self.session is not None else None
        if spent is not None and self.before is not None and spent.tokens != self.last_tokens:
            self.last_tokens = spent.tokens
            yield spent.less(self.before).event()

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        spent = JobUsage()
        with contextlib.suppress(ValueError):  # the file has premium requests, but no dollars
            for model in within(json.loads(_read_text(self.folder, "usage.json") or "{}"), "modelMetrics").values():
                _count(spent, within(model, "usage"))
        if spent.tokens is not None and self.before is not None:
            yield spent.less(self.before).event()
        yield outcomes.finished(self._outcome(exit_code, errors), self.text, self.job.schema)

    def _outcome(self, exit_code: int, errors: str) -> JobOutcome:
        if self.error is not None:
            message, more = str(self.error.get("message")), str(self.failed.get("errorMessage") or "")
            outcome = outcomes.failure(f"{message} {more}", outcomes.http_status(self.error))
            return replace(outcome, message=brief(message))
        if self.was_stopped:
            return JobOutcome("crash", "it was stopped before the end of its turn")
        if self.result is None or self.result.get("exitCode") != 0:
            return outcomes.failure(outcomes.last_error(exit_code, errors))
        return DONE


def _count(spent: JobUsage, usage: dict[str, Any]) -> None:
    spent.add(total(usage, "inputTokens"), total(usage, "outputTokens"), total(usage, "cacheReadTokens"), 0.0)


class SessionCount:
    """The usage of a session so far, or since a moment, from Copilot CLI's record of the session."""

    def __init__(self, env: Mapping[str, str], since: float = 0.0) -> None:
        home = env.get("COPILOT_HOME") or os.path.join(env.get("HOME", ""), ".copilot")
        self.since = since
        self.folder = os.path.join(home, "session-state")
        self.records = NewRecords(b'"session.usage_record"')
        self.spent = JobUsage()

    def has(self, session: str) -> bool:
        """False if Copilot CLI has saved nothing of a session: then it cannot resume it."""
        return os.path.exists(self._path(session))

    def usage(self, session: str) -> JobUsage | None:
        """The usage so far; None if unknown."""
        if not self.has(session):
            return None
        for data in self.records.read([self._path(session)]):
            if is_since(data, self.since):
                _count(self.spent, within(data, "data", "usage"))
        return copy(self.spent)

    def _path(self, session: str) -> str:
        return os.path.join(self.folder, session, "events.jsonl")


def spent(session: str, env: Mapping[str, str], since: float) -> dict[str, Any] | None:
    usage = SessionCount(env, since).usage(session)
    return None if usage is None else usage.known()


def _read_text(folder: str, name: str) -> str | None:
    try:
        return Path(folder, name).read_text(encoding="utf-8")
    except OSError:
        return None


reader = CopilotReader
