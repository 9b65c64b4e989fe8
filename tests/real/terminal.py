"""The real Claude Code in a real terminal."""

from __future__ import annotations

import re

from real.claude import Claude
from real.screen import Screen

PROMPT = re.compile("^─.*\n(❯.*)$", re.MULTILINE)
"""The input line of the person, below a horizontal line."""


class Terminal(Screen):
    """Claude Code in one terminal."""

    def __init__(self, claude: Claude, *options: str, **env: str) -> None:
        program = [claude.program, "--permission-mode", "default", *options]
        super().__init__(program, claude.project, {**claude.env, **env}, "manual mode on")

    def say_during_a_turn(self, text: str) -> None:
        """Send a line while the agent works, and wait until it has left the input line."""
        self.say(text)
        self.until(lambda screen: text not in "".join(PROMPT.findall(screen)), f"{text} to be taken")
