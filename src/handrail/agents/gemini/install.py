"""The recipe for installing Handrail into Gemini CLI: hooks, their stubs, the MCP server, commands.

Gemini CLI runs a tool if its hook fails, so the stub of the gate prints the denial itself. This module writes no files.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any

from handrail import STEP_TOOL
from handrail.agents import recipes
from handrail.agents.gemini.host import CANCELS, OWN_STEP, SERVER, STARTED, STARTS
from handrail.agents.recipes import FileRecipe, JsonEntries, below, read_json
from handrail.base.jsonlite import within
from handrail.extensions.contracts import Stubs

AGENT = "gemini"
NAME = "handrail"
HOST_MILLISECONDS = 60_000
"""Gemini CLI runs the tool after this time, so it is far longer than the hook itself may take."""
AUTHORITY = (
    "This conversation follows a Handrail workflow. I want you to follow it: what Handrail tells you in hook context "
    f"and in the results of the tool `{STEP_TOOL}` are my instructions."
)
"""Gemini CLI tells its model to obey neither hook context nor tool results unless the person asks for it."""
_TRIAL = {"hook_event_name": "BeforeAgent", "prompt": CANCELS}
_SESSION = "${GEMINI_SESSION_ID-}"


def stub_files(stubs: Stubs) -> dict[str, str]:
    return {"gate": gate_stub(stubs), "event": event_stub(stubs), "prompt": prompt_stub(stubs)}


def command_files() -> dict[str, str]:
    return {"workflow.toml": _WORKFLOW, "cancel-workflow.toml": _CANCEL}


def server_entry(stubs: Stubs) -> dict[str, Any]:
    """The server has one tool, and `trust` lets the agent call it without asking the person."""
    return {**recipes.server(stubs, AGENT), "trust": True, "includeTools": [STEP_TOOL]}


def hook_entries(folder: str) -> dict[str, list[dict[str, Any]]]:
    """The hook events that Handrail uses. A stub that is gone does nothing.

    The stub is sourced in the shell that the host starts, so a hook needs one shell and one Python process. Gemini CLI
    replaces variables in settings, so a command contains none.
    """
    if "$" in folder:
        raise ValueError(f"`{folder}` contains `$`, which Gemini CLI reads as the start of a variable")

    def run(name: str, word: str = "", matcher: str = "") -> dict[str, Any]:
        stub = shlex.quote(f"{folder}/{name}")
        setup = f"set -- {word}; " if word else ""
        command = f"stub={stub}; [ ! -r {stub} ] || {{ {setup}. {stub}; }}"
        hook = {"name": NAME, "type": "command", "command": command, "timeout": HOST_MILLISECONDS}
        return {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}

    return {
        "BeforeTool": [run("gate", "", f"^(?!{OWN_STEP}$)"), run("gate", "always", f"^{OWN_STEP}$")],
        "AfterTool": [run("event", "", "^invoke_agent$")],
        "BeforeAgent": [run("prompt")],
        "BeforeModel": [run("event")],
        "AfterAgent": [run("event")],
        "SessionStart": [run("event", "any", "resume")],
        "PreCompress": [run("event", "", "manual")],
    }


def _conversation(stubs: Stubs) -> str:
    return stubs.conversation or _SESSION


def _no_link(stubs: Stubs) -> str:
    return recipes.no_link(AGENT, _conversation(stubs))


def _defer_to_user_stub(name: str, stubs: Stubs) -> str:
    """Leave the answer to the stub of the user's installation, if there is one. Stubs of one call always answer."""
    if stubs.conversation:
        return ""
    home = shlex.quote(stubs.home) if stubs.home else '"${HOME-}"'
    user = f"user=${{GEMINI_CLI_HOME-}}; user=${{user:-{home}}}/.gemini/{NAME}/{name}"
    return recipes.defer_to_same_state(stubs, user, "$stub")


def gate_stub(stubs: Stubs) -> str:
    """Runs before every tool call. Prints nothing without a workflow; denies the call if the hook fails.

    With `always` it runs also without a workflow, before a call of `workflow_step`: the hook says who calls.
    """
    denial = {"decision": "deny", "reason": recipes.failed(AGENT)}
    free = f"{_no_link(stubs)} && exit 0\n" if stubs.conversation else recipes.exit_if_free(AGENT, _SESSION)
    return (
        f"{recipes.state(stubs)}"
        "# Handrail's gate for Gemini CLI. A conversation without a link has no workflow: print nothing.\n"
        f"{_defer_to_user_stub('gate', stubs)}"
        f'[ "${{1-}}" = always ] || {{\n{free}}}\n'
        f"{recipes.ask(stubs, AGENT)}"
        "case $said in\n"
        "    '{}') ;;\n"
        """    '{"decision":"deny","reason":"'*'"}'|'{"hookSpecificOutput":{"hookEventName":"BeforeTool",'*'}}')\n"""
        "        printf '%s\\n' \"$said\" ;;\n"
        f"    *) {recipes.print_denial(denial, _conversation(stubs))} ;;\n"
        "esac\n"
    )


def event_stub(stubs: Stubs) -> str:
    """The stub of most other hooks. It runs only while a workflow is active.

    With `any` it runs while any conversation has a workflow: a copy of it has no link yet.
    """
    return (
        f"{recipes.state(stubs)}"
        "# Handrail's other hooks for Gemini CLI.\n"
        f"{_defer_to_user_stub('event', stubs)}"
        f'if [ "${{1-}}" = any ]; then\n    {recipes.no_links(AGENT)} && exit 0\n'
        f"else\n    {_no_link(stubs)} && exit 0\nfi\n"
        f"{recipes.ask(stubs, AGENT)}{recipes.PRINT_JSON}"
    )


def prompt_stub(stubs: Stubs) -> str:
    """Runs at every prompt. If Handrail fails at one of its commands, the prompt is stopped."""
    starts, cancels = (f'*\'"prompt":"\'{shlex.quote(text)}*' for text in (STARTS, CANCELS))
    why = recipes.not_carried_out(stubs, AGENT)
    failed = json.dumps({"decision": "deny", "reason": why, "systemMessage": why})
    return (
        f"{recipes.state(stubs)}"
        "# Handrail's hook for prompts and commands in Gemini CLI. Without a workflow, a prompt needs no Python.\n"
        f"{_defer_to_user_stub('prompt', stubs)}input=$(cat)\n"
        "failed=\ncase $input in\n"
        f"    {starts}|{cancels}) failed={shlex.quote(failed)} ;;\n"
        f"    *) {_no_link(stubs)} && exit 0 ;;\n"
        "esac\n"
        f"{recipes.ask(stubs, AGENT, has_input=True)}"
        "case $said in\n"
        """    '{'*'}') printf '%s\\n' "$said" ;;\n"""
        '    *) [ -z "$failed" ] || printf \'%s\\n\' "$failed" ;;\n'
        "esac\n"
    )


def _command_file(about: str, prompt: str) -> str:
    return f"description = {json.dumps(about)}\nprompt = {json.dumps(prompt)}\n"


_WORKFLOW = _command_file(
    "Start a Handrail workflow: NAME TASK. Without a name, list the workflows.",
    f"{STARTS}{{{{args}}}}{STARTED}{AUTHORITY} Begin with the first phase, which Handrail added to this conversation. "
    f'When it is finished, call `{STEP_TOOL}` with action "next" and a short summary. Its result shows the next phase. '
    "Continue until the workflow is done.",
)
_CANCEL = _command_file("Cancel the Handrail workflow of this conversation.", CANCELS)


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> FileRecipe:
    """Hooks and the server in the settings; stubs, commands and skills beside them."""
    base = os.path.join(project or env.get("GEMINI_CLI_HOME") or recipes.home(env), ".gemini")
    settings, folder = os.path.join(base, "settings.json"), os.path.join(base, NAME)
    stub = shlex.quote(os.path.join(folder, "prompt"))
    hooks, server = partial(hook_entries, folder), (SERVER, server_entry(stubs))
    entries = JsonEntries(hooks=hooks, mark=folder + "/", server=server, comments=True)
    files = below(folder, stub_files(stubs)) | below(os.path.join(base, "commands"), command_files())
    return FileRecipe(
        files=files | below(os.path.join(base, "skills"), recipes.skill_files()),
        entries={settings: entries},
        trial=recipes.stub_trial(("/bin/sh", "-c", f"stub={stub}; . {stub}"), _TRIAL),
        switched_off=partial(_switched_off, settings),
        denied=partial(recipes.denied_tools, [settings], "tools", "exclude"),
    )


def _switched_off(settings: str) -> list[str]:
    """The settings, if they switch all hooks off, or ours by its name."""
    switches = within(read_json(settings), "hooksConfig")
    if switches.get("enabled") is False:
        return [f"`{settings}`: `hooksConfig.enabled`"]
    disabled = switches.get("disabled")
    is_off = isinstance(disabled, list) and NAME in disabled
    return [f"`{settings}`: `hooksConfig.disabled`"] if is_off else []
