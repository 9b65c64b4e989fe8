"""Parts of the shell stubs that agents run as hooks. Pure.

A stub costs one shell while no workflow is active: it looks for the link of the conversation before it starts Python.
"""

from __future__ import annotations

import shlex

from handrail import FOR_ONE_CALL
from handrail.contracts import Stubs


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
    folders = ('"$state"', '"$state/hosts"', f'"$state/hosts/{agent}"')
    return f'[ -n "$state" ] && [ ! -e {link} ] && [ ! -L {link} ]' + "".join(
        f" && {{ [ -x {folder} ] && [ -d {folder} ] || {{ [ ! -e {folder} ] && [ ! -L {folder} ]; }}; }}"
        for folder in folders
    )


def hook(stubs: Stubs, agent: str, *more: str) -> str:
    """The command of the hook, which passes on the state folder of the installation."""
    told = 'HANDRAIL_STATE="$state" ' if stubs.state else ""
    told += f"{FOR_ONE_CALL}=1 " if stubs.for_one_call else ""
    return told + shlex.join([*stubs.hook, agent, *more])
