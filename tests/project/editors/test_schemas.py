"""The schemas for editors: valid draft-07, a description of every key, and examples that fit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from handrail.driven.flows.keys import flow_schema
from handrail.extensions.contracts import Node
from handrail.extensions.declarations import check_declarations
from handrail.extensions.registry import Registry
from handrail.project.editor_schemas import DRAFT, KINDS, editor_schema
from handrail.source.fields import Field
from support import Project

_MAPS = ("properties", "definitions")
_LISTS = ("anyOf", "allOf", "oneOf")
_SINGLE = ("items", "additionalProperties", "if", "then", "else", "not")
_LATER = ("$defs", "prefixItems", "unevaluatedProperties", "dependentRequired", "dependentSchemas", "minContains")


def schemas_in(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and all schemas in it."""
    if not isinstance(schema, dict):
        return
    yield schema
    inner = [part for name in _MAPS for part in schema.get(name, {}).values()]
    inner += [part for name in _LISTS for part in schema.get(name, ())]
    for part in [*inner, *(schema[name] for name in _SINGLE if name in schema)]:
        yield from schemas_in(part)


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_valid_draft_07_and_refers_only_to_itself(kind: str) -> None:
    schema = editor_schema(kind, Registry())
    assert schema["$schema"] == DRAFT
    jsonschema.Draft7Validator.check_schema(schema)
    for part in schemas_in(schema):
        assert not set(part) & set(_LATER)
        if "$ref" in part:
            assert part["$ref"].removeprefix("#/definitions/") in schema["definitions"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_has_a_description(kind: str) -> None:
    for part in schemas_in({**editor_schema(kind, Registry()), "allOf": ()}):
        for name, entry in part.get("properties", {}).items():
            is_rule = not isinstance(entry, dict) or not {"type", "anyOf", "enum"} & entry.keys()
            assert is_rule or entry.get("description"), f"{kind}: {name}"


@pytest.mark.parametrize("kind", KINDS)
def test_examples_and_defaults_fit_their_own_schema(kind: str) -> None:
    whole = editor_schema(kind, Registry())
    checked = 0
    for part in schemas_in(whole):
        own = {**part, "definitions": whole.get("definitions", {})}
        for value in [*part.get("examples", ()), *([part["default"]] if "default" in part else [])]:
            jsonschema.Draft7Validator(own).validate(value)
            checked += 1
    assert checked >= 7


@pytest.mark.parametrize("kind", KINDS)
def test_every_choice_is_explained_and_marked_as_markdown_if_it_has_code(kind: str) -> None:
    for part in schemas_in(editor_schema(kind, Registry())):
        if "enumDescriptions" in part:
            assert len(part["enumDescriptions"]) == len(part["enum"])
        assert ("markdownDescription" in part) == ("`" in part.get("description", ""))


def test_a_node_with_a_slash_in_its_name_has_a_reference_that_leads_to_its_params() -> None:
    node = Node(about="Greets.", params=(Field("who", ("text",), "whom", required=True),))
    schema = flow_schema({"team/greet": node}, check_declarations(Registry()))
    step = {"id": "s", "node": "team/greet", "params": {"who": "Ada"}}
    flow = {"phases": [{"id": "a", "steps": [step]}]}
    jsonschema.validate(flow, schema, cls=jsonschema.Draft7Validator)
    step["params"] = {"whom": "Ada"}
    assert not jsonschema.Draft7Validator(schema).is_valid(flow)


def test_schema_prints_each_kind_and_names_the_kinds_that_there_are(project: Project) -> None:
    for kind in KINDS:
        assert project.json("schema", kind)["title"] == KINDS[kind].title
    said = project.run("schema")
    assert said.code == 2
    assert f"write one of {', '.join(KINDS)}, or `--write`" in said.err


def test_init_writes_schemas_that_its_own_files_name(project: Project) -> None:
    project.json("init")
    for name in ("settings.yaml", "flows/greet.yaml", "workflows/hello/workflow.yaml"):
        file = project.folder / ".handrail" / name
        first = file.read_text().splitlines()[0]
        target = file.parent / first.removeprefix("# yaml-language-server: $schema=")
        assert json.loads(target.read_text())["$schema"] == DRAFT


def test_write_renews_the_schemas_and_says_which_were_old(project: Project) -> None:
    project.json("init")
    old = project.folder / ".handrail/editor/flow.schema.json"
    old.write_text("{}")
    told = project.json("schema", "--write")
    assert told["written"] == [".handrail/editor/flow.schema.json"]
    assert len(told["unchanged"]) == len(KINDS)
    assert json.loads(old.read_text())["title"] == KINDS["flow"].title


def test_a_repository_gets_one_small_file_for_the_schemas(project: Project) -> None:
    subprocess.run(["git", "init", "-q", project.folder], check=True)
    said = project.run("init")
    assert said.out.count(".handrail/editor") == 1
    listed = subprocess.run(["git", "ls-files", "-o", "--exclude-standard"], capture_output=True, text=True, check=True)
    assert [name for name in listed.stdout.split() if "editor" in name] == [".handrail/editor/.gitignore"]
    assert (project.folder / ".handrail/editor/flow.schema.json").exists()


def test_write_takes_another_folder(project: Project) -> None:
    told = project.json("schema", "--write", "schemas")
    assert told["written"] == [f"schemas/{kind}.schema.json" for kind in KINDS]


def test_write_does_not_follow_a_link_out_of_the_project(project: Project) -> None:
    outside = project.folder.parent / "outside"
    outside.mkdir()
    (project.folder / ".handrail/editor").symlink_to(outside)
    said = project.run("schema", "--write")
    assert said.code == 1
    assert "leads out of the project" in said.err
    assert not list(outside.iterdir())


def test_the_comment_for_editors_changes_nothing_that_handrail_reads(project: Project) -> None:
    project.json("init")
    assert project.json("validate", "--strict")["problems"] == []
    with_comment = project.json("show", "hello")
    file = project.folder / ".handrail/workflows/hello/workflow.yaml"
    file.write_text("\n".join(file.read_text().splitlines()[1:]) + "\n")
    assert project.json("show", "hello") == with_comment
