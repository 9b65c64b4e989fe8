"""The picture of a flow: valid SVG with every phase and step, repeats once, and nothing that a file could inject."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from handrail.driven.flows.load import flow_resources, load_flow
from handrail.driven.flows.shipped_flows import ShippedFlows
from handrail.extensions.registry import Registry
from handrail.settings.folders import shipped_flows
from handrail.source.definition_files import Source
from handrail.view.text.diagrams import flow_picture
from support import Project

FLOW = """\
phases:
  - id: check
    steps:
      - {id: tests, node: command, params: {argv: [make]}, when: {exists: Makefile}, stopFlowIf: {exists: done}}
  - repeat: {var: n, max: 3, until: {exists: ready}}
    phases:
      - id: fix-${n}
        when: {exists: broken}
        steps: [{id: agent, node: llm-prompt, routingGroup: review, prompt: "<b>Fix it</b>"}]
      - id: look-${n}
        steps: [{id: ask, node: user-input, params: {formId: go, title: Go, fields: [{id: a, type: text, label: A}]}}]
  - parallel: {limit: 2}
    phases:
      - {id: left, steps: [{id: "<i>&", node: set, params: {n: 1}}]}
      - {id: right, steps: [{id: x, node: set, params: {n: 1}}]}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


def drawn(text: str) -> str:
    plan, problems = load_flow(Source("f.yaml", text), "f", flow_resources(Registry()))
    assert plan is not None, problems
    return flow_picture(plan)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter() if element.tag.endswith("}text")]


def test_every_phase_and_step_is_drawn_once_with_its_conditions() -> None:
    found = texts(drawn(FLOW))
    assert found == [
        "check", "step", "tests: command", 'if "Makefile" exists', 'ends the flow if "done" exists',
        'up to 3 rounds, until "ready" exists, or the flow fails',
        "fix-N", 'if "broken" exists', "agent", "agent: llm-prompt (review)",
        "look-N", "asks", "ask: user-input",
        "in parallel, up to 2", "left", "step", "<i>&: set", "right", "step", "x: set",
    ]  # fmt: skip


def test_it_is_the_same_every_time_and_has_colours_for_dark() -> None:
    assert drawn(FLOW) == drawn(FLOW)
    assert "prefers-color-scheme: dark" in drawn(FLOW)


def test_no_box_leaves_the_picture() -> None:
    svg = drawn(FLOW)
    width, height = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0])
    for x, y, wide, high in re.findall(r'x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', svg):
        assert float(x) + float(wide) <= width
        assert float(y) + float(high) <= height


@pytest.mark.parametrize("id_", ShippedFlows(shipped_flows()).files)
def test_show_draws_every_shipped_flow(project: Project, id_: str) -> None:
    said = project.run("show", f"flow:{id_}", "--svg")
    assert said.code == 0
    assert texts(said.out)


def test_a_workflow_has_no_picture(project: Project) -> None:
    said = project.run("show", "plan-build-review", "--svg")
    assert (said.code, "--mermaid" in said.err) == (2, True), said
