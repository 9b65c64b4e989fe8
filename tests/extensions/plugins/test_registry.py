"""A registry has what is built in, and the plugins of one project, which it searches for once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from extensions.plugins.acme import as_folder
from handrail.app import App
from handrail.extensions.registry import Registry
from support import Project


class NoPlugins:
    """Plugins that add nothing. Counts how often they are searched for."""

    version = ""
    nodes = checks = engines = ()
    agents: dict[str, Any] = {}
    signs: dict[str, Any] = {}

    def __init__(self) -> None:
        self.searches = 0

    def find(self) -> Any:
        self.searches += 1
        return self

    def folders(self, kind: str) -> list[tuple[str, str]]:
        del kind
        return []

    def error(self, name: str) -> None:
        del name


def test_plugins_are_searched_for_once_and_not_for_what_is_built_in() -> None:
    plugins = NoPlugins()
    registry = Registry(plugins.find)
    assert registry.host("claude").LINKS
    assert registry.is_host("claude")
    assert registry.unusable("command") is None
    assert registry.tool_names("claude")[0]
    assert registry.check_kind("run").CHECK.short
    assert plugins.searches == 0
    assert [registry.hosts(), registry.executors(), registry.engines(), registry.known_tools()]
    assert registry.nodes() is registry.nodes()
    assert registry.signs()
    assert registry.schema_folders() == {}
    assert plugins.searches == 1


def test_each_project_in_a_process_has_its_own_plugins(project: Project, tmp_path: Path) -> None:
    as_folder(project)
    with_plugin = App(str(project.folder), os.environ)
    without = App(str(tmp_path), os.environ)
    assert "acme/shout" not in without.registry.nodes()
    assert "acme/shout" in with_plugin.registry.nodes()
    assert "acme/shout" in with_plugin.definitions.resources.nodes
    assert "acme/text" in with_plugin.definitions.resources.schemas
    assert "acme/text" not in without.definitions.resources.schemas


def test_a_surface_that_stays_open_finds_a_new_plugin(project: Project) -> None:
    app = App(str(project.folder), os.environ)
    assert "acme/shout" not in app.runs.registry.nodes()
    as_folder(project)
    app.forget_definitions()
    assert "acme/shout" in app.runs.registry.nodes()
