"""Checks all definitions of a project, or those at paths; settings and schemas, too.

A folder is checked with everything below it: nested projects, and workflows and flows that no project uses. The search
follows no links, and skips hidden folders and folders of installed packages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from handrail import SETTINGS_FILE
from handrail.base.dataclasses import dataclass, field
from handrail.base.errors import UsageError
from handrail.base.files import is_below
from handrail.driven.artifacts.schemas import FOLDER as SCHEMAS
from handrail.driven.artifacts.schemas import project_schema_ids, schema_fault
from handrail.driven.flows.catalog import ENDINGS, flow_files, is_flow_file, problems_at
from handrail.extensions.plugins.manifest import MANIFEST_FILE
from handrail.extensions.registry import workflow_folders as installed_workflow_folders
from handrail.guided.workflows.catalog import read_given, workflow_folders
from handrail.guided.workflows.spec import WORKFLOW_FILE, FoundWorkflow
from handrail.guided.workflows.tool_names import not_understood
from handrail.project.definitions import Definitions
from handrail.settings.folders import MARKERS, find_root, workflow_roots
from handrail.source.diagnostics import Diagnostic, errors_behind, file_problem
from handrail.source.plain_text import counted
from handrail.steps.playbook.load import FoundPlaybook, read_playbook

MAX_FOLDERS = 20_000
FLOW_FOLDERS = ("flows", ".flows")
_SKIPPED = frozenset(("node_modules", "site-packages", "venv", "__pycache__"))
_BEGINNING_BYTES = 65_536
_OF_WORKFLOW = re.compile(r"^(phases|commandName|initialMessage)[ \t]*:", re.MULTILINE)
_OF_FLOW = re.compile(r"^phases[ \t]*:|\"phases\"\s*:", re.MULTILINE)
"""Other tools have files and folders of the same names. What has none of these keys is theirs."""


@dataclass
class ChosenFiles:
    """What is below a folder, or what paths select. `workflows` are folders of workflows, or files in them.

    `problems` are those of folders and flow files that cannot be opened, so that there is no definition.
    """

    projects: list[str] = field(default_factory=list)
    workflows: list[str] = field(default_factory=list)
    flows: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    schemas: list[str] = field(default_factory=list)
    playbooks: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.projects or self.workflows or self.flows)

    def add(self, other: ChosenFiles) -> None:
        for name, values in vars(other).items():
            getattr(self, name).extend(values)


def _is_project(folder: str) -> bool:
    """True if a folder has its own place for definitions. `.git` alone is none, and neither is a link."""
    marks = (os.path.join(folder, mark) for mark in MARKERS if mark != ".git")
    return any(os.path.isdir(mark) and not os.path.islink(mark) for mark in marks)


def find_nested(root: str) -> ChosenFiles:
    """All nested projects below a folder, and the workflows and flows that are in no project."""
    selection = ChosenFiles()
    waiting = [(root, os.path.basename(root) in FLOW_FOLDERS)]
    for count in range(MAX_FOLDERS + 1):
        if not waiting:
            break
        if count == MAX_FOLDERS:
            message = f"there are more than {MAX_FOLDERS} folders here; the others are not searched"
            hint = "check the folders with definitions one by one"
            selection.problems.append(file_problem("too-many-folders", root, message, hint))
            break
        folder, has_flows = waiting.pop()
        if folder != root and _is_project(folder):
            selection.projects.append(folder)
            continue
        subfolders = _scan(folder, selection, has_flows=has_flows)
        waiting += [(path, has_flows or os.path.basename(path) in FLOW_FOLDERS) for path in reversed(subfolders)]
    return selection


def _scan(folder: str, selection: ChosenFiles, *, has_flows: bool) -> list[str]:
    """The folders to search in a folder. Adds its definitions to `found`. A folder that cannot be listed has none."""
    subfolders: list[str] = []
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return subfolders
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _SKIPPED and (not entry.name.startswith(".") or entry.name in FLOW_FOLDERS):
                subfolders.append(entry.path)
        elif entry.is_file(follow_symlinks=False):
            if entry.name == WORKFLOW_FILE:
                selection.workflows += [folder] if _begins_with(_OF_WORKFLOW, entry.path) else []
            elif has_flows and entry.name.endswith(ENDINGS):
                selection.flows += [entry.path] if _begins_with(_OF_FLOW, entry.path) else []
    return subfolders


def _begins_with(pattern: re.Pattern[str], path: str) -> bool:
    """True if a file can be read, and has this pattern in its beginning."""
    try:
        with open(path, "rb") as file:
            return pattern.search(file.read(_BEGINNING_BYTES).decode("utf-8", "replace")) is not None
    except OSError:
        return False


_NOUNS = {
    "workflows": "workflow",
    "flows": "flow",
    "settings": "settings file",
    "schemas": "schema",
    "playbooks": "playbook",
}


class ProjectContents:
    """All that a project has. `agents` are those for which names of tools are checked."""

    def __init__(
        self, definitions: Definitions, settings_problems: Iterable[Diagnostic], agents: tuple[str, ...]
    ) -> None:
        self.project, self.catalog, self.flows = definitions.project, definitions.catalog, definitions.flows
        self.resources, self.registry, self.agents = definitions.resources, definitions.registry, agents
        places, plugins = definitions.places, definitions.plugins
        folders = installed_workflow_folders(definitions.env, places.home)
        self.workflow_roots = [path for _, path in workflow_roots(self.project, places, folders)]
        self.flow_roots = [path for _, path in definitions.flow_roots]
        settings_folders = (places.config, os.path.join(self.project, ".handrail"))
        self.settings = [os.path.join(folder, SETTINGS_FILE) for folder in settings_folders]
        self.settings_problems = list(settings_problems)
        self.plugins = [plugin.place.folder for plugin in plugins.found]
        self.plugin_problems = list(plugins.all_problems)

    @cached_property
    def playbook(self) -> FoundPlaybook:
        return read_playbook(self.project)

    @property
    def schemas(self) -> dict[str, str]:
        """The schema files of the project, by id."""
        ids = sorted(project_schema_ids(self.project))
        return {id_: os.path.join(self.project, SCHEMAS, f"{id_}.json") for id_ in ids}

    @property
    def places(self) -> list[str]:
        """The folders and files that the project uses, if they exist."""
        schemas = os.path.join(self.project, SCHEMAS)
        playbook = [self.playbook.path] if self.playbook.path else []
        paths = (*self.workflow_roots, *self.flow_roots, *self.plugins, *self.settings, schemas, *playbook)
        return [place for place in paths if os.path.lexists(place)]

    def holds(self, path: str) -> bool:
        """True if the project uses something at this path, below it, or a folder around it."""
        return any(_within(place, path) or _within(path, place) for place in self.places)

    def below(self, path: str) -> ChosenFiles:
        """What is below a folder and is not used by this project."""
        places = self.places
        if not os.path.isdir(path) or any(_within(path, place) for place in places):
            return ChosenFiles()
        selection = find_nested(path)
        is_free = lambda one: not any(_within(one, place) for place in places)  # noqa: E731 - used twice
        return ChosenFiles(
            [project for project in selection.projects if os.path.realpath(project) != self.project],
            list(filter(is_free, selection.workflows)),
            list(filter(is_free, selection.flows)),
            problems=selection.problems,
        )


@dataclass
class CheckedDefinitions:
    """The problems that were found, how many definitions of each kind were checked, and the projects they are in."""

    problems: list[Diagnostic] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_NOUNS, 0))
    projects: set[str] = field(default_factory=set)

    def add(self, other: CheckedDefinitions) -> None:
        self.problems += other.problems
        self.projects |= other.projects
        self.counts = {name: count + other.counts[name] for name, count in self.counts.items()}

    def __str__(self) -> str:
        """What was checked: `2 workflows, 1 flow and 1 schema`; with several projects also `in 2 projects`."""
        parts = [counted(count, _NOUNS[name]) for name, count in self.counts.items() if count]
        suffix = f" in {len(self.projects)} projects" if len(self.projects) > 1 else ""
        return (" and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:]))) or "0 workflows") + suffix


def _within(path: str, folder: str) -> bool:
    """True if a path is a folder or below it, with or without following links."""
    real, real_folder = os.path.realpath(path), os.path.realpath(folder)
    return path == folder or is_below(path, folder) or real == real_folder or is_below(real, real_folder)


def project_of(path: str, ground: ProjectContents) -> str:
    """The project whose definitions are at a path: another one only if this one uses nothing there."""
    if ground.holds(path):
        return ground.project
    root = find_root(path if os.path.isdir(path) else os.path.dirname(path))
    has_definitions = any(os.path.exists(os.path.join(root, mark)) for mark in MARKERS if mark != ".git")
    return root if has_definitions else ground.project


def check_all(ground: ProjectContents) -> CheckedDefinitions:
    problems = [*ground.catalog.problems, *ground.flows.problems, *ground.settings_problems, *ground.plugin_problems]
    problems += _names_for_agents(ground, ground.catalog.found)
    schemas, settings = ground.schemas, [file for file in ground.settings if os.path.lexists(file)]
    problems += [*_schema_problems(ground, schemas, problems), *ground.playbook.problems]
    playbooks = int(ground.playbook.folder is not None)
    numbers = (len(ground.catalog.workflows), len(ground.flows.flows), len(settings), len(schemas), playbooks)
    return CheckedDefinitions(problems, dict(zip(_NOUNS, numbers, strict=True)), {ground.project})


def check_paths(
    ground: ProjectContents, paths: Mapping[str, ChosenFiles], *, is_nested: bool = False
) -> CheckedDefinitions:
    """What is at these paths, and below them. It may refer to all other definitions.

    Raises `UsageError` if there is nothing at a path. `is_nested`: the path was found, so it may be empty.
    """
    selection = ChosenFiles()
    for path, below in paths.items():
        is_plugin = any(_within(path, one) or _within(one, path) for one in ground.plugins)
        if is_plugin and os.path.basename(path) == MANIFEST_FILE:
            continue
        part = _select(ground, path, below)
        selection.add(part)
        if not any(vars(part).values()) and below.is_empty and not is_nested and not is_plugin:
            hint = "a workflow is a folder with a `workflow.yaml`; flows are files in `.handrail/flows`"
            raise UsageError(f"there is no workflow and no flow in `{path}`", hint)
    given_catalog = read_given(selection.workflows, ground.catalog, ground.registry) if selection.workflows else None
    problems = [*selection.problems, *(given_catalog.problems if given_catalog is not None else ())]
    given = [entry for entry in given_catalog.found if entry.source == "given"] if given_catalog is not None else []
    problems += _names_for_agents(ground, given)
    flows, settings, schemas = (
        list(dict.fromkeys(paths)) for paths in (selection.flows, selection.settings, selection.schemas)
    )
    problems += problems_at(flows, ground.flows, ground.resources)
    problems += [problem for problem in ground.settings_problems if problem.file in settings]
    problems += [one for one in ground.plugin_problems if any(_within(one.file, path) for path in paths)]
    problems += _schema_problems(ground, schemas, problems)
    problems += ground.playbook.problems if selection.playbooks else ()
    pool = (*ground.catalog.problems, *ground.flows.problems, *problems)
    problems += [one for note in problems if note.cause is not None for one in errors_behind(note.cause, pool)]
    numbers = (len(given), len(flows), len(settings), len(schemas), int(bool(selection.playbooks)))
    counts = dict(zip(_NOUNS, numbers, strict=True))
    return CheckedDefinitions(problems, counts, {ground.project} if any(counts.values()) else set())


def _select(ground: ProjectContents, path: str, below: ChosenFiles) -> ChosenFiles:
    """What a file is, or what is in a folder and below it."""
    selection = ChosenFiles(
        settings=[file for file in ground.settings if os.path.lexists(file) and _within(file, path)],
        schemas=[id_ for id_, file in ground.schemas.items() if _within(file, path)],
        playbooks=[one for one in [ground.playbook.path] if one and (_within(one, path) or _within(path, one))],
    )
    if not os.path.isdir(path):
        if not any(vars(selection).values()):
            (selection.flows if is_flow_file(path) else selection.workflows).append(path)
        return selection
    selection.workflows += [root for root in ground.workflow_roots if os.path.isdir(root) and _within(root, path)]
    selection.flows += [flow.file for flow in ground.flows.found if _within(flow.file, path)]
    selection.problems += [problem for problem in ground.flows.problems if _within(problem.file, path)]
    is_loose = not ground.holds(path)
    is_root = is_loose and not below.projects
    if is_root or any(_within(path, root) and path != root for root in ground.workflow_roots):
        problems: list[Diagnostic] = []
        selection.workflows += [path] if list(workflow_folders(path, problems)) or problems else []
    selection.workflows += [] if is_root else below.workflows
    if is_loose:
        in_folder = os.path.basename(path) in FLOW_FOLDERS
        folders = [path] if in_folder else [os.path.join(path, name) for name in FLOW_FOLDERS]
        selection.flows += [file for folder in folders for file in flow_files(folder, [])]
    selection.flows += below.flows
    selection.problems += below.problems
    return selection


def _names_for_agents(ground: ProjectContents, workflows: Iterable[FoundWorkflow]) -> list[Diagnostic]:
    """Names of tools that mean nothing to one of the agents. Files for another program are for that program's agent."""
    installable = ground.registry.installable()
    problems: list[Diagnostic] = []
    for entry in workflows:
        agents = ground.agents or (() if entry.is_foreign else installable)
        problems += not_understood(entry.spec.phases, agents, ground.registry) if entry.spec is not None else []
    return problems


def _schema_problems(ground: ProjectContents, ids: Iterable[str], problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The problems of schema files. A problem that a step reports already is not repeated."""
    messages = [problem.message for problem in problems if problem.code == "schema-broken"]
    new_problems: list[Diagnostic] = []
    for id_ in ids:
        fault = schema_fault(id_, ground.project)
        if fault is not None and not any(message.startswith(f"the schema `{id_}` ") for message in messages):
            file = os.path.join(ground.project, SCHEMAS, f"{id_}.json")
            problem = file_problem("schema-broken", file, f"this schema {fault.what}", fault.hint)
            new_problems.append(problem._replace(line=fault.place[0], column=fault.place[1]))
    return new_problems
