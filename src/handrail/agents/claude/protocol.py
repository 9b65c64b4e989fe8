"""Claude Code's hook messages ↔ Handrail's own. Pure; standard library only.

`request` says in our words what the host asks, `reply` says our answer in the host's. What is not said here the
host decides as it would without us.
"""

from __future__ import annotations

from handrail.agents.claude.tools import LOOKUPS, STEP, aliases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMANDS = ("workflow", "cancel-workflow")
MAX_CONTEXT = 9_900


def request(data: dict[str, Any]) -> dict[str, Any] | None:
    """The host's message in our words; nothing for an event that means nothing to us."""
    base = {
        "conversation": str(data["session_id"]),
        "cwd": data.get("cwd") or ".",
        "transcript": data.get("transcript_path"),
    }
    event = data["hook_event_name"]
    if event == "PreToolUse":
        tool = str(data["tool_name"])
        names = aliases(tool)
        step = (data.get("tool_input") or {}).get("action") if STEP in names else None
        kind = "step" if STEP in names else "tool"
        return {
            **base,
            "event": kind,
            "tool": tool,
            "aliases": names,
            "action": step,
            "is_lookup": tool in LOOKUPS,
            "subagent": bool(data.get("agent_id")),
        }
    if event == "UserPromptSubmit":
        text = str(data.get("prompt", ""))
        is_command = _command(text.split(None, 1)[0] if text.strip() else "") == "workflow"
        return {**base, "event": "prompt", "text": text, "is_command": is_command, **_speaker(text, data)}
    if event == "UserPromptExpansion":
        name = _command("/" + str(data.get("command_name", "")))
        if name not in COMMANDS:
            return None
        return {**base, "event": "command", "name": name, "arguments": str(data.get("command_args", ""))}
    if event == "SessionStart":
        return {**base, "event": "begin", "source": data.get("source")}
    if event == "SubagentStart":
        return {**base, "event": "subagent"}
    if event == "Stop":
        return {**base, "event": "stop", "hands_off": _hands_off(data)}
    return None


def _command(word: str) -> str:
    """`workflow` of `/workflow` and of `/handrail:workflow`."""
    return word[1:].rsplit(":", 1)[-1] if word.startswith("/") else ""


def _hands_off(data: dict[str, Any]) -> bool:
    """Work goes on in the background, or a typed cancel waits for its turn."""
    if data.get("background_tasks"):
        return True
    from handrail.agents.claude import transcript

    return transcript.has_queued_cancel(transcript.tail(data.get("transcript_path")))


def _speaker(text: str, data: dict[str, Any]) -> dict[str, bool]:
    """Is this the person's word or a background task's; and did the person interrupt before it came?"""
    if not text.startswith("<task-notification>"):
        return {"by_person": True, "interrupted": False}
    from handrail.agents.claude import transcript

    return {"by_person": False, "interrupted": transcript.was_interrupted(transcript.tail(data.get("transcript_path")))}


def reply(data: dict[str, Any], asked: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any] | None:
    """Our answer in the host's words; nothing where there is nothing to say."""
    event = data["hook_event_name"]
    if event == "PreToolUse":
        return _before_tool(data, asked, answer)
    if answer.get("stop") is not None:
        return {"decision": "block", "reason": answer["stop"]}
    said: dict[str, Any] = {}
    context = answer.get("context") or answer.get("sendOn")
    if context:
        said["additionalContext"] = fitting(context)
    if answer.get("title") and event == "UserPromptSubmit":
        said["sessionTitle"] = answer["title"]
    out: dict[str, Any] = {}
    if said:
        out["hookSpecificOutput"] = {"hookEventName": event, **said}
    if message := answer.get("farewell") or answer.get("letGo") or answer.get("notice"):
        out["systemMessage"] = message
    return out or None


def _before_tool(data: dict[str, Any], asked: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Also says that there is nothing to say: where no answer comes, something has failed."""
    said: dict[str, Any] = {"hookEventName": "PreToolUse"}
    if not answer["allow"]:
        said |= {"permissionDecision": "deny", "permissionDecisionReason": answer["reason"]}
    elif asked["event"] == "step":
        who = {"session_id": data["session_id"], "agent_id": data.get("agent_id") or ""}
        own = {**who, "call_id": data.get("tool_use_id") or ""}
        said |= {"permissionDecision": "allow", "updatedInput": {**(data.get("tool_input") or {}), **own}}
    else:
        return {}
    return {"hookSpecificOutput": said}


def fitting(text: str) -> str:
    """Text that the host passes on whole: it replaces a longer one by the name of a file.

    The host counts as JavaScript does, in units of UTF-16: most emoji are two.
    """
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * MAX_CONTEXT:
        return text
    note = '\n\n[cut to fit; call workflow_step with action "status" for the whole text]'
    return units[: 2 * (MAX_CONTEXT - len(note))].decode("utf-16-le", "ignore") + note
