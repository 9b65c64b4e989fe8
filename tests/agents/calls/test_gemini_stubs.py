"""The stubs for Gemini CLI, run as the program runs them: one shell, one Python. And how they are installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from handrail.agents import recipes
from handrail.agents.calls import hook
from handrail.agents.gemini import install
from handrail.extensions.contracts import Stubs
from handrail.settings.folders import UserFolders
from handrail.source import text_edits
from support import Project

MODEL = {"messages": [{"role": "user", "content": "hello"}]}
OURS = {
    "server_name": "handrail",
    "command": sys.executable,
    "args": ["-I", "-m", "handrail", "mcp", "--agent", "gemini"],
}


class Installed:
    """Handrail in a user's Gemini CLI, and one conversation."""

    def __init__(self, project: Project, *, for_project: bool = False) -> None:
        self.project = project
        project.workflow("w", ["look", "build"])
        project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
        project.json("install", "gemini", *(["--project"] if for_project else []))
        self.base = (project.folder if for_project else Path(os.environ["HOME"])) / ".gemini"
        self.stubs = self.base / "handrail"
        self.settings = json.loads((self.base / "settings.json").read_text(encoding="utf-8"))
        self.env: dict[str, str] = {**os.environ}
        self.conversation = "C"

    def run(self, event: str, place: int = 0, **more: Any) -> dict[str, Any]:
        message = {"session_id": self.conversation, "cwd": str(self.project.folder), "hook_event_name": event, **more}
        command = self.settings["hooks"][event][place]["hooks"][0]["command"]
        ended = subprocess.run(
            ["bash", "-c", command],
            input=json.dumps(message, separators=(",", ":")),
            env={**self.env, "GEMINI_SESSION_ID": self.conversation},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        said = json.loads(ended.stdout or "{}")
        assert isinstance(said, dict)
        return said

    def type(self, name: str, arguments: str = "") -> dict[str, Any]:
        text = tomllib.loads((self.base / "commands" / f"{name}.toml").read_text(encoding="utf-8"))["prompt"]
        return self.run("BeforeAgent", prompt=text.replace("{{args}}", arguments))

    def begin(self) -> None:
        assert "additionalContext" in self.type("workflow", "w make tea")["hookSpecificOutput"]

    def reason(self) -> str | None:
        """Why `replace` is denied, None if it is not."""
        said = self.run("BeforeTool", tool_name="replace", tool_input={"file_path": "a"})
        return said.get("reason") if said.get("decision") == "deny" else None

    def step(self, action: str = "next", **server: Any) -> dict[str, Any]:
        given = {"tool_name": "mcp_handrail_workflow_step", "tool_input": {"action": action, "session_id": "X"}}
        return self.run("BeforeTool", 1, **given, mcp_context={**OURS, **server})

    def tool(self, name: str) -> dict[str, Any]:
        return self.run("BeforeTool", tool_name=name, tool_input={})


@pytest.mark.parametrize("for_project", [False, True], ids=["for the user", "for the project"])
def test_the_gate_denies_what_the_phase_denies(project: Project, for_project: bool) -> None:
    host = Installed(project, for_project=for_project)
    assert host.reason() is None
    host.begin()
    assert "not allowed in the phase Look" in (host.reason() or "")
    host.type("cancel-workflow")
    assert host.reason() is None


def test_of_two_installations_the_users_one_answers(project: Project) -> None:
    user = Installed(project)
    both = Installed(project, for_project=True)
    user.begin()
    assert user.reason() is not None
    assert both.reason() is None


def test_two_installations_with_different_state_folders_both_answer(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    Installed(project)
    monkeypatch.setenv("HANDRAIL_HOME", str(project.folder.parent / "other"))
    mine = Installed(project, for_project=True)
    mine.begin()
    assert mine.reason() is not None


BROKEN = {
    "fails": "/bin/sh -c 'exit 1'",
    "prints garbage": "/bin/sh -c 'echo garbage'",
    "prints half an answer": """/bin/sh -c 'printf "{\\"decision\\":\\"all"'""",
    "is silent": "/bin/sh -c true",
    "is killed": "/bin/sh -c 'kill -9 $$'",
    "is missing": "/gone/python",
}


def break_hook(stub: Path, command: str) -> None:
    """Let a stub call something else instead of the hook."""
    head, call, rest = stub.read_text(encoding="utf-8").partition("HANDRAIL_STATE=")
    assert call
    stub.write_text(f"{head}{command}{rest[rest.index(' <&3') :]}", encoding="utf-8")


@pytest.mark.parametrize("broken", BROKEN)
def test_a_hook_that_fails_denies(project: Project, broken: str) -> None:
    host = Installed(project)
    host.begin()
    break_hook(host.stubs / "gate", BROKEN[broken])
    assert "handrail cancel --yes --session gemini-C" in (host.reason() or "")
    assert host.step()["decision"] == "deny"


@pytest.mark.whole
def test_a_hook_that_never_answers_is_killed_before_the_host_gives_up(project: Project) -> None:
    host = Installed(project)
    host.begin()
    stub = host.stubs / "gate"
    break_hook(stub, "/bin/sh -c 'exec sleep 50'")
    stub.write_text(stub.read_text(encoding="utf-8").replace(f"sleep {recipes.SECONDS}", "sleep 1"), encoding="utf-8")
    assert "handrail cancel --yes --session gemini-C" in (host.reason() or "")


@pytest.mark.parametrize("broken", BROKEN)
def test_a_hook_that_fails_without_a_workflow_says_nothing(project: Project, broken: str) -> None:
    host = Installed(project)
    for name in ("gate", "prompt"):
        break_hook(host.stubs / name, BROKEN[broken])
    assert host.reason() is None
    assert host.run("BeforeAgent", prompt="hello") == {}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_command_that_cannot_be_carried_out_is_stopped(project: Project, broken: str) -> None:
    host = Installed(project)
    break_hook(host.stubs / "prompt", BROKEN[broken])
    for name in ("workflow", "cancel-workflow"):
        said = host.type(name, "w make tea")
        assert said["decision"] == "deny"
        assert "handrail install gemini" in said["reason"]


def test_without_a_workflow_no_python_is_started(project: Project) -> None:
    host = Installed(project)
    for stub in host.stubs.iterdir():
        text = stub.read_text(encoding="utf-8")
        stub.write_text(text.replace("HANDRAIL_STATE=", "exit 3; HANDRAIL_STATE="), encoding="utf-8")
    assert host.reason() is None
    assert host.run("BeforeAgent", prompt="hello") == {}
    assert host.run("BeforeModel", llm_request=MODEL) == {}
    assert host.run("AfterAgent", prompt="hello", prompt_response="x", stop_hook_active=False) == {}
    assert host.run("SessionStart", source="resume") == {}


@pytest.mark.parametrize("damage", ["nowhere", "empty", "folder"])
def test_a_damaged_link_denies(project: Project, damage: str) -> None:
    host = Installed(project)
    host.begin()
    link = Path(UserFolders(os.environ).state) / "hosts" / "gemini" / "C"
    link.unlink()
    if damage == "nowhere":
        link.symlink_to("nowhere")
    elif damage == "empty":
        link.write_text("")
    else:
        link.mkdir()
    assert host.reason() is not None


def test_without_a_workflow_the_model_cannot_name_another_conversation(project: Project) -> None:
    host = Installed(project)
    said = host.step("status")["hookSpecificOutput"]["tool_input"]
    assert said["session_id"] == "C"


def test_a_server_that_only_has_our_name_is_gated(project: Project) -> None:
    host = Installed(project)
    project.phase("w", "look", "tools:\n  whitelist: [read]\n")
    host.begin()
    assert "tool_input" in host.step()["hookSpecificOutput"]
    assert host.step(command="/other/python")["decision"] == "deny"


def test_a_subagent_cannot_move_the_workflow_until_it_has_ended(project: Project) -> None:
    host = Installed(project)
    host.begin()
    given: Any = {"tool_name": "invoke_agent", "tool_input": {"agent_name": "generalist", "prompt": "x"}}
    assert host.run("BeforeTool", **given) == {}
    assert host.run("BeforeTool", **given) == {}
    for _ in range(2):
        assert "main conversation" in host.step()["reason"]
        assert "tool_input" in host.step("status")["hookSpecificOutput"]
        assert "Only the main" in str(host.run("BeforeModel", llm_request=MODEL))
        host.run("AfterTool", **given, tool_response={})
    assert "tool_input" in host.step()["hookSpecificOutput"]
    assert host.run("BeforeModel", llm_request=MODEL) == {}


def test_a_prompt_ends_every_subagent(project: Project) -> None:
    """A person interrupted it, so its end was never reported."""
    host = Installed(project)
    host.begin()
    assert host.tool("invoke_agent") == {}
    assert host.step()["decision"] == "deny"
    host.run("BeforeAgent", prompt="go on")
    assert "tool_input" in host.step()["hookSpecificOutput"]


def test_a_denied_subagent_is_none(project: Project) -> None:
    host = Installed(project)
    project.phase("w", "look", "tools:\n  blacklist: [agent]\n")
    host.begin()
    assert host.tool("invoke_agent")["decision"] == "deny"
    assert "tool_input" in host.step()["hookSpecificOutput"]


def test_a_shorter_history_gets_the_phase_again_until_the_next_prompt_stores_it(project: Project) -> None:
    host = Installed(project)
    host.begin()
    long = {"messages": [{"role": "user", "content": str(n)} for n in range(5)]}
    assert host.run("BeforeModel", llm_request=long) == {}
    for _ in range(2):
        said = host.run("BeforeModel", llm_request=MODEL)
        assert "**Task:** make tea" in said["hookSpecificOutput"]["llm_request"]["messages"][-1]["content"]
    stored = host.run("BeforeAgent", prompt="go on")
    assert "**Task:** make tea" in stored["hookSpecificOutput"]["additionalContext"]
    assert host.run("BeforeModel", llm_request=MODEL) == {}


def test_a_compacted_conversation_gets_the_phase_at_its_next_prompt(project: Project) -> None:
    host = Installed(project)
    host.begin()
    assert "**Task:**" not in str(host.run("BeforeAgent", prompt="go on"))
    assert host.run("PreCompress", trigger="manual") == {}
    assert "**Task:**" in str(host.run("BeforeAgent", prompt="go on"))


def test_a_copy_of_a_conversation_goes_on_at_the_phase_of_its_parent(project: Project, tmp_path: Path) -> None:
    host = Installed(project)
    host.begin()
    host.run("PreCompress", trigger="manual")
    history = host.run("BeforeAgent", prompt="go on")
    copied = [
        {"sessionId": "D"},
        {"id": "import-1", "type": "info", "content": "Imported session from /a.jsonl"},
        {"type": "user", "content": [{"text": history["hookSpecificOutput"]["additionalContext"]}]},
    ]
    transcript = tmp_path / "session-1794872853810-D.jsonl"
    transcript.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in copied))
    host.conversation = "D"
    assert host.reason() is None
    named = str(tmp_path / "session-2026-11-16T23-47-D.jsonl")
    assert host.run("SessionStart", source="resume", transcript_path=named) == {}
    assert "not allowed in the phase Look" in (host.reason() or "")
    host.type("cancel-workflow")
    assert host.reason() is None
    host.conversation = "C"
    assert host.reason() is not None


def test_the_gate_runs_once_for_every_call() -> None:
    import re

    matchers = [entry["matcher"] for entry in install.hook_entries("/s")["BeforeTool"]]
    for tool in ("replace", "mcp_handrail_workflow_step", "mcp_handrail_workflow_step_two", "mcp_notes_add"):
        assert sum(re.search(matcher, tool) is not None for matcher in matchers) == 1


def test_the_host_waits_longer_than_the_hook_may_take() -> None:
    """Gemini CLI runs the tool when its own limit is over."""
    assert hook.SECONDS < recipes.SECONDS < install.HOST_MILLISECONDS / 1000


def test_a_folder_that_the_host_would_change_is_refused() -> None:
    with pytest.raises(ValueError, match="variable"):
        install.hook_entries("/home/$me/.gemini/handrail")


FOREIGN = """{
   "theme": "dark",   "hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "mine"}]}]},
   "mcpServers": {"notes": {"command": "notes"}}
}
"""


@pytest.mark.parametrize("scope", ["--user", "--project"])
@pytest.mark.parametrize("foreign", [FOREIGN, "{}", None])
def test_uninstalling_restores_the_settings(project: Project, scope: str, foreign: str | None) -> None:
    base = (Path(os.environ["HOME"]) if scope == "--user" else project.folder) / ".gemini"
    path = base / "settings.json"
    if foreign is not None:
        base.mkdir(parents=True)
        path.write_text(foreign)
    project.json("install", "gemini", scope)
    settings = json.loads(path.read_text())
    assert settings["mcpServers"]["handrail"]["includeTools"] == ["workflow_step"]
    assert ("notes" in settings["mcpServers"]) == (foreign == FOREIGN)
    assert (base / "commands" / "workflow.toml").exists()
    assert (base / "skills" / "write-workflow" / "SKILL.md").exists()
    project.json("uninstall", "gemini", scope)
    assert (path.read_text() if path.exists() else None) == foreign
    assert not (base / "handrail").exists()
    assert not (base / "commands").exists()
    assert not (base / "skills").exists()


COMMENTED = '{\n  // mine, all mine\n  "theme": "dark" /* or "light" */\n}\n'


def test_settings_with_comments_keep_them(project: Project) -> None:
    path = Path(os.environ["HOME"]) / ".gemini" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(COMMENTED)
    project.json("install", "gemini")
    text = path.read_text()
    assert "// mine, all mine\n" in text
    assert '"theme": "dark" /* or "light" */\n' in text
    assert json.loads(text_edits.without_comments(text))["mcpServers"]["handrail"]["includeTools"] == ["workflow_step"]
    path.write_text(text.replace("dark", "blue"))
    project.json("uninstall", "gemini")
    assert path.read_text() == COMMENTED.replace("dark", "blue")


def test_uninstalling_keeps_what_others_changed_since(project: Project) -> None:
    path = Path(os.environ["HOME"]) / ".gemini" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(FOREIGN)
    project.json("install", "gemini")
    edited = json.loads(path.read_text()) | {"theme": "light"}
    path.write_text(json.dumps(edited, indent=2))
    project.json("uninstall", "gemini")
    assert json.loads(path.read_text()) == json.loads(FOREIGN) | {"theme": "light"}


def test_a_foreign_server_of_our_name_is_not_replaced(project: Project) -> None:
    path = Path(os.environ["HOME"]) / ".gemini" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"mcpServers": {"handrail": {"command": "mine"}}}')
    ended = project.run("install", "gemini")
    assert ended.code == 1
    assert "already has an MCP server `handrail`" in ended.err
    assert "mine" in path.read_text()


@pytest.mark.parametrize("is_active", [False, True], ids=["without a workflow", "in a workflow"])
def test_uninstalling_frees_a_conversation_that_still_has_our_hooks(project: Project, is_active: bool) -> None:
    host = Installed(project)
    text = tomllib.loads((host.base / "commands" / "workflow.toml").read_text())["prompt"]
    if is_active:
        host.begin()
    project.json("uninstall", "gemini")
    assert host.reason() is None
    assert host.step() == {}
    assert host.run("AfterAgent", prompt="hello", prompt_response="x", stop_hook_active=False) == {}
    assert host.run("BeforeAgent", prompt=text) == {}


def test_stubs_for_one_call_know_their_conversation(project: Project) -> None:
    host = Installed(project)
    host.begin()
    made = install.gate_stub(Stubs(("/gone",), ("h",), "1", UserFolders(os.environ).state, conversation="C"))
    other = install.gate_stub(Stubs(("/gone",), ("h",), "1", UserFolders(os.environ).state, conversation="D"))
    told = [
        subprocess.run(
            ["bash", "-c", text],
            check=True,
            input="{}",
            env={**os.environ, "GEMINI_SESSION_ID": "E"},
            capture_output=True,
            text=True,
        ).stdout
        for text in (made, other)
    ]
    assert "gemini-C" in told[0]
    assert told[1] == ""
