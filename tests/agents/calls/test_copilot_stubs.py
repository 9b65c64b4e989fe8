"""The stubs that are installed into Copilot CLI, run as the program runs them, and the files that install writes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from handrail import FOR_ONE_CALL
from handrail.agents import recipes
from handrail.agents.calls import hook
from handrail.agents.copilot import install
from handrail.extensions.contracts import Stubs
from handrail.guided.sessions import store
from handrail.settings.folders import UserFolders
from support import Project

BROKEN = {"fails": "exit 1", "garbage": "echo garbage", "silent": "true", "killed": "kill -9 $$"}


class Installed:
    """Handrail in a user's Copilot CLI, and one conversation."""

    def __init__(self, project: Project, *, for_project: bool = False) -> None:
        self.project = project
        project.workflow("w", ["look", "build"])
        project.phase("w", "look", "tools:\n  blacklist: [edit]\n")
        project.json("install", "copilot", *(["--project"] if for_project else []))
        home = Path(os.environ["HOME"]) / ".copilot"
        base = project.folder / ".github" if for_project else home
        self.bin = base / ("copilot/handrail/bin" if for_project else "handrail/bin")
        self.hooks = json.loads((base / "hooks" / "handrail.json").read_text(encoding="utf-8"))["hooks"]
        self.env: dict[str, str] = {**os.environ}
        self.prefix: tuple[str, ...] = ()

    def run(self, event: str, conversation: str = "C", **more: Any) -> dict[str, Any]:
        message = {"sessionId": conversation, "timestamp": 1, "cwd": str(self.project.folder), **more}
        body = json.dumps(message, separators=(",", ":"))
        argv = [*self.prefix, "/bin/sh", "-c", self.hooks[event][0]["bash"]]
        ended = subprocess.run(argv, input=body, env=self.env, capture_output=True, text=True, timeout=60, check=True)
        said = json.loads(ended.stdout or "{}")
        assert isinstance(said, dict)
        return said

    def begin(self) -> None:
        assert "additionalContext" in self.run("userPromptSubmitted", prompt="/workflow w make tea")

    def reason(self, conversation: str = "C", **more: Any) -> str | None:
        """Why `edit` is denied, None if it is not."""
        said = self.run("preToolUse", conversation, toolName="edit", toolArgs={"path": "a"}, **more)
        told = said.get("permissionDecisionReason")
        return None if told is None else str(told)

    def stop(self) -> dict[str, Any]:
        path = str(Path(os.environ["HOME"]) / ".copilot" / "session-state" / "C" / "events.jsonl")
        return self.run("agentStop", transcriptPath=path, stopReason="end_turn", stop_hook_active=False)


def replace_hook(stub: Path, command: str) -> None:
    """Let a stub call something else instead of the hook."""
    head, call, rest = stub.read_text(encoding="utf-8").partition("HANDRAIL_STATE=")
    assert call
    stub.write_text(f"{head}{command}{rest[rest.index(' <&3') :]}", encoding="utf-8")


@pytest.mark.parametrize("for_project", [False, True], ids=["for the user", "for the project"])
def test_the_gate_denies_what_the_phase_denies(project: Project, for_project: bool) -> None:
    host = Installed(project, for_project=for_project)
    assert host.reason() is None
    host.begin()
    assert "not allowed in the phase Look" in (host.reason() or "")
    assert host.stop()["decision"] == "block"


def test_of_two_installations_the_users_one_answers(project: Project) -> None:
    user, both = Installed(project), Installed(project, for_project=True)
    user.begin()
    assert user.reason() is not None
    assert both.reason() is None
    assert both.stop() == {}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_hook_that_fails_denies_where_a_workflow_may_be_active(project: Project, broken: str) -> None:
    host = Installed(project)
    host.begin()
    replace_hook(host.bin / "gate", f"/bin/sh -c '{BROKEN[broken]}'")
    assert "Handrail's gate failed" in (host.reason() or "")
    subagent = {"agentId": "S", "parentAgentId": "C"}
    assert "Handrail's gate failed" in (host.reason("S", **subagent) or "")
    assert host.reason("D") is None, "another conversation has no workflow"


@pytest.mark.whole
@pytest.mark.parametrize("stub", ["gate", "prompt"])
def test_a_hook_that_never_answers_is_killed(project: Project, stub: str) -> None:
    host = Installed(project)
    host.begin()
    replace_hook(host.bin / stub, "/bin/sh -c 'exec sleep 50'")
    text = (host.bin / stub).read_text(encoding="utf-8")
    (host.bin / stub).write_text(text.replace(f"sleep {recipes.SECONDS}", "sleep 1"), encoding="utf-8")
    if stub == "gate":
        assert "Handrail's gate failed" in (host.reason() or "")
    else:
        assert host.run("userPromptSubmitted", prompt="/workflow w make tea")["decision"] == "block"


def test_a_missing_interpreter_denies(project: Project) -> None:
    host = Installed(project)
    host.begin()
    replace_hook(host.bin / "gate", "/gone/python")
    assert "Handrail's gate failed" in (host.reason() or "")


def test_a_link_that_leads_nowhere_denies(project: Project) -> None:
    host = Installed(project)
    host.begin()
    link = Path(UserFolders(os.environ).state) / "hosts" / "copilot" / "C"
    link.unlink()
    link.symlink_to("nowhere")
    assert host.reason() is not None


@pytest.mark.parametrize("place", ["", "hosts", "hosts/copilot"])
def test_a_state_folder_that_cannot_be_searched_denies(project: Project, place: str) -> None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may search everywhere, and `setpriv` is not installed")
    host = Installed(project)
    host.begin()
    if os.geteuid() == 0:
        host.prefix = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
    folder = project.home / "state" / place
    folder.chmod(0o000)
    told = host.reason()
    folder.chmod(0o700)
    assert "cannot decide" in (told or "")


def test_without_a_workflow_no_python_is_started(project: Project) -> None:
    host = Installed(project)
    for stub in host.bin.iterdir():
        stub.write_text(stub.read_text(encoding="utf-8").replace("said=$(", "exit 3; said=$("), encoding="utf-8")
    assert host.reason() is None
    assert host.stop() == {}
    assert host.run("userPromptSubmitted", prompt="make tea") == {}
    assert host.run("sessionStart", source="resume", initialPrompt="make tea") == {}


def test_workflow_step_reaches_the_hook_from_every_conversation(project: Project) -> None:
    """Else the model of a conversation without a workflow could say that it is another one."""
    host = Installed(project)
    host.begin()
    given = {"toolName": "handrail-copilot-workflow_step", "toolArgs": {"action": "next", "session_id": "C"}}
    assert host.run("preToolUse", "D", **given)["modifiedArgs"]["session_id"] == "D"


@pytest.mark.parametrize("broken", [*BROKEN, "missing"])
def test_a_command_that_cannot_be_carried_out_is_stopped(project: Project, broken: str) -> None:
    host = Installed(project)
    command = "/gone/python" if broken == "missing" else f"/bin/sh -c '{BROKEN[broken]}'"
    replace_hook(host.bin / "prompt", command)
    skill = '<skill-context name="workflow">\nx\n</skill-context>'
    for prompt in ("/workflow w make tea", "/cancel-workflow", skill):
        said = host.run("userPromptSubmitted", prompt=prompt)
        assert said["decision"] == "block"
        assert "handrail install copilot" in said["reason"]
    assert host.run("userPromptSubmitted", prompt="tell me about /workflow") == {}
    assert host.run("userPromptSubmitted", prompt="/workflow x", agentId="S", parentAgentId="C") == {}


def test_a_reminder_is_no_prompt_of_a_person(project: Project) -> None:
    host = Installed(project)
    host.begin()
    replace_hook(host.bin / "prompt", "/bin/sh -c 'echo {\\\"called\\\":1}'")
    assert host.run("userPromptSubmitted", prompt=host.stop()["reason"]) == {}
    assert host.run("userPromptSubmitted", prompt="go on") != {}


def test_what_a_call_tells_the_model_passes_the_stub(project: Project) -> None:
    host = Installed(project)
    host.begin()
    host.run("preCompact", trigger="auto", customInstructions="")
    said = host.run("preToolUse", toolName="bash", toolArgs={"command": "make"})
    assert "Do look." in said["additionalContext"]


def test_installed_stubs_leave_a_run_to_its_own_stubs(project: Project) -> None:
    host = Installed(project)
    host.begin()
    host.env[FOR_ONE_CALL] = "C"
    assert (host.reason(), host.stop()) == (None, {})


def test_stubs_of_one_call_belong_to_their_conversation_whatever_its_id(project: Project, tmp_path: Path) -> None:
    host = Installed(project)
    host.begin()
    record = json.loads((Path(os.environ["HOME"]) / ".copilot" / "mcp-config.json").read_text())
    listed = record["mcpServers"]["handrail-copilot"]
    line = (host.bin / "gate").read_text(encoding="utf-8")
    hook = tuple(shlex.split(line.partition('HANDRAIL_STATE="$state" ')[2].partition(" copilot <&3")[0]))
    stubs = Stubs(hook, (listed["command"],), "1", listed["env"]["HANDRAIL_STATE"], "", "C")
    for name, text in install.plugin_files(stubs).items():
        path = tmp_path / "plugin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    host.hooks = json.loads((tmp_path / "plugin" / "hooks.json").read_text())["hooks"]
    host.env |= {"PLUGIN_ROOT": str(tmp_path / "plugin"), FOR_ONE_CALL: "C"}
    assert "not allowed in the phase Look" in (host.reason("another-id") or "")
    server = json.loads((tmp_path / "plugin" / ".mcp.json").read_text())["mcpServers"]["handrail-copilot"]
    assert server["env"][FOR_ONE_CALL] == "C"


def test_every_wait_of_a_hook_is_shorter_than_its_time() -> None:
    """Copilot CLI allows a call whose hook takes too long."""
    assert store.LOCK_SECONDS < hook.SECONDS < recipes.SECONDS < install.HOST_SECONDS


@pytest.mark.parametrize("is_active", [False, True], ids=["without a workflow", "in a workflow"])
def test_uninstalling_frees_a_conversation_that_still_has_our_hooks(project: Project, is_active: bool) -> None:
    host = Installed(project)
    if is_active:
        host.begin()
    project.json("uninstall", "copilot")
    assert not host.bin.exists()
    assert host.reason() is None
    assert host.stop() == {}
    assert host.run("userPromptSubmitted", prompt="/workflow w make tea") == {}


def test_the_status_line_shows_the_persons_and_ours(project: Project) -> None:
    settings = Path(os.environ["HOME"]) / ".copilot" / "settings.json"
    settings.parent.mkdir(parents=True)
    before = '{\n   "statusLine": {"type": "command", "command": "echo mine", "padding": 3},\n   "theme": "dark"\n}'
    settings.write_text(before)
    host = Installed(project)
    line = json.loads(settings.read_text())["statusLine"]
    assert line["padding"] == 3

    assert shown(host) == "mine\n"
    host.begin()
    assert shown(host).splitlines()[0] == "mine"
    assert "Look" in shown(host)
    project.json("uninstall", "copilot")
    assert settings.read_text() == before


def shown(host: Installed) -> str:
    """The status line."""
    settings = Path(os.environ["HOME"]) / ".copilot" / "settings.json"
    given = json.dumps({"session_id": "C", "cwd": "/p", "session_name": None})
    argv = ["/bin/sh", "-c", json.loads(settings.read_text())["statusLine"]["command"]]
    return subprocess.run(argv, input=given, env=host.env, capture_output=True, text=True, check=True).stdout


def test_the_status_line_says_why_the_agent_may_stop_until_the_next_prompt(project: Project) -> None:
    project.write(".handrail/settings.yaml", "idleStops: 0\n")
    host = Installed(project)
    host.begin()
    assert host.stop() == {}
    assert shown(host).strip().endswith("[1/2] · Handrail lets the agent stop: no progress")
    host.run("userPromptSubmitted", prompt="go on")
    assert shown(host).strip().endswith("[1/2]")


@pytest.mark.parametrize("for_project", [False, True], ids=["for the user", "for the project"])
def test_copilot_cli_gets_the_skill_that_writes_workflows(project: Project, for_project: bool) -> None:
    Installed(project, for_project=for_project)
    base = project.folder / ".github" if for_project else Path(os.environ["HOME"]) / ".copilot"
    assert (base / "skills/write-workflow/SKILL.md").read_text() == recipes.skill_files()["write-workflow/SKILL.md"]


@pytest.mark.parametrize("edited", [False, True], ids=["as installed", "edited since"])
@pytest.mark.parametrize("scope", ["--user", "--project"])
def test_foreign_settings_stay_byte_for_byte(project: Project, scope: str, edited: bool) -> None:
    base = Path(os.environ["HOME"]) / ".copilot" if scope == "--user" else project.folder / ".github"
    file = base / ("mcp-config.json" if scope == "--user" else "mcp.json")
    file.parent.mkdir(parents=True)
    before = '{"mcpServers": {\n\t"notes": {"command": "true"} }, "other" : [1,2]}\r\n'
    file.write_bytes(before.encode())
    project.json("install", "copilot", scope)
    text = file.read_bytes().decode()
    assert set(json.loads(text)["mcpServers"]) == {"notes", "handrail-copilot"}
    if edited:
        file.write_bytes(text.replace('"other" : [1,2]', '"other" : [3]').encode())
    project.json("uninstall", "copilot", scope)
    assert file.read_bytes().decode() == (before.replace("[1,2]", "[3]") if edited else before)
    assert sorted(path.name for path in base.rglob("*")) == [file.name]
