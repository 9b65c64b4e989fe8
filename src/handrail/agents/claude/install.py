"""The recipe for installing Handrail into Claude Code, and the files of the plugin.

The plugin has hooks, an MCP server and skills. This module writes no files: `agents/calls/install.py` writes them.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any

from handrail.agents import recipes
from handrail.agents.recipes import FileRecipe, JsonEntries, as_json, below
from handrail.extensions.contracts import Stubs

NAME = "handrail"
AGENT = "claude"
HOST_SECONDS = 20
_COMMANDS = ("workflow", "cancel-workflow")
_TRIAL = {"hook_event_name": "UserPromptExpansion", "command_name": "cancel-workflow", "command_args": ""}
_NO_LINK = recipes.no_link(AGENT, "${CLAUDE_CODE_SESSION_ID-}")


def plugin_files(stubs: Stubs) -> dict[str, str]:
    """Path below the plugin's folder → content."""
    return {
        ".claude-plugin/plugin.json": as_json(manifest(stubs.version)),
        ".mcp.json": as_json({"mcpServers": {NAME: server_entry(stubs)}}),
        "hooks/hooks.json": as_json({"description": "Handrail", "hooks": hook_entries('"${CLAUDE_PLUGIN_ROOT}"/bin')}),
        "bin/gate": gate_stub(stubs),
        "bin/event": event_stub(stubs),
        "bin/command": command_stub(stubs),
        "bin/settings": settings_stub(stubs),
        **skill_files(),
    }


def marketplace(stubs: Stubs) -> dict[str, str]:
    about = manifest(stubs.version)
    entry = {"name": NAME, "source": f"./plugins/{NAME}", "description": about["description"]}
    top = {"name": NAME, "owner": about["author"], "metadata": {"description": "Handrail"}, "plugins": [entry]}
    plugin = {f"plugins/{NAME}/{name}": text for name, text in plugin_files(stubs).items()}
    return {".claude-plugin/marketplace.json": as_json(top), **plugin}


def skill_files() -> dict[str, str]:
    commands = {"workflow/SKILL.md": WORKFLOW_SKILL, "cancel-workflow/SKILL.md": CANCEL_SKILL}
    return {f"skills/{name}": text for name, text in {**commands, **recipes.skill_files()}.items()}


def manifest(version: str) -> dict[str, Any]:
    about = "Keeps the agent on a workflow: one phase at a time, with gated tools and checked exits."
    return {"name": NAME, "version": version, "description": about, "author": {"name": "The Handrail maintainers"}}


def server_entry(stubs: Stubs) -> dict[str, Any]:
    return {**recipes.server(stubs, AGENT), "alwaysLoad": True}


def hook_entries(stubs: str) -> dict[str, Any]:
    """The hook events that Handrail uses. Only the gate blocks if it fails. `stubs` is a path, quoted for sh.

    The stub is sourced in the shell that the host starts, so a hook needs one shell and one Python process.
    """

    def run(name: str, *words: str) -> dict[str, Any]:
        setup = f"set -- {' '.join(words)}; " if words else ""
        command = f'stub={stubs}/{name}; [ ! -r "$stub" ] || {{ {setup}. "$stub"; }}'
        return {"type": "command", "command": command, "timeout": HOST_SECONDS}

    return {
        "PreToolUse": [{"matcher": "*", "hooks": [{**run("gate"), "onFailure": "block"}]}],
        "UserPromptSubmit": [{"hooks": [run("event")]}],
        "UserPromptExpansion": [{"hooks": [run("command")]}],
        "SessionStart": [{"matcher": "resume|compact|fork", "hooks": [run("event")]}],
        "SubagentStart": [{"hooks": [run("event", "active")]}],
        "Stop": [{"hooks": [run("event", "active")]}],
        "ConfigChange": [{"matcher": "user_settings|project_settings|local_settings", "hooks": [run("settings")]}],
    }


def _defer_to_user_stub(name: str, stubs: Stubs) -> str:
    """Leave the answer to the stub of the user's installation, if there is one.

    Claude Code loads one plugin of a name: a plugin for one call hides the user's one, so it has to answer.
    """
    if stubs.conversation:
        return ""
    home = shlex.quote(f"{stubs.home}/.claude") if stubs.home else '"${HOME-}/.claude"'
    return recipes.defer_to_user(
        stubs, f"user=${{CLAUDE_CONFIG_DIR-}}; user=${{user:-{home}}}/skills/{NAME}/bin/{name}"
    )


def gate_stub(stubs: Stubs) -> str:
    """Runs before every tool call. Prints nothing without a workflow; denies the call if the hook fails."""
    why = recipes.failed(AGENT)
    denial = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why}
    return (
        f"{recipes.state(stubs)}"
        "# Handrail's gate for Claude Code. A conversation without a link has no workflow: print nothing.\n"
        f"{_defer_to_user_stub('gate', stubs)}{recipes.exit_if_free(AGENT, '${CLAUDE_CODE_SESSION_ID-}')}"
        f"said=$({recipes.hook(stubs, AGENT)}) || said=\n"
        "case $said in\n"
        "    '{}') ;;\n"
        """    '{"hookSpecificOutput":{"hookEventName":"PreToolUse",'*'}}') printf '%s\\n' "$said" ;;\n"""
        f"    *) {recipes.print_denial({'hookSpecificOutput': denial}, '$CLAUDE_CODE_SESSION_ID')} ;;\n"
        "esac\n"
    )


def event_stub(stubs: Stubs) -> str:
    """The stub of most other hooks. With `active` it runs only while a workflow is active."""
    return (
        f"{recipes.state(stubs)}"
        "# Handrail's other hooks for Claude Code.\n"
        f"{_defer_to_user_stub('event', stubs)}"
        f'[ "${{1-}}" = active ] && {_NO_LINK} && exit 0\n'
        f"{recipes.hook(stubs, AGENT)} || exit 0\n"
    )


def command_stub(stubs: Stubs) -> str:
    """Runs if a person types a command. If Handrail fails, the command is stopped, and the model is told nothing."""
    names = "|".join(f"*'\"{prefix}{name}\"'*" for name in _COMMANDS for prefix in ("", f"{NAME}:"))
    why = recipes.not_carried_out(stubs, AGENT)
    return (
        f"{recipes.state(stubs)}"
        "# Handrail's commands for Claude Code. Other commands need no Python.\n"
        f"{_defer_to_user_stub('command', stubs)}input=$(cat)\n"
        f"case $input in {names}) ;; *) exit 0 ;; esac\n"
        f"said=$(printf '%s\\n' \"$input\" | {recipes.hook(stubs, AGENT)}) || said=\n"
        "case $said in\n"
        """    '{'*'}') printf '%s\\n' "$said" ;;\n"""
        f"    *) printf '%s\\n' {shlex.quote(json.dumps({'decision': 'block', 'reason': why}))} ;;\n"
        "esac\n"
    )


def settings_stub(stubs: Stubs) -> str:
    """Runs if a settings file changed. While a workflow is active, the conversation keeps the settings that it has.

    Needs no Python: whatever changed, it could switch off hooks or add some.
    """
    reason = (
        "A Handrail workflow is active, so this conversation keeps the settings that it has. "
        "Finish or cancel the workflow, then save the file again."
    )
    return (
        f"{recipes.state(stubs)}"
        "# Handrail's answer if Claude Code's settings change.\n"
        f"{_defer_to_user_stub('settings', stubs)}{_NO_LINK} && exit 0\n"
        f"printf '%s\\n' {shlex.quote(json.dumps({'decision': 'block', 'reason': reason}))}\n"
    )


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


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> FileRecipe:
    """The plugin in the user's folder of skills; for a project, hooks and skills in its settings.

    The folder of our plugin stays: a running conversation blocks every tool if the folder of a plugin is gone.
    """
    user = env.get("CLAUDE_CONFIG_DIR") or os.path.join(recipes.home(env), ".claude")
    base = user if project is None else os.path.join(project, ".claude")
    folder = os.path.join(base, "skills" if project is None else "", NAME)
    stub_folder = os.path.join(folder, "bin")
    settings = os.path.join(base, "settings.json" if project is None else "settings.local.json")
    more = {"padding": 0, "refreshInterval": 2}
    status = recipes.StatusLine(AGENT, stubs, settings, os.path.join(stub_folder, "status"), _NO_LINK, more)
    own = dict.fromkeys([os.path.join(base, "settings.json"), settings])
    files, entries = plugin_files(stubs), {settings: JsonEntries(mark=stub_folder, status=status)}
    if project is not None:
        hooks = partial(hook_entries, shlex.quote(stub_folder))
        entries[settings] = JsonEntries(
            hooks=hooks, mark=stub_folder, item=("enabledMcpjsonServers", NAME), status=status
        )
        entries[os.path.join(project, ".mcp.json")] = JsonEntries(server=(NAME, server_entry(stubs)))
        files = {name: text for name, text in files.items() if name.startswith("bin/")}
    return FileRecipe(
        files=below(folder, files) | ({} if project is None else below(base, skill_files())),
        entries=entries,
        trial=recipes.stub_trial(("/bin/sh", os.path.join(stub_folder, "command")), _TRIAL),
        status=status,
        folders=(folder,) if project is None else (),
        reads=tuple(own),
        switched_off=partial(recipes.all_off, own),
        denied=partial(recipes.denied_tools, own, "permissions", "deny"),
    )


def marketplace_steps(folder: str) -> list[str]:
    return [f"claude plugin marketplace add {folder}", f"claude plugin install {NAME}@{NAME}"]
