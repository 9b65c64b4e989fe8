"""What AgentWeaver has around its scopes, in a project or in the home folder: flows, plugins, variables, a playbook."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from handrail.agentweaver.reading import FOLDER, Broken, entries, files_below, read_object, text_of
from handrail.importing.report import Item
from handrail.secrets.envfiles import FILE, project_may_set, read_env_file, unread_in
from handrail.source.plain import command_line, counted, some

MAX_BYTES = 1024 * 1024
PLUGINS = (
    "Handrail does not run JavaScript plugins: a plugin of a repository would run its code without being asked. Flows "
    "that use its nodes have problems at load; `command` steps, and prompts such as `claude-prompt`, can do most of "
    "what such nodes do"
)
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}|chat_id")
"""The names of variables that are shown. Other lines of such a file may be anything, also part of a secret."""


def around(base: str, where: str, problems: Mapping[str, int]) -> Iterator[Item]:
    """What is in `.agentweaver` of a folder besides scopes. `problems` is the number of problems of each flow file."""
    folder = os.path.join(base, FOLDER)
    for entry in files_below(os.path.join(folder, ".flows")):
        if os.path.splitext(entry.name)[1] in (".json", ".yaml", ".yml"):
            yield _flow(entry.path, where, problems.get(os.path.realpath(entry.path), 0))
    for entry in entries(os.path.join(folder, ".plugins")):
        if entry.is_dir(follow_symlinks=False):
            yield Item(kind="plugin", name=_plugin(entry), path=entry.path, result="left", note=PLUGINS)
    if os.path.exists(os.path.join(base, FILE)):
        yield _variables(os.path.join(base, FILE), where)
    playbook = os.path.join(folder, "playbook")
    if os.path.isfile(os.path.join(playbook, "manifest.yaml")):
        note = "Handrail reads it where it is"
        yield Item(kind="playbook", name="playbook", path=playbook, result="works", note=note)


def _flow(path: str, where: str, problems: int) -> Item:
    note = f"a flow of the {where}; Handrail loads it where it is"
    command = None
    if problems:
        note, command = f"{note}, but it has {counted(problems, 'problem')}", command_line("handrail", "validate", path)
    name = os.path.splitext(os.path.basename(path))[0]
    return Item(kind="flow", name=name, path=path, result="left" if problems else "works", note=note, command=command)


def _plugin(entry: os.DirEntry[str]) -> str:
    try:
        version = text_of(read_object(os.path.join(entry.path, "plugin.json"), MAX_BYTES), "version")
    except Broken:
        version = None
    return f"{entry.name} {version}" if version else entry.name


def _variables(path: str, where: str) -> Item:
    """The names of the variables in a file. Values are never shown."""
    names = list(read_env_file(path))
    shown = [name for name in names if _NAME.fullmatch(name)]
    told = [some(shown, 20)] if shown else []
    told += [counted(len(names) - len(shown), "other line")] if len(shown) < len(names) else []
    of = "home folder" if where == "home" else where
    note = f"read at every run; variables that are already set win: {', '.join(told) or 'nothing'}"
    if where == "project" and (unused := [name for name in shown if not project_may_set(name)]):
        note += f"; not used, because a project may only set variables of services: {some(unused, 20)}"
    note += "".join(f"; {wrong}" for wrong in unread_in(path))
    if models := [name for name in shown if name.endswith("_MODEL")]:
        note += f"; {some(models, 5)} does not choose a model here: `--model`, or a route in the settings does"
    return Item(kind="variables", name=f".env of the {of}", path=path, result="works", note=note)
