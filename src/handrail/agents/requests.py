"""Requests that several hosts make in the same way, and who calls `workflow_step`.

Runs at every tool call, so it imports nothing at run time.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from handrail.contracts.messages import (
        AgentStops,
        BranchChanged,
        BranchPoint,
        CommandTyped,
        ConversationOpened,
        ModelCalled,
        Origin,
        PromptGiven,
        StepCall,
        StepCaller,
        StopPolicy,
        SubagentStarted,
    )


def origin(conversation: str, cwd: Any, transcript: Any = None) -> Origin:
    """Where a request comes from. Hosts may leave out the folder and the transcript."""
    return {"conversation": conversation, "cwd": str(cwd or "."), "transcript": transcript or None}


def hook_origin(data: Mapping[str, Any]) -> Origin:
    """Where the message of a hook comes from. Several agents use these names of fields."""
    return origin(str(data["session_id"]), data.get("cwd"), data.get("transcript_path"))


def given(value: Any) -> dict[str, Any]:
    """The arguments of a call; empty if they are no object."""
    return value if isinstance(value, dict) else {}


def step(origin: Origin, tool: str, arguments: Mapping[str, Any], *, is_subagent: bool) -> StepCall:
    action = str(arguments.get("action"))
    return {**origin, "event": "step", "tool": tool, "action": action, "is_subagent": is_subagent}


def prompt(origin: Origin, turn: str | None = None) -> PromptGiven:
    """A prompt of a person that is no command of ours."""
    typed: PromptGiven = {**origin, "event": "prompt", "starts": None, "by_person": True, "was_interrupted": False}
    return typed if turn is None else {**typed, "turn": turn}


def command(
    origin: Origin, name: Literal["start", "cancel"], arguments: str = "", turn: str | None = None
) -> CommandTyped:
    typed: CommandTyped = {**origin, "event": "command", "name": name, "arguments": arguments}
    return typed if turn is None else {**typed, "turn": turn}


def opened(origin: Origin, source: str) -> ConversationOpened:
    """A conversation was opened. `source` is the word of a host that has `compact` and `fork`, and words for others."""
    known: Literal["compact", "fork", "resume"] = "compact" if source == "compact" else "resume"
    return {**origin, "event": "begin", "source": "fork" if source == "fork" else known}


def model(origin: Origin, told: Any) -> ModelCalled:
    """The model is about to be called. `told` are the marks that a plugin found in the history."""
    return {**origin, "event": "model", "told": tuple(str(mark) for mark in told or ())}


def branch(origin: Origin, at: BranchPoint | None) -> BranchChanged:
    return {**origin, "event": "branch", "at": at, "foreign": None}


def subagent(origin: Origin) -> SubagentStarted:
    return {**origin, "event": "subagent"}


def stop(origin: Origin, *, was_aborted: bool = False) -> AgentStops:
    """The agent stops, and the host knows of no background work and of no progress."""
    return {
        **origin,
        "event": "stop",
        "awaits": (),
        "hands_off": False,
        "was_aborted": was_aborted,
        "has_progress": None,
    }


def for_person(answer: StopPolicy) -> str | None:
    """What a person is told when the agent stops; None if there is nothing to tell."""
    return answer["farewell"] or answer["let_go"]


def with_caller(arguments: Any, conversation: str, call: Any, cwd: Any, subagent: Any = None) -> dict[str, Any]:
    """The arguments of `workflow_step`, and who calls it. The model cannot set this: it is written over its values."""
    who = {"session_id": conversation, "agent_id": subagent or "", "call_id": call or "", "cwd": cwd or ""}
    return {**given(arguments), **who}


def named_caller(arguments: Mapping[str, Any]) -> StepCaller:
    """Who calls `workflow_step`, from arguments that `with_caller` made."""
    return {
        "conversation": str(arguments.get("session_id") or ""),
        "is_subagent": bool(arguments.get("agent_id")),
        "call": str(arguments.get("call_id") or ""),
        "cwd": str(arguments.get("cwd") or ""),
    }
