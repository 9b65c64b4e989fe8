"""pi without a terminal but with a screen: its RPC mode, one JSON object per line in both directions."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from handrail.agents.probe.scripted_model import Json
from real.waiting import LONG, until


class Rpc:
    """One program. A context manager that ends it by closing its input."""

    def __init__(self, argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [*argv, "--mode", "rpc"],
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.events: list[Json] = []
        self.number = 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                self.events.append(json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(LONG)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.reader.join(LONG)
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()

    def send(self, **message: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, type_: str, **more: object) -> Json:
        """Send a command and return the data of its response."""
        self.number += 1
        id_ = f"test-{self.number}"
        self.send(id=id_, type=type_, **more)
        response = self.wait(lambda event: event.get("type") == "response" and event.get("id") == id_)
        assert response["success"], response
        return dict(response.get("data") or {})

    def say(self, text: str) -> None:
        """Type a line. The answer to it is an event of its own."""
        self.ask("prompt", message=text)

    def wait(self, holds: Callable[[Json], object], since: int = 0) -> Json:
        """The first event for which this holds; waits for it."""
        found: list[Json] = []

        def look() -> bool:
            found[:] = [event for event in self.events[since:] if holds(event)][:1]
            return bool(found)

        until(look, lambda: f"an event; the last ones were:\n{json.dumps(self.events[-6:], indent=1)[:6000]}")
        return found[0]

    def requests(self, method: str) -> list[Json]:
        """What extensions asked the screen to do."""
        asked = [event for event in self.events if event.get("type") == "extension_ui_request"]
        return [event for event in asked if event.get("method") == method]

    def statuses(self) -> list[str]:
        """The texts of the status line, without gaps and repetitions."""
        texts = [event.get("statusText") for event in self.requests("setStatus") if event["statusKey"] == "workflow"]
        shown = [text for text in texts if text]
        return [text for place, text in enumerate(shown) if place == 0 or shown[place - 1] != text]

    def notices(self) -> list[str]:
        return [str(event["message"]) for event in self.requests("notify")]

    def results(self, tool: str) -> list[tuple[bool, str]]:
        """(whether it ran, the text of the result) of each call of a tool."""
        ended = [e for e in self.events if e.get("type") == "tool_execution_end" and e["toolName"] == tool]
        return [(not e["isError"], "".join(part.get("text", "") for part in e["result"]["content"])) for e in ended]

    def messages(self, custom: str) -> list[str]:
        """The custom messages of a type that were shown."""
        ended = [e["message"] for e in self.events if e.get("type") == "message_end"]
        return [str(message["content"]) for message in ended if message.get("customType") == custom]
