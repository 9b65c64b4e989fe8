"""Flows of AgentWeaver: severities from the environment, the shipped scripts, older nodes, and a killed verdict."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steps.nodes.single import KEY, SCOPE, artifact, read, refused, value
from support import Project

VARIABLE = "AGENTWEAVER_REVIEW_BLOCKING_SEVERITIES"


def foreign(project: Project, *steps: dict[str, Any]) -> None:
    flow = {"kind": "x-flow", "version": 1, "phases": [{"id": "a", "steps": list(steps)}]}
    project.write(".agentweaver/.flows/x.json", json.dumps(flow))


def test_severities_of_the_environment_reach_a_flow(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    params = {"path": {"ref": "params.reviewBlockingSeverities"}}
    foreign(project, {"id": "x", "node": "set", "params": params})
    assert value(project.json("run", "x"))["path"] == ["blocker", "critical", "high"]
    monkeypatch.setenv(VARIABLE, "low, info")
    assert value(project.json("run", "x"))["path"] == ["low", "info"]
    monkeypatch.setenv(VARIABLE, "hihg")
    assert VARIABLE in project.json("run", "x", code=2)["error"]["hint"]


@pytest.mark.parametrize(("exits", "is_ok"), [(0, True), (1, False)])
def test_a_flow_runs_the_shipped_tests_of_go(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, exits: int, *, is_ok: bool
) -> None:
    go = tmp_path / "go"
    go.write_text(f"#!/bin/sh\necho broken at $PWD\nexit {exits}\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    argv = {"list": [{"ref": "params.runGoTestsScript"}]}
    foreign(project, {"id": "x", "node": "local-script-check", "params": {"argv": argv, "labelText": {"const": "x"}}})
    found = value(project.json("run", "x"))["parsed"]
    assert (found["ok"], found["stage"]) == (is_ok, "run_go_tests")
    assert is_ok or f"broken at {project.folder}" in found["details"]["raw"]


def test_the_older_planning_node_asks_the_agent_in_its_name(project: Project) -> None:
    code, message = refused(project, "plan-codex", {"PATH": ""}, prompt="Plan.")
    assert (code, "no agent" in message) == ("agent-missing", True)
    assert refused(project, "plan-codex", prompt=" ")[0] == "params"


def test_an_output_file_of_an_agent_node_has_to_exist(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("script.yaml", "- say: done\n")
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    step = {"id": "x", "node": "scripted-prompt", "prompt": {"inlineTemplate": "Work."}}
    step["params"] = {"labelText": "L", "outputFile": "out.md", "summaryTitle": "S"}
    project.write(".handrail/flows/one.json", json.dumps({"phases": [{"id": "a", "steps": [step]}]}))
    ended = project.json("run", "one", code=1)
    assert (ended["reason"], "`out.md`" in ended["error"]) == ("artifact-missing at a/x", True)
    project.write("out.md", "x")
    assert project.json("run", "one")["status"] == "completed"


KILLER = """
import os, signal, sys
real = os.replace
def replace(old, new):
    if new.endswith("ready-to-merge.md"):
        os.kill(os.getpid(), signal.SIGKILL)
    real(old, new)
os.replace = replace
from handrail.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_killed_verdict_is_finished_by_resume(project: Project) -> None:
    """The process is killed after the review was rewritten and before the mark was written."""
    path = artifact(
        project, f".artifacts/review-{KEY}-1.json", {"summary": "s", "ready_to_merge": False, "findings": []}
    )
    step = {"id": "x", "node": "review-verdict", "params": {"taskKey": KEY}}
    project.write(".handrail/flows/one.json", json.dumps({"phases": [{"id": "a", "steps": [step]}]}))
    argv = [sys.executable, "-c", KILLER, "run", "one", "--scope", KEY]
    killed = subprocess.run(argv, cwd=project.folder, capture_output=True, timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert read(project, str(path))["ready_to_merge"] is True
    assert not (project.folder / SCOPE / "ready-to-merge.md").exists()
    ended = project.json("resume", project.json("runs")["runs"][0]["run"])
    assert (ended["status"], len(ended["artifacts"])) == ("completed", 2)
    assert sorted(os.listdir(project.folder / SCOPE)) == [".artifacts", "ready-to-merge.md"]
