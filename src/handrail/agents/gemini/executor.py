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
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from handrail.agents.gemini import install as own
from handrail.agents.gemini.install import AUTHORITY
from handrail.agents.outcomes import (
    DONE,
    JobOutcome,
    JobUsage,
    NewLines,
    brief,
    checked_id,
    classify_failure,
    finished,
    json_answer,
    last_error,
    prompt_for_json,
    total,
    within,
)
from handrail.extensions.contracts import AgentJob, AgentReader, AgentSaid, Launch, NodeError, Stubs
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


def has_prompt_saved(env: Mapping[str, str], conversation: str) -> bool:
    """True if Gemini CLI has saved a prompt of the conversation. Only then it can be resumed."""
    saved = Path(gemini_home(env), _BASE, "tmp").glob(f"*/chats/session-*-{conversation[:8]}.jsonl")
    for path in saved:
        with path.open(encoding="utf-8", errors="replace") as file:
            if any('"type":"user"' in line for line in file):
                return True
    return False


def make_home(stubs: Stubs, env: Mapping[str, str], folder: str) -> dict[str, str]:
    """Make a home in `folder`, which the caller removes. Returns the files to write: path below `folder` → content."""
    theirs, ours = gemini_home(env), os.path.join(folder, "home")
    base = os.path.join(theirs, _BASE)
    os.makedirs(os.path.join(ours, _BASE))
    for name in _CONVERSATIONS:
        os.makedirs(os.path.join(base, name), exist_ok=True)
    for name in (".env", ".agents"):
        if os.path.exists(os.path.join(theirs, name)):
            os.symlink(os.path.join(theirs, name), os.path.join(ours, name))
    for name in os.listdir(base):
        if name not in _NOT_SHARED:
            os.symlink(os.path.join(base, name), os.path.join(ours, _BASE, name))
    settings = _with_ours(
        _read_settings(os.path.join(base, "settings.json")), own.settings_entries(stubs, f"{folder}/{own.NAME}")
    )
    files = {os.path.join(own.NAME, name): text for name, text in own.stub_files(stubs).items()}
    return {**files, f"home/{_BASE}/settings.json": json.dumps(settings, indent=2, ensure_ascii=False) + "\n"}


def _with_ours(settings: dict[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with our entries. Entries of an installation are left out: they would answer a second time."""
    hooks = _mapping(settings, "hooks")
    for event, entries in added["hooks"].items():
        theirs = hooks.get(event)
        hooks[event] = [*(e for e in (theirs if isinstance(theirs, list) else ()) if not _is_ours(e)), *entries]
    return {**settings, "hooks": hooks, "mcpServers": {**_mapping(settings, "mcpServers"), **added["mcpServers"]}}


def _is_ours(entry: Any) -> bool:
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    return isinstance(hooks, list) and any(isinstance(hook, dict) and hook.get("name") == own.NAME for hook in hooks)


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


def _mapping(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = settings.get(name)
    return dict(value) if isinstance(value, dict) else {}


_ID = 8
"""The name of a record ends with so many characters of the conversation's id."""


class AnswerCount:
    """Counts the answers of one conversation. Those that are there when it is made do not count."""

    def __init__(self, home: str, conversation: str | None) -> None:
        self.folder = Path(home, ".gemini", "tmp")
        self.records: dict[str, NewLines] = {}
        self.answers: dict[str, Mapping[str, Any]] = {}
        self.before: set[str] = set()
        if conversation is not None:
            self._read(conversation)
            self.before = set(self.answers)

    def now(self, conversation: str) -> JobUsage:
        """What the answers since the begin of this job used."""
        self._read(conversation)
        spent = JobUsage()
        for id_, tokens in self.answers.items():
            if id_ not in self.before:
                whole = total(dict(tokens), "input")
                spent.add(whole, total(dict(tokens), "total") - whole, total(dict(tokens), "cached"), 0.0)
        return spent

    def _read(self, conversation: str) -> None:
        if not conversation.replace("-", "").isalnum():
            return
        for path in self.folder.glob(f"*/chats/session-*-{conversation[:_ID]}.jsonl"):
            for line in self.records.setdefault(str(path), NewLines(str(path))).read():
                if b'"type":"gemini"' in line and b'"tokens"' in line:
                    self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            data = json.loads(line)
        except ValueError:
            return
        if isinstance(data, dict) and isinstance(data.get("id"), str):
            self.answers[data["id"]] = within(data, "tokens")


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
_STOPPED = ("Loop detected", "Agent execution stopped", "Agent execution blocked", "Maximum session turns")
_RETRY = re.compile(r"^Attempt \d+ failed.*(?:\n(?!Attempt).*){0,2}?Retrying\b.*?(?=\.\.\.|$)", re.MULTILINE)
_AUTH = 41
_FIRST_STATUS, _BYTE = 400, 256


def launch(job: AgentJob, folder: str) -> Launch:
    """The command line. Our policy disables plan mode, because nobody can approve a plan."""
    argv = [PROGRAM, "-o", "stream-json", "--skip-trust", f"--approval-mode={_MODES[job.permissions]}"]
    argv += [f"--policy={_own_policies(job.env)}", f"--policy={os.path.join(folder, 'policy.toml')}"]
    if job.model:
        argv.append(f"--model={job.model}")
    thread = job.session or job.new_session
    if thread is not None:
        is_there = job.session is not None if job.stubs is None else has_prompt_saved(job.env, thread)
        argv.append(f"--resume={checked_id(thread, _PRODUCT)}" if is_there else f"--session-id={thread}")
    prompt = job.prompt if job.schema is None else prompt_for_json(job.prompt, job.schema)
    prompt = f"\n{prompt}" if prompt.startswith("/") else prompt  # it would be read as a slash command
    env = {"GEMINI_CLI_NO_RELAUNCH": "true"}
    files = {"policy.toml": _POLICY + (_SHELL if job.permissions == "work" else "")}
    if job.stubs is not None:
        prompt = f"{prompt}\n\n{AUTHORITY}"
        env[HOME] = os.path.join(folder, "home")
        files = {"policy.toml": files["policy.toml"] + _STEP, **make_home(job.stubs, job.env, folder)}
    return Launch((*argv, *job.extra), env, prompt.encode(), files)


def _own_policies(env: Mapping[str, str]) -> str:
    """The folder of the person's own policies. `--policy` replaces them, so they are passed as well."""
    return os.path.join(gemini_home(env), ".gemini", "policies")


class GeminiReader:
    """Reads the events of one turn. Text arrives in pieces; it is reported as a whole at the next other event."""

    def __init__(self, job: AgentJob) -> None:
        self.job = job
        self.session = job.session or job.new_session
        self.count = AnswerCount(gemini_home(job.env), self.session)
        self.told = 0
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
                self._keep_error(str(data.get("message") or ""), is_error=data.get("severity") == "error")
            case "result":
                self.result = data
                yield from _usage(data.get("stats"))

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        yield from self._flush_text()
        for found in _RETRY.finditer(errors):
            yield AgentSaid("retry", {"message": brief(" ".join(found[0].split()))})
        outcome = self._outcome(exit_code, errors)
        structured = json_answer(self.text) if outcome == DONE and self.job.schema is not None else None
        yield finished(outcome, self.text, structured)

    def _outcome(self, exit_code: int, errors: str) -> JobOutcome:
        now = time.time()
        if self.result is None:
            told = self.complaint or last_error(exit_code, errors)
            return classify_failure(401, told, now) if exit_code == _AUTH else classify_failure(None, told, now)
        if self.stopped is not None:
            return JobOutcome("crash", self.stopped)
        if self.result.get("status") == "success":
            return DONE
        error = self.result.get("error")
        message = error.get("message") if isinstance(error, dict) else None
        told = str(message or self.complaint or last_error(exit_code, errors))
        return classify_failure(_status(exit_code), told, now)

    def _flush_text(self) -> Iterator[AgentSaid]:
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

    def _usage_so_far(self) -> Iterator[AgentSaid]:
        """The usage until now, if it is news. At the end of the turn, Gemini CLI prints the whole."""
        spent = self.count.now(self.session) if self.session is not None else None
        if spent is not None and spent.tokens is not None and sum(spent.tokens) != self.told:
            self.told = sum(spent.tokens)
            yield spent.said()

    def _keep_error(self, message: str, *, is_error: bool) -> None:
        """Keep an error message. The result is `success` even if a loop, a hook or a turn limit stopped the agent."""
        if message.startswith(_STOPPED):
            self.stopped = message
        elif is_error:
            self.complaint = message


def reader(job: AgentJob, folder: str) -> AgentReader:
    del folder
    return GeminiReader(job)


def _is_gated(name: str) -> bool:
    """True for tools that Gemini CLI does not register if they are not allowed."""
    return name in _GATED or name.startswith("mcp_")


def _status(exit_code: int) -> int | None:
    """The HTTP status of the error. Gemini CLI exits with it, and the system keeps only the low byte."""
    status = exit_code + _BYTE
    return status if status >= _FIRST_STATUS else None


def _usage(stats: Any) -> Iterator[AgentSaid]:
    """The usage. Thinking tokens are billed as output but counted only in the total. All zeros mean: not counted."""
    if not isinstance(stats, dict) or not stats.get("total_tokens"):
        return
    given = stats.get("input_tokens")
    output = stats["total_tokens"] - given if isinstance(given, int) else stats.get("output_tokens")
    told = {"inputTokens": given, "outputTokens": output, "cachedTokens": stats.get("cached"), "usd": None}
    yield AgentSaid("usage", told)
