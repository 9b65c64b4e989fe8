"""A real program in a real terminal. Each has its own tmux server: send keys, read the screen."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from real.waiting import LONG, until

SIZE = ("160", "45")


class Screen:
    """One program in one terminal of 160 by 45. A context manager that ends the tmux server.

    `ready` is a text that the screen shows when the program takes input.
    """

    def __init__(self, argv: Sequence[str], folder: Path, env: Mapping[str, str], ready: str) -> None:
        self.socket = f"handrail-{uuid.uuid4().hex[:12]}"
        self.env = dict(env)
        self.ready = ready
        width, height = SIZE
        place = ["-x", width, "-y", height, "-c", str(folder)]
        self.tmux("new-session", "-d", *place, "env", "TERM=xterm-256color", *argv)

    def __enter__(self) -> Self:
        self.wait(self.ready)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.tmux("kill-server", check=False)

    def tmux(self, *argv: str, check: bool = True) -> str:
        command = ["tmux", "-L", self.socket, "-f", "/dev/null", *argv]
        ended = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=LONG, check=check)
        return ended.stdout

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", check=False)

    @property
    def title(self) -> str:
        """The window title that the program sets."""
        return self.tmux("display-message", "-p", "#{pane_title}").strip()

    @property
    def pid(self) -> int:
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def wait(self, text: str, *, gone: bool = False) -> str:
        """Wait until a text is on the screen, or with `gone`, until it is not."""
        return self.until(lambda screen: (text not in screen) if gone else (text in screen), text)

    def until(self, holds: Callable[[str], object], what: str) -> str:
        """Wait until a condition holds for the screen."""
        seen = [""]

        def look() -> bool:
            seen[0] = self.screen
            return bool(holds(seen[0]))

        until(look, lambda: f"{what!r}; the screen was:\n{seen[0]}")
        return seen[0]

    def key(self, name: str) -> None:
        self.tmux("send-keys", name)

    def say(self, text: str) -> None:
        """Type a line, wait until it appears, and send it."""
        self.tmux("send-keys", "-l", text)
        self.wait(text[-30:])
        self.key("Enter")
