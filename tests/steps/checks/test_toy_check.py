"""A check is one module and one registry row. Phases and steps may use it in the long and the short form."""

from __future__ import annotations

import pytest

from handrail.extensions import registry
from handrail.extensions.declarations import check_declarations
from handrail.extensions.registry import Registry
from support import Project


@pytest.fixture
def saying(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setitem(registry.CHECKS, "says", "steps.checks.toy_says")
    return project


@pytest.mark.parametrize("spelling", ["- says: done", "- kind: says\n    word: done\n    within: notes.md"])
def test_a_toy_check_guards_a_phase(saying: Project, spelling: str) -> None:
    saying.workflow("w", ["a", "b"])
    saying.phase("w", "a", f"exit:\n  {spelling}\n")
    assert saying.run("validate").out.startswith("no problems")
    saying.json("start", "w", "x")
    assert "- `done` is said" in saying.json("status")["message"]
    view = saying.json("next", code=5)
    assert (view["checks"][0]["held"], view["checks"][0]["kind"]) == (None, "says")
    assert "✗ `done`: there is no file to read" in view["message"]
    saying.write("notes.md", "it is done")
    assert saying.json("next")["phase"]["id"] == "b"


@pytest.mark.parametrize("spelling", ["{says: done}", "{kind: says, word: '${params.word}', within: notes.md}"])
def test_a_toy_check_guards_a_step(saying: Project, spelling: str) -> None:
    step = f"{{id: x, node: write-file, params: {{path: notes.md, text: '${{params.text}}'}}, expect: [{spelling}]}}"
    params = "params: {text: '', word: done}"
    saying.write(".handrail/flows/demo.yaml", f"{params}\nphases:\n- id: a\n  steps:\n  - {step}\n")
    failed = saying.json("run", "demo", "--param", "text=nothing", code=1)
    assert failed["phases"][0]["steps"][0]["error"].endswith("does not hold: not a word of it")
    assert saying.json("run", "demo", "--param", "text=done")["status"] == "completed"


def test_a_module_may_have_several_checks(saying: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.CHECKS, "never", "steps.checks.toy_says:NEVER")
    saying.workflow("w", ["a"])
    saying.phase("w", "a", "exit:\n  - kind: never\n")
    saying.json("start", "w", "x")
    assert saying.json("next", code=5)["checks"][0]["detail"] == "never"


def test_a_misspelt_param_of_a_toy_check_is_reported_with_its_place(saying: Project) -> None:
    saying.workflow("w", ["a"])
    saying.phase("w", "a", "exit:\n  - says: done\n    withn: notes.md\n  - says: ''\n")
    step = "{id: x, node: set, expect: [{kind: says, wrod: done}]}"
    saying.write(".handrail/flows/demo.yaml", f"phases:\n- id: a\n  steps:\n  - {step}\n")
    found = saying.json("validate", code=2)["problems"]
    assert [(p["code"], p["line"], p["message"]) for p in found] == [
        ("missing-key", 4, "`says` needs `word`"),
        ("misspelt-key", 7, "unknown key `withn`"),
        ("blank-text", 8, "`says` is blank"),
    ]


def test_the_schemas_contain_a_toy_check(saying: Project) -> None:
    for kind, name in (("phase", "check"), ("flow", "expectation")):
        schema = saying.json("schema", kind)["definitions"][name]
        assert "says" in schema["properties"]["kind"]["enum"]
        assert {"required": ["says"]} in schema["anyOf"]
        rules = [rule["then"] for rule in schema["allOf"] if "within" in rule["then"]["properties"]]
        assert [rule["required"] for rule in rules] == [["word"], ["says"]]


def test_a_check_without_a_declaration_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.CHECKS, "odd", "json")
    with pytest.raises(TypeError, match=r"the check `odd` has no `CHECK = Check\(...\)`"):
        check_declarations(Registry())["odd"]
