"""Checks of plugins: one result for each that was found."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.app import App
from handrail.doctor.checkup import Checkup
from handrail.plugins.found import Plugin
from handrail.source.diagnostics import Diagnostic, has_errors
from handrail.source.plain import counted


def plugin_checks(app: App) -> Iterator[Checkup]:
    """Whether each plugin can be used. Tries the code of those that are trusted."""
    plugins = app.definitions.plugins
    for plugin in plugins.found:
        yield _checkup(plugin, plugins.problems(plugin, again=True))


def _checkup(plugin: Plugin, problems: list[Diagnostic]) -> Checkup:
    id_ = f"plugin.{plugin.id}"
    if not problems:
        version = plugin.manifest.version if plugin.manifest is not None else ""
        return Checkup(id_, "ok", f"{version} from {plugin.place.source}, `{plugin.place.folder}`")
    first = min(problems, key=lambda problem: problem.severity != "error")
    more = f", and {counted(len(problems) - 1, 'more problem')}" if len(problems) > 1 else ""
    fix = f"run `handrail plugins`; {first.hint}" if first.hint else "run `handrail plugins`"
    return Checkup(id_, "error" if has_errors(problems) else "warning", f"{first.message}{more}", fix)
