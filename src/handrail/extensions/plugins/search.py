"""Where plugins are: installed packages, the user's folder, the project. No code of them is imported.

Imports little: every command that lists extensions asks here. Packages are found by their metadata, as by
`importlib.metadata`, but faster: the metadata is read again only if a folder of installed packages changed.
"""

from __future__ import annotations

import contextlib
import os
import sys

from handrail.base import jsonlite
from handrail.base.files import write_whole
from handrail.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from handrail.settings.folders import UserFolders

GROUP = "handrail.plugins"
JAVASCRIPT = "agentweaver"
SOURCES = ("project", "user", "package")
"""Whose plugin is used if several have the same id: the first."""
_ENDINGS = (".dist-info", ".egg-info")


class PluginPlace(Record):
    """A folder with a plugin. `package` is the name of the installed package; empty for a folder."""

    id: str
    source: str
    folder: str
    package: str = ""


class PluginSite(Record):
    """Where plugins are used. `trusts_call`: a person trusts everything for this one call."""

    project: str
    state: str
    cache: str
    env: Mapping[str, str]
    trusts_call: Callable[[], bool]


def plugin_folders(project: str, places: UserFolders) -> dict[str, str]:
    """Source → folder in which each folder is a plugin."""
    return {"project": os.path.join(project, ".handrail", "plugins"), "user": os.path.join(places.config, "plugins")}


def search(project: str, places: UserFolders) -> list[PluginPlace]:
    """All plugins, those that win first."""
    plugin_places = [
        PluginPlace(name, source, os.path.join(folder, name))
        for source, folder in plugin_folders(project, places).items()
        for name in _subfolders(folder)
    ]
    return [*plugin_places, *installed_plugins(places.cache, installation(project)), *_of_agentweaver(project, places)]


def installation(project: str) -> list[str]:
    """Where packages are installed. Not the project and the working directory: nobody installed what is in them."""
    folders = [os.path.realpath(project)]
    with contextlib.suppress(OSError):  # the working directory may have been removed
        folders.append(os.path.realpath(os.getcwd()))
    return [folder for folder in sys.path if folder and os.path.realpath(folder) not in folders]


def _of_agentweaver(project: str, places: UserFolders) -> list[PluginPlace]:
    """The JavaScript plugins of AgentWeaver. They cannot run here, and are named so that nobody misses them."""
    folders = [os.path.join(base, ".agentweaver", ".plugins") for base in (project, places.home)]
    return [PluginPlace(name, JAVASCRIPT, os.path.join(top, name)) for top in folders for name in _subfolders(top)]


def _subfolders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith((".", "__")))
    except OSError:
        return []


def installed_plugins(cache: str, path: Sequence[str]) -> list[PluginPlace]:
    """The plugins of installed packages, by name."""
    now = [[folder, *stamp] for folder in dict.fromkeys(path) if folder and (stamp := folder_stamp(folder)) is not None]
    file = os.path.join(cache, "plugins", "installed.json")
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError), open(file, encoding="utf-8") as stream:
        record = jsonlite.loads(stream.read())
        if record["path"] == now:
            return [PluginPlace(*row) for row in record["found"]]
    every = [place for row in now for place in _entry_points(str(row[0]))]
    plugins = sorted(dict.fromkeys(every), key=lambda place: place.id)
    if not os.path.isdir(cache):  # nothing was kept yet, so nobody waits for this
        return plugins
    with contextlib.suppress(OSError, ValueError):
        os.makedirs(os.path.dirname(file), 0o700, exist_ok=True)
        body = jsonlite.dumps({"path": now, "found": [list(place) for place in plugins]})
        write_whole(file, body.encode(), durable=False)
    return plugins


def folder_stamp(folder: str) -> list[int] | None:
    """What tells two states of a folder apart; None if there is none."""
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_ino]


def _entry_points(folder: str) -> Iterator[PluginPlace]:
    """The plugins that packages in one folder of `sys.path` declare."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_ENDINGS))
    except OSError:
        return
    for name in names:
        try:
            with open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8") as file:
                text = file.read()
        except (OSError, ValueError):
            continue
        for id_, package in _in_group(text) if GROUP in text else ():
            if (package_path := _package_folder(folder, package)) is not None:
                yield PluginPlace(id_, "package", package_path, package)


def _in_group(text: str) -> Iterator[tuple[str, str]]:
    """(name, value) of the entry points in our group."""
    is_ours = False
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("["):
            is_ours = line == f"[{GROUP}]"
        elif is_ours and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name.strip(), value.partition(":")[0].partition("[")[0].strip()


def _package_folder(folder: str, package: str) -> str | None:
    """The folder of a package, which is not imported. An editable one is elsewhere: Python's own finders know it."""
    top, *rest = package.split(".")
    near = os.path.join(folder, *package.split("."))
    if os.path.isdir(near):
        return near
    from importlib.util import find_spec

    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return os.path.join(places[0], *rest) if places else near
