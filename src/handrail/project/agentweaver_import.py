"""Takes over what AgentWeaver left in a project and in the home folder, and reports each thing.

Nothing of AgentWeaver is changed. Artifacts with a manifest are published as they were recorded; presets and routes
go into the user's settings. Saved runs do not become runs of Handrail: AgentWeaver saves neither the params of a run
nor the definition of its flow, so a journal made from its state would claim what nobody knows.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from handrail import SETTINGS_FILE
from handrail.base.dataclasses import dataclass, replace
from handrail.base.errors import HandrailError, NotFound, StateError
from handrail.base.files import Unreadable, make_private, mode_of, read_limited, real_inside, write_whole
from handrail.driven.artifacts.names import artifact_id
from handrail.driven.artifacts.scope import issue_key
from handrail.driven.artifacts.shelf import MAX_ARTIFACT_BYTES, ArtifactDraft, ArtifactVersion, Shelf, Shelves
from handrail.driven.flows.catalog import FlowCatalog, FoundFlow
from handrail.driven.flows.plan import path_segment
from handrail.driven.runs.agentweaver import counterpart
from handrail.project.agentweaver_files import (
    ARCHIVES,
    FOLDER,
    HISTORY,
    INDEX,
    INNER,
    ROUTING_FILE,
    SCOPES,
    ArtifactManifest,
    BrokenFile,
    BrokenManifest,
    BrokenState,
    FlowState,
    RouteSet,
    entries,
    files_below,
    manifests_in,
    read_object,
    read_routing,
    states_in,
    text_of,
)
from handrail.settings.environment import ENV_FILE, project_may_set, read_env_file, unread_in
from handrail.settings.routes import DEFAULT, shipped_presets
from handrail.settings.secrets import Secrets
from handrail.settings.settings import read_user_settings
from handrail.source.plain_text import command_line, counted, one_line, some
from handrail.source.yaml_text import add_entries, entry_lines

ImportResult = Literal["taken", "already", "works", "left"]
"""`taken` over into Handrail, taken over `already` before, `works` unchanged where it is, or `left` alone."""
RESULT_WORDS: dict[ImportResult, str] = {
    "taken": "taken over",
    "already": "already",
    "works": "works as it is",
    "left": "not taken over",
}


@dataclass(frozen=True, kw_only=True)
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
        return {
            "kind": self.kind,
            "name": self.name,
            "scope": self.scope,
            "path": self.path,
            "result": self.result,
            "note": self.note,
            "command": self.command,
        }


def result_counts(items: list[ImportItem]) -> dict[ImportResult, int]:
    """How many things have each result."""
    found = Counter(item.result for item in items)
    return {result: found[result] for result in RESULT_WORDS}


class KnownFlows:
    """The flows of a project. `named` finds a flow as `handrail run` does, or raises."""

    def __init__(self, named: Callable[[str], FoundFlow], catalog: FlowCatalog) -> None:
        self.named = named
        self.catalog = catalog

    def phases_of(self, name: str) -> Sequence[str] | None:
        """The ids of the phases of a flow; None if it cannot be run here."""
        try:
            plan = self.named(f"flow:{name}").plan
        except HandrailError:
            return None
        return None if plan is None else [phase.id for phase in plan.phases]

    def id_of(self, key: str) -> str | None:
        """The id of the flow `built-in:ID`, `global:PATH` or `project-local:PATH`; None if there is none."""
        source, _, name = key.partition(":")
        if source != "built-in":
            return next(
                (one.id for one in self.catalog.found if os.path.realpath(one.file) == os.path.realpath(name)), None
            )
        try:
            return self.named(f"flow:{name}").id
        except HandrailError:
            return None

    @property
    def problems(self) -> Mapping[str, int]:
        """The number of errors in each file with flows."""
        errors = (problem for problem in self.catalog.problems if problem.severity == "error")
        return Counter(os.path.realpath(problem.file) for problem in errors)


ORIGIN = "agentweaver"
MAX_RUN_NAME = 100


@dataclass(frozen=True)
class ShelfTarget:
    """Where artifacts are taken to. `secret_in` names the variable of a secret in a content; None if there is none."""

    project: str
    shelf: Shelf
    secret_in: Callable[[bytes], str | None]
    is_dry: bool


def take_artifacts(folder: str, shelving: ShelfTarget) -> Iterator[ImportItem]:
    """Take over all artifacts of a scope, the oldest first."""
    scope = os.path.basename(folder)
    manifests: dict[str, ArtifactManifest] = {}
    for found in manifests_in(folder):
        if isinstance(found, BrokenManifest):
            yield _item_of_scope("manifest", scope, os.path.basename(found.path), found.path, f"it {found.why}")
        else:
            manifests.setdefault(found.id, found)
    ids: dict[str, str] = {}
    known = {(one.run, one.step, one.key, one.sha256): one for one in shelving.shelf.records()}
    for manifest in sorted(manifests.values(), key=lambda one: (one.created, one.key, one.version)):
        yield _take_artifact(manifest, shelving, ids, known)
    yield from _other_files(folder, scope, {manifest.payload for manifest in manifests.values()})


def run_of(manifest: ArtifactManifest) -> str:
    """The id under which a run of AgentWeaver is known."""
    return f"{ORIGIN}:{re.sub(r'[^A-Za-z0-9._-]', '-', manifest.run)[:MAX_RUN_NAME]}"


KnownArtifacts = dict[tuple[str, str, str, str], ArtifactVersion]


def _take_artifact(
    manifest: ArtifactManifest, to: ShelfTarget, ids: dict[str, str], known: KnownArtifacts
) -> ImportItem:
    run, step = run_of(manifest), f"{path_segment(manifest.phase)}/{path_segment(manifest.step)}"
    name = f"{manifest.key}@v{manifest.version}"
    before = known.get((run, step, manifest.key, manifest.sha256))
    if before is not None:
        ids[manifest.id] = before.id
        return _item_of_scope("artifact", manifest.scope, name, manifest.payload, f"it is `{before.id}`", "already")
    content = _content(manifest, to)
    if isinstance(content, str):
        return _item_of_scope("artifact", manifest.scope, name, manifest.payload, content)
    draft = ArtifactDraft(
        scope=manifest.scope,
        key=manifest.key,
        name=manifest.key,
        path=os.path.relpath(manifest.payload, to.project),
        run=run,
        step=step,
        schema=manifest.schema,
        family=manifest.family,
        created=manifest.created,
        inputs=tuple(dict.fromkeys(ids.get(id_, id_) for id_ in manifest.inputs)),
    )
    if to.is_dry:
        ids[manifest.id] = new = artifact_id(manifest.scope, manifest.key, manifest.version)
    else:
        ids[manifest.id] = new = to.shelf.publish(draft, content, manifest.version).id
    return _item_of_scope(
        "artifact", manifest.scope, name, manifest.payload, f"it is `{new}` of the run `{run}`", "taken"
    )


def _content(manifest: ArtifactManifest, to: ShelfTarget) -> bytes | str:
    """The content that a manifest describes, or why it is not there."""
    folder = manifest.payload.rpartition(f"/{manifest.scope}/")[0]
    real = real_inside(os.path.join(folder, manifest.scope), manifest.payload)
    if real is None:
        return "its file is a link that leads out of the scope"
    try:
        content = read_limited(real, MAX_ARTIFACT_BYTES)
    except Unreadable as error:
        return f"its file {error.message}"
    if hashlib.sha256(content).hexdigest() != manifest.sha256:
        return "its file has another content now, and this version is not kept anywhere"
    secret = to.secret_in(content)
    return content if secret is None else f"its content contains the value of the secret variable `{secret}`"


def _other_files(folder: str, scope: str, taken: set[str]) -> Iterator[ImportItem]:
    """What else lies in a scope: files without a manifest, the index, archives."""
    free = [entry.path for entry in files_below(folder, without=(ARCHIVES, HISTORY)) if _is_free(entry, taken)]
    if free:
        note = f"{counted(len(free), 'file')} without a manifest; flows and `handrail scope` find files by their names"
        command = command_line("handrail", "scope", scope)
        yield ImportItem(kind="files", name=scope, path=folder, result="works", note=note, scope=scope, command=command)
    index = os.path.join(folder, INNER, INDEX)
    if os.path.lexists(index):
        yield _item_of_scope("index", scope, INDEX, index, "it is made from the manifests, so it is not needed")
    for entry in entries(os.path.join(folder, INNER, ARCHIVES)):
        if entry.is_dir(follow_symlinks=False):
            command = command_line("handrail", "scope", "reset", scope, "--restore", entry.name)
            note = "an archive of a restart; it can be restored into the empty scope"
            yield ImportItem(
                kind="archive",
                name=entry.name,
                path=entry.path,
                result="works",
                note=note,
                scope=scope,
                command=command,
            )


def _is_free(entry: os.DirEntry[str], taken: set[str]) -> bool:
    is_own = entry.name.endswith(".manifest.json") or entry.name == INDEX or entry.name.startswith(".agentweaver-")
    return not is_own and entry.path not in taken


def _item_of_scope(kind: str, scope: str, name: str, path: str, note: str, result: ImportResult = "left") -> ImportItem:
    return ImportItem(kind=kind, name=name, path=path, result=result, note=note, scope=scope)


SETTINGS_SECTIONS = {"preset": "presets", "routes of a flow": "flows"}
"""What is taken over, and the key in the settings that gets it."""


@dataclass(frozen=True)
class RouteTarget:
    """Where routes go. `flow_id` is the id of a flow by AgentWeaver's key for it; None if there is none here."""

    config: str
    agents: Collection[str]
    flow_id: Callable[[str], str | None]
    is_dry: bool


def presets_for(home: str, target: RouteTarget) -> dict[str, dict[str, str]]:
    """All presets after an import: those of the settings, of AgentWeaver's file and of Handrail. The first wins."""
    try:
        taken = read_routing(os.path.join(home, FOLDER, ROUTING_FILE)).presets
    except BrokenFile:
        taken = {}
    usable = {name: entry.routes for name, entry in taken.items() if entry.why is None and _unfit_name(name) is None}
    written = {name: {group: str(route) for group, route in routes.items()} for name, routes in usable.items()}
    return {**shipped_presets(), **written, **read_user_settings(target.config).presets}


def take_routes(home: str, target: RouteTarget) -> Iterator[ImportItem]:
    """Take over what the file of the user has."""
    path = os.path.join(home, FOLDER, ROUTING_FILE)
    if not os.path.lexists(path):
        return
    try:
        found = read_routing(path)
    except BrokenFile as error:
        yield ImportItem(kind="routing", name=ROUTING_FILE, path=path, result="left", note=f"it {error.message}")
        return
    settings = read_user_settings(target.config)
    yield from _take_section("preset", found.presets, settings.presets, path, target)
    flows: dict[str, RouteSet] = {}
    for key, entry in found.flows.items():
        id_ = target.flow_id(key)
        flows[id_ or key] = entry if id_ is not None else RouteSet(why="Handrail has no such flow")
    yield from _take_section("routes of a flow", flows, settings.flows, path, target)
    if found.last_used:
        note = "the last choice of a person is no setting; `--preset` or `--agent` chooses, or `flows` in the settings"
        yield ImportItem(kind="last choice", name=", ".join(found.last_used[:5]), path=path, result="left", note=note)


def _take_section(
    kind: str, entries: dict[str, RouteSet], present: dict[str, dict[str, str]], path: str, target: RouteTarget
) -> Iterator[ImportItem]:
    """Take over one section. All entries that can be taken are written at once."""
    new: dict[str, dict[str, str]] = {}
    for name, entry in entries.items():
        routes = {group: str(route) for group, route in entry.routes.items()}
        why = entry.why or _unknown_agent(entry, target.agents) or _unfit_name(name)
        if why is None and present.get(name) == routes:
            yield ImportItem(kind=kind, name=name, path=path, result="already", note="your settings have it")
        elif why is None and name in present:
            note = "your settings have other routes under this name"
            yield ImportItem(kind=kind, name=name, path=path, result="left", note=note)
        elif why is not None:
            yield ImportItem(kind=kind, name=one_line(name)[:80], path=path, result="left", note=why)
        else:
            new[name] = routes
    if new:
        yield from _written_routes(kind, new, path, target)


def _unknown_agent(entry: RouteSet, agents: Collection[str]) -> str | None:
    unknown = {route.agent for route in entry.routes.values()} - set(agents)
    return f"there is no agent `{one_line(min(unknown))[:80]}`" if unknown else None


def _unfit_name(name: str) -> str | None:
    is_fit = name.strip() and len(name) <= 80 and name.isprintable()
    return None if is_fit else "its name is empty, too long or not printable"


def _written_routes(kind: str, new: dict[str, dict[str, str]], path: str, target: RouteTarget) -> Iterator[ImportItem]:
    settings = os.path.realpath(os.path.join(target.config, SETTINGS_FILE))
    why = _write_routes(settings, SETTINGS_SECTIONS[kind], new, is_dry=target.is_dry)
    for name, routes in new.items():
        if why is None:
            note = f"`{SETTINGS_SECTIONS[kind]}` in `{settings}`"
            yield ImportItem(kind=kind, name=name, path=path, result="taken", note=note)
        else:
            line = entry_lines({name: routes})[0]
            note = f"`{settings}` cannot be edited ({why}); write below `{SETTINGS_SECTIONS[kind]}:` yourself: {line}"
            yield ImportItem(kind=kind, name=name, path=path, result="left", note=note)


def _write_routes(path: str, section: str, new: dict[str, dict[str, str]], *, is_dry: bool) -> str | None:
    """Write entries to the settings. Returns why that is not possible, or None."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError):
        return "it cannot be read"
    try:
        edited = add_entries(text, section, new)
    except ValueError as error:
        return str(error)
    if not is_dry:
        make_private(os.path.dirname(path))
        write_whole(path, edited.encode(), durable=True, mode=mode_of(path))
    return None


LOOP_KINDS = frozenset(
    {
        "design-review-loop-flow",
        "review-loop-flow",
        "review-project-loop-flow",
        "run-go-linter-loop-flow",
        "run-go-tests-loop-flow",
    }
)
"""AgentWeaver continues a loop of these kinds from its first phase."""


@dataclass(frozen=True)
class ImportContext:
    """What is known here. `phases_of` returns the ids of the phases of a flow; None if it cannot be run."""

    phases_of: Callable[[str], Sequence[str] | None]
    agents: Collection[str] = ()
    presets: Mapping[str, Mapping[str, str]] | None = None


def saved_runs(folder: str, here: ImportContext) -> Iterator[ImportItem]:
    """The saved runs of a scope."""
    for state in states_in(folder):
        if isinstance(state, BrokenState):
            note = f"it {state.why}; AgentWeaver cannot use it either"
            yield ImportItem(kind="run", name=state.flow, path=state.path, result="left", note=note)
        else:
            yield _run_item(state, here)


def _run_item(state: FlowState, here: ImportContext) -> ImportItem:
    note, command = how_to_continue(state, here.phases_of(state.flow), agent_options(state, here))
    return ImportItem(
        kind="run",
        name=state.flow,
        path=state.path,
        result="left",
        note=f"{_status_words(state)}; {note}",
        scope=state.scope,
        command=command,
    )


def _status_words(state: FlowState) -> str:
    if state.status == "completed":
        return "it is completed"
    at = f" at `{state.current}`" if state.current else ""
    why = f": {state.error or state.reason}" if state.error or state.reason else ""
    return f"it is {state.status}{at}{why}"


def agent_options(state: FlowState, here: ImportContext) -> list[str]:
    """The options that choose the agents of a saved run; none if they are not known here."""
    if state.routes is None or state.routes.why is not None:
        return []
    routes = {group: str(route) for group, route in state.routes.routes.items()}
    if {route.agent for route in state.routes.routes.values()} - set(here.agents):
        return []
    if state.preset is not None and (here.presets or {}).get(state.preset) == routes:
        return ["--preset", state.preset]
    default = state.routes.routes[DEFAULT]
    if len(routes) == 1:
        return ["--agent", default.agent, *(["--model", default.model] if default.model else [])]
    return [word for group, route in routes.items() for word in ("--route", f"{group}={route}")]


def how_to_continue(
    state: FlowState, phases: Sequence[str] | None, agents: Sequence[str] = ()
) -> tuple[str, str | None]:
    """What to do with a saved run, and the command for it."""
    if phases is None:
        return f"Handrail has no flow `{state.flow}`", None
    issue = [state.issue] if state.issue is not None and issue_key(state.issue) is not None else []
    run = ("handrail", "run", state.flow, *issue, "--scope", state.scope, *agents)
    if state.has_ended and state.kind in LOOP_KINDS:
        return "a new run begins the next round", command_line(*run)
    if (phase := state.next_phase) is None:
        is_done = state.status == "completed"
        begins = "a new run begins at the start"
        return ("nothing is left to do", None) if is_done else (begins, command_line(*run))
    own = counterpart(phase, phases)
    if own is None:
        note = f"Handrail's flow has no phase for its phase `{phase}`, so a new run begins at the start"
        return note, command_line(*run)
    if own == phases[0]:
        return "a new run begins at the start", command_line(*run)
    does = "" if own == phase else f", which does the work of its phase `{phase}`"
    return f"a new run goes on at the phase `{own}`{does}", command_line(*run, "--from", own)


MAX_PLUGIN_BYTES = 1024 * 1024
PLUGINS_NOTE = (
    "Handrail does not run JavaScript plugins: a plugin of a repository would run its code without being asked. Flows "
    "that use its nodes have problems at load; `command` steps, and prompts such as `claude-prompt`, can do most of "
    "what such nodes do"
)
_VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}|chat_id")
"""The names of variables that are shown. Other lines of such a file may be anything, also part of a secret."""


def surrounding_items(base: str, where: str, problems: Mapping[str, int]) -> Iterator[ImportItem]:
    """What is in `.agentweaver` of a folder besides scopes. `problems` is the number of problems of each flow file."""
    folder = os.path.join(base, FOLDER)
    for entry in files_below(os.path.join(folder, ".flows")):
        if os.path.splitext(entry.name)[1] in (".json", ".yaml", ".yml"):
            yield _flow_item(entry.path, where, problems.get(os.path.realpath(entry.path), 0))
    for entry in entries(os.path.join(folder, ".plugins")):
        if entry.is_dir(follow_symlinks=False):
            yield ImportItem(kind="plugin", name=_plugin_name(entry), path=entry.path, result="left", note=PLUGINS_NOTE)
    if os.path.exists(os.path.join(base, ENV_FILE)):
        yield _variables_item(os.path.join(base, ENV_FILE), where)
    playbook = os.path.join(folder, "playbook")
    if os.path.isfile(os.path.join(playbook, "manifest.yaml")):
        note = "Handrail reads it where it is"
        yield ImportItem(kind="playbook", name="playbook", path=playbook, result="works", note=note)


def _flow_item(path: str, where: str, problems: int) -> ImportItem:
    note = f"a flow of the {where}; Handrail loads it where it is"
    command = None
    if problems:
        note, command = f"{note}, but it has {counted(problems, 'problem')}", command_line("handrail", "validate", path)
    name = os.path.splitext(os.path.basename(path))[0]
    return ImportItem(
        kind="flow", name=name, path=path, result="left" if problems else "works", note=note, command=command
    )


def _plugin_name(entry: os.DirEntry[str]) -> str:
    try:
        version = text_of(read_object(os.path.join(entry.path, "plugin.json"), MAX_PLUGIN_BYTES), "version")
    except BrokenFile:
        version = None
    return f"{entry.name} {version}" if version else entry.name


def _variables_item(path: str, where: str) -> ImportItem:
    """The names of the variables in a file. Values are never shown."""
    names = list(read_env_file(path))
    shown = [name for name in names if _VARIABLE_NAME.fullmatch(name)]
    told = [some(shown, 20)] if shown else []
    told += [counted(len(names) - len(shown), "other line")] if len(shown) < len(names) else []
    of = "home folder" if where == "home" else where
    note = f"read at every run; variables that are already set win: {', '.join(told) or 'nothing'}"
    if where == "project" and (unused := [name for name in shown if not project_may_set(name)]):
        note += f"; not used, because a project may only set variables of services: {some(unused, 20)}"
    note += "".join(f"; {wrong}" for wrong in unread_in(path))
    if models := [name for name in shown if name.endswith("_MODEL")]:
        note += f"; {some(models, 5)} does not choose a model here: `--model`, or a route in the settings does"
    return ImportItem(kind="variables", name=f".env of the {of}", path=path, result="works", note=note)


MAX_NOTE = 600
"""How many characters of a note are shown."""


@dataclass(frozen=True, kw_only=True)
class ImportSource:
    """Where to look, and where to take it."""

    project: str
    home: str
    kept: Shelves
    secrets: Secrets
    flows: KnownFlows
    routes: RouteTarget


def take_over(source: ImportSource, *, is_dry: bool) -> list[ImportItem]:
    """Take over what has a meaning in Handrail. Nothing of AgentWeaver is changed. Notes have no secrets in them."""
    return [replace(item, note=_shown_note(source.secrets.mask(item.note))) for item in _items(source, is_dry=is_dry)]


def _shown_note(note: str) -> str:
    """A note may quote a file, so it is one line and not too long."""
    text = one_line(note)
    return text if len(text) <= MAX_NOTE else f"{text[:MAX_NOTE]}…"


def _items(source: ImportSource, *, is_dry: bool) -> Iterator[ImportItem]:
    bases = {"project": source.project, "home": source.home}
    if not any(os.path.isdir(os.path.join(base, FOLDER)) for base in bases.values()):
        raise NotFound(f"there is no folder `{FOLDER}` in `{source.project}` or in your home folder")
    here = ImportContext(source.flows.phases_of, source.routes.agents, presets_for(source.home, source.routes))
    for entry in entries(os.path.join(source.project, SCOPES)):
        if not entry.is_dir(follow_symlinks=False) or entry.name.startswith("."):
            continue
        yield from saved_runs(entry.path, here)
        shelf = Shelf(source.kept.folder_of(entry.name))
        shelving = ShelfTarget(source.project, shelf, source.secrets.found_in, is_dry)
        try:
            yield from take_artifacts(entry.path, shelving)
        except StateError as error:
            yield ImportItem(kind="scope", name=entry.name, path=entry.path, result="left", note=error.message)
    for where, base in bases.items():
        if where == "home" and os.path.realpath(base) == os.path.realpath(source.project):
            continue
        yield from surrounding_items(base, where, source.flows.problems)
    yield from take_routes(source.home, source.routes)
