"""The files of a playbook → a playbook, and the problems of all these files.

There is a playbook only if its files have no errors. A playbook is written by anybody who can write to the project:
paths, globs and links stay inside its folder, and sizes are limited.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from handrail.base.dataclasses import dataclass
from handrail.base.files import real_inside
from handrail.source.definition_files import Root, Source, UnopenedFile, decode
from handrail.source.diagnostics import Diagnostic, file_problem, has_errors
from handrail.source.fields import MappingReader, Report, Shape, found, quoted
from handrail.source.suggestions import did_you_mean
from handrail.source.tree import TreeNode
from handrail.source.yaml_text import no_front_matter, read_mapping, split_front_matter
from handrail.steps.playbook import spec
from handrail.steps.playbook.spec import (
    FOLDERS,
    FOREIGN,
    MANIFEST,
    PAGE,
    PHASES,
    SECTIONS,
    AppliesTo,
    EntryKind,
    Playbook,
    PlaybookEntry,
    glob_matches,
    phase_key,
)


def nested_reader(reader: MappingReader, name: str, shape: Shape) -> MappingReader | None:
    """A mapping inside a mapping, ready to be read. None if it is missing or invalid."""
    node = reader.child(name)
    return None if node is None else MappingReader(reader.source, node, shape, reader.report)


def text_items(reader: MappingReader, name: str) -> tuple[TreeNode, ...] | None:
    """The items of a list of texts, each with its place. None if the list is missing or invalid."""
    node = reader.child(name)
    if node is None:
        return None
    items: list[TreeNode] = []
    for item in node.value:
        if item.kind != "text":
            hint = "write plain text, or put it in quotes"
            reader.on(item, "wrong-type", f"an item of `{name}` has to be text, found {found(item)}", hint)
        elif not item.value.strip():
            reader.on(item, "blank-text", f"an item of `{name}` is blank", "fill it in, or remove it")
        else:
            items.append(item)
    return tuple(items)


def texts(reader: MappingReader | None, name: str) -> tuple[str, ...]:
    """The texts of a list; empty if the list is missing or invalid."""
    return tuple(node.value for node in text_items(reader, name) or ()) if reader else ()


def whole_number(reader: MappingReader, name: str) -> int | None:
    """A whole number, 0 or more. None if it is missing or invalid."""
    node = reader.child(name)
    if node is None:
        return None
    if node.value < 0:
        hint = f"`{name}` means: {reader.shape.by_name[name].about}"
        reader.on(node, "bad-value", f"`{name}` has to be 0 or more, found {quoted(node)}", hint)
        return None
    return int(node.value)


LocatedEntry = tuple[PlaybookEntry, MappingReader]
RELATIONS = ("related", "related_practices", "related_examples")


def read_entry(source: Source, path: str, kind: EntryKind, report: Report) -> LocatedEntry | None:
    """The entry in a file, with its reader, so that later problems can be located. None if it cannot be used."""
    parts = split_front_matter(source.text)
    if parts is None:
        report(no_front_matter(source))
        return None
    front, body, _ = parts
    reader = read_mapping(source, front, 2, spec.ENTRY, report)
    if reader is None:
        return None
    id_, title = reader.text("id"), reader.text("title")
    entry = PlaybookEntry(
        kind=kind,
        id=id_ or "",
        title=title or "",
        path=path,
        body=body,
        phases=_phases(reader),
        applies=_applies(reader),
        priority=whole_number(reader, "priority"),
        severity=reader.text("severity"),
        related=tuple(text for name in RELATIONS for text in texts(reader, name)),
    )
    return (entry, reader) if id_ is not None and title is not None else None


def _phases(reader: MappingReader) -> tuple[str, ...]:
    names: list[str] = []
    for node in text_items(reader, "phases") or ():
        if reader.source.is_foreign and node.value not in PHASES:
            hint = did_you_mean(node.value, PHASES) or f"AgentWeaver knows {', '.join(PHASES)}"
            reader.on(node, "playbook-phase", f"there is no phase `{node.value}`", hint)
        names.append(phase_key(node.value))
    return tuple(dict.fromkeys(names))


def _applies(reader: MappingReader) -> AppliesTo:
    applies = nested_reader(reader, "applies_to", spec.APPLIES_TO)
    if applies is None:
        return AppliesTo()
    values = {}
    for name in ("languages", "frameworks", "globs", "keywords"):
        nodes = text_items(applies, name)
        values[name] = None if nodes is None else tuple(node.value for node in nodes)
    return AppliesTo(**values)


def check_ids(entries: list[LocatedEntry]) -> None:
    """Report each entry whose id another one has, and each related id that no entry has."""
    first: dict[str, PlaybookEntry] = {}
    for entry, reader in entries:
        other = first.setdefault(entry.id, entry)
        if other is not entry:
            hint = f"`{other.path}` has it already; choose another one"
            reader.on(reader.node.value["id"], "playbook-id-twice", f"the id `{entry.id}` is used twice", hint)
    for _, reader in entries:
        named = [reader.node.value[name].value or () for name in RELATIONS if name in reader.node.value]
        for node in (node for nodes in named for node in nodes):
            if node.kind == "text" and node.value.strip() and node.value not in first:
                hint = did_you_mean(node.value, sorted(first)) or "name the id of an entry"
                reader.on(node, "playbook-related", f"no entry has the id `{node.value}`", hint)


MAX_FILES = 10_000
MAX_ENTRIES = 1_000
MAX_TEXT = 8 * 1_048_576
"""The limits of a playbook: files below its folder, practices and examples, and their characters together."""
OWN_PHASES = f"AgentWeaver knows {', '.join(PHASES)}; a playbook in `{FOLDERS[0]}` may have phases of its own"


@dataclass(frozen=True)
class FoundPlaybook:
    """What was found in a project. `folder` is relative to it; None if there is no playbook. `files` were read.

    `has_manifest`: the folder has a manifest, valid or not.
    """

    project: str
    folder: str | None = None
    has_manifest: bool = False
    playbook: Playbook | None = None
    problems: tuple[Diagnostic, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def path(self) -> str | None:
        return None if self.folder is None else os.path.join(self.project, self.folder)


def folder_of(project: str) -> str | None:
    """The folder of the playbook, relative to the project: the first with a manifest, else the first that exists."""
    for name in FOLDERS:
        if os.path.lexists(os.path.join(project, name, MANIFEST)):
            return name
    return next((name for name in FOLDERS if os.path.lexists(os.path.join(project, name))), None)


def read_playbook(project: str) -> FoundPlaybook:
    """The playbook of a project, valid or not."""
    folder = folder_of(project)
    if folder is None:
        return FoundPlaybook(project)
    path = os.path.join(project, folder)
    if real_inside(project, folder) is None:
        message, hint = "the playbook leads out of the project", "replace the link with a folder"
        return FoundPlaybook(project, folder, True, None, (file_problem("path-escape", path, message, hint),))
    job = _PlaybookLoad(project, folder)
    playbook = job.playbook()
    usable = None if has_errors(job.problems) else playbook
    has_manifest = os.path.lexists(os.path.join(path, MANIFEST))
    return FoundPlaybook(project, folder, has_manifest, usable, tuple(job.problems), tuple(job.sources))


class _PlaybookLoad:
    """One playbook being read."""

    def __init__(self, project: str, folder: str) -> None:
        self.folder = folder
        self.path = os.path.join(project, folder)
        self.is_foreign = folder == FOREIGN
        self.root = Root(self.path, is_foreign=self.is_foreign)
        self.problems: list[Diagnostic] = []
        self.sources: dict[str, Source | None] = {}
        self.size = 0
        self._names: list[str] | None = None

    def read(self, entry: str, place: Diagnostic) -> Source | None:
        """The text of a file of the playbook. `place` locates what names it."""
        file = os.path.normpath(os.path.join(self.path, entry))
        if file in self.sources:
            return self.sources[file]
        opened = self.root.open(self.path, entry)
        if isinstance(opened, UnopenedFile):
            hint = "move it into the folder of the playbook" if opened.code == "path-escape" else opened.hint
            self.problems.append(place._replace(code=opened.code, message=opened.message, hint=hint))
            return None
        source, problems = decode(file, opened.data)
        source.is_foreign = self.is_foreign
        self.problems.extend(problems)
        self.size += len(opened.data)
        self.sources[file] = None if problems else source
        return self.sources[file]

    def playbook(self) -> Playbook | None:
        file = os.path.join(self.path, MANIFEST)
        hint = "write it, or run `handrail playbook init`"
        source = self.read(MANIFEST, file_problem("", file, ""))
        if source is None:
            self.problems = [one._replace(hint=hint) if one.code == "file-missing" else one for one in self.problems]
            return None
        reader = read_mapping(source, source.text, 1, spec.MANIFEST_KEYS, self.problems.append)
        if reader is None:
            return None
        _check_version(reader)
        if self.read(PAGE, file_problem("", os.path.join(self.path, PAGE), "")) is None:
            self.problems[-1] = self.problems[-1]._replace(hint="write a page about the project, for people and agents")
        about = nested_reader(reader, "project", spec.PROJECT)
        sections = {name: self._section(reader, name) for name in SECTIONS}
        practices, examples = (self._entries(name, sections[name]) for name in ("practices", "examples"))
        check_ids([*practices, *examples])
        selection = nested_reader(reader, "selection", spec.SELECTION)
        matching = selection.text("matching") if selection else None
        always = self._always(reader)
        text_items(reader, "evidence_paths")
        return Playbook(
            folder=self.folder,
            name=(about.text("name") if about else None) or "",
            languages=texts(about, "languages"),
            frameworks=texts(about, "frameworks"),
            practices=tuple(entry for entry, _ in practices),
            examples=tuple(entry for entry, _ in examples),
            templates=tuple(name for name, _ in sections["templates"]),
            always=always,
            budgets=self._budgets(reader),
            include_examples=selection.flag("include_examples", True) if selection else True,
            max_examples=whole_number(selection, "max_examples") if selection else None,
            matching=matching or "strict",
        )

    def _section(self, manifest: MappingReader, name: str) -> list[tuple[str, TreeNode]]:
        """The files of a section, each with the node that names it, without duplicates."""
        if manifest.node.value.get(name) is None:
            if self.is_foreign and name not in manifest.misspelt:
                place, hint = (manifest.node.line, manifest.node.column, 1), f"add `{name}:` with `paths` or `globs`"
                manifest.at(place, "missing-key", f"key `{name}` is missing", hint)
            return []
        reader = nested_reader(manifest, name, spec.FILES_KEYS)
        if reader is None:
            return []
        known = len(self.problems)
        paths, globs = text_items(reader, "paths"), text_items(reader, "globs")
        if not paths and not globs and len(self.problems) == known:
            message, hint = f"`{name}` names no files", "add a path to `paths`, or a glob to `globs`"
            reader.on(reader.node, "playbook-empty", message, hint)
        files = {os.path.normpath(node.value): node for node in paths or ()}
        for node in globs or ():
            for path in self._matching_paths(reader, node):
                files.setdefault(path, node)
        return sorted(files.items())

    def _matching_paths(self, reader: MappingReader, node: TreeNode) -> list[str]:
        glob = node.value
        if glob.startswith("/") or ".." in glob.split("/"):
            hint = "write it relative to the folder of the playbook"
            reader.on(node, "path-escape", f"`{glob}` leads out of the folder that it must stay in", hint)
            return []
        paths = [path for path in self._below(reader, node) if glob_matches(glob, path)]
        if not paths:
            hint = "add a file that it matches, or remove the glob"
            reader.on(node, "glob-empty", f"no file of the playbook matches `{glob}`", hint)
        return paths

    def _below(self, reader: MappingReader, node: TreeNode) -> list[str]:
        """The paths of all files below the folder of the playbook."""
        if self._names is None:
            self._names = list(islice(_files(self.path), MAX_FILES + 1))
            if len(self._names) > MAX_FILES:
                hint = "move what is no playbook to another folder"
                reader.on(node, "playbook-too-large", f"`{self.folder}` has more than {MAX_FILES} files", hint)
        return self._names

    def _entries(self, section: str, files: list[tuple[str, TreeNode]]) -> list[LocatedEntry]:
        entries: list[LocatedEntry] = []
        manifest = self.sources[os.path.join(self.path, MANIFEST)]
        assert manifest is not None
        for path, node in files:
            place = manifest.problem("", node.place, "")
            if len(entries) >= MAX_ENTRIES or self.size > MAX_TEXT:
                limit = f"{MAX_ENTRIES} {section}" if len(entries) >= MAX_ENTRIES else f"{MAX_TEXT} bytes"
                message, hint = f"the playbook has more than {limit}", "keep practices short, and few"
                self.problems.append(place._replace(code="playbook-too-large", message=message, hint=hint))
                break
            source = self.read(path, place)
            if source is None:
                continue
            entry = read_entry(source, path, "practice" if section == "practices" else "example", self.problems.append)
            if entry is not None:
                entries.append(entry)
        return entries

    def _always(self, reader: MappingReader) -> tuple[str, ...]:
        paths: list[str] = []
        for node in text_items(reader, "always_include") or ():
            place = reader.source.problem("", node.place, "")
            if self.read(node.value, place) is not None:
                paths.append(os.path.normpath(node.value))
        return tuple(dict.fromkeys(paths))

    def _budgets(self, reader: MappingReader) -> dict[str, int]:
        node = reader.child("context_budgets")
        budgets: dict[str, int] = {}
        for name, value in (node.value if node is not None else {}).items():
            line, column = node.keys[name] if node is not None else (1, 1)
            if self.is_foreign and name not in PHASES:
                place = reader.source.key_place(name, (line, column))
                reader.at(place, "playbook-phase", f"there is no phase `{name}`", OWN_PHASES)
            elif value.kind != "integer" or value.value < 0:
                message = f"a budget has to be a whole number, 0 or more, found {quoted(value)}"
                hint = "write how many tokens the practices of this phase may have, such as 1200"
                reader.on(value, "bad-value" if value.kind == "integer" else "wrong-type", message, hint)
            else:
                budgets[phase_key(name)] = int(value.value)
        return budgets


def _check_version(reader: MappingReader) -> None:
    node: TreeNode | None = reader.node.value.get("version")
    if node is None:
        reader.child("version")
    elif node.kind not in ("integer", "number") or node.value != 1:
        reader.on(node, "playbook-version", f"`version` has to be 1, found {found(node)}", "write `version: 1`")


def _files(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)
