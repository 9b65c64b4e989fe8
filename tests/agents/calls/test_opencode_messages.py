"""The messages of our plugin in OpenCode, both ways, and what its tools are called and do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.calls.talking import tell
from handrail.agents.opencode import host
from handrail.extensions.registry import Registry
from support import Project

ROOT = "ses_e194b6e00ffem5nTe7xx20rYKs"
PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: /c\n*** Delete File: d\n*** End Patch"


def say(project: Project, kind: str, session: str = ROOT, **more: Any) -> dict[str, Any]:
    return tell("opencode", {"type": kind, "session": session, "cwd": str(project.folder), **more})


def begin(project: Project, rule: str = "blacklist: [edit, write]") -> dict[str, Any]:
    project.workflow("w", ["look", "build"])
    project.phase("w", "look", f"tools:\n  {rule}\n")
    return say(project, "command", name="start", arguments="w make tea")


def call(project: Project, tool: str, *, sub: bool = False, own: bool = False, **given: Any) -> dict[str, Any]:
    return say(project, "tool", tool=tool, args=given, isSubagent=sub, isOwn=own, call="call_1")


def link(project: Project, session: str = ROOT) -> bool:
    return (project.home / "state" / "hosts" / "opencode" / session).exists()


@pytest.mark.whole
def test_the_command_starts_a_workflow_with_its_first_phase(project: Project) -> None:
    said = begin(project)
    assert "Do look." in said["text"]
    assert set(said) == {"text", "mark"}
    assert link(project)


def test_a_command_that_cannot_start_is_held_with_the_reason(project: Project) -> None:
    begin(project)
    assert "w make tea" in say(project, "command", name="start", arguments="w make tea")["held"]
    assert "NAME TASK" in say(project, "command", session="ses_2", name="start", arguments="")["held"]
    assert not link(project, "ses_2")


def test_the_cancel_command_ends_the_workflow(project: Project) -> None:
    begin(project)
    assert "ancelled" in say(project, "command", name="cancel", arguments="")["held"]
    assert call(project, "edit", filePath="a") == {"allow": True}
    assert "No workflow" in say(project, "command", name="cancel", arguments="")["held"]


@pytest.mark.parametrize("is_subagent", [False, True])
def test_a_denied_call_has_a_reason(project: Project, is_subagent: bool) -> None:
    begin(project)
    denied = call(project, "edit", sub=is_subagent, filePath="a")
    assert "edit is not allowed in the phase" in denied["deny"]
    assert call(project, "read", sub=is_subagent, filePath="a") == {"allow": True}


def test_only_our_own_tool_always_passes(project: Project) -> None:
    begin(project, "whitelist: [read]")
    assert call(project, "workflow_step", own=True, action="next") == {"allow": True}
    assert "deny" in call(project, "workflow_step", own=False, action="next")
    assert "main conversation" in call(project, "workflow_step", own=True, sub=True, action="next")["deny"]
    assert call(project, "workflow_step", own=True, sub=True, action="status") == {"allow": True}


def test_a_tool_with_the_name_of_ours_can_be_listed_as_a_tool_of_its_server(project: Project) -> None:
    begin(project, "whitelist: ['mcp:workflow/step']")
    assert call(project, "workflow_step", own=False, action="next") == {"allow": True}


@pytest.mark.whole(4)
@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("search", "grep"),
        ("find", "glob"),
        ("ls", "list"),
        ("fetch", "webfetch"),
        ("agent", "task"),
        ("edit", "apply_patch"),
        ("write", "apply_patch"),
        ("mcp:my_notes/add_one", "my_notes_add_one"),
        ("webfetch", "webfetch"),
    ],
)
def test_a_list_may_use_each_name_of_a_tool(project: Project, name: str, tool: str) -> None:
    begin(project, f"blacklist: ['{name}']")
    assert "deny" in call(project, tool)
    assert call(project, "bash", command="ls") == {"allow": True}


def test_a_question_to_the_person_needs_no_place_in_a_whitelist(project: Project) -> None:
    begin(project, "whitelist: [read]")
    assert call(project, "question") == {"allow": True}
    assert "deny" in call(project, "todowrite")


def test_what_a_call_does_is_read_from_its_arguments() -> None:
    def done(tool: str, **given: Any) -> tuple[Any, ...]:
        seen = host.arguments(tool, given, "/p")
        return seen["runs"], seen["reads"], seen["writes"]

    assert done("bash", command="ls") == ("ls", (), ())
    assert done("write", filePath="a", content="x") == (None, (), ("/p/a",))
    assert done("edit", filePath="/q/a") == (None, (), ("/q/a",))
    assert done("read", filePath="a") == (None, ("/p/a",), ())
    assert done("grep", pattern="x", path="src") == (None, ("/p/src",), ())
    assert done("apply_patch", patchText=PATCH) == (None, (), ("/p/a", "/p/b", "/c", "/p/d"))
    assert done("apply_patch", patchText=PATCH.replace("File: ", "File:")) == (None, (), ("/p/a", "/p/b", "/c", "/p/d"))
    assert done("write", filePath=3) == (None, (), ())
    assert done("bash", command=None) == (None, (), ())


def test_files_that_decide_about_our_plugin_are_protected(project: Project) -> None:
    begin(project, "blacklist: [fetch]")
    home, folder = host.protected({}, "/h", "/p"), str(project.folder)
    assert {"/h/.config/opencode", "/p/opencode.json", "/p/.opencode", "/p/.handrail/opencode"} <= set(home)
    assert "/x/opencode" in host.protected({"XDG_CONFIG_HOME": "/x"}, "/h", "/p")
    assert "/own.json" in host.protected({"OPENCODE_CONFIG": "/own.json"}, "/h", "/p")
    assert "controls its hooks" in call(project, "write", filePath=f"{folder}/opencode.json", content="{}")["deny"]
    assert "controls its hooks" in call(project, "bash", command="rm -rf .opencode")["deny"]
    assert call(project, "write", filePath=f"{folder}/a", content="") == {"allow": True}


def test_a_prompt_adds_the_phase_once_and_then_the_status_line(project: Project) -> None:
    begin(project)
    said = say(project, "prompt", turn="msg_1")
    assert "Do look." not in said["text"]
    assert "Look" in said["text"]
    assert "make tea" in said["title"]
    assert say(project, "prompt", session="ses_2", turn="msg_1") == {}


def test_a_subagent_gets_the_brief_text(project: Project) -> None:
    begin(project)
    assert "Look" in say(project, "subagent")["text"]


def test_a_call_of_the_model_gets_the_phase_if_its_history_does_not_have_it(project: Project) -> None:
    mark = begin(project)["mark"]
    assert say(project, "model", told=["another", mark]) == {}
    assert "mark" not in say(project, "prompt"), "it has been told, so a prompt adds only the status line"
    assert "Do look." in say(project, "model", told=["another"])["text"]
    prompted = say(project, "prompt")
    assert "Do look." in prompted["text"], "the history has lost it, so the next prompt tells it"
    assert prompted["mark"] == mark
    assert say(project, "model", session="ses_2") == {}


def test_an_agent_that_stops_is_sent_on_and_then_let_go(project: Project) -> None:
    project.write(".handrail/settings.yaml", "idleStops: 1\n")
    begin(project)
    assert "is not done yet" in say(project, "stop", wasAborted=False)["prompt"]
    assert "lets the agent stop" in say(project, "stop", wasAborted=False)["notice"]


def test_an_interrupted_agent_is_not_sent_on(project: Project) -> None:
    begin(project)
    assert say(project, "stop", wasAborted=True) == {}
    assert "prompt" in say(project, "stop", wasAborted=False)


def place(project: Project) -> dict[str, Any]:
    """Where the plugin finds the start of the workflow in the history."""
    return {"session": f"opencode-{ROOT}", "project": str(project.folder), "number": 1, "status": "active"}


@pytest.mark.whole
def test_a_fork_gets_a_workflow_of_its_own(project: Project) -> None:
    begin(project)
    assert say(project, "branch", session="ses_2", at=place(project)) == {}
    assert "deny" in say(project, "tool", session="ses_2", tool="edit", args={}, isSubagent=False)
    say(project, "command", name="cancel", arguments="")
    assert "deny" in say(project, "tool", session="ses_2", tool="edit", args={}, isSubagent=False)
    assert call(project, "edit") == {"allow": True}


def test_a_fork_of_a_damaged_conversation_fails(project: Project) -> None:
    begin(project)
    next((project.home / "state" / "sessions").glob(f"*/opencode-{ROOT}/journal")).write_text("{")
    assert "could not handle" in say(project, "branch", session="ses_2", at=place(project))["failed"]


def test_the_caller_of_our_tool_is_told_beside_the_arguments() -> None:
    meta = {"handrail": {"session": ROOT, "isSubagent": True, "call": "call_1", "cwd": "/p"}}
    told = {"conversation": ROOT, "is_subagent": True, "call": "call_1", "cwd": "/p"}
    assert host.step_caller({"session": "ses_other"}, meta) == told
    assert host.step_caller({"session": "ses_other"}, {})["conversation"] == ""


def test_a_message_of_an_unknown_type_is_ignored(project: Project) -> None:
    assert say(project, "yawn") == {}


def test_every_listed_tool_has_a_name_in_lists() -> None:
    now, former = Registry().tool_names("opencode")
    assert {"read", "write", "edit", "bash", "search", "fetch", "agent"} <= now
    assert "ls" in former


def test_the_plugin_contains_the_commands_and_the_tool(project: Project) -> None:
    project.json("install", "opencode", "--project")
    text = (project.folder / ".handrail" / "opencode" / "handrail.js").read_text(encoding="utf-8")
    values = json.JSONDecoder().raw_decode(text, text.index("const STUBS = ") + len("const STUBS = "))[0]
    assert values["tool"]["name"] == "workflow_step"
    assert values["commands"].keys() == {"workflow", "cancel-workflow"}
    assert values["command"][-4:] == ["serve", "--stdio", "--agent", "opencode"]
    assert values["env"] == {"HANDRAIL_STATE": str(project.home / "state")}
