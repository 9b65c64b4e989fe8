"""A conversation whose history is a tree: its session follows the branch. Through the process of pi's extension."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from conformance import corpus
from conformance.test_reconstruct import has_whole_indexes
from support import Project

HANDRAIL_SERVE = ("serve", "--stdio", "--agent", "pi")


class Extension:
    """What pi's extension does, without pi: it asks, and stores new places in a branch of its own."""

    def __init__(self, project: Project) -> None:
        from agents.calls.test_serving import HANDRAIL

        argv = [HANDRAIL, *HANDRAIL_SERVE]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.project = project
        self.branch: list[dict[str, Any]] = []
        self.number = 0

    def ask(self, method: str, **params: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        result = said["result"]
        standing = result.get("standing")
        if standing and standing["is_new"]:
            self.branch.append({name: standing[name] for name in ("session", "project", "number", "status")})
        return result

    def hook(self, event: str, conversation: str = "C", **more: Any) -> Any:
        base = {"event": event, "conversation": conversation, "cwd": str(self.project.folder)}
        return self.ask("hook", **base, **more)["reply"]

    def go_to(self, at: dict[str, Any] | None, conversation: str = "C", states: Any = ()) -> Any:
        return self.hook("branch", conversation, at=at, states=list(states))

    def step(self, action: str, conversation: str = "C") -> str:
        meta = {"conversation": conversation}
        result = self.ask("tools/call", name="workflow_step", arguments={"action": action}, _meta=meta)
        return str(result["content"][0]["text"])

    def write(self, conversation: str = "C") -> bool:
        return bool(self.hook("tool_call", conversation, tool="write", input={"path": "a"})["allow"])


@pytest.fixture
def extension(project: Project) -> Iterator[Extension]:
    project.workflow("w", ["look", "build", "ship"])
    project.phase("w", "look", "tools:\n  blacklist: [write]\n")
    made = Extension(project)
    yield made
    made.process.communicate()
    assert made.process.returncode == 0


@pytest.fixture
def walked(extension: Extension) -> Extension:
    """In the second phase, with a place on the branch for each of the two."""
    assert extension.hook("command", name="workflow", arguments="w tea")["opening"] == "begin Look"
    assert "Do build." in extension.step("next")
    assert [place["number"] for place in extension.branch] == [1, 2]
    return extension


def test_the_session_follows_the_branch_back_and_forward(walked: Extension) -> None:
    first, second = walked.branch
    assert walked.write()
    walked.go_to(first)
    assert not walked.write()
    walked.go_to(second)
    assert walked.write()
    assert walked.branch == [first, second], "going to a stored place stores nothing"


def test_before_the_start_no_workflow_is_active(walked: Extension) -> None:
    first, _ = walked.branch
    walked.go_to(None)
    assert walked.project.run("sessions", "--json").data["sessions"][0]["status"] == "none"
    assert "No workflow is active" in walked.step("next")
    walked.go_to(first)
    assert not walked.write()


def test_a_move_in_a_terminal_is_not_undone_by_opening_the_conversation(walked: Extension) -> None:
    _, second = walked.branch
    assert walked.project.run("next", "--session", "pi-C").code == 0
    walked.go_to(second)
    assert "Do ship." in walked.step("status")


def test_the_end_is_told_once_and_can_be_left_again(walked: Extension) -> None:
    first = walked.branch[0]
    walked.step("next")
    walked.step("next")
    last = walked.branch[-1]
    assert walked.hook("agent_end", stopReason="stop")["farewell"]
    walked.go_to(first)
    assert not walked.write()
    walked.go_to(last)
    assert walked.write()
    assert walked.hook("agent_end", stopReason="stop")["farewell"] is None


def test_a_fork_continues_at_its_place_and_leaves_its_parent(walked: Extension) -> None:
    first, _ = walked.branch
    walked.go_to(first, "FORK")
    assert walked.branch[-1]["session"] == "pi-FORK"
    assert not walked.write("FORK")
    assert walked.write("C")
    assert "Do build." in walked.step("next", "FORK")


def test_a_fork_of_a_session_that_is_not_here_has_no_workflow(walked: Extension) -> None:
    said = walked.go_to({**walked.branch[0], "session": "pi-elsewhere"}, "FORK")
    assert "Handrail has no such session" in said["notice"]
    assert walked.write("FORK")


def test_a_fork_of_a_damaged_session_stays_closed(walked: Extension) -> None:
    folder = next((walked.project.home / "state" / "sessions").glob("*/pi-C"))
    for plan in folder.glob("plan-*"):
        plan.write_text("x")
    (folder / "card").unlink()
    walked.go_to(walked.branch[0], "FORK")
    assert not walked.write("FORK")


def test_a_place_that_never_was_changes_nothing(walked: Extension) -> None:
    said = walked.go_to({**walked.branch[0], "number": 99})
    assert "records, not 99" in said["failed"]
    assert "Do build." in walked.step("status")


def test_what_the_model_knows_is_not_said_again(walked: Extension) -> None:
    mark = walked.ask("hook", event="agent_end", conversation="C", cwd="/", stopReason="aborted")["standing"]["mark"]
    assert "Do build." in walked.hook("context", told=[])["text"]
    assert walked.hook("context", told=["another", mark])["text"] is None


def test_only_workflows_that_can_be_started_are_offered(walked: Extension) -> None:
    walked.project.workflow("hidden", ["look"], head="show: workflows\n")
    walked.project.workflow("mine", ["look"], root=".pi/workflows")
    names = walked.hook("names")["names"]
    assert {"w", "mine"} <= set(names)
    assert "hidden" not in names


def test_a_second_start_asks_and_replaces(walked: Extension) -> None:
    held = walked.hook("command", name="workflow", arguments="w coffee")
    assert held["again"] == "--replace w coffee"
    assert walked.hook("command", name="workflow", arguments=held["again"])["opening"]
    assert "coffee" in walked.step("status")


def state(**more: Any) -> dict[str, Any]:
    """A state as pi-workflows stores it."""
    path = [{"workflowKey": "w", "phaseIndex": 1}]
    data = {"active": True, "workflowKey": "w", "currentPath": path, "globalStepCount": 4, "startedAt": 5}
    about = {"taskId": "wf-5-abc", "taskDescription": "d", "completionNotified": False, "cancelled": False}
    return {"type": "custom", "customType": "workflow:state", "data": {**data, **about, **more}}


def test_a_workflow_of_pi_workflows_continues_at_its_phase(extension: Extension) -> None:
    said = extension.go_to(None, states=[state()])
    assert said["notice"] == "Handrail continues the workflow that pi-workflows began: d"
    assert "Do build." in extension.step("status")
    assert "wf-5-abc" in extension.step("status")
    assert [place["number"] for place in extension.branch] == [1]
    assert "Do ship." in extension.step("next")


def test_a_workflow_that_is_not_there_any_more_is_left(extension: Extension) -> None:
    shutil.rmtree(extension.project.folder / ".handrail" / "workflows" / "w")
    assert "there is no workflow `w`" in extension.go_to(None, states=[state()])["notice"]
    assert extension.write()


@pytest.mark.parametrize("more", [{"active": False}, {"active": False, "cancelled": True}])
def test_a_workflow_that_ended_is_left(extension: Extension, more: dict[str, Any]) -> None:
    assert extension.go_to(None, states=[state(**more)])["notice"] is None
    assert extension.branch == []


@corpus.every("reconstruct")
def test_every_stored_session_goes_through_the_product(extension: Extension, case: corpus.Case) -> None:
    """The branch of each case, as pi's extension reads it; `w` has enough phases for every index."""
    extension.project.workflow("w", [f"p{n}" for n in range(12)])
    states = [e for e in case["branch"] if isinstance(e, dict) and e.get("customType") == "workflow:state"]
    said = extension.go_to(None, states=states)
    expected = case["expect"]
    is_valid = expected is not None and has_whole_indexes(expected)
    path = [(s["workflowKey"], s["phaseIndex"]) for s in expected["currentPath"]] if is_valid else []
    if is_valid and expected["active"] and expected["workflowKey"] == "w" and len(path) == 1 and path[0][0] == "w":
        session = extension.project.run("sessions", "--json").data["sessions"][0]
        assert session["phase"]["id"] == f"p{path[0][1]}"
        assert session["steps"] == expected["globalStepCount"]
        assert session["task"] == (expected.get("taskDescription") or "")
    else:
        assert extension.branch == []
        if not is_valid and any((e.get("data") or {}).get("workflowKey") is not None for e in states if e.get("data")):
            assert "is damaged" in said["notice"]


def test_a_fork_whose_workflow_has_ended_does_not_begin_again(walked: Extension) -> None:
    """The plugin could store no place of its own in this history before its workflow was cancelled."""
    start = {"at": walked.branch[0], "states": [], "keeps": False}
    walked.hook("branch", "D", **start)
    assert not walked.write("D")
    walked.hook("command", "D", name="cancel-workflow", arguments="", keeps=False)
    walked.hook("branch", "D", **start)
    assert walked.write("D")


def test_a_place_that_the_plugin_cannot_store_is_not_taken_for_stored(walked: Extension) -> None:
    """Else the session would go back to an older place, and a move in a terminal would be lost."""
    session = walked.branch[-1]["session"]
    walked.project.json("next", "--session", session)
    base = {"event": "agent_end", "conversation": "C", "cwd": str(walked.project.folder), "stopReason": "stop"}
    assert "standing" not in walked.ask("hook", **base, keeps=False)
    walked.go_to(walked.branch[-1])
    assert "Ship" in walked.step("status")
