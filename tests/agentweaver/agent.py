"""A script for the scripted agent that does what the shipped prompts ask for.

What it writes is prepared as folders: an entry of the script copies one of them over the project. The JSON files match
the schemas of their kinds.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from handrail.driven.artifacts.schemas import artifact_table, builtin_schema
from handrail.driven.flows.prompts import without_references

TURNS = range(1, 9)
WRITES = {
    "task-context": ("task-context",),
    "planning-questions": ("planning-questions",),
    "design": ("design", "plan", "qa"),
    "design-review": ("design-review",),
    "review-assessment": ("review-assessment", "review"),
    "review": ("review",),
    "review-fix": ("review-fix",),
    "bug-analyze": ("bug-analyze", "bug-fix-design", "bug-fix-plan"),
    "task-summary": ("task-summary",),
    "mr-description": ("mr-description",),
    "pr-fix": ("pr-fix",),
    "jira-description": ("jira-description",),
    "practice-candidates": ("practice-candidates",),
    "playbook-questions": ("playbook-questions",),
    "playbook-draft": ("playbook-draft",),
    "git-commit-message": ("git-commit-message",),
}
"""The kind of the first file that a prompt asks for, and all kinds that it asks for."""
SAYS = {
    "Implement this task.": "code.txt",
    "Fix a bug.": "code.txt",
    "The linter or the code generation": "fixed",
    "The tests of this project fail.": "fixed",
    "A check of this project fails.": "fixed",
    "Add a line to notes/codex.md": "notes/codex.md",
    "Add a line to notes/opencode.md": "notes/opencode.md",
    "Add a line to notes/plan.md": "notes/plan.md",
    "write a short summary of it to": "notes/summary.md",
    "A build or a test of this project failed": "notes/failure.md",
}
"""A part of a prompt that asks for a change of the code, and a file that the agent changes then."""
FINDING = {"severity": "critical", "title": "A wrong result", "description": "It adds one too many."}
POINT = {"title": "No plan for old data", "description": "Say what becomes of it.", "affected_artifacts": ["plan"]}


class Mood(NamedTuple):
    """How many reviews of the code and of the design have findings before they have none."""

    bad_reviews: int = 0
    bad_designs: int = 0


def example(schema: Mapping[str, Any]) -> Any:
    """A small value that matches a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return example(schema["anyOf"][0])
    if str(schema.get("pattern")).startswith("^sha256:"):
        return "sha256:" + "0" * 64
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: example(properties.get(name, {})) for name in schema.get("required", ())}
    if kind == "array":
        return [example(schema.get("items", {}))] * max(1, schema.get("minItems", 0))
    return {"boolean": False, "number": 1, "integer": 1, "string": "text", "null": None}[kind]


def content(kind: str, turn: int, mood: Mood) -> Any:
    """What the JSON file of a kind says in an iteration."""
    if kind == "git-commit-message":
        return {"subject": "Keep the order of the items"}
    if kind == "mr-description":
        return {"title": "Keep the order of the items", "summary": "The order is kept."}
    is_bad = turn <= (mood.bad_designs if kind == "design-review" else mood.bad_reviews)
    schema = builtin_schema(str(artifact_table().kinds[f"{kind}-json-file"].schema))
    assert schema is not None, kind
    value = example(without_references(schema))
    if kind in ("design", "plan"):
        value["summary"] = f"The {kind} of turn {turn}"
    if kind == "review":
        return {"summary": f"Review {turn}", "ready_to_merge": not is_bad, "findings": [FINDING] * is_bad}
    if kind == "design-review":
        lists: dict[str, Any] = {name: [] for name, found in value.items() if isinstance(found, list)}
        status = "needs_revision" if is_bad else "approved"
        return {**value, **lists, "status": status, "blocking_findings": [POINT] * is_bad}
    if kind == "planning-questions":
        value["questions"] = [{**value["questions"][0], "id": "speed", "required": True}]
    if kind == "playbook-questions":
        value["questions"] = [{**value["questions"][0], "id": "q1", "answer_kind": "text"}]
    if kind == "playbook-draft":
        value["accepted_rules"] = [{"id": "r", "title": "T", "rule": "Test it.", "evidence_paths": ["go.mod"]}]
        value["proposed_files"] = ["manifest.yaml", "project.md"]
    return value


Said = Callable[[str, int], Any]
"""What the JSON file of a kind says in an iteration."""


def write_script(target: Path, project: Path, key: str, said: Said, commands: Mapping[str, str] | None = None) -> Path:
    """Write the script and its folders below `target`.

    `commands` are what the agent runs instead, by a part of its prompt.
    """
    entries = list((commands or {}).items())
    for first, kinds in WRITES.items():
        for turn in TURNS:
            staged = target / f"{first}-{turn}"
            paths = stage(staged, key, kinds, turn, said)
            copy = f"cp -R {shlex.quote(str(staged))}/. ."
            entries.append((f"Write `{project / paths[0]}`", copy))
            if first == "jira-description":  # a flow may have its own words for this
                entries.append((str(project / paths[0]), copy))
    entries += [(words, f"mkdir -p $(dirname {name}); echo changed >> {name}") for words, name in SAYS.items()]
    lines = ["prompts:"]
    for match, command in entries:
        call = {"tool": "bash", "input": {"command": command}}
        lines += [f"  - match: {json.dumps(match)}", "    play:", f"      - {json.dumps(call)}", "      - say: done"]
    path = target / "script.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def stage(folder: Path, key: str, kinds: tuple[str, ...], turn: int, said: Said) -> list[str]:
    """Write the files of these kinds as they lie in a project. Returns the paths of the JSON files."""
    paths = []
    for kind in kinds:
        for name in (f"{kind}-json-file", f"{kind}-file"):
            if name not in artifact_table().kinds:
                continue
            path = place(name, key, turn)
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            is_data = path.endswith(".json")
            text = json.dumps(said(kind, turn)) if is_data else f"# {kind} {turn}\n"
            (folder / path).write_text(text, encoding="utf-8")
            paths += [path] if is_data else []
    return paths


def place(kind: str, key: str, turn: int = 1) -> str:
    """The path of an artifact in a project."""
    file = artifact_table().kinds[kind].file.replace("{key}", key).replace("{iteration}", str(turn))
    return f".agentweaver/scopes/{key}/{file}"
