"""The stubs that are installed into Codex, run as the program runs them: through the person's shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from agents.calls.talking import HOOK
from handrail.agents import recipes
from handrail.agents.calls import hook
from handrail.agents.codex import install
from handrail.extensions.contracts import Stubs
from handrail.settings.folders import UserFolders
from support import Project

PATCH = {"command": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"}


class Installed:
    """Handrail in a user's Codex, and one conversation."""

    def __init__(self, project: Project, *, for_project: bool = False) -> None:
        self.project = project
        project.workflow("w", ["look", "build"])
        project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
        project.json("install", "codex", *(["--project"] if for_project else []))
        self.base = (project.folder if for_project else Path(os.environ["HOME"])) / ".codex"
        self.stubs = self.base / "handrail"
        self.hooks = json.loads((self.base / "hooks.json").read_text(encoding="utf-8"))["hooks"]
        self.env: dict[str, str] = {**os.environ}

    def run(self, event: str, **more: Any) -> dict[str, Any]:
        command = str(self.hooks[event][-1]["hooks"][0]["command"])
        message = {"session_id": "C", "cwd": str(self.project.folder), "hook_event_name": event, **more}
        body = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
        argv = ["/bin/sh", "-c", command]
        ended = subprocess.run(argv, input=body, env=self.env, capture_output=True, text=True, timeout=60, check=True)
        said = json.loads(ended.stdout or "{}")
        assert isinstance(said, dict)
        return said

    def type(self, prompt: str) -> dict[str, Any]:
        return self.run("UserPromptSubmit", prompt=prompt)

    def begin(self) -> None:
        assert "Do look." in self.type("$workflow w make tea")["hookSpecificOutput"]["additionalContext"]

    def reason(self, **more: Any) -> str | None:
        """Why a patch is denied, None if it is not."""
        said = self.run("PreToolUse", **{"tool_name": "apply_patch", "tool_input": PATCH, **more})
        told = said.get("hookSpecificOutput", {}).get("permissionDecisionReason")
        return None if told is None else str(told)

    def break_python(self, body: str | None) -> None:
        """Replace the interpreter of all stubs by a script; None names a missing program."""
        fake = self.project.folder / "fake-python"
        if body is not None:
            fake.write_text(f"#!/bin/sh\n{body}\n")
            fake.chmod(0o755)
        for stub in self.stubs.iterdir():
            text = stub.read_text()
            assert sys.executable in text
            stub.write_text(text.replace(sys.executable, str(fake)))


@pytest.mark.parametrize("for_project", [False, True], ids=["for the user", "for the project"])
def test_the_gate_denies_what_the_phase_denies(project: Project, for_project: bool) -> None:
    codex = Installed(project, for_project=for_project)
    assert codex.reason() is None
    codex.begin()
    assert "not allowed in the phase Look" in (codex.reason() or "")
    assert codex.reason(session_id="another") is None
    assert codex.reason(tool_name="Bash", tool_input={"command": "echo 'a \\ \"b\" %s'"}) is None


def test_of_two_installations_the_users_one_answers(project: Project) -> None:
    user = Installed(project)
    both = Installed(project, for_project=True)
    user.begin()
    assert user.reason() is not None
    assert both.reason() is None
    assert both.run("Stop") == {}


def test_two_installations_with_different_state_folders_both_answer(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    Installed(project)
    monkeypatch.setenv("HANDRAIL_HOME", str(project.folder.parent / "other"))
    mine = Installed(project, for_project=True)
    mine.begin()
    assert mine.reason() is not None


BROKEN = {
    "fails": "exit 1",
    "is killed": "kill -9 $$",
    "prints garbage": "echo fine",
    "prints nothing": "exit 0",
    "allows in other words": 'echo \'{"hookSpecificOutput":{"hookEventName":"PreToolUse"}}\'',
    "is missing": None,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_hook_that_fails_denies_and_names_the_session(project: Project, name: str) -> None:
    codex = Installed(project)
    codex.begin()
    codex.break_python(BROKEN[name])
    assert (codex.reason() or "").endswith("handrail cancel --yes --session codex-C")
    assert codex.reason(session_id="another") is None, "another conversation has no workflow"


@pytest.mark.whole
def test_a_hook_that_never_answers_is_ended_before_codex_gives_up(project: Project) -> None:
    codex = Installed(project)
    codex.begin()
    codex.break_python("exec sleep 60")
    assert "Handrail's gate failed" in (codex.reason() or "")


def test_every_limit_is_shorter_than_the_next() -> None:
    assert hook.SECONDS < recipes.SECONDS < install.HOST_SECONDS


@pytest.mark.parametrize("name", [name for name in BROKEN if name != "allows in other words"])
def test_a_command_that_cannot_be_carried_out_is_stopped(project: Project, name: str) -> None:
    codex = Installed(project)
    codex.break_python(BROKEN[name])
    for prompt in ("$workflow w make tea", "/workflow w make tea", "$cancel-workflow"):
        said = codex.type(prompt)
        assert said["decision"] == "block"
        assert "handrail install codex" in said["reason"]
    for prompt in ("tell me about workflows", "$other workflow", 'say "prompt":"$workflow"'):
        assert codex.type(prompt) == {}, "another prompt is not stopped"


def test_without_a_workflow_no_python_is_started(project: Project) -> None:
    codex = Installed(project)
    codex.break_python("touch started; exit 1")
    assert codex.reason() is None
    assert codex.type("hello") == {}
    assert codex.run("Stop") == {}
    assert codex.run("SubagentStart", agent_id="A") == {}
    assert codex.run("SessionStart", source="resume") == {}
    assert codex.run("SessionStart", source="fork") == {}
    assert not (project.folder / "started").exists()
    assert not Path("started").exists()


def test_a_message_whose_conversation_is_not_found_is_left_to_python(project: Project) -> None:
    """The stub reads the id where Codex writes it. In another message it may be elsewhere."""
    codex = Installed(project)
    codex.begin()
    command = str(codex.hooks["PreToolUse"][-1]["hooks"][0]["command"])
    body = {"cwd": str(project.folder), "session_id": "C", "hook_event_name": "PreToolUse"}
    for message in ({**body, "tool_name": "apply_patch", "tool_input": PATCH}, {"nothing": 1}):
        argv = ["/bin/sh", "-c", command]
        said = subprocess.run(
            argv, input=json.dumps(message), env=codex.env, capture_output=True, text=True, check=True
        )
        assert '"permissionDecision":' in said.stdout.replace(" ", "")


@pytest.mark.parametrize("place", ["link", "folder"])
def test_something_else_where_the_link_should_be_denies(project: Project, place: str) -> None:
    codex = Installed(project)
    codex.begin()
    link = Path(UserFolders(os.environ).state) / "hosts" / "codex" / "C"
    link.unlink()
    if place == "link":
        link.symlink_to("nowhere")
    else:
        link.parent.rmdir()
        link.parent.write_text("")
    assert codex.reason() is not None


def test_a_long_patch_passes_through_the_stub(project: Project) -> None:
    codex = Installed(project)
    codex.begin()
    long = {"command": "*** Begin Patch\n*** Add File: a\n" + "+üx'\"\\n%s\n" * 60_000 + "*** End Patch\n"}
    assert "not allowed in the phase Look" in (codex.reason(tool_input=long) or "")


def test_uninstalling_frees_a_conversation_that_still_has_our_hooks(project: Project) -> None:
    codex = Installed(project)
    codex.begin()
    project.json("uninstall", "codex")
    assert not codex.stubs.exists()
    assert codex.reason() is None
    assert codex.run("Stop") == {}
    assert codex.type("$workflow w make tea") == {}


def test_a_stop_is_refused_while_a_workflow_is_active(project: Project) -> None:
    codex = Installed(project)
    codex.begin()
    said = codex.run("Stop", stop_hook_active=False)
    assert said["decision"] == "block"
    assert "not done yet" in said["reason"]
    assert codex.run("Stop", agent_id="A") == {}, "a subagent may stop"
    assert "cancelled" in codex.type("$cancel-workflow")["reason"].lower()
    assert codex.run("Stop") == {}


def test_a_subagent_may_look_but_not_move(project: Project) -> None:
    codex = Installed(project)
    codex.begin()
    step = {"tool_name": "mcp__handrail__workflow_step", "agent_id": "A"}
    assert "Only the main conversation" in (codex.reason(**step, tool_input={"action": "next"}) or "")
    assert codex.reason(**step, tool_input={"action": "status"}) is None


@pytest.mark.parametrize("is_project", [False, True], ids=["installed for the user", "installed for the project"])
def test_a_server_of_a_project_with_our_name_is_a_foreign_tool(project: Project, is_project: bool) -> None:
    codex = Installed(project, for_project=is_project)
    project.phase("w", "look", "tools:\n  whitelist: [read]\n")
    codex.begin()
    step = {"tool_name": "mcp__handrail__workflow_step", "tool_input": {"action": "status"}}
    assert codex.reason(**step) is None
    config = project.folder / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    own = config.read_text() if config.exists() else '[mcp_servers.handrail]\ncommand = "x"\n'
    config.write_text(own.replace("command = ", 'command = "/bin/echo" # '))
    assert "not allowed in the phase Look" in (codex.reason(**step) or "")


def test_a_fork_is_held_to_the_phase_of_its_parent(project: Project) -> None:
    codex = Installed(project)
    codex.begin()
    history = project.folder / "rollout.jsonl"
    fork = {"session_id": "D", "transcript_path": str(history)}
    assert codex.run("SessionStart", source="fork", **fork) == {}, "its history does not exist yet"
    assert codex.reason(**fork) is not None
    history.write_text(json.dumps({"type": "session_meta", "payload": {"id": "D", "forked_from_id": "C"}}) + "\n")
    assert "not allowed in the phase Look" in (codex.reason(**fork) or "")
    codex.type("$cancel-workflow")
    assert "not allowed in the phase Look" in (codex.reason(**fork) or ""), "its workflow is its own"
    history.write_text(json.dumps({"type": "session_meta", "payload": {"id": "E", "forked_from_id": "X"}}) + "\n")
    codex.run("SessionStart", source="fork", **{**fork, "session_id": "E"})
    assert codex.reason(**{**fork, "session_id": "E"}) is None, "its parent has no workflow"


def test_the_stubs_of_one_call_belong_to_their_conversation(project: Project, tmp_path: Path) -> None:
    codex = Installed(project)
    codex.begin()
    state = UserFolders(os.environ).state
    stubs = Stubs((sys.executable, "-I", "-S", HOOK), ("handrail",), "1", state=state, conversation="C")
    for name, text in install.stub_files(stubs).items():
        (tmp_path / name).write_text(text)
    codex.hooks = {event: [group] for event, group in install.hook_groups(str(tmp_path)).items()}
    assert "not allowed in the phase Look" in (codex.reason(session_id="the agent's own id") or "")
    assert codex.run("Stop", session_id="the agent's own id")["decision"] == "block"
    codex.break_python(None)
    (tmp_path / "gate").write_text((tmp_path / "gate").read_text().replace(sys.executable, "/gone/python"))
    assert (codex.reason(session_id="other") or "").endswith("--session codex-C")


def test_the_server_gets_the_state_folder_of_the_installation(project: Project) -> None:
    codex = Installed(project)
    entry_ = tomllib.loads((codex.base / "config.toml").read_text())["mcp_servers"]["handrail"]
    assert UserFolders(entry_["env"]).state == UserFolders(os.environ).state
