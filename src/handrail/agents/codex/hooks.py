"""Texts for Codex: its hooks with the hashes that make it trust them, our stubs, and our commands. Pure.

Codex runs a hook only if its settings hold the hash of its definition. If a hook fails or takes too long, Codex goes on
as if there were none, so a stub has to end in time and to deny by itself.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from typing import Any

from handrail.agents import stubs as shell
from handrail.contracts import Stubs

NAME = "handrail"
AGENT = "codex"
HOST_SECONDS = 20
FLAGS = "/<session-flags>/config.toml"
"""What Codex calls the place of hooks that are given on its command line."""
FAILED = f"{shell.FAILED} A person can cancel the workflow with: handrail cancel --yes --session {AGENT}-SESSION"
_UNLIMITED = 0
"""Codex cuts a longer text of a hook, unless this is its limit."""
_OURS = '*\'"prompt":"\'[$/]workflow*|*\'"prompt":"\'[$/]cancel-workflow*'


def hooks(folder: str) -> dict[str, dict[str, Any]]:
    """Event → our group of hooks. `folder` has the stubs; without them, a hook does nothing.

    Codex uses the person's own shell, whose language is not always that of `sh`. These few words mean the same in all.
    """

    def group(name: str, matcher: str | None = None, tells: bool = True) -> dict[str, Any]:
        stub = shlex.quote(f"{folder}/{name}")
        command = f"[ ! -r {stub} ] || exec /bin/sh {stub}"
        hook: dict[str, Any] = {"type": "command", "command": command, "timeout": HOST_SECONDS}
        if tells:
            hook["additionalContextLimit"] = _UNLIMITED
        return {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}

    return {
        "PreToolUse": group("gate", matcher="*", tells=False),
        "UserPromptSubmit": group("prompt"),
        "SessionStart": group("event", matcher="resume|compact|fork"),
        "SubagentStart": group("event"),
        "Stop": group("event", tells=False),
    }


def trusted(place: str, groups: dict[str, dict[str, Any]], at: dict[str, int]) -> dict[str, str]:
    """The keys and hashes with which Codex trusts our hooks. `place` is their file, `at` their index by event."""
    found = {}
    for event, group in groups.items():
        name = "".join(f"_{char.lower()}" if char.isupper() else char for char in event).lstrip("_")
        about = {**group, "event_name": name, "hooks": [{**hook, "async": False} for hook in group["hooks"]]}
        text = json.dumps(about, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        key = f"{place}:{name}:{at.get(event, 0)}:0"
        found[key] = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    return found


def server(stubs: Stubs, passed: list[str]) -> dict[str, Any]:
    """The entry of the MCP server. Codex hides most of its environment from a server; `passed` are names to pass on.

    An exit check may take long, so a call may. Without `omit_tools_from`, some models do not see the tool.
    """
    command, *args = [*stubs.handrail, "mcp", "--agent", AGENT]
    return {
        "command": command,
        "args": args,
        "env": shell.variables(stubs),
        "env_vars": passed,
        "omit_tools_from": ["deferred", "code_mode"],
        "default_tools_approval_mode": "approve",
        "tool_timeout_sec": 7200,
    }


def files(stubs: Stubs, user: str = "") -> dict[str, str]:
    """Name → text of each stub. `user` is the folder of the user's stubs, if these are a project's."""
    return {
        "gate": gate_stub(stubs, user),
        "prompt": prompt_stub(stubs, user),
        "event": event_stub(stubs, user),
    }


def _begin(stubs: Stubs, name: str, user: str) -> str:
    """Set `state`. Of two installations with the same state folder, only the user's one answers."""
    text = shell.state(stubs)
    if not user or stubs.conversation:
        return text
    first, own = shlex.quote(text.split("\n")[0]), f"{user}/{name}"
    return (
        f"{text}user={shlex.quote(own)}\n"
        'if [ -r "$user" ] && ! [ "$0" -ef "$user" ]; then\n'
        '    IFS= read -r theirs < "$user"\n'
        f"    case $theirs in {first}) exit 0 ;; esac\n"
        "fi\n"
    )


def _no_link(stubs: Stubs) -> str:
    """Set `input` and `id`, and a condition: there surely is no workflow. `id` is the conversation of the message."""
    if stubs.conversation:
        id_ = shlex.quote(stubs.conversation)
        return f"input=$(cat)\nid={id_}\n{shell.no_link(AGENT, '$id')}"
    read = (
        "input=$(cat)\n"
        "id=\n"
        """case $input in '{"session_id":"'*) id=${input#'{"session_id":"'}; id=${id%%'"'*} ;; esac\n"""
        "case $id in *[!0-9A-Za-z-]*) id= ;; esac\n"
    )
    return f'{read}[ -n "$id" ] && {shell.no_link(AGENT, "$id")}'


def gate_stub(stubs: Stubs, user: str = "") -> str:
    """Runs before every tool call. Prints nothing without a workflow; denies the call if the hook fails."""
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": FAILED}
    before, after = (shlex.quote(part) for part in json.dumps({"hookSpecificOutput": said}).split("SESSION"))
    return (
        f"{_begin(stubs, 'gate', user)}"
        "# Handrail's gate for Codex. A conversation without a link has no workflow: print nothing.\n"
        f"{shell.no_links(AGENT)} && exit 0\n"
        f"{_no_link(stubs)} && exit 0\n"
        f"{shell.ask(stubs, AGENT, has_input=True)}"
        "case $said in\n"
        "    '{}') ;;\n"
        """    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'*'}}') """
        """printf '%s\\n' "$said" ;;\n"""
        f"""    *) printf '%s%s%s\\n' {before} "$id" {after} ;;\n"""
        "esac\n"
        "exit 0\n"
    )


def event_stub(stubs: Stubs, user: str = "") -> str:
    """The stub of most other hooks. Without a workflow it does nothing, unless a fork of one may begin."""
    return (
        f"{_begin(stubs, 'event', user)}"
        "# Handrail's other hooks for Codex.\n"
        f"{shell.no_links(AGENT)} && exit 0\n"
        f'{_no_link(stubs)} && case $input in *\'"source":"fork"\'*) false ;; *) true ;; esac && exit 0\n'
        f"{shell.ask(stubs, AGENT, has_input=True)}"
        """case $said in '{'*'}') printf '%s\\n' "$said" ;; esac\n"""
        "exit 0\n"
    )


def prompt_stub(stubs: Stubs, user: str = "") -> str:
    """Runs at every prompt. If Handrail fails at a command of ours, it is stopped, and the model is told nothing."""
    why = (
        f"Handrail did not carry out this command: {shlex.join(stubs.hook)} failed or took too long. "
        "Install it again in a terminal, then repeat the command: handrail install codex"
    )
    return (
        f"{_begin(stubs, 'prompt', user)}"
        "# Handrail's answer to prompts in Codex. A prompt without a workflow needs Python only if it is a command.\n"
        f'{_no_link(stubs)} && case $input in *\'"prompt":"\'*workflow*) false ;; *) true ;; esac && exit 0\n'
        f"{shell.ask(stubs, AGENT, has_input=True)}"
        "case $said in\n"
        """    '{'*'}') printf '%s\\n' "$said" ;;\n"""
        f"    *) case $input in {_OURS})\n"
        f"        printf '%s\\n' {shlex.quote(json.dumps({'decision': 'block', 'reason': why}))} ;;\n"
        "    esac ;;\n"
        "esac\n"
        "exit 0\n"
    )


def skills() -> dict[str, str]:
    """Path below the folder of skills → content. A skill makes its name known and completes it; the hook does the rest.

    The model gets no list of skills that only a person may use.
    """
    policy = "policy:\n  allow_implicit_invocation: false\n"
    texts = {"workflow": WORKFLOW_SKILL, "cancel-workflow": CANCEL_SKILL}
    found = {f"{name}/SKILL.md": text for name, text in texts.items()}
    return found | {f"{name}/agents/openai.yaml": policy for name in texts}


WORKFLOW_SKILL = """\
---
name: workflow
description: Start a Handrail workflow - $workflow NAME TASK. Without a name, list the workflows.
---

The person started a workflow. Handrail added its first phase and the instructions of this phase to the conversation.
Start with that phase. When it is finished, call the tool `workflow_step` with action "next" and a short summary. Its
result shows the next phase. Continue until the workflow is done.
"""

CANCEL_SKILL = """\
---
name: cancel-workflow
description: Cancel the Handrail workflow of this conversation.
---

The person cancelled the workflow of this conversation. Stop following it.
"""
