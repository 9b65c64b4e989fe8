"""The real Claude Code in a clean home, with Handrail installed as a person installs it."""

from __future__ import annotations

import json
import subprocess
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from handrail.agents.claude import offline
from handrail.extensions.contracts.agent import filled
from real.guests.guest import HANDRAIL, Phase, mark
from real.hosts import NODE, surroundings
from real.model import Model
from real.waiting import LONG
from support import trust_below

LIMIT = LONG
FREE = ("--allowedTools", "Read,Write,Edit,Bash")


class Ran(NamedTuple):
    """The end of one run of the program, and the events it printed."""

    code: int
    events: list[dict[str, Any]]
    err: str

    def hooks(self, name: str) -> list[dict[str, Any]]:
        return [e for e in self.events if e.get("type") == "system" and e.get("hook_event") == name]

    @property
    def result(self) -> str:
        return next((str(e.get("result", "")) for e in reversed(self.events) if e.get("type") == "result"), "")


class Claude:
    """One home, one project, one scripted model."""

    def __init__(self, folder: Path, model: Model, program: str = "claude") -> None:
        self.model = model
        self.program = str(NODE / program)
        self.home = folder / "home"
        self.project = folder / "project"
        self.state = self.home / ".local" / "state" / "handrail"
        for path in (self.home / ".claude", self.project / ".handrail"):
            path.mkdir(parents=True)
        self.env = surroundings(self.home)
        self.env |= {name: filled(text, model.url, str(self.project)) for name, text in offline.ENVIRONMENT.items()}
        trust_below(folder, self.env)
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)
        for name, text in offline.FILES.items():
            (self.home / name).write_text(filled(text, model.url, str(self.project)))

    def write(self, name: str, text: str) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def workflow(self, key: str, *phases: Phase | str, head: str = "") -> None:
        """Write a workflow with these phases; `@x` means the subworkflow x. Each phase contains its mark."""
        entries = [f"subworkflow: {p[1:]}" if isinstance(p, str) else f"{p.id}.md" for p in phases]
        start = f'name: {key.title()}\ncommandName: {key}\ninitialMessage: "Begin {{description}}."\n{head}'
        folder = f".handrail/workflows/{key}"
        self.write(f"{folder}/workflow.yaml", f"{start}phases:\n" + "".join(f"  - {entry}\n" for entry in entries))
        for phase in (p for p in phases if isinstance(p, Phase)):
            about = f"id: {phase.id}\nname: {phase.id.title()}\nemoji: •\n{phase.more}"
            self.write(f"{folder}/{phase.id}.md", f"---\n{about}\n---\n{mark(key, phase.id)} {phase.text}\n")

    def handrail(self, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HANDRAIL, *argv],
            cwd=self.project,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=check,
        )

    def begin(self, conversation: str, words: str) -> None:
        """Call the installed hook as if a person typed `/workflow WORDS`, without the program."""
        event = self.home / ".claude" / "skills" / "handrail" / "bin" / "event"
        typed = {"hook_event_name": "UserPromptExpansion", "command_name": "handrail:workflow", "command_args": words}
        body = json.dumps({**typed, "session_id": conversation, "cwd": str(self.project)})
        env = {**self.env, "CLAUDE_CODE_SESSION_ID": conversation}
        subprocess.run(
            ["/bin/sh", event], input=body, env=env, text=True, capture_output=True, timeout=LIMIT, check=True
        )
        assert self.link(conversation).exists()

    def status(self, conversation: str) -> dict[str, Any]:
        said = self.handrail("status", "--session", f"claude-{conversation}", "--json")
        view = json.loads(said.stdout)
        assert isinstance(view, dict)
        return view

    def at(self, conversation: str) -> str:
        """The current phase of a conversation, or how its workflow ended."""
        view = self.status(conversation)
        return str(view["phase"]["id"] if view["phase"] else view["status"])

    def link(self, conversation: str) -> Path:
        return self.state / "hosts" / "claude" / conversation

    def folder(self, conversation: str) -> Path:
        """The folder of a conversation's session."""
        return next((self.state / "sessions").glob(f"*/claude-{conversation}"))

    def transcript(self, conversation: str) -> Path:
        return next((self.home / ".claude" / "projects").glob(f"*/{conversation}.jsonl"))

    def argv(self, prompt: str, *options: str) -> list[str]:
        shape = ["--output-format", "stream-json", "--verbose", "--include-hook-events"]
        return [self.program, "-p", prompt, *shape, *options]

    def spawn(self, prompt: str, *options: str, **env: str) -> subprocess.Popen[str]:
        """Start the program without a terminal."""
        return subprocess.Popen(
            self.argv(prompt, *options),
            cwd=self.project,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, prompt: str, *options: str, **env: str) -> Ran:
        """Run the program without a terminal until it exits."""
        with self.spawn(prompt, *options, **env) as process:
            return ended(process)


def ended(process: subprocess.Popen[str]) -> Ran:
    """Wait for the program, and kill it after a timeout."""
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Ran(process.returncode, [json.loads(line) for line in out.splitlines() if line.startswith("{")], err)


def new_id() -> str:
    return str(uuid.uuid4())
