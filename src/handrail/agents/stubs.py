"""Parts of the shell stubs that agents run as hooks. Pure.

A stub costs one shell while no workflow is active: it looks for the link of the conversation before it starts Python.
"""

from __future__ import annotations

import shlex

from handrail import FOR_ONE_CALL
from handrail.contracts import Stubs

FAILED = "Handrail's gate failed, so this tool stays blocked while the workflow is active."
LINK = '"$link"'


def state(stubs: Stubs) -> str:
    """Sets `state`. The folder of the installation wins over the environment, which an agent may be able to change.

    Without one, `state` is as in `handrail.project`; it stays empty if there is no home, and then Python decides.
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
    is_empty = f'{{ for link in "$state/hosts/{agent}"/*; do break; done; {_is_absent(LINK)}; }}'
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


def defer(stubs: Stubs, user: str) -> str:
    """Exit if this is not the user's installation and there is one: then only the user's installation answers.

    `user` is a line that sets `user` to the same stub in the user's installation. A stub whose first line names another
    state folder knows nothing about our sessions, so both answer.
    """
    end = "exit 0"
    if stubs.state:
        first = shlex.quote(state(stubs).rstrip("\n"))
        end = f'IFS= read -r theirs < "$user"\n    case $theirs in {first}) exit 0 ;; state=*) ;; *) exit 0 ;; esac'
    return f'{user}\nif [ -r "$user" ] && ! [ "${{stub:-$0}}" -ef "$user" ]; then\n    {end}\nfi\n'


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


def status_line(stubs: Stubs, agent: str, is_free: str, foreign: str | None) -> str:
    """The stub of a status line: first the existing one, then ours. `is_free` is a condition: there is no workflow."""
    before = f"printf '%s' \"$input\" | /bin/sh -c {shlex.quote(foreign)}\n" if foreign else ""
    return (
        f"{state(stubs)}"
        "# Handrail's status line.\n"
        f"input=$(cat)\n{before}{is_free} && exit 0\n"
        f"printf '%s' \"$input\" | {hook(stubs, agent, 'status-line')}\n"
    )
