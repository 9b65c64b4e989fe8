"""The messages of our extension for pi as requests, and Handrail's answers for it."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.agents.pi import host

BASE = {"conversation": "C", "cwd": "/p"}
EMPTY: dict[str, Any] = {"transcript": None, **BASE}


def request(event: str, **more: Any) -> Any:
    return host.request({**BASE, "event": event, **more})


def test_a_tool_call_says_what_it_does() -> None:
    asked = request("tool_call", tool="write", input={"path": "a", "content": ""}, isSubagent=False, isOwn=False)
    call = {"runs": None, "reads": (), "writes": ("/p/a",)}
    more = {"tool": "write", "aliases": (), "call": call, "is_harmless": False, "is_subagent": False}
    assert asked == {**EMPTY, "event": "tool", "message": "", **more}


@pytest.mark.parametrize(
    ("tool", "given", "call"),
    [
        ("edit", {"path": "/x/a", "edits": []}, {"runs": None, "reads": (), "writes": ("/x/a",)}),
        ("write", {"path": "@a"}, {"runs": None, "reads": (), "writes": ("/p/a",)}),
        ("edit", {"file_path": "a"}, {"runs": None, "reads": (), "writes": ("/p/a",)}),
        ("read", {"path": "a", "limit": 3}, {"runs": None, "reads": ("/p/a",), "writes": ()}),
        ("ls", {}, {"runs": None, "reads": (), "writes": ()}),
        ("bash", {"command": "make", "timeout": 3}, {"runs": "make", "reads": (), "writes": ()}),
        ("powershell", {"command": "dir"}, {"runs": "dir", "reads": (), "writes": ()}),
        ("bash", {"command": 7}, {"runs": None, "reads": (), "writes": ()}),
        ("write", {"path": 7}, {"runs": None, "reads": (), "writes": ()}),
        ("other", {"path": "a", "command": "b"}, {"runs": None, "reads": (), "writes": ()}),
    ],
)
def test_the_arguments_of_a_call_show_what_it_runs_reads_and_writes(
    tool: str, given: dict[str, Any], call: dict[str, Any]
) -> None:
    assert host.arguments(tool, given, "/p") == call


def test_a_path_in_the_home_is_the_same_for_pi_and_handrail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    assert host.arguments("write", {"path": "~/.pi/agent/settings.json"}, "/p")["writes"] == (
        "/h/.pi/agent/settings.json",
    )


@pytest.mark.parametrize(
    ("tool", "names"),
    [
        ("read", ()),
        ("grep", ("search",)),
        ("find", ("search",)),
        ("ls", ("search",)),
        ("powershell", ("bash",)),
        ("subagent", ("agent", "task", "delegate_to_subagents")),
        ("mcp__notes__add", ("mcp:notes/add",)),
        ("mcp__notes__add__more", ("mcp:notes/add__more",)),
        ("something", ()),
    ],
)
def test_tools_have_handrails_names(tool: str, names: tuple[str, ...]) -> None:
    assert host.aliases(tool) == names


def test_only_our_own_workflow_step_is_one() -> None:
    own = request("tool_call", tool="workflow_step", input={"action": "next"}, isOwn=True, isSubagent=True)
    assert (own["event"], own["action"], own["is_subagent"]) == ("step", "next", True)
    other = request("tool_call", tool="workflow_step", input={"action": "next"}, isOwn=False)
    assert (other["event"], other["tool"]) == ("tool", "workflow_step of another extension")


@pytest.mark.parametrize(
    ("reason", "was_aborted"), [("stop", False), ("length", False), ("aborted", True), ("error", True)]
)
def test_interrupts_and_errors_are_not_continued(reason: str, was_aborted: bool) -> None:
    asked = request("agent_end", stopReason=reason)
    assert (asked["event"], asked["was_aborted"]) == ("stop", was_aborted)


def test_commands_and_names() -> None:
    start = request("command", name="workflow", arguments="w tea")
    assert (start["event"], start["name"], start["arguments"]) == ("command", "start", "w tea")
    assert request("command", name="cancel-workflow")["name"] == "cancel"
    assert request("names")["event"] == "names"
    assert request("context", told=["a b"])["told"] == ("a b",)
    assert request("unheard") is None


def test_a_branch_has_a_place_of_ours_or_a_state_of_pi_workflows() -> None:
    place = {"session": "pi-C", "project": "/p", "number": 3, "status": "active"}
    assert request("branch", at=place, states=[])["at"] == {"session": "pi-C", "project": "/p", "number": 3}
    assert request("branch", at=None, states=[]) == {**EMPTY, "event": "branch", "at": None, "foreign": None}
    data = {"workflowKey": "w", "active": True, "currentPhaseIndex": 1, "startedAt": 5000, "taskDescription": "tea"}
    found = request("branch", at=None, states=[{"type": "custom", "customType": "workflow:state", "data": data}])
    assert found["foreign"]["path"] == (("w", 1),)
    assert (found["foreign"]["status"], found["foreign"]["started"]) == ("active", 5.0)
    data["startedAt"] = "never"
    damaged = request("branch", at=None, states=[{"type": "custom", "customType": "workflow:state", "data": data}])
    assert damaged["foreign"] is None
    assert "is damaged" in damaged["unread"]


def test_the_answers_are_in_the_extensions_words() -> None:
    asked = request("names")
    verdict: Any = {"kind": "verdict", "allow": False, "reason": "no", "tool": "write", "rule": "blacklist"}
    assert host.reply({}, asked, verdict) == {"allow": False, "reason": "no"}
    held: Any = {"kind": "held", "text": "busy", "again": "--replace w tea"}
    assert host.reply({}, asked, held) == {"held": "busy", "again": "--replace w tea"}
    stop: Any = {"kind": "stop", "send_on": "go on", "let_go": None, "farewell": None}
    assert host.reply({}, asked, stop) == {"sendOn": "go on", "letGo": None, "farewell": None}
    names: Any = {"kind": "names", "names": {"w": "W"}}
    assert host.reply({}, asked, names) == {"names": {"w": "W"}}
    notice: Any = {"kind": "notice", "text": "it failed"}
    assert host.reply({}, asked, notice) == {"notice": "it failed"}
    assert host.reply({}, request("branch", at=None), notice) == {"failed": "it failed"}


def test_the_model_cannot_say_who_calls_workflow_step() -> None:
    meta = {"conversation": "C", "isSubagent": True, "call": "call_1", "cwd": "/p"}
    forged = {"action": "next", "conversation": "other", "isSubagent": False}
    caller = {"conversation": "C", "is_subagent": True, "call": "call_1", "cwd": "/p"}
    assert host.step_caller(forged, meta) == caller


def test_everything_that_decides_whether_the_extension_runs_is_protected() -> None:
    found = host.protected({"PI_CODING_AGENT_DIR": "/a"}, "/h", "/p")
    assert {"/a/settings.json", "/a/extensions", "/a/sessions", "/p/.pi/settings.json", "/p/.pi/extensions"} <= set(
        found
    )
    assert "/h/.pi/agent/extensions" in host.protected({}, "/h", "/p")
    assert "/s" in host.protected({"PI_CODING_AGENT_SESSION_DIR": "/s"}, "/h", "/p")
