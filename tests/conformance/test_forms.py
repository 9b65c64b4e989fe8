"""Forms of AgentWeaver: valid answers, initial values, how invalid values are replaced, and lists of severities."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance import corpus
from handrail.driven.forms.form import Form, blocking_severities, initial, problems
from handrail.driven.forms.form_params import form_from
from handrail.source.values import Unresolved


def cases() -> list[Any]:
    file = corpus.folder() / "driven" / "forms.json"
    data = json.loads(file.read_text("utf-8")) if file.exists() else {"cases": []}
    return [pytest.param({"fields": data["fields"], **case}, id=case["id"]) for case in data["cases"]]


@pytest.mark.parametrize("case", cases())
def test_a_form_behaves_as_in_agentweaver(case: corpus.Case) -> None:
    answer = answered(case)
    expect = case["expect"].get("preferred") or case["expect"]
    if "seedQuirk" in case and "preferred" not in case["expect"]:
        assert isinstance(answer, dict), "an unseen doubtful case gets an answer"
    elif case["op"] == "severity-list" and "error" in expect:
        assert "error" in answer
    else:
        assert answer == expect


def answered(case: corpus.Case) -> Any:
    """Handrail's answer in the format of the case's expectation."""
    match case["op"]:
        case "validate":
            return {"valid": not problems(form(case), case["values"])}
        case "initial":
            return initial(form(case))
        case "normalize":
            return initial(form(case), case["before"])
        case "severity-list":
            try:
                return {"value": blocking_severities(case["input"], {})}
            except Unresolved:
                return {"error": True}
        case op:
            raise AssertionError(f"no adapter for {op}")


def form(case: corpus.Case) -> Form:
    return form_from({"formId": "f", "title": "F", "fields": case["fields"]})
