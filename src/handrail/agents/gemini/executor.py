"""Runs Gemini CLI for a flow: `gemini -o stream-json`, with the prompt on stdin.

It exits with 0 even if it was stopped, so only a `result` event means that the turn is complete. Retries appear only on
stderr. It prints its usage at the end of a turn, but records it with each answer. It reads hooks and servers only from
its home, from the project, and from files of root. So a call that follows a workflow gets a home of its own: everything
in it leads to the person's home, except for the settings, which are the person's with our entries added.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from handrail.agents import outcomes
from handrail.agents.gemini import install as own
from handrail.agents.gemini.host import SERVER
from handrail.agents.gemini.install import AUTHORITY
from handrail.agents.outcomes import DONE, JobOutcome, JobUsage, NewRecords, brief, is_since, total
from handrail.agents.recipes import as_json
from handrail.base.jsonlite import within
from handrail.extensions.contracts import AgentJob, AgentSaid, Launch, NodeError, Stubs
from handrail.source import text_edits

HOME = "GEMINI_CLI_HOME"
_BASE = ".gemini"
_CONVERSATIONS = ("tmp", "history")
"""Folders with conversations. Gemini CLI would create them."""
_NOT_SHARED = ("settings.json", "projects.json")
"""Files that are not shared: our settings, and a list that Gemini CLI replaces and can compute again."""


def gemini_home(env: Mapping[str, str]) -> str:
    """The folder in which Gemini CLI has its `.gemini`."""
    return env.get(HOME) or env.get("HOME", "")


def records(home: str, conversation: str) -> Iterator[Path]:
    """The records of a conversation. Their names end with the first characters of its id."""
    return Path(home, _BASE, "tmp").glob(f"*/chats/session-*-{conversation[:8]}.jsonl")


def has_prompt_saved(env: Mapping[str, str], conversation: str) -> bool:
    """True if Gemini CLI has saved a prompt of the conversation. Only then it can be resumed."""
    return any(b'"type":"user"' in path.read_bytes() for path in records(gemini_home(env), conversation))


def make_home(stubs: Stubs, env: Mapping[str, str], folder: str) -> dict[str, str]:
    """Make a home in `folder`, which the caller removes. Returns the files to write: path below `folder` → content."""
    user_home, new_home = gemini_home(env), os.path.join(folder, "home")
    base = os.path.join(user_home, _BASE)
    os.makedirs(os.path.join(new_home, _BASE))
    for name in _CONVERSATIONS:
        os.makedirs(os.path.join(base, name), exist_ok=True)
    for name in (".env", ".agents"):
        if os.path.exists(os.path.join(user_home, name)):
            os.symlink(os.path.join(user_home, name), os.path.join(new_home, name))
    for name in os.listdir(base):
        if name not in _NOT_SHARED:
            os.symlink(os.path.join(base, name), os.path.join(new_home, _BASE, name))
    settings = _read_settings(os.path.join(base, "settings.json"))
    hooks = _with_ours(settings, own.hook_entries(f"{folder}/{own.NAME}"))
    servers = {**within(settings, "mcpServers"), SERVER: own.server_entry(stubs)}
    files = {os.path.join(own.NAME, name): text for name, text in own.stub_files(stubs).items()}
    return {**files, f"home/{_BASE}/settings.json": as_json({**settings, "hooks": hooks, "mcpServers": servers})}


def _with_ours(settings: dict[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """The hooks of the settings, and ours. Hooks of an installation are left out: they would answer a second time."""
    hooks = dict(within(settings, "hooks"))
    for event, entries in added.items():
        user_entries = hooks.get(event)
        present = user_entries if isinstance(user_entries, list) else ()
        hooks[event] = [*(entry for entry in present if not _is_ours(entry)), *entries]
    return hooks


def _is_ours(entry: Any) -> bool:
    hooks = within(entry).get("hooks")
    return isinstance(hooks, list) and any(within(hook).get("name") == own.NAME for hook in hooks)


def _read_settings(path: str) -> dict[str, Any]:
    """The person's settings; empty if there are none."""
    try:
        with open(path, encoding="utf-8") as file:
            settings = json.loads(text_edits.without_comments(file.read()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        message = f"the settings of Gemini CLI in `{path}` cannot be read: {error}"
        raise NodeError("agent-settings", message, transient=False) from error
    return settings if isinstance(settings, dict) else {}


class AnswerCount:
    """Counts the answers of one conversation. Those that are there when it is made, or before `since`, do not count."""

    def __init__(self, home: str, conversation: str | None, since: float = 0.0) -> None:
        self.home = home
        self.since = since
        self.records = NewRecords(b'"type":"gemini"', b'"tokens"')
        self.answers: dict[str, dict[str, Any]] = {}
        self.before: set[str] = set()
        if conversation is not None:
            self._read(conversation)
            self.before = set(self.answers)

    def usage(self, conversation: str) -> JobUsage:
        """The usage of all answers since this job began."""
        self._read(conversation)
        spent = JobUsage()
        for id_, tokens in self.answers.items():
            if id_ not in self.before:
                whole = total(tokens, "input")
                spent.add(whole, total(tokens, "total") - whole, total(tokens, "cached"), 0.0)
        return spent

    def _read(self, conversation: str) -> None:
        if conversation.replace("-", "").isalnum():
            for data in self.records.read(map(str, records(self.home, conversation))):
                if isinstance(data.get("id"), str) and is_since(data, self.since):
                    self.answers[data["id"]] = within(data, "tokens")


def spent(session: str, env: Mapping[str, str], since: float) -> dict[str, Any] | None:
    """What a conversation used since a moment, by Gemini CLI's record of it."""
    return AnswerCount(gemini_home(env), None, since).usage(session).known()


_PRODUCT = "Gemini CLI"
"""Its ids are checked: `latest` or a number could mean another conversation by now."""
PROGRAM = "gemini"
TESTED = ("0.61.0",)
LOGIN = ("", ".gemini", "oauth_creds.json")
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
_STEP = """
[[rule]]
mcpName = "handrail"
toolName = "workflow_step"
decision = "allow"
priority = 998
"""
_GATED = ("run_shell_command", "write_file", "replace", "web_fetch", "activate_skill", "enter_plan_mode")
"""Tools that Gemini CLI does not register if they are not allowed, besides those of MCP servers."""
_STOPPED = ("Loop detected", "Agent execution stopped", "Agent execution blocked", "Maximum session turns")
_RETRY = re.compile(r"^Attempt \d+ failed.*(?:\n(?!Attempt).*){0,2}?Retrying\b.*?(?=\.\.\.|$)", re.MULTILINE)
_AUTH = 41
_FIRST_STATUS, _BYTE = 400, 256


def launch(job: AgentJob, folder: str) -> Launch:
    """The command line. Our policy disables plan mode, because nobody can approve a plan."""
    argv = [PROGRAM, "-o", "stream-json", "--skip-trust", f"--approval-mode={_MODES[job.permissions]}"]
    user_policies = os.path.join(gemini_home(job.env), _BASE, "policies")  # our option would replace them
    argv += [f"--policy={user_policies}", f"--policy={os.path.join(folder, 'policy.toml')}"]
    if job.model:
        argv.append(f"--model={job.model}")
    thread = job.session or job.new_session
    if thread is not None:
        is_there = job.session is not None if job.stubs is None else has_prompt_saved(job.env, thread)
        argv.append(f"--resume={outcomes.checked_id(thread, _PRODUCT)}" if is_there else f"--session-id={thread}")
    prompt = job.prompt if job.schema is None else outcomes.prompt_for_json(job.prompt, job.schema)
    prompt = f"\n{prompt}" if prompt.startswith("/") else prompt  # it would be read as a slash command
    env = {"GEMINI_CLI_NO_RELAUNCH": "true"}
    files = {"policy.toml": _POLICY + (_SHELL if job.permissions == "work" else "")}
    if job.stubs is not None:
        prompt = f"{prompt}\n\n{AUTHORITY}"
        env[HOME] = os.path.join(folder, "home")
        files = {"policy.toml": files["policy.toml"] + _STEP, **make_home(job.stubs, job.env, folder)}
    return Launch((*argv, *job.extra), env, prompt.encode(), files)


class GeminiReader:
    """Reads the events of one turn. Text arrives in pieces; it is reported as a whole at the next other event."""

    def __init__(self, job: AgentJob, _folder: str) -> None:
        self.job = job
        self.session = job.session or job.new_session
        self.count = AnswerCount(gemini_home(job.env), self.session)
        self.last_total = 0
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
                self.stopped = None  # a hook sent the agent on
                self.pieces.append(str(data.get("content") or ""))
            return
        yield from self._flush_text()
        match kind:
            case "init":
                self.session = str(data.get("session_id"))
                yield AgentSaid("session", {"id": self.session})
            case "tool_use":
                self.stopped = None
                key, name = str(data.get("tool_id")), str(data.get("tool_name"))
                self.names[key] = name
                yield AgentSaid("tool", {"id": key, "name": name, "input": data.get("parameters")})
            case "tool_result":
                yield from self._result(data)
                yield from self._usage_so_far()
            case "error":
                message = str(data.get("message") or "")
                if message.startswith(_STOPPED):  # the result is `success` all the same
                    self.stopped = message
                elif data.get("severity") == "error":
                    self.complaint = message
            case "result":
                self.result = data
                yield from _usage(data.get("stats"))

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        yield from self._flush_text()
        for match in _RETRY.finditer(errors):
            yield AgentSaid("retry", {"message": brief(" ".join(match[0].split()))})
        yield outcomes.finished(self._outcome(exit_code, errors), self.text, self.job.schema)

    def _outcome(self, exit_code: int, errors: str) -> JobOutcome:
        if self.result is None:
            message = self.complaint or outcomes.last_error(exit_code, errors)
            return outcomes.failure(message, 401 if exit_code == _AUTH else None)
        if self.stopped is not None:
            return JobOutcome("crash", self.stopped)
        if self.result.get("status") == "success":
            return DONE
        reason = within(self.result, "error").get("message") or self.complaint
        status = exit_code + _BYTE  # it exits with the HTTP status, and the system keeps only the low byte
        message = str(reason or outcomes.last_error(exit_code, errors))
        return outcomes.failure(message, status if status >= _FIRST_STATUS else None)

    def _flush_text(self) -> Iterator[AgentSaid]:
        if text := "".join(self.pieces):
            self.text = text
            yield AgentSaid("text", {"text": text})
        self.pieces.clear()

    def _result(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        key, error = str(data.get("tool_id")), within(data, "error")
        name = self.names.get(key, "")
        output = brief(str(error.get("message") or data.get("output") or ""))
        is_gated = name in _GATED or name.startswith("mcp_")
        if error.get("type") == "policy_violation" or (error.get("type") == "tool_not_registered" and is_gated):
            yield AgentSaid("denied", {"name": name, "reason": output})
        yield AgentSaid("result", {"id": key, "ok": data.get("status") == "success", "output": output})

    def _usage_so_far(self) -> Iterator[AgentSaid]:
        """The usage so far, if it has changed. At the end of the turn, Gemini CLI prints the whole."""
        spent = self.count.usage(self.session) if self.session is not None else None
        if spent is not None and spent.tokens is not None and sum(spent.tokens) != self.last_total:
            self.last_total = sum(spent.tokens)
            yield spent.event()


reader = GeminiReader


def _usage(stats: Any) -> Iterator[AgentSaid]:
    """The usage. Thinking tokens are billed as output but counted only in the total. All zeros mean: not counted."""
    if not isinstance(stats, dict) or not stats.get("total_tokens"):
        return
    prompt = stats.get("input_tokens")
    output = stats["total_tokens"] - prompt if isinstance(prompt, int) else stats.get("output_tokens")
    data = {"inputTokens": prompt, "outputTokens": output, "cachedTokens": stats.get("cached"), "usd": None}
    yield AgentSaid("usage", data)
