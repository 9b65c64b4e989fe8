"""The program that a variable of the environment chooses for an agent: `AGENT_BIN` for the program `agent`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping


class NoSuchProgram(Exception):
    """A variable names something that cannot be started. The message says which, and what it names."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def variable_of(program: str) -> str | None:
    """The variable for a program's name; None for a path."""
    return None if os.sep in program else f"{program.upper().replace('-', '_')}_BIN"


def is_installed(program: str, env: Mapping[str, str]) -> bool:
    """True if a program is on the PATH, or chosen by its variable."""
    try:
        return chosen_program(program, env) is not None or shutil.which(program, path=env.get("PATH")) is not None
    except NoSuchProgram:
        return False


def chosen_program(program: str, env: Mapping[str, str]) -> str | None:
    """The path of the program that is used in place of this one. None if its variable is not set.

    The variable has the name of a program on the PATH or an absolute path. Raises `NoSuchProgram` for anything else.
    """
    variable = variable_of(program)
    named = env.get(variable, "") if variable else ""
    if not named:
        return None
    if os.sep in named and not os.path.isabs(named):
        raise NoSuchProgram(f"`{variable}` has to be an absolute path or the name of a program, found `{named}`")
    found = shutil.which(named, path=env.get("PATH"))
    if found is None:
        raise NoSuchProgram(f"`{variable}` names `{named}`, which is not a program that can be started")
    return os.path.abspath(found)
