"""Paths and keys of artifacts: no name leads out of its folder, and different names have different keys."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.driven.artifacts.names import (
    ArtifactRequest,
    Contract,
    ShelfReference,
    is_key,
    logical_key,
    parse_reference,
    scope_name,
)
from handrail.driven.artifacts.schemas import artifact_table, schema_ids
from handrail.driven.expressions.parser import ArtifactKinds, ExpressionReader
from handrail.driven.expressions.tree import ExpressionScope
from handrail.driven.flows.load import load_flow
from handrail.driven.flows.load_state import FlowResources
from handrail.extensions.contracts import Node
from handrail.source import suggestions
from handrail.source.definition_files import Source
from handrail.source.diagnostics import Diagnostic
from handrail.source.values import Unresolved
from handrail.source.yaml_text import read_yaml

TABLE = artifact_table()
KINDS = ArtifactKinds(frozenset(TABLE.kinds), frozenset(TABLE.lists))
AGENTWEAVER, HANDRAIL = "/p/.agentweaver/scopes", "/p/.handrail/scopes"


def empty(folder: str) -> list[str]:
    assert folder.startswith("/p/.")
    return []


def path(wanted: ArtifactRequest, names: Iterable[str] = ()) -> str:
    return TABLE.path(wanted, "/p", lambda _: names)


def read(text: str) -> tuple[Any, list[Diagnostic], ExpressionReader]:
    problems: list[Diagnostic] = []
    tree, troubles = read_yaml(text)
    assert tree is not None
    assert not troubles
    reader = ExpressionReader(Source("flow.yaml", text), problems.append, {}, KINDS)
    return reader.value(tree), problems, reader


def resolve(text: str, **params: Any) -> str | list[str]:
    expression, problems, _ = read(text)
    assert not problems
    values = {"params": params, "context": {"scope": "main@ab"}, "flow": {}, "repeat": {}, "steps": {}}
    scope = ExpressionScope(values, bool, lambda w: TABLE.path(w, "/p", empty), lambda w: TABLE.paths(w, "/p", empty))
    found: str | list[str] = expression.resolve(scope)
    return found


def code_of(wanted: ArtifactRequest) -> str:
    with pytest.raises(Unresolved) as caught:
        path(wanted)
    return caught.value.code


def test_the_table_has_every_kind_of_agentweaver() -> None:
    own = ("github-", "gitlab-checks/", "gitlab-issue/", "change-description/")
    schemas = [id_ for id_ in schema_ids() if not id_.startswith(own)]
    kinds = [kind for kind in TABLE.kinds if not kind.startswith(("ticket-", "pr-fix-"))]
    assert (len(kinds), len(TABLE.lists), len(schemas)) == (70, 2, 27)
    assert sum(TABLE.kinds[kind].needs_iteration for kind in kinds) == 11
    assert {member for members in TABLE.lists.values() for member in members} <= set(TABLE.kinds)
    named = {kind.schema for kind in TABLE.kinds.values()} | set(TABLE.prefixes.values())
    assert named - {None, "helper-json/v1"} <= schema_ids()


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("plan-file", "K/plan-K-2.md"),
        ("plan-json-file", "K/.artifacts/plan-K-2.json"),
        ("task-summary-file", "K/task-K-2.md"),
        ("ready-to-merge-file", "K/ready-to-merge.md"),
        ("jira-task-file", "K/.artifacts/K.json"),
        ("jira-attachments-context-file", "K/jira-attachments-context-K.txt"),
        ("project-guidance-repair-review-fix-json-file", "K/.artifacts/project-guidance-repair-review-fix-K-2.json"),
    ],
)
def test_an_artifact_of_a_kind_has_the_same_path_as_in_agentweaver(kind: str, place: str) -> None:
    assert path(ArtifactRequest("K", kind, iteration=2)) == f"{AGENTWEAVER}/{place}"


def test_without_an_iteration_the_newest_is_used() -> None:
    names = [
        "plan-K-2.md",
        "plan-K-10.md",
        "plan-K-99.json",
        "plan-K-x.md",
        "plan-K-1-50.md",
        "plan-K-007.md",
        "plan-K-",
    ]
    assert path(ArtifactRequest("K", "plan-file"), names) == f"{AGENTWEAVER}/K/plan-K-10.md"
    assert path(ArtifactRequest("K", "plan-file")) == f"{AGENTWEAVER}/K/plan-K-1.md"
    ours = ["report-3.md", "report-2-9.md", "report-4.txt"]
    assert path(ArtifactRequest("s", name="report"), ours) == f"{HANDRAIL}/s/report-3.md"


def test_a_list_has_the_paths_of_all_its_artifacts() -> None:
    found = TABLE.paths(ArtifactRequest("K", "plan-artifacts", iteration=3), "/p", empty)
    assert found == [
        f"{AGENTWEAVER}/K/{name}"
        for part in ("design", "plan", "qa")
        for name in (f"{part}-K-3.md", f".artifacts/{part}-K-3.json")
    ]


def test_braces_in_a_key_are_ordinary_characters() -> None:
    assert (
        path(ArtifactRequest("{iteration}", "plan-file", iteration=2))
        == f"{AGENTWEAVER}/{{iteration}}/plan-{{iteration}}-2.md"
    )
    assert path(ArtifactRequest("s", name="{key}", iteration=2)) == f"{HANDRAIL}/s/{{key}}-2.md"


@pytest.mark.parametrize(
    "bad", ["", " ", ".", "..", "../x", "a/b", "/etc", "a\\b", "a\0b", "a\nb", "\ud800", "x" * 300]
)
def test_a_name_that_leads_out_of_its_folder_is_rejected(bad: str) -> None:
    assert code_of(ArtifactRequest(bad, "plan-file", iteration=1)) == "artifact-name"
    assert code_of(ArtifactRequest("s", name=bad, iteration=1)) == "artifact-name"
    if len(bad) < 255:
        assert code_of(ArtifactRequest(bad, name="report", iteration=1)) == "artifact-name"


@pytest.mark.parametrize("bad", ["", "../x", "m d", "a.b", "x" * 17, "é"])
def test_an_extension_has_only_letters_and_digits(bad: str) -> None:
    assert code_of(ArtifactRequest("s", name="report", extension=bad)) == "artifact-name"


@pytest.mark.whole
@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
def test_any_artifact_stays_in_its_folder(key: str, name: str) -> None:
    for wanted, root in ((ArtifactRequest(key, "plan-file"), AGENTWEAVER), (ArtifactRequest(key, name=name), HANDRAIL)):
        try:
            found = path(wanted)
        except Unresolved:
            assert code_of(wanted) == "artifact-name"
            continue
        folder, _, file = found.rpartition("/")
        assert folder == f"{root}/{key}"
        assert key not in (".", "..")
        assert file.startswith(name if wanted.name else "plan-")


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, None, "", "x", [], float("nan"), float("inf"), 10**400])
def test_an_iteration_is_a_whole_number_of_one_or_more(bad: Any) -> None:
    with pytest.raises(Unresolved) as caught:
        resolve("artifact: {name: report, iteration: '${params.turn}'}", turn=bad)
    assert caught.value.code == "artifact-iteration"


@pytest.mark.parametrize("good", [4, 4.0, "4", " 4 "])
def test_an_iteration_may_be_written_as_text(good: Any) -> None:
    assert (
        resolve("artifact: {name: report, iteration: '${params.turn}'}", turn=good) == f"{HANDRAIL}/main@ab/report-4.md"
    )


def test_a_handrail_artifact_is_in_the_scope_of_the_run_or_in_a_given_one() -> None:
    assert resolve("artifact: {name: 'r-${params.x}'}", x="отчёт") == f"{HANDRAIL}/main@ab/r-отчёт-1.md"
    assert resolve("artifact: {name: r, scope: '${params.x}', extension: json}", x=7) == f"{HANDRAIL}/7/r-1.json"
    _, _, reader = read("artifact: {name: r}")
    assert [use.ref.path for use in reader.references] == ["context.scope"]


@pytest.mark.parametrize("bad", [None, True, [], {}, ["a"], 1e300])
def test_a_key_is_never_null_or_another_value_without_text(bad: Any) -> None:
    with pytest.raises(Unresolved) as caught:
        resolve("artifact: {kind: plan-file, taskKey: '${params.key}'}", key=bad)
    assert caught.value.code == "artifact-name"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("artifact: {kind: plan-fiel, taskKey: K}", ["artifact-kind"]),
        ("artifactList: {kind: plan-file, taskKey: K}", ["artifact-kind"]),
        ("artifactList: {name: report}", ["unknown-key", "artifact-form"]),
        ("artifact: {kind: plan-file, taskKey: K, name: report}", ["unknown-key"]),
        ("artifact: {kind: 3, taskKey: K}", ["artifact-form"]),
        ("artifact: {taskKey: K}", ["artifact-form"]),
        ("artifact: {taskKey: K, name: report}", ["unknown-key", "artifact-form"]),
        ("artifact: {kind: plan-file, taskKey: ../K, iteration: x}", ["artifact-name", "artifact-iteration"]),
        ("artifact: {name: {foo: 1}}", ["value-form"]),
        ("artifact: {name: null, extension: {a: 1}}", ["artifact-name", "artifact-name"]),
        ("artifact: {name: report, iteration: 1, scope: s, extension: json, _note: x}", []),
        ("artifact: [report]", ["artifact-form"]),
    ],
)
def test_problems_of_an_artifact_are_reported_at_their_place(text: str, codes: list[str]) -> None:
    _, problems, _ = read(text)
    assert [problem.code for problem in problems] == codes


def test_a_similar_kind_is_suggested() -> None:
    for form, meant in (("artifact: {kind: plan-fiel", "plan-file"), ("artifact: {kind: qa", "qa-file")):
        _, problems, _ = read(form + ", taskKey: K}")
        assert problems[0].hint == f"did you mean `{meant}`?"


@pytest.mark.whole
def test_thousands_of_unknown_kinds_are_each_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def far(left: str, _: str) -> int:
        compared.append(left)
        return 9

    monkeypatch.setattr(suggestions, "distance", far)
    kind = "{artifact: {kind: project-guidance-plan-jso%05d, taskKey: K}}"
    step = f"      - {{id: s%d, node: check, params: {{path: {kind}}}}}\n"
    text = "phases:\n- repeat: {var: i, from: 1, to: 9}\n  phases:\n  - id: a${i}\n    steps:\n"
    text += "".join(step % (n, n) for n in range(1_000))
    known = FlowResources(
        nodes={"check": Node(about="", others="used")}, artifact_kinds=KINDS.single, artifact_lists=KINDS.lists
    )
    _, problems = load_flow(Source("flow.yaml", text), "flow", known)
    assert [problem.code for problem in problems] == ["artifact-kind"] * 1_000
    assert 0 < len(compared) < 10_000


@pytest.mark.parametrize(
    "wanted",
    [
        ArtifactRequest("K", "plan-file"),
        ArtifactRequest("s", name="отчёт", extension="json", iteration=3),
        ArtifactRequest("a\ud83d", "x"),
    ],
)
def test_a_request_survives_a_round_trip_through_text(wanted: ArtifactRequest) -> None:
    text = wanted.to_text()
    assert ArtifactRequest.from_text(text) == wanted
    assert json.loads(text)


@given(st.text(max_size=60), st.text(alphabet="K-1@./ ", max_size=6))
def test_every_path_has_a_key_that_a_reference_can_name(path: str, scope: str) -> None:
    key = logical_key(path, scope)
    assert is_key(key)
    assert parse_reference(f"s:{key}:v1") == ShelfReference(key, 1, "s")
    assert parse_reference(f"{key}@latest") == ShelfReference(key, None)


@given(st.text(max_size=60))
def test_the_name_of_a_scope_is_a_valid_folder_name(text: str) -> None:
    try:
        name = scope_name(text)
    except Unresolved:
        assert not any(char.isalnum() for char in text) or len(text.encode("utf-8", "surrogatepass")) > 90
        return
    assert scope_name(name) == name
    assert path(ArtifactRequest(name, name="report")).startswith(f"{HANDRAIL}/{name}/")


@pytest.mark.parametrize("name", ["report", "phase-2", "review-k", "k", "план"])
def test_handrail_artifacts_with_different_names_have_different_keys(name: str) -> None:
    places = {turn: path(ArtifactRequest("k", name=name, iteration=turn)) for turn in (1, 12)}
    assert {logical_key(place, "k") for place in places.values()} == {f"{name}.md"}


def test_the_name_of_a_handrail_artifact_selects_no_schema_of_agentweaver() -> None:
    mine = TABLE.contract(path(ArtifactRequest("s", name="plan", extension="json")), "s")
    assert mine == Contract("helper-json", "helper-json/v1", 1)
    assert TABLE.contract("/p/plan-1.json", "s", "report/v12") == Contract("structured-json", "report/v12", 12)
