"""An agent that answers at once: its program is a shell that prints one line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from handrail.extensions.contracts import AgentJob, AgentReader, AgentSaid, Launch

NAME = "instant"
PROGRAM = "/bin/sh"
ARGV = (PROGRAM, "-c", 'read -r line; echo \'{"text": "done"}\'')
ENVIRONMENT = ()


def launch(job: AgentJob, folder: str) -> Launch:
    del folder
    return Launch(ARGV, stdin=job.prompt.encode() + b"\n")


class Reader:
    def __init__(self) -> None:
        self.text: str | None = None

    def take(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        self.text = str(data["text"])
        yield AgentSaid("text", {"text": self.text})

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        outcome, message = ("done", None) if self.text is not None else ("crash", f"{exit_code}: {errors}")
        yield AgentSaid("finished", {"outcome": outcome, "message": message, "resetsAt": None, "text": self.text})


def reader(job: AgentJob, folder: str) -> AgentReader:
    del job, folder
    return Reader()
