"""The files of a playbook, from a draft of the schema `playbook-draft/v1`. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from handrail.nodes.playbook.manifest import FOLDER, MANIFEST, PROJECT

PHASES = ("plan", "design_review", "implement", "review", "repair")
BUDGETS = dict(zip(PHASES, (1200, 1000, 1400, 1000, 1000), strict=True))
RULES = "practices/generated-rules.md"
EXAMPLE = "examples/generated-example.md"
TEMPLATE = "templates/default.md"


def playbook_files(draft: dict[str, Any], project: str) -> dict[str, str]:
    """Path, relative to the project → text. The manifest is the last one."""
    rules = draft["accepted_rules"]
    return {
        PROJECT: _project(draft["summary"], rules, project),
        f"{FOLDER}/{RULES}": _rules(rules),
        f"{FOLDER}/{EXAMPLE}": _example(rules),
        f"{FOLDER}/{TEMPLATE}": "# Template\n",
        MANIFEST: _manifest(draft["evidence_paths"], project),
    }


def _manifest(evidence: list[str], project: str) -> str:
    lines = [
        "version: 1",
        f"project:\n  name: {_quoted(project)}",
        "context_budgets:",
        *(f"  {phase}: {tokens}" for phase, tokens in BUDGETS.items()),
        f"practices:\n  paths:\n    - {RULES}",
        f"examples:\n  paths:\n    - {EXAMPLE}",
        f"templates:\n  paths:\n    - {TEMPLATE}",
        "always_include:\n  - project.md",
        "selection:\n  include_examples: true\n  max_examples: 1",
        *(["evidence_paths:", *(f"  - {_quoted(path)}" for path in sorted(set(evidence)))] if evidence else []),
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A text in double quotes, for YAML."""
    return json.dumps(text)


def _project(summary: str, rules: list[dict[str, Any]], project: str) -> str:
    listed = "\n".join(f"- {_line(rule['title'])} ({_paths(rule)})" for rule in rules)
    return f"# {_line(project)}\n\n{summary.strip()}\n\n## Rules\n\n{listed or 'There are no rules yet.'}\n"


def _rules(rules: list[dict[str, Any]]) -> str:
    head = _front("practice.generated-rules", "Rules of this project", priority=10, severity="must")
    parts = [f"## {_line(rule['title'])}\n\n{rule['rule'].strip()}\n\nEvidence: {_paths(rule)}\n" for rule in rules]
    return f"{head}\n# Rules\n\n" + ("\n".join(parts) or "There are no rules yet.\n")


def _example(rules: list[dict[str, Any]]) -> str:
    head = _front("example.generated-guidance", "Where to see the rules", priority=0, severity="info",
                  related=["practice.generated-rules"])  # fmt: skip
    listed = "\n".join(f"- {_line(rule['title'])}: {_paths(rule)}" for rule in rules)
    return f"{head}\n# Where to see the rules\n\n{listed or 'There are no rules yet.'}\n"


def _front(id_: str, title: str, *, priority: int, severity: str, related: Iterable[str] = ()) -> str:
    more = "".join(f"\n  - {name}" for name in related)
    phases = "".join(f"\n  - {phase}" for phase in PHASES)
    end = f"priority: {priority}\nseverity: {severity}" + (f"\nrelated:{more}" if more else "")
    return f"---\nid: {id_}\ntitle: {title}\nphases:{phases}\n{end}\n---\n"


def _paths(rule: dict[str, Any]) -> str:
    return ", ".join(f"`{path}`" for path in rule["evidence_paths"])


def _line(text: str) -> str:
    return " ".join(text.split())
