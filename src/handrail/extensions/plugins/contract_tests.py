"""The contract tests for authors of plugins: they check the manifest and all that a plugin provides."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial

from handrail.extensions.plugins import code_import
from handrail.extensions.plugins.manifest import MANIFEST_FILE, Plugin, read_plugin
from handrail.extensions.plugins.search import JAVASCRIPT, PluginPlace, search
from handrail.settings.folders import UserFolders, find_root
from handrail.source.diagnostics import as_line

ContractTest = Callable[[], list[str]]


def find_plugin(name: str, cwd: str) -> Plugin | None:
    """The plugin in a folder, or the one with this id that Handrail finds from here. None if there is none."""
    folder = os.path.join(cwd, name)
    if os.path.isfile(os.path.join(folder, MANIFEST_FILE)):
        return plugin_at(folder)
    places = search(find_root(cwd), UserFolders(os.environ))
    place = next((one for one in places if one.id == name and one.source != JAVASCRIPT), None)
    return None if place is None else read_plugin(place)


def plugin_at(folder: str | os.PathLike[str]) -> Plugin:
    """The plugin in a folder. Its id is the name of the folder."""
    path = os.path.realpath(folder)
    return read_plugin(PluginPlace(os.path.basename(path), "given", path))


def tests_of(plugin: Plugin) -> Iterator[tuple[str, ContractTest]]:
    """(name, test) of everything that can be tested. A test returns what is wrong."""
    yield f"{plugin.id}: {MANIFEST_FILE} is valid", lambda: [as_line(problem) for problem in plugin.problems]
    if plugin.manifest is None:
        return
    for kind, name, module in plugin.manifest.code():
        yield f"{plugin.id}: {kind} {plugin.id}/{name} keeps to the contract", partial(_problems, plugin, kind, module)
    if any(plugin.manifest.code()):
        yield f"{plugin.id}: importing it is fast and prints nothing", partial(_trial, plugin)


def check_plugin(folder: str | os.PathLike[str]) -> list[str]:
    """Everything that is wrong with the plugin in a folder, one line each. Empty if it keeps to the contract."""
    return [f"{name}: {problem}" for name, test in tests_of(plugin_at(folder)) for problem in test()]


def _problems(plugin: Plugin, kind: str, module: str) -> list[str]:
    """What is wrong with one module. Imports it."""
    place = plugin.place
    try:
        if place.package:
            return code_import.contract_problems(kind, code_import.import_package(f"{place.package}.{module}"))
        content = code_import.read_content(place.folder)
        loaded = code_import.import_folder(place.id, place.folder, content, module)
        return code_import.contract_problems(kind, loaded)
    except (code_import.ImportFailed, code_import.UnusableFolder) as error:
        return [f"`{module}` cannot be imported: {error}"]


def _trial(plugin: Plugin) -> list[str]:
    """What goes wrong if a new process imports the plugin, besides what the other tests find."""
    assert plugin.manifest is not None
    place = plugin.place
    digest = "" if place.package else code_import.read_content(place.folder).digest
    rows, path = tuple(plugin.manifest.code()), tuple(filter(None, sys.path))
    request = code_import.TrialRequest(place.id, place.folder, place.package, digest, rows, path)
    result = code_import.try_out(request, os.environ, code_import.SECONDS)
    print_problems = [f"it prints while it is imported: {line}" for line in result.printed.strip().splitlines()[:1]]
    return [*(text for kind, _, text in result.problems if kind == "plugin"), *print_problems]
