"""Artifacts of AgentWeaver: logical keys, references, content of files, names of scopes.

Intended differences: names of scopes keep letters of every script (A-16), and a name that leads out of the folder of
scopes is an error.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance import corpus
from handrail.driven.artifacts.names import is_key, logical_key, parse_reference, scope_name
from handrail.driven.artifacts.schemas import artifact_table
from handrail.source.values import Unresolved

ERROR = "error"


def cases() -> list[Any]:
    file = corpus.folder() / "driven" / "artifacts.json"
    found = json.loads(file.read_text("utf-8"))["cases"] if file.exists() else []
    return [pytest.param(case, id=case["id"]) for case in found]


def answer(case: corpus.Case) -> Any:
    """Handrail's answer in the format of the cases."""
    match case["op"]:
        case "logical-key":
            return logical_key(case["path"], case["scope"])
        case "payload-contract":
            found = artifact_table().contract(case["path"], case["scope"])
            return {"payloadFamily": found.family, "schemaId": found.schema, "schemaVersion": found.version}
        case "parse-reference":
            return reference(case["reference"])
        case "scope-name":
            try:
                return scope_name(case["input"])
            except Unresolved:
                return ERROR
    raise AssertionError(case["op"])


def reference(text: str) -> Any:
    found = parse_reference(text)
    if found is None:
        return None
    if found.scope is None:
        return {"kind": "logical-ref", "logicalKey": found.key, "version": found.version or "latest"}
    parsed = {"scopeKey": found.scope, "logicalKey": found.key, "version": found.version}
    return {"kind": "artifact-id", "artifactId": text, "parsedId": parsed}


def expected(case: corpus.Case) -> Any:
    expect = case["expect"]
    if isinstance(expect, dict) and "preferred" in expect:
        expect = expect["preferred"]
    if case["op"] == "scope-name" and isinstance(expect, dict):
        return expect.get("value", ERROR)
    return expect


def is_open(case: corpus.Case) -> bool:
    """True for a doubtful answer of AgentWeaver without a preferred one."""
    expect = case["expect"]
    is_foreign = case["op"] == "scope-name" and not case["input"].isascii()
    is_settled = isinstance(expect, dict) and "preferred" in expect
    return not is_settled and ("seedQuirk" in case or is_foreign)


@pytest.mark.parametrize("case", cases())
def test_an_artifact_has_the_same_name_as_in_agentweaver(case: corpus.Case) -> None:
    found = answer(case)
    if not is_open(case):
        assert found == expected(case)
    elif case["op"] == "scope-name" and found != ERROR:
        kept = [char for char in case["input"].lower() if char.isalnum()]
        assert [char for char in found if char.isalnum()] == kept
        assert found not in (".", "..")
        assert "/" not in found
    elif case["op"] == "logical-key":
        assert is_key(found)


@pytest.mark.parametrize(
    ("op", "given", "expect"),
    [
        ("parse-reference", {"reference": "plan.md@latest"}, ("logical-ref", "plan.md", "latest")),
        ("parse-reference", {"reference": "plan.md@v0"}, None),
        ("parse-reference", {"reference": "S:plan.md:v0"}, None),
        ("parse-reference", {"reference": "S:plan.md:v01"}, None),
        ("parse-reference", {"reference": "S:plan.md"}, None),
        ("parse-reference", {"reference": "plan.md"}, None),
        ("parse-reference", {"reference": ":plan.md:v1"}, None),
        ("parse-reference", {"reference": "plan.md@v1 "}, None),
        ("parse-reference", {"reference": "plan.md@v1\n"}, None),
        ("parse-reference", {"reference": "a:b:c@d:plan.md:v7"}, ("artifact-id", "a:b:c@d", "plan.md", 7)),
        ("logical-key", {"path": "/w/.agentweaver/scopes/K-1/.artifacts/plan-K-1-3.json"}, "artifacts/plan.json"),
        ("logical-key", {"path": "/w/.agentweaver/scopes/OTHER/.artifacts/deep/x-2.json"}, "artifacts/deep/x.json"),
        ("logical-key", {"path": ".agentweaver/scopes/K-1/deep/plan-K-1.md"}, "deep/plan.md"),
        ("logical-key", {"path": "/w/.agentweaver/scopes/K-1/Sub Dir/PLAN-K-1-12.MD"}, "sub-dir/plan.md"),
        ("logical-key", {"path": "/w/.agentweaver/scopes/K-1/../../../.env"}, "env"),
        ("logical-key", {"path": "/w/.agentweaver/scopes/K-1/a/../plan-K-1-2.md"}, "plan.md"),
        ("payload-contract", {"path": "/x/design-review-K-1-1.json"}, "design-review/v1"),
        ("payload-contract", {"path": "/x/review-fix-K-1-1.json"}, "review-fix-report/v1"),
        ("payload-contract", {"path": "/x/planning-answers-K-1.json"}, "user-input/v1"),
        ("payload-contract", {"path": "/x/jira-attachments-K-1.json"}, "helper-json/v1"),
        ("payload-contract", {"path": "/x/K-1-enriched.json"}, "helper-json/v1"),
        ("payload-contract", {"path": "/x/plan.json"}, "helper-json/v1"),
        ("payload-contract", {"path": "/x/plan-K-1-1.md"}, "markdown/v1"),
        ("payload-contract", {"path": "/x/data.bin"}, "opaque-file/v1"),
        ("payload-contract", {"path": "/x/LICENSE"}, "opaque-file/v1"),
        ("scope-name", {"input": "a//b  c"}, "a-b-c"),
        ("scope-name", {"input": "v1.2@main"}, "v1.2@main"),
        ("scope-name", {"input": "///"}, ERROR),
        ("scope-name", {"input": "   "}, ERROR),
        ("scope-name", {"input": ".."}, ERROR),
        ("scope-name", {"input": "Фича/Новая Ветка"}, "фича-новая-ветка"),
        ("scope-name", {"input": "x" * 300}, ERROR),
    ],
)
def test_agentweavers_rules_also_hold_for_more_cases(op: str, given: dict[str, str], expect: Any) -> None:
    found = answer({"op": op, "scope": "K-1", **given})
    match op, found:
        case "payload-contract", dict():
            found = found["schemaId"]
        case "parse-reference", {"parsedId": parsed}:
            found = (found["kind"], *parsed.values())
        case "parse-reference", dict():
            found = tuple(found.values())
    assert found == expect
