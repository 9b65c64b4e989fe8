"""The contract tests for authors of plugins: each thing that a plugin provides is imported and checked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from handrail.plugins.content import Unusable, read_content
from handrail.plugins.contract import problems_of
from handrail.plugins.found import Plugin, read_plugin
from handrail.plugins.importing import Broken, import_folder, import_package
from handrail.plugins.search import Place
from handrail.source.diagnostics import as_line, has_errors


@dataclass(frozen=True)
class Provided:
    """One thing of a plugin. `kind` is `node`, `check`, `engine`, or a part of an agent."""

    plugin: Plugin
    kind: str
    name: str
    module: str

    def problems(self) -> list[str]:
        """What is wrong with it. Imports its module."""
        place = self.plugin.place
        try:
            if place.package:
                module = import_package(f"{place.package}.{self.module}")
            else:
                module = import_folder(place.id, place.folder, read_content(place.folder), self.module)
        except (Broken, Unusable) as error:
            return [f"`{self.module}` cannot be imported: {error}"]
        return problems_of(self.kind, module)


def plugin_at(folder: str | os.PathLike[str]) -> Plugin:
    """The plugin in a folder. Its id is the name of the folder."""
    path = os.path.realpath(folder)
    return read_plugin(Place(os.path.basename(path), "given", path))


def provided(plugin: Plugin) -> Iterator[Provided]:
    for kind, name, module in plugin.manifest.code() if plugin.manifest is not None else ():
        yield Provided(plugin, kind, name, module)


def check_plugin(folder: str | os.PathLike[str]) -> list[str]:
    """Everything that is wrong with the plugin in a folder, one line each. Empty if it keeps to the contract."""
    plugin = plugin_at(folder)
    found = [as_line(problem) for problem in plugin.problems]
    if has_errors(plugin.problems):
        return found
    for one in provided(plugin):
        found += [f"{one.kind} {plugin.id}/{one.name}: {text}" for text in one.problems()]
    return found
