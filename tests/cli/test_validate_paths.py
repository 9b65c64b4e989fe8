"""`validate PATH` checks everything at the path: workflows, flows, settings, schemas; and says what it counted."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from support import Project

FLOW = "phases:\n  - id: a\n    steps:\n      - {id: b, node: set, params: {x: 1}}\n"


@pytest.fixture
def whole(project: Project) -> Project:
    """A project with one definition of each kind."""
    project.workflow("w", ["a"])
    project.phase("w", "a", "")
    project.write(".handrail/flows/team/f.yaml", FLOW)
    project.write(".handrail/settings.yaml", "idleStops: 3\n")
    project.write(".handrail/schemas/report.json", '{"type": "object"}\n')
    return project


def found(project: Project, *argv: str) -> list[tuple[str, str]]:
    data = project.run("validate", *argv, "--json").data
    return [(problem["code"], problem["file"]) for problem in data["problems"]]


@pytest.mark.parametrize("path", [".", ".handrail", ".handrail/", ".handrail/flows", ".handrail/flows/team"])
def test_a_folder_is_checked_with_its_flows(whole: Project, path: str) -> None:
    whole.write(".handrail/flows/team/f.yaml", "phase: []\n")
    said = whole.run("validate", path)
    assert said.code == 2
    assert "error[misspelt-key]" in said.out


@pytest.mark.parametrize("path", [".", ".handrail/flows"])
def test_a_folder_is_checked_with_flows_that_cannot_be_opened(whole: Project, path: str) -> None:
    (whole.folder / ".handrail/flows/lost.yaml").symlink_to("nowhere.yaml")
    assert found(whole, path) == [("file-missing", ".handrail/flows/lost.yaml")]


@pytest.mark.parametrize("path", [".", ".handrail"])
def test_a_folder_is_checked_with_its_settings_and_schemas(whole: Project, path: str) -> None:
    whole.write(".handrail/settings.yaml", "idleStops: often\n")
    whole.write(".handrail/schemas/report.json", '{\n  "type": "objekt"\n}\n')
    whole.phase("w", "a", "exits: []\n")
    assert found(whole, path) == [
        ("schema-broken", ".handrail/schemas/report.json"),
        ("wrong-type", ".handrail/settings.yaml"),
        ("misspelt-key", ".handrail/workflows/w/a.md"),
    ]
    assert found(whole) == found(whole, path)


@pytest.mark.parametrize(
    ("path", "counted"),
    [
        (".", "1 workflow, 1 flow, 1 settings file and 1 schema"),
        (".handrail/workflows", "1 workflow"),
        (".handrail/workflows/w/a.md", "1 workflow"),
        (".handrail/flows", "1 flow"),
        (".handrail/flows/team/f.yaml", "1 flow"),
        (".handrail/settings.yaml", "1 settings file"),
        (".handrail/schemas", "1 schema"),
        (".handrail/schemas/report.json", "1 schema"),
    ],
)
def test_validate_says_what_it_counted(whole: Project, path: str, counted: str) -> None:
    assert whole.run("validate", path) == (0, f"no problems in {counted}\n", "")


def test_validate_counts_in_json_too(whole: Project) -> None:
    expected = {"workflows": 1, "flows": 1, "settings": 1, "schemas": 1, "playbooks": 0, "projects": 1}
    assert whole.json("validate", ".")["checked"] == expected


def test_a_settings_file_is_checked_as_settings(whole: Project) -> None:
    whole.write(".handrail/settings.yaml", "idelStops: 3\n")
    said = whole.run("validate", ".handrail/settings.yaml")
    assert said.code == 2
    assert "did you mean `idleStops`?" in said.out


def test_a_flow_may_be_called_settings(whole: Project) -> None:
    whole.write(".handrail/flows/settings.yaml", FLOW)
    assert whole.run("validate", ".handrail/flows/settings.yaml").out == "no problems in 1 flow\n"


def test_a_schema_file_is_checked_at_its_place(whole: Project) -> None:
    whole.write(".handrail/schemas/report.json", '{\n  "type": "objekt"\n}\n')
    said = whole.run("validate", ".handrail/schemas/report.json")
    assert said.code == 2
    assert said.out.startswith(".handrail/schemas/report.json:2:11: error[schema-broken]: ")


def test_a_broken_schema_that_a_step_uses_is_one_problem(whole: Project) -> None:
    whole.write(".handrail/schemas/report.json", "[]\n")
    step = "{id: b, node: command, params: {argv: [ls]}, makes: [{path: report.json, schema: report}]}"
    whole.write(".handrail/flows/team/f.yaml", f"phases:\n  - id: a\n    steps:\n      - {step}\n")
    assert found(whole, ".") == [("schema-broken", ".handrail/flows/team/f.yaml")]


def test_a_folder_of_another_project_is_checked_as_that_project(whole: Project) -> None:
    other = whole.folder.parent / "other"
    (other / ".handrail/flows").mkdir(parents=True)
    (other / ".handrail/settings.yaml").write_text("idleStops: often\n")
    (other / ".handrail/flows/f.yaml").write_text(FLOW.replace("node: set, params: {x: 1}", "node: flow-run"))
    for path in (other, other / ".handrail"):
        assert {code for code, _ in found(whole, str(path))} == {"wrong-type", "param-missing"}
    assert found(whole, str(other / ".handrail/settings.yaml")) == [
        ("wrong-type", str(other / ".handrail/settings.yaml"))
    ]


def test_a_folder_of_flows_may_be_outside_any_project(whole: Project, tmp_path: Path) -> None:
    folder = tmp_path / "shared" / "flows"
    folder.mkdir(parents=True)
    (folder / "f.yaml").write_text("phase: []\n")
    assert found(whole, str(folder)) == [("misspelt-key", str(folder / "f.yaml"))]
    assert found(whole, str(tmp_path / "shared")) == [("misspelt-key", str(folder / "f.yaml"))]


def test_the_help_names_flows_settings_and_schemas(project: Project) -> None:
    text = project.run("validate", "--help").out
    assert all(word in text for word in ("workflow", "flow", "settings", "schema"))


BROKEN = "phases: 3\n"


@pytest.mark.parametrize("place", ["packages/a", "packages/deep/er/b"])
def test_nested_projects_below_a_folder_are_checked_as_projects(whole: Project, place: str) -> None:
    whole.write(f"{place}/.handrail/flows/g.yaml", BROKEN)
    whole.write(f"{place}/.handrail/settings.yaml", "idleStops: often\n")
    assert found(whole, ".") == [
        ("wrong-type", f"{place}/.handrail/flows/g.yaml"),
        ("wrong-type", f"{place}/.handrail/settings.yaml"),
    ]
    assert found(whole) == []


def test_projects_in_a_nested_project_are_checked_once(whole: Project) -> None:
    whole.write("a/.handrail/flows/g.yaml", FLOW)
    whole.write("a/b/.handrail/flows/h.yaml", FLOW)
    said = whole.run("validate", ".")
    assert said.out == "no problems in 1 workflow, 3 flows, 1 settings file and 1 schema in 3 projects\n"
    assert whole.json("validate", ".")["checked"]["projects"] == 3


def test_a_nested_project_uses_its_own_definitions(whole: Project) -> None:
    nested = "phases:\n  - id: a\n    steps:\n      - {id: b, node: flow-run, params: {fileName: own}}\n"
    whole.write("a/.handrail/flows/own.yaml", FLOW)
    whole.write("a/.handrail/flows/top.yaml", nested)
    whole.write("b/.handrail/flows/top.yaml", nested)
    assert found(whole, ".") == [("flow-missing", "b/.handrail/flows/top.yaml")]


def test_an_empty_nested_project_is_no_problem(whole: Project) -> None:
    (whole.folder / "a/.handrail").mkdir(parents=True)
    assert whole.run("validate", ".").code == 0
    (whole.folder / "only/b/.handrail").mkdir(parents=True)
    assert whole.run("validate", "only").code == 0


def test_loose_workflows_and_flows_below_a_project_are_checked(whole: Project) -> None:
    whole.write("shared/review/workflow.yaml", "name: Review\nshow: workflows\nphases: [look.md]\n")
    whole.write("shared/flows/team/g.yaml", BROKEN)
    assert found(whole, ".") == [
        ("wrong-type", "shared/flows/team/g.yaml"),
        ("file-missing", "shared/review/workflow.yaml"),
    ]
    assert whole.json("validate", ".", code=2)["checked"]["workflows"] == 2


def test_a_folder_without_a_project_is_searched_for_projects(whole: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "a/.handrail/flows").mkdir(parents=True)
    (outside / "a/.handrail/flows/g.yaml").write_text(BROKEN)
    (outside / "loose/review").mkdir(parents=True)
    (outside / "loose/review/workflow.yaml").write_text("name: Review\nshow: workflows\nphases: [look.md]\n")
    assert found(whole, str(outside)) == [
        ("wrong-type", str(outside / "a/.handrail/flows/g.yaml")),
        ("file-missing", str(outside / "loose/review/workflow.yaml")),
    ]


@pytest.mark.parametrize("place", ["node_modules/x", ".git/x", ".cache/x", "venv/lib/site-packages/x"])
def test_hidden_folders_and_installed_packages_are_left_out(whole: Project, place: str) -> None:
    whole.write(f"{place}/.handrail/flows/g.yaml", BROKEN)
    whole.write(f"{place}/review/workflow.yaml", BROKEN)
    whole.write(f"{place}/flows/g.yaml", BROKEN)
    assert whole.run("validate", ".").code == 0


def test_links_are_not_followed(whole: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / ".handrail/flows").mkdir(parents=True)
    (outside / ".handrail/flows/g.yaml").write_text(BROKEN)
    (whole.folder / "link").symlink_to(outside)
    (whole.folder / "a").mkdir()
    (whole.folder / "a/.handrail").symlink_to(outside / ".handrail")
    (whole.folder / "flows").mkdir()
    (whole.folder / "flows/g.yaml").symlink_to(outside / ".handrail/flows/g.yaml")
    assert whole.run("validate", ".").code == 0


def test_files_of_other_tools_with_the_same_names_are_not_checked(whole: Project) -> None:
    whole.write("deploy/workflow.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\n")
    whole.write("app/flows/data.json", '{"nodes": []}\n')
    assert whole.run("validate", ".").out == "no problems in 1 workflow, 1 flow, 1 settings file and 1 schema\n"


def test_a_search_that_ends_early_is_a_problem(whole: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handrail.project.validation.MAX_FOLDERS", 3)
    for number in range(5):
        (whole.folder / f"folder-{number}").mkdir()
    assert [code for code, _ in found(whole, ".")] == ["too-many-folders"]


def test_a_large_flow_does_not_make_python_look_through_all_objects_again_and_again(project: Project) -> None:
    step = "- id: p{}\n  steps: [{{id: s, node: set, params: {{x: 1}}}}]\n"
    project.write(".handrail/flows/large.yaml", "phases:\n" + "".join(map(step.format, range(1_000))))
    looks = []

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"]:
            looks.append(info)

    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # those of Python itself
    gc.callbacks.append(count)
    try:
        assert project.run("validate").code == 0
    finally:
        gc.callbacks.remove(count)
        gc.set_threshold(*before)
    assert len(looks) <= 1
