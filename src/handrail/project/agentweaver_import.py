"""Takes over what AgentWeaver left in a project and in the home folder, and reports each thing.

Nothing of AgentWeaver is changed. Artifacts with a manifest are published as they were recorded; presets and routes
go into the user's settings. Saved runs do not become runs of Handrail: AgentWeaver saves neither the params of a run
nor the definition of its flow, so a journal made from its state would claim what nobody knows. That a saved run
implemented something is published, since no file of the scope shows it.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal

from handrail.base.dataclasses import dataclass, replace
from handrail.base.errors import HandrailError, NotFound, RefusedError, StateError
from handrail.base.files import Unreadable, entries, files_below, make_private, read_limited, real_inside, write_whole
from handrail.base.jsonlite import within
from handrail.driven.artifacts.agentweaver_params import CONTINUES_BY_KIND
from handrail.driven.artifacts.names import artifact_id
from handrail.driven.artifacts.scope import issue_key
from handrail.driven.artifacts.shelf import MAX_ARTIFACT_BYTES, ArtifactVersion, Shelf, Shelves, digest_of_file
from handrail.driven.flows.catalog import FlowCatalog, FoundFlow
from handrail.driven.runs.agentweaver import counterpart
from handrail.project import agentweaver_files
from handrail.project.agentweaver_files import FOLDER, INDEX, INNER, MANIFEST_END, SCOPES, BrokenFile, FlowState
from handrail.project.scope_stages import FINISHED_WORK
from handrail.settings.environment import ENV_FILE, file_problems, project_may_set, read_env_file
from handrail.settings.folders import UserFolders
from handrail.settings.routes import DEFAULT, Route, save_entry, shipped_presets
from handrail.settings.secrets import Secrets
from handrail.settings.settings import read_user_settings
from handrail.source.plain_text import command_line, counted, one_line, some

ImportResult = Literal["taken", "already", "works", "left"]
"""`taken` over into Handrail, taken over `already` before, `works` unchanged where it is, or `left` alone."""
RESULT_WORDS: dict[ImportResult, str] = {
    "taken": "taken over",
    "already": "already",
    "works": "works as it is",
    "left": "not taken over",
}


@dataclass(frozen=True)
class ImportItem:
    """One thing that another tool left: what it is, where, what became of it and why. `command` goes on with it."""

    kind: str
    name: str
    path: str
    result: ImportResult
    note: str
    scope: str | None = None
    command: str | None = None

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def result_counts(items: list[ImportItem]) -> dict[ImportResult, int]:
    counts = Counter(item.result for item in items)
    return {result: counts[result] for result in RESULT_WORDS}


IMPLEMENTATION = "implementation"
"""The stage that a saved run may have finished, and the key under which that is published."""
MAX_NOTE = 600
"""How many characters of a note are shown."""
MAX_PLUGIN_BYTES = 1024 * 1024
PLUGINS_NOTE = (
    "Handrail does not run JavaScript plugins: a plugin of a repository would run its code without being asked. Flows "
    "that use its nodes have problems at load; `command` steps, and prompts such as `claude-prompt`, can do most of "
    "what such nodes do"
)
_VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}|chat_id")
"""The names of variables that are shown. Other lines of such a file may be anything, also part of a secret."""
SavedRoutes = dict[str, str] | str
"""Routes as the settings have them; or why they are not taken over."""
SETTINGS_SECTIONS = {"preset": "presets", "routes of a flow": "flows"}
"""What is taken over, and the key in the settings that gets it."""


@dataclass(frozen=True, kw_only=True)
class AgentWeaverImport:
    """An import into one project. `flow_named` finds a flow as `handrail run` does, or raises.

    `agents` are the names of the known agents. If it `is_dry`, it only reports.
    """

    project: str
    places: UserFolders
    kept: Shelves
    secrets: Secrets
    flow_named: Callable[[str], FoundFlow]
    catalog: FlowCatalog
    agents: Collection[str]
    is_dry: bool

    def take_over(self) -> list[ImportItem]:
        """Take over what has a meaning in Handrail. Notes have no secrets in them."""
        if not any(os.path.isdir(os.path.join(base, FOLDER)) for base in self._bases):
            raise NotFound(f"there is no folder `{FOLDER}` in `{self.project}` or in your home folder")
        begin = time.time()
        items = []
        for item in self._items():
            note = one_line(self.secrets.mask(item.note))  # it may quote a file
            items.append(replace(item, note=note if len(note) <= MAX_NOTE else f"{note[:MAX_NOTE]}…"))
        for base in self._bases if not self.is_dry else ():
            mark = agentweaver_files.import_mark(self.places.state, base)
            make_private(os.path.dirname(mark))
            write_whole(mark, b"", durable=False)
            os.utime(mark, (begin, begin))  # what is saved from now on may not have been read
        return items

    @property
    def _bases(self) -> list[str]:
        """The folders with a folder of AgentWeaver: the project and the home folder, which may be the same."""
        is_same = os.path.realpath(self.places.home) == os.path.realpath(self.project)
        return [self.project] if is_same else [self.project, self.places.home]

    def _items(self) -> Iterator[ImportItem]:
        for entry in entries(os.path.join(self.project, SCOPES)):
            if not entry.is_dir(follow_symlinks=False) or entry.name.startswith("."):
                continue
            try:
                yield from self._scope_items(entry.path)
            except StateError as error:
                yield ImportItem("scope", entry.name, entry.path, "left", error.message)
        for base in self._bases:
            yield from self._surrounding_items(base)
        yield from self._routing_items()

    def _scope_items(self, folder: str) -> Iterator[ImportItem]:
        """What is in the folder of a scope. Artifacts are taken over the oldest first."""
        scope, states = os.path.basename(folder), list(agentweaver_files.states_in(folder))
        for state in states:
            yield self._run_item(state)
        manifests: dict[str, ArtifactVersion] = {}
        for source in (*agentweaver_files.manifests_in(folder), *_implementations(states)):
            if isinstance(source, BrokenFile):
                note = f"it {source.why}"
                yield ImportItem("manifest", source.name, source.path, "left", note, scope=scope)
            else:
                manifests.setdefault(source.id, source)
        shelf, ids = Shelf(self.kept.folder_of(scope)), dict[str, str]()
        for manifest in sorted(manifests.values(), key=lambda one: (one.created, one.key, one.version)):
            result, note = self._take_artifact(manifest, shelf, ids)
            name = f"{manifest.key}@v{manifest.version}"
            yield ImportItem("artifact", name, manifest.path, result, note, scope=scope)
        yield from _other_files(folder, scope, {manifest.path for manifest in manifests.values()})

    def _take_artifact(self, manifest: ArtifactVersion, shelf: Shelf, ids: dict[str, str]) -> tuple[ImportResult, str]:
        """Publish an artifact. `ids` are the ids that artifacts of AgentWeaver have on the shelf."""
        inputs = tuple(dict.fromkeys(ids.get(id_, id_) for id_ in manifest.inputs))
        draft = replace(manifest, path=os.path.relpath(manifest.path, self.project), inputs=inputs)
        if (before := shelf.published(draft, manifest.sha256)) is not None:
            ids[manifest.id] = before.id
            return "already", f"it is `{before.id}`"
        content = self._content(manifest)
        if isinstance(content, str):
            return "left", content
        if self.is_dry:
            ids[manifest.id] = new = artifact_id(manifest.scope, manifest.key, manifest.version)
        else:
            ids[manifest.id] = new = shelf.publish(draft, content, manifest.version).id
        return "taken", f"it is `{new}` of the run `{draft.run}`"

    def _content(self, manifest: ArtifactVersion) -> bytes | str:
        """The content that a manifest describes, or why it is not taken over."""
        real = real_inside(os.path.join(self.project, SCOPES, manifest.scope), manifest.path)
        if real is None:
            return "its file is a link that leads out of the scope"
        try:
            content = read_limited(real, MAX_ARTIFACT_BYTES)
        except Unreadable as error:
            return f"its file {error.message}"
        if hashlib.sha256(content).hexdigest() != manifest.sha256:
            return "its file has another content now, and this version is not kept anywhere"
        secret = self.secrets.found_in(content)
        return content if secret is None else f"its content contains the value of the secret variable `{secret}`"

    def _run_item(self, state: FlowState | BrokenFile) -> ImportItem:
        if isinstance(state, BrokenFile):
            note = f"it {state.why}; AgentWeaver cannot use it either"
            return ImportItem("run", state.name, state.path, "left", note)
        try:
            plan = self.flow_named(f"flow:{state.flow}").plan
        except HandrailError:
            plan = None
        note, command = f"Handrail has no flow `{state.flow}`", None
        if plan is not None:
            note, command = _how_to_continue(state, [phase.id for phase in plan.phases], self._agent_options(state))
        at = f" at `{state.current}`" if state.current else ""
        why = f": {state.error or state.reason}" if state.error or state.reason else ""
        status = "completed" if state.status == "completed" else f"{state.status}{at}{why}"
        note = f"it is {status}; {note}"
        return ImportItem("run", state.flow, state.path, "left", note, state.scope, command)

    def _agent_options(self, state: FlowState) -> list[str]:
        """The options that choose the agents of a saved run; none if they are not known here."""
        if state.routes is None or {route.agent for route in state.routes.values()} - set(self.agents):
            return []
        routes = _as_settings(state.routes)
        if state.preset is not None and self._presets.get(state.preset) == routes:
            return ["--preset", state.preset]
        default = state.routes[DEFAULT]
        if len(routes) == 1:
            return ["--agent", default.agent, *(["--model", default.model] if default.model else [])]
        return [word for group, route in routes.items() for word in ("--route", f"{group}={route}")]

    @cached_property
    def _presets(self) -> dict[str, dict[str, str]]:
        """All presets after the import: those of the settings, of AgentWeaver and of Handrail. The first wins."""
        try:
            saved = self._saved_presets(agentweaver_files.read_routing(self._routing_file))
        except Unreadable:
            saved = {}
        usable = {name: routes for name, routes in saved.items() if isinstance(routes, dict)}
        return {**shipped_presets(), **usable, **read_user_settings(self.places.config).presets}

    def _saved_presets(self, routing: dict[str, Any]) -> dict[str, SavedRoutes]:
        return {name: self._routes(name, entry) for name, entry in within(routing, "namedPresets").items()}

    def _routes(self, name: str, entry: Any) -> SavedRoutes:
        """The routes of an entry of the routing file, or why they are not taken over."""
        routes = agentweaver_files.routes_in(entry.get("routing") if isinstance(entry, dict) else None)
        if isinstance(routes, str):
            return routes
        if unknown := {route.agent for route in routes.values()} - set(self.agents):
            return f"there is no agent `{one_line(min(unknown))[:80]}`"
        is_fit = name.strip() and len(name) <= 80 and name.isprintable()
        return _as_settings(routes) if is_fit else "its name is empty, too long or not printable"

    @property
    def _routing_file(self) -> str:
        return os.path.join(self.places.home, FOLDER, agentweaver_files.ROUTING_FILE)

    def _routing_items(self) -> Iterator[ImportItem]:
        path = self._routing_file
        if not os.path.lexists(path):
            return
        try:
            routing = agentweaver_files.read_routing(path)
        except Unreadable as error:
            yield ImportItem("routing", agentweaver_files.ROUTING_FILE, path, "left", f"it {error.message}")
            return
        settings = read_user_settings(self.places.config)
        yield from self._take_routes("preset", self._saved_presets(routing), settings.presets)
        flows: dict[str, SavedRoutes] = {}
        for key, entry in within(routing, "flowDefaults").items():
            id_ = self._flow_id(key)
            flows[id_ or key] = "Handrail has no such flow" if id_ is None else self._routes(id_, entry)
        yield from self._take_routes("routes of a flow", flows, settings.flows)
        if last := list(within(routing, "lastUsedByFlow")):
            note = (
                "the last choice of a person is no setting; `--preset` or `--agent` chooses, or `flows` in the settings"
            )
            yield ImportItem("last choice", ", ".join(last[:5]), path, "left", note)

    def _flow_id(self, key: str) -> str | None:
        """The id of the flow `built-in:ID`, `global:PATH` or `project-local:PATH`; None if there is none."""
        source, _, name = key.partition(":")
        if source != "built-in":
            real = os.path.realpath(name)
            return next((one.id for one in self.catalog.found if os.path.realpath(one.file) == real), None)
        try:
            return self.flow_named(f"flow:{name}").id
        except HandrailError:
            return None

    def _take_routes(
        self, kind: str, sets: dict[str, SavedRoutes], saved: dict[str, dict[str, str]]
    ) -> Iterator[ImportItem]:
        items, section = [], SETTINGS_SECTIONS[kind]
        for name, routes in reversed(sets.items()):  # each is written before those that are there
            result: ImportResult = "left"
            if isinstance(routes, str):
                note = routes
            elif name in saved:
                is_same = saved[name] == routes
                result = "already" if is_same else "left"
                note = "your settings have it" if is_same else "your settings have other routes under this name"
            else:
                try:
                    path = save_entry(self.places.config, section, name, routes, is_dry=self.is_dry)
                    result, note = "taken", f"`{section}` in `{path}`"
                except RefusedError as error:
                    note = f"{error.message}; {error.hint}"
            items.append(ImportItem(kind, one_line(name)[:80], self._routing_file, result, note))
        yield from reversed(items)

    def _surrounding_items(self, base: str) -> Iterator[ImportItem]:
        """What is in the folder of AgentWeaver besides scopes and routing."""
        folder = os.path.join(base, FOLDER)
        where = "project" if base == self.project else "home"
        for entry in files_below(os.path.join(folder, ".flows")):
            if os.path.splitext(entry.name)[1] in (".json", ".yaml", ".yml"):
                yield _flow_item(entry.path, where, self._problems[os.path.realpath(entry.path)])
        for entry in entries(os.path.join(folder, ".plugins")):
            if entry.is_dir(follow_symlinks=False):
                name = entry.name
                with suppress(Unreadable):
                    about = agentweaver_files.read_object(os.path.join(entry.path, "plugin.json"), MAX_PLUGIN_BYTES)
                    name = " ".join(filter(None, (name, agentweaver_files.text_of(about, "version"))))
                yield ImportItem("plugin", name, entry.path, "left", PLUGINS_NOTE)
        if os.path.exists(os.path.join(base, ENV_FILE)):
            yield _variables_item(os.path.join(base, ENV_FILE), where)
        playbook = os.path.join(folder, "playbook")
        if os.path.isfile(os.path.join(playbook, "manifest.yaml")):
            note = "Handrail reads it where it is"
            yield ImportItem("playbook", "playbook", playbook, "works", note)

    @cached_property
    def _problems(self) -> Counter[str]:
        """The number of errors in each file with flows."""
        errors = (problem for problem in self.catalog.problems if problem.severity == "error")
        return Counter(os.path.realpath(problem.file) for problem in errors)


def _implementations(states: list[FlowState | BrokenFile]) -> Iterator[ArtifactVersion]:
    """The last saved state with a finished implementation, as an artifact: no file of the scope shows that work."""
    pairs = [(one.implemented, one) for one in states if isinstance(one, FlowState) and one.implemented is not None]
    for ended, state in sorted(pairs, key=lambda pair: pair[0])[-1:]:
        run, step = agentweaver_files.made_by(state.run, state.flow, IMPLEMENTATION)
        yield ArtifactVersion(
            id=f"{state.scope}:{IMPLEMENTATION}",
            scope=state.scope,
            key=IMPLEMENTATION,
            version=1,
            name=IMPLEMENTATION,
            path=state.path,
            sha256=digest_of_file(state.path) or "",
            run=run,
            step=step,
            schema=FINISHED_WORK,
            family="helper-json",
            created=ended,
        )


def _as_settings(routes: dict[str, Route]) -> dict[str, str]:
    return {group: str(route) for group, route in routes.items()}


def _other_files(folder: str, scope: str, paths: set[str]) -> Iterator[ImportItem]:
    """What else lies in a scope: files without a manifest, the index, archives."""
    free = 0
    for entry in agentweaver_files.scope_files(folder):
        is_own = entry.name.endswith(MANIFEST_END) or entry.name == INDEX or entry.name.startswith(".agentweaver-")
        free += not is_own and entry.path not in paths
    if free:
        note = f"{counted(free, 'file')} without a manifest; flows and `handrail scope` find files by their names"
        command = command_line("handrail", "scope", scope)
        yield ImportItem("files", scope, folder, "works", note, scope=scope, command=command)
    index = os.path.join(folder, INNER, INDEX)
    if os.path.lexists(index):
        note = "it is made from the manifests, so it is not needed"
        yield ImportItem("index", INDEX, index, "left", note, scope=scope)
    for entry in entries(os.path.join(folder, INNER, agentweaver_files.ARCHIVES)):
        if entry.is_dir(follow_symlinks=False):
            command = command_line("handrail", "scope", "reset", scope, "--restore", entry.name)
            note = "an archive of a restart; it can be restored into the empty scope"
            yield ImportItem("archive", entry.name, entry.path, "works", note, scope=scope, command=command)


def _how_to_continue(state: FlowState, phases: Sequence[str], agents: Sequence[str]) -> tuple[str, str | None]:
    """What to do with a saved run, and the command for it."""
    issue = [state.issue] if state.issue is not None and issue_key(state.issue) is not None else []
    run = ("handrail", "run", state.flow, *issue, "--scope", state.scope, *agents)
    if state.has_ended and CONTINUES_BY_KIND.get(state.kind) == "again":
        return "a new run begins the next round", command_line(*run)
    begins, phase = "a new run begins at the start", state.next_phase
    if phase is None and state.status == "completed":
        return "nothing is left to do", None
    own = counterpart(phase, phases) if phase is not None else phases[0]
    if own is None:
        return f"Handrail's flow has no phase for its phase `{phase}`, so {begins}", command_line(*run)
    if own == phases[0]:
        return begins, command_line(*run)
    does = "" if own == phase else f", which does the work of its phase `{phase}`"
    return f"a new run goes on at the phase `{own}`{does}", command_line(*run, "--from", own)


def _flow_item(path: str, where: str, problems: int) -> ImportItem:
    note = f"a flow of the {where}; Handrail loads it where it is"
    command = None
    if problems:
        note, command = f"{note}, but it has {counted(problems, 'problem')}", command_line("handrail", "validate", path)
    name = os.path.splitext(os.path.basename(path))[0]
    return ImportItem("flow", name, path, "left" if problems else "works", note, command=command)


def _variables_item(path: str, where: str) -> ImportItem:
    """The names of the variables in a file. Values are never shown."""
    names = list(read_env_file(path))
    listed = [name for name in names if _VARIABLE_NAME.fullmatch(name)]
    words = [some(listed, 20)] if listed else []
    words += [counted(len(names) - len(listed), "other line")] if len(listed) < len(names) else []
    of = "home folder" if where == "home" else where
    note = f"read at every run; variables that are already set win: {', '.join(words) or 'nothing'}"
    if where == "project" and (unused := [name for name in listed if not project_may_set(name)]):
        note += f"; not used, because a project may only set variables of services: {some(unused, 20)}"
    note += "".join(f"; {wrong}" for wrong in file_problems(path))
    if models := [name for name in listed if name.endswith("_MODEL")]:
        note += f"; {some(models, 5)} does not choose a model here: `--model`, or a route in the settings does"
    return ImportItem("variables", f".env of the {of}", path, "works", note)
