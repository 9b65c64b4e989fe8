"""One vocabulary of tools: a name that means nothing to an agent is a warning at install, validate and start."""

from __future__ import annotations

from typing import Any

import pytest

from agents.calls.talking import tell
from handrail import STEP_TOOL
from handrail.extensions.registry import Registry
from handrail.guided.workflows.spec import VOCABULARY
from support import Project

AGENTS = Registry().installable()
STRANGE = {
    "claude": ("run_shell_command", "bash"),
    "codex": ("Edit", "edit"),
    "copilot": ("Write", "write"),
    "gemini": ("webfetch", "fetch"),
    "opencode": ("Bash", "bash"),
    "pi": ("read_file", "read"),
}
"""For each agent, a name that means nothing to it, and the name that every agent understands."""


def warning(agent: str) -> str:
    name, instead = STRANGE[agent]
    return f"`{name}` means nothing to `{agent}`; write `{instead}`, which means the same to every agent"


def listing(project: Project, *names: str) -> None:
    project.workflow("w", ["look"])
    project.phase("w", "look", f"tools:\n  blacklist: [{', '.join(names)}]\n")


def problems(project: Project, *argv: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = project.run("validate", "--json", *argv).data["problems"]
    return found


@pytest.mark.parametrize("agent", AGENTS)
def test_a_name_that_means_nothing_to_an_agent_is_a_warning_when_it_is_installed(project: Project, agent: str) -> None:
    listing(project, "workflow_step", STRANGE[agent][0])
    assert warning(agent) in project.run("install", agent, "--dry-run").err
    assert project.run("install", agent, "--json").data["warnings"] == [
        f".handrail/workflows/w/look.md:6:30: {warning(agent)}"
    ]
    listing(project, "workflow_step", STRANGE[agent][1])
    assert "means nothing" not in project.run("install", agent, "--project").err


@pytest.mark.whole(3)
@pytest.mark.parametrize("agent", AGENTS)
def test_it_is_a_warning_of_validate_if_the_agent_is_installed(project: Project, agent: str) -> None:
    listing(project, STRANGE[agent][0])
    project.run("install", agent)
    (found,) = problems(project)
    assert (found["code"], found["severity"], found["line"], found["column"]) == ("tool-elsewhere", "warning", 6, 15)
    assert f"{found['message']}; {found['hint']}" == warning(agent)
    assert problems(project, "--agent", agent) == [found]
    assert problems(project, ".handrail/workflows/w") == [found]
    assert project.run("validate", "--strict").code == 2


@pytest.mark.parametrize("agent", AGENTS)
def test_it_is_a_notice_when_a_workflow_is_started_for_the_agent(project: Project, agent: str) -> None:
    listing(project, STRANGE[agent][0])
    assert warning(agent) in project.run("run", "w", "tea", "--agent", agent, "--dry-run").err
    assert "means nothing" not in project.run("start", "w", "tea", "--session", "nobody").err
    project.run("install", agent)
    assert warning(agent) in project.run("start", "w", "tea", "--session", "other").err


def test_a_person_who_starts_it_in_the_agent_is_told(project: Project) -> None:
    listing(project, "apply_patch")
    said = tell(
        "claude",
        {
            "session_id": "C",
            "cwd": str(project.folder),
            "hook_event_name": "UserPromptExpansion",
            "command_name": "workflow",
            "command_args": "w tea",
            "prompt_id": "P1",
        },
    )
    assert "`apply_patch` means nothing to `claude`" in said["systemMessage"]


def test_without_an_installation_all_agents_are_checked(project: Project) -> None:
    listing(project, "Edit")
    (found,) = problems(project)
    assert found["message"] == "`Edit` means nothing to `codex`, `copilot`, `gemini`, `opencode`, `pi`"
    assert problems(project, "--agent", "claude") == []
    assert project.run("validate", "--agent", "clade").err == (
        "error: Handrail cannot be installed into `clade`\nhint: did you mean `claude`?\n"
    )


@pytest.mark.parametrize(
    "names", [("Edit", "edit"), (*VOCABULARY, STEP_TOOL, "mcp:notes/add"), ("mcp__a__b", "mcp:a/b")]
)
def test_a_list_with_names_that_every_agent_understands_has_no_problem(
    project: Project, names: tuple[str, ...]
) -> None:
    listing(project, *names)
    assert problems(project) == []


def test_files_of_pi_workflows_are_checked_only_for_installed_agents(project: Project) -> None:
    project.workflow("w", ["look"], root=".pi/workflows")
    project.phase("w", "look", "tools:\n  whitelist: [read, grep, ls]\n", root=".pi/workflows")
    assert problems(project) == []
    project.run("install", "codex")
    assert [found["message"] for found in problems(project)] == [
        "`grep` means nothing to `codex`", "`ls` means nothing to `codex`"
    ]  # fmt: skip


@pytest.mark.parametrize("agent", AGENTS)
def test_every_word_of_the_vocabulary_is_the_name_of_a_tool_or_the_agent_has_no_such_tool(agent: str) -> None:
    now, former = Registry().tool_names(agent)
    missing = {word for word in VOCABULARY if word not in now | former}
    assert missing == ({"fetch"} if agent == "pi" else set())


@pytest.mark.parametrize(("name", "other"), [("deny", "blacklist"), ("allow", "whitelist")])
def test_both_names_of_a_list_mean_the_same(project: Project, name: str, other: str) -> None:
    verdicts = []
    for written in (name, other):
        project.workflow(written, ["look"])
        project.phase(written, "look", f"tools:\n  {written}: [read]\n")
        shown = project.json("show", written)["stops"][0]
        project.run("start", written, "task", "--replace")
        gates = [project.json("gate", tool) for tool in ("read", "write", "bash")]
        verdicts.append((shown["deny"], shown["allow"], [(gate["allow"], gate["rule"]) for gate in gates]))
    assert verdicts[0] == verdicts[1]
    assert {allow for allow, _ in verdicts[0][2]} == {True, False}
