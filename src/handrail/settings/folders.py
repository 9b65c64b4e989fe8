"""The root of the project, the folders of the user, the folders with definitions.

The environment is a parameter. Standard library only and no `pathlib`, because hooks use this.
"""

from __future__ import annotations

import os

import handrail
from handrail import SETTINGS_FILE
from handrail.base.errors import UsageError
from handrail.base.files import upwards
from handrail.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARKERS = (".handrail", os.path.join(".pi", "workflows"), ".agentweaver", ".git")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def find_root(start: str) -> str:
    """The nearest folder, from `start` upwards, that is marked as a project; `start` if there is none."""
    start = os.path.realpath(start)
    marked = (one for one in upwards(start) if any(_is_mark(os.path.join(one, marker)) for marker in MARKERS))
    return next(marked, start)


def _is_mark(path: str) -> bool:
    """True if this marks a project. An empty `.git` is no repository: Git looks further up, and so do we."""
    if not os.path.exists(path):
        return False
    return not path.endswith(".git") or not os.path.isdir(path) or os.path.exists(os.path.join(path, "HEAD"))


class Checkout(Record):
    """A checkout of a Git repository: its top folder, and the folder with the data that all worktrees share."""

    top: str
    data: str


def checkout(folder: str) -> Checkout | None:
    """The Git checkout around a folder; None if there is none. Starts no process."""
    for top in upwards(os.path.realpath(folder)):
        if _is_mark(mark := os.path.join(top, ".git")):
            return Checkout(top, mark if os.path.isdir(mark) else _shared_data(mark))
    return None


def _shared_data(mark: str) -> str:
    """The data folder that the `.git` file of a worktree leads to; the file itself if it is not a worktree's.

    The repository has to list the worktree: a copied or invented `.git` file leads nowhere.
    """
    try:
        git_folder = os.path.join(os.path.dirname(mark), _first_line(mark).removeprefix("gitdir: "))
        if os.path.realpath(os.path.join(git_folder, _first_line(os.path.join(git_folder, "gitdir")))) == mark:
            return os.path.realpath(os.path.join(git_folder, _first_line(os.path.join(git_folder, "commondir"))))
    except (OSError, ValueError):
        pass
    return mark


def _first_line(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.readline().rstrip("\n")


class UserFolders:
    """The user's folders: below `HANDRAIL_HOME` if it is set, otherwise the XDG folders.

    `HANDRAIL_STATE` is the state folder itself. Installed stubs set it to the folder that was used when they were
    installed, so that they and the programs they start agree, whatever else is set or missing later.
    """

    __slots__ = ("cache", "config", "home", "state")

    def __init__(self, env: Mapping[str, str]) -> None:
        self.home = env.get("HOME") or os.path.expanduser("~")
        own, state = env.get("HANDRAIL_HOME"), env.get("HANDRAIL_STATE")
        for name, value in (("HOME", self.home), ("HANDRAIL_HOME", own), ("HANDRAIL_STATE", state)):
            if value and not os.path.isabs(value):
                raise UsageError(f"`{name}` has to be an absolute path, found `{value}`", f"set {name} to a full path")
        if own:
            self.config, self.state, self.cache = (os.path.join(own, n) for n in ("config", "state", "cache"))
        else:
            self.config = self._xdg(env, "XDG_CONFIG_HOME", ".config")
            self.state = self._xdg(env, "XDG_STATE_HOME", os.path.join(".local", "state"))
            self.cache = self._xdg(env, "XDG_CACHE_HOME", ".cache")
        self.state = state or self.state

    def _xdg(self, env: Mapping[str, str], name: str, default: str) -> str:
        base = env.get(name, "")
        return os.path.join(base if os.path.isabs(base) else os.path.join(self.home, default), "handrail")

    def session(self, project: str, session: str) -> str:
        return os.path.join(self.sessions(project), file_name(session))

    def sessions(self, project: str) -> str:
        return os.path.join(self.state, "sessions", file_name(os.path.realpath(project)))

    def installation(self, agent: str, project: str | None) -> str:
        """The record of an installation for one project, or for the user."""
        scope = file_name(project) if project else "user"
        return os.path.join(self.state, "installed", f"{file_name(agent)}@{scope}.json")

    def compared(self, agent: str, project: str) -> str:
        """What an agent's files were when its installations, as a project sees them, were last in order."""
        return os.path.join(self.state, "compared", f"{file_name(agent)}@{file_name(project)}.json")

    def installed_agents(self, agents: Sequence[str], project: str) -> list[str]:
        """Those of the agents that have a record of an installation, for the project or for the user."""
        scopes = (None, project)
        return [agent for agent in agents if any(os.path.exists(self.installation(agent, one)) for one in scopes)]

    def runs(self, project: str) -> str:
        return os.path.join(self.state, "runs", file_name(project))

    @property
    def trees(self) -> str:
        """The folder of the worktrees of runs. Agents work in them, so unlike the rest of the state they may change."""
        return os.path.join(self.state, "trees")

    @property
    def worktree_records(self) -> str:
        return os.path.join(self.state, "worktrees")

    def worktree_record(self, path: str) -> str:
        """The file that says to which project and run the worktree at a path belongs."""
        return os.path.join(self.worktree_records, f"{file_name(path)}.json")


def owning_project(places: UserFolders, folder: str) -> str:
    """The project of a folder: the folder itself, unless it is in a worktree of a run. Then it is the run's project."""
    top = checkout(folder)
    if top is None:
        return folder
    try:
        with open(places.worktree_record(top.top), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return folder
    import json

    try:
        record = json.loads(text)
        inner = os.path.relpath(os.path.realpath(folder), top.top)
        return str(record["project"] if inner == "." else os.path.normpath(os.path.join(record["top"], inner)))
    except (ValueError, KeyError, TypeError):
        return folder


def has_settings(places: UserFolders, project: str) -> bool:
    folders = (places.config, os.path.join(project, ".handrail"))
    return any(os.path.lexists(os.path.join(folder, SETTINGS_FILE)) for folder in folders)


def session_name(agent: str, conversation: str) -> str:
    return f"{agent}-{conversation}"


def random_token() -> str:
    """Six random characters for the id of a session or run."""
    letters = "0123456789abcdefghijklmnopqrstuvwxyz"
    return "".join([letters[byte % 36] for byte in os.urandom(6)])


def file_name(text: str) -> str:
    """A unique and readable file name for a text."""
    coded = "".join(c if c in _PLAIN else "+" if c == "/" else _percent(c) for c in text)
    if coded.startswith("."):
        coded = "%2E" + coded[1:]
    if len(coded) <= 180:
        return coded or "%"
    import hashlib

    return coded[-100:] + "%" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def orchestrating_roots(project: str, of_agents: Sequence[str]) -> list[str]:
    """The folders with workflows that were written for pi-workflows."""
    return [os.path.join(project, ".pi", "workflows"), *of_agents]


OWN_SOURCES = ("project", "user", "builtin", "given", "workflow")


def name_prefix(source: str) -> str:
    """What names of definitions from this source begin with: `ID/` for those of the plugin `ID`."""
    return "" if source in OWN_SOURCES else f"{source}/"


def workflow_roots(
    project: str, places: UserFolders, of_agents: Sequence[str], of_plugins: Sequence[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """(source, folder) of each folder with workflows. An earlier folder wins; the built-in one is last.

    `of_agents` are folders of the user in which agents keep their own workflows; `of_plugins` are (id, folder).
    """
    return [
        ("project", os.path.join(project, ".handrail", "workflows")),
        ("project", os.path.join(project, ".pi", "workflows")),
        ("user", os.path.join(places.config, "workflows")),
        *[("user", folder) for folder in of_agents],
        *of_plugins,
        ("builtin", os.path.join(handrail.__path__[0], "builtin", "workflows")),
    ]


def flow_roots(project: str, places: UserFolders) -> list[tuple[str, str]]:
    """(source, folder) of each folder with flows. An earlier folder wins."""
    return [
        ("project", os.path.join(project, ".handrail", "flows")),
        ("project", os.path.join(project, ".agentweaver", ".flows")),
        ("user", os.path.join(places.config, "flows")),
        ("user", os.path.join(places.home, ".agentweaver", ".flows")),
    ]


def shipped_flows() -> str:
    """The folder with the flows that Handrail ships. Every other flow with the same id or name wins."""
    return os.path.join(handrail.__path__[0], "builtin", "flows")


def shipped_script(name: str) -> str:
    return os.path.join(handrail.__path__[0], "builtin", "scripts", name)


def prompt_roots(
    project: str, places: UserFolders, of_plugins: Sequence[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """(source, folder) of each folder with prompts for flows. An earlier folder wins."""
    return [
        ("project", os.path.join(project, ".handrail", "prompts")),
        ("user", os.path.join(places.config, "prompts")),
        *of_plugins,
        ("builtin", os.path.join(handrail.__path__[0], "builtin", "prompts")),
    ]


def shown_path(path: str, cwd: str) -> str:
    """The path for messages: relative to the working folder if the file is below it."""
    base = cwd.rstrip("/") + "/"
    return path[len(base) :] if path.startswith(base) else path


def web_page_folder() -> str:
    return os.path.join(handrail.__path__[0], "web", "page")
