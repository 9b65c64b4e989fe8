"""A toy agent becomes a host through one registry row: install, gate, step, stop, uninstall."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.calls.talking import tell
from handrail.agents.calls import servers
from handrail.extensions import registry
from support import Project

HERE = str(Path(__file__).parent)


@pytest.fixture
def toy(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setitem(registry.AGENTS, "toy", {"host": "toyhost"})
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
    return project


def say(project: Project, **message: Any) -> dict[str, Any]:
    return tell("toy", {"chat": "T", "where": str(project.folder), **message}, path=HERE)


def step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], action: str, chat: str) -> str:
    """The result of `workflow_step` from the MCP server that the agent would start."""
    call = {"name": "workflow_step", "arguments": {"action": action, "chat": chat}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}) + "\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line.encode())))
    assert servers.mcp_main(["--agent", "toy"]) == 0
    return str(json.loads(capsys.readouterr().out)["result"]["content"][0]["text"])


@pytest.mark.whole
def test_the_toy_host_starts_gates_moves_and_stops_a_workflow(
    toy: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Do look." in say(toy, what="typed", line=":begin w make tea")["text"]
    assert say(toy, what="call", name="toy.peek", **{"with": {"file": "a"}}) == {"go": True, "why": None}
    assert "not allowed" in say(toy, what="call", name="toy.scribble", **{"with": {"file": "a"}})["why"]
    assert "not done yet" in say(toy, what="tired")["send_on"]
    passed = say(toy, what="call", name="toy.step", **{"with": {"do": "next"}})
    assert passed == {"go": True, "chat": "T"}
    assert "Do build." in step(monkeypatch, capsys, "next", passed["chat"])
    assert say(toy, what="call", name="toy.scribble", **{"with": {"file": "a"}})["go"] is True
    assert "toy.ini" in say(toy, what="call", name="toy.scribble", **{"with": {"file": "toy.ini"}})["why"]
    assert "is done" in step(monkeypatch, capsys, "next", "T")
    assert "is done" in say(toy, what="tired")["farewell"]


@pytest.mark.whole
def test_messages_name_the_commands_of_the_toy_host(
    toy: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ":begin NAME TASK starts a workflow" in say(toy, what="typed", line=":begin")["text"]
    assert ":begin NAME TASK" in step(monkeypatch, capsys, "status", "T")
    say(toy, what="typed", line=":begin w make tea")
    assert ":begin --replace w more" in say(toy, what="typed", line=":begin w more")["text"]
    for _ in range(3):
        say(toy, what="tired")
    assert ":leave" in say(toy, what="tired")["let_go"]
    say(toy, what="typed", line=":leave")
    assert say(toy, what="call", name="toy.scribble", **{"with": {"file": "a"}})["go"] is True


def test_installing_and_uninstalling_restores_every_byte(toy: Project) -> None:
    settings = toy.write("toy.ini", "colour = blue\n")
    changed = toy.json("install", "toy", "--project")["changes"]
    assert {Path(row["path"]).name for row in changed} == {"toy.ini", "toy-handrail"}
    assert "hook = " in settings.read_text()
    settings.write_text("size = 2\n" + settings.read_text())
    toy.json("uninstall", "toy", "--project")
    assert settings.read_text() == "size = 2\ncolour = blue\n"
    assert not (toy.folder / "toy-handrail").exists()


def test_the_command_line_gate_supports_the_toy_host(toy: Project) -> None:
    say(toy, what="typed", line=":begin w make tea")
    told = toy.json("gate", "toy.scribble", "--agent", "toy", "--session", "toy-T")
    assert (told["allow"], told["rule"]) == (False, "blacklist")
