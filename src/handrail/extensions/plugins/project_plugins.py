"""All plugins of a project, as rows for the registry and as a list for people.

Built by the composition root. Imports little: a project without plugins pays almost nothing for it.
"""

from __future__ import annotations

from functools import cached_property

from handrail.base.errors import HandrailError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any

    from handrail.extensions.callers import Signs
    from handrail.extensions.plugins.code_import import TrialResult
    from handrail.extensions.plugins.manifest import Plugin
    from handrail.extensions.plugins.search import PluginPlace, PluginSite
    from handrail.extensions.plugins.trusted_code import PluginCode
    from handrail.source.diagnostics import Diagnostic

UNTRUSTED = "plugin-untrusted"


class Plugins:
    """The plugins that were found. What `extensions/contracts/` describes is reached by its full name, `ID/NAME`."""

    def __init__(self, places: list[PluginPlace], ground: PluginSite, taken_names: Collection[str]) -> None:
        self.ground = ground
        self.found: list[Plugin] = []
        if places:
            from handrail.extensions.plugins.manifest import read_plugins

            self.found = read_plugins(places, taken_names)
        self.used = {plugin.id: plugin for plugin in reversed(self.found) if plugin.manifest is not None}
        self.manifests = {id_: plugin.manifest for id_, plugin in self.used.items() if plugin.manifest is not None}
        self._codes: dict[str, PluginCode] = {}

    def code(self, plugin: Plugin) -> PluginCode:
        if plugin.id not in self._codes:
            from handrail.extensions.plugins.trusted_code import PluginCode

            self._codes[plugin.id] = PluginCode(plugin.place, self.manifests[plugin.id], self.ground)
        return self._codes[plugin.id]

    @cached_property
    def nodes(self) -> Mapping[str, tuple[Plugin, str]]:
        """The plugin and the module of each node, by its full name and by its other names."""
        rows = dict(self._rows("nodes"))
        also = {other: rows[f"{id_}/{name}"] for id_, one in self.manifests.items() for other, name in one.also.items()}
        return {**also, **rows}

    @cached_property
    def version(self) -> str:
        """Changes if a manifest changes, or if a plugin comes or goes."""
        from handrail.base.digest import hex_digest

        texts = [(plugin.place.folder, plugin.source.text) for plugin in self.used.values()]
        return hex_digest(repr(texts).encode("utf-8", "surrogateescape"))

    @cached_property
    def checks(self) -> Mapping[str, tuple[Plugin, str]]:
        return dict(self._rows("checks"))

    @cached_property
    def engines(self) -> Mapping[str, tuple[Plugin, str]]:
        return dict(self._rows("engines"))

    @cached_property
    def agents(self) -> Mapping[str, Mapping[str, str]]:
        """Full name of each agent → part → module."""
        return {f"{id_}/{name}": row for id_, one in self.manifests.items() for name, row in one.agents.items()}

    @cached_property
    def signs(self) -> Mapping[str, Signs]:
        return {f"{id_}/{name}": signs for id_, one in self.manifests.items() for name, signs in one.signs.items()}

    def _rows(self, kind: str) -> Iterator[tuple[str, tuple[Plugin, str]]]:
        for id_, manifest in self.manifests.items():
            for name, module in manifest.modules.get(kind, {}).items():
                yield f"{id_}/{name}", (self.used[id_], module)

    def node(self, name: str) -> Any:
        """The node with this name. If its plugin cannot be used, it is one that says so when it runs."""
        from handrail.extensions.plugins.trusted_code import GuardedNode, UnusableNode

        plugin, module = self.nodes[name]
        try:
            return GuardedNode(plugin.id, name, self.code(plugin).module(module))
        except HandrailError as error:
            return UnusableNode(error)

    def check(self, name: str) -> Any:
        """The check with this name. If its plugin cannot be used, it is one that says so when it runs."""
        from handrail.extensions.plugins.trusted_code import GuardedCheck, UnusableCheck

        plugin, module = self.checks[name]
        try:
            return GuardedCheck(plugin.id, self.code(plugin).module(module))
        except HandrailError as error:
            return UnusableCheck(name, error)

    def engine(self, name: str) -> Any:
        plugin, module = self.engines[name]
        return self.code(plugin).module(module)

    def part(self, agent: str, part: str) -> Any:
        """A module of an agent. Raises `KeyError` if it has none, and a `HandrailError` if it cannot be used."""
        return self.code(self.used[agent.partition("/")[0]]).module(self.agents[agent][part])

    def error(self, name: str) -> HandrailError | None:
        """Why a node, a check or an agent with this name cannot be used; None if it can, or if no plugin has it."""
        plugin = (self.nodes.get(name) or self.checks.get(name) or (self.used.get(name.partition("/")[0]), ""))[0]
        if plugin is None or (name not in self.nodes and name not in self.checks and name not in self.agents):
            return None
        return self.code(plugin).error()

    def folders(self, kind: str) -> list[tuple[str, str]]:
        """(id, folder) of each plugin with definitions of this kind."""
        folders = [(plugin.id, plugin.folder(kind)) for plugin in self.used.values()]
        return sorted((id_, folder) for id_, folder in folders if folder is not None)

    def is_trusted(self, plugin: Plugin) -> bool:
        """True if the code of a plugin may run. One without code needs no trust."""
        return plugin.manifest is not None and not _asks_trust(self.code(plugin).refusal)

    def problems(self, plugin: Plugin, *, again: bool = False) -> list[Diagnostic]:
        """All that is wrong with a plugin. Its code is tried if it is trusted; `again` repeats a failed trial."""
        if plugin.manifest is None:
            return list(plugin.problems)
        code = self.code(plugin)
        if (refusal := code.refusal) is not None:
            diagnostic = plugin.problem(refusal.code, (), refusal.message, refusal.hint)
            return [*plugin.problems, diagnostic._replace(severity="warning") if _asks_trust(refusal) else diagnostic]
        trial = code.try_again() if again and code.tried.problems else code.tried
        return [*plugin.problems, *_trial_problems(plugin, trial)]

    @property
    def all_problems(self) -> list[Diagnostic]:
        """The problems of all plugins. Tries the code of those that are trusted."""
        return [problem for plugin in self.found for problem in self.problems(plugin)]

    @property
    def seen_problems(self) -> list[Diagnostic]:
        """The problems that files show. No code is tried."""
        return [problem for plugin in self.found for problem in plugin.problems]


def _asks_trust(error: HandrailError | None) -> bool:
    return error is not None and error.code == UNTRUSTED


def _trial_problems(plugin: Plugin, trial: TrialResult) -> Iterator[Diagnostic]:
    for kind, name, text in trial.problems:
        table = (f"{kind}s", name) if kind in ("node", "check", "engine") else ("agents", name, kind)
        what = f"the plugin `{plugin.id}`" if kind == "plugin" else f"the {kind} `{plugin.id}/{name}`"
        hint = "the plugin is disabled until this is corrected"
        yield plugin.problem("plugin-broken", () if kind == "plugin" else table, f"{what}: {text}", hint)
    for line in trial.printed.strip().splitlines()[:1]:
        message = f"the plugin `{plugin.id}` prints while it is imported: {line[:80]}"
        hint = "a module should only define things when it is imported"
        yield plugin.problem("plugin-prints", (), message, hint)._replace(severity="warning")
