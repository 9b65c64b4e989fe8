"""The files of a new playbook, from a draft of the schema `playbook-draft/v1`. Pure.

A rule of a draft may also have the keys `phases`, `severity`, `priority` and `applies_to` of a practice.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from handrail.playbook.spec import BUDGETS, MANIFEST, OWN, PAGE, PHASES, SEVERITIES

_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")


def playbook_files(draft: dict[str, Any], project: str, about: dict[str, list[str]] | None = None) -> dict[str, str]:
    """Path, relative to the project → text. The manifest is the last one. `about`: languages and frameworks."""
    rules = _named(draft["accepted_rules"])
    practices = {f"{OWN}/practices/{name}.md": _practice(name, rule) for name, rule in rules.items()}
    evidence = [path for rule in rules.values() for path in rule["evidence_paths"]]
    return {
        f"{OWN}/{PAGE}": _page(draft["summary"], rules, project),
        **practices,
        f"{OWN}/{MANIFEST}": _manifest(evidence, project, bool(rules), about or {}),
    }


def _named(rules: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The rules by the names of their files, which are their ids."""
    found: dict[str, dict[str, Any]] = {}
    for rule in rules:
        plain = unicodedata.normalize("NFKD", rule["id"] or rule["title"]).encode("ascii", "ignore").decode().lower()
        name = _NOT_IN_NAME.sub("-", plain).strip("-")[:60] or "practice"
        number = next(n for n in range(1, len(found) + 2) if (name if n == 1 else f"{name}-{n}") not in found)
        found[name if number == 1 else f"{name}-{number}"] = rule
    return found


def _manifest(evidence: list[str], project: str, has_practices: bool, about: dict[str, list[str]]) -> str:
    lines = ["version: 1", "project:", f"  name: {_quoted(project)}"]
    lines += [f"  {name}: {_quoted(about[name])}" for name in ("languages", "frameworks") if about.get(name)]
    lines += ["context_budgets:", *(f"  {phase}: {tokens}" for phase, tokens in BUDGETS.items())]
    lines += ['practices:\n  globs: ["practices/*.md"]'] if has_practices else []
    lines += [f"always_include:\n  - {PAGE}"]
    paths = sorted({path_and_line(path)[0] for path in evidence})
    lines += ["evidence_paths:", *(f"  - {_quoted(path)}" for path in paths)] if paths else []
    return "\n".join(lines) + "\n"


def _quoted(value: Any) -> str:
    """A text, or a list of texts, for YAML."""
    return json.dumps(value, ensure_ascii=False)


def _page(summary: str, rules: dict[str, dict[str, Any]], project: str) -> str:
    listed = "\n".join(f"- {_line(rule['title'])} (`practices/{name}.md`)" for name, rule in rules.items())
    return f"# {_line(project)}\n\n{summary.strip()}\n\n## Practices\n\n{listed or 'There are no practices yet.'}\n"


def _practice(name: str, rule: dict[str, Any]) -> str:
    head = [f"id: {name}", f"title: {_quoted(_line(rule['title']))}"]
    phases = [phase for phase in _texts(rule.get("phases")) if phase in PHASES]
    head += [f"phases: {_quoted(phases)}"] if phases else []
    applies = rule.get("applies_to")
    if isinstance(applies, dict):
        rows = {key: _texts(applies.get(key)) for key in ("languages", "frameworks", "globs", "keywords")}
        kept = [f"  {key}: {_quoted(values)}" for key, values in rows.items() if values]
        head += ["applies_to:", *kept] if kept else []
    priority = rule.get("priority")
    head += [f"priority: {priority}"] if isinstance(priority, int) and 0 <= priority <= 1000 else []
    severity = rule.get("severity")
    head += [f"severity: {severity if severity in SEVERITIES else 'should'}"]
    evidence = ", ".join(f"`{path}`" for path in rule["evidence_paths"])
    front = "\n".join(head)
    return f"---\n{front}\n---\n\n{rule['rule'].strip()}\n\nEvidence: {evidence}\n"


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str) and text.strip()] if isinstance(value, list) else []


def _line(text: str) -> str:
    return " ".join(text.split())


def path_and_line(evidence: str) -> tuple[str, int | None]:
    """`Makefile:3` is a path and a line; `Makefile` is a path."""
    path, colon, line = evidence.rpartition(":")
    return (
        (path, int(line))
        if colon and path and line.isascii() and line.isdigit() and len(line) < 9
        else (evidence, None)
    )
