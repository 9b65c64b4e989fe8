"""Measures what Handrail sees of each agent by running it: the rows of the table in the docs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from handrail.agents.probe.scripted_model import Turn, Usage, tool_turn
from real.hosts import HOSTS, NODE, Host, Seat
from real.waiting import LONG, said, until
from support import trust_below

HANDRAIL = str(Path(sys.executable).parent / "handrail")
PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "agents.md"
FOREIGN, OWN = "foreign-secret-4711", "own-secret-0815-x"
FLOW = """\
phases:
- id: a
  steps:
  - id: write
    node: llm-prompt
    prompt: 'Write proof.md about ${params.what}.'
    params: {requiredArtifacts: [proof.md]}
  - id: again
    node: llm-prompt
    prompt: 'And now say what you wrote.'
    params: {session: '${steps.a.write.outputs.sessionId}'}
"""
TWO = """\
phases:
- id: a
  steps:
  - {id: first, node: llm-prompt, prompt: 'The first thing.'}
  - {id: second, node: llm-prompt, prompt: 'The second thing.'}
"""


SPEAKS = {"copilot": ("--acp",), "gemini": ("--acp",), "opencode": ("acp",)}
"""The agents that speak the Agent Client Protocol, and the arguments with which they do."""
NAMES = [*sorted(HOSTS), "acp:copilot", "acp:opencode"]
"""Every agent as Handrail calls it. By the protocol, Gemini CLI loses a conversation that it loads within a minute."""


class Row(NamedTuple):
    """One agent: which events it reports, its usage, and whether its conversation can be resumed."""

    agent: str
    package: str
    events: str
    tokens: str
    cost: str
    resumed: str
    stopped: str
    run: dict[str, Any]
    seen: str
    files: list[str]


class Driver:
    """Handrail with one of the six agents on its PATH and its own state folder. `name` is one of `NAMES`."""

    def __init__(self, seat: Seat, name: str | None = None) -> None:
        self.seat = seat
        self.name = name or seat.host.name
        self.state = seat.home / "handrail"
        path = f"{seat.host.program.parent}{os.pathsep}{NODE}{os.pathsep}{seat.env['PATH']}"
        self.env = {**seat.env, "PATH": path, "HANDRAIL_HOME": str(self.state)}
        trust_below(seat.project, self.env)
        if self.name.startswith("acp:"):
            command = [str(seat.host.program), *SPEAKS[seat.host.name]]
            agent = {"command": command, "passEnv": list(seat.host.env)}
            if seat.host.name == "opencode":
                self.env["OPENCODE_PERMISSION"] = json.dumps({"edit": "ask", "bash": "ask"})
            config = self.state / "config"
            config.mkdir(parents=True)
            (config / "settings.yaml").write_text(json.dumps({"acp": {seat.host.name: agent}}), encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        path = self.seat.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def argv(self, *argv: str) -> list[str]:
        return [HANDRAIL, *argv, "--json"]

    def run(self, *argv: str, code: int = 0, **env: str) -> dict[str, Any]:
        ended = subprocess.run(
            self.argv(*argv),
            cwd=self.seat.project,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
        assert ended.returncode == code, ended.stdout + ended.stderr
        data: dict[str, Any] = json.loads(ended.stdout)
        return data

    def ask(self, *argv: str, code: int = 0, **env: str) -> dict[str, Any]:
        """Run the flow `ask` with this agent."""
        model = ("--model", "fake/fake-1") if self.seat.host.name == "pi" else ()
        return self.run("run", "ask", "--agent", self.name, *model, *argv, code=code, **env)

    def at_work(self) -> tuple[subprocess.Popen[bytes], str]:
        """Run the flow `two` to its second step, whose tool ignores SIGTERM. Returns a word of that command."""
        seat, pid = self.seat, self.seat.project / "pid"
        pid.unlink(missing_ok=True)
        stubborn = seat.host.shell(f"trap '' TERM INT; echo $$ > {pid}; while true; do sleep 1; done")
        seat.model.script(Turn("First done."), tool_turn(stubborn))
        model = ("--model", "fake/fake-1") if seat.host.name == "pi" else ()
        process = subprocess.Popen(
            self.argv("run", "two", "--agent", self.name, *model),
            cwd=seat.project,
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until(lambda: said(pid) or process.poll() is not None, "the agent's tool")
        assert process.poll() is None, self.run("runs")
        return process, str(pid)

    def left(self, word: str) -> list[str]:
        """The remaining processes of a call: those with the word of its tool, or with the mark of the call."""
        home, found = f"HOME={self.seat.home}".encode(), []
        for name in filter(str.isdigit, os.listdir("/proc")):
            line, env = read(f"/proc/{name}/cmdline"), read(f"/proc/{name}/environ").split(b"\0")
            if word.encode() in line or (home in env and any(entry.startswith(b"HANDRAIL_CALL=") for entry in env)):
                found.append(line.replace(b"\0", b" ").decode("utf-8", "replace"))
        return found

    def nothing_left(self, word: str) -> bool:
        """Wait, because a killed process may need a moment to disappear."""
        until(lambda: not self.left(word), lambda: f"the end of {self.left(word)}")
        return True


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def measured(name: str) -> Row:
    host = HOSTS[name.removeprefix("acp:")]
    with tempfile.TemporaryDirectory() as folder, host.protocol() as model:
        seat = Seat(host, Path(folder), model)
        return _row(host, Driver(seat, name))


def _stopped(driver: Driver) -> str:
    process, word = driver.at_work()
    try:
        driver.run("stop", "last")
        process.wait(LONG)
    finally:
        process.kill()
    return "nothing left" if driver.nothing_left(word) else "something left"


def _row(host: Host, driver: Driver) -> Row:
    seat = driver.seat
    driver.write(".handrail/flows/ask.yaml", FLOW)
    driver.write(".handrail/flows/two.yaml", TWO)
    seat.model.script(
        tool_turn(host.write(seat.project / "proof.md", "proof\n"), text="I write.", usage=Usage(1000, 50, 400)),
        tool_turn(host.shell(f"echo {OWN}; env > seen.txt"), usage=Usage(1100, 20, 400)),
        Turn(f"Written, with {OWN}.", usage=Usage(1200, 10, 400)),
        Turn("I wrote a proof.", usage=Usage(1300, 5, 400)),
    )
    driver.write(".handrail/settings.yaml", "passEnv: [OWN_TOKEN]\n")
    run = driver.ask("--param", "what=tea", FOREIGN_API_KEY=FOREIGN, OWN_TOKEN=OWN)
    events = driver.run("log", run["run"])["events"]
    kinds = sorted({event["kind"] for event in events if event["type"] == "AgentActed"})
    told = ["session"] if any(event["type"] == "SessionOpened" for event in events) else []
    usage = run["phases"][0]["steps"][0]["usage"]
    counts = f"{usage['inputTokens']} in, {usage['outputTokens']} out" if usage["inputTokens"] is not None else "no"
    sessions = {event["session"] for event in events if event["type"] == "SessionOpened"}
    texts = seat.model.received()[-1].text
    resumed = "yes" if "Write proof.md about tea." in texts and len(sessions) == 1 else "no"
    found = [
        str(path)
        for path in driver.state.rglob("*")
        if path.is_file() and any(secret.encode() in path.read_bytes() for secret in (FOREIGN, OWN))
    ]
    seen = (seat.project / "seen.txt").read_text() if (seat.project / "seen.txt").exists() else ""
    return Row(
        driver.name,
        host.package,
        ", ".join([*told, *kinds]),
        counts,
        "no" if usage["usd"] is None else f"{usage['usd']:.4f}",
        resumed,
        _stopped(driver),
        run,
        seen,
        found,
    )


HEAD = """\
# Agents as executors

Measured by running the real programs, offline against a scripted model; written by `make agents-table`. The model
said that it used 3300 tokens of input (1200 of them cached) and 80 of output for the first step. `acp:NAME` is the same
program, called by the Agent Client Protocol.

| agent | package | also reports | tokens of the step | cost in USD | can be resumed | after `handrail stop` |
|---|---|---|---|---|---|---|
"""


def line(row: Row) -> str:
    """The row of the table for an agent."""
    cells = (row.agent, f"`{row.package}`", row.events, row.tokens, row.cost, row.resumed, row.stopped)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(HEAD + "".join(f"{line(measured(name))}\n" for name in NAMES), encoding="utf-8")
