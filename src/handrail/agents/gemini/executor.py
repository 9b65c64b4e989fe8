"""How flows call Gemini CLI: `gemini -o stream-json`, the prompt on its standard input.

Its exit code is 0 also when it was stopped, so only its `result` tells that a turn is over. That it tries again is
only in its complaints; answers that the service cut off for safety or length look like any other.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from handrail.agents.outcomes import DONE, Outcome, answer, asking, brief, finished, judge, last_words
from handrail.contracts import AgentJob, AgentReader, AgentSaid, Launch, NodeError

PROGRAM = "gemini"
ENVIRONMENT = ("GEMINI_*", "GOOGLE_*", "CLOUDSDK_CONFIG", "CODE_ASSIST_*")
_MODES = {"read": "default", "work": "auto_edit", "full": "yolo"}
_POLICY = """\
[[rule]]
toolName = "enter_plan_mode"
decision = "deny"
priority = 999
"""
_SHELL = """
[[rule]]
toolName = "run_shell_command"
decision = "allow"
priority = 100
"""
_GATED = ("run_shell_command", "write_file", "replace", "web_fetch", "activate_skill", "enter_plan_mode")
_STOPPED = ("Loop detected", "Agent execution stopped", "Agent execution blocked", "Maximum session turns")
_AGAIN = re.compile(r"^Attempt \d+ failed.*(?:\n(?!Attempt).*){0,2}?Retrying\b.*?(?=\.\.\.|$)", re.MULTILINE)
_AUTH = 41
_FIRST_STATUS, _BYTE = 400, 256


def launch(job: AgentJob, folder: str) -> Launch:
    """Nobody is there to approve a plan, so there is no mode for planning; a policy of ours says that."""
    if job.stubs is not None:
        raise NodeError(
            "agent-unguided", "Gemini CLI cannot be held to a workflow while a flow calls it", transient=False
        )
    argv = [PROGRAM, "-o", "stream-json", "--skip-trust", f"--approval-mode={_MODES[job.permissions]}"]
    argv += [f"--policy={_own_policies(job.env)}", f"--policy={os.path.join(folder, 'policy.toml')}"]
    if job.model:
        argv.append(f"--model={job.model}")
    if job.session is not None:
        argv.append(f"--resume={_conversation(job.session)}")
    elif job.new_session is not None:
        argv.append(f"--session-id={job.new_session}")
    prompt = job.prompt if job.schema is None else asking(job.prompt, job.schema)
    prompt = f"\n{prompt}" if prompt.startswith("/") else prompt  # it would be taken for a command
    policy = _POLICY + (_SHELL if job.permissions == "work" else "")
    env = {"GEMINI_CLI_NO_RELAUNCH": "true"}
    return Launch((*argv, *job.extra), env, prompt.encode(), {"policy.toml": policy})


def _own_policies(env: Mapping[str, str]) -> str:
    """The person's own policies: those that are named take their place, so they are named too."""
    return os.path.join(env.get("GEMINI_CLI_HOME") or env.get("HOME", ""), ".gemini", "policies")


def _conversation(session: str) -> str:
    """An id; `latest` or a number could be the conversation of somebody else by now."""
    try:
        return str(uuid.UUID(session))
    except ValueError:
        message = f"`{session}` is not the id of a conversation of Gemini CLI"
        raise NodeError("session-unknown", message, transient=False) from None


class Reader:
    """What it prints in one turn. Text comes in pieces; it is told whole, when something else begins."""

    def __init__(self, job: AgentJob) -> None:
        self.job = job
        self.pieces: list[str] = []
        self.text: str | None = None
        self.names: dict[str, str] = {}
        self.result: dict[str, Any] | None = None
        self.complaint: str | None = None
        self.stopped: str | None = None

    def take(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        kind = data.get("type")
        if kind == "message":
            if data.get("role") == "assistant":
                self.pieces.append(str(data.get("content") or ""))
            return
        yield from self._spoken()
        match kind:
            case "init":
                yield AgentSaid("session", {"id": str(data.get("session_id"))})
            case "tool_use":
                key, name = str(data.get("tool_id")), str(data.get("tool_name"))
                self.names[key] = name
                yield AgentSaid("tool", {"id": key, "name": name, "input": data.get("parameters")})
            case "tool_result":
                yield from self._result(data)
            case "error":
                self._complain(str(data.get("message") or ""), is_error=data.get("severity") == "error")
            case "result":
                self.result = data
                yield from _usage(data.get("stats"))

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        yield from self._spoken()
        for found in _AGAIN.finditer(errors):
            yield AgentSaid("retry", {"message": brief(" ".join(found[0].split()))})
        outcome = self._outcome(exit_code, errors)
        structured = answer(self.text) if outcome == DONE and self.job.schema is not None else None
        yield finished(outcome, self.text, structured)

    def _outcome(self, exit_code: int, errors: str) -> Outcome:
        now = time.time()
        if self.result is None:
            told = self.complaint or last_words(exit_code, errors)
            return judge(401, told, now) if exit_code == _AUTH else judge(None, told, now)
        if self.stopped is not None:
            return Outcome("crash", self.stopped)
        if self.result.get("status") == "success":
            return DONE
        error = self.result.get("error")
        message = error.get("message") if isinstance(error, dict) else None
        told = str(message or self.complaint or last_words(exit_code, errors))
        return judge(_status(exit_code), told, now)

    def _spoken(self) -> Iterator[AgentSaid]:
        if text := "".join(self.pieces):
            self.text = text
            yield AgentSaid("text", {"text": text})
        self.pieces.clear()

    def _result(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        key, error = str(data.get("tool_id")), data.get("error")
        name, about = self.names.get(key, ""), error if isinstance(error, dict) else {}
        output = brief(str(about.get("message") or data.get("output") or ""))
        if about.get("type") == "policy_violation" or (about.get("type") == "tool_not_registered" and _is_gated(name)):
            yield AgentSaid("denied", {"name": name, "reason": output})
        yield AgentSaid("result", {"id": key, "ok": data.get("status") == "success", "output": output})

    def _complain(self, message: str, *, is_error: bool) -> None:
        """It says `success` also when a loop, a hook or a limit of turns stopped the agent."""
        if message.startswith(_STOPPED):
            self.stopped = message
        elif is_error:
            self.complaint = message


def reader(job: AgentJob, folder: str) -> AgentReader:
    del folder
    return Reader(job)


def _is_gated(name: str) -> bool:
    """Is it a tool that exists, and is left out where it may not be used?"""
    return name in _GATED or name.startswith("mcp_")


def _status(exit_code: int) -> int | None:
    """It exits with the HTTP status of the error, of which the system keeps the low byte."""
    status = exit_code + _BYTE
    return status if status >= _FIRST_STATUS else None


def _usage(stats: Any) -> Iterator[AgentSaid]:
    """Thinking is paid as output, but only part of the total. All zero means that nothing was counted."""
    if not isinstance(stats, dict) or not stats.get("total_tokens"):
        return
    given = stats.get("input_tokens")
    output = stats["total_tokens"] - given if isinstance(given, int) else stats.get("output_tokens")
    told = {"inputTokens": given, "outputTokens": output, "cachedTokens": stats.get("cached"), "usd": None}
    yield AgentSaid("usage", told)
