"""Claude Code as a host for the common tests. `test_whole_workflow.py` and its neighbours test more of it."""

from __future__ import annotations

import json
from pathlib import Path

from handrail.agents.claude.offline import ALLOWED
from handrail.agents.probe.scripted_model import Turn, tool_turn
from real.guests.guest import Guest
from real.hosts import Ran
from real.screen import Screen


class Claude(Guest):
    name = "claude"
    interrupted = "Interrupted"

    def screen(self, thread: str | None = None) -> Screen:
        argv = [str(self.seat.host.program), *ALLOWED, *(["--resume", thread] if thread else [])]
        return Screen(argv, self.project, self.env, "bypass permissions on")

    def fork(self, thread: str, prompt: str) -> Ran:
        return self.seat.ended(self.spawn_argv([*self.argv(prompt, thread), "--fork-session"]))

    def compact(self, screen: Screen) -> None:
        self.model.script(Turn("A summary of it all."), Turn("And more of it."))
        screen.say("/compact")
        screen.wait("Compacted")

    def project_step(self, action: str) -> Turn:
        return tool_turn(("mcp__handrail__workflow_step", {"action": action}))

    def stubs(self) -> list[Path]:
        return sorted((self.home / ".claude" / "skills" / "handrail" / "bin").iterdir())

    def settings(self) -> dict[Path, str]:
        own = {"model": "sonnet", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
        return {self.home / ".claude" / "settings.json": json.dumps(own, indent=3)}
