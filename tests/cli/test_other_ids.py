"""A flow may have other ids. Every command takes them, and a flow with such an id of its own wins."""

from __future__ import annotations

import pytest

from handrail.driven.flows.shipped_flows import ShippedFlows
from handrail.settings.folders import shipped_flows
from support import Project

SET = "phases: [{id: %s, steps: [{id: x, node: set, params: {n: 1}}]}]\n"
SHIP = "description: Ships it\nalso: [team/release, release]\n" + SET % "ship"


def phase_of(project: Project, name: str) -> str:
    return str(project.json("run", name)["phases"][0]["id"])


@pytest.mark.parametrize("name", ["ship", "team/release", "release", "release.json", "team/release.json"])
def test_run_show_and_phases_take_every_id(project: Project, name: str) -> None:
    project.write(".handrail/flows/ship.yaml", SHIP)
    assert project.json("validate", "--strict")["problems"] == []
    assert phase_of(project, name) == "ship"
    assert project.json("show", name)["id"] == "ship"
    assert project.json("phases", name)["phases"][0]["id"] == "ship"
    assert project.run(name).code == 0


def test_a_step_runs_a_flow_by_another_id_also_after_a_failure(project: Project) -> None:
    project.write(".handrail/flows/ship.yaml", SHIP)
    steps = "{id: wait, node: command, params: {argv: [test, -e, ready]}}, "
    steps += "{id: x, node: flow-run, params: {fileName: team/release}}"
    project.write(".handrail/flows/outer.yaml", f"phases: [{{id: a, steps: [{steps}]}}]\n")
    run = project.json("run", "outer", code=1)["run"]
    project.write("ready", "")
    ended = project.json("resume", run)
    assert ended["phases"][0]["steps"][1]["value"]["executionState"]["phases"][0]["id"] == "ship"


def test_a_list_shows_a_flow_once_with_its_other_ids(project: Project) -> None:
    project.write(".handrail/flows/ship.yaml", SHIP)
    rows = [row for row in project.run("list").out.splitlines() if "ship" in row.split()]
    assert rows == [row for row in rows if row.endswith("Ships it (also team/release, also release)")]
    assert len(rows) == 1
    (flow,) = project.json("list")["flows"]
    assert (flow["id"], flow["also"]) == ("ship", ["team/release", "release"])
    assert "bug-fix  " in (shipped := project.run("list", "--shipped").out)
    assert shipped.count("bugz/bug-fix") == 1


def test_a_flow_with_the_id_wins_and_the_other_is_told(project: Project) -> None:
    project.write(".handrail/flows/ship.yaml", SHIP)
    project.write(".handrail/flows/team/release.yaml", SET % "own")
    assert phase_of(project, "team/release") == "own"
    assert phase_of(project, "ship") == "ship"
    (problem,) = project.json("validate")["problems"]
    assert (problem["code"], problem["severity"], problem["line"]) == ("flow-also-taken", "warning", 2)


def test_agentweavers_files_have_no_other_ids(project: Project) -> None:
    project.write(".agentweaver/.flows/ship.yaml", SHIP)
    assert [problem["code"] for problem in project.json("validate")["problems"]] == ["unknown-key"]
    assert project.run("run", "release").code == 1


@pytest.mark.whole(4)
@pytest.mark.parametrize("id_", sorted(ShippedFlows(shipped_flows()).also))
def test_the_ids_of_agentweaver_are_other_ids_of_shipped_flows(project: Project, id_: str) -> None:
    found = project.json("show", f"flow:{id_}")
    assert found["id"] == ShippedFlows(shipped_flows()).also[id_]
    assert id_ in found["also"]
    assert "there is no flow" not in project.run("run", f"flow:{id_}", "--dry-run", "--agent", "scripted").err


def test_a_flow_of_the_project_with_an_id_of_agentweaver_wins_as_before(project: Project) -> None:
    project.write(".agentweaver/.flows/review/review.yaml", SET % "own")
    assert phase_of(project, "review/review") == "own"
    assert phase_of(project, "review") == "own"
    row = next(row for row in project.run("list", "--shipped").out.splitlines() if row.startswith("review "))
    assert row.endswith("(`review/review` is yours)")


def test_it_also_replaces_the_shipped_flow_inside_others_if_it_says_so(project: Project) -> None:
    project.write("code.txt", "one\n")
    project.write(".handrail/flows/review/review.yaml", "overrides: true\n" + SET % "own")
    ended = project.json("run", "review-loop", "--agent", "scripted", code=1)
    first = ended["phases"][0]["steps"][0]["value"]["executionState"]
    assert first["phases"][0]["id"] == "own"
    project.write(".handrail/flows/review/review.yaml", SET % "own")
    rows = project.json("run", "review-loop", "--agent", "scripted", "--dry-run")["rows"]
    assert "builtin:review" in {row.get("flow") for row in rows}


@pytest.mark.parametrize("id_", ["check-loop", "ship"])
def test_routes_of_the_settings_may_name_any_id(project: Project, id_: str) -> None:
    flow = (
        "also: [ship]\nphases: [{id: a, steps: [{id: x, node: llm-prompt, prompt: Say it., routingGroup: review}]}]\n"
    )
    project.write(".handrail/flows/check-loop.yaml", flow)
    project.write(".handrail/settings.yaml", f"flows: {{{id_}: {{review: scripted}}}}\n")
    assert project.json("check-loop", "--help")["routes"] == [{"group": "review", "agent": "scripted"}]


def test_a_shipped_flow_wins_over_a_shipped_workflow_of_its_name(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    assert project.json("run", "bug-fix", "--agent", "scripted", code=1)["name"] == "bug-fix"
    assert project.run("run", "workflow:bug-fix").err.startswith("error: workflow `bug-fix` needs a task")
    assert "stops" in project.json("show", "workflow:bug-fix")
    assert "there is also a flow `bug-fix`: `handrail show flow:bug-fix`" in project.run("show", "bug-fix").err
    project.workflow("bug-fix", ["look"])
    assert project.run("run", "bug-fix").err.startswith("error: workflow `bug-fix` needs a task")


def test_a_restart_takes_the_flow_of_the_run_and_not_a_workflow_of_its_name(project: Project) -> None:
    project.write(".handrail/flows/ship.yaml", SHIP)
    project.workflow("ship", ["look"])
    run = project.json("run", "flow:ship")["run"]
    assert project.json("restart", run)["phases"][0]["id"] == "ship"
