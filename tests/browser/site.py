"""A project with flows of every kind and `handrail web` for it, as processes with a home of their own."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from handrail.extensions.registry import Registry
from support import open_to_agents

HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")
PATIENCE = 30.0
FORM = """
description: Asks, then writes the notes.
params:
  version: {required: true, about: what is released}
phases:
- id: check
  steps:
  - {id: tests, node: command, params: {argv: [echo, 4 passed]}}
- id: ask
  steps:
  - id: go
    node: user-input
    params:
      formId: go
      title: Release ${params.version}?
      description: Look at the notes first.
      fields:
      - {id: note, type: text, label: What is new?, required: true, multiline: true}
      - {id: by, type: text, label: Your name}
      - {id: sure, type: boolean, label: Sure?, required: true}
      - id: kind
        type: single-select
        label: Kind
        required: true
        options: [{value: minor, label: Minor}, {value: major, label: Major}]
      - {id: why, type: text, label: Why major?, required: true, when: {field: kind, equals: major}}
      - id: tell
        type: multi-select
        label: Tell
        options: [{value: channel, label: Channel}, {value: mail, label: Mail}, {value: issue, label: Issue}]
- id: notes
  steps:
  - id: write
    node: write-file
    params: {path: NOTES.md, text: "# ${params.version}\\n\\n${steps.ask.go.outputs.values.note}\\n"}
    makes: [NOTES.md]
"""
ROUNDS = """
description: Tries until the second round succeeds.
phases:
- repeat: {var: n, max: 3, until: "${steps.round.check.outputs.parsed.ok}"}
  phases:
  - id: round-${n}
    steps:
    - id: check
      node: local-script-check
      params: {argv: [sh, -c, "echo round ${repeat.n}; test ${repeat.n} = 2"], byExitCode: true}
- {id: say, steps: [{id: it, node: command, params: {argv: [echo, done]}}]}
"""
FAILS = """
description: Its second step fails.
phases:
- id: unit
  steps:
  - {id: ready, node: command, params: {argv: [echo, ready]}}
  - {id: tests, node: command, params: {argv: [sh, -c, "echo 1 failed; exit 3"]}}
- {id: after, steps: [{id: never, node: command, params: {argv: [echo, never]}}]}
"""
HOLDS = """
description: Waits until the file `go` exists.
phases:
- id: first
  steps:
  - id: hold
    node: command
    params: {argv: [sh, -c, "until [ -e go ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.02; done"]}
  - {id: say, node: command, params: {argv: [echo, hello]}}
"""
QUICK = """
description: Says hello.
phases:
- {id: only, steps: [{id: say, node: command, params: {argv: [echo, hello]}}]}
"""
BROKEN = "description: Has a mistake.\nphases:\n- id: unit\n  stpes: []\n"
FLOWS = {"release": FORM, "rounds": ROUNDS, "nightly": FAILS, "hold": HOLDS, "quick": QUICK, "broken": BROKEN}


class Screen:
    """`handrail ui` of a site in a terminal."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self.socket = str(folder / "tmux")

    def tmux(self, *argv: str) -> str:
        command = ["tmux", "-u", "-S", self.socket, "-f", os.devnull, *argv]
        env = {**self.site.env, "LC_ALL": "C.UTF-8", "TERM": "screen-256color"}
        return subprocess.run(
            command, cwd=self.site.folder, env=env, capture_output=True, text=True, check=False
        ).stdout

    def __enter__(self) -> Screen:
        self.tmux("new-session", "-d", "-x", "120", "-y", "40", f"exec {shlex.quote(HANDRAIL)} ui")
        return self

    def __exit__(self, *_: object) -> None:
        self.tmux("kill-server")

    def wait(self, *texts: str) -> None:
        """Wait until all texts are on the screen."""
        deadline = time.monotonic() + PATIENCE
        while not all(text in (shown := self.tmux("capture-pane", "-p")) for text in texts):
            assert time.monotonic() < deadline, shown
            time.sleep(0.1)

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)


class Site:
    """The project, and its server once `serve` was called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shop"
        self.home = folder / "home"
        (self.folder / ".handrail" / "flows").mkdir(parents=True)
        open_to_agents(self.home)
        variables = {name for variables, _ in Registry().signs().values() for name in variables}
        own = ("XDG_", "HANDRAIL_", "PI_", "CLAUDE_", "CODEX_")
        self.env = {n: v for n, v in os.environ.items() if n not in variables and not n.startswith(own)}
        self.env |= {"HOME": str(folder / "user"), "HANDRAIL_HOME": str(self.home), "NO_COLOR": "1"}
        self.server: subprocess.Popen[str] | None = None
        self.errors = folder / "errors"  # what the server writes to stderr
        self.link = ""
        self.base = ""
        for name, text in FLOWS.items():
            self.write(f".handrail/flows/{name}.yaml", text)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def serve(self, *options: str) -> None:
        """Start the server. The link is a new one each time; the port stays the same."""
        argv = [HANDRAIL, "web", "--no-open", "--json", *options]
        about: dict[str, Any] = {"cwd": self.folder, "env": self.env, "stdin": subprocess.DEVNULL, "text": True}
        with open(self.errors, "ab") as errors:
            self.server = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors, **about)
        assert self.server.stdout is not None
        said = json.loads(self.server.stdout.readline())
        self.link, self.base = said["url"], f"http://{said['host']}:{said['port']}"

    def stop(self, how: int = signal.SIGTERM) -> None:
        """End the server, if it runs."""
        if self.server is not None:
            self.server.send_signal(how)
            self.server.communicate(timeout=PATIENCE)
            self.server = None

    def handrail(self, *argv: str, code: int | None = None) -> dict[str, Any]:
        """Run a command with `--json`, and return what it says."""
        ended = subprocess.run(
            [HANDRAIL, *argv, "--json"], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        assert code is None or ended.returncode == code, ended
        found: dict[str, Any] = json.loads(ended.stdout)
        return found

    def launch(self, flow: str, **params: str) -> str:
        """Start a run in the background, and return its id."""
        given = [word for name, value in params.items() for word in ("--param", f"{name}={value}")]
        run: str = self.handrail("run", flow, *given, "--detach", code=0)["run"]
        return run

    def until(self, run: str, *statuses: str) -> dict[str, Any]:
        """Wait until a run has one of these statuses and no process drives it."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.handrail("runs", run))["status"] not in statuses or found["driver"] is not None:
            assert time.monotonic() < deadline, found
            time.sleep(0.05)
        return found

    def made(self, flow: str, **params: str) -> str:
        """A run that has ended, or waits for an answer."""
        run = self.launch(flow, **params)
        self.until(run, "waiting", "completed", "failed", "cancelled")
        return run

    def journal(self, run: str) -> bytes:
        """The bytes of a run's journal, of all its attempts."""
        return b"".join(path.read_bytes() for path in sorted(self.home.glob(f"state/runs/*/{run}/*/journal*")))
