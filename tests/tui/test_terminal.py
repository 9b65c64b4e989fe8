"""The real program in a real terminal: runs of other processes appear, closing or killing it affects no run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import Project, is_running

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")
PATIENCE = 60.0
OSC = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
"""Titles and shapes of the pointer end with the same character as a bell."""
HOLD = "sh, -c, 'until [ -e {0} ]; do sleep 0.05; done'"
EVIL = "\x1b]0;stolen\x07\x1b]8;;http://x\x07link\x1b]8;;\x07\x1b]52;c;aGk=\x07\x1b[2J[@click=app.quit]\u202ewords"
"""What a program may print: a title, a link, the clipboard, an empty screen, markup and text from right to left."""
ASKS = f"""
phases:
- id: hold
  steps:
  - {{id: it, node: command, params: {{argv: [{HOLD.format("go")}]}}}}
  - {{id: say, node: command, params: {{argv: [cat, evil]}}}}
- id: ask
  steps:
  - id: go
    node: user-input
    params: {{formId: go, title: "Release it?", fields: [{{id: sure, type: boolean, label: Sure?}}]}}
"""
SLOW = f"""
phases:
- {{id: once, steps: [{{id: count, node: command, params: {{argv: [sh, -c, 'echo x >> counted']}}}}]}}
- {{id: hold, steps: [{{id: it, node: command, rerun: safe, params: {{argv: [{HOLD.format("end")}]}}}}]}}
"""


class Terminal:
    """A tmux server with one window that runs `handrail`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.raw = folder / "raw"
        self.socket = str(folder / "tmux")

    def tmux(self, *argv: str) -> str:
        ended = subprocess.run(
            ["tmux", "-u", "-S", self.socket, "-f", os.devnull, *argv], capture_output=True, text=True, check=False
        )
        return ended.stdout

    def start(self, **env: str) -> None:
        words = [f"{name}={value}" for name, value in {"LC_ALL": "C.UTF-8", "TERM": "screen-256color", **env}.items()]
        command = shlex.join(["env", "-u", "COLUMNS", "-u", "LINES", *words, HANDRAIL])
        self.tmux("new-session", "-d", "-x", "80", "-y", "24", f"exec {command}")
        self.tmux("pipe-pane", "-o", f"cat >> {shlex.quote(str(self.raw))}")
        self.wait("quit")

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def wait(self, *texts: str) -> str:
        """Wait until all texts are on the screen."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            screen = self.screen()
            if all(text in screen for text in texts):
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{texts} did not appear:\n{self.screen()}")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.tmux("send-keys", key)

    def chosen(self) -> str:
        """The selected line, without its figures."""
        return next(line for line in self.screen().split("\n") if line.startswith("▌"))[:16]

    @property
    def pid(self) -> int:
        return int(self.tmux("list-panes", "-F", "#{pane_pid}"))

    def kill(self) -> None:
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        until = time.monotonic() + PATIENCE
        while is_running(pid) and time.monotonic() < until:
            time.sleep(0.05)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    found = Project(tmp_path, monkeypatch, capsys)
    monkeypatch.delenv("NO_COLOR")
    found.write(".handrail/flows/asks.yaml", ASKS)
    found.write(".handrail/flows/slow.yaml", SLOW)
    return found


@pytest.fixture
def terminal(project: Project, tmp_path: Path) -> Iterator[Terminal]:
    found = Terminal(tmp_path)
    yield found
    found.tmux("kill-server")
    for name in ("go", "end"):
        project.write(name, "")


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    found = [pid]
    for parent in found:
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=False
        )
        found += [int(one) for one in listed.stdout.split()]
    return found


def status(project: Project, run: str) -> str:
    return str(project.json("runs", run)["status"])


def until_status(project: Project, run: str, wanted: str) -> None:
    until = time.monotonic() + PATIENCE
    while status(project, run) != wanted:
        assert time.monotonic() < until, status(project, run)
        time.sleep(0.1)


@pytest.mark.whole
def test_a_run_of_another_process_appears_and_rings_once_when_it_asks(project: Project, terminal: Terminal) -> None:
    project.write("evil", f"{EVIL}\n")
    terminal.start()
    for width, height in ((120, 40), (160, 50), (80, 24)):
        terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
        screen = terminal.wait("NEEDS YOU " + "─" * (width // 2 - 20), "nothing", "No runs yet", "? help")
        assert "…" not in screen
        assert "✗" not in screen
    project.json("run", "asks", "--detach")
    terminal.wait("RUNNING", "● asks")
    project.write("go", "")
    screen = terminal.wait("NEEDS YOU", "Release it?")
    assert "▌? asks" in screen.split("\n")[2]
    terminal.wait("waits for you: Release it?")
    terminal.press("Enter")
    terminal.wait("link[@click=app.quit]⟨U+202E⟩words")
    assert terminal.tmux("display-message", "-p", "#{pane_title}").strip() == "(1) handrail project"
    raw = terminal.raw.read_bytes()
    assert OSC.sub(b"", raw).count(b"\x07") == 1
    assert not {one[2:].partition(b";")[0] for one in OSC.findall(raw)} & {b"0", b"8", b"52"}
    terminal.tmux("kill-session")
    terminal.start(TERM="linux", LC_ALL="C", NO_COLOR="1")
    plain = terminal.wait("NEEDS YOU ---", "|? asks")
    assert plain.isascii()


@pytest.mark.whole
def test_a_run_survives_its_screen_and_stops_only_if_told_to(project: Project, terminal: Terminal) -> None:
    run = project.json("run", "slow", "--detach")["run"]
    terminal.start()
    terminal.wait("● slow")
    terminal.press("Enter")
    terminal.wait("● running", "● it")
    terminal.press("Escape")
    terminal.wait("Stop slow?")
    terminal.press("Escape")
    terminal.wait("● it")
    before = terminal.chosen()
    for width, height in ((160, 50), (80, 24), (50, 15), (160, 50)):
        terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
        terminal.wait("handrail needs" if width < 60 else "1 Progress")
    assert terminal.chosen() == before
    terminal.kill()
    assert status(project, run) == "running"
    terminal.start()
    terminal.wait("● slow")
    terminal.press("Enter")
    terminal.wait("● running", "● it")
    terminal.press("Escape")
    terminal.wait("Stop slow?")
    processes = family(project.json("runs", run)["driver"])
    assert len(processes) > 1
    terminal.press("Right", "Enter")
    until_status(project, run, "cancelled")
    terminal.wait("■ cancelled")
    until = time.monotonic() + PATIENCE
    while any(is_running(process) for process in processes):
        assert time.monotonic() < until, processes
        time.sleep(0.1)
    terminal.press("r")
    terminal.wait("[ Resume ]")
    project.write("end", "")
    terminal.press("Enter")
    until_status(project, run, "completed")
    assert (project.folder / "counted").read_text() == "x\n"
    terminal.press("q")


def launch(terminal: Terminal, name: str) -> None:
    """Launch a flow from the catalog."""
    terminal.press("c")
    terminal.wait("definitions", "▸ built-in")
    terminal.press("/")
    terminal.wait("\nfind\n")  # what is typed before the field is there goes to the list
    terminal.press(*name, "Enter")
    terminal.wait(f"{name} · ")
    terminal.press("Enter")
    terminal.wait(f"Launch {name}", "Estimate")
    terminal.press("C-s")
    terminal.wait(f"{name}  r-", "● running", "● it")


@pytest.mark.whole
@pytest.mark.parametrize("ends", ["leave", "kill"])
def test_runs_that_were_launched_here_go_on_without_the_screen(project: Project, terminal: Terminal, ends: str) -> None:
    for name in ("first", "second"):
        project.write(f".handrail/flows/{name}.yaml", SLOW)
    terminal.start()
    for name in ("first", "second"):
        launch(terminal, name)
    terminal.press("q")
    terminal.wait("2 runs continue without this screen.", "[ Leave them running ]")
    if ends == "leave":
        pid = terminal.pid
        terminal.press("Enter")
        until = time.monotonic() + PATIENCE
        while is_running(pid):
            assert time.monotonic() < until
            time.sleep(0.1)
    else:
        terminal.kill()
    runs = [row["run"] for row in project.json("runs")["runs"]]
    assert [status(project, run) for run in runs] == ["running", "running"]
    project.write("end", "")
    for run in runs:
        until_status(project, run, "completed")


def test_without_a_terminal_there_is_help_and_a_refusal(project: Project) -> None:
    alone = project.process()
    assert (alone.code, alone.out.startswith("Usage: handrail")) == (0, True)
    refused = project.process("ui")
    assert refused.code == 2
    assert "needs a terminal" in refused.err
