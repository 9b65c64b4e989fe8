"""Runs Codex for a flow: `codex exec --json`, with the prompt on stdin.

Codex counts tokens per thread, so the count before this job is read from the thread's file. The stream does not contain
calls that the sandbox or a hook blocks; they appear on stderr. In guided mode, hooks, their hashes and the MCP server
are given on the command line for this call only; nothing is installed.
"""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from handrail.agents import outcomes
from handrail.agents.codex import install
from handrail.agents.outcomes import DONE, JobOutcome, NewRecords, brief, is_since
from handrail.base.dataclasses import replace
from handrail.base.jsonlite import within
from handrail.extensions.contracts import AgentJob, AgentSaid, Launch, Stubs
from handrail.source.text_edits import toml_value

_PRODUCT = "Codex"
"""Its ids are checked: for any other text, it silently starts a new conversation."""
PROGRAM = "codex"
TESTED = ("0.166.0",)
LOGIN = ("CODEX_HOME", ".codex", "auth.json")
ENVIRONMENT = ("CODEX_*", "OPENAI_*", "AZURE_OPENAI_*")
_MODES = {
    "read": ("--sandbox=read-only",),
    "work": ("--sandbox=workspace-write",),
    "full": ("--dangerously-bypass-approvals-and-sandbox",),
}
_SETTINGS = ('approval_policy="never"', "features.unbounded_connection_retries=false")
_GUIDED = ("features.hooks=true", "features.unified_exec_tty=false", 'web_search="disabled"')
_COUNTED = {"inputTokens": "input_tokens", "outputTokens": "output_tokens", "cachedTokens": "cached_input_tokens"}
_NOT_TOOLS = ("agent_message", "reasoning", "todo_list", "error")
_NAMES = {"command_execution": "Bash", "file_change": "apply_patch"}
_INPUTS = ("command", "changes", "query", "arguments", "prompt")
_NOT_STRICT = {"oneOf", "allOf", "not", "if", "dependentRequired", "dependentSchemas", "patternProperties"}
_REJECTED = re.compile(r"tools::router: error=((\w+) rejected.*)")
_BLOCKED = re.compile(r"error=(?:Command|Tool call) blocked by PreToolUse hook: ((?s:.*?))\. (?:Command|Tool): (.*)")
"""What Codex writes about a call that a hook denied. The reason, and a command, may have several lines."""
_LOCAL_TIME = re.compile(r"try again at (?:(\w{3} \d{1,2})\w\w, (\d{4}) )?(\d{1,2}:\d\d [AP]M)")


def launch(job: AgentJob, folder: str) -> Launch:
    """The command line. Codex chooses the id of a new conversation itself."""
    argv = [PROGRAM, "exec", "--json", "--skip-git-repo-check", *_MODES[job.permissions]]
    files, prompt = {}, job.prompt
    if prompt.lstrip(" ")[:1] in ("$", "/"):
        prompt = f"\n{prompt}"  # an installed hook of Handrail would read it as a command
    settings = list(_SETTINGS)
    if job.stubs is not None:
        files = {f"stubs/{name}": text for name, text in install.stub_files(job.stubs).items()}
        settings += _guided(job.stubs, job.env, os.path.join(folder, "stubs"))
    for setting in settings:
        argv += ["-c", setting]
    if job.model:
        argv.append(f"--model={job.model}")
    if job.schema is not None and job.schema.get("type") == "object" and _requires_all(job.schema):
        files["schema.json"] = json.dumps(job.schema)
        argv.append(f"--output-schema={os.path.join(folder, 'schema.json')}")
    elif job.schema is not None:
        prompt = outcomes.prompt_for_json(prompt, job.schema)
    argv += job.extra
    if job.session is not None:
        argv += ["resume", outcomes.checked_id(job.session, _PRODUCT)]
    return Launch((*argv, "-"), stdin=prompt.encode(), files=files)


def _guided(stubs: Stubs, env: Mapping[str, str], folder: str) -> list[str]:
    """The settings of a call whose hooks hold the agent to a workflow. Two tools are off, because no hook sees them."""
    groups = install.hook_groups(folder)
    states = {key: {"trusted_hash": hash_} for key, hash_ in install.trusted_hashes(install.FLAGS, groups, {}).items()}
    server = {**install.server_entry(stubs, sorted(env)), "required": True}
    return [
        *(f"hooks.{event}={toml_value([group])}" for event, group in groups.items()),
        f"hooks.state={toml_value(states)}",
        f"mcp_servers.{install.NAME}={toml_value(server)}",
        *_GUIDED,
    ]


def _requires_all(schema: Any) -> bool:
    """True if each object of the schema requires all its properties and no others, as the service wants it."""
    if isinstance(schema, list):
        return all(map(_requires_all, schema))
    if not isinstance(schema, dict):
        return True
    if "properties" in schema or schema.get("type") == "object":
        names = set(schema.get("properties") or {})
        if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != names:
            return False
    return not _NOT_STRICT & schema.keys() and all(map(_requires_all, schema.values()))


class CodexReader:
    def __init__(self, job: AgentJob, _folder: str) -> None:
        self.job = job
        self.thread = job.session
        self.count = ThreadCount(job.env)
        self.before: Mapping[str, int] | None = {} if self.thread is None else self.count.usage(self.thread)
        self.last_usage = self.before
        self.text: str | None = None
        self.begun_ids: set[str] = set()
        self.is_done = False
        self.has_counted = False
        self.failure: str | None = None

    def take(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        match data.get("type"):
            case "thread.started":
                self.thread = str(data.get("thread_id"))
                yield AgentSaid("session", {"id": self.thread})
            case "item.started" | "item.completed":
                yield from self._item(within(data, "item"), is_over=data["type"] == "item.completed")
                yield from self._usage_so_far()
            case "turn.completed":
                self.is_done = self.has_counted = True
                yield AgentSaid("usage", _difference(within(data, "usage"), self.before))
            case "turn.failed":
                self.failure = str(within(data, "error").get("message") or self.failure or "")
            case "error":
                message = str(data.get("message") or "")
                if message.startswith("Reconnecting"):
                    yield AgentSaid("retry", {"message": brief(message)})
                else:
                    self.failure = message

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        for match in _REJECTED.finditer(errors):
            name = "apply_patch" if match[2] == "patch" else match[2]
            yield AgentSaid("denied", {"name": name, "reason": match[1]})
        for match in _BLOCKED.finditer(errors):
            yield AgentSaid("denied", {"name": _blocked_tool(match), "reason": match[1]})
        if not self.has_counted:
            yield from self._usage_so_far()
        yield outcomes.finished(DONE if self.is_done else self._failure(exit_code, errors), self.text, self.job.schema)

    def _failure(self, exit_code: int, errors: str) -> JobOutcome:
        outcome = outcomes.failure(self.failure or outcomes.last_error(exit_code, errors))
        if outcome.name == "quota" and outcome.resets_at is None:
            return replace(outcome, resets_at=_local_reset_time(self.failure or "", self.job.env, time.time()))
        return outcome

    def _item(self, item: dict[str, Any], *, is_over: bool) -> Iterator[AgentSaid]:
        kind, key = str(item.get("type")), str(item.get("id"))
        if kind == "agent_message" and is_over:
            self.text = str(item.get("text") or "")
            yield AgentSaid("text", {"text": self.text})
        if kind in _NOT_TOOLS:
            return
        name = _tool(kind, item)
        if key not in self.begun_ids:
            self.begun_ids.add(key)
            inputs = {field: item[field] for field in _INPUTS if item.get(field) is not None}
            yield AgentSaid("tool", {"id": key, "name": name, "input": inputs.get("arguments", inputs)})
        if is_over:
            output = _output(item)
            if item.get("status") == "declined":
                yield AgentSaid("denied", {"name": name, "reason": output or "it was declined"})
            is_ok = item.get("status", "completed") == "completed" and item.get("exit_code") in (None, 0)
            yield AgentSaid("result", {"id": key, "ok": is_ok, "output": output})

    def _usage_so_far(self) -> Iterator[AgentSaid]:
        """The usage so far, if it has changed. Codex prints it when the turn ends, but records it at each answer."""
        counts = None if self.thread is None else self.count.usage(self.thread)
        if counts and counts != self.last_usage:
            self.last_usage = counts
            yield AgentSaid("usage", _difference(counts, self.before))


reader = CodexReader


def _difference(counts: Mapping[str, Any], before: Mapping[str, int] | None) -> dict[str, Any]:
    """What was used since `before`. A number is None if it, or the count before, is not known."""
    usage: dict[str, Any] = dict.fromkeys((*_COUNTED, "usd"))
    for name, theirs in _COUNTED.items():
        if before is not None and theirs in counts:
            usage[name] = counts[theirs] - before.get(theirs, 0)
    return usage


def spent(session: str, env: Mapping[str, str], since: float) -> dict[str, Any] | None:
    """What a thread used since a moment, by Codex's record of it."""
    counts, before = ThreadCount(env).usage(session), ThreadCount(env).usage(session, until=since)
    return _difference(counts, before) if counts and counts != before else None


def _tool(kind: str, item: Mapping[str, Any]) -> str:
    """The name of a tool in Codex's hooks."""
    if kind == "mcp_tool_call":
        return f"mcp__{item.get('server')}__{item.get('tool')}"
    return _NAMES.get(kind) or str(item.get("tool") or kind)


def _blocked_tool(match: re.Match[str]) -> str:
    """The name of a tool that a hook denied. Codex shows the command of a shell call, and the text of a patch."""
    if "error=Tool call" in match[0]:
        return match[2]
    return "apply_patch" if match[2].startswith("*** Begin Patch") else "Bash"


def _output(item: Mapping[str, Any]) -> str:
    output = item.get("aggregated_output") or within(item, "error").get("message")
    if output is None and (result := within(item, "result")):
        parts = outcomes.content_texts(result.get("content"))
        output = "\n".join(parts) if parts else json.dumps(result)
    if not output and item.get("exit_code"):
        output = f"exit code {item['exit_code']}"
    return brief(str(output or ""))


class ThreadCount:
    """The token count of a thread, which Codex continues when it resumes the thread, from its record of the thread."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.home = env.get("CODEX_HOME") or os.path.join(env.get("HOME", ""), ".codex")
        self.paths: list[str] = []
        self.records = NewRecords(b'"type":"token_count"', b'"total_token_usage"')
        self.counts: dict[str, int] = {}

    def usage(self, thread: str, until: float | None = None) -> dict[str, int] | None:
        """The tokens of the thread so far, or until a moment; None if unknown."""
        try:
            name = f"*/*/*/rollout-*{uuid.UUID(thread)}.jsonl"
        except ValueError:
            return None
        self.paths = self.paths or [str(path) for path in Path(self.home, "sessions").glob(name)][:1]
        for data in self.records.read(self.paths):
            if until is not None and is_since(data, until):
                break
            self.counts = within(data, "payload", "info", "total_token_usage") or self.counts
        return self.counts if self.paths else None


def _local_reset_time(text: str, env: Mapping[str, str], now: float) -> float | None:
    """When the limit of a plan ends. Codex prints local time without seconds, so this adds one minute."""
    match = _LOCAL_TIME.search(text)
    if match is None:
        return None
    try:
        zone: tzinfo | None = ZoneInfo(env["TZ"]) if env.get("TZ") else None
        day = f"{match[1]} {match[2]}" if match[1] else datetime.fromtimestamp(now, zone).strftime("%b %d %Y")
        date = datetime.strptime(f"{day} {match[3]}", "%b %d %Y %I:%M %p")  # noqa: DTZ007 - its zone is set below
        moment = date.replace(tzinfo=zone).timestamp() + 60
    except (ValueError, LookupError, OSError):
        return None
    return moment if moment > now else None
