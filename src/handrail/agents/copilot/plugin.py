"""What Handrail puts into Copilot CLI: hooks, MCP server, skills. Pure: `hosts.install` writes the files.

Copilot CLI allows a call if a hook takes too long or prints nonsense. So the hook ends itself much earlier, and the
stub prints the denial.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from handrail import FOR_ONE_CALL, STEP_TOOL
from handrail.agents import stubs as shell
from handrail.agents.copilot.commands import HANDRAIL
from handrail.agents.copilot.tools import ASKED_STEP, OWN_STEP, SERVER
from handrail.contracts import Stubs

NAME = "handrail"
AGENT = "copilot"
HOST_SECONDS = 20
"""After this time Copilot CLI gives up and allows the call."""
FAILED = (
    "Handrail's gate failed, so this tool stays blocked while the workflow is active. A person can cancel the "
    "workflow in a terminal with: handrail cancel --yes (handrail sessions lists all workflows)"
)
_COMMANDS = ("workflow", "cancel-workflow")
_SUBAGENT = """*'"parentAgentId":"'*"""
"""A message of a subagent. A text in a message cannot contain this: its quotes are escaped."""


def files(stubs: Stubs) -> dict[str, str]:
    """A plugin for one call: path below its folder → content."""
    about = {"name": NAME, "version": stubs.version, "hooks": "hooks.json", "mcpServers": ".mcp.json"}
    return {
        "plugin.json": as_json(about),
        "hooks.json": hooks_file('"${PLUGIN_ROOT}"/bin'),
        ".mcp.json": as_json({"mcpServers": mcp_servers(stubs)}),
        **bin_files(stubs),
    }


def bin_files(stubs: Stubs) -> dict[str, str]:
    return {
        "bin/gate": gate_stub(stubs),
        "bin/prompt": prompt_stub(stubs),
        "bin/event": event_stub(stubs),
    }


def mcp_servers(stubs: Stubs) -> dict[str, Any]:
    command, *args = [*stubs.handrail, "mcp", "--agent", AGENT]
    env = shell.variables(stubs)
    server = {"type": "local", "command": command, "args": args, **({"env": env} if env else {}), "tools": [STEP_TOOL]}
    return {SERVER: server}


def hooks_file(stubs: str) -> str:
    """The hook events that Handrail uses. `stubs` is a path, quoted for the shell.

    The stub is sourced in the shell that the host starts. A stub that is gone allows everything.
    """

    def run(name: str, **more: str) -> list[dict[str, Any]]:
        command = f'stub={stubs}/{name}; [ ! -r "$stub" ] || . "$stub"'
        return [{"type": "command", "bash": command, "timeoutSec": HOST_SECONDS, **more}]

    hooks = {
        "preToolUse": run("gate"),
        "permissionRequest": run("event", matcher=ASKED_STEP),
        "userPromptSubmitted": run("prompt"),
        "sessionStart": run("event"),
        "subagentStart": run("event"),
        "preCompact": run("event"),
        "agentStop": run("event"),
    }
    return as_json({"version": 1, "hooks": hooks})


def _begin(stubs: Stubs, name: str, about: str) -> str:
    """The first lines of a stub. An installed stub leaves the conversations of a run to the stubs of that run."""
    if stubs.conversation:
        return f"{shell.state(stubs)}# {about}\n"
    home = shlex.quote(f"{stubs.home}/.copilot") if stubs.home else '"${HOME-}/.copilot"'
    user = f"user=${{COPILOT_HOME-}}; user=${{user:-{home}}}/{NAME}/bin/{name}"
    begin = f'{shell.state(stubs)}# {about}\n[ -z "${{{FOR_ONE_CALL}-}}" ] || exit 0\n'
    return begin + shell.defer(stubs, user)


def gate_stub(stubs: Stubs) -> str:
    """Runs before every tool call. Prints nothing without a workflow; denies the call if the hook fails.

    `workflow_step` always reaches the hook, which says who calls: the model could write it into the arguments.
    """
    deny = json.dumps({"permissionDecision": "deny", "permissionDecisionReason": FAILED})
    return (
        f"{_begin(stubs, 'gate', 'The gate of Handrail for Copilot CLI. Without a workflow it prints nothing.')}"
        f"{shell.no_links(AGENT)} && exit 0\n"
        f"input=$(cat)\n{_own_link(stubs)}"
        f"{shell.ask(stubs, AGENT, has_input=True)}"
        "case $said in\n"
        "    '{}') ;;\n"
        """    '{"permissionDecision":"deny",'*'}' | '{"modifiedArgs":'*'}' | '{"additionalContext":'*'}')\n"""
        """        printf '%s\\n' "$said" ;;\n"""
        f"    *) printf '%s\\n' {shlex.quote(deny)} ;;\n"
        "esac\n"
    )


def _own_link(stubs: Stubs) -> str:
    """Exit if the conversation of a call surely has no workflow. A subagent's message names only its own id."""
    if stubs.conversation:
        return ""
    return (
        "case $input in\n"
        f"""    {_SUBAGENT} | *'"toolName":"{OWN_STEP}"'*) ;;\n"""
        """    '{"sessionId":"'*)\n"""
        """        id=${input#'{"sessionId":"'}; id=${id%%'"'*}\n"""
        f"        {shell.no_link(AGENT, '$id')} && exit 0 ;;\n"
        "esac\n"
    )


def prompt_stub(stubs: Stubs) -> str:
    """Runs at every prompt. If Handrail cannot carry out one of its commands, the prompt is stopped."""
    names = " | ".join(f"""*'"prompt":"/{name}'* | *'skill-context name=\\"{name}\\"'*""" for name in _COMMANDS)
    why = (
        f"Handrail did not carry out this command: {shlex.join(stubs.hook)} failed or took too long. "
        f"Install it again in a terminal, then repeat the command: handrail install {AGENT}"
    )
    block = shlex.quote(json.dumps({"decision": "block", "reason": why}))
    return (
        f"{_begin(stubs, 'prompt', 'The prompts and commands of Handrail for Copilot CLI.')}"
        "input=$(cat)\nfailed=\n"
        f"""case $input in {_SUBAGENT} | *'"prompt":"{HANDRAIL}'*) exit 0 ;; esac\n"""
        f"case $input in\n    {names}) failed={block} ;;\n    *) {shell.no_links(AGENT)} && exit 0 ;;\nesac\n"
        f"{shell.ask(stubs, AGENT, has_input=True)}"
        """case $said in '{'*'}') ;; *) said=$failed ;; esac\n"""
        """[ -z "$said" ] || printf '%s\\n' "$said"\n"""
    )


def event_stub(stubs: Stubs) -> str:
    """The stub of the other hooks. It runs only while a workflow is active."""
    return (
        f"{_begin(stubs, 'event', 'The other hooks of Handrail for Copilot CLI.')}"
        f"{shell.no_links(AGENT)} && exit 0\n"
        f"{shell.ask(stubs, AGENT)}"
        """case $said in '{'*'}') printf '%s\\n' "$said" ;; esac\n"""
    )


def status_stub(stubs: Stubs, foreign: str | None) -> str:
    return shell.status_line(stubs, AGENT, shell.no_links(AGENT), foreign)


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
