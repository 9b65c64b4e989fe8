"""The plugins of a project, and what is wrong with them. Finding them imports no code of them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator

from handrail.plugins.manifest import FILE, Manifest, leaves, read_manifest
from handrail.plugins.search import JAVASCRIPT, SOURCES, Place
from handrail.plugins.tomlplaces import place_of
from handrail.source.dataclasses import dataclass, field, replace
from handrail.source.diagnostics import Diagnostic, of_file
from handrail.source.files import Root, Source, Unopened, decode
from handrail.state.files import real_inside


@dataclass(frozen=True)
class Plugin:
    """A plugin that was found. `manifest` is None if its `plugin.toml` has errors, or if another has its id."""

    place: Place
    manifest: Manifest | None
    source: Source
    problems: tuple[Diagnostic, ...] = field(default=())

    @property
    def id(self) -> str:
        return self.place.id

    @property
    def file(self) -> str:
        return os.path.join(self.place.folder, FILE)

    def folder(self, kind: str) -> str | None:
        """The folder with definitions of this kind, such as `flows`; None if it has none."""
        if self.manifest is None or leaves(self.manifest.folders[kind]):
            return None
        path = os.path.join(self.place.folder, self.manifest.folders[kind])
        return path if os.path.isdir(path) else None

    def problem(self, code: str, path: tuple[str, ...], message: str, hint: str | None = None) -> Diagnostic:
        """A problem at a key of `plugin.toml`."""
        return self.source.problem(code, place_of(self.source, *path), message, hint)

    def disabled(self, *problems: Diagnostic) -> Plugin:
        """The plugin with these problems. With any, it is not used."""
        return replace(self, manifest=None if problems else self.manifest, problems=(*self.problems, *problems))


def read_plugins(places: Iterable[Place], taken: Collection[str]) -> list[Plugin]:
    """All plugins. If several have one id, the first is used. `taken` are names of nodes that are built in."""
    found: list[Plugin] = []
    owners: dict[str, Plugin] = {}
    names: dict[str, str] = {}
    for place in places:
        if place.source == JAVASCRIPT:
            found.append(_javascript(place))
            continue
        plugin = read_plugin(place)
        first = owners.setdefault(place.id, plugin)
        if first is not plugin:
            plugin = plugin.disabled(_twice(plugin, first))
        found.append(_with_own_names(plugin, taken, names))
    return found


def _javascript(place: Place) -> Plugin:
    file = os.path.join(place.folder, "plugin.json")
    message = f"`{place.id}` is a plugin of AgentWeaver in JavaScript, which cannot run here"
    hint = "`handrail plugin new ID` makes one in Python; `also` gives a node the name that flows use"
    problem = of_file("plugin-javascript", file, message, hint, "warning")
    return Plugin(place, None, Source(file, ""), (problem,))


def _twice(plugin: Plugin, first: Plugin) -> Diagnostic:
    order = " over ".join(f"{'an installed ' if source == 'package' else ''}{source}" for source in SOURCES)
    message = f"another plugin has the id `{plugin.id}`: that of the {first.place.source}, which is used"
    return plugin.problem("plugin-id", ("id",), message, f"remove one of them, or rename it ({order})")


def _with_own_names(plugin: Plugin, taken: Collection[str], names: dict[str, str]) -> Plugin:
    """The plugin without those other names of nodes that something built in or an earlier plugin has."""
    own: dict[str, str] = {}
    problems: list[Diagnostic] = []
    for other, name in plugin.manifest.also.items() if plugin.manifest is not None else ():
        owner = f"the plugin `{names[other]}`" if other in names else "Handrail itself"
        if other in taken or other in names or "/" in other:
            message = f"`also` names `{other}`, but that node is of {owner}"
            hint = f"write `{plugin.id}/{name}` in flows"
            problems.append(plugin.problem("plugin-id", ("nodes", name, "also"), message, hint))
        else:
            names[other], own[other] = plugin.id, name
    if plugin.manifest is None:
        return plugin
    return replace(plugin, manifest=replace(plugin.manifest, also=own), problems=(*plugin.problems, *problems))


def read_plugin(place: Place) -> Plugin:
    """The plugin in a folder, with all that can be said about it without its code."""
    file = os.path.join(place.folder, FILE)
    opened = Root(place.folder).open(place.folder, FILE)
    if isinstance(opened, Unopened):
        hint = "write it, or start with `handrail plugin new ID`"
        problem = of_file(opened.code, file, f"the plugin `{place.id}` cannot be used: {opened.message}", hint)
        return Plugin(place, None, Source(file, ""), (problem,))
    source, problems = decode(file, opened.data)
    if problems:
        return Plugin(place, None, source, tuple(problems))
    manifest, problems = read_manifest(source, place.id)
    plugin = Plugin(place, manifest, source, tuple(problems))
    return plugin.disabled(*_outside(plugin), *_missing(plugin))


def _outside(plugin: Plugin) -> Iterator[Diagnostic]:
    """Folders that links lead out of the plugin."""
    for kind, name in plugin.manifest.folders.items() if plugin.manifest is not None else ():
        if real_inside(plugin.place.folder, name) is None:
            hint = "copy the files into the folder of the plugin"
            yield plugin.problem("path-escape", ("folders", kind), f"`{name}` leads out of the plugin", hint)


def _missing(plugin: Plugin) -> Iterator[Diagnostic]:
    """Modules that do not exist, as far as files show that."""
    for kind, name, module in plugin.manifest.code() if plugin.manifest is not None else ():
        path = os.path.join(plugin.place.folder, *module.split("."))
        if not os.path.isfile(f"{path}.py") and not os.path.isdir(path) and not plugin.place.package:
            table = (f"{kind}s", name) if kind in ("node", "check", "engine") else ("agents", name, kind)
            relative = "/".join(module.split("."))
            message = f"the {kind} `{plugin.id}/{name}` names the module `{module}`, but there is no `{relative}.py`"
            yield plugin.problem("plugin-broken", table, message, "write the file, or correct the name of the module")
