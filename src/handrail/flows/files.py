"""Finds the flow files below a folder."""

from __future__ import annotations

import os

from handrail.source.diagnostics import Diagnostic, of_file

ENDINGS = (".json", ".yaml", ".yml")
MAX_FLOWS = 5_000
MAX_FOLDERS = 20_000


def flow_files(path: str, problems: list[Diagnostic]) -> list[str]:
    """All flow files below a folder, sorted by path."""
    found: list[str] = []
    waiting = [path] if os.path.isdir(path) else []
    for seen in range(MAX_FOLDERS + 1):
        if not waiting:
            return sorted(found)
        if seen == MAX_FOLDERS or len(found) > MAX_FLOWS:
            break
        waiting.extend(_scan(waiting.pop(), found, problems))
    message = f"there are more than {MAX_FLOWS} flows or {MAX_FOLDERS} folders here; the others are ignored"
    problems.append(of_file("too-many-folders", path, message, "keep only flows here"))
    return sorted(found)[:MAX_FLOWS]


def _scan(folder: str, found: list[str], problems: list[Diagnostic]) -> list[str]:
    """The subfolders of a folder. Adds its flow files to `found`."""
    below: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
                elif entry.is_symlink() and os.path.isdir(entry.path):
                    message = f"`{entry.name}` is a link to a folder and is not followed"
                    hint = "copy or move the folder here"
                    problems.append(of_file("folder-link", entry.path, message, hint, severity="warning"))
                elif entry.name.endswith(ENDINGS):
                    found.append(entry.path)
    except OSError as error:
        message = f"the folder cannot be listed: {error.strerror or type(error).__name__}"
        hint = "change its permissions, or move it elsewhere"
        problems.append(of_file("folder-unreadable", folder, message, hint))
    return below


def is_flow_file(path: str) -> bool:
    """True if a path that a person names is a flow file."""
    return path.endswith(ENDINGS) and os.path.basename(path) != "workflow.yaml" and os.path.isfile(path)
