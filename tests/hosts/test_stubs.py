"""The stubs that are installed into Claude Code, run as the program runs them: one shell, one Python."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from handrail.hosts import entry
from support import Project


class Installed:
    """Handrail in a user's Claude Code, and one conversation."""

    def __init__(self, project: Project, *, for_project: bool = False) -> None:
        self.project = project
        self.home = Path(os.environ["HOME"])
        project.workflow("w", ["look", "build"])
        project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
        project.json("install", "claude", *(["--project"] if for_project else []))
        base = project.folder / ".claude" if for_project else self.home / ".claude"
        self.bin = base / ("handrail" if for_project else "skills/handrail") / "bin"
        file = base / "settings.local.json" if for_project else self.bin.parent / "hooks" / "hooks.json"
        self.hooks = json.loads(file.read_text(encoding="utf-8"))["hooks"]

    def run(self, command: str, event: str, **more: Any) -> dict[str, Any]:
        message = {"session_id": "C", "cwd": str(self.project.folder), "hook_event_name": event, **more}
        env = {**os.environ, "CLAUDE_CODE_SESSION_ID": "C", "CLAUDE_PLUGIN_ROOT": str(self.bin.parent)}
        argv = ["/bin/sh", "-c", command]
        ended = subprocess.run(
            argv, input=json.dumps(message), env=env, capture_output=True, text=True, timeout=60, check=True
        )
        said = json.loads(ended.stdout or "{}")
        assert isinstance(said, dict)
        return said

    def command(self, event: str) -> str:
        return str(self.hooks[event][0]["hooks"][0]["command"])

    def begin(self) -> None:
        args = {"command_name": "workflow", "command_args": "w make tea"}
        assert self.run(self.command("UserPromptExpansion"), "UserPromptExpansion", **args)

    def reason(self, command: str | None = None) -> str | None:
        """Why `Edit` is denied, None if it is not."""
        given = {"tool_name": "Edit", "tool_input": {"file_path": "a"}}
        said = self.run(command or self.command("PreToolUse"), "PreToolUse", **given)
        told = said.get("hookSpecificOutput", {}).get("permissionDecisionReason")
        return None if told is None else str(told)


@pytest.mark.parametrize("for_project", [False, True], ids=["for the user", "for the project"])
def test_the_gate_denies_what_the_phase_denies(project: Project, for_project: bool) -> None:
    host = Installed(project, for_project=for_project)
    assert host.reason() is None
    host.begin()
    assert "not allowed in the phase Look" in (host.reason() or "")


def test_a_conversation_that_still_has_the_hooks_of_0_1_0_is_gated_by_new_stubs(project: Project) -> None:
    host = Installed(project)
    host.begin()
    gate, event = host.bin / "gate", host.bin / "event"
    old = f"[ ! -r {gate} ] || /bin/sh {gate}"
    assert "not allowed in the phase Look" in (host.reason(old) or "")
    stop = f"[ ! -r {event} ] || /bin/sh {event} active"
    assert "not done yet" in host.run(stop, "Stop")["hookSpecificOutput"]["additionalContext"]


def test_of_two_installations_the_users_one_answers(project: Project) -> None:
    user = Installed(project)
    both = Installed(project, for_project=True)
    user.begin()
    assert user.reason() is not None
    assert both.reason() is None


@pytest.mark.parametrize(
    "broken", ["exit 1", "echo garbage", "true", "kill -9 $$"], ids=["fails", "garbage", "silent", "killed"]
)
def test_a_hook_that_fails_denies(project: Project, broken: str) -> None:
    host = Installed(project)
    host.begin()
    gate = host.bin / "gate"
    head, call, rest = gate.read_text(encoding="utf-8").partition("said=$(")
    gate.write_text(f"{head}{call}/bin/sh -c '{broken}'{rest[rest.index(')') :]}", encoding="utf-8")
    assert "Handrail's gate failed" in (host.reason() or "")


def test_without_a_workflow_no_python_is_started(project: Project) -> None:
    host = Installed(project)
    gate = host.bin / "gate"
    gate.write_text(gate.read_text(encoding="utf-8").replace("said=$(", "exit 3; said=$("), encoding="utf-8")
    assert host.reason() is None


def test_a_hook_that_takes_too_long_is_ended_by_the_system() -> None:
    entry._end_after(5)
    assert 0 < signal.alarm(0) <= 5
