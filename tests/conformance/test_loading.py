"""Loading a tree of files: keys, definitions, warnings, and the workflow of a command name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance import corpus, differences, gists, trees
from handrail.base.errors import HandrailError
from handrail.extensions.registry import Registry
from handrail.guided.workflows.catalog import Catalog, read_catalog
from handrail.guided.workflows.spec import PhaseSpec, Reference, WorkflowSpec
from handrail.source.diagnostics import Diagnostic

PROJECT = "proj/.pi/workflows"
USER = "home/workflows"


@corpus.every("loading")
def test_files_are_loaded_as_in_pi_workflows(case: corpus.Case, tmp_path: Path) -> None:
    root = tmp_path.resolve()
    trees.build(root, case["tree"])
    folders = [str(root / PROJECT), str(root / USER)]
    catalog = read_catalog(zip(("project", "user"), folders, strict=True), Registry(), orchestrating=folders)
    original = differences.expected(case)
    mistyped = trees.mistyped(case["tree"])
    left_out = set(original["keys"]) - catalog.workflows.keys()
    assert all(errors(catalog, key) for key in mistyped | left_out), "nobody is told why"
    if is_loose(case):
        return
    keys = without(original, mistyped)
    assert catalog.workflows.keys() == keys
    for key in keys & original["workflows"].keys():
        assert as_loaded(catalog, key) == as_written(original["workflows"][key])
    warnings = expected_warnings(original)
    assert not gists.unanswered(warnings, catalog.problems, str(root))
    assert warnings or mistyped or not errors(catalog)
    for command in original.get("findByCommand", {}):
        assert started_by(catalog, command) == owner(case, original, command)


def is_loose(case: corpus.Case) -> bool:
    """True if no right answer is defined, or if Handrail's rules load more files than pi-workflows does."""
    texts = [text for name, text in case["tree"].items() if name.endswith(".md") and isinstance(text, str)]
    is_marked = any(text.startswith("\ufeff") for text in texts)
    is_nested = any(name.split("workflows/", 1)[-1].count("/") > 1 for name in trees.workflow_files(case["tree"]))
    return differences.is_open(case) or (case["id"] not in differences.TABLE and (is_marked or is_nested))


def errors(catalog: Catalog, key: str | None = None) -> list[Diagnostic]:
    told = [p for p in catalog.problems if p.severity != "warning" or p.code == "command-twice"]
    files = {found.file for found in catalog.found if found.key == key}
    phases = {Path(file).parent for file in files}
    return [p for p in told if key is None or p.file in files or Path(p.file).parent in phases]


def without(original: dict[str, Any], mistyped: set[str]) -> set[str]:
    """The keys of pi-workflows, without mistyped ones and without workflows that run those."""
    keys = set(original["keys"]) - mistyped
    while True:
        runs = {key: _references(original["workflows"].get(key)) for key in keys}
        broken = {key for key, targets in runs.items() if targets & (set(original["keys"]) - keys)}
        if not broken:
            return keys
        keys -= broken


def _references(workflow: dict[str, Any] | None) -> set[str]:
    return {entry["subworkflow"] for entry in (workflow or {"phases": []})["phases"] if "subworkflow" in entry}


def expected_warnings(original: dict[str, Any]) -> list[dict[str, Any]]:
    """The warnings. Two workflows share a command only if the command can start both."""
    shown = {key for key, workflow in original["workflows"].items() if workflow["show"] == "user"}
    return [w for w in original["warnings"] if w["kind"] != "duplicate-command" or {w["first"], w["other"]} <= shown]


def owner(case: corpus.Case, original: dict[str, Any], command: str) -> str | None:
    """The visible workflow of the nearest tier."""
    named = {key: w for key, w in original["workflows"].items() if (w["commandName"], w["show"]) == (command, "user")}
    return min(named, key=lambda key: (f"{PROJECT}/{key}/workflow.yaml" not in case["tree"], key), default=None)


def started_by(catalog: Catalog, command: str) -> str | None:
    try:
        spec = catalog.find(command)
    except HandrailError:
        return None
    return spec.key if spec.is_visible and spec.command == command else None


def as_written(workflow: dict[str, Any]) -> dict[str, Any]:
    """The normalised definition of pi-workflows, with the default that it leaves out."""
    return {"sessionNameMaxLength": 50, **workflow, "phases": [_plain(phase) for phase in workflow["phases"]]}


def _plain(phase: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in phase.items() if value or name not in ("tools", "availableProfiles")}


def as_loaded(catalog: Catalog, key: str) -> dict[str, Any]:
    """A definition of Handrail in the format of pi-workflows."""
    spec: WorkflowSpec = catalog.workflows[key]
    return {
        "name": spec.name,
        "commandName": spec.command,
        "initialMessage": spec.initial_message,
        "show": spec.show,
        "loopable": spec.loopable,
        "sessionNameMaxLength": spec.session_name_length,
        **{name: text for name, text in spec.texts.items() if name != "completionMessage"},
        "phases": [_entry(catalog, entry) for entry in spec.entries],
    }


def _entry(catalog: Catalog, entry: PhaseSpec | Reference) -> dict[str, Any]:
    if isinstance(entry, Reference):
        return {"subworkflow": entry.key, "resolvesTo": catalog.workflows[entry.key].name}
    tools = {"blacklist": entry.deny, "whitelist": entry.allow}
    given = {name: list(names) for name, names in tools.items() if names is not None}
    phase = {"id": entry.id, "name": entry.name, "emoji": entry.emoji, "instructions": entry.instructions}
    return _plain({**phase, "tools": given, "availableProfiles": list(entry.profiles)})
