"""Practices of the playbook in the phases of a guided workflow: the same as those that a flow gets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.steps.playbook.guidance import playbook_phase
from handrail.steps.playbook.spec import Playbook, PlaybookEntry
from steps.nodes.single import alone
from support import Project

MANIFEST = """\
version: 1
project: {name: Shop}
practices: {globs: ["practices/*.md"]}
always_include: [project.md]
context_budgets: {ship: 6}
"""
ENTRY = "---\nid: {id}\ntitle: About {id}\n{more}---\n\nRule of {id}.\n"
ENTRIES = {
    "python": "applies_to: {languages: [python]}\nseverity: must\n",
    "go": "applies_to: {languages: [go]}\n",
    "cache": "applies_to: {keywords: [cache]}\n",
    "reviewing": "phases: [review]\n",
    "shipping": "phases: [ship]\n",
}
TASK = "Add a cache to src/shop.py"


@pytest.fixture
def shop(project: Project) -> Project:
    project.write(".handrail/playbook/manifest.yaml", MANIFEST)
    project.write(".handrail/playbook/project.md", "# Shop\n")
    for id_, more in ENTRIES.items():
        project.write(f".handrail/playbook/practices/{id_}.md", ENTRY.format(id=id_, more=more))
    project.phase("work", "implement", "guidance: true\n")
    project.phase("work", "look", "guidance: {phase: review}\n")
    project.phase("work", "ship", "guidance: true\nexit: {run: test -e done}\n")
    project.phase("work", "rest")
    project.workflow("work", ["implement", "look", "ship", "rest"])
    return project


def told(text: str) -> set[str]:
    """The practices whose rules are in a text."""
    return {id_ for id_ in ENTRIES if f"Rule of {id_}." in text}


def test_a_guided_phase_and_a_flow_get_the_same_practices(shop: Project) -> None:
    shop.write("task.json", json.dumps({"description": TASK}))
    files = {"taskContextJsonFile": "task.json", "outputJsonFile": "g.json", "outputFile": "g.md"}
    assert alone(shop, "project-guidance", phase="implement", **files)["status"] == "available"
    rows = json.loads((shop.folder / "g.json").read_text())["selected_practices"]
    shop.run("start", "work", TASK)
    context = shop.run("context").out
    assert told(context) == {row["id"] for row in rows} == {"python", "cache"}
    practices = (shop.folder / "g.md").read_text().partition("project.\n\n")[2].strip()
    assert practices in context, "the text is the same, too"
    assert told(shop.json("playbook", "guidance", "--phase", "implement", "--task", TASK)["text"]) == told(context)


def test_each_phase_gets_its_own_practices_when_it_is_entered(shop: Project) -> None:
    shop.run("start", "work", TASK)
    moved = shop.json("next")["message"]
    assert told(moved) == {"python", "cache", "reviewing"}
    assert told(shop.run("context").out) == told(moved)
    moved = shop.json("next")["message"]
    assert "Practices of this project" in moved
    assert told(moved) == {"python"}, "the budget of `ship` is one practice"
    assert "practices/shipping.md`: About shipping" in moved
    shop.write("done", "")
    assert "Practices of this project" not in shop.json("next")["message"]
    assert told(shop.json("loop")["message"]) == {"python", "cache"}
    assert told(shop.json("status")["message"]) == {"python", "cache"}


def test_practices_stay_as_they_were_when_the_phase_was_entered(shop: Project) -> None:
    shop.run("start", "work", TASK)
    before = shop.run("context").out
    shop.write(".handrail/playbook/practices/cache.md", "broken")
    for card in shop.home.rglob("card"):
        card.unlink()
    assert shop.run("context").out == before, "also if the card has to be made again"
    assert "has errors" in shop.json("loop")["message"]
    shop.write(".handrail/playbook/practices/cache.md", ENTRY.format(id="cache", more=""))
    assert told(shop.json("loop")["message"]) == {"python", "cache"}


def test_reload_chooses_again(shop: Project) -> None:
    shop.run("start", "work", "Write go/main.go")
    assert told(shop.run("context").out) == {"go"}
    shop.phase("work", "implement", "guidance: false\n")
    shop.run("reload")
    assert told(shop.run("context").out) == set()
    shop.phase("work", "implement", "guidance: {phase: review}\n")
    shop.run("reload")
    assert told(shop.run("context").out) == {"go", "reviewing"}


def test_without_a_playbook_a_phase_has_only_its_own_text(project: Project) -> None:
    project.phase("work", "build", "guidance: true\n")
    project.workflow("work", ["build"])
    project.run("start", "work", "x")
    assert "Practices" not in project.run("context").out


@pytest.mark.parametrize("more", ["guidance: yes please", "guidance: {phase: 3}", "guidance: {phases: plan}"])
def test_a_wrong_guidance_is_told(project: Project, more: str) -> None:
    project.phase("work", "build", f"{more}\n")
    project.workflow("work", ["build"])
    assert project.json("validate", code=2)["problems"][0]["file"].endswith("build.md")


@pytest.mark.parametrize(
    ("names", "phase"),
    [
        (("plan", "Plan"), "plan"),
        (("p1", "Ship"), "ship"),
        (("design-review", "x"), "design_review"),
        (("write-plan", "x"), "plan"),
        (("code-review", "x"), "review"),
        (("fix-findings", "Fix what the review found"), "repair"),
        (("build", "Build"), "implement"),
        (("rollout", "x"), "rollout"),
    ],
)
def test_the_phase_of_the_playbook_follows_from_the_names(names: tuple[str, ...], phase: str) -> None:
    entry = PlaybookEntry("practice", "a", "A", "a.md", "x", phases=("rollout",))
    assert playbook_phase(Playbook("f", "P", practices=(entry,), budgets={"ship": 1}), names) == phase


def test_the_journal_of_a_session_without_practices_does_not_mention_them(project: Project) -> None:
    project.workflow("work", ["build"])
    project.run("start", "work", "x")
    found: list[Any] = list(project.home.rglob("journal"))
    assert found
    assert b"guidance" not in found[0].read_bytes()


@pytest.mark.whole
def test_a_driven_workflow_gets_the_same_practices(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("done", "")
    script = shop.write("script.yaml", "- {step: next}\n" * 4)
    monkeypatch.setenv("HANDRAIL_SCRIPT", str(script))
    assert shop.json("run", "work", TASK, "--agent", "scripted")["status"] == "completed"
    journals = [path.read_text() for path in shop.home.rglob("journal") if "sessions" in path.parts]
    assert len(journals) == 1
    records = [line for line in journals[0].splitlines() if '"guidance"' in line]
    assert [told(record) for record in records] == [{"python", "cache"}, {"python", "cache", "reviewing"}, {"python"}]
