"""The cases use every shape of AgentWeaver's language: nodes, values, conditions, prompts, expectations, params."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.extensions.registry import Registry

CASES = Path(__file__).parent / "cases"
FILES = sorted(CASES.rglob("*.json"))
NODES = {
    "build-failure-summary", "build-review-fix-prompt", "clear-ready-to-merge", "codex-prompt", "command-check",
    "commit-message-form", "design-review-verdict", "ensure-summary-json", "fetch-gitlab-diff", "fetch-gitlab-review",
    "file-check", "flow-run", "git-commit", "git-commit-form", "git-status", "gitlab-review-artifacts", "jira-context",
    "jira-fetch", "jira-issue-check", "llm-prompt", "local-script-check", "opencode-prompt", "plan-codex",
    "planning-bundle", "planning-questions-form", "playbook-ensure", "playbook-inventory", "playbook-questions-form",
    "playbook-write", "project-guidance", "read-file", "review-findings-form", "review-verdict", "select-files-form",
    "structured-summary", "summary-file-load", "telegram-notify", "user-input", "write-selection-file",
}  # fmt: skip
VALUES = {"const", "ref", "artifact", "artifactList", "template", "appendPrompt", "add", "concat", "list"}
CONDITIONS = {"ref", "not", "all", "any", "equals", "exists"}
GROUPS = {"planning", "design-review", "implementation", "review", "repair-loop", "local-fix-loop"}
EXPECTED = {"require-artifacts", "require-structured-artifacts", "require-file", "step-output"}
PARAMS = (
    "taskKey", "scopeKey", "jiraRef", "jiraBrowseUrl", "jiraApiUrl", "jiraTaskFile", "workspaceDir", "extraPrompt",
    "reviewFixPoints", "reviewBlockingSeverities", "mdLang", "llmExecutor", "llmModel", "projectGuidanceFile",
    "projectGuidanceJsonFile", "repairProjectGuidanceFile", "repairProjectGuidanceJsonFile", "launchProfile",
    "executionRouting", "iteration", "baseIteration", "designReviewBaseIteration", "latestIteration",
    "taskContextIteration", "taskSummaryIteration", "designIteration", "planIteration", "qaIteration", "forceRefresh",
)  # fmt: skip
"""In the order in which the case `given` tells them."""


def members(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a JSON value."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from members(item)


FOUND = [member for file in FILES for member in members(json.loads(file.read_text(encoding="utf-8")))]
STEPS = [member for member in FOUND if "node" in member]


def test_every_node() -> None:
    assert (len(NODES), {step["node"] for step in STEPS}) == (39, NODES)
    assert Registry().nodes().keys() >= NODES


def test_every_form_of_a_value_as_a_param() -> None:
    assert {next(iter(value)) for step in STEPS for value in step["params"].values()} == VALUES


def test_every_condition() -> None:
    conditions = [member[name] for member in FOUND for name in ("when", "stopFlowIf") if name in member]
    inner = [member for condition in conditions for member in members(condition)]
    assert {name for member in inner for name in member} >= CONDITIONS
    assert any("ref" in condition for condition in conditions)


@pytest.mark.parametrize("where", ["phase", "step", "expectation", "action"])
def test_conditions_of_everything(where: str) -> None:
    is_there = {"phase": "steps", "step": "node", "expectation": "message", "action": "path"}
    assert any("when" in member and is_there[where] in member for member in FOUND)


def test_every_kind_of_expectation_action_and_end() -> None:
    assert {item["kind"] for step in STEPS for item in step.get("expect", ())} == EXPECTED
    assert [] in [step.get("expect") for step in STEPS], "an empty list switches the checks of the node off"
    assert {item["kind"] for step in STEPS for item in step.get("after", ())} == {"set-summary-from-file"}
    ends = {step.get("stopFlowOutcome") for step in STEPS if "stopFlowIf" in step}
    assert ends == {None, "success", "stopped"}


def test_every_form_of_a_prompt() -> None:
    prompts = [step["prompt"] for step in STEPS if "prompt" in step]
    sources = {tuple(sorted({"templateRef", "inlineTemplate"} & prompt.keys())) for prompt in prompts}
    assert sources == {("templateRef",), ("inlineTemplate",), ("inlineTemplate", "templateRef")}
    assert {prompt.get("format") for prompt in prompts} == {None, "plain", "task-prompt"}
    extras = {next(iter(prompt["extraPrompt"])) for prompt in prompts if "extraPrompt" in prompt}
    assert extras >= {"ref", "const", "appendPrompt"}
    assert {step["routingGroup"] for step in STEPS if "routingGroup" in step} == GROUPS


def test_every_param_that_a_flow_gets() -> None:
    names = {parts[1] for member in FOUND if (parts := str(member.get("ref")).split("."))[0] == "params"}
    assert (len(PARAMS), set(PARAMS) - names) == (29, set())


def test_flows_in_flows_and_rounds() -> None:
    names = {step["params"]["fileName"]["const"] for step in STEPS if step["node"] == "flow-run"}
    assert names == {file.name for file in FILES if file.parent != CASES}
    variables = {member["repeat"]["var"] for member in FOUND if "repeat" in member}
    references = {str(member["ref"]) for member in FOUND if "ref" in member}
    assert {f"repeat.{name}" for name in variables} <= references
    assert any(reference.startswith("steps.") and "${" in reference for reference in references)
