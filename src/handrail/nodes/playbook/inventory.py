"""`playbook-inventory`: lists what the files of a project say about it: its tools, tests, structure and settings.

It looks at names of files, and at the text of small ones. It runs nothing and follows no links.
"""

from __future__ import annotations

import re
from typing import Any

from handrail.contracts import Node, NodeContext, NodeError, Work
from handrail.nodes.jsonfiles import text_param, time_text, write_json, write_text
from handrail.playbook.making import facts_of
from handrail.playbook.observing import SECTIONS, Rule, Seen, observed
from handrail.playbook.repository import IGNORED, Repository, TooManyFiles
from handrail.playbook.survey import Fact
from handrail.source.fields import Field
from handrail.source.plain import counted

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
    repository = Repository(context.project, (as_json, as_markdown))
    try:
        paths = repository.paths
    except TooManyFiles as error:
        raise NodeError(error.code, error.message, transient=False) from error
    source_text = lambda path: repository.text(path) if _TEXTUAL.search(path) else ""  # noqa: E731 - one expression
    seen = Seen(paths, source_text, tuple(repository.scripts))
    facts = facts_of(repository)
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
        "facts": [{"kind": fact.kind, "value": fact.value, "evidence": fact.evidence} for fact in facts],
        "evidence": evidence,
    }
    write_json(context, as_json, data)
    write_text(context, as_markdown, _markdown(summary, sections, facts))
    return {"summary": summary, "outputJsonFile": as_json, "outputFile": as_markdown, "evidenceCount": len(evidence)}


def _observation(rule: Rule, paths: list[str], seen: Seen) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": rule.kind, "title": rule.title, "evidence_paths": paths[:MAX_EVIDENCE]}
    details: dict[str, Any] = {"scripts": list(seen.scripts)} if rule.has_scripts and seen.scripts else {}
    if len(paths) > MAX_EVIDENCE:
        details["more_paths"] = len(paths) - MAX_EVIDENCE
    return {**row, "details": details} if details else row


def _markdown(summary: str, sections: dict[str, list[dict[str, Any]]], facts: list[Fact]) -> str:
    listed = "\n".join(f"- {fact.kind}: {fact.value} (`{fact.evidence}`)" for fact in facts)
    parts = ["# Repository inventory", summary, f"## How people work\n\n{listed or 'Nothing was found.'}"]
    for name, title in SECTIONS.items():
        rows = [f"- {row['title']}: {', '.join(row['evidence_paths'])}" for row in sections[name]]
        parts.append(f"## {title}\n\n" + ("\n".join(rows) or "Nothing was found."))
    return "\n\n".join(parts) + "\n"
