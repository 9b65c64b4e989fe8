"""The playbook of a project: its manifest, and the files that the manifest names.

The manifest is checked, and every named file has to exist. The practices themselves are not read here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from handrail.artifacts.world import World
from handrail.contracts import NodeError
from handrail.source import given
from handrail.source.simpleyaml import read_yaml
from handrail.source.values import shown
from handrail.state.files import real_inside

FOLDER = ".agentweaver/playbook"
MANIFEST = f"{FOLDER}/manifest.yaml"
PROJECT = f"{FOLDER}/project.md"
SECTIONS = ("practices", "examples", "templates")
MAX_FILES = 10_000


@dataclass(frozen=True)
class Playbook:
    """A playbook. `problem` says what is wrong with it. `files` are the files of each section, `always` those of every
    task; all paths are relative to the project.
    """

    exists: bool
    problem: str | None = None
    files: dict[str, list[str]] | None = None
    always: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        return self.exists and self.problem is None


class _Invalid(Exception):
    pass


def read_playbook(project: str) -> Playbook:
    """The playbook of a project, valid or not."""
    try:
        text = World(project).text(MANIFEST)
        if text is None:
            return Playbook(exists=False)
        return _checked(project, _data(text))
    except NodeError as error:
        return Playbook(exists=True, problem=error.message)
    except _Invalid as error:
        return Playbook(exists=True, problem=str(error))


def _data(text: str) -> dict[str, Any]:
    tree, troubles = read_yaml(text)
    if troubles:
        raise _Invalid(f"`{MANIFEST}` is not YAML that can be read, line {troubles[0].line}: {troubles[0].message}")
    data = None if tree is None else given.plain(tree)
    if not isinstance(data, dict):
        raise _Invalid(f"`{MANIFEST}` has to be a mapping")
    return data


def _checked(project: str, data: dict[str, Any]) -> Playbook:
    if data.get("version") != 1:
        raise _Invalid(f"`version` of `{MANIFEST}` has to be 1, found `{shown(data.get('version'))}`")
    about = data.get("project")
    name = about.get("name") if isinstance(about, dict) else None
    if not isinstance(name, str) or not name.strip():
        raise _Invalid(f"`project.name` of `{MANIFEST}` is missing")
    if not os.path.isfile(os.path.join(project, PROJECT)):
        raise _Invalid(f"`{PROJECT}` is missing")
    files = {section: _section(project, section, data[section]) for section in SECTIONS if section in data}
    always = [
        _existing(project, path, "always_include") for path in _texts(data.get("always_include"), "always_include")
    ]
    return Playbook(exists=True, files=files, always=tuple(always))


def _section(project: str, name: str, section: Any) -> list[str]:
    """The files of a section: those that it names, and those that match its globs."""
    if not isinstance(section, dict):
        raise _Invalid(f"`{name}` of `{MANIFEST}` has to be a mapping")
    paths, globs = (_texts(section.get(key), f"{name}.{key}") for key in ("paths", "globs"))
    if not paths and not globs:
        raise _Invalid(f"`{name}` of `{MANIFEST}` needs `paths` or `globs`")
    found = {_existing(project, path, name): None for path in paths}
    below = sorted(_files(project)) if globs else []
    for glob in globs:
        pattern = _pattern(glob)
        matching = [path for path in below if pattern.fullmatch(path)]
        if not matching:
            raise _Invalid(f"`{name}` of `{MANIFEST}`: no file matches `{glob}`")
        found |= {f"{FOLDER}/{path}": None for path in matching}
    return list(found)


def _texts(value: Any, name: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or any(not isinstance(item, str) or not item.strip() for item in value):
        raise _Invalid(f"`{name}` of `{MANIFEST}` has to be a list of texts")
    return value


def _existing(project: str, path: str, name: str) -> str:
    """The path of a file of the playbook, relative to the project."""
    real = real_inside(os.path.join(project, FOLDER), path)
    if real is None:
        raise _Invalid(f"`{name}` of `{MANIFEST}`: `{path}` leads out of the playbook")
    if not os.path.isfile(real):
        raise _Invalid(f"`{name}` of `{MANIFEST}`: `{path}` does not exist")
    return f"{FOLDER}/{os.path.normpath(path)}"


def _files(project: str) -> Iterator[str]:
    """The paths of the files below the folder of the playbook."""
    root, count = os.path.join(project, FOLDER), 0
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            count += 1
            if count > MAX_FILES:
                raise _Invalid(f"`{FOLDER}` has more than {MAX_FILES} files")
            yield os.path.relpath(os.path.join(folder, name), root)


def _pattern(glob: str) -> re.Pattern[str]:
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(parts.get(part) or re.escape(part) for part in re.split(r"(\*\*/|\*\*|\*|\?)", glob)))
