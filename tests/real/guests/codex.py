"""Codex as a host for the common tests. `test_codex_host.py` tests more of it."""

from __future__ import annotations

from pathlib import Path

from handrail.agents.codex.offline import ALLOWED
from handrail.agents.probe.scripted_model import Turn
from real.guests.guest import Guest
from real.hosts import Ran
from real.screen import Screen

LIST = "enter insert"


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
    interrupted = "Conversation interrupted"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.config = self.home / ".codex" / "config.toml"

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
