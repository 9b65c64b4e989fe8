"""Flows that run flows that run flows: what a result costs grows with the number of steps, not with 2 to the depth."""

from __future__ import annotations

import json
from typing import Any

from driven.flows.everyflow import flow
from handrail.driven.flows.results import FlowResult, nested_flow_result, result, with_copies, without_copies
from handrail.settings.secrets import has_lost
from support import Project

DEPTH = 18
LEAF = "{id: s, node: command, params: {argv: [echo, hi]}}"
CALL = "{id: s, node: flow-run, params: {fileName: f%d}}"


def write_flows(project: Project, more: str = "") -> None:
    for number in range(DEPTH):
        step = LEAF if number == DEPTH - 1 else CALL % (number + 1)
        phases = f"{{id: p, steps: [{step}]}}" + (more if not number else "")
        project.write(f".handrail/flows/f{number}.yaml", f"phases: [{phases}]\n")


def leaf_in(value: Any) -> Any:
    """The value of the innermost step."""
    for _ in range(DEPTH - 1):
        value = value["executionState"]["phases"][0]["steps"][0]["value"]
    return value


def test_the_result_of_deep_flows_is_printed_once(project: Project) -> None:
    write_flows(project)
    told = project.json("run", "f0")
    assert leaf_in(told["phases"][0]["steps"][0]["value"])["output"] == "hi\n"
    assert len(json.dumps(told)) < 20_000
    entry = told["phases"][0]["steps"][0]["value"]["executionState"]["phases"][0]["steps"][0]
    assert entry.keys() == {"id", "status", "value"}
    assert len(json.dumps(project.json("runs", told["run"]))) < 20_000


def test_a_restart_stores_a_kept_result_once_and_later_steps_read_all_of_it(project: Project) -> None:
    deep = ".outputs.executionState.phases.p.steps.s" * (DEPTH - 1)
    last = f"{{id: w, node: write-file, params: {{path: told.txt, text: '${{steps.p.s{deep}.outputs.output}}'}}}}"
    write_flows(project, f", {{id: q, steps: [{last}]}}")
    run = project.json("run", "f0")["run"]
    assert (project.folder / "told.txt").read_text() == "hi\n"
    again = project.json("restart", run, "--from", "q")
    assert again["attempt"] == 2
    assert (project.folder / "told.txt").read_text() == "hi\n"
    stored = [path.stat().st_size for path in project.home.rglob("*") if path.is_file() and "/2/" in str(path)]
    assert sum(stored) < 40_000
    assert len(json.dumps(again)) < 20_000


class Counted(dict[str, Any]):
    """Counts how often it is looked at."""

    seen = 0

    def values(self) -> Any:
        Counted.seen += 1
        return super().values()


def test_a_search_for_lost_secrets_looks_at_each_result_once() -> None:
    plan = flow(f"phases: [{{id: p, steps: [{LEAF}]}}]")
    value: Any = Counted(output="hi")
    for _ in range(DEPTH):
        value = nested_flow_result(plan, FlowResult(None, "success", {"p": {"s": result(value)}}))
    assert not has_lost(value)
    assert Counted.seen == 1
    assert with_copies(without_copies(value)) == value
