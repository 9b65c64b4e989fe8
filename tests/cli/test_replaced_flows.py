"""`handrail list` says which flows run instead of shipped ones; a scope is found by an unambiguous beginning."""

from __future__ import annotations

from support import Project

FLOW = "phases:\n- {id: a, steps: [{id: s, node: set, expect: [{kind: step-output, value: false, message: No.}]}]}\n"


def test_a_flow_that_replaces_a_shipped_one_is_marked(project: Project) -> None:
    before = project.run("list").out
    project.write(".handrail/flows/plan.yaml", FLOW)
    project.write(".handrail/flows/own.yaml", FLOW)
    after = project.run("list").out
    count = int(before.split(" more flows come")[0].split()[-1])
    assert f"{count - 1} more flows come with Handrail" in after
    marked = [line.split()[0] for line in after.splitlines() if "(runs instead of the shipped one)" in line]
    assert marked == ["plan"]
    flows = {flow["id"]: flow["replaces"] for flow in project.json("list")["flows"]}
    assert flows == {"own": None, "plan": "plan"}


def test_a_beginning_of_several_scopes_names_them(project: Project) -> None:
    project.write(".agentweaver/scopes/t1/x", "")
    project.write(".agentweaver/scopes/t2/x", "")
    said = project.run("scope", "t")
    assert (said.code, "scopes: t1, t2" in said.err) == (1, True)


def test_a_message_that_ends_with_a_full_stop_goes_on_without_it(project: Project) -> None:
    project.write(".handrail/flows/own.yaml", FLOW.replace("kind: step-output, value: false", "file: gone"))
    said = project.run("run", "own")
    assert "No: it does not exist" in said.err


def test_a_summary_is_shown_without_its_markdown_mark(project: Project) -> None:
    step = "{id: s, node: set, after: [{kind: set-summary-from-file, path: sum.md}]}"
    project.write(".handrail/flows/f.yaml", f"phases:\n- {{id: a, steps: [{step}]}}\n")
    project.write("sum.md", "# Two files\n")
    assert project.run("run", "f").out.endswith("f  completed  Two files\n")
