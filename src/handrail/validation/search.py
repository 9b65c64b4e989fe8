"""Finds the definitions below a folder that no project around it uses: nested projects, loose workflows and flows.

Follows no links. Skips hidden folders and folders of installed packages; a nested project searches below itself.
"""

from __future__ import annotations

import os
import re

from handrail.flows.files import ENDINGS
from handrail.project import MARKERS
from handrail.source.dataclasses import dataclass, field
from handrail.source.diagnostics import Diagnostic, of_file
from handrail.workflows.spec import WORKFLOW_FILE

MAX_FOLDERS = 20_000
FLOW_FOLDERS = ("flows", ".flows")
_SKIPPED = frozenset(("node_modules", "site-packages", "venv", "__pycache__"))
_SHOWN = 65_536
_OF_WORKFLOW = re.compile(r"^(phases|commandName|initialMessage)[ \t]*:", re.MULTILINE)
_OF_FLOW = re.compile(r"^phases[ \t]*:|\"phases\"\s*:", re.MULTILINE)
"""Other tools have files and folders of the same names. What has none of these keys is theirs."""


@dataclass
class Below:
    """What was found below a folder. `problems` says if the search ended early."""

    projects: list[str] = field(default_factory=list)
    workflows: list[str] = field(default_factory=list)
    flows: list[str] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.projects or self.workflows or self.flows)


def _is_project(folder: str) -> bool:
    """True if a folder has its own place for definitions. `.git` alone is none, and neither is a link."""
    marks = (os.path.join(folder, mark) for mark in MARKERS if mark != ".git")
    return any(os.path.isdir(mark) and not os.path.islink(mark) for mark in marks)


def search(root: str) -> Below:
    """All nested projects below a folder, and the workflows and flows that are in no project."""
    found = Below()
    waiting = [(root, os.path.basename(root) in FLOW_FOLDERS)]
    for seen in range(MAX_FOLDERS + 1):
        if not waiting:
            break
        if seen == MAX_FOLDERS:
            message = f"there are more than {MAX_FOLDERS} folders here; the others are not searched"
            hint = "check the folders with definitions one by one"
            found.problems.append(of_file("too-many-folders", root, message, hint))
            break
        folder, has_flows = waiting.pop()
        if folder != root and _is_project(folder):
            found.projects.append(folder)
            continue
        below = _scan(folder, found, has_flows=has_flows)
        waiting += [(path, has_flows or os.path.basename(path) in FLOW_FOLDERS) for path in reversed(below)]
    return found


def _scan(folder: str, found: Below, *, has_flows: bool) -> list[str]:
    """The folders to search in a folder. Adds its definitions to `found`. A folder that cannot be listed has none."""
    below: list[str] = []
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:
        return below
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _SKIPPED and (not entry.name.startswith(".") or entry.name in FLOW_FOLDERS):
                below.append(entry.path)
        elif not entry.is_file(follow_symlinks=False):
            continue
        elif entry.name == WORKFLOW_FILE:
            if _OF_WORKFLOW.search(_beginning(entry.path)):
                found.workflows.append(folder)
        elif has_flows and entry.name.endswith(ENDINGS) and _OF_FLOW.search(_beginning(entry.path)):
            found.flows.append(entry.path)
    return below


def _beginning(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_SHOWN).decode("utf-8", "replace")
    except OSError:
        return ""
