"""Sets of routes: shipped ones exist without settings, and settings win."""

from __future__ import annotations

import pytest

from handrail.extensions.registry import Registry
from handrail.settings.routes import DEFAULT, parse_route, shipped_presets
from handrail.settings.settings import GROUPS
from support import Project

FLOW = "phases: [{id: a, steps: [{id: x, node: llm-prompt, routingGroup: review, prompt: Go}]}]\n"


@pytest.mark.parametrize("name", shipped_presets())
def test_a_shipped_preset_names_groups_and_agents_that_exist(name: str) -> None:
    routes = shipped_presets()[name]
    assert DEFAULT in routes
    assert routes.keys() <= {DEFAULT, *GROUPS}
    assert {parse_route(route).agent for route in routes.values()} <= set(Registry().executors())
    assert all(parse_route(route).model for route in routes.values())


def test_a_dry_run_and_the_help_name_the_agent_and_the_model(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FLOW)
    for chosen, route in (
        (("--preset", "balanced"), "codex:gpt-5.5"),
        (("--agent", "scripted", "--model", "m"), "scripted:m"),
        (("--route", "review=claude:opus"), "claude:opus"),
    ):
        (_, step) = project.json("run", "f", *chosen, "--dry-run")["rows"]
        assert (step["group"], step["agent"]) == ("review", route)
        assert f"agent: {route}" in project.run("run", "f", *chosen, "--dry-run").out
        assert project.json("run", "f", "--help", *chosen)["routes"] == [{"group": "review", "agent": route}]
        assert route in project.run("f", "--help", *chosen).out
    assert "no preset `balancd`" in project.run("f", "--help", "--preset", "balancd").err


def test_a_shipped_preset_chooses_the_agent(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    project.write(".handrail/flows/f.yaml", FLOW)
    assert "`codex`" in project.json("run", "f", "--preset", "balanced", code=1)["error"]["message"]
    assert "`opencode`" in project.json("run", "f", "--preset", "opencode-only", code=1)["error"]["message"]


def test_a_preset_of_the_settings_wins(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    project.write("script.yaml", "- say: hello\n")
    project.write(".handrail/flows/f.yaml", FLOW)
    project.write(".handrail/settings.yaml", "presets: {balanced: {default: scripted}}\n")
    assert project.json("run", "f", "--preset", "balanced")["status"] == "completed"


def test_an_unknown_preset_is_refused_with_those_that_exist(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", FLOW)
    said = project.run("run", "f", "--preset", "balancd")
    assert "did you mean `balanced`?" in said.err
