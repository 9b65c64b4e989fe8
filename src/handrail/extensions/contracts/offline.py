"""What an agent has so that it can be run offline against a scripted model: `agents/NAME/offline.py`.

`handrail doctor AGENT --probe` and the tests use it. No other command imports it. A call of a tool and a turn of the
model are those of `agents.probe.scripted_model`, a higher layer than this module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

URL, PROJECT, PROMPT = "@URL@", "@PROJECT@", "@PROMPT@"
"""Placeholders in options, variables and files: the model's address, the project's folder, the prompt."""
AnyPath: TypeAlias = str | os.PathLike[str]
HomeFiles: TypeAlias = Mapping[str, str]
"""Path below the home → content."""


def filled(text: str, url: str, project: AnyPath) -> str:
    """A text with its placeholders replaced."""
    return text.replace(URL, url).replace(PROJECT, os.fspath(project))


class Offline(Protocol):
    """One agent. `OPTIONS` is its documented headless command line, which prints one JSON line per event.

    If the options do not contain the prompt, it is passed on stdin. `ENVIRONMENT` and `FILES` lead it to the model and
    switch off telemetry and updates; `HOST_FILES` are added or replaced if it works with Handrail installed. `PASSED`
    are variables of the user that it needs. `STEP` is the name with which the model calls `workflow_step`, `NOTE` that
    of the tool `add` of the MCP server `probe`; None if the agent has no MCP servers. `SETTINGS` is the file that
    `loosened` changes.
    """

    PROTOCOL: type[Any]
    OPTIONS: tuple[str, ...]
    ENVIRONMENT: Mapping[str, str]
    FILES: HomeFiles
    HOST_FILES: HomeFiles
    PASSED: tuple[str, ...]
    STEP: str
    NOTE: str | None
    SETTINGS: str

    def write(self, path: AnyPath, text: str) -> Any:
        """The call that writes a new file."""
        ...

    def edit(self, path: AnyPath, old: str, new: str) -> Any:
        """The call that changes a line of a file which was read before."""
        ...

    def read(self, path: AnyPath) -> Any: ...

    def shell(self, command: str) -> Any: ...

    def subagent(self, program: str, task: str) -> Any:
        """The call that starts a subagent and waits for it. Its requests take the next turns of the script."""
        ...

    def report(self, text: str) -> Any:
        """The turn with which a subagent ends."""
        ...

    def argv(self, program: str, prompt: str, thread: str | None, home: AnyPath) -> list[str]:
        """The command line with which the probe starts it: a new conversation, or one that continues `thread`."""
        ...

    def thread(self, output: str) -> str | None:
        """The agent's own id of the conversation, from what it printed."""
        ...

    def with_server(self, command: list[str]) -> HomeFiles:
        """Files that add the MCP server `probe`, which this command starts."""
        ...

    def with_rewrite(self, home: AnyPath, command: str) -> HomeFiles:
        """Files that add a hook which replaces the command of every call of the shell."""
        ...

    def loosened(self, text: str) -> str:
        """The text of `SETTINGS` if a person switches hooks off."""
        ...
