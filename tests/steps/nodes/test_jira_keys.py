"""Which files of `jira-fetch` are published, and under which keys."""

from __future__ import annotations

import pytest

from steps.nodes.single import as_flow
from steps.services.web import Asked, Reply, serve
from support import Project

KEY = "t-1"
SCOPE = f".agentweaver/scopes/{KEY}"
NAMES = {
    "outputFile": f".artifacts/{KEY}.json",
    "attachmentsManifestFile": f".artifacts/jira-attachments-{KEY}.json",
    "attachmentsContextFile": f"jira-attachments-context-{KEY}.txt",
}


def jira(asked: Asked) -> Reply:
    kind = {"name": "Sub-task", "subtask": asked.path.endswith("ABC-1")}
    return Reply({"key": "ABC-1", "fields": {"issuetype": kind, "parent": {"key": "ABC-7"}}})


def published(project: Project, patch: pytest.MonkeyPatch, issue: str, files: dict[str, str]) -> dict[str, str]:
    """The keys of the published files, and their schemas."""
    with serve(jira) as web:
        patch.setenv("JIRA_BASE_URL", web.url)
        patch.setenv("JIRA_API_KEY", "key")
        as_flow(project, "jira-fetch", jiraApiUrl=f"{web.url}/rest/api/2/issue/{issue}", **files)
    return {item["name"]: item["schema"] for item in project.json("artifacts", "last")["artifacts"]}


def test_a_subtask_is_published_with_its_parent(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {name: f"{SCOPE}/{file}" for name, file in NAMES.items()}
    keys = {
        "artifacts/jira-task.json": "helper-json/v1",
        "artifacts/jira-task-enriched.json": "helper-json/v1",
        "artifacts/jira-attachments.json": "helper-json/v1",
        "jira-attachments-context.txt": "plain-text/v1",
    }
    assert published(project, monkeypatch, "ABC-1", files) == keys
    assert published(project, monkeypatch, "ABC-2", files).keys() == keys.keys() - {"artifacts/jira-task-enriched.json"}


def test_files_outside_of_the_scope_have_their_paths_as_keys(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    found = published(project, monkeypatch, "ABC-1", {"outputFile": "notes/issue.json"})
    assert found.keys() == {"notes/issue.json", "notes/issue-enriched.json"}
