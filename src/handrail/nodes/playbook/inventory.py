"""`playbook-inventory`: lists what the files of a project say about it: its tools, tests, structure and settings.

It looks at names of files, and at the text of small ones. It runs nothing and follows no links.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.nodes.jsonfiles import text_param, time_text, write_json, write_text
from handrail.nodes.playbook.observing import SECTIONS, Rule, Seen, observed
from handrail.source.fields import Field
from handrail.source.plain import counted
from handrail.state.regular import Unreadable, path_flaw, read_regular

IGNORED = (".git", "node_modules", "dist", "manifest-history", ".venv", "__pycache__", ".handrail", ".agentweaver")
MAX_FILES = 100_000
MAX_TEXT = 256 * 1024
MAX_EVIDENCE = 50
_TEXTUAL = re.compile(r"\.(?:c|cc|cpp|cs|go|gradle|java|js|jsx|kt|kts|mjs|php|py|rb|rs|scala|swift|ts|tsx|xml)\Z")
NODE = Node(
    about="Lists what the files of the project say about it: its tools, tests, structure and settings.",
    params=(
        Field("outputJsonFile", ("text",), "the file for the list, as JSON", required=True, shortest=1, names="path"),
        Field("outputFile", ("text",), "the file for the list, as Markdown", required=True, shortest=1, names="path"),
    ),
    others="ignored",
    outputs={
        "summary": "the list in one sentence",
        "outputJsonFile": "the list, as JSON",
        "outputFile": "the list, as Markdown",
        "evidenceCount": "how many files the list names",
    },
    makes=("outputJsonFile", "outputFile"),
)


async def run(work: Work, context: NodeContext) -> Any:
    as_json, as_markdown = (text_param(work.params, name) for name in ("outputJsonFile", "outputFile"))
    project, own = context.project, (as_json, as_markdown)
    seen = Seen(tuple(_files(project, own)), lambda path: _text(project, path), _scripts(project))
    sections = {
        name: [_observation(rule, paths, seen) for rule, paths in rows] for name, rows in observed(seen).items()
    }
    evidence = sorted({path for rows in sections.values() for row in rows for path in row["evidence_paths"]})
    count = sum(map(len, sections.values()))
    summary = f"{counted(count, 'observation')} about {counted(len(seen.paths), 'file')} of the project."
    data = {
        "summary": summary,
        "repository_root": context.project,
        "generated_at": time_text(),
        "ignored_directories": list(IGNORED),
        **sections,
        "evidence": evidence,
    }
    write_json(context, as_json, data)
    write_text(context, as_markdown, _markdown(summary, sections))
    return {"summary": summary, "outputJsonFile": as_json, "outputFile": as_markdown, "evidenceCount": len(evidence)}


def _files(project: str, own: tuple[str, ...]) -> list[str]:
    """The paths of the files of the project, sorted. Folders of tools, and the files with the result, are left out."""
    found: list[str] = []
    for folder, folders, names in os.walk(project):
        folders[:] = sorted(name for name in folders if name not in IGNORED)
        below = os.path.relpath(folder, project)
        found += [name if below == "." else f"{below}/{name}" for name in sorted(names)]
        if len(found) > MAX_FILES:
            raise NodeError("too-many-files", f"the project has more than {MAX_FILES} files", transient=False)
    results = {os.path.relpath(os.path.join(project, path), project) for path in own}
    return sorted(path for path in found if path_flaw(path) is None and _is_printable(path) and path not in results)


def _is_printable(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(project: str, path: str) -> str:
    """The text of a small source file; empty for any other."""
    real = os.path.join(project, path)
    if not _TEXTUAL.search(path) or os.path.islink(real):
        return ""
    try:
        return read_regular(real, MAX_TEXT).decode("utf-8", "replace")
    except Unreadable:
        return ""


def _scripts(project: str) -> tuple[str, ...]:
    """The names of the scripts in `package.json`."""
    try:
        data = json.loads(read_regular(os.path.join(project, "package.json"), MAX_TEXT))
    except (Unreadable, ValueError, RecursionError):
        return ()
    found = data.get("scripts") if isinstance(data, dict) else None
    return tuple(sorted(found)) if isinstance(found, dict) else ()


def _observation(rule: Rule, paths: list[str], seen: Seen) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": rule.kind, "title": rule.title, "evidence_paths": paths[:MAX_EVIDENCE]}
    details: dict[str, Any] = {"scripts": list(seen.scripts)} if rule.has_scripts and seen.scripts else {}
    if len(paths) > MAX_EVIDENCE:
        details["more_paths"] = len(paths) - MAX_EVIDENCE
    return {**row, "details": details} if details else row


def _markdown(summary: str, sections: dict[str, list[dict[str, Any]]]) -> str:
    parts = ["# Repository inventory", summary]
    for name, title in SECTIONS.items():
        rows = [f"- {row['title']}: {', '.join(row['evidence_paths'])}" for row in sections[name]]
        parts.append(f"## {title}\n\n" + ("\n".join(rows) or "Nothing was found."))
    return "\n\n".join(parts) + "\n"
