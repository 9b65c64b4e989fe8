"""`handrail playbook`: check, show and guidance, for people and as JSON."""

from __future__ import annotations

import pytest

from support import Project

MANIFEST = """\
version: 1
project: {name: Shop, languages: [python]}
practices: {globs: ["practices/*.md"]}
templates: {paths: [templates/test.py]}
always_include: [project.md]
context_budgets: {implement: 4, ship: 9}
"""


@pytest.fixture
def shop(project: Project) -> Project:
    project.write(".handrail/playbook/manifest.yaml", MANIFEST)
    project.write(".handrail/playbook/project.md", "# Shop\n")
    project.write(".handrail/playbook/templates/test.py", "def test_() -> None: ...\n")
    for id_, head in {"a": "applies_to: {globs: ['src/**']}\nseverity: must\n", "b": ""}.items():
        project.write(
            f".handrail/playbook/practices/{id_}.md", f"---\nid: {id_}\ntitle: T {id_}\n{head}---\nDo {id_}.\n"
        )
    return project


@pytest.mark.parametrize("action", ["check", "show"])
def test_without_a_playbook_the_way_to_make_one_is_told(project: Project, action: str) -> None:
    said = project.run("playbook", action)
    assert (said.code, said.out) == (1, "")
    assert "the project has no playbook" in said.err
    assert "handrail playbook init" in said.err


def test_check_says_what_it_checked(shop: Project) -> None:
    assert shop.json("playbook", "check") == {"ok": True, "problems": []}
    said = shop.run("playbook", "check")
    assert said.out == "no problems in `.handrail/playbook`: 2 practices, 1 template\n"


def test_show_lists_everything(shop: Project) -> None:
    data = shop.json("playbook", "show")
    assert [row["id"] for row in data["practices"]] == ["a", "b"]
    assert data["practices"][0]["appliesTo"] == {"globs": ["src/**"]}
    assert (data["templates"], data["always"]) == (["templates/test.py"], ["project.md"])
    assert (data["budgets"]["implement"], data["budgets"]["ship"], data["budgets"]["plan"]) == (4, 9, 1200)
    said = shop.run("playbook", "show").out
    assert "src/**" in said
    assert "ship           9" in said


def test_guidance_says_what_an_agent_gets_and_why(shop: Project) -> None:
    data = shop.json("playbook", "guidance", "--phase", "implement", "--task", "x", "--files", "src/a.py", "src/b.py")
    assert [item["id"] for item in data["items"]] == ["project.md", "a", "b"]
    assert data["items"][1] == {
        "id": "a",
        "title": "T a",
        "path": ".handrail/playbook/practices/a.md",
        "why": "for this phase, path src/a.py src/b.py, must",
        "kind": "practice",
        "told": "text",
    }
    assert (data["characters"], data["budget"], data["tokens"]) == (12, 16, {"used": 4, "budget": 4})
    assert data["text"].startswith("### T a (must)\n\nDo a.\n\n### T b\n\nDo b.")
    assert [item["id"] for item in shop.json("playbook", "guidance", "--phase", "plan")["items"]] == ["project.md", "b"]
    said = shop.run("playbook", "guidance", "--phase", "implement", "--files", str(shop.folder / "src/a.py")).out
    assert "for this phase, path src/a.py, must" in said


def test_wrong_use_and_a_broken_playbook_are_told(shop: Project) -> None:
    assert shop.run("playbook", "guidance").code == 2
    assert shop.run("playbook", "guidance", "--phase", " ").code == 2
    assert "--files" in shop.run("playbook", "guidance", "--phase", "plan", "src/a.py").err
    shop.write(".handrail/playbook/manifest.yaml", "version: 1\n")
    for action in (["show"], ["guidance", "--phase", "plan"]):
        said = shop.run("playbook", *action)
        assert (said.code, "handrail playbook check" in said.err) == (2, True)


@pytest.mark.whole
def test_doctor_names_the_playbook_and_its_worst_problem(shop: Project) -> None:
    def checkup(code: int) -> dict[str, str]:
        found = [row for row in shop.json("doctor", code=code)["checks"] if row["id"] == "playbook"]
        assert len(found) == 1
        row: dict[str, str] = found[0]
        return row

    assert (checkup(0)["status"], checkup(0)["message"]) == ("ok", "`.handrail/playbook` has 2 practices")
    shop.write(".handrail/playbook/manifest.yaml", MANIFEST + "more: 1\n")
    assert checkup(0)["status"] == "warning"
    shop.write(".handrail/playbook/manifest.yaml", "version: 1\n")
    broken = checkup(5)
    assert (broken["status"], broken["fix"]) == ("error", "run `handrail playbook check`, which shows each place")
    assert broken["message"].startswith(".handrail/playbook/manifest.yaml:1:1: key `project` is missing")
