"""Looks at everything that AgentWeaver left in a project and in the home folder, and takes over what has a meaning."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from handrail.agentweaver.reading import FOLDER, SCOPES, entries
from handrail.artifacts.kept import Kept
from handrail.artifacts.shelf import Shelf
from handrail.errors import NotFound, StateError
from handrail.importing.artifacts import Shelving, take_artifacts
from handrail.importing.known import KnownFlows
from handrail.importing.report import Item
from handrail.importing.routes import Target, take_routes
from handrail.importing.states import saved_runs
from handrail.importing.surroundings import around


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where to look, and where to take it. `secret_in` is that of `Shelving`."""

    project: str
    home: str
    kept: Kept
    secret_in: Callable[[bytes], str | None]
    flows: KnownFlows
    routes: Target


def take_over(source: Source, *, is_dry: bool) -> Iterator[Item]:
    """Take over what has a meaning in Handrail. Nothing of AgentWeaver is changed."""
    bases = {"project": source.project, "home": source.home}
    if not any(os.path.isdir(os.path.join(base, FOLDER)) for base in bases.values()):
        raise NotFound(f"there is no folder `{FOLDER}` in `{source.project}` or in your home folder")
    for entry in entries(os.path.join(source.project, SCOPES)):
        if not entry.is_dir(follow_symlinks=False) or entry.name.startswith("."):
            continue
        yield from saved_runs(entry.path, source.flows.phases_of)
        shelf = Shelf(source.kept.folder_of(entry.name))
        shelving = Shelving(source.project, shelf, source.secret_in, is_dry)
        try:
            yield from take_artifacts(entry.path, shelving)
        except StateError as error:
            yield Item(kind="scope", name=entry.name, path=entry.path, result="left", note=error.message)
    for where, base in bases.items():
        if where == "home" and os.path.realpath(base) == os.path.realpath(source.project):
            continue
        yield from around(base, where, source.flows.problems)
    yield from take_routes(source.home, source.routes)
