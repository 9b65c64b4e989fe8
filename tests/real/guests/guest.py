"""What the tests of all hosts use: one agent with a home, a project, a scripted model, and Handrail installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from handrail.agents.probe.scripted_model import Json, ScriptedCall, Turn, tool_turn
from handrail.base import journal
from handrail.extensions.registry import Registry
from real.hosts import HOSTS, Ran, Seat
from real.screen import Screen
from real.waiting import LONG, until

HANDRAIL = str(Path(sys.executable).parent / "handrail")


class Phase(NamedTuple):
    """A phase for tests. `more` is the rest of its front matter; `text` follows its mark."""

    id: str
    more: str = ""
    text: str = ""


def mark(workflow: str, phase: str) -> str:
    """A text that only the instructions of this phase contain."""
    return f"DO-{workflow}-{phase}-NOW"


def _told(event: Json) -> str:
    parts = [event["type"], *(event.get(name) for name in ("task", "origin", "at", "to", "summary"))]
    if "results" in event:
        parts.append(all(result["held"] for result in event["results"]))
    return " ".join(str(part) for part in parts if part not in (None, ""))


PASSING = frozenset(["time", "seconds", "task_id", "cwd", "folder", "by"])
"""What differs between sessions with the same events. Codex does not tell the folder of a call; `by` is the agent."""


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, list):
        return [_without(item, names) for item in value]
    if isinstance(value, dict):
        return {name: _without(item, names) for name, item in value.items() if name not in names}
    return value


class Guest(ABC):
    """One agent. Its prompts and calls are those of a person and of a model that use this agent.

    `handrail.agents.NAME.offline` says how it is started and how its tools are called. `interrupt` is the key that
    interrupts the agent, and `interrupted` a text on the screen afterwards. `ends_at_stops`: without a terminal, the
    program ends when the agent stops, whatever Handrail says; a run then starts it again.
    """

    name: ClassVar[str]
    interrupt: ClassVar[str] = "Escape"
    interrupted: ClassVar[str]
    ends_at_stops: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        host = HOSTS[self.name]
        self.model = host.protocol()
        self.seat = Seat(host, folder, self.model)
        self.home, self.project, self.env = self.seat.home, self.seat.project, self.seat.env
        self.offline = Registry().offline(self.name)
        self.seat.place(self.offline.HOST_FILES)
        self.env["PATH"] = f"{self.seat.host.program.parent}{os.pathsep}{self.env['PATH']}"
        self.state = self.home / ".local" / "state" / "handrail"

    def close(self) -> None:
        self.model.close()

    def step(self, action: str, summary: str = "") -> Turn:
        return tool_turn(self.step_call(action, summary), text=f"I call {action}.")

    def step_call(self, action: str, summary: str = "") -> ScriptedCall:
        return self.offline.STEP, {"action": action, **({"summary": summary} if summary else {})}

    def write(self, name: str, text: str = "written\n") -> Turn:
        return tool_turn(self.seat.host.write(self.project / name, text), text="I write a file.")

    def shell(self, command: str) -> Turn:
        return tool_turn(self.seat.host.shell(command), text="I run a command.")

    def subagent(self, task: str) -> ScriptedCall:
        call: ScriptedCall = self.offline.subagent(str(self.seat.host.program), task)
        return call

    def report(self, text: str) -> Turn:
        turn: Turn = self.offline.report(text)
        return turn

    @property
    def start_command(self) -> str:
        return Registry().host(self.name).COMMANDS["start"]

    @property
    def cancel_command(self) -> str:
        return Registry().host(self.name).COMMANDS["cancel"]

    def start(self, words: str) -> Ran:
        """Start a workflow in a new conversation without a terminal, and wait until the program has ended."""
        return self.run(f"{self.start_command} {words}")

    def argv(self, prompt: str, thread: str | None = None) -> list[str]:
        """The command line without a terminal: a new conversation, or one that continues `thread`."""
        return self.offline.argv(str(self.seat.host.program), prompt, thread, self.home)

    def thread(self, ran: Ran) -> str:
        """The agent's own id of the conversation of a run."""
        found = self.offline.thread(ran.out)
        assert found is not None, ran
        return found

    def spawn(self, prompt: str, thread: str | None = None, **env: str) -> subprocess.Popen[str]:
        return self.spawn_argv(self.argv(prompt, thread), **env)

    def spawn_argv(self, argv: list[str], **env: str) -> subprocess.Popen[str]:
        """Start a program in its own process session."""
        return subprocess.Popen(
            argv,
            cwd=self.project,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, prompt: str, thread: str | None = None, **env: str) -> Ran:
        return self.seat.ended(self.spawn(prompt, thread, **env))

    @abstractmethod
    def screen(self, thread: str | None = None) -> Screen:
        """The program in a terminal: a new conversation, or one that continues `thread`. It asks for no permissions."""

    def handrail(self, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HANDRAIL, *argv],
            cwd=self.project,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=check,
        )

    def file(self, name: str, text: str) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def workflow(self, key: str, *phases: Phase | str, head: str = "") -> None:
        """Write a workflow with these phases; `@x` means the subworkflow x. Each phase contains its mark."""
        entries = [f"subworkflow: {p[1:]}" if isinstance(p, str) else f"{p.id}.md" for p in phases]
        start = f'name: {key.title()}\ncommandName: {key}\ninitialMessage: "Begin {{description}}."\n{head}'
        folder = f".handrail/workflows/{key}"
        self.file(f"{folder}/workflow.yaml", f"{start}phases:\n" + "".join(f"  - {entry}\n" for entry in entries))
        for phase in (p for p in phases if isinstance(p, Phase)):
            about = f"id: {phase.id}\nname: {phase.id.title()}\nemoji: •\n{phase.more}"
            self.file(f"{folder}/{phase.id}.md", f"---\n{about}\n---\n{mark(key, phase.id)} {phase.text}\n")

    def sessions(self) -> list[Json]:
        told = json.loads(self.handrail("sessions", "--json").stdout)
        return list(told["sessions"])

    def session(self, task: str = "") -> Json:
        """The session of a task; without a task, the only one."""
        found = [session for session in self.sessions() if not task or session["task"] == task]
        assert len(found) == 1, found
        return dict(found[0])

    def at(self, task: str = "") -> str:
        """The current phase of a task, or how its workflow ended."""
        session = self.session(task)
        return str(session["phase"]["id"] if session["phase"] else session["status"])

    def until_at(self, phase: str, task: str = "") -> None:
        """Wait until the workflow of a task is at a phase, or has ended in this way."""
        until(lambda: self.sessions() and self.at(task) == phase, phase)

    def story(self) -> list[str]:
        """The events in the journal of the only session, without times, ids and who caused them."""
        return [_told(event) for record in self._records() for event in record["events"]]

    def journal(self) -> list[tuple[str, list[Json]]]:
        """The whole journal of the only session, but for times, ids, folders and the name of the agent."""
        caused = {f"agent:{self.name}": "agent"}
        return [
            (caused.get(str(record["by"]), str(record["by"])), [_without(event, PASSING) for event in record["events"]])
            for record in self._records()
        ]

    def _records(self) -> list[Json]:
        folder = next((self.state / "sessions").glob(f"*/{self.name}-*"))
        records, _ = journal.read_behind(str(folder / "journal"), 0)
        return records

    def links(self) -> list[Path]:
        """The links of the conversations that have a workflow."""
        folder = self.state / "hosts" / self.name
        return sorted(folder.iterdir()) if folder.exists() else []

    def told(self) -> str:
        """Every text of the newest request that the model got in the conversation."""
        return self.model.received()[-1].text

    def made(self, name: str) -> bool:
        return (self.project / name).exists()

    @abstractmethod
    def fork(self, thread: str, prompt: str) -> Ran:
        """Run a prompt in a fork of a conversation; if the agent has no forks, in the conversation itself."""

    @abstractmethod
    def compact(self, screen: Screen) -> None:
        """Compact the conversation of a terminal, and wait until that is done."""

    def project_step(self, action: str) -> Turn:
        """A call of `workflow_step` if Handrail is installed for the project only."""
        return self.step(action)

    @abstractmethod
    def stubs(self) -> list[Path]:
        """The installed files that name the interpreter of the hook."""

    @abstractmethod
    def settings(self) -> dict[Path, str]:
        """Files of the person that Handrail edits, each with a valid content of the person's own."""
