"""Schemas of artifacts: shipped ones, the project's, and the problems of data that do not match."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from handrail.base.errors import HandrailError
from handrail.driven.artifacts.schemas import builtin_schema, find_schema, problems_of, project_schema_ids, schema_ids

PLAN: dict[str, Any] = {
    "summary": "s",
    "prerequisites": [],
    "implementation_steps": [{"id": "1", "title": "t", "details": "d", "more": 1}],
    "tests": ["t"],
    "rollout_notes": [],
}


def shipped(id_: str) -> dict[str, Any]:
    schema = builtin_schema(id_)
    assert schema is not None
    return schema


def write(project: Path, id_: str, content: Any) -> None:
    file = project / ".handrail" / "schemas" / f"{id_}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


def refusal(project: Path, id_: str) -> HandrailError:
    with pytest.raises(HandrailError) as caught:
        find_schema(id_, str(project), {})
    return caught.value


@pytest.mark.parametrize("id_", sorted(schema_ids()))
def test_a_shipped_schema_is_valid_and_rejects_empty_data(id_: str, tmp_path: Path) -> None:
    write(tmp_path, id_, shipped(id_))
    assert find_schema(id_, str(tmp_path), {}) == shipped(id_)
    assert problems_of(shipped(id_), {})
    assert problems_of(shipped(id_), "text") != []


def test_matching_data_has_no_problems_and_may_have_more_members() -> None:
    assert problems_of(shipped("implementation-plan/v1"), PLAN) == []


def test_problems_are_few_and_short_and_have_a_place() -> None:
    broken = {**PLAN, "summary": "\n ", "tests": [], "prerequisites": "x" * 9_000, "rollout_notes": [1]}
    broken["implementation_steps"] = [{"id": 1}] * 50
    found = problems_of(shipped("implementation-plan/v1"), broken)
    assert len(found) == 6
    assert found[5] == "… and 99 more"
    assert all(len(problem) < 360 and problem.isprintable() for problem in found)
    assert found[0] == "`/implementation_steps/0` lacks `title`, `details`"
    assert problems_of(shipped("implementation-plan/v1"), {**PLAN, "summary": " "}) == ["`/summary` is empty"]
    assert problems_of(shipped("qa-plan/v1"), []) == ["the value has to be an object, found a list"]


def test_data_has_to_match_only_one_of_several_forms() -> None:
    one: dict[str, Any] = {
        "summary": "s",
        "goals": ["g"],
        "non_goals": [],
        "components": ["c"],
        "risks": [],
        "open_questions": [],
    }
    one["decisions"] = [{"component": "c", "decision": "d", "rationale": "r"}]
    schema = shipped("bug-fix-design/v1")
    assert problems_of(schema, one) == []
    del one["risks"]
    assert problems_of(schema, one) == ["the value matches none of its 2 forms; the nearest one: lacks `risks`"]


def test_places_are_json_pointers() -> None:
    schema = {"properties": {"a/b~c": {"items": {"type": "integer"}}}}
    assert problems_of(schema, {"a/b~c": [1, "x"]}) == ['`/a~1b~0c/1` has to be a whole number, found `"x"`']


def test_a_schema_of_the_project_comes_first(tmp_path: Path) -> None:
    mine = {"type": "object", "required": ["x"]}
    write(tmp_path, "report/v1", mine)
    write(tmp_path, "qa-plan/v1", mine)
    assert find_schema("report/v1", str(tmp_path), {}) == mine
    assert find_schema("qa-plan/v1", str(tmp_path), {}) == mine
    assert find_schema("task-summary/v1", str(tmp_path), {}) == shipped("task-summary/v1")
    assert project_schema_ids(str(tmp_path)) == {"report/v1", "qa-plan/v1"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "has to be a JSON object"),
        ({"type": "txt"}, "is not a JSON Schema: `/type`"),
        ({"properties": {"a": {"pattern": "("}}}, "is not a JSON Schema: `/properties/a/pattern`"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "has to use draft 2020-12"),
        ({"items": {"$ref": "https://example.org/a"}}, 'refers to `"https://example.org/a"`'),
        ({"$defs": {"a": {"$dynamicRef": "other.json#x"}}}, 'refers to `"other.json#x"`'),
        ("{}" + " " * 1_000_000, "has more than 1000000 bytes"),
    ],
)
def test_a_broken_schema_is_reported_with_its_file(tmp_path: Path, content: Any, said: str) -> None:
    write(tmp_path, "report", content)
    error = refusal(tmp_path, "report")
    assert error.message.startswith("`.handrail/schemas/report.json")
    assert said in error.message
    assert len(error.message) < 400


def test_a_missing_schema_is_reported_with_a_similar_name(tmp_path: Path) -> None:
    write(tmp_path, "report/v1", {})
    assert refusal(tmp_path, "reprot/v1").hint == "did you mean `report/v1`?"
    assert refusal(tmp_path, "qa-plan/v2").hint == "did you mean `qa-plan/v1`?"
    assert refusal(tmp_path, "zzz").hint == "write it as `.handrail/schemas/zzz.json`"


@pytest.mark.parametrize("id_", ["", "..", "../x", "a/../../x", "/etc/x", "a//b", "a\0", ".hidden", "a/.b", "a b"])
def test_an_id_cannot_lead_out_of_the_folder(tmp_path: Path, id_: str) -> None:
    (tmp_path / ".handrail" / "x.json").parent.mkdir()
    (tmp_path / ".handrail" / "x.json").write_text("{}")
    assert "cannot be the id of a schema" in refusal(tmp_path, id_).message


def test_a_link_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    write(tmp_path, "a", {})
    (tmp_path / ".handrail" / "schemas" / "out.json").symlink_to(tmp_path / "secret.json")
    assert "leads out of" in refusal(tmp_path, "out").message


def test_reading_a_pipe_does_not_block(tmp_path: Path) -> None:
    write(tmp_path, "a", {})
    os.mkfifo(tmp_path / ".handrail" / "schemas" / "pipe.json")
    assert "is a pipe, not a file" in refusal(tmp_path, "pipe").message


@pytest.mark.parametrize("schema", [{"$ref": "http://example.org/s"}, {"$id": "http://example.org/a", "$ref": "b"}])
def test_nothing_is_ever_fetched(monkeypatch: pytest.MonkeyPatch, schema: dict[str, Any]) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert "inside the same file" in problems_of(schema, {})[0]


@pytest.mark.parametrize("schema", [{"$ref": "#/nowhere"}, {"$ref": "#"}, {"pattern": "("}, {"type": "txt"}])
def test_no_data_match_an_unusable_schema(schema: dict[str, Any]) -> None:
    assert len(problems_of(schema, "text")) == 1


def test_data_inside_a_schema_is_not_a_reference(tmp_path: Path) -> None:
    schema = {"const": {"$ref": "https://example.org"}}
    write(tmp_path, "a", schema)
    assert problems_of(find_schema("a", str(tmp_path), {}), {"$ref": "https://example.org"}) == []


def test_a_catastrophic_pattern_in_a_schema_is_matched_in_linear_time() -> None:
    schema = {
        "properties": {"x": {"pattern": "^(a+)+$"}},
        "patternProperties": {"^(b+)+$": {"type": "integer"}},
        "additionalProperties": False,
    }
    data = {"x": "a" * 50_000 + "!", "b" * 50_000 + "!": 1}
    found = problems_of(schema, data)
    assert len(found) == 2
    assert any("has to match `^(a+)+$`" in problem for problem in found)
    assert any("has names that are not declared: `bbb" in problem for problem in found)
    assert problems_of(schema, {"x": "aa", "bb": 1}) == []
    assert problems_of(schema, {"bb": "1"}) == ['`/bb` has to be a whole number, found `"1"`']


def test_a_pattern_that_cannot_be_matched_makes_a_schema_unusable() -> None:
    schema = {"properties": {"x": {"pattern": "^(?!a)"}}}
    wrong = "`/properties/x/pattern`: `^(?!a)` is not a pattern, at character 2: look-ahead `(?!` is not supported"
    assert problems_of(schema, {}) == [f"the schema cannot be used: {wrong}"]
