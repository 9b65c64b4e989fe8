"""How flows call Claude Code: headless, its events as a stream of JSON. Success is what its result says, not 0.

With the guided mode in force its plugin is given for this call only: nothing is installed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from handrail.agents.claude import plugin
from handrail.agents.outcomes import judge
from handrail.contracts import AgentJob, AgentReader, AgentSaid, Launch

PROGRAM = "claude"
ENVIRONMENT = (
    "ANTHROPIC_*", "CLAUDE_*", "CLAUDECODE", "DISABLE_*", "MAX_THINKING_TOKENS", "MCP_*", "API_TIMEOUT_MS", "BASH_*",
    "IS_SANDBOX", "AWS_*", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUD_ML_REGION", "VERTEX_*", "USE_BUILTIN_RIPGREP",
)  # fmt: skip
_READ = "Read,Glob,Grep,WebFetch,WebSearch,TodoWrite,Task,Agent,Skill"
_WORK = f"{_READ},Edit,MultiEdit,Write,NotebookEdit,Bash,BashOutput,KillShell"
SHORT = 2_000


def launch(job: AgentJob, folder: str) -> Launch:
    argv = [PROGRAM, "-p", "--output-format", "stream-json", "--verbose"]
    argv += ["--model", job.model] if job.model else []
    if job.session is not None:
        argv += ["--resume", job.session]
    elif job.new_session is not None:
        argv += ["--session-id", job.new_session]
    allowed = {"read": _READ, "work": _WORK}.get(job.permissions)
    files: dict[str, str] = {}
    if job.stubs is not None:
        files = {os.path.join("plugin", name): text for name, text in plugin.files(job.stubs).items()}
        argv += ["--plugin-dir", os.path.join(folder, "plugin")]
        allowed = f"{allowed},mcp__plugin_handrail_handrail__workflow_step" if allowed else None
    if allowed is None:
        argv += ["--permission-mode", "bypassPermissions"]
    else:
        mode = "acceptEdits" if job.permissions == "work" else "default"
        argv += ["--permission-mode", mode, "--allowedTools", allowed]
    argv += ["--json-schema", _compact(job.schema)] if job.schema is not None else []
    return Launch((*argv, *job.extra), stdin=job.prompt.encode(), files=files)


def _compact(schema: dict[str, Any]) -> str:
    import json

    return json.dumps(schema, separators=(",", ":"))


class Reader:
    """Follows one stream. A tool that was not run because of us or of its permissions is told as denied."""

    def __init__(self) -> None:
        self.session: str | None = None
        self.texts: list[str] = []
        self.tools: dict[str, str] = {}
        self.result: dict[str, Any] | None = None
        self.failure = ""

    def take(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        session = data.get("session_id")
        if isinstance(session, str) and self.session is None:
            self.session = session
            yield AgentSaid("session", {"id": session})
        match data.get("type"):
            case "assistant":
                yield from self._assistant(data)
            case "user":
                yield from self._results(data)
            case "system" if data.get("subtype") == "api_retry":
                told = f"{data.get('error') or data.get('error_status') or 'the service failed'}"
                yield AgentSaid("retry", {"message": f"{told} (attempt {data.get('attempt')})"})
            case "result":
                self.result = data
                yield from _usage(data)

    def _assistant(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        if data.get("parent_tool_use_id") is not None:
            return
        for block in _blocks(data):
            if block.get("type") == "text":
                text = str(block.get("text", ""))
                self.texts = [text]
                if data.get("error"):
                    self.failure = f"{data['error']}: {text}"
                yield AgentSaid("text", {"text": text})
            elif block.get("type") == "tool_use":
                self.tools[str(block.get("id"))] = str(block.get("name"))
                yield AgentSaid("tool", {"id": block.get("id"), "name": block.get("name"), "input": block.get("input")})

    def _results(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        for block in _blocks(data):
            if block.get("type") != "tool_result":
                continue
            id_, output = str(block.get("tool_use_id")), _text(block.get("content"))
            if id_ not in self.tools:
                continue
            if block.get("is_error") and _is_denial(output):
                yield AgentSaid("denied", {"name": self.tools[id_], "reason": output[:SHORT]})
            else:
                yield AgentSaid("result", {"id": id_, "ok": not block.get("is_error"), "output": output[:SHORT]})

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        result = self.result
        found: dict[str, Any] = {"outcome": "done", "message": None, "resetsAt": None, "text": "\n".join(self.texts)}
        if result is None:
            told = self.failure or errors.strip()[-400:] or f"it ended with {exit_code} and without a result"
            outcome = judge(None, told, time.time()) if self.failure or errors.strip() else None
            found |= {"outcome": outcome.name if outcome else "crash", "message": told}
        elif result.get("is_error"):
            told = str(result.get("result") or self.failure or ", ".join(map(str, result.get("errors") or [])))
            status = result.get("api_error_status")
            outcome = judge(status if isinstance(status, int) else None, f"{self.failure} {told}", time.time())
            found |= {"outcome": outcome.name, "message": told or outcome.message, "resetsAt": outcome.resets_at}
        else:
            found["text"] = str(result.get("result") or found["text"])
            found["structured"] = result.get("structured_output")
        yield AgentSaid("finished", found)


def reader(job: AgentJob, folder: str) -> AgentReader:
    del job, folder
    return Reader()


def _blocks(data: dict[str, Any]) -> list[dict[str, Any]]:
    content = (data.get("message") or {}).get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _is_denial(output: str) -> bool:
    marks = ("hook error:", "Permission to use", "permissions to use", "requested permissions", "has been denied")
    return any(mark in output[:400] for mark in marks)


def _usage(result: dict[str, Any]) -> Iterator[AgentSaid]:
    usage = result.get("usage")
    if not isinstance(usage, dict):
        return
    cached = usage.get("cache_read_input_tokens")
    made = [usage.get(name) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
    counted = [count for count in made if isinstance(count, int)]
    cost = result.get("total_cost_usd")
    yield AgentSaid(
        "usage",
        {
            "inputTokens": sum(counted) if counted else None,
            "outputTokens": usage.get("output_tokens"),
            "cachedTokens": cached,
            "usd": cost if isinstance(cost, int | float) else None,
        },
    )
