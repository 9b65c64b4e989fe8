"""Looks at everything that AgentWeaver left in a project and in the home folder, and takes over what has a meaning."""

from __future__ import annotations

import os
from collections.abc import Iterator

from handrail.agentweaver.reading import FOLDER, SCOPES, entries
from handrail.artifacts.kept import Kept
from handrail.artifacts.shelf import Shelf
from handrail.errors import NotFound, StateError
from handrail.importing.artifacts import Shelving, take_artifacts
from handrail.importing.known import KnownFlows
from handrail.importing.report import Item
from handrail.importing.routes import Target, presets_for, take_routes
from handrail.importing.states import Here, saved_runs
from handrail.importing.surroundings import around
from handrail.secrets.redaction import Secrets
from handrail.source.dataclasses import dataclass, replace
from handrail.source.plain import one_line

LONGEST = 600
"""How many characters of a note are shown."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where to look, and where to take it."""

    project: str
    home: str
    kept: Kept
    secrets: Secrets
    flows: KnownFlows
    routes: Target


def take_over(source: Source, *, is_dry: bool) -> list[Item]:
    """Take over what has a meaning in Handrail. Nothing of AgentWeaver is changed. Notes have no secrets in them."""
    return [replace(item, note=_shown(source.secrets.mask(item.note))) for item in _items(source, is_dry=is_dry)]


def _shown(note: str) -> str:
    """A note may quote a file, so it is one line and not too long."""
    text = one_line(note)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _items(source: Source, *, is_dry: bool) -> Iterator[Item]:
    bases = {"project": source.project, "home": source.home}
    if not any(os.path.isdir(os.path.join(base, FOLDER)) for base in bases.values()):
        raise NotFound(f"there is no folder `{FOLDER}` in `{source.project}` or in your home folder")
    here = Here(source.flows.phases_of, source.routes.agents, presets_for(source.home, source.routes))
    for entry in entries(os.path.join(source.project, SCOPES)):
        if not entry.is_dir(follow_symlinks=False) or entry.name.startswith("."):
            continue
        yield from saved_runs(entry.path, here)
        shelf = Shelf(source.kept.folder_of(entry.name))
        shelving = Shelving(source.project, shelf, source.secrets.found_in, is_dry)
        try:
            yield from take_artifacts(entry.path, shelving)
        except StateError as error:
            yield Item(kind="scope", name=entry.name, path=entry.path, result="left", note=error.message)
    for where, base in bases.items():
        if where == "home" and os.path.realpath(base) == os.path.realpath(source.project):
            continue
        yield from around(base, where, source.flows.problems)
    yield from take_routes(source.home, source.routes)
