"""Runs Claude Code for a flow: headless, with a stream of JSON events.

Its result decides about success, not its exit code. In guided mode, the plugin is passed for this call only; nothing is
installed. Claude Code prints several results in one call if it waits for background work: the last one counts, and each
has the usage since the one before.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from handrail.agents import outcomes
from handrail.agents.claude import install
from handrail.agents.claude.host import OWN_STEP
from handrail.agents.outcomes import DONE, JobOutcome, JobUsage, NewRecords, brief, is_since, total
from handrail.base.dataclasses import replace
from handrail.base.jsonlite import within
from handrail.extensions.contracts import OUTCOMES, AgentJob, AgentSaid, Launch

_PRODUCT = "Claude Code"
"""Its ids are checked: it would search the titles of all conversations for any other text."""
PROGRAM = "claude"
TESTED = ("2.1.197", "2.1.325")
LOGIN = ("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json")
ENVIRONMENT = (
    "ANTHROPIC_*", "CLAUDE_*", "CLAUDECODE", "DISABLE_*", "MAX_THINKING_TOKENS", "MCP_*", "API_TIMEOUT_MS", "BASH_*",
    "IS_SANDBOX", "AWS_*", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUD_ML_REGION", "VERTEX_*", "USE_BUILTIN_RIPGREP",
)  # fmt: skip
_READ = "Read,Glob,Grep,WebFetch,WebSearch,TodoWrite,Task,Agent,Skill,ToolSearch"
_MODES = {
    "read": ("--permission-mode=default", f"--tools={_READ}", f"--allowedTools={_READ}"),
    "work": ("--permission-mode=acceptEdits", f"--allowedTools={_READ},Bash,BashOutput,KillShell,Monitor"),
    "full": ("--permission-mode=bypassPermissions",),
}
"""`read` offers only these tools, so no rule in the person's settings can allow writing. `work` has no rule for edits:
its mode accepts edits inside the working folder, and a rule would accept them everywhere."""
_KEYWORDS = {
    "$comment", "$defs", "$id", "$ref", "additionalItems", "additionalProperties", "allOf", "anyOf", "const",
    "contains", "contentEncoding", "contentMediaType", "default", "definitions", "dependencies", "deprecated",
    "description", "else", "enum", "examples", "exclusiveMaximum", "exclusiveMinimum", "format", "if", "items",
    "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum",
    "multipleOf", "not", "nullable", "oneOf", "pattern", "patternProperties", "properties", "propertyNames",
    "readOnly", "required", "then", "title", "type", "uniqueItems", "writeOnly",
}  # fmt: skip
_NAMED = ("properties", "patternProperties", "definitions", "$defs", "dependencies")
_VALUES = ("const", "default", "enum", "examples")
_HOOK_ERROR = re.compile(r"\A(?:Error: )?PreToolUse:\w+ hook error: (?:\[[^\]]*\]: )?")
"""What Claude Code writes before the reason of a hook."""
_DENIALS = ("hook error:", "Permission to use", "requested permissions", "has been denied", "is disabled for this")
_OWN_LIMITS = {
    "error_max_turns": "crash",
    "error_max_structured_output_retries": "crash",
    "error_max_budget_usd": "quota",
}
"""Limits of Claude Code itself that end its work early. Another call can continue, except after the last one."""


def launch(job: AgentJob, folder: str) -> Launch:
    argv = [PROGRAM, "-p", "--output-format=stream-json", "--verbose", *_MODES[job.permissions]]
    if job.model:
        argv.append(f"--model={job.model}")
    if job.usd is not None:
        argv.append(f"--max-budget-usd={job.usd:.6g}")
    if job.session is not None:
        argv.append(f"--resume={outcomes.checked_id(job.session, _PRODUCT)}")
    elif job.new_session is not None:
        argv.append(f"--session-id={job.new_session}")
    files: dict[str, str] = {}
    if job.stubs is not None:
        files = {os.path.join("plugin", name): text for name, text in install.plugin_files(job.stubs).items()}
        argv += [f"--plugin-dir={os.path.join(folder, 'plugin')}", f"--allowedTools={OWN_STEP}"]
    prompt = job.prompt
    if job.schema is not None:
        native = {name: value for name, value in job.schema.items() if name != "$schema"}
        is_tool = native.get("type") == "object" and not native.keys() & {"allOf", "anyOf", "oneOf"}
        if is_tool and _is_known(native):
            argv.append(f"--json-schema={json.dumps(native, separators=(',', ':'))}")
        else:
            prompt = outcomes.prompt_for_json(prompt, job.schema)
    prompt = f"\n{prompt}" if prompt.startswith("/") else prompt  # it would be read as a slash command
    return Launch((*argv, *job.extra), stdin=prompt.encode(), files=files)


def _is_known(schema: Any) -> bool:
    """True if Claude Code knows all keywords of a schema: it knows drafts up to 7."""
    if isinstance(schema, list):
        return all(map(_is_known, schema))
    if not isinstance(schema, dict):
        return True
    inner = [
        list(value.values()) if name in _NAMED and isinstance(value, dict) else value
        for name, value in schema.items()
        if name not in _VALUES
    ]
    return schema.keys() <= _KEYWORDS and _is_known(inner)


class ClaudeReader:
    """Reads one stream. Text of subagents is left out; denied calls of subagents are reported."""

    def __init__(self, job: AgentJob, _folder: str) -> None:
        self.job = job
        self.session: str | None = None
        self.is_reported = False
        self.text: str | None = None
        self.tools: dict[str, str] = {}
        self.result: dict[str, Any] | None = None
        self.structured: Any = None
        self.error, self.complaint = "", ""
        self.limit: dict[str, Any] = {}
        self.spent = JobUsage()
        self.uncounted: dict[str, dict[str, Any]] = {}

    def take(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        match (data.get("type"), data.get("subtype")):
            case ("system", "init"):
                session_id = data.get("session_id")
                self.session = session_id if isinstance(session_id, str) else self.session
                self.result, self.error, self.complaint = None, "", ""
            case ("system", "api_retry"):
                yield from self._report_session()
                yield AgentSaid("retry", {"message": brief(_retry_words(data))})
            case ("assistant", _):
                yield from self._report_session()
                yield from self._on_assistant(data)
            case ("user", _):
                yield from self._on_tool_results(data)
            case ("rate_limit_event", _):
                info = within(data, "rate_limit_info")
                self.limit = info if info.get("status") == "rejected" else {}
            case ("result", _):
                yield from self._report_session()
                yield from self._on_result(data)

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        if self.session is not None and any(_projects(self.job.env).glob(f"*/{self.session}.jsonl")):  # it is saved
            yield from self._report_session()
        yield from self._so_far()
        outcome = self._outcome(exit_code, errors)
        if outcome != DONE or self.result is None:
            yield outcomes.finished(outcome, self.text)
        else:
            text = str(self.result.get("result") or self.text or "")
            yield outcomes.finished(DONE, text, self.job.schema, self.structured)

    def _so_far(self) -> Iterator[AgentSaid]:
        """The usage before the first result. Messages have neither all their output tokens nor a price."""
        spent = JobUsage()
        for usage in self.uncounted.values():
            spent.add(*_counts(usage), 0.0)
        if spent.tokens is not None and self.result is None:
            yield AgentSaid("usage", {**spent.event().data, "outputTokens": None, "usd": None})

    def _report_session(self) -> Iterator[AgentSaid]:
        """Report the session once. It can be resumed only after it is saved, a moment after its id is printed."""
        if self.session is not None and not self.is_reported:
            self.is_reported = True
            yield AgentSaid("session", {"id": self.session})

    def _on_assistant(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        is_own, message = data.get("parent_tool_use_id") is None, within(data, "message")
        if data.get("error") or data.get("is_api_error_message"):
            if is_own:
                words = (data.get(name) for name in ("error", "api_error"))
                self.error = " ".join(str(word) for word in words if word)
                self.complaint = " ".join(outcomes.content_texts(message.get("content")))
            return
        self.uncounted[str(message.get("id"))] = within(message, "usage")
        yield from self._so_far()
        for block in _blocks(data):
            if block.get("type") == "text" and is_own:
                self.text = str(block.get("text") or "")
                yield AgentSaid("text", {"text": self.text})
            elif block.get("type") == "tool_use":
                key, name = str(block.get("id")), str(block.get("name"))
                self.tools[key] = name
                if is_own:
                    yield AgentSaid("tool", {"id": key, "name": name, "input": block.get("input")})

    def _on_tool_results(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        for block in _blocks(data):
            key, output = str(block.get("tool_use_id")), brief("\n".join(outcomes.content_texts(block.get("content"))))
            if block.get("type") != "tool_result" or key not in self.tools:
                continue
            if block.get("is_error") and _is_denied(data, key, output):
                yield AgentSaid("denied", {"name": self.tools[key], "reason": _HOOK_ERROR.sub("", output)})
            if data.get("parent_tool_use_id") is None:
                yield AgentSaid("result", {"id": key, "ok": not block.get("is_error"), "output": output})

    def _on_result(self, result: dict[str, Any]) -> Iterator[AgentSaid]:
        """Count the usage since the last result. Totals of the conversation may include work before this job."""
        self.result = result
        if result.get("structured_output") is not None:
            self.structured = result["structured_output"]
        self.uncounted.clear()
        usages = result.get("model_usage_since_last_result")
        if isinstance(usages, dict):
            objects = map(within, usages.values())
            has_more = [self.spent.add(*_counts(usage), total(usage, "costUSD")) for usage in objects]
        else:
            usd = total(result, "total_cost_usd") if self.job.session is None else 0.0
            has_more = [self.spent.add(*_counts(within(result, "usage")), usd)]
        if any(has_more):
            yield self.spent.event()

    def _outcome(self, exit_code: int, errors: str) -> JobOutcome:
        result = self.result
        if result is None:
            return self._classified(None, self.error, self.complaint or outcomes.last_error(exit_code, errors))
        messages, subtype, status = result.get("errors"), str(result.get("subtype")), result.get("api_error_status")
        if not result.get("is_error") and not subtype.startswith("error"):
            return DONE
        message = str(result.get("result") or "; ".join(map(str, messages if isinstance(messages, list) else ())))
        if subtype in _OWN_LIMITS:
            return JobOutcome(_OWN_LIMITS[subtype], brief(message or subtype, outcomes.LONGEST_MESSAGE))
        codes = f"{self.error} {result.get('stop_reason')}"
        return self._classified(status if isinstance(status, int) else None, codes, message or self.complaint)

    def _classified(self, status: int | None, codes: str, message: str) -> JobOutcome:
        """The outcome of a failure. The error codes help to classify it, but the message leaves them out."""
        outcome = outcomes.failure(f"{codes} {message}", status, self.limit)
        words = brief(outcomes.without_json(message), outcomes.LONGEST_MESSAGE)
        return replace(outcome, message=words or OUTCOMES[outcome.name])


reader = ClaudeReader


def _projects(env: Mapping[str, str]) -> Path:
    return Path(env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME", ""), ".claude"), "projects")


def spent(session: str, env: Mapping[str, str], since: float) -> dict[str, Any] | None:
    """What a conversation and its subagents used since a moment, by Claude Code's record. It has no price."""
    session = outcomes.checked_id(session, _PRODUCT)
    places = (f"*/{session}.jsonl", f"*/{session}/subagents/*.jsonl")
    paths = [str(path) for place in places for path in _projects(env).glob(place)]
    answers: dict[str, dict[str, Any]] = {}
    for data in NewRecords(b'"type":"assistant"', b'"usage"').read(paths):
        if data.get("type") == "assistant" and is_since(data, since):
            message = within(data, "message")
            answers[str(message.get("id"))] = message
    found = JobUsage()
    for message in answers.values():
        found.add(*_counts(within(message, "usage")), 0.0)
    is_whole = all(message.get("stop_reason") for message in answers.values())
    return None if found.tokens is None else {**found.event().data, **({} if is_whole else {"outputTokens": None})}


def _retry_words(data: dict[str, Any]) -> str:
    """What Claude Code says about a call of its service that failed. Without a status, it got no answer at all."""
    status, error = data.get("error_status"), data.get("error")
    reason = str(error) if error and error != "unknown" else ""
    why = f"claude cannot reach its service{f' ({reason})' if reason else ''}"
    if status is not None:
        why = f"the service of claude answered {status}{f' {reason}' if reason else ''}"
    most = data.get("max_retries")
    return f"{why}; it tries again, {data.get('attempt')}{f' of {most}' if most is not None else ''}"


def _blocks(data: dict[str, Any]) -> list[dict[str, Any]]:
    content = within(data, "message").get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _is_denied(data: dict[str, Any], key: str, output: str) -> bool:
    """True if the call was denied: by the permission decision if there is one, else by the words of the result."""
    about = data.get("tool_result_meta")
    for one in about if isinstance(about, list) else ():
        decision = within(one, "permission_decision").get("decision")
        if decision is not None and one.get("id") == key:
            return bool(decision == "reject")
    return any(mark in output[:400] for mark in _DENIALS)


def _counts(usage: dict[str, Any]) -> tuple[float, float, float]:
    """Tokens of the whole prompt, of the answer, and of the part read from the cache."""
    cache_reads = total(usage, "cacheReadInputTokens", "cache_read_input_tokens")
    cache_writes = total(usage, "cacheCreationInputTokens", "cache_creation_input_tokens")
    return (
        total(usage, "inputTokens", "input_tokens") + cache_writes + cache_reads,
        total(usage, "outputTokens", "output_tokens"),
        cache_reads,
    )
