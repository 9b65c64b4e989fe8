"""Gemini CLI as a host for the common tests. `test_gemini_host.py` tests what is special to it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from real.guests.guest import Guest
from real.hosts import Ran
from real.models.turn import Call, Turn, calls
from real.screen import Screen

LOOKS = 40
ALLOWED = ("--approval-mode", "yolo", "--skip-trust")


class Typed(Screen):
    """Gemini CLI sometimes loses an Enter, so it is pressed again if the line is still there after some looks."""

    def __init__(self, argv: Sequence[str], folder: Path, env: Mapping[str, str], ready: str, sign: str = "*") -> None:
        super().__init__(argv, folder, env, ready)
        self.sign = sign

    def say(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)
        line = f"{self.sign} {text}"[:60]
        self.wait(line)

        looks = count()

        def taken(screen: str) -> bool:
            is_there = line in screen.rpartition("▄\n")[2]  # the input line is in the last frame
            if is_there and next(looks) % LOOKS == 0:
                self.key("Enter")
            return not is_there

        self.until(taken, f"{text} to be taken")


class Gemini(Guest):
    name = "gemini"
    step_tool = "mcp_handrail_workflow_step"
    interrupted = "Request cancelled"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.env["PATH"] = f"{self.seat.host.program.parent}{os.pathsep}{self.env['PATH']}"

    def subagent(self, task: str) -> Call:
        return "invoke_agent", {"agent_name": "generalist", "prompt": task}

    def report(self, text: str) -> Turn:
        return calls(("complete_task", {"result": {"response": text}}))

    def argv(self, prompt: str, thread: str | None = None) -> list[str]:
        """Gemini CLI itself refuses to write outside of its folders, so the home is one: Handrail has to deny it."""
        shape = ["-p", prompt, "-o", "stream-json", *ALLOWED, "--include-directories", str(self.home)]
        return [str(self.seat.host.program), *shape, *(["--resume", thread] if thread else [])]

    def thread(self, ran: Ran) -> str:
        return str(next(event["session_id"] for event in ran.events if "session_id" in event))

    def screen(self, thread: str | None = None) -> Screen:
        argv = [str(self.seat.host.program), *ALLOWED, *(["--resume", thread] if thread else [])]
        return Typed(argv, self.project, self.env, "1 MCP server")

    def fork(self, thread: str, prompt: str) -> Ran:
        """`--session-file` copies a saved conversation into a new one."""
        saved = next((self.home / ".gemini" / "tmp").glob(f"*/chats/session-*-{thread[:8]}.jsonl"))
        return self.seat.ended(self.spawn_argv([*self.argv(prompt), "--session-file", str(saved)]))

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
