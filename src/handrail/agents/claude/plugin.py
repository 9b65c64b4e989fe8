"""The files of the plugin for Claude Code: hooks, MCP server, skills. Pure: `hosts.install` writes them."""

from __future__ import annotations

import json
import shlex
from typing import Any

from handrail.contracts import Stubs

NAME = "handrail"
HOST_SECONDS = 20
FAILED = (
    "Handrail's gate failed, so this tool stays blocked while the workflow is active. "
    "A person can cancel the workflow with: handrail cancel --yes --session claude-SESSION"
)


def files(stubs: Stubs) -> dict[str, str]:
    """Path below the plugin's folder → content."""
    return {
        ".claude-plugin/plugin.json": _json(manifest(stubs.version)),
        ".mcp.json": _json({"mcpServers": mcp_servers(stubs)}),
        "hooks/hooks.json": _json({"description": "Handrail", "hooks": hooks('"${CLAUDE_PLUGIN_ROOT}"/bin')}),
        "bin/gate": gate_stub(stubs),
        "bin/event": event_stub(stubs),
        **skills(),
    }


def marketplace(stubs: Stubs) -> dict[str, str]:
    """The files of a marketplace folder that contains the plugin."""
    about = manifest(stubs.version)
    entry = {"name": NAME, "source": f"./plugins/{NAME}", "description": about["description"]}
    top = {"name": NAME, "owner": about["author"], "metadata": {"description": "Handrail"}, "plugins": [entry]}
    plugin = {f"plugins/{NAME}/{name}": text for name, text in files(stubs).items()}
    return {".claude-plugin/marketplace.json": _json(top), **plugin}


def skills() -> dict[str, str]:
    return {"skills/workflow/SKILL.md": WORKFLOW_SKILL, "skills/cancel-workflow/SKILL.md": CANCEL_SKILL}


def manifest(version: str) -> dict[str, Any]:
    about = "Keeps the agent on a workflow: one phase at a time, with gated tools and checked exits."
    return {"name": NAME, "version": version, "description": about, "author": {"name": "The Handrail maintainers"}}


def mcp_servers(stubs: Stubs) -> dict[str, Any]:
    command, *args = [*stubs.handrail, "mcp", "--agent", "claude"]
    return {NAME: {"command": command, "args": args, "alwaysLoad": True}}


def hooks(stubs: str) -> dict[str, Any]:
    """The hook events that Handrail uses. Only the gate blocks if it fails. `stubs` is a path, quoted for sh.

    The stub is sourced in the shell that the host starts, so a hook needs one shell and one Python process.
    """

    def run(name: str, *words: str) -> dict[str, Any]:
        given = f"set -- {' '.join(words)}; " if words else ""
        command = f'stub={stubs}/{name}; [ ! -r "$stub" ] || {{ {given}. "$stub"; }}'
        return {"type": "command", "command": command, "timeout": HOST_SECONDS}

    return {
        "PreToolUse": [{"matcher": "*", "hooks": [{**run("gate"), "onFailure": "block"}]}],
        "UserPromptSubmit": [{"hooks": [run("event")]}],
        "UserPromptExpansion": [{"hooks": [run("event")]}],
        "SessionStart": [{"matcher": "resume|compact|fork", "hooks": [run("event")]}],
        "SubagentStart": [{"hooks": [run("event", "active")]}],
        "Stop": [{"hooks": [run("event", "active")]}],
    }


_STATE = """\
state=${HANDRAIL_HOME:+$HANDRAIL_HOME/state}
if [ -z "$state" ]; then
    case ${XDG_STATE_HOME-} in
        /*) state=$XDG_STATE_HOME/handrail ;;
        *) state=$HOME/.local/state/handrail ;;
    esac
fi
"""


def _defer_to_user_stub(name: str) -> str:
    """Exit if this is not the user's installation and there is one: then only the user's installation answers."""
    return (
        f'user="${{CLAUDE_CONFIG_DIR:-$HOME/.claude}}/skills/{NAME}/bin/{name}"\n'
        '[ ! -r "$user" ] || [ "${stub:-$0}" -ef "$user" ] || exit 0\n'
    )


def gate_stub(stubs: Stubs) -> str:
    """Runs before every tool call. Prints nothing without a workflow; denies the call if the hook fails."""
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": FAILED}
    before, after = (shlex.quote(part) for part in json.dumps({"hookSpecificOutput": said}).split("SESSION"))
    return (
        "# Handrail's gate for Claude Code. A conversation without a link has no workflow: print nothing.\n"
        f'{_defer_to_user_stub("gate")}{_STATE}[ -e "$state/hosts/claude/$CLAUDE_CODE_SESSION_ID" ] || exit 0\n'
        f"said=$({_hook_command(stubs)}) || said=\n"
        "case $said in\n"
        "    '{}') ;;\n"
        """    '{"hookSpecificOutput":{"hookEventName":"PreToolUse",'*'}}') printf '%s\\n' "$said" ;;\n"""
        f"""    *) printf '%s%s%s\\n' {before} "$CLAUDE_CODE_SESSION_ID" {after} ;;\n"""
        "esac\n"
    )


def event_stub(stubs: Stubs) -> str:
    """The stub of all other hooks. With `active` it runs only while a workflow is active."""
    return (
        "# Handrail's other hooks for Claude Code.\n"
        f"{_defer_to_user_stub('event')}"
        f'{_STATE}[ "${{1-}}" != active ] || [ -e "$state/hosts/claude/$CLAUDE_CODE_SESSION_ID" ] || exit 0\n'
        f"{_hook_command(stubs)} || exit 0\n"
    )


def _hook_command(stubs: Stubs, *more: str) -> str:
    return shlex.join([*stubs.hook, "claude", *more])


def status_stub(stubs: Stubs, foreign: str | None) -> str:
    """The status line: first the existing one, then ours while a workflow is active."""
    before = f"printf '%s' \"$input\" | /bin/sh -c {shlex.quote(foreign)}\n" if foreign else ""
    return (
        "# Handrail's status line for Claude Code.\n"
        f'input=$(cat)\n{before}{_STATE}[ -e "$state/hosts/claude/$CLAUDE_CODE_SESSION_ID" ] || exit 0\n'
        f"printf '%s' \"$input\" | {_hook_command(stubs, 'status-line')}\n"
    )


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


WORKFLOW_SKILL = """\
---
name: workflow
description: Start a Handrail workflow. Without a name, list the workflows.
argument-hint: NAME TASK
disable-model-invocation: true
---

The person started a workflow with: $ARGUMENTS

Handrail added the first phase and its instructions to this conversation. Start with that phase. When it is finished,
call the tool `workflow_step` with action "next" and a short summary. Its result shows the next phase. Continue until
the workflow is done.
"""

CANCEL_SKILL = """\
---
name: cancel-workflow
description: Cancel the Handrail workflow of this conversation.
disable-model-invocation: true
---

The person cancelled the workflow of this conversation. Stop following it.
"""
