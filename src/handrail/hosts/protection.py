"""Files that no agent may change while a workflow is active: Handrail's state, and files that control its hooks.

Looks at the arguments of a call before it runs. Also tells whether an entry in such a file is still as Handrail wrote
it. Standard library only: this runs at every tool call.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from handrail.contracts import Host
    from handrail.contracts.messages import Call
    from handrail.project import Places

HOOK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hook.py")
_FOR_HOSTS = ("hook", "mcp", "serve")


def touched(host: Host, call: Call, cwd: str, places: Places, env: Mapping[str, str], project: str) -> str | None:
    """The first protected path that a call would change or run; None if its arguments show none."""
    if not call["writes"] and call["runs"] is None:
        return None
    guarded = (places.state, *host.protected(env, places.home, project))
    for path in call["writes"]:
        if _is_guarded(path, guarded, places.trees):
            return path
    if call["runs"] is None or call["runs"].isalnum():  # a single word has no arguments and no redirection
        return None
    from handrail.source.shell import changes, commands

    for change in changes(call["runs"], cwd, places.home):
        if _is_guarded(change.path, guarded, places.trees, holds=change.is_whole):
            return change.path
    for words in commands(call["runs"]):
        program = os.path.join(cwd, words[0].replace("~", places.home, 1) if words[0].startswith("~/") else words[0])
        if _is_call_of_hosts(words) or ("/" in words[0] and _is_guarded(program, guarded, places.trees)):
            return words[0]
    return None


def _is_call_of_hosts(words: list[str]) -> bool:
    """True if a command calls what only the stubs of a host call. Its message would count as the host's own."""
    for at, word in enumerate(words):
        if word == HOOK or word.endswith("/handrail/hook.py"):
            return True
        if os.path.basename(word) == "handrail":
            rest = words[at + 1 :]
            if rest[:1] == ["--project"]:
                rest = rest[2:]
            if rest and rest[0] in _FOR_HOSTS:
                return True
    return False


def _is_guarded(path: str, guarded: tuple[str, ...], trees: str, *, holds: bool = False) -> bool:
    """True if a path is a protected path or below one. With `holds`, also if it contains one. Follows links.

    `trees` holds the worktrees of runs. It is in Handrail's state folder, but agents work inside the worktrees.
    """
    spellings = {os.path.normpath(path), os.path.realpath(path)}
    if all(_is_in_tree(given, trees) for given in spellings):
        guarded = guarded[1:]
    for one in guarded:
        for target in {one, os.path.realpath(one)}:
            for given in spellings:
                if given == target or given.startswith(target + "/") or (holds and target.startswith(given + "/")):
                    return True
    return False


def _is_in_tree(path: str, trees: str) -> bool:
    """True if a path is a worktree of a run, or below one."""
    return any(path.startswith(folder + "/") for folder in {trees, os.path.realpath(trees)})


def is_as_installed(places: Places, agent: str, project: str, entry: tuple[str, ...]) -> bool:
    """True if an entry of a file in the project is as `handrail install --project` wrote it.

    `entry` is the file and the keys in its JSON or TOML. Others can write such an entry, too: its name proves nothing.
    """
    from handrail.state import jsonlite

    path = os.path.join(project, entry[0])
    try:
        written = jsonlite.loads(_read(places.installation(agent, project)))["after"][path]
        now = _member(_parsed(path, _read(path)), entry[1:])
        return now is not None and bool(now == _member(_parsed(path, written), entry[1:]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _parsed(path: str, text: str) -> Any:
    if path.endswith(".toml"):
        from tomllib import loads

        return loads(text)
    from handrail.state import jsonlite

    return jsonlite.loads(text)


def _member(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value[key]
    return value
