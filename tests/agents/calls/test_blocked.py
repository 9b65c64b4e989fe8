"""An agent that cannot go on, in each of the six: it may stop, and gets the answer of a person."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from guided.sessions.definitions import phase, plan, workflow
from handrail.agents.calls.hook import respond
from handrail.agents.calls.servers import HookServer
from handrail.app import App
from handrail.extensions.registry import Registry
from handrail.guided.sessions.decisions import decide
from handrail.guided.sessions.machine import Cancel, State
from handrail.guided.sessions.sessions import Conversation
from support import Project

HOOKED = {"hook_event_name": "PreToolUse", "session_id": "C", "tool_use_id": "t1"}
OURS = {
    "server_name": "handrail",
    "command": sys.executable,
    "args": ["-I", "-m", "handrail", "mcp", "--agent", "gemini"],
}


class Messages(NamedTuple):
    """What an agent's program sends: before `workflow_step`, at the end of a turn, with a prompt; and beside a call."""

    step: dict[str, Any] | None
    stop: dict[str, Any]
    prompt: dict[str, Any]
    meta: dict[str, Any]


SENT: Mapping[str, Messages] = {
    "claude": Messages(
        {**HOOKED, "tool_name": "mcp__plugin_handrail_handrail__workflow_step"},
        {"hook_event_name": "Stop", "session_id": "C"},
        {"hook_event_name": "UserPromptSubmit", "session_id": "C", "prompt": "in the drawer"},
        {},
    ),
    "codex": Messages(
        {**HOOKED, "tool_name": "mcp__handrail__workflow_step"},
        {"hook_event_name": "Stop", "session_id": "C"},
        {"hook_event_name": "UserPromptSubmit", "session_id": "C", "prompt": "in the drawer", "turn_id": "2"},
        {"sessionId": "C", "threadId": "C", "callId": "t1"},
    ),
    "gemini": Messages(
        {**HOOKED, "hook_event_name": "BeforeTool", "tool_name": "mcp_handrail_workflow_step", "mcp_context": OURS},
        {"hook_event_name": "AfterAgent", "session_id": "C"},
        {"hook_event_name": "BeforeAgent", "session_id": "C", "prompt": "in the drawer"},
        {},
    ),
    "copilot": Messages(
        {"sessionId": "C", "timestamp": 1, "toolName": "handrail-copilot-workflow_step"},
        {"sessionId": "C", "timestamp": 2, "stopReason": "end_turn"},
        {"sessionId": "C", "timestamp": 3, "prompt": "in the drawer"},
        {},
    ),
    "opencode": Messages(
        {"type": "tool", "session": "C", "tool": "workflow_step", "isSubagent": False, "isOwn": True, "call": "t1"},
        {"type": "stop", "session": "C"},
        {"type": "prompt", "session": "C", "turn": "m2"},
        {"handrail": {"session": "C", "call": "t1"}},
    ),
    "pi": Messages(
        None,
        {"event": "agent_end", "conversation": "C", "stopReason": "stop"},
        {"event": "input", "conversation": "C"},
        {"conversation": "C", "call": "t1"},
    ),
}
NAMES = sorted(SENT)
ARGUMENTS = {"copilot": "toolArgs", "opencode": "args"}


class Host:
    """An agent's program in which a workflow is active."""

    def __init__(self, name: str, project: Project, head: str = "") -> None:
        self.name, self.project, self.sent = name, project, SENT[name]
        project.workflow("w", ["look", "build"], head)
        self.app = App(str(project.folder), os.environ, by="person")
        self.app.start("w", "make tea", conversation=Conversation(name, "C"))

    def tell(self, message: Mapping[str, Any]) -> dict[str, Any]:
        host = Registry().host(self.name)
        data = {**message, "cwd": str(self.project.folder)}
        request = host.request(data)
        assert request is not None
        return dict(respond(host, self.name, data, request, os.environ) or {})

    def step(self, **arguments: str) -> tuple[str, bool]:
        """The result of `workflow_step`, and whether it failed. What the hook writes over the arguments is sent."""
        if self.sent.step is not None:
            said = self.tell({**self.sent.step, ARGUMENTS.get(self.name, "tool_input"): arguments})
            assert "deny" not in json.dumps(said)
            output = said.get("hookSpecificOutput", said)
            updated = (output.get(key) for key in ("updatedInput", "tool_input", "modifiedArgs"))
            arguments = next(filter(None, updated), arguments)
        answers: list[dict[str, Any]] = []
        server = HookServer(self.name, Registry(), os.environ, answers.append)
        params = {"name": "workflow_step", "arguments": arguments, "_meta": {**self.sent.meta, "cwd": "/"}}
        server.take(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        server.close()
        (answer,) = answers
        return answer["result"]["content"][0]["text"], answer["result"]["isError"]

    def state(self) -> Any:
        return self.app.sessions.status(f"{self.name}-C").state


def test_every_agent_is_here() -> None:
    assert sorted(Registry().installable()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_blocked_agent_may_stop_and_its_person_answers_with_a_prompt(name: str, project: Project) -> None:
    host = Host(name, project)
    text, failed = host.step(action="blocked", reason="there is no key", question="Where is the key?")
    assert not failed
    assert "A person is asked this: Where is the key?" in text
    state = host.state()
    assert (state.status, state.reason, state.question) == ("waiting", "there is no key", "Where is the key?")
    said = json.dumps(host.tell(host.sent.stop))
    assert "Continue with what this phase asks" not in said, "it is not sent on"
    if name != "copilot":  # no hook of it can show a notice to the person only
        assert "The agent cannot go on: there is no key" in said
    host.tell(host.sent.prompt)
    assert (host.state().status, host.state().question) == ("active", "")
    assert "Continue with what this phase asks" in json.dumps(host.tell(host.sent.stop))


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_from_a_terminal_is_told_at_the_next_turn(name: str, project: Project) -> None:
    host = Host(name, project)
    host.step(action="blocked", reason="there is no key")
    project.json("unblock", "--note", "in the drawer")
    told = host.tell({"event": "context", "conversation": "C", "told": []} if name == "pi" else host.sent.prompt)
    assert "A person answered: in the drawer" in json.dumps(told)
    assert "in the drawer" in host.step(action="status")[0]


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_asks_before_it_cancels_and_a_second_call_does_not_free_it(name: str, project: Project) -> None:
    host = Host(name, project)
    text, failed = host.step(action="cancel", reason="it is too hard")
    assert not failed
    assert "A person is asked whether to cancel" in text
    assert host.step(action="cancel") == ("A person was asked and has not answered yet: Cancel the workflow?", True)
    assert (host.state().status, host.state().asks_to_cancel) == ("active", True)
    project.json("unblock", "--note", "try harder")
    assert "A person does not cancel the workflow: try harder" in host.step(action="status")[0]
    host.step(action="cancel")
    project.json("cancel", "--yes")
    assert host.state().ended_by == "script"


def test_a_reason_is_needed(project: Project) -> None:
    text, failed = Host("claude", project).step(action="blocked")
    assert failed
    assert "needs a `reason`" in text


def test_a_summary_counts_as_the_reason(project: Project) -> None:
    host = Host("claude", project)
    host.step(action="blocked", summary="there is no key")
    assert host.state().reason == "there is no key"


@pytest.mark.parametrize("place", ["workflow", "settings"])
def test_only_a_person_cancels_if_the_policy_says_so(project: Project, place: str) -> None:
    if place == "settings":
        project.write(".handrail/settings.yaml", "cancel: person\n")
    host = Host("claude", project, "cancel: person\n" if place == "workflow" else "")
    for _ in range(2):
        text, failed = host.step(action="cancel", reason="it is too hard")
        assert failed
        assert "Only a person may cancel W" in text
    assert (host.state().status, host.state().question) == ("active", "")


def test_an_agent_cancels_by_two_calls_if_the_policy_says_so(project: Project) -> None:
    host = Host("claude", project, "cancel: agent\ncompletionMessage: RELEASE IS OUT\n")
    assert "repeat the action" in host.step(action="cancel")[0]
    assert host.step(action="cancel") == (
        "W was cancelled by the agent claude in the phase Look.\nTask: make tea",
        False,
    )


def test_of_two_policies_the_strictest_holds(project: Project) -> None:
    project.write(".handrail/settings.yaml", "cancel: ask\n")
    host = Host("claude", project, "cancel: agent\n")
    host.step(action="cancel")
    assert host.state().asks_to_cancel


def test_a_policy_that_this_version_does_not_know_loosens_nothing() -> None:
    strict = plan(workflow("w", phase("look")))._replace(cancel="person")
    refusal = decide(strict, State("active", cancel="zealous"), Cancel(by_agent=True)).refusal
    assert refusal is not None
    assert refusal.code == "person-only"
