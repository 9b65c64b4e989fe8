"""Measures the installed hooks as Claude Code runs them, a new shell per event, compared with starting Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.measure import BenchError, Job, interleave, spawn
from bench.place import KEY, TASK, environment, write_catalog
from bench.rows import Bound, Part, Row, rarely, slower
from handrail.guided.sessions.hook_files import PROGRESS
from handrail.guided.sessions.machine import MOST_SUMMARIES, SUMMARY_LENGTH

ROUNDS = 151
BOUND = Bound(1.4)
PYTHON = "`python -I -c pass`"
ACTIVE, IDLE = "11111111-2222-4333-8444-555555555555", "11111111-2222-4333-8444-666666666666"
FULL = "11111111-2222-4333-8444-777777777777"
LARGEST = ", the largest summaries"
FULL_BOUND = Bound(1.2)
TRANSCRIPT_ENTRIES = 500
ABOUT = f"""\
The hooks that `handrail install claude` installs, run as Claude Code runs them: `/bin/sh -c` with the command from
`hooks.json`, the event as JSON on standard input, and a workflow that was started with `/workflow` in the conversation.
Each hook is one shell and one Python, and both are measured. {ROUNDS} processes of each; p50 is compared with the p50
of Python, p95 with its p95. *No workflow* means that none is active in the conversation. At each stop the agent has
made progress, so a record is written and the agent is sent on; the transcript is long. The allowed call is a `Bash`
call of `git status --short`, which the gate takes apart. *The largest summaries*: {MOST_SUMMARIES} phases were left
with summaries of {SUMMARY_LENGTH:,} characters of four bytes each; such a hook is compared with the same hook without
summaries."""


class Installed:
    """A home with Handrail installed, a project, and one conversation with an active workflow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        write_catalog(self.project, 1)
        home = folder / "home"
        self.plugin = home / ".claude" / "skills" / "handrail"
        self.links = home / ".local" / "state" / "handrail" / "hosts" / "claude"
        self.env = {k: v for k, v in environment(home).items() if k != "HANDRAIL_HOME"}
        argv = [sys.executable, "-I", "-m", "handrail", "install", "claude"]
        subprocess.run(argv, cwd=self.project, env=self.env, stdout=subprocess.DEVNULL, check=True)
        self.hooks = json.loads((self.plugin / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
        self.transcript = folder / "transcript.jsonl"
        said = {"role": "user", "content": [{"type": "tool_result", "content": "ok " * 200}]}
        line = json.dumps({"type": "user", "isSidechain": False, "message": said}) + "\n"
        self.transcript.write_text(line * TRANSCRIPT_ENTRIES, encoding="utf-8")
        name = {"command_name": "handrail:workflow", "command_args": f"{KEY} {TASK}"}
        for conversation in (ACTIVE, FULL):
            Event(self, "start", "UserPromptExpansion", conversation, name).expect("additionalContext")
        argv = [sys.executable, "-I", "-m", "handrail", "next", "--session", f"claude-{FULL}", "--summary"]
        for _ in range(MOST_SUMMARIES):
            subprocess.run(
                [*argv, "🔧" * SUMMARY_LENGTH], cwd=self.project, env=self.env, stdout=subprocess.DEVNULL, check=True
            )
        link = json.loads((self.links / ACTIVE).read_text(encoding="utf-8"))
        self.progress = Path(link["folder"]) / PROGRESS

    def command(self, event: str) -> str:
        """The command of the first hook of this event, with the host's variables replaced."""
        return str(self.hooks[event][0]["hooks"][0]["command"]).replace("${CLAUDE_PLUGIN_ROOT}", str(self.plugin))


class Event:
    """One event that the installed stub answers in a new shell."""

    def __init__(self, host: Installed, name: str, event: str, conversation: str, more: dict[str, Any]) -> None:
        self.question, self.answer = str(host.folder / f"{name}.request"), str(host.folder / f"{name}.answer")
        self.argv = ["/bin/sh", "-c", host.command(event)]
        self.env = {**host.env, "CLAUDE_CODE_SESSION_ID": conversation, "CLAUDE_PLUGIN_ROOT": str(host.plugin)}
        base = {"session_id": conversation, "transcript_path": str(host.transcript), "cwd": str(host.project)}
        message = {**base, "permission_mode": "default", "hook_event_name": event, **more}
        Path(self.question).write_text(json.dumps(message), encoding="utf-8")

    def __call__(self) -> float:
        return spawn(self.argv, self.env, self.question, self.answer)

    def expect(self, word: str) -> None:
        """Raise `BenchError` if the answer does not contain the word. An empty word means no answer."""
        self()
        answer = Path(self.answer).read_text(encoding="utf-8")
        if word not in answer or (answer and not word):
            raise BenchError(f"the hook answered {answer!r}, expected {word or 'nothing'}")


def measure(folder: Path) -> Part:
    host = Installed(folder / "hooks")
    bash = {"tool_name": "Bash", "tool_input": {"command": "git status --short", "description": "status"}}
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "a", "old_string": "b", "new_string": "c"}}
    gate, prompt = "PreToolUse", "UserPromptSubmit"
    hooks = {
        "tool call, no workflow": (Event(host, "none", gate, IDLE, bash), ""),
        "tool call, allowed": (Event(host, "allowed", gate, ACTIVE, bash), ""),
        "tool call, denied": (Event(host, "denied", gate, ACTIVE, edit), '"deny"'),
        "stop, sent on": (Event(host, "stop", "Stop", ACTIVE, {"stop_hook_active": False}), "additionalContext"),
        "prompt": (Event(host, "prompt", prompt, ACTIVE, {"prompt": "go on"}), "additionalContext"),
        "prompt, no workflow": (Event(host, "quiet", prompt, IDLE, {"prompt": "go on"}), ""),
    }
    full = {
        "tool call, allowed": (Event(host, "full", gate, FULL, bash), ""),
        "prompt": (Event(host, "full-prompt", prompt, FULL, {"prompt": "go on"}), "additionalContext"),
    }
    hooks |= {f"{name}{LARGEST}": hook for name, hook in full.items()}
    jobs: dict[str, Job] = {"python": lambda: spawn([sys.executable, "-I", "-c", "pass"], host.env)}
    for name, (hook, word) in hooks.items():
        host.progress.touch()
        hook.expect(word)
        jobs[name] = _with_progress(hook, host.progress) if name.startswith("stop") else hook
    times = interleave("hooks", jobs, ROUNDS)
    bounds = {"tool call, allowed": BOUND}
    rows: list[Row] = []
    rows += [slower(name + LARGEST, name, times[name + LARGEST], times[name], FULL_BOUND) for name in full]
    for name in (name for name in hooks if not name.endswith(LARGEST)):
        rows.append(slower(f"{name}, p50", PYTHON, times[name], times["python"], bounds.get(name)))
        rows.append(rarely(f"{name}, p95", PYTHON, times[name], times["python"]))
    for hook, word in hooks.values():
        host.progress.touch()
        hook.expect(word)
    return Part("The hooks in Claude Code, as processes", ABOUT, rows)


def _with_progress(hook: Event, progress: Path) -> Job:
    """The hook, with progress of the agent before each call."""

    def job() -> float:
        progress.touch()
        return hook()

    return job
