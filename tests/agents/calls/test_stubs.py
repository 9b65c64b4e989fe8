"""The stubs that are installed into Claude Code, run as the program runs them: one shell, one Python."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.calls import hook
from handrail.agents.calls.hook import answer, refuse
from handrail.agents.claude import host as claude
from handrail.agents.claude import install
from handrail.base.locks import locked
from handrail.extensions.contracts import Stubs
from handrail.extensions.registry import Registry
from handrail.guided.sessions import store
from handrail.settings.folders import UserFolders, file_name
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

        self.env: dict[str, str] = {**os.environ}
        self.prefix: tuple[str, ...] = ()

    def run(self, command: str, event: str, **more: Any) -> dict[str, Any]:
        message = {"session_id": "C", "cwd": str(self.project.folder), "hook_event_name": event, **more}
        env = {"CLAUDE_CODE_SESSION_ID": "C", **self.env, "CLAUDE_PLUGIN_ROOT": str(self.bin.parent)}
        argv = [*self.prefix, "/bin/sh", "-c", command]
        ended = subprocess.run(
            argv, input=json.dumps(message), env=env, capture_output=True, text=True, timeout=60, check=True
        )
        said = json.loads(ended.stdout or "{}")
        assert isinstance(said, dict)
        return said

    def command(self, event: str) -> str:
        return str(self.hooks[event][0]["hooks"][0]["command"])

    def type(self, command: str, arguments: str = "") -> dict[str, Any]:
        args = {"command_name": command, "command_args": arguments}
        return self.run(self.command("UserPromptExpansion"), "UserPromptExpansion", **args)

    def begin(self) -> None:
        assert "hookSpecificOutput" in self.type("workflow", "w make tea")

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


def test_a_message_of_a_conversation_with_a_workflow_is_gated_whatever_the_environment_names(project: Project) -> None:
    host = Installed(project)
    host.begin()
    host.env["CLAUDE_CODE_SESSION_ID"] = "D"
    assert "CLAUDE_CODE_SESSION_ID names D" in (host.reason() or "")
    host.env["CLAUDE_CODE_SESSION_ID"] = "C"
    assert "not allowed in the phase Look" in (host.reason() or "")


def test_another_conversation_needs_no_python_while_one_has_a_workflow(project: Project) -> None:
    host = Installed(project)
    host.begin()
    replace_hook(host.bin / "gate", "exit 1")
    message = '{"session_id":"D","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{}}'
    env = {**host.env, "CLAUDE_CODE_SESSION_ID": "D", "CLAUDE_PLUGIN_ROOT": str(host.bin.parent)}
    argv = ["/bin/sh", "-c", host.command("PreToolUse")]
    ended = subprocess.run(argv, input=message, env=env, capture_output=True, text=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")


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
    replace_hook(host.bin / "gate", f"/bin/sh -c '{broken}'")
    assert "Handrail's gate failed" in (host.reason() or "")


def test_a_link_that_leads_nowhere_denies(project: Project) -> None:
    host = Installed(project)
    host.begin()
    link = Path(UserFolders(os.environ).state) / "hosts" / "claude" / "C"
    link.unlink()
    link.symlink_to("nowhere")
    assert host.reason() is not None


@pytest.mark.parametrize("place", ["", "hosts", "hosts/claude"])
def test_a_state_folder_that_cannot_be_searched_denies(project: Project, place: str) -> None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may search everywhere, and `setpriv` is not installed")
    host = Installed(project)
    host.begin()
    if os.geteuid() == 0:
        host.prefix = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
    assert "not allowed in the phase Look" in (host.reason() or "")
    folder = project.home / "state" / place
    folder.chmod(0o000)
    told = host.reason()
    folder.chmod(0o700)
    assert "cannot decide" in (told or "")


@pytest.mark.parametrize("kind", ["file", "loop"])
def test_something_else_where_the_links_should_be_denies(project: Project, kind: str) -> None:
    host = Installed(project)
    host.begin()
    folder = project.home / "state" / "hosts"
    shutil.rmtree(folder)
    if kind == "loop":
        folder.symlink_to(folder)
    else:
        folder.write_text("")
    assert "cannot decide" in (host.reason() or "")


def test_without_a_workflow_no_python_is_started(project: Project) -> None:
    host = Installed(project)
    gate = host.bin / "gate"
    gate.write_text(gate.read_text(encoding="utf-8").replace("said=$(", "exit 3; said=$("), encoding="utf-8")
    assert host.reason() is None


def test_a_hook_that_takes_too_long_is_ended_by_the_system() -> None:
    hook._end_after(5)
    assert 0 < signal.alarm(0) <= 5


def replace_hook(stub: Path, command: str) -> None:
    """Let a stub call something else instead of the hook."""
    head, call, rest = stub.read_text(encoding="utf-8").partition("HANDRAIL_STATE=")
    assert call
    stub.write_text(f"{head}{command}{rest[rest.index(')') :]}", encoding="utf-8")


@pytest.mark.parametrize("broken", ["/gone/python", "echo garbage", "true", "kill -9 $$"])
def test_a_command_that_cannot_be_carried_out_is_stopped(project: Project, broken: str) -> None:
    host = Installed(project)
    replace_hook(host.bin / "command", broken if broken.startswith("/") else f"/bin/sh -c '{broken}'")
    for name in ("workflow", "handrail:workflow", "handrail:cancel-workflow"):
        said = host.type(name, "w make tea")
        assert said["decision"] == "block"
        assert "handrail install claude" in said["reason"]
    assert host.type("other:workflow", 'say "workflow"') == {}, "another plugin's command is not stopped"


def test_a_start_while_another_process_holds_the_lock_is_stopped_and_says_why(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Installed(project)
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.0)
    fields = {"session_id": "C", "cwd": str(project.folder), "hook_event_name": "UserPromptExpansion"}
    asked = claude.request({**fields, "command_name": "workflow", "command_args": "w make tea"})
    assert asked is not None
    with locked(str(project.home / "state" / "sessions" / file_name(str(project.folder)) / ".lock"), 1, AssertionError):
        said = answer(Registry().host("claude"), "claude", asked, os.environ)
    assert said["kind"] == "held"
    assert "another process is starting a session" in said["text"]
    assert host.reason() is None


def test_every_wait_of_a_hook_is_shorter_than_its_time() -> None:
    assert store.LOCK_SECONDS < hook.SECONDS < install.HOST_SECONDS


def test_a_start_where_a_file_is_in_the_way_is_stopped_and_says_why(project: Project) -> None:
    host = Installed(project)
    (project.home / "state" / "sessions").write_text("in the way", encoding="utf-8")
    said = host.type("workflow", "w make tea")
    assert said["decision"] == "block"
    assert "sessions" in said["reason"]
    assert host.reason() is None


def test_an_error_that_nobody_expected_stops_the_command(project: Project) -> None:
    typed: Any = {"event": "command", "conversation": "C", "cwd": str(project.folder), "transcript": None}
    assert refuse("claude", typed, os.environ, RuntimeError("odd"))["kind"] == "held"


LATER: dict[str, dict[str, str | None]] = {
    "no home": {"HOME": None, "HANDRAIL_HOME": None},
    "another home": {"HOME": "/nowhere", "HANDRAIL_HOME": None},
    "another home of handrail": {"HANDRAIL_HOME": "/nowhere"},
    "another xdg folder": {"HANDRAIL_HOME": None, "XDG_STATE_HOME": "/nowhere"},
    "another state folder": {"HANDRAIL_STATE": "/nowhere"},
}


@pytest.mark.whole(13)
@pytest.mark.parametrize("given", ["HANDRAIL_HOME", "XDG_STATE_HOME", "HOME"])
@pytest.mark.parametrize("later", LATER)
def test_the_state_folder_of_the_installation_wins(
    project: Project, monkeypatch: pytest.MonkeyPatch, given: str, later: str
) -> None:
    if given != "HANDRAIL_HOME":
        monkeypatch.delenv("HANDRAIL_HOME")
    if given == "XDG_STATE_HOME":
        monkeypatch.setenv("XDG_STATE_HOME", str(project.folder.parent / "xdg"))
    host = Installed(project)
    host.begin()
    for name, value in LATER[later].items():
        host.env.pop(name, None)
        host.env |= {name: value} if value is not None else {}
    assert "not allowed in the phase Look" in (host.reason() or "")
    assert "not done yet" in str(host.run(host.command("Stop"), "Stop"))
    listed = json.loads((host.bin.parent / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["handrail"]
    assert host.reason() is not None
    assert UserFolders({**host.env, **listed["env"]}).state == UserFolders(os.environ).state


def test_a_plugin_for_other_machines_finds_the_state_folder_as_python_does() -> None:
    stubs = Stubs(("handrail", "hook"), ("handrail",), "1")
    start = install.gate_stub(stubs).partition("#")[0]
    for env in (
        {"HOME": "/h"},
        {"HOME": "/h", "XDG_STATE_HOME": "/x"},
        {"HOME": "/h", "XDG_STATE_HOME": "relative"},
        {"HOME": "/h", "HANDRAIL_HOME": "/own", "XDG_STATE_HOME": "/x"},
        {"HOME": "/h", "HANDRAIL_HOME": "/own", "HANDRAIL_STATE": "/s"},
    ):
        argv = ["/bin/sh", "-c", f'{start}printf %s "$state"']
        found = subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout
        assert found == UserFolders(env).state
    assert subprocess.run(argv, env={}, capture_output=True, text=True, check=True).stdout == "", "then Python decides"


def test_two_installations_with_different_state_folders_both_answer(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    Installed(project)
    monkeypatch.setenv("HANDRAIL_HOME", str(project.folder.parent / "other"))
    mine = Installed(project, for_project=True)
    mine.begin()
    assert mine.reason() is not None


@pytest.mark.whole
def test_settings_that_change_while_a_workflow_is_active_are_not_loaded(project: Project) -> None:
    host = Installed(project)
    change = {"source": "local_settings", "file_path": str(project.folder / ".claude" / "settings.local.json")}
    assert host.run(host.command("ConfigChange"), "ConfigChange", **change) == {}
    host.begin()
    said = host.run(host.command("ConfigChange"), "ConfigChange", **change)
    assert said["decision"] == "block"
    host.type("cancel-workflow")
    assert host.run(host.command("ConfigChange"), "ConfigChange", **change) == {}


@pytest.mark.parametrize("is_active", [False, True], ids=["without a workflow", "in a workflow"])
def test_uninstalling_frees_a_conversation_that_still_has_our_hooks(project: Project, is_active: bool) -> None:
    """Claude Code blocks every tool if the folder of a loaded plugin is gone, so the empty folder stays."""
    host = Installed(project)
    if is_active:
        host.begin()
    project.json("uninstall", "claude")
    assert list(host.bin.parent.iterdir()) == []
    assert host.reason() is None
    assert host.run(host.command("Stop"), "Stop") == {}
    assert host.type("workflow", "w make tea") == {}
    project.json("install", "claude")
    assert (host.bin / "gate").exists()


@pytest.mark.parametrize(
    ("agent", "path", "name"),
    [("claude", ".mcp.json", "handrail"), ("copilot", ".github/mcp.json", "handrail-copilot")],
)
def test_a_foreign_server_of_our_name_is_not_replaced(project: Project, agent: str, path: str, name: str) -> None:
    text = json.dumps({"mcpServers": {name: {"command": "mine"}}})
    project.write(path, text)
    ended = project.run("install", agent, "--project")
    assert ended.code == 1
    assert f"already has an MCP server `{name}`" in ended.err
    assert (project.folder / path).read_text() == text
