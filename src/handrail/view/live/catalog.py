"""All definitions of a project, followed: they are read again when a file of theirs changes."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from handrail import SETTINGS_FILE
from handrail.app import App
from handrail.base import files
from handrail.base.errors import HandrailError, NotFound
from handrail.extensions.plugins.search import plugin_folders
from handrail.extensions.registry import workflow_folders
from handrail.project.definitions import Definitions
from handrail.settings.folders import prompt_roots, shipped_flows, shown_path, workflow_roots
from handrail.settings.settings import read_settings
from handrail.settings.trust import TRUST_FOLDER, TrustStore
from handrail.source.codes import problem_kinds
from handrail.source.output_text import clean
from handrail.view.rows.catalog import (
    FLOW,
    KINDS,
    WORKFLOW,
    AllDefinitions,
    CatalogTopic,
    FoundPlugin,
    entries_of,
    flow_items,
    problem_json,
    workflow_items,
)
from handrail.view.rows.rows import RowMessage

LOOK_AGAIN = 1.0
"""In seconds: how often the times of all files are compared."""
MOST_FILES = 20_000
LARGEST = 256 * 1024
"""In bytes: of a longer file, only the beginning is shown."""


class LiveCatalog:
    """The topic `catalog`, kept up to date by `refresh`."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.topic = CatalogTopic(app.token())
        self._stamp: frozenset[tuple[str, int, int]] | None = None
        self._next_look = 0.0
        self.refresh()

    def is_stale(self) -> bool:
        """True if it is time to look again."""
        return time.monotonic() >= self._next_look

    def refresh(self) -> None:
        """Read all definitions again if a file of theirs changed."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_AGAIN
        stamp = frozenset(_files(self.app))
        if stamp == self._stamp:
            return
        app, self._stamp = self.app, stamp
        app.forget_definitions()  # also at the first look: they may be those of an earlier catalog
        _, problems = read_settings(app.places.config, app.project, app.registry.executors(), app.effects)
        head = {
            "trusted": TrustStore(app.places.state).find(app.project) is not None,
            "settings": [problem_json(problem, self._short_path) for problem in problems if problem.severity != "note"],
        }
        self.topic.update(all_definitions(app.definitions), self._short_path, head)

    def _short_path(self, path: str) -> str:
        return shown_path(path, self.app.project)

    def messages(self, epoch: str, base: int, now: float) -> Iterator[RowMessage]:
        return self.topic.rows.messages("catalog", base, now, epoch)


def all_definitions(definitions: Definitions) -> AllDefinitions:
    """All definitions of a project. The code of plugins is not tried."""
    shipped = definitions.shipped
    entries, plugins = tuple(shipped.entries()), tuple(_plugins(definitions))
    return AllDefinitions(definitions.catalog, definitions.flows, entries, plugins, shipped.files)


def _plugins(definitions: Definitions) -> Iterator[FoundPlugin]:
    plugins = definitions.plugins
    for plugin in plugins.found:
        is_asked = plugin.manifest is not None and not plugins.is_trusted(plugin)
        about = f"not trusted: handrail plugins trust {plugin.id}" if is_asked else ""
        yield FoundPlugin(plugin.id, plugin.place.source, plugin.file, about, is_asked, tuple(plugin.problems))


def _files(app: App) -> Iterator[tuple[str, int, int]]:
    """Every file and folder from which definitions are read, with its size and time. Shipped ones do not change."""
    definitions, project, places = app.definitions, app.project, app.places
    agent_folders = workflow_folders(app.env, places.home)
    roots = [
        *(path for source, path in workflow_roots(project, places, agent_folders) if source != "builtin"),
        *(path for _, path in definitions.flow_roots),
        *(path for source, path in prompt_roots(project, places) if source != "builtin"),
        *plugin_folders(project, places).values(),
        os.path.join(project, ".handrail", "schemas"),
    ]
    trust_folders = (os.path.join(places.state, TRUST_FOLDER, kind) for kind in ("projects", "plugins"))
    settings = (os.path.join(folder, SETTINGS_FILE) for folder in (places.config, os.path.join(project, ".handrail")))
    for path in (*settings, *trust_folders, *itertools.islice(_paths_below(dict.fromkeys(roots)), MOST_FILES)):
        yield path, *files.size_and_time(path)


def _paths_below(roots: Iterable[str]) -> Iterator[str]:
    for root in roots:
        for folder, folders, names in os.walk(root):
            yield folder
            yield from (os.path.join(folder, name) for name in names)
            folders.sort()


def definition(app: App, kind: str, key: str) -> dict[str, Any]:
    """A definition for a viewer: its row, its files with their problems, and its plan as a tree.

    `key` is the id of its row without the kind, so one that is hidden by another can be shown too.
    `plan` is None if the definition cannot be used. Raises `NotFound` if there is none.
    """
    if kind not in KINDS:
        raise NotFound(f"there is no kind of definitions `{kind}`", f"known: {', '.join(KINDS)}")
    definitions = app.definitions
    if kind == FLOW:
        definitions.with_shipped(key)
    rows = entries_of(all_definitions(definitions), lambda path: shown_path(path, app.project))
    row = next((row for row in rows if row["id"] == f"{kind}:{key}"), None)
    if row is None:
        raise NotFound(f"there is no {kind} `{key}`", "`handrail list` shows what there is")
    nth = [one["id"] for one in rows if one["kind"] == kind and one["key"] == row["key"]].index(row["id"])
    texts, plan = _workflow(app, row, nth) if kind == WORKFLOW else _flow(app, row, nth) if kind == FLOW else ([], None)
    files = [{**one, "file": clean(shown_path(one["file"], app.project))} for one in texts]
    kinds = {code: {"meaning": kind.meaning, "cure": kind.cure} for code, kind in problem_kinds().items()}
    problems = [{**problem, **kinds.get(problem["code"], {})} for problem in row["problems"]]
    for one in files:
        one["problems"] = [problem for problem in problems if problem["file"] == one["file"]]
    return {"entry": row, "files": files, "plan": plan}


def _flow(app: App, row: dict[str, Any], nth: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]] | None]:
    catalog = app.definitions.flows
    flows = [flow for flow in catalog.found if flow.id == row["key"]]
    if nth >= len(flows):  # a shipped flow that one of the project hides
        return [_text(os.path.join(shipped_flows(), f"{row['key']}.yaml"))], None
    flow = flows[nth]
    return [_text(flow.file)], None if flow.plan is None else flow_items(flow.plan, catalog.plan_named)


def _workflow(app: App, row: dict[str, Any], nth: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]] | None]:
    catalog = app.definitions.catalog
    workflow = [one for one in catalog.found if one.key == row["key"]][nth]
    spec = workflow.spec
    phase_files = [phase.file for phase in spec.phases] if spec is not None else []
    problem_files = [problem.file for problem in catalog.problems_in(workflow.file)]
    files = [path for path in dict.fromkeys([workflow.file, *phase_files, *problem_files]) if os.path.isfile(path)]
    plan = None
    if spec is not None and catalog.workflows.get(workflow.key) is spec:
        with suppress(HandrailError):
            plan = workflow_items(catalog.plan(spec))
    return [_text(path) for path in files], plan


def _text(path: str) -> dict[str, Any]:
    """A file as people see it, line by line, without anything that controls a screen."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError:
        return {"file": path, "text": None, "is_cut": False}
    text = data[:LARGEST].decode("utf-8", "replace")
    return {"file": path, "text": clean(text), "is_cut": len(data) > LARGEST}
