"""Runs the scripted agent for a flow. The script in `HANDRAIL_SCRIPT` defines what it does for which prompt."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from handrail.extensions.contracts import AgentJob, AgentSaid, LastingError, Launch

PROGRAM = sys.executable
ENVIRONMENT = ("PYTHONPATH",)
EXAMPLE = "[{tool: bash, input: {command: make}}, {say: done}]"
_KINDS = {"say": "text", "tool": "tool", "result": "result", "denied": "denied", "usage": "usage", "retry": "retry"}


def lacks(env: Mapping[str, str]) -> tuple[str, str] | None:
    if env.get("HANDRAIL_SCRIPT"):
        return None
    from handrail.agents.scripted.player import ACTIONS  # reads scripts, which only the agent itself needs

    hint = f"write a list such as `{EXAMPLE}` to a file, and set HANDRAIL_SCRIPT to its path; in a workflow, "
    hint += f"`{{step: next}}` leaves a phase; the actions are {', '.join(ACTIONS)}"
    return "the scripted agent needs a script", hint


def launch(job: AgentJob, _folder: str) -> Launch:
    if (lack := lacks(job.env)) is not None:
        raise LastingError("agent-missing", *lack)
    session = job.session or job.new_session or str(uuid.uuid4())
    path = os.path.join(job.cwd, job.env["HANDRAIL_SCRIPT"])
    argv = (PROGRAM, "-m", "handrail.agents.scripted", path, job.cwd, session, "-")
    return Launch(argv, stdin=job.prompt.encode())


class ScriptedReader:
    """Reads its events: they have Handrail's shape, but other names."""

    def __init__(self, _job: AgentJob, _folder: str) -> None:
        self.ended = False
        self.texts: list[str] = []
        self.failure: dict[str, Any] | None = None

    def take(self, data: dict[str, Any]) -> Iterator[AgentSaid]:
        event = data.pop("event", None)
        if event == "started":
            yield AgentSaid("session", {"id": data["session"]})
        elif event in ("finished", "stopped"):
            self.ended = event == "finished" or data.get("sendOn") is None
        elif event == "failed":
            self.failure = data
        elif event in _KINDS:
            if event == "say":
                self.texts.append(str(data.get("text", "")))
            renamed = {"name" if name == "tool" else name: value for name, value in data.items()}
            yield AgentSaid(_KINDS[event], renamed)

    def end(self, exit_code: int, errors: str) -> Iterator[AgentSaid]:
        text = "\n".join(self.texts[-1:])
        outcome: dict[str, Any] = {"outcome": "done", "message": None, "resetsAt": None, "text": text}
        if self.failure is not None:
            outcome |= self.failure
        elif not self.ended:
            lines = errors.strip().splitlines()[-1:] or [f"it ended with exit code {exit_code}"]
            outcome |= {"outcome": "crash", "message": lines[0]}
        yield AgentSaid("finished", outcome)


reader = ScriptedReader
