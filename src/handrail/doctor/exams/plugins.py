"""Checks of plugins: one result for each that was found."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.doctor.checkup import Checkup, Subject
from handrail.plugins.found import Plugin
from handrail.source.diagnostics import Diagnostic, has_errors
from handrail.source.plain import counted


def plugins(subject: Subject) -> Iterator[Checkup]:
    """Whether each plugin can be used. Tries the code of those that are trusted."""
    known = subject.app.definitions.plugins
    if not known.found:
        yield Checkup("plugins", "skipped", "there are no plugins")
    for plugin in known.found:
        yield _checkup(plugin, known.problems(plugin, again=True))


def _checkup(plugin: Plugin, problems: list[Diagnostic]) -> Checkup:
    id_ = f"plugin.{plugin.id}"
    if not problems:
        version = plugin.manifest.version if plugin.manifest is not None else ""
        return Checkup(id_, "ok", f"{version} from {plugin.place.source}, `{plugin.place.folder}`")
    first = min(problems, key=lambda problem: problem.severity != "error")
    more = f", and {counted(len(problems) - 1, 'more problem')}" if len(problems) > 1 else ""
    fix = f"run `handrail plugins`; {first.hint}" if first.hint else "run `handrail plugins`"
    return Checkup(id_, "error" if has_errors(problems) else "warning", f"{first.message}{more}", fix)
