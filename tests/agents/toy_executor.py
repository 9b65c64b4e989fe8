"""A toy agent as executor: its program is a shell that prints one line of JSON, after those in `TOY_SAYS`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from handrail.extensions.contracts import AgentJob, AgentReader, AgentSaid, Launch

PROGRAM = "/bin/sh"
ENVIRONMENT = ("TOY_*",)


def launch(job: AgentJob, folder: str) -> Launch:
    del folder
    said = 'read -r line; printf "%s" "$TOY_SAYS"; '
    script = 'printf \'{"heard": "%s", "key": "%s", "other": "%s"}\\n\' "$line" "$TOY_KEY" "$OTHER_VALUE"'
    return Launch((PROGRAM, "-c", said + script), stdin=job.prompt.encode() + b"\n")


class Reader:
    def __init__(self) -> None:
        self.heard: str | None = None

    def take(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        if "kind" in data:
            yield AgentSaid(data.pop("kind"), data)
            return
        self.heard = json.dumps(data)
        yield AgentSaid("text", {"text": self.heard})

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        outcome = "done" if self.heard is not None else "crash"
        message = None if outcome == "done" else f"{exit_code}: {errors}"
        yield AgentSaid("finished", {"outcome": outcome, "message": message, "resetsAt": None, "text": self.heard})


def reader(job: AgentJob, folder: str) -> AgentReader:
    del job, folder
    return Reader()
