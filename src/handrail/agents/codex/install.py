"""The recipe for installing Handrail into Codex: hooks with their hashes, stubs, server, commands.

Hooks are in `hooks.json`, the MCP server in `config.toml`. Codex runs a hook only if the user's `config.toml` has the
hash of its definition under its place in `hooks.json`: this adds the hashes of our hooks and of no others. Ours are the
last ones of their event, so that the places of the person's own hooks stay the same. If a hook fails or takes too long,
Codex goes on as if there were none, so a stub has to end in time and to deny by itself. Writes no files.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from handrail import STEP_TOOL
from handrail.agents import recipes
from handrail.agents.codex.host import AGENT_SHELL, OWN_STEP
from handrail.agents.recipes import FileRecipe, JsonEntries, below, compact_json, read_json
from handrail.base.jsonlite import within
from handrail.extensions.contracts import Stubs
from handrail.source import text_edits

NAME = "handrail"
AGENT = "codex"
HOST_SECONDS = 20
FLAGS = "/<session-flags>/config.toml"
"""What Codex calls the place of hooks that are given on its command line."""
_TRIAL = {"hook_event_name": "UserPromptSubmit", "prompt": "$cancel-workflow"}
_UNLIMITED = 0
"""Codex cuts a longer text of a hook, unless this is its limit."""
_OURS = '*\'"prompt":"\'[$/]workflow*|*\'"prompt":"\'[$/]cancel-workflow*'


def hook_groups(folder: str) -> dict[str, dict[str, Any]]:
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


def trusted_hashes(place: str, groups: dict[str, dict[str, Any]], at: dict[str, int]) -> dict[str, str]:
    """The keys and hashes with which Codex trusts our hooks. `place` is their file, `at` their index by event."""
    hashes = {}
    for event, group in groups.items():
        name = "".join(f"_{char.lower()}" if char.isupper() else char for char in event).lstrip("_")
        about = {**group, "event_name": name, "hooks": [{**hook, "async": False} for hook in group["hooks"]]}
        text = json.dumps(about, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        key = f"{place}:{name}:{at.get(event, 0)}:0"
        hashes[key] = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    return hashes


def server_entry(stubs: Stubs, passed: list[str]) -> dict[str, Any]:
    """The entry of the MCP server. Codex hides most of its environment from a server; `passed` are names to pass on.

    An exit check may take long, so a call may. Without `omit_tools_from`, some models do not see the tool.
    """
    return {
        **recipes.server(stubs, AGENT),
        "env": recipes.variables(stubs),
        "env_vars": passed,
        "omit_tools_from": ["deferred", "code_mode"],
        "default_tools_approval_mode": "approve",
        "tool_timeout_sec": 7200,
    }


def stub_files(stubs: Stubs, user: str = "") -> dict[str, str]:
    """Name → text of each stub. `user` is the folder of the user's stubs, if these are a project's."""
    return {"gate": gate_stub(stubs, user), "prompt": prompt_stub(stubs, user), "event": event_stub(stubs, user)}


def _begin(stubs: Stubs, name: str, user: str) -> str:
    """Set `state`. Of two installations with the same state folder, only the user's one answers."""
    text = recipes.state(stubs)
    if not user or stubs.conversation:
        return text
    return text + recipes.defer_to_same_state(stubs, f"user={shlex.quote(f'{user}/{name}')}", "$0")


def _no_link(stubs: Stubs) -> str:
    """Set `input` and `id`, and a condition: there surely is no workflow. `id` is the conversation of the message."""
    if stubs.conversation:
        id_ = shlex.quote(stubs.conversation)
        return f"input=$(cat)\nid={id_}\n{recipes.no_link(AGENT, '$id')}"
    read = (
        "input=$(cat)\n"
        "id=\n"
        """case $input in '{"session_id":"'*) id=${input#'{"session_id":"'}; id=${id%%'"'*} ;; esac\n"""
        "case $id in *[!0-9A-Za-z-]*) id= ;; esac\n"
    )
    return f'{read}[ -n "$id" ] && {recipes.no_link(AGENT, "$id")}'


def gate_stub(stubs: Stubs, user: str = "") -> str:
    """Runs before every tool call. Prints nothing without a workflow; denies the call if the hook fails."""
    why = recipes.failed(AGENT)
    denial = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why}
    return (
        f"{_begin(stubs, 'gate', user)}"
        "# Handrail's gate for Codex. A conversation without a link has no workflow: print nothing.\n"
        f"{recipes.no_links(AGENT)} && exit 0\n"
        f"{_no_link(stubs)} && exit 0\n"
        f"{recipes.ask(stubs, AGENT, has_input=True)}"
        "case $said in\n"
        "    '{}') ;;\n"
        """    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'*'}}') """
        """printf '%s\\n' "$said" ;;\n"""
        f"    *) {recipes.print_denial({'hookSpecificOutput': denial}, '$id')} ;;\n"
        "esac\n"
        "exit 0\n"
    )


def event_stub(stubs: Stubs, user: str = "") -> str:
    """The stub of most other hooks. Without a workflow it does nothing, unless a fork of one may begin."""
    return (
        f"{_begin(stubs, 'event', user)}"
        "# Handrail's other hooks for Codex.\n"
        f"{recipes.no_links(AGENT)} && exit 0\n"
        f'{_no_link(stubs)} && case $input in *\'"source":"fork"\'*) false ;; *) true ;; esac && exit 0\n'
        f"{recipes.ask(stubs, AGENT, has_input=True)}{recipes.PRINT_JSON}"
        "exit 0\n"
    )


def prompt_stub(stubs: Stubs, user: str = "") -> str:
    """Runs at every prompt. If Handrail fails at a command of ours, it is stopped, and the model is told nothing."""
    why = recipes.not_carried_out(stubs, AGENT)
    return (
        f"{_begin(stubs, 'prompt', user)}"
        "# Handrail's answer to prompts in Codex. A prompt without a workflow needs Python only if it is a command.\n"
        f'{_no_link(stubs)} && case $input in *\'"prompt":"\'*workflow*) false ;; *) true ;; esac && exit 0\n'
        f"{recipes.ask(stubs, AGENT, has_input=True)}"
        "case $said in\n"
        """    '{'*'}') printf '%s\\n' "$said" ;;\n"""
        f"    *) case $input in {_OURS})\n"
        f"        printf '%s\\n' {shlex.quote(json.dumps({'decision': 'block', 'reason': why}))} ;;\n"
        "    esac ;;\n"
        "esac\n"
        "exit 0\n"
    )


def command_skills() -> dict[str, str]:
    """Path below the folder of skills → content. A skill makes its name known and completes it; the hook does the rest.

    The model gets no list of skills that only a person may use.
    """
    policy = "policy:\n  allow_implicit_invocation: false\n"
    texts = {"workflow": WORKFLOW_SKILL, "cancel-workflow": CANCEL_SKILL}
    files = {f"{name}/SKILL.md": text for name, text in texts.items()}
    return files | {f"{name}/agents/openai.yaml": policy for name in texts}


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


_NOTE = "added by `handrail install codex`"
_PASSED = [
    "CARGO_HOME", "CI", "CONDA_PREFIX", "GOPATH", "GOROOT", "HANDRAIL_HOME", "JAVA_HOME", "NODE_ENV", "NODE_OPTIONS",
    "NODE_PATH", "NVM_DIR", "PYENV_ROOT", "PYTHONPATH", "RUSTUP_HOME", "VIRTUAL_ENV", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
]  # fmt: skip
"""Variables that programs of exit checks often need. A person may add others to the entry of the server."""


def recipe(env: Mapping[str, str], project: str | None, stubs: Stubs) -> FileRecipe:
    """Hooks in `hooks.json`, the server and the trust in `config.toml`; stubs, commands and skills beside them.

    The trust is in the user's settings, and is written last: it depends on the places of our hooks.
    """
    user = env.get("CODEX_HOME") or os.path.join(recipes.home(env), ".codex")
    base = user if project is None else os.path.join(project, ".codex")
    folder, config, trust = (os.path.join(base, NAME), *(os.path.join(one, "config.toml") for one in (base, user)))
    note = _NOTE if project is None else f"{_NOTE[:-1]} --project` in {json.dumps(project)}"
    hooks = _Hooks(os.path.join(base, "hooks.json"), folder)
    tables = {
        path: _Tables(note, stubs if path == config else None, hooks if path == trust else None)
        for path in (config, trust)
    }
    of_user = os.path.join(user, NAME) if project is not None else ""
    skills = below(os.path.join(base, "skills"), command_skills() | recipes.skill_files())
    return FileRecipe(
        files=below(folder, stub_files(stubs, of_user)) | skills,
        entries={hooks.path: hooks, **tables},
        trial=recipes.stub_trial(("/bin/sh", os.path.join(folder, "prompt")), _TRIAL, env={AGENT_SHELL: ""}),
        switched_off=partial(_switched_off, tables),
        untrusted=partial(_untrusted, hooks, trust),
        denied=partial(_denied, tables),
    )


class _Hooks:
    """Our hooks in `hooks.json`, after those of others. `places` are their places, which `add` finds."""

    def __init__(self, path: str, folder: str) -> None:
        self.path = path
        self.folder = folder
        self.groups = hook_groups(folder)
        self.places: dict[str, int] = {}

    def add(self, text: str | None) -> str:
        text = text or recipes.EMPTY
        present = within(json.loads(text), "hooks")
        for event, group in self.groups.items():
            before = present.get(event)
            self.places[event] = len(before) if isinstance(before, list) else 0
            text = text_edits.append_item(text, ("hooks", event), group)
        return text

    def strip(self, text: str, before: str | None) -> str | None:
        return JsonEntries(mark=self.folder).strip(text, before)


class _Tables:
    """Our tables in `config.toml`: the server of these stubs, and the hashes of these hooks."""

    def __init__(self, note: str, stubs: Stubs | None, hooks: _Hooks | None) -> None:
        self.note = note
        self.stubs = stubs
        self.hooks = hooks

    def add(self, text: str | None) -> str:
        """Add the tables. If a link leads to `hooks.json`, Codex may use either path as its place."""
        text, tables = text or "", dict[tuple[str, ...], dict[str, Any]]()
        if self.stubs is not None:
            text = text_edits.add_key(text, "features", "unified_exec_tty", False, self.note)
            tables[("mcp_servers", NAME)] = server_entry(self.stubs, _PASSED)
        if self.hooks is not None:
            for place in dict.fromkeys([os.path.abspath(self.hooks.path), os.path.realpath(self.hooks.path)]):
                hashes = trusted_hashes(place, self.hooks.groups, self.hooks.places)
                tables |= {("hooks", "state", key): {"trusted_hash": value} for key, value in hashes.items()}
        return text_edits.add_tables(text, tables, self.note)

    def strip(self, text: str, before: str | None) -> str | None:
        text = text_edits.remove_noted(text, self.note)
        return None if before is None and not text.strip() else text


def _untrusted(hooks: _Hooks, trust: str) -> list[str]:
    """Our hooks that Codex does not run, because the user's settings do not have their hashes."""
    trusted, present = within(_read_toml(trust), "hooks", "state"), within(read_json(hooks.path), "hooks")
    missing = []
    for event, group in hooks.groups.items():
        places = [at for at, entry in enumerate(present.get(event) or []) if hooks.folder in compact_json(entry)]
        keys = {event: ""}
        if places:
            keys = trusted_hashes(os.path.abspath(hooks.path), {event: group}, {event: places[-1]})
        missing += [key for key, value in keys.items() if within(trusted, key).get("trusted_hash") != value]
    return missing


def _switched_off(paths: Iterable[str]) -> list[str]:
    off = [path for path in paths if within(_read_toml(path), "features").get("hooks") is False]
    return [f"`{path}`: `features.hooks`" for path in off]


def _denied(paths: Iterable[str]) -> dict[str, str]:
    """The tools that these settings take away, each with its place: the shell, and ours if a list leaves it out."""
    found: dict[str, str] = {}
    for path in paths:
        settings = _read_toml(path)
        if within(settings, "features").get("shell_tool") is False:
            found["Bash"] = f"`{path}`: `features.shell_tool`"
        enabled_tools = within(settings, "mcp_servers", NAME).get("enabled_tools")
        if isinstance(enabled_tools, list) and STEP_TOOL not in enabled_tools:
            found[OWN_STEP] = f"`{path}`: `mcp_servers.{NAME}.enabled_tools`"
    return found


def _read_toml(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}
