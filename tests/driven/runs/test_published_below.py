"""What a nested flow published, as the flow around it can use it."""

from __future__ import annotations

import pytest

from support import Project

INNER = """
phases:
- {id: c, steps: [{id: w, node: write-file, params: {path: a.md, text: hello}, makes: [a.md]}]}
- {id: d, steps: [{id: w, node: command, params: {argv: [sh, -c, "test -e go && echo x > b.md"]}, makes: [b.md]}]}
"""
OUTER = """
phases:
- id: a
  steps:
  - {id: ru, node: write-file, params: {path: own.md, text: mine}, makes: [own.md]}
  - {id: run, node: flow-run, params: {fileName: inner}}
  - {id: made, node: set, params: {all: "${steps.a.run.%s.publishedArtifacts}"}}
"""


@pytest.mark.parametrize("place", ["outputs", "value"])
def test_a_flow_knows_what_a_nested_flow_published_also_in_a_later_life(project: Project, place: str) -> None:
    project.write(".handrail/flows/inner.yaml", INNER)
    project.write(".handrail/flows/outer.yaml", OUTER % place)
    run = project.json("run", "outer", "--scope", "k", code=1)["run"]
    project.write("go", "")
    ended = project.json("resume", run)
    artifacts = ended["phases"][0]["steps"][2]["value"]["all"]
    assert [(one["artifact_id"], one["payload_path"]) for one in artifacts] == [
        ("k:a.md:v1", "a.md"),
        ("k:b.md:v1", "b.md"),
    ]
    assert artifacts[0]["logical_key"] == "a.md"
    assert artifacts[0]["content_hash"].startswith("sha256:")
