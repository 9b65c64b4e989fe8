"""What Gemini CLI gets from Handrail: hooks, their shell stubs, the MCP server, commands. Pure: others write the files.

Gemini CLI runs a tool if its hook fails, so the stub of the gate prints the denial itself.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from handrail import STEP_TOOL
from handrail.agents import stubs as shell
from handrail.agents.gemini.prompts import CANCELS, STARTED, STARTS
from handrail.agents.gemini.tools import OWN_STEP, SERVER
from handrail.contracts import Stubs

AGENT = "gemini"
NAME = "handrail"
HOST_MILLISECONDS = 60_000
"""Gemini CLI runs the tool after this time, so it is far longer than the hook itself may take."""
AUTHORITY = (
    "This conversation follows a Handrail workflow. I want you to follow it: what Handrail tells you in hook context "
    f"and in the results of the tool `{STEP_TOOL}` are my instructions."
)
"""Gemini CLI tells its model to obey neither hook context nor tool results unless the person asks for it."""
FAILED = f"{shell.FAILED} A person can cancel the workflow with: handrail cancel --yes --session {AGENT}-SESSION"
_SESSION = "${GEMINI_SESSION_ID-}"


def files(stubs: Stubs) -> dict[str, str]:
    """The stubs: name → content."""
    return {"gate": gate_stub(stubs), "event": event_stub(stubs), "prompt": prompt_stub(stubs)}


def commands() -> dict[str, str]:
    """The commands that a person types: name of the file → content."""
    return {"workflow.toml": _WORKFLOW, "cancel-workflow.toml": _CANCEL}


def settings(stubs: Stubs, folder: str) -> dict[str, Any]:
    """Our entries in settings: the hooks with the stubs in this folder, and the server of `workflow_step`."""
    return {"hooks": hooks(folder), "mcpServers": {SERVER: server(stubs)}}


def server(stubs: Stubs) -> dict[str, Any]:
    """The server has one tool, and `trust` lets the agent call it without asking the person."""
    command, *args = [*stubs.handrail, "mcp", "--agent", AGENT]
    env = shell.variables(stubs)
    return {
        "command": command,
        "args": args,
        **({"env": env} if env else {}),
        "trust": True,
        "includeTools": [STEP_TOOL],
    }


def hooks(folder: str) -> dict[str, list[dict[str, Any]]]:
    """The hook events that Handrail uses. A stub that is gone does nothing.

    The stub is sourced in the shell that the host starts, so a hook needs one shell and one Python process. Gemini CLI
    replaces variables in settings, so a command contains none.
    """
    if "$" in folder:
        raise ValueError(f"`{folder}` contains `$`, which Gemini CLI reads as the start of a variable")

    def run(name: str, word: str = "", matcher: str = "") -> dict[str, Any]:
        stub = shlex.quote(f"{folder}/{name}")
        given = f"set -- {word}; " if word else ""
        command = f"stub={stub}; [ ! -r {stub} ] || {{ {given}. {stub}; }}"
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
    return shell.no_link(AGENT, _conversation(stubs))


def _defer_to_user_stub(name: str, stubs: Stubs) -> str:
    """Exit if this is not the user's installation and there is one: then only the user's installation answers.

    But a stub whose first line names another state folder knows nothing about our sessions, so both answer. Stubs of
    one call always answer.
    """
    if stubs.conversation:
        return ""
    home = shlex.quote(stubs.home) if stubs.home else '"${HOME-}"'
    first = shlex.quote(shell.state(stubs).splitlines()[0])
    return (
        f"user=${{GEMINI_CLI_HOME-}}; user=${{user:-{home}}}/.gemini/{NAME}/{name}\n"
        f'if [ -r "$user" ] && ! [ "$stub" -ef "$user" ]; then\n'
        '    IFS= read -r theirs < "$user"\n'
        f"    case $theirs in {first}) exit 0 ;; esac\n"
        "fi\n"
    )


def gate_stub(stubs: Stubs) -> str:
    """Runs before every tool call. Prints nothing without a workflow; denies the call if the hook fails.

    With `always` it runs also without a workflow, before a call of `workflow_step`: the hook says who calls.
    """
    before, after = (shlex.quote(part) for part in json.dumps({"decision": "deny", "reason": FAILED}).split("SESSION"))
    return (
        f"{shell.state(stubs)}"
        "# Handrail's gate for Gemini CLI. A conversation without a link has no workflow: print nothing.\n"
        f'{_defer_to_user_stub("gate", stubs)}[ "${{1-}}" = always ] || {{ {_no_link(stubs)} && exit 0; }}\n'
        f"{shell.ask(stubs, AGENT)}"
        "case $said in\n"
        "    '{}') ;;\n"
        """    '{"decision":"deny","reason":"'*'"}'|'{"hookSpecificOutput":{"hookEventName":"BeforeTool",'*'}}')\n"""
        "        printf '%s\\n' \"$said\" ;;\n"
        f"    *) printf '%s%s%s\\n' {before} \"{_conversation(stubs)}\" {after} ;;\n"
        "esac\n"
    )


def event_stub(stubs: Stubs) -> str:
    """The stub of most other hooks. It runs only while a workflow is active.

    With `any` it runs while any conversation has a workflow: a copy of it has no link yet.
    """
    return (
        f"{shell.state(stubs)}"
        "# Handrail's other hooks for Gemini CLI.\n"
        f"{_defer_to_user_stub('event', stubs)}"
        f'if [ "${{1-}}" = any ]; then\n    {shell.no_links(AGENT)} && exit 0\n'
        f"else\n    {_no_link(stubs)} && exit 0\nfi\n"
        f"{shell.ask(stubs, AGENT)}"
        """case $said in '{'*'}') printf '%s\\n' "$said" ;; esac\n"""
    )


def prompt_stub(stubs: Stubs) -> str:
    """Runs at every prompt. If Handrail fails at one of its commands, the prompt is stopped."""
    starts, cancels = (f'*\'"prompt":"\'{shlex.quote(text)}*' for text in (STARTS, CANCELS))
    why = (
        f"Handrail did not carry out this command: {shlex.join(stubs.hook)} failed or took too long. "
        f"Install it again in a terminal, then repeat the command: handrail install {AGENT}"
    )
    failed = json.dumps({"decision": "deny", "reason": why, "systemMessage": why})
    return (
        f"{shell.state(stubs)}"
        "# Handrail's hook for prompts and commands in Gemini CLI. Without a workflow, a prompt needs no Python.\n"
        f"{_defer_to_user_stub('prompt', stubs)}input=$(cat)\n"
        "failed=\ncase $input in\n"
        f"    {starts}|{cancels}) failed={shlex.quote(failed)} ;;\n"
        f"    *) {_no_link(stubs)} && exit 0 ;;\n"
        "esac\n"
        f"{shell.ask(stubs, AGENT, has_input=True)}"
        "case $said in\n"
        """    '{'*'}') printf '%s\\n' "$said" ;;\n"""
        '    *) [ -z "$failed" ] || printf \'%s\\n\' "$failed" ;;\n'
        "esac\n"
    )


def _command(about: str, prompt: str) -> str:
    return f"description = {json.dumps(about)}\nprompt = {json.dumps(prompt)}\n"


_WORKFLOW = _command(
    "Start a Handrail workflow: NAME TASK. Without a name, list the workflows.",
    f"{STARTS}{{{{args}}}}{STARTED}{AUTHORITY} Begin with the first phase, which Handrail added to this conversation. "
    f'When it is finished, call `{STEP_TOOL}` with action "next" and a short summary. Its result shows the next phase. '
    "Continue until the workflow is done.",
)
_CANCEL = _command("Cancel the Handrail workflow of this conversation.", CANCELS)
