"""What the recipes of several agents share: parts of shell stubs, skills, and messages that try a stub.

A stub costs one shell while no workflow is active: it looks for the link of the conversation before it starts Python.
Every agent that Handrail is installed into gets the skills that come with Handrail.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from typing import Any

import handrail
from handrail import FOR_ONE_CALL
from handrail.extensions.contracts import Stubs
from handrail.extensions.contracts.agent import StubTrial
from handrail.source import text_edits

SESSION = "SESSION"
"""Stands for the id of the conversation in a text that a stub prints."""
EMPTY = "{}\n"
PRINT_JSON = """case $said in '{'*'}') printf '%s\\n' "$said" ;; esac\n"""


def home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


def state(stubs: Stubs) -> str:
    """Sets `state`. The folder of the installation wins over the environment, which an agent may be able to change.

    Without one, `state` is as in `settings.folders`; it stays empty if there is no home, and then Python decides.
    """
    if stubs.state:
        return f"state={shlex.quote(stubs.state)}\n"
    return """\
state=${HANDRAIL_STATE:-${HANDRAIL_HOME:+$HANDRAIL_HOME/state}}
if [ -z "$state" ]; then
    case ${XDG_STATE_HOME-} in
        /*) state=$XDG_STATE_HOME/handrail ;;
        *) state=${HOME:+$HOME/.local/state/handrail} ;;
    esac
fi
"""


def no_link(agent: str, conversation: str) -> str:
    """A condition: there surely is no link for this conversation, which is an expansion such as `${ID-}`.

    A link to nothing, and a folder that cannot be searched, are left to the hook.
    """
    link = f'"$state/hosts/{agent}/{conversation}"'
    return f'[ -n "$state" ] && {_is_absent(link)}' + _readable(agent)


def no_links(agent: str) -> str:
    """A condition: there surely is no link for any conversation of this agent, which sets no variable with its id."""
    absent = _is_absent('"$link"')
    is_empty = f'{{ for link in "$state/hosts/{agent}"/*; do break; done; {absent}; }}'
    return f'[ -n "$state" ] && {is_empty}' + _readable(agent)


def _readable(agent: str) -> str:
    """Conditions: each folder above the links can be searched and listed, or it does not exist."""
    return "".join(
        f" && {{ [ -d {folder} ] && [ -r {folder} ] && [ -x {folder} ] || {{ {_is_absent(folder)}; }}; }}"
        for folder in ('"$state"', '"$state/hosts"', f'"$state/hosts/{agent}"')
    )


def _is_absent(path: str) -> str:
    return f"[ ! -e {path} ] && [ ! -L {path} ]"


def variables(stubs: Stubs) -> dict[str, str]:
    """The variables that tell Handrail which state folder and which conversation its stubs belong to."""
    named = {"HANDRAIL_STATE": stubs.state, FOR_ONE_CALL: stubs.conversation}
    return {name: value for name, value in named.items() if value}


SECONDS = 12
"""After this time a stub kills its hook. The hook itself ends earlier, unless its interpreter does not even start."""


def hook(stubs: Stubs, agent: str, *more: str) -> str:
    """The command of the hook, which passes on the state folder of the installation."""
    told = 'HANDRAIL_STATE="$state" ' if stubs.state else ""
    told += f"{FOR_ONE_CALL}={shlex.quote(stubs.conversation)} " if stubs.conversation else ""
    return told + shlex.join([*stubs.hook, agent, *more])


def defer_to_user(stubs: Stubs, user: str) -> str:
    """Exit if this is not the user's installation and there is one: then only the user's installation answers.

    `user` is a line that sets `user` to the same stub in the user's installation. A stub whose first line names another
    state folder knows nothing about our sessions, so both answer.
    """
    end = "exit 0"
    if stubs.state:
        first = shlex.quote(state(stubs).rstrip("\n"))
        end = f'IFS= read -r theirs < "$user"\n    case $theirs in {first}) exit 0 ;; state=*) ;; *) exit 0 ;; esac'
    return f'{user}\nif [ -r "$user" ] && ! [ "${{stub:-$0}}" -ef "$user" ]; then\n    {end}\nfi\n'


def defer_to_same_state(stubs: Stubs, user: str, own: str) -> str:
    """As `defer_to_user`, but only if the first line of the user's stub is the same. `own` expands to this stub."""
    first = shlex.quote(state(stubs).split("\n")[0])
    return (
        f"{user}\n"
        f'if [ -r "$user" ] && ! [ "{own}" -ef "$user" ]; then\n'
        '    IFS= read -r theirs < "$user"\n'
        f"    case $theirs in {first}) exit 0 ;; esac\n"
        "fi\n"
    )


def failed(agent: str) -> str:
    """Why a tool is denied if the hook fails."""
    why = "Handrail's gate failed, so this tool stays blocked while the workflow is active."
    return f"{why} A person can cancel the workflow with: handrail cancel --yes --session {agent}-{SESSION}"


def print_denial(answer: Mapping[str, Any], conversation: str) -> str:
    """A command that prints the answer with the id of the conversation, which is an expansion such as `$id`."""
    before, after = (shlex.quote(part) for part in json.dumps(answer).split(SESSION))
    return f"""printf '%s%s%s\\n' {before} "{conversation}" {after}"""


def not_carried_out(stubs: Stubs, agent: str) -> str:
    """What a person reads if the hook fails at a command."""
    return (
        f"Handrail did not carry out this command: {shlex.join(stubs.hook)} failed or took too long. "
        f"Install it again in a terminal, then repeat the command: handrail install {agent}"
    )


def server(stubs: Stubs, agent: str) -> dict[str, Any]:
    """How the MCP server with `workflow_step` is started, as an entry in a list of servers."""
    command, *args = [*stubs.handrail, "mcp", "--agent", agent]
    env = variables(stubs)
    return {"command": command, "args": args, **({"env": env} if env else {})}


def ask(stubs: Stubs, agent: str, *, has_input: bool = False) -> str:
    """Sets `said` to the answer of the hook; empty if it fails, or if it takes too long and is killed.

    For hosts that allow a call if a hook takes too long. The message is `$input` if the stub has read it, else stdin.
    Only `sh` and `sleep` are needed: some systems have no `timeout`.
    """
    given = "printf '%s\\n' \"$input\" | " if has_input else ""
    return (
        f"said=$({given}{{\n"
        "    exec 3<&0\n"
        f"    {hook(stubs, agent)} <&3 & hook=$!\n"
        f"    ( sleep {SECONDS} & rest=$!; trap 'kill $rest; exit' TERM; wait $rest; kill -9 $hook ) "
        ">/dev/null 2>&1 3<&- & guard=$!\n"
        "    { wait $hook; } 2>/dev/null; code=$?\n"
        "    kill $guard 2>/dev/null\n"
        "    exit $code\n"
        "}) || said=\n"
    )


def status_line_stub(stubs: Stubs, agent: str, is_free: str, settings: str | None) -> str:
    """The stub of a status line: first the one of the settings, then ours. `is_free`: there is no workflow."""
    existing = json.loads(settings or EMPTY).get("statusLine")
    foreign = existing.get("command") if isinstance(existing, dict) else None
    before = ""
    if isinstance(foreign, str) and foreign:
        before = f"printf '%s' \"$input\" | /bin/sh -c {shlex.quote(foreign)}\n"
    return (
        f"{state(stubs)}"
        "# Handrail's status line.\n"
        f"input=$(cat)\n{before}{is_free} && exit 0\n"
        f"printf '%s' \"$input\" | {hook(stubs, agent, 'status-line')}\n"
    )


def add_status_line(text: str, stub: str, **more: int) -> str:
    """The settings with our status line. `more` are its members if there is none yet."""
    own = {"type": "command", "command": f"/bin/sh {shlex.quote(stub)}"}
    old = json.loads(text).get("statusLine")
    if isinstance(old, dict):
        return text_edits.replace_value(text, ("statusLine",), {**old, **own})
    return text_edits.add_member(text, (), "statusLine", {**own, **more})


def restore_status_line(text: str, stub: str, before: str | None) -> str:
    """The settings with the status line that they had before, unless ours is no longer in them."""
    now, old = (json.loads(settings or EMPTY).get("statusLine") for settings in (text, before))
    if not isinstance(now, dict) or stub not in str(now.get("command")):
        return text
    if old is not None:
        return text_edits.replace_value(text, ("statusLine",), old)
    return text_edits.remove_member(text, ("statusLine",))


def unless_new(text: str, before: str | None) -> str | None:
    """The text of a JSON file; None if the file was new and nothing is in it."""
    return None if before is None and text.strip() in ("{}", "") else text


def skill_files() -> dict[str, str]:
    """Path below a folder of skills → text, for the skill that a model may use by itself."""
    with open(os.path.join(handrail.__path__[0], "builtin", "skills", "write-workflow.md"), encoding="utf-8") as file:
        return {"write-workflow/SKILL.md": file.read()}


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def compact_json(message: Mapping[str, Any]) -> str:
    """A message as agents write it: stubs look for fields in the text, without spaces between them."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False) + "\n"


def served_trial(stubs: Stubs, agent: str, params: Mapping[str, Any]) -> StubTrial:
    """A message for the process that a plugin keeps. It ends when its input ends."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "hook", "params": params}
    argv = (*stubs.handrail, "serve", "--stdio", "--agent", agent)
    return StubTrial(argv, compact_json(message), variables(stubs))


def read_json(path: str) -> dict[str, Any]:
    """The object in a JSON file that may have comments; empty if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.loads(text_edits.without_comments(file.read()))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
