"""Gemini CLI as a host for the common tests. `test_gemini_host.py` tests what is special to it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from real.guests.guest import Guest
from real.hosts import Ran
from real.models.turn import Call, Turn, calls
from real.screen import Screen

ALLOWED = ("--approval-mode", "yolo", "--skip-trust")


class Typed(Screen):
    """Gemini CLI loses an Enter that comes while it still starts or draws, so it is pressed until the line is taken."""

    def say(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)
        line = f"* {text}"[:60]
        self.wait(line)

        def taken(screen: str) -> bool:
            if line in screen:
                self.key("Enter")
            return line not in screen

        self.until(taken, f"{text} to be taken")


class Gemini(Guest):
    name = "gemini"
    step_tool = "mcp_handrail_workflow_step"
    interrupted = "Request cancelled"
    cannot = {"fork": "Gemini CLI has no command that copies a conversation."}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.env["PATH"] = f"{self.seat.host.program.parent}{os.pathsep}{self.env['PATH']}"

    def subagent(self, task: str) -> Call:
        return "invoke_agent", {"agent_name": "generalist", "prompt": task}

    def report(self, text: str) -> Turn:
        return calls(("complete_task", {"result": {"response": text}}))

    def argv(self, prompt: str, thread: str | None = None) -> list[str]:
        shape = ["-p", prompt, "-o", "stream-json", *ALLOWED]
        return [str(self.seat.host.program), *shape, *(["--resume", thread] if thread else [])]

    def thread(self, ran: Ran) -> str:
        return str(next(event["session_id"] for event in ran.events if "session_id" in event))

    def screen(self, thread: str | None = None) -> Screen:
        argv = [str(self.seat.host.program), *ALLOWED, *(["--resume", thread] if thread else [])]
        return Typed(argv, self.project, self.env, "Type your message")

    def fork(self, thread: str, prompt: str) -> Ran:
        return self.run(prompt, thread)

    def compact(self, screen: Screen) -> None:
        screen.say("/compress")
        screen.wait("compressed")

    def stubs(self) -> list[Path]:
        return sorted((self.home / ".gemini" / "handrail").iterdir())

    def settings(self) -> dict[Path, str]:
        path = self.home / ".gemini" / "settings.json"
        own = json.loads(path.read_text())
        own["hooks"] = {"BeforeTool": [{"matcher": "x", "hooks": [{"type": "command", "command": "true"}]}]}
        return {path: json.dumps(own, indent=3)}
