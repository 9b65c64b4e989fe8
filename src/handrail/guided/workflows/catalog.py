"""The catalog of all workflows that were found: usable, shadowed or broken.

A broken workflow never hides a usable one. Workflows without problems are cached between starts, keyed by the stamps of
all their files. An entry is used only if every file has the same identity, size and times as before. Workflows with
files that changed less than a second ago are not cached. Deleting or damaging the cache costs only time.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import zlib

import handrail
from handrail import __version__
from handrail.base.errors import DefinitionError, NotFound, RefusedError, UsageError
from handrail.base.files import write_whole
from handrail.base.record import Record
from handrail.guided.workflows import rules
from handrail.guided.workflows.plan import ExitCheck, Plan
from handrail.guided.workflows.spec import (
    MAX_STOPS,
    WORKFLOW_FILE,
    FoundWorkflow,
    PhaseEntry,
    PhaseSpec,
    Reference,
    WorkflowSpec,
    compile_plan,
    count_stops,
)
from handrail.settings.folders import name_prefix
from handrail.source.diagnostics import Diagnostic, blame, file_problem, sorted_problems
from handrail.source.plain_text import command_line
from handrail.source.suggestions import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import Any

    from handrail.extensions.registry import Registry
    from handrail.guided.workflows.load import Loaded
    from handrail.source.definition_files import Root

FRESH_NS = 1_000_000_000


class CatalogCache:
    """Workflows that were read before, in one cache file per definitions root.

    For each folder, a row has the names of the workflow's files, their stamps in one flat list, and its spec as plain
    tuples.
    """

    def __init__(self, folder: str, now_ns: Callable[[], int], registry: Registry) -> None:
        self.folder = os.path.join(folder, "catalog")
        self.registry = registry
        self.now_ns = now_ns
        self.rows: dict[str, dict[str, tuple[Any, ...]]] = {}
        self.changed: set[str] = set()

    def recall(self, root: str, folder: str) -> WorkflowSpec | None:
        if root not in self.rows:
            self.rows[root] = self._read(root)
        names, stamps, spec = self.rows[root].get(folder, ((), (), None))
        place = 0
        try:
            for name in names:
                if stamp_numbers(os.stat(os.path.join(folder, name))) != stamps[place : place + 5]:
                    return None
                place += 5
        except OSError:
            return None
        if not spec:
            return None
        flat = WorkflowSpec(*spec)  # only the outermost tuple is a record
        return flat._replace(entries=tuple([_entry(row) for row in flat.entries]))

    def store(self, root: str, folder: str, workflow: Loaded) -> None:
        """Cache a workflow if it has no problems and no file of it changed in the last second."""
        rows = self.rows.setdefault(root, {})
        self.changed.add(root)
        rows.pop(folder, None)
        stamps, limit = workflow.stamps.values(), self.now_ns() - FRESH_NS
        is_settled = all(stamp and max(stamp.st_mtime_ns, stamp.st_ctime_ns) < limit for stamp in stamps)
        if workflow.spec is not None and not workflow.problems and is_settled:
            names = [path.removeprefix(folder + "/") for path in workflow.stamps]
            numbers = [number for stamp in stamps if stamp is not None for number in stamp_numbers(stamp)]
            rows[folder] = (names, numbers, _plain(workflow.spec))

    def save(self) -> None:
        """Write the changed roots, but none that cannot be written or has more than plain data in a check."""
        for root in self.changed:
            with contextlib.suppress(OSError, ValueError):
                os.makedirs(self.folder, 0o700, exist_ok=True)
                data = marshal.dumps((self._version(root), self.rows[root]))
                write_whole(self._file(root), b"%08x\n%s" % (zlib.crc32(data), data), durable=False)
        self.changed.clear()

    def _file(self, root: str) -> str:
        return os.path.join(self.folder, f"{zlib.crc32(root.encode('utf-8', 'surrogateescape')):08x}")

    def _read(self, root: str) -> dict[str, tuple[Any, ...]]:
        """The cached rows of a root; empty if the file is missing, damaged or from another version."""
        try:
            with open(self._file(root), "rb") as file:
                head, data = file.read(9), file.read()
            if head != b"%08x\n" % zlib.crc32(data):
                return {}
            version, rows = marshal.loads(data)  # noqa: S302  # a file in the user's own cache, like a `.pyc`
            return rows if version == self._version(root) else {}
        except (OSError, ValueError, EOFError, TypeError):
            return {}

    def _version(self, root: str) -> str:
        """Changes whenever the code that reads definitions, or a kind of check, changes."""
        package = handrail.__path__[0]
        newest = 0
        for room in ("steps/checks", "source", "guided/workflows"):
            with os.scandir(os.path.join(package, room)) as entries:
                newest = max([newest, *(e.stat().st_mtime_ns for e in entries if e.name.endswith(".py"))])
        return f"{__version__}/{newest}/{zlib.crc32(self.registry.version().encode()):08x}/{root}"


def stamp_numbers(stamp: os.stat_result) -> list[int]:
    """What tells two states of a file apart without reading it."""
    return [stamp.st_dev, stamp.st_ino, stamp.st_size, stamp.st_mtime_ns, stamp.st_ctime_ns]


def _plain(value: Any) -> Any:
    """A record as plain tuples, and a value of a file without how it was written there, as `marshal` needs it."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, bool):
        return value
    return next((kind(value) for kind in (int, float) if isinstance(value, kind)), value)


def _entry(row: Sequence[Any]) -> PhaseEntry:
    if len(row) == len(Reference._fields):
        return Reference(*row)
    phase = PhaseSpec(*row)
    return phase._replace(exit=tuple([ExitCheck(*check) for check in phase.exit])) if phase.exit else phase


MAX_DEPTH = 6
MAX_FOLDERS = 20_000
MAX_NESTING = 100


class Catalog(Record):
    """The usable workflows by key, everything that was found in order of precedence, and all problems."""

    workflows: dict[str, WorkflowSpec]
    found: tuple[FoundWorkflow, ...]
    problems: tuple[Diagnostic, ...]

    def source_of(self, spec: WorkflowSpec) -> str:
        return next(entry.source for entry in self.found if entry.file == spec.file)

    def visible(self) -> list[WorkflowSpec]:
        return [spec for spec in self.in_precedence() if spec.is_visible]

    def in_precedence(self) -> list[WorkflowSpec]:
        """The usable workflows, nearest source first."""
        return [f.spec for f in self.found if f.spec is not None and self.workflows.get(f.key) is f.spec]

    def shadowed(self) -> list[tuple[FoundWorkflow, WorkflowSpec]]:
        """Workflows without errors that are not used because a nearer one has the same key."""
        return [
            (entry, self.workflows[entry.key])
            for entry in self.found
            if entry.spec is not None and self.workflows.get(entry.key) not in (entry.spec, None)
        ]

    def broken_nearer(self, spec: WorkflowSpec) -> list[FoundWorkflow]:
        """Nearer definitions with the same key that have errors; `spec` is used instead of them."""
        entries = [entry for entry in self.found if entry.key == spec.key]
        return entries[: [entry.file for entry in entries].index(spec.file)]

    def find(self, name: str) -> WorkflowSpec:
        """The workflow with this command name or key. Raises an error with a suggestion if there is none."""
        for spec in self.visible():
            if spec.command == name:
                return spec
        if name in self.workflows:
            return self.workflows[name]
        for entry in self.found:
            if entry.key == name:
                why, errors = blame(entry.file, self.problems)
                hint = f"run `{command_line('handrail', 'validate', os.path.dirname(entry.file))}`"
                raise DefinitionError(f"workflow `{name}` cannot be used: {why}", hint, errors)
        names = sorted({spec.command for spec in self.visible()})
        close = nearest(name, [*names, *self.workflows], most=3)
        suggestions = ", ".join(f"`{n}`" for n in (close or names[:8]))
        hint = f"did you mean {suggestions}?" if close else f"there are {suggestions}; `handrail list` shows all"
        raise NotFound(f"there is no workflow `{name}`", hint)

    def plan(self, spec: WorkflowSpec) -> Plan:
        return compile_plan(self.workflows, spec.key)

    def startable(self, name: str) -> tuple[Plan, tuple[str, ...]]:
        """The plan of the workflow that people start by this name, and notices for the person who starts it."""
        spec = self.find(name)
        self.refuse_hidden(spec)
        source, broken = self.source_of(spec), self.broken_nearer(spec)
        notices = [f"`{entry.file}` has errors; using `{spec.key}` from {source} instead" for entry in broken]
        return self.plan(spec), tuple(notices)

    def refuse_hidden(self, spec: WorkflowSpec) -> None:
        """Raise `RefusedError` if people cannot start this workflow."""
        if not spec.is_visible:
            message = f"`{spec.key}` only runs inside other workflows"
            raise RefusedError(message, "`handrail list` shows what can be started")

    def warnings_of(self, spec: WorkflowSpec) -> list[Diagnostic]:
        """The warnings in the files of a workflow and of all its subworkflows."""
        folders = {_folder(nested.file) for nested in self.with_subworkflows(spec)}
        return [p for p in self.problems if p.severity == "warning" and _folder(p.file) in folders]

    def problems_in(self, file: str) -> list[Diagnostic]:
        """The problems in the files of a workflow, also of one that cannot be used. `file` is its `workflow.yaml`."""
        return [problem for problem in self.problems if _folder(problem.file) == _folder(file)]

    def with_subworkflows(self, spec: WorkflowSpec) -> list[WorkflowSpec]:
        """A workflow and all workflows that run inside it, each once."""
        specs, waiting = {spec.file: spec}, [spec]
        while waiting:
            references = [self.workflows[ref.key] for ref in waiting.pop().references]
            waiting.extend(reference for reference in references if reference.file not in specs)
            specs.update({reference.file: reference for reference in references})
        return list(specs.values())


def _folder(file: str) -> str:
    return os.path.dirname(file) + os.sep


def read_catalog(
    roots: Iterable[tuple[str, str]],
    registry: Registry,
    memory: CatalogCache | None = None,
    orchestrating: Collection[str] = (),
) -> Catalog:
    """All workflows below the roots. If two roots have the same key, the first root wins.

    `orchestrating` are the roots with workflows that were written for pi-workflows.
    """
    problems: list[Diagnostic] = []
    entries: list[FoundWorkflow] = []
    for source, path in roots:
        if os.path.isdir(path):
            root = _SourceRoot(source, path, registry, path in orchestrating)
            entries.extend(_read_folders(root, workflow_folders(path, problems), memory, problems))
    return _resolve(entries, problems)


def read_given(paths: Iterable[str], others: Catalog, registry: Registry) -> Catalog:
    """The workflows at these paths, with precedence over all others. Reports problems of these workflows only."""
    problems: list[Diagnostic] = []
    entries: list[FoundWorkflow] = []
    for path in paths:
        roots = sorted({entry.root for entry in others.found}, key=len, reverse=True)
        foreign = {entry.root for entry in others.found if entry.is_foreign}
        for path_, folders in _folders_by_root(path, roots, problems).items():
            root = _SourceRoot("given", path_, registry, path_ in foreign)
            entries.extend(_read_folders(root, folders, None, problems))
    files = {entry.file for entry in entries}
    all_entries = [*entries, *[entry for entry in others.found if entry.file not in files]]
    local = list(problems)
    catalog = _resolve(all_entries, problems)
    own_problems = [problem for problem in catalog.problems if problem in local or problem.file in files]
    return catalog._replace(problems=tuple(own_problems))


def _folders_by_root(path: str, roots: list[str], problems: list[Diagnostic]) -> dict[str, list[str]]:
    """Root → workflow folders for a path from the command line. A known root is used if the folder is below it."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    if os.path.lexists(os.path.join(folder, WORKFLOW_FILE)):
        return {_root_of(folder, roots) or os.path.dirname(folder): [folder]}
    if folder == path:
        folders: dict[str, list[str]] = {}
        for workflow_folder in workflow_folders(path, problems):
            folders.setdefault(_root_of(workflow_folder, roots) or path, []).append(workflow_folder)
        return folders
    hint = "name a workflow folder, its `workflow.yaml`, a flow file, or a folder of these"
    raise UsageError(f"`{path}` is not part of a workflow: there is no `{WORKFLOW_FILE}` beside it", hint)


def _root_of(folder: str, roots: list[str]) -> str | None:
    return next((root for root in roots if folder.startswith(root + os.sep)), None)


def _resolve(entries: list[FoundWorkflow], problems: list[Diagnostic]) -> Catalog:
    specs, broken = rules.resolve(entries)
    problems.extend(broken)
    specs = _without_oversized(specs, problems)
    catalog = Catalog(specs, tuple(entries), ())
    built_in = {entry.file for entry in entries if entry.source == "builtin"}
    duplicates = rules.duplicate_commands(catalog.in_precedence(), built_in)
    problems.extend(_at_key(problem, "commandName") for problem in duplicates)
    if any(problem.code == "phase-unused" for problem in problems):
        phase_files = {phase.file for entry in entries if entry.spec for phase in entry.spec.phases}
        problems = [one for one in problems if one.code != "phase-unused" or one.file not in phase_files]
    keys = {entry.key for entry in entries}
    return catalog._replace(problems=tuple(sorted_problems(_with_keys(problem, keys) for problem in problems)))


def _with_keys(problem: Diagnostic, keys: Collection[str]) -> Diagnostic:
    """A missing phase file with the key of a workflow: a subworkflow is meant."""
    line, begin = problem.excerpt or "", problem.column - 1
    name = line[begin : begin + problem.width].strip("'\"")
    is_other = problem.code != "file-missing" or os.path.basename(problem.file) != WORKFLOW_FILE or name not in keys
    if is_other or f"`{name}.md`" in (problem.hint or ""):
        return problem
    return problem._replace(hint=f"did you mean `subworkflow: {name}`?")


def _at_key(problem: Diagnostic, key: str) -> Diagnostic:
    from handrail.guided.workflows.load import at_key  # reads files; not needed if there are no problems

    return at_key(problem, key)


def _without_oversized(chosen: dict[str, WorkflowSpec], problems: list[Diagnostic]) -> dict[str, WorkflowSpec]:
    specs: dict[str, WorkflowSpec] = {}
    levels = rules.nesting_depths(chosen)
    for key, spec in chosen.items():
        if levels[key] > MAX_NESTING:
            message = f"the workflow nests workflows {levels[key]} levels deep; the limit is {MAX_NESTING}"
            hint = "put workflows one after the other instead of inside each other"
        elif spec.references and (total := count_stops(chosen, key)) > MAX_STOPS:
            message = f"the workflow unfolds to {total} phases; the limit is {MAX_STOPS}"
            hint = "each use of a subworkflow adds all its phases; use fewer"
        else:
            specs[key] = spec
            continue
        problem = file_problem("plan-too-large", spec.file, message, hint)
        problems.append(_at_key(problem, "phases"))
    return specs


class _SourceRoot(Record):
    """A folder with workflows. `is_foreign`: they were written for pi-workflows."""

    source: str
    path: str
    registry: Registry
    is_foreign: bool


def _read_folders(
    root: _SourceRoot, folders: Iterable[str], memory: CatalogCache | None, problems: list[Diagnostic]
) -> Iterator[FoundWorkflow]:
    """The workflows in these folders. What reads files is imported when a workflow is not in the cache."""
    source, path, registry, is_foreign = root
    owners: dict[str, str] = {}
    last_root: Root | None = None
    for folder in folders:
        key = name_prefix(source) + os.path.basename(folder)
        file = os.path.join(folder, WORKFLOW_FILE)
        if owners.setdefault(key, file) != file:
            other = os.path.relpath(owners[key], path)
            message = f"there are two workflows `{key}` in this place; the other is `{other}`"
            hint = "rename one of the folders; until then, only the other is used"
            problems.append(file_problem("key-twice", file, message, hint))
            continue
        spec = memory.recall(path, folder) if memory else None
        references = spec.references if spec is not None else ()
        if spec is None:
            from handrail.guided.workflows.load import load
            from handrail.source.definition_files import Root

            last_root = last_root or Root(path, is_foreign=is_foreign)
            workflow = load(last_root, folder, registry)
            problems.extend(workflow.problems)
            spec, references = workflow.spec, tuple(workflow.references)
            if memory is not None:
                memory.store(path, folder, workflow)
        if spec is not None and is_foreign:
            spec = spec._replace(orchestrates=True)
        if spec is not None and spec.key != key:
            spec = spec._replace(key=key, command=key if spec.command else "")
        yield FoundWorkflow(source, path, key, file, spec, references, is_foreign)


def workflow_folders(root: str, problems: list[Diagnostic]) -> Iterator[str]:
    """Every folder below `root` that contains a `workflow.yaml`, sorted by path."""
    waiting, count = [(root, 0)], 0
    while waiting:
        folder, depth = waiting.pop()
        count += 1
        if count > MAX_FOLDERS:
            message = f"there are more than {MAX_FOLDERS} folders here; the rest is ignored"
            hint = "keep only workflows here"
            problems.append(file_problem("too-many-folders", root, message, hint))
            return
        subfolders, is_workflow = _scan_folder(folder, depth, problems)
        if is_workflow:
            yield folder
        waiting.extend((path, depth + 1) for path in sorted(subfolders, reverse=True))


def _scan_folder(folder: str, depth: int, problems: list[Diagnostic]) -> tuple[list[str], bool]:
    """(subfolders to visit, whether this folder is a workflow)."""
    subfolders: list[str] = []
    is_workflow = False
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name == WORKFLOW_FILE and depth > 0:
                    is_workflow = True
                elif entry.name in (WORKFLOW_FILE, "workflow.yml"):
                    message = f"`{entry.name}` is not read here"
                    hint = f"rename it to `{WORKFLOW_FILE}`" if depth else f"move it to `KEY/{WORKFLOW_FILE}`"
                    problems.append(file_problem("file-name", entry.path, message, hint, severity="warning"))
                elif entry.is_dir(follow_symlinks=False):
                    subfolders.append(entry.path)
                elif entry.is_symlink() and os.path.isdir(entry.path):
                    message = f"`{entry.name}` is a link to a folder and is not followed"
                    hint = "copy or move the folder here"
                    problems.append(file_problem("folder-link", entry.path, message, hint, severity="warning"))
    except OSError as error:
        message = f"the folder cannot be listed: {error.strerror or type(error).__name__}"
        hint = "give yourself permission to list it, or move it elsewhere"
        problems.append(file_problem("folder-unreadable", folder, message, hint))
    return subfolders if depth < MAX_DEPTH else [], is_workflow
