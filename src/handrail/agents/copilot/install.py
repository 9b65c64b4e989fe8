"""The recipe for installing Handrail into Copilot CLI, and the texts: hooks, stubs, MCP server.

It writes no files itself: `agents/calls/install.py` writes them.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any

from handrail import FOR_ONE_CALL, STEP_TOOL
from handrail.agents import recipes
from handrail.agents.copilot.host import ASKED_STEP, BEGIN, END, HANDRAIL, OWN_STEP, PLACE, SERVER, copilot_home
from handrail.agents.recipes import FileRecipe, JsonEntries, as_json, below
from handrail.extensions.contracts import Stubs

NAME = "handrail"
AGENT = "copilot"
HOST_SECONDS = 20
"""After this time Copilot CLI gives up and allows the call."""
FAILED = (
    "Handrail's gate failed, so this tool stays blocked while the workflow is active. A person can cancel the "
    "workflow in a terminal with: handrail cancel --yes (handrail sessions lists all workflows)"
)
_TRIAL = {"prompt": "/cancel-workflow"}
_COMMANDS = ("workflow", "cancel-workflow")
_SUBAGENT = """*'"parentAgentId":"'*"""
"""A message of a subagent. A text in a message cannot contain this: its quotes are escaped."""


def plugin_files(stubs: Stubs) -> dict[str, str]:
    """A plugin for one call: path below its folder → content."""
    about = {"name": NAME, "version": stubs.version, "hooks": "hooks.json", "mcpServers": ".mcp.json"}
    return {
        "plugin.json": as_json(about),
        "hooks.json": hooks_file('"${PLUGIN_ROOT}"/bin'),
        ".mcp.json": as_json({"mcpServers": {SERVER: server_entry(stubs)}}),
        **bin_files(stubs),
    }


def bin_files(stubs: Stubs) -> dict[str, str]:
    return {"bin/gate": gate_stub(stubs), "bin/prompt": prompt_stub(stubs), "bin/event": event_stub(stubs)}


def server_entry(stubs: Stubs) -> dict[str, Any]:
    return {"type": "local", **recipes.server(stubs, AGENT), "tools": [STEP_TOOL]}


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
        return f"{recipes.state(stubs)}# {about}\n"
    home = shlex.quote(f"{stubs.home}/.copilot") if stubs.home else '"${HOME-}/.copilot"'
    user = f"user=${{COPILOT_HOME-}}; user=${{user:-{home}}}/{NAME}/bin/{name}"
    begin = f'{recipes.state(stubs)}# {about}\n[ -z "${{{FOR_ONE_CALL}-}}" ] || exit 0\n'
    return begin + recipes.defer_to_user(stubs, user)


def gate_stub(stubs: Stubs) -> str:
    """Runs before every tool call. Prints nothing without a workflow; denies the call if the hook fails.

    `workflow_step` always reaches the hook, which says who calls: the model could write it into the arguments.
    """
    deny = json.dumps({"permissionDecision": "deny", "permissionDecisionReason": FAILED})
    return (
        f"{_begin(stubs, 'gate', 'The gate of Handrail for Copilot CLI. Without a workflow it prints nothing.')}"
        f"{recipes.no_links(AGENT)} && exit 0\n"
        f"input=$(cat)\n{_own_link(stubs)}"
        f"{recipes.ask(stubs, AGENT, has_input=True)}"
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
        f"        {recipes.no_link(AGENT, '$id')} && exit 0 ;;\n"
        "esac\n"
    )


def prompt_stub(stubs: Stubs) -> str:
    """Runs at every prompt. If Handrail cannot carry out one of its commands, the prompt is stopped."""
    names = " | ".join(f"""*'"prompt":"/{name}'* | *'skill-context name=\\"{name}\\"'*""" for name in _COMMANDS)
    block = shlex.quote(json.dumps({"decision": "block", "reason": recipes.not_carried_out(stubs, AGENT)}))
    return (
        f"{_begin(stubs, 'prompt', 'The prompts and commands of Handrail for Copilot CLI.')}"
        "input=$(cat)\nfailed=\n"
        f"""case $input in {_SUBAGENT} | *'"prompt":"{HANDRAIL}'*) exit 0 ;; esac\n"""
        f"case $input in\n    {names}) failed={block} ;;\n    *) {recipes.no_links(AGENT)} && exit 0 ;;\nesac\n"
        f"{recipes.ask(stubs, AGENT, has_input=True)}"
        """case $said in '{'*'}') ;; *) said=$failed ;; esac\n"""
        """[ -z "$said" ] || printf '%s\\n' "$said"\n"""
    )


def event_stub(stubs: Stubs) -> str:
    """The stub of the other hooks. It runs only while a workflow is active."""
    return (
        f"{_begin(stubs, 'event', 'The other hooks of Handrail for Copilot CLI.')}"
        f"{recipes.no_links(AGENT)} && exit 0\n"
        f"{recipes.ask(stubs, AGENT)}{recipes.PRINT_JSON}"
    )


def command_skills() -> dict[str, str]:
    """Path below the folder of skills → content."""
    return {"workflow/SKILL.md": WORKFLOW_SKILL, "cancel-workflow/SKILL.md": CANCEL_SKILL}


WORKFLOW_SKILL = f"""\
---
name: workflow
description: Start a Handrail workflow. Without a name, list the workflows.
argument-hint: NAME TASK
user-invocable: true
disable-model-invocation: true
---

The person typed the command that starts a workflow, with these arguments:

{BEGIN}{PLACE}{END}

If Handrail added the first phase and its instructions below, start with that phase. When it is finished, call the tool
`workflow_step` with action "next" and a short summary. Its result shows the next phase. Continue until the workflow is
done.

If there is no such phase below, no workflow began, because you were at work when the command was typed. Tell the person
to type it again after you have stopped, and go on with what you were doing.
"""

CANCEL_SKILL = f"""\
---
name: cancel-workflow
description: Cancel the Handrail workflow of this conversation.
user-invocable: true
disable-model-invocation: true
---

The person typed the command that cancels the workflow while you were at work, so it was not carried out yet.
{BEGIN}{PLACE}{END}
Stop now, and tell the person to type the command again.
"""


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> FileRecipe:
    """Hooks, commands and skills in files of their own, the server in a list of servers.

    Copilot CLI reads a status line only from the user's settings. It is kept and shown before ours.
    """
    base = copilot_home(env, recipes.home(env)) if project is None else os.path.join(project, ".github")
    own = os.path.join(base, "" if project is None else "copilot", NAME)
    hooks, settings = os.path.join(base, "hooks", f"{NAME}.json"), os.path.join(base, "settings.json")
    servers = os.path.join(base, "mcp-config.json" if project is None else "mcp.json")
    entries, status = {servers: JsonEntries(server=(SERVER, server_entry(stubs)))}, None
    if project is None:
        stub, free = os.path.join(own, "bin", "status"), recipes.no_links(AGENT)
        status = recipes.StatusLine(AGENT, stubs, settings, stub, free, {"padding": 0})
        entries[settings] = JsonEntries(status=status)
    skills = below(os.path.join(base, "skills"), command_skills() | recipes.skill_files())
    return FileRecipe(
        files=below(own, bin_files(stubs)) | {hooks: hooks_file(shlex.quote(os.path.join(own, "bin")))} | skills,
        entries=entries,
        trial=recipes.stub_trial(("/bin/sh", os.path.join(own, "bin", "prompt")), _TRIAL, "sessionId"),
        status=status,
        switched_off=partial(recipes.all_off, [hooks]),
    )
