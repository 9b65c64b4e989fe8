"""Codex as a host for the common tests. `test_codex_host.py` tests more of it."""

from __future__ import annotations

import os
from pathlib import Path

from real.guests.guest import Guest
from real.hosts import Ran
from real.models.responses import SPAWN
from real.models.turn import Call, Turn
from real.screen import Screen

KEY = "CODEX_FAKE_KEY"
"""A variable that Handrail passes on to Codex."""
LIST = "enter insert"
ALLOWED = ("-s", "danger-full-access")
SEEN = """
[features]
multi_agent_v2 = true
daemon_auto_start = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[tui]
screen_reader_detection_done = true

[projects."{project}"]
trust_level = "trusted"
"""
"""Subagents for the model of the tests, and what Codex writes after a person has answered its first questions."""


class Prompts(Screen):
    """Codex's terminal. After the name of a skill, a list of skills is open and takes the first Enter."""

    def say(self, text: str) -> None:
        if not text.startswith("$") or " " in text:
            return super().say(text)
        self.tmux("send-keys", "-l", text)
        self.wait(LIST)
        self.key("Space")
        self.wait(LIST, gone=True)
        return self.key("Enter")


class Codex(Guest):
    name = "codex"
    step_tool = "mcp__handrail__workflow_step"
    interrupted = "Conversation interrupted"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.config = self.home / ".codex" / "config.toml"
        own = self.config.read_text().replace("FAKE_KEY", KEY)
        self.config.write_text(own + SEEN.format(project=self.project))
        self.env[KEY] = "fake"
        self.env["PATH"] = f"{self.seat.host.program.parent}{os.pathsep}{self.env['PATH']}"

    def subagent(self, task: str) -> Call:
        return SPAWN, {"message": task, "task_name": "part"}

    def argv(self, prompt: str, thread: str | None = None) -> list[str]:
        program = [str(self.seat.host.program), "exec", "--json", *ALLOWED, "--skip-git-repo-check"]
        return [*program, *(["resume", thread] if thread else []), prompt]

    def thread(self, ran: Ran) -> str:
        return str(next(event["thread_id"] for event in ran.events if "thread_id" in event))

    def screen(self, thread: str | None = None) -> Screen:
        argv = [str(self.seat.host.program), *(["resume", thread] if thread else []), *ALLOWED]
        return Prompts(argv, self.project, self.env, "Ask Codex to do anything")

    def fork(self, thread: str, prompt: str) -> Ran:
        program = [str(self.seat.host.program), "exec", "--json", *ALLOWED, "--skip-git-repo-check"]
        return self.seat.ended(self.spawn_argv([*program, "fork", thread, prompt]))

    def compact(self, screen: Screen) -> None:
        self.model.script(Turn("A summary of it all."))
        screen.say("/compact")
        screen.wait("Context compacted")

    def stubs(self) -> list[Path]:
        return sorted((self.home / ".codex" / "handrail").iterdir())

    def settings(self) -> dict[Path, str]:
        own = self.config.read_text() + "\n[otel]\nlog_user_prompt = false"
        hooks = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}'
        return {self.config: own, self.home / ".codex" / "hooks.json": hooks}
