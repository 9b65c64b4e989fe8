"""Our plugin for OpenCode in Node, with a small program that plays OpenCode: every failure of Handrail behind it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.base.processes import descendants
from real.hosts import NODE, surroundings
from real.waiting import LONG, until

PLAYER = Path(__file__).parent / "opencode_plugin.mjs"
HANDRAIL = str(Path(sys.executable).parent / "handrail")
ROOT, SUB = "ses_root", "ses_sub"
PYTHONS = {
    "fails": "exit 1",
    "is killed": "kill -9 $$",
    "prints garbage": "echo 'It is fine, I think.'; exec sleep 60",
    "answers nonsense": (
        'while read -r line; do n=$((n + 1)); echo "{\\"id\\":$n,\\"result\\":{\\"reply\\":{\\"allow\\":1}}}"; done'
    ),
    "prints nothing": "exit 0",
    "is missing": None,
}


class Played:
    """A home with Handrail installed, a project with a workflow, and the plugin in Node."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.env = surroundings(self.home)
        self.file = self.home / ".config" / "opencode" / "handrail" / "handrail.js"
        self.state = self.home / ".local" / "state" / "handrail"
        phases = self.project / ".handrail" / "workflows" / "w"
        for made in (self.home, phases):
            made.mkdir(parents=True)
        head = 'name: W\ncommandName: w\ninitialMessage: "Begin."\nphases: [look.md, build.md]\n'
        (phases / "workflow.yaml").write_text(head)
        (phases / "look.md").write_text("---\nid: look\nname: Look\nemoji: •\ntools:\n  blacklist: [edit]\n---\nLOOK\n")
        (phases / "build.md").write_text("---\nid: build\nname: Build\nemoji: •\n---\nBUILD\n")
        self.handrail("install", "opencode")
        self.process: subprocess.Popen[str] | None = None
        self.happened: list[dict[str, Any]] = []

    def handrail(self, *argv: str) -> None:
        subprocess.run([HANDRAIL, *argv], cwd=self.project, env=self.env, check=True, timeout=LONG, capture_output=True)

    def load(self) -> None:
        argv = [str(NODE / "node"), str(PLAYER), str(self.file), str(self.project)]
        self.process = subprocess.Popen(
            argv, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.call(None, sessions={ROOT: {"id": ROOT}, SUB: {"id": SUB, "parentID": ROOT}})

    def close(self) -> None:
        if self.process is not None:
            self.process.communicate(timeout=LONG)

    def call(self, hook: str | None, **more: Any) -> dict[str, Any]:
        """Call a hook and wait for its end. What the plugin did meanwhile is in `happened`."""
        if self.process is None:
            self.load()
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"hook": hook, **more}) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            said = json.loads(line)
            if said.get("done"):
                assert isinstance(said, dict)
                return said
            self.happened.append(said)
        raise AssertionError("the plugin ended the program")

    def tool(self, name: str, session: str = ROOT, **args: Any) -> str | None:
        """Why a call is denied; None if it is not."""
        given = {"tool": name, "sessionID": session, "callID": "call_1"}
        thrown = self.call("tool.execute.before", input=given, output={"args": args}).get("thrown")
        return None if thrown is None else str(thrown)

    def type(self, command: str, arguments: str = "") -> dict[str, Any]:
        given = {"command": command, "sessionID": ROOT, "arguments": arguments}
        output = {"parts": [{"type": "text", "text": "the template"}]}
        return self.call("command.execute.before", input=given, output=output)

    def step(self, action: str, session: str = ROOT) -> dict[str, Any]:
        return self.call("step", input={"action": action}, context={"sessionID": session, "callID": "call_2"})

    def idle(self, **info: Any) -> None:
        last = {"info": {"id": f"msg_{len(self.happened)}", "role": "assistant", "finish": "stop", **info}, "parts": []}
        self.call(None, messages={ROOT: [last]})
        self.call("event", input={"event": {"type": "session.idle", "properties": {"sessionID": ROOT}}})

    def children(self) -> list[int]:
        assert self.process is not None
        return sorted(descendants({self.process.pid}) - {self.process.pid})

    def break_python(self, body: str | None) -> None:
        """Replace the interpreter in the plugin by a script with this body; None names a missing program."""
        fake = self.home / "fake-python"
        if body is not None:
            fake.write_text(f"#!/bin/sh\n{body}\n")
            fake.chmod(0o755)
        text = self.file.read_text()
        assert sys.executable in text
        self.file.write_text(text.replace(sys.executable, str(fake)))


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    found = Played(tmp_path)
    yield found
    found.close()


def begin(played: Played) -> None:
    said = played.type("workflow", "w make tea")
    typed, told = said["output"]["parts"]
    assert typed["text"] == "/workflow w make tea"
    assert "LOOK" in told["text"]
    assert played.tool("edit") is not None
    assert played.happened.pop()["title"].endswith("make tea · W > • Look [1/2]")
    assert played.happened.pop() == {"shown": "W > • Look [1/2]"}


def test_a_workflow_from_its_start_to_its_end(played: Played) -> None:
    begin(played)
    assert "BUILD" in played.step("next")["result"]["output"]
    shown, titled = played.happened[-2:]
    assert "Build" in shown["shown"]
    assert titled["title"].endswith("make tea · W > • Build [2/2]")
    assert played.tool("edit") is None
    assert "DONE" in played.step("next")["result"]["output"]
    assert played.happened[-1]["title"].endswith("make tea")
    played.idle()
    assert not list((played.state / "hosts" / "opencode").iterdir())
    assert "shown" in played.happened[-1]


def test_without_a_workflow_no_process_is_started(played: Played) -> None:
    assert played.tool("edit") is None
    said = played.call("chat.message", input={"sessionID": ROOT}, output={"message": {"id": "msg_1"}, "parts": []})
    assert said["output"]["parts"] == []
    played.idle()
    assert (played.children(), played.happened) == ([], [])


@pytest.mark.parametrize("name", PYTHONS)
def test_a_process_that_fails_denies_and_a_person_can_cancel(played: Played, name: str) -> None:
    begin(played)
    played.close()
    played.break_python(PYTHONS[name])
    played.load()
    reason = played.tool("read")
    assert reason is not None
    assert "handrail cancel --yes --session opencode-ses_root" in reason
    assert played.tool("read", SUB) is not None
    assert played.step("next").get("thrown")
    played.handrail("cancel", "--yes", "--session", "opencode-ses_root")
    assert played.tool("read") is None


def test_a_process_that_never_answers_denies(played: Played) -> None:
    begin(played)
    played.close()
    played.break_python("exec sleep 600")
    played.load()
    reason = played.tool("read")
    assert reason is not None
    assert "did not answer within 10 seconds" in reason


@pytest.mark.parametrize("name", ["fails", "is missing"])
def test_a_process_that_fails_does_nothing_without_a_workflow(played: Played, name: str) -> None:
    played.break_python(PYTHONS[name])
    assert played.tool("edit") is None
    played.idle()
    assert played.happened == []
    assert "thrown" in played.type("workflow", "w make tea"), "the model is not told that a workflow began"
    assert "handrail install opencode" in played.happened[-1]["shown"]
    assert not (played.state / "hosts" / "opencode").exists()


def test_a_killed_process_is_started_again(played: Played) -> None:
    begin(played)
    (child,) = played.children()
    os.kill(child, signal.SIGKILL)
    until(lambda: child not in played.children(), "its end")
    reason = played.tool("edit")
    assert reason is not None
    assert "is not allowed in the phase Look" in reason


def test_no_process_is_started_after_the_end(played: Played) -> None:
    begin(played)
    played.call("dispose")
    until(lambda: not played.children(), "its end")
    reason = played.tool("read")
    assert reason is not None
    assert "has ended" in reason
    assert played.children() == []


def test_everything_is_free_if_the_plugin_was_uninstalled(played: Played) -> None:
    begin(played)
    played.handrail("uninstall", "opencode")
    assert played.tool("edit") is None
    assert "uninstalled" in played.step("next")["result"]
    assert "thrown" in played.type("workflow", "w make tea")
    played.idle()
    assert played.happened == []


def test_links_that_cannot_be_read_deny(played: Played) -> None:
    begin(played)
    link = played.state / "hosts" / "opencode" / ROOT
    link.write_text("{")
    assert played.tool("read") is not None
    link.unlink()
    link.symlink_to("nowhere")
    assert played.tool("read") is not None


def test_a_session_that_opencode_does_not_know_is_denied_only_while_a_workflow_is_active(played: Played) -> None:
    assert played.tool("read", "ses_unknown") is None
    begin(played)
    assert played.tool("read", "ses_unknown") is not None


def test_a_subagent_is_gated_and_cannot_move_the_workflow(played: Played) -> None:
    begin(played)
    assert played.tool("edit", SUB) is not None
    assert played.tool("read", SUB) is None
    assert "main conversation" in str(played.tool("workflow_step", SUB, action="next"))
    assert "main conversation" in played.step("next", SUB)["result"]["output"]
    assert "Look" in played.step("status", SUB)["result"]["output"]


def test_a_server_with_the_name_of_our_tool_is_gated(played: Played) -> None:
    """OpenCode joins the names of a server and its tool: `workflow` and `step` would be ours."""
    begin(played)
    assert played.tool("workflow_step", action="status") is None
    played.call("config", input={"mcp": {"workflow": {"type": "local"}}})
    look = played.project / ".handrail" / "workflows" / "w" / "look.md"
    look.write_text(look.read_text().replace("blacklist: [edit]", "whitelist: [read]"))
    played.type("cancel-workflow")
    played.type("workflow", "w make tea")
    assert "mcp:workflow/step is not allowed" in str(played.tool("workflow_step", action="next"))


def test_a_person_keeps_commands_with_our_names(played: Played) -> None:
    own = {"template": "mine"}
    said = played.call("config", input={"command": {"workflow": own}})
    assert said["config"]["command"]["workflow"] == own
    assert said["config"]["command"].keys() == {"workflow", "cancel-workflow"}


def test_the_agent_is_sent_on_but_never_after_an_interrupt_or_an_error(played: Played) -> None:
    begin(played)
    for info in ({"error": {"name": "MessageAbortedError"}}, {"error": {"name": "APIError"}}, {"finish": "tool-calls"}):
        played.idle(id=str(info), **info)
    played.idle(id="msg_s", summary=True)
    assert played.happened == []
    played.idle(id="msg_a")
    played.idle(id="msg_a")
    (prompted,) = played.happened
    assert prompted["prompted"] == ROOT
    assert "is not done yet" in prompted["parts"][0]["text"]
    given = {"message": {"id": "msg_b"}, "parts": prompted["parts"]}
    said = played.call("chat.message", input={"sessionID": ROOT}, output=given)
    assert len(said["output"]["parts"]) == 1, "a reminder needs no context"


def test_the_phase_is_shown_again_only_if_the_history_has_lost_it(played: Played) -> None:
    opening = played.type("workflow", "w make tea")["output"]["parts"]

    def parts(*history: dict[str, Any]) -> int:
        user = {"info": {"role": "user", "id": "msg_1", "sessionID": ROOT}, "parts": list(history)}
        said = played.call("experimental.chat.messages.transform", output={"messages": [user]})
        return len(said["output"]["messages"][0]["parts"])

    assert parts(*opening) == 2
    assert parts() == 1
    stored = played.step("next")["result"]["metadata"]
    assert parts(*opening) == 3
    state = {"status": "completed", "metadata": stored}
    assert parts(*opening, {"type": "tool", "tool": "workflow_step", "state": state}) == 3
    pruned = {"type": "tool", "tool": "workflow_step", "state": {**state, "time": {"compacted": 1}}}
    assert parts(*opening, pruned) == 4


def test_a_fork_gets_a_workflow_of_its_own(played: Played) -> None:
    opening = played.type("workflow", "w make tea")["output"]["parts"]
    copied = [{"info": {"id": "msg_1", "role": "user"}, "parts": opening}]
    played.call(None, sessions={"ses_fork": {"id": "ses_fork"}}, messages={"ses_fork": copied})
    assert "is not allowed in the phase Look" in str(played.tool("edit", "ses_fork"))
    played.type("cancel-workflow")
    assert played.tool("edit") is None
    assert played.tool("edit", "ses_fork") is not None


UNDONE = {"event": {"type": "session.updated", "properties": {"info": {"id": ROOT, "revert": {"messageID": "msg_2"}}}}}


def undo(played: Played, *parts: dict[str, Any]) -> dict[str, Any]:
    """A person takes a prompt back and writes another one. `parts` are what is left of ours in the history."""
    played.call(None, sessions={ROOT: {"id": ROOT, "revert": {"messageID": "msg_2"}}})
    played.call("event", input=UNDONE)
    left = [{"info": {"id": "msg_1", "role": "user"}, "parts": list(parts)}]
    played.call(None, sessions={ROOT: {"id": ROOT}}, messages={ROOT: left})
    return played.call("chat.message", input={"sessionID": ROOT}, output={"message": {"id": "msg_3"}, "parts": []})


def test_undo_goes_back_to_the_phase_that_the_history_has(played: Played) -> None:
    opening = played.type("workflow", "w make tea")["output"]["parts"]
    assert "BUILD" in played.step("next")["result"]["output"]
    assert played.tool("edit") is None
    said = undo(played, *opening)
    assert "LOOK" in said["output"]["parts"][0]["text"]
    assert played.tool("edit") is not None


def test_undo_of_the_end_makes_the_workflow_active_again(played: Played) -> None:
    opening = played.type("workflow", "w make tea")["output"]["parts"]
    played.step("next")
    played.step("next")
    assert played.tool("edit") is None
    undo(played, *opening)
    assert played.tool("edit") is not None


def test_undo_of_the_start_ends_the_workflow(played: Played) -> None:
    begin(played)
    assert undo(played)["output"]["parts"] == []
    assert played.tool("edit") is None


def test_nothing_changes_while_an_undo_can_be_taken_back(played: Played) -> None:
    begin(played)
    played.step("next")
    played.call(None, sessions={ROOT: {"id": ROOT, "revert": {"messageID": "msg_2"}}})
    played.call("event", input=UNDONE)
    assert played.tool("edit") is None


def test_a_failing_undo_denies_until_a_person_cancels(played: Played) -> None:
    opening = played.type("workflow", "w make tea")["output"]["parts"]
    played.step("next")
    played.step("next")
    played.idle()
    played.close()
    played.break_python("exit 1")
    played.load()
    undo(played, *opening)
    assert "gate failed" in str(played.tool("read"))
    played.type("cancel-workflow")
    assert played.tool("read") is None


def test_a_fork_is_denied_while_its_parent_cannot_be_found(played: Played) -> None:
    opening = played.type("workflow", "w make tea")["output"]["parts"]
    copied = [{"info": {"id": "msg_1", "role": "user"}, "parts": opening}]
    played.close()
    played.break_python("exit 1")
    played.load()
    played.call(None, sessions={"ses_fork": {"id": "ses_fork"}}, messages={"ses_fork": copied})
    assert played.tool("read", "ses_fork") is not None
    played.call(None, sessions={"ses_new": {"id": "ses_new"}})
    assert played.tool("read", "ses_new") is None, "another conversation is not disturbed"
