"""Gemini CLI as a host for the common tests. `test_gemini_host.py` tests what is special to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path

from handrail.agents.gemini.offline import ALLOWED
from real.guests.guest import Guest
from real.hosts import Ran
from real.screen import Screen

LOOKS = 40


def _has_answered(tries: int, screen: str) -> bool:
    return "compressed" in screen or screen.count("Nothing to compress") == tries


class Typed(Screen):
    """Gemini CLI sometimes loses an Enter, so it is pressed again if the line is still there after some looks."""

    def __init__(self, argv: Sequence[str], folder: Path, env: Mapping[str, str], ready: str, sign: str = "*") -> None:
        super().__init__(argv, folder, env, ready)
        self.sign = sign

    def say(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)
        line = f"{self.sign} {text}"[:60]
        self.wait(line)

        looks, absences = count(), 0

        def taken(screen: str) -> bool:
            nonlocal absences
            if line not in screen.rpartition("▄\n")[2]:  # the input line is in the last frame
                absences += 1
                return absences == LOOKS  # once is not enough: the frame may have been only half drawn
            absences = 0
            if next(looks) % LOOKS == 0:
                self.key("Enter")
            return False

        self.until(taken, f"{text} to be taken")


class Gemini(Guest):
    name = "gemini"
    interrupted = "Request cancelled"

    def screen(self, thread: str | None = None) -> Screen:
        argv = [str(self.seat.host.program), *ALLOWED, *(["--resume", thread] if thread else [])]
        return Typed(argv, self.project, self.env, "1 MCP server")

    def fork(self, thread: str, prompt: str) -> Ran:
        """`--session-file` copies a saved conversation into a new one."""
        saved = next((self.home / ".gemini" / "tmp").glob(f"*/chats/session-*-{thread[:8]}.jsonl"))
        return self.seat.ended(self.spawn_argv([*self.argv(prompt), "--session-file", str(saved)]))

    def compact(self, screen: Screen) -> None:
        """A resumed conversation is shown before it is loaded. Until then there is nothing to compress."""
        for tries in count(1):
            screen.say("/compress")
            if "compressed" in screen.until(partial(_has_answered, tries), "compressed"):
                return

    def stubs(self) -> list[Path]:
        return sorted((self.home / ".gemini" / "handrail").iterdir())

    def settings(self) -> dict[Path, str]:
        path = self.home / ".gemini" / "settings.json"
        own = json.loads(path.read_text())
        own["hooks"] = {"BeforeTool": [{"matcher": "x", "hooks": [{"type": "command", "command": "true"}]}]}
        return {path: json.dumps(own, indent=3)}
