"""Runs OpenCode for a flow: `driver` runs the turn through OpenCode's server and prints the events.

In guided mode, our plugin is passed for this call only; nothing is installed. The reader also understands the output of
`opencode run --format json`, which has fewer events.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from handrail.agents import outcomes
from handrail.agents.opencode import install
from handrail.agents.outcomes import DONE, JobOutcome, JobUsage, brief, total
from handrail.agents.recipes import variables
from handrail.base.dataclasses import replace
from handrail.base.jsonlite import within
from handrail.extensions.contracts import AgentJob, AgentSaid, Launch, NodeError
from handrail.source import text_edits

PROGRAM = "opencode"
TESTED = ("1.18.33",)
LOGIN = ("XDG_DATA_HOME", ".local/share", "opencode/auth.json")
ENVIRONMENT = ("PYTHONPATH", *outcomes.PROVIDER_VARIABLES)
_NAMED = {
    "ContentFilterError": "refused",
    "ContextOverflowError": "overflow",
    "ProviderAuthError": "auth",
    "MessageAbortedError": "crash",
    "MessageOutputLengthError": "crash",
}
_NO_SUCH_TOOL = "unavailable tool"
_SETTINGS = "OPENCODE_CONFIG_CONTENT"
_MESSAGES = """
SELECT data FROM message WHERE time_created >= ?2
AND (session_id = ?1 OR session_id IN (SELECT id FROM session WHERE parent_id = ?1))
"""


def launch(job: AgentJob, folder: str) -> Launch:
    program = job.program or shutil.which(PROGRAM, path=job.env.get("PATH"))
    if program is None:
        message = f"the program `{PROGRAM}` is not installed or not on the PATH"
        raise NodeError("agent-missing", message, transient=False)
    if job.session is not None and not re.fullmatch(r"ses_\w+", job.session):
        raise NodeError("session-unknown", f"`{job.session}` is not a session id of OpenCode", transient=False)
    step = job.env.get("HANDRAIL_STEP")
    job_data = {
        "program": program,
        "prompt": job.prompt,
        "model": _model(job.model),
        "session": job.session,
        "title": f"Handrail: {step}" if step else "Handrail",
        "permissions": job.permissions,
        "format": {"type": "json_schema", "schema": job.schema} if job.schema else None,
        "hold": job.hold,
        "guide": None,
    }
    env, files = {"OPENCODE_DISABLE_AUTOUPDATE": "1"}, dict[str, str]()
    if job.stubs is not None:
        job_data["guide"] = {"argv": [*job.stubs.hook, install.AGENT], "env": variables(job.stubs)}
        env[_SETTINGS] = _with_plugin(job.env.get(_SETTINGS) or "{}", os.path.join(folder, install.PLUGIN_FILE))
        files |= install.plugin_texts(job.stubs)
    argv = (sys.executable, "-P", "-m", "handrail.agents.opencode.driver", *job.extra)
    return Launch(argv, env, stdin=json.dumps(job_data).encode(), files=files)


def _with_plugin(settings: str, path: str) -> str:
    """The settings in a variable of the person, with our plugin for this call."""
    try:
        return text_edits.add_item(settings, ("plugin",), Path(path).as_uri(), comments=True)
    except ValueError as error:
        message = f"the settings in `{_SETTINGS}` cannot be used together with a workflow: {error}"
        raise NodeError("params", message, transient=False) from None


def _model(name: str | None) -> dict[str, str] | None:
    if name is None:
        return None
    provider, _, model = name.partition("/")
    if not model:
        message = f"a model of OpenCode has to be `PROVIDER/MODEL`, found `{name}`"
        raise NodeError("params", message, transient=False)
    return {"providerID": provider, "modelID": model}


class OpenCodeReader:
    def __init__(self, job: AgentJob, _folder: str) -> None:
        self.job = job
        self.session: str | None = None
        self.begun_ids: set[str] = set()
        self.message: str | None = None
        self.texts: list[str] = []
        self.finish: str | None = None
        self.structured: Any = None
        self.is_over = False
        self.failure: JobOutcome | None = None
        self.spent = JobUsage()

    def take(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        session = data.get("sessionID")
        if self.session is None and isinstance(session, str):
            self.session = session
            yield AgentSaid("session", {"id": session})
        part = within(data, "part")
        match data.get("type"):
            case "text":
                yield from self._text(part)
            case "tool_start" | "tool_use":
                yield from self._tool(part)
            case "step_finish":
                yield from self._step(part)
            case "denied":
                yield AgentSaid("denied", {"name": data.get("permission"), "reason": data.get("reason")})
            case "retry":
                yield AgentSaid("retry", {"message": data.get("message")})
            case "gave_up":
                wait = {"retry-after": data.get("seconds")}
                self.failure = outcomes.failure(str(data.get("message")), None, wait)
            case "error":
                self.failure = self.failure or _outcome_of_error(within(data, "error"))
            case "end":
                self._end(data)

    def _text(self, part: dict[str, Any]) -> Iterator[AgentSaid]:
        if part.get("messageID") != self.message:
            self.message, self.texts = part.get("messageID"), []
        text = str(part.get("text") or "")
        if text.strip():
            self.texts.append(text)
            yield AgentSaid("text", {"text": text})

    def _tool(self, part: dict[str, Any]) -> Iterator[AgentSaid]:
        key, name, state = str(part.get("callID")), part.get("tool"), within(part, "state")
        if key not in self.begun_ids:
            self.begun_ids.add(key)
            yield AgentSaid("tool", {"id": key, "name": name, "input": state.get("input")})
        if state.get("status") in ("completed", "error"):
            is_ok, output = state["status"] == "completed", brief(str(state.get("output") or state.get("error") or ""))
            if not is_ok and _NO_SUCH_TOOL in output:
                yield AgentSaid("denied", {"name": name, "reason": output})
            yield AgentSaid("result", {"id": key, "ok": is_ok, "output": output})

    def _step(self, part: dict[str, Any]) -> Iterator[AgentSaid]:
        """A request to the model has ended."""
        self.finish = part.get("reason")
        if _count(self.spent, part):
            yield self.spent.event()

    def _end(self, data: dict[str, Any]) -> None:
        self.is_over = data.get("role") == "assistant"
        self.finish = data.get("finish") or self.finish
        self.structured = data.get("structured")
        error = within(data, "error")
        if error and error.get("name") != "StructuredOutputError":
            self.failure = self.failure or _outcome_of_error(error)

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        text = "\n".join(self.texts) if self.message is not None else None
        yield outcomes.finished(self._outcome(exit_code, errors), text, self.job.schema, self.structured)

    def _outcome(self, exit_code: int, errors: str) -> JobOutcome:
        if self.failure is not None:
            return self.failure
        if self.finish == "length":
            return JobOutcome("crash", outcomes.CUT_OFF)
        if self.finish == "stop" or self.is_over:
            return DONE
        return outcomes.failure(outcomes.last_error(exit_code, errors))


def _outcome_of_error(error: dict[str, Any]) -> JobOutcome:
    data = within(error, "data")
    name, message = str(error.get("name")), str(data.get("message") or error.get("message") or error.get("name"))
    if name in _NAMED:
        return JobOutcome(_NAMED[name], brief(message))
    words = f"{message} {data.get('responseBody') or ''}"
    outcome = outcomes.failure(words, outcomes.http_status(data), within(data, "responseHeaders"))
    return replace(outcome, message=brief(message))


reader = OpenCodeReader


def _count(spent: JobUsage, data: dict[str, Any]) -> bool:
    """OpenCode counts output, reasoning and cached tokens separately."""
    tokens, cache = within(data, "tokens"), within(data, "tokens", "cache")
    whole = total(tokens, "input") + total(cache, "read", "write")
    return spent.add(whole, total(tokens, "output", "reasoning"), total(cache, "read"), total(data, "cost"))


def spent(session: str, env: Mapping[str, str], since: float) -> dict[str, Any] | None:
    """What a session and its subagents used since a moment, by OpenCode's database."""
    data = env.get("XDG_DATA_HOME") or os.path.join(env.get("HOME", ""), ".local", "share")
    address, found = f"{Path(data, 'opencode', 'opencode.db').absolute().as_uri()}?mode=ro", JobUsage()
    with contextlib.suppress(sqlite3.Error, ValueError), contextlib.closing(sqlite3.connect(address, uri=True)) as base:
        for (text,) in base.execute(_MESSAGES, (session, since * 1000)).fetchall():
            _count(found, within(json.loads(text)))
    return found.known()
