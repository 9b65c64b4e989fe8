"""What a schema for editors says about a file is what Handrail says, as far as a schema can say it.

`docs/design/editors.md` lists what it cannot say.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from corpus_tools import build, cases
from depth import Depth
from handrail.extensions.registry import Registry
from handrail.project.editor_schemas import KINDS, editor_schema
from handrail.source.field_checks import plain_data
from handrail.source.json_reader import read_json
from handrail.source.yaml_text import read_yaml, split_front_matter
from project.editors.documents import DOCUMENTS, changed, problems_in
from support import Project

SAYABLE = {
    *("wrong-type", "bad-value", "blank-text", "missing-key", "misspelt-key", "unknown-key", "not-mapping"),
    *("command-name", "phase-entry", "phases-empty", "subworkflow-blank", "tools-both", "tools-open", "exit-check"),
    *("node-unknown", "param-missing", "param-unknown", "prompt-required", "prompt-forbidden", "prompt-template"),
    *("routing-group", "expectation-unknown", "action-unknown", "condition-form", "value-form", "wrong-count"),
    *("repeat-var", "repeat-bounds"),
}
"""The codes of problems that a schema finds."""
BEYOND = {
    "has no effect beside": "a key beside a form",
    "there is no agent": "names of agents",
    "has no tool that an agent has": "names of tools",
    "has to begin with a program|the name of the program is blank|has to be a command, found a list": "the first item",
    r"`llm-prompt` has no param": "a node that ignores other params, unless one looks misspelt",
}
"""Problems of sayable codes that no schema finds: a pattern of the message, and what it is about."""
CORPUS_BEYOND = {
    "err/artifact-form-own": "the members of `artifact`",
    "err/misspelt-key-artifact": "the members of `artifact`",
    "err/condition-form-longer": "text around `${...}` in a condition",
    "err/param-missing-nested": "params of another flow",
    "err/param-unknown": "params of another flow",
    "err/repeat-bounds": "`to` compared with `from`",
    "err/repeat-bounds-many": "the number of rounds",
    "err/tools-open-names": "names of tools",
}
LARGEST = 100_000
_CASES = [*cases("ok"), *cases("err"), *cases("many")]


@pytest.fixture(scope="module")
def validators() -> dict[str, Any]:
    return {kind: jsonschema.Draft7Validator(editor_schema(kind, Registry())) for kind in KINDS}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_whole_document_is_fine_for_both(kind: str, validators: dict[str, Any], tmp_path: Path) -> None:
    assert not list(validators[kind].iter_errors(DOCUMENTS[kind]))
    assert not problems_in(kind, DOCUMENTS[kind], tmp_path)


@pytest.mark.explores
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_one_change_is_wrong_for_both_or_for_none(
    kind: str, validators: dict[str, Any], tmp_path: Path, depth: Depth
) -> None:
    for what, document in depth.places(list(changed(DOCUMENTS[kind])), 5):
        found = problems_in(kind, document, tmp_path)
        said = [one for one in found if one.code in SAYABLE and not re.search("|".join(BEYOND), one.message)]
        refused = not validators[kind].is_valid(document)
        assert refused <= bool(found), f"{what}: only the schema refuses it"
        assert bool(said) <= refused, f"{what}: the schema allows it, but {said[0].message}"


_OTHER_SCHEMAS = ("err/folder-unreadable", "err/plugin-unusable")
"""Cases in which nothing can be read, or whose nodes come from a plugin, which other projects do not have."""


@pytest.mark.whole(20)
@pytest.mark.parametrize("case", [case for case in _CASES if case not in _OTHER_SCHEMAS])
def test_schema_and_loader_agree_about_the_corpus(case: str, project: Project, validators: dict[str, Any]) -> None:
    build(case, project.folder)
    problems = project.run("validate", "--json").data["problems"]
    for file in sorted(project.folder.rglob("*")):
        kind, data = _document(file)
        if kind is None:
            continue
        own = [one["code"] for one in problems if one["file"] == str(file.relative_to(project.folder))]
        is_valid = validators[kind].is_valid(data)
        assert is_valid or own, f"{file.name}: only the schema refuses it"
        if case in CORPUS_BEYOND and SAYABLE & set(own):
            assert is_valid, f"{case} is no difference any more"
        else:
            assert is_valid == (not SAYABLE & set(own)), f"{file.name}: {own}"


def _document(file: Path) -> tuple[str | None, Any]:
    """The kind of a file and what is in it; None if it is no definition or no YAML at all."""
    kind = _kind(file)
    if kind is None or file.is_symlink() or not file.is_file() or file.stat().st_size > LARGEST:
        return None, None
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError:
        return None, None
    if kind == "phase":
        parts = split_front_matter(text)
        if parts is None:
            return None, None
        text = parts[0]
    tree, troubles = read_json(text) if file.suffix == ".json" else read_yaml(text)
    return (None, None) if tree is None or troubles else (kind, plain_data(tree))


def _kind(file: Path) -> str | None:
    folders = set(file.parts[:-1])
    if file.name in ("workflow.yaml", "settings.yaml"):
        return file.stem
    if folders & {"flows", ".flows"}:
        return "flow" if file.suffix in (".yaml", ".yml", ".json") else None
    return "phase" if "workflows" in folders and file.suffix == ".md" else None
