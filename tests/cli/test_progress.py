"""A run on a terminal is redrawn in place and stays on the screen. Without a terminal it is one line per event."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import termios
import time
from collections.abc import Iterator
from typing import TextIO

import pytest

from driven.flows.everyflow import flow
from handrail.cli.output import Shell
from handrail.cli.run_driver import LiveProgress, PlainProgress
from handrail.cli.terminal import WaitingLine, can_draw
from handrail.driven.runs.run_events import (
    Answered,
    Asked,
    Event,
    PhaseDone,
    PhaseStarted,
    RunEnded,
    RunResumed,
    RunStarted,
    StepDone,
    StepStarted,
)
from support import Project

SET = "node: set, params: {n: 1}"
FLOW = f"""
phases:
- {{id: plan, steps: [{{id: read, {SET}}}]}}
- {{id: build, steps: [{{id: make, {SET}}}, {{id: push, {SET}}}]}}
"""
_CONTROL = re.compile(r"\x1b\[(\??)(\d*)([A-Za-z])")


class Terminal:
    """A real terminal device, and the screen that a person sees on it."""

    def __init__(self, columns: int = 40, lines: int = 10) -> None:
        self.master, slave = pty.openpty()
        self.stream: TextIO = os.fdopen(slave, "w", encoding="utf-8")
        self.rows, self.at, self.column = [""], 0, 0
        self.highest = 0
        self.resize(columns, lines)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def say(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def screen(self) -> list[str]:
        """What the screen shows now. No line above `highest` may be changed."""
        self.say("\x1b[999m")  # a marker: everything before it has been read
        text = ""
        while "\x1b[999m" not in text:
            text += os.read(self.master, 65536).decode()
        at = 0
        while at < len(text):
            if control := _CONTROL.match(text, at):
                self._control(control[1], int(control[2] or 1), control[3])
                at = control.end()
            else:
                self._put(text[at])
                at += 1
        return [row.rstrip() for row in self.rows]

    def _control(self, private: str, number: int, name: str) -> None:
        if name == "A":
            self.at -= number
            assert self.at >= self.highest
        elif name == "K":
            self.rows[self.at] = self.rows[self.at][: self.column]
        elif name != "m":
            assert (private, number, name) in (("?", 7, "l"), ("?", 7, "h"))

    def _put(self, char: str) -> None:
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.at += 1
            if self.at == len(self.rows):
                self.rows.append("")
        else:
            row = self.rows[self.at].ljust(self.column)
            self.rows[self.at] = row[: self.column] + char + row[self.column + 1 :]
            self.column += 1

    def close(self) -> None:
        self.stream.close()
        os.close(self.master)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    device = Terminal()
    yield device
    device.close()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_run_is_redrawn_in_place_and_stays_on_the_screen(terminal: Terminal) -> None:
    clock = Clock()
    terminal.say("before\n")
    terminal.screen()
    terminal.highest = 1
    live = LiveProgress(terminal.stream, flow(FLOW), clock)
    live.tick()
    assert terminal.screen() == ["before", "○ plan", "○ build", "0/3 steps", ""]
    for event in (RunStarted("flow", "d", None), PhaseStarted("plan"), StepStarted("plan/read")):
        live.observer(event)
    live.tick()
    assert terminal.screen() == ["before", "● plan  0.0s", "  ● read  0.0s", "○ build", "0/3 steps, 0.0s", ""]
    clock.now = 2.0
    live.observer(StepDone("plan/read", False))
    live.observer(PhaseDone("plan"))
    live.observer(RunEnded("completed", "success", None, None))
    live.close()
    terminal.say("after\n")
    standing = ["before", "✓ plan  2.0s", "○ build", "completed, 1/3 steps, 2.0s", "after"]
    assert terminal.screen()[:5] == standing
    live.tick()
    live.close()
    assert terminal.screen()[:5] == standing


def test_nothing_is_written_while_nothing_changes() -> None:
    stream = io.StringIO()
    live = LiveProgress(stream, flow(FLOW), Clock())
    live.tick()
    drawn = stream.getvalue()
    live.tick()
    assert drawn == stream.getvalue() == "\x1b[?7l\r○ plan\x1b[K\n○ build\x1b[K\n0/3 steps\x1b[K\n\x1b[?7h"


def test_a_closed_view_is_drawn_again_below_an_answer(terminal: Terminal) -> None:
    live = LiveProgress(terminal.stream, flow(FLOW), Clock())
    live.observer(Asked("plan/read", "i", {"title": "Sure?"}))
    live.close()
    live.tick()
    terminal.say("yes\n")
    live.observer(Answered("plan/read", "i", {}))
    live.tick()
    left = ["○ plan", "○ build", "0/3 steps", "yes"]
    assert terminal.screen() == [*left, "○ plan", "○ build", "0/3 steps", ""]


def test_the_view_fits_into_a_window_of_any_size(terminal: Terminal) -> None:
    """If a window becomes lower, lines that scrolled out of it cannot be overwritten. They stay as they are."""
    terminal.say("before\n")
    terminal.screen()
    terminal.highest = 1
    live = LiveProgress(terminal.stream, flow(FLOW), Clock())
    live.observer(PhaseStarted("build"))
    frames = []
    for columns, lines in ((40, 10), (12, 4), (3, 2), (1, 1), (200, 50)):
        terminal.resize(columns, lines)
        live.tick()
        frames.append(terminal.screen()[:-1])
    assert frames[0] == ["before", "○ plan", "● build  0.0s", "  ○ make", "  ○ push", "0/3 steps"]
    assert frames[1] == [*frames[0][:3], "○ plan", "● build  0…", "0/3 steps"]
    assert frames[2] == [*frames[1][:5], "0…"]
    assert frames[3] == [*frames[2][:6], ""]
    assert frames[4] == [*frames[3][:6], *frames[0][1:]]


def test_events_from_before_a_resume_are_shown_from_the_start(terminal: Terminal) -> None:
    past: list[tuple[float, Event]] = [
        (1.0, RunStarted("flow", "d", None)),
        (1.0, PhaseStarted("plan")),
        (1.0, StepStarted("plan/read")),
        (4.0, StepDone("plan/read", False)),
        (4.0, PhaseDone("plan")),
    ]
    live = LiveProgress(terminal.stream, flow(FLOW), Clock(), past)
    live.observer(RunResumed("resume", [], None))
    live.tick()
    assert terminal.screen() == ["✓ plan  3.0s", "○ build", "1/3 steps, 3.0s", ""]


def test_a_run_continues_if_its_terminal_is_closed(terminal: Terminal) -> None:
    live = LiveProgress(terminal.stream, flow(FLOW), Clock())
    plain = PlainProgress(terminal.stream, flow(FLOW), Clock())
    terminal.stream.close()
    plain.observer(PhaseStarted("plan"))
    live.observer(PhaseStarted("plan"))
    live.tick()
    live.close()
    assert live.progress.topic.tree.get("plan")["status"] == "running"


def test_only_a_capable_terminal_is_drawn_on(terminal: Terminal) -> None:
    assert can_draw(terminal.stream, {"TERM": "xterm"})
    assert not can_draw(terminal.stream, {"TERM": "dumb"})
    assert not can_draw(terminal.stream, {})
    assert not can_draw(io.StringIO(), {"TERM": "xterm"})


def test_without_a_terminal_every_event_is_a_plain_line() -> None:
    stream, clock = io.StringIO(), Clock()
    plain = PlainProgress(stream, flow(FLOW), clock)
    plain.observer(RunStarted("flow", "d", None))
    plain.observer(PhaseStarted("plan"))
    plain.observer(StepStarted("plan/read"))
    clock.now = 0.25
    plain.observer(StepDone("plan/read", False))
    assert stream.getvalue() == "● plan\n  ● plan/read\n  ✓ plan/read  0.2s\n"


def test_without_a_terminal_a_run_prints_no_control_characters(project: Project) -> None:
    project.write(".handrail/flows/demo.yaml", FLOW)
    said = project.run("run", "demo")
    assert said.code == 0
    assert "✓ plan" in said.err
    assert "\x1b" not in said.err + said.out
    assert "plan" not in project.run("run", "demo", "--quiet").err


def test_the_signs_have_colours_on_a_terminal_unless_the_person_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> str:
        terminal = Terminal()
        live = LiveProgress(terminal.stream, flow(FLOW), Clock())
        live.observer(PhaseStarted("plan"))
        live.tick()
        text = os.read(terminal.master, 65536).decode()
        terminal.close()
        return text

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[36m●\x1b[0m plan" in drawn()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "● plan" in drawn()


@pytest.mark.whole
def test_what_is_printed_while_a_command_waits_is_above_its_line(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shell = Shell("/", as_json=False, quiet=False)
    with WaitingLine(shell, "checking\nthe definitions of a project", terminal.stream) as line:
        while terminal.screen() == [""]:
            time.sleep(0.02)
        assert re.fullmatch(r"checking the definitions of a proj…, \ds", terminal.screen()[-1])
        line.print(lambda: terminal.say("found\n"))
        assert terminal.screen() == ["found", ""]
        line.say("writing")
        while not terminal.screen()[-1].startswith("writing, "):
            time.sleep(0.02)
    assert terminal.screen() == ["found", ""]


@pytest.mark.parametrize(("as_json", "quiet"), [(True, False), (False, True)])
def test_no_line_says_what_is_waited_for_if_nobody_wants_it(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, as_json: bool, quiet: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert not WaitingLine(Shell("/", as_json=as_json, quiet=quiet), "checking", terminal.stream).is_shown
    assert not WaitingLine(Shell("/", as_json=False, quiet=False), "checking", io.StringIO()).is_shown
