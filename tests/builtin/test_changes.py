"""Flows around a change: its ticket, its description, and the review of somebody else's change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentweaver.agent import Mood, content, place
from builtin.forge import Forge
from builtin.gitlabs import GitLab
from builtin.projects import PYTHON
from builtin.shop import APPROVED, KEY, Shop
from steps.services.web import Asked, Reply, serve
from support import Project


@pytest.fixture
def shop(project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch) -> Shop:
    forge.objects["issues/12"] = {"number": 12, "title": "Slugs", "body": "Make slugs.", "state": "open"}
    forge.said(12)
    forge.lists["pulls"] = [forge.pull(1, "octo:other", "main", title="Slugs", body="Why not", draft=False)]
    return Shop(project, forge, monkeypatch, PYTHON.files)


def files_of(kind: str) -> dict[str, str]:
    """The files of a kind, as the agent writes them."""
    data, mood = content(kind, 1, Mood(bad_reviews=1)), f"# {kind}\n"
    return {place(f"{kind}-json-file", KEY): json.dumps(data), place(f"{kind}-file", KEY): mood}


def dying(shop: Shop, words: str, kind: str) -> None:
    """Let the agent write the files of a kind and kill Handrail at its first prompt with these words."""
    shop.agent({words: files_of(kind)}, Mood(bad_reviews=1), dies_at=words)


def ends_well(shop: Shop, run: str) -> dict[str, Any]:
    ended = shop.resume(run)
    assert (ended["status"], ended["outcome"]) == ("completed", "success"), ended
    shop.assert_valid()
    return ended


def key_of(ended: dict[str, Any]) -> Any:
    """The short name of the ticket, which the branch gets."""
    return ended["phases"][-1]["steps"][-1]["value"]["key"]


@pytest.mark.whole
def test_an_issue_of_github_becomes_a_task(shop: Shop) -> None:
    dying(shop, "Turn an issue of GitHub or GitLab", "task-context")
    assert key_of(ends_well(shop, shop.run_and_die("from-ticket", "octo/tea#12"))) == "tea-12"
    data = json.loads(shop.file("ticket-json-file").read_text())
    assert data["issue"]["title"] == "Slugs"
    assert shop.file("task-context-json-file").is_file()
    assert not shop.file("task-context-json-file", 2).exists()


@pytest.mark.whole
def test_an_issue_of_gitlab_becomes_a_task(shop: Shop, gitlab: GitLab) -> None:
    dying(shop, "Turn an issue of GitHub or GitLab", "task-context")
    assert key_of(ends_well(shop, shop.run_and_die("from-ticket", gitlab.page("issues/12")))) == "tea-12"
    assert json.loads(shop.file("ticket-json-file").read_text())["project_path"] == "group/tea"


@pytest.mark.whole
@pytest.mark.parametrize("forge_of", ["github", "gitlab"])
def test_a_plan_reads_the_issue_that_is_its_task(shop: Shop, gitlab: GitLab, forge_of: str) -> None:
    task = "octo/tea#12" if forge_of == "github" else gitlab.page("issues/12")
    shop.agent({"Turn an issue of GitHub or GitLab": files_of("task-context")}, Mood())
    ended = shop.run("plan", task)
    assert (ended["status"], ended["outcome"]) == ("completed", "success"), ended
    assert json.loads(shop.file("ticket-json-file").read_text())["issue"]["title"]
    assert not shop.file("instant-task-input-json-file").exists()
    assert shop.file("plan-json-file").is_file()
    assert not shop.file("task-context-json-file", 2).exists()
    shop.assert_valid()


@pytest.mark.whole
def test_an_issue_of_jira_becomes_a_task(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def jira(asked: Asked) -> Reply:
        return Reply({"key": "ABC-1", "fields": {"summary": "Order", "issuetype": {"name": "Bug"}, "attachment": []}})

    with serve(jira) as web:
        monkeypatch.setenv("JIRA_BASE_URL", web.url)
        monkeypatch.setenv("JIRA_API_KEY", "key")
        dying(shop, "Turn a Jira issue", "task-context")
        ended = ends_well(shop, shop.run_and_die("from-ticket", f"{web.url}/browse/ABC-1"))
    assert key_of(ended) == "ABC-1"
    assert shop.file("jira-task-file").is_file()


@pytest.mark.whole
def test_words_become_a_task_also_if_there_is_an_older_ticket(shop: Shop) -> None:
    shop.project.write(place("jira-task-file", KEY), "{}")
    shop.project.write(place("ticket-json-file", KEY), "{}")
    dying(shop, "Turn what a person", "task-context")
    assert key_of(ends_well(shop, shop.run_and_die("from-ticket", "Keep", "the", "order"))) is None
    data = json.loads(shop.file("instant-task-input-json-file").read_text())
    assert data["values"]["task_description"] == "Keep the order"


def test_the_scope_and_the_branch_of_a_ticket_have_its_name(shop: Shop) -> None:
    said = shop.project.run("run", "from-ticket", "octo/tea#12", "--agent", "scripted", "--dry-run").out
    assert "of tea-12@" in said


@pytest.mark.whole
def test_a_change_is_described(shop: Shop) -> None:
    shop.checkout.write("README.md", "# More\n")
    dying(shop, "Write the title and the text of a pull or merge request", "mr-description")
    ends_well(shop, shop.run_and_die("describe-change"))
    assert json.loads(shop.file("mr-description-json-file").read_text())["title"] == "Keep the order of the items"


@pytest.mark.whole
def test_a_pull_request_is_reviewed_and_the_comment_written_once(shop: Shop, forge: Forge) -> None:
    shop.agent({"Review a change that somebody proposes.": files_of("review")}, Mood())
    forge.say(1, "I like it")
    run = shop.run_and_die("review-change", "octo/tea#1", *APPROVED, at="POST issues/1/comments")
    ends_well(shop, run)
    assert [comment["body"].split("\n")[0] for comment in forge.said(1)] == ["I like it", "# review"]
    assert "I like it" in (shop.project.folder / f".agentweaver/scopes/{KEY}/discussion-{KEY}-1.md").read_text()


@pytest.mark.whole
def test_a_merge_request_is_reviewed_and_the_comment_written_once(shop: Shop, gitlab: GitLab) -> None:
    shop.agent({"Review a change that somebody proposes.": files_of("review")}, Mood())
    run = shop.run_and_die("review-change", gitlab.page("merge_requests/7"), *APPROVED, killer=gitlab)
    ends_well(shop, run)
    assert [note["body"].split("\n")[0] for note in gitlab.notes] == ["# review"]


def test_a_review_is_kept_if_a_person_wants_no_comment(shop: Shop, forge: Forge) -> None:
    shop.agent({"Review a change that somebody proposes.": files_of("review")}, Mood())
    shop.answers["propose"] = {"approved": False}
    assert shop.run("review-change", "octo/tea#1")["outcome"] == "success"
    assert (forge.said(1), shop.file("review-json-file").is_file()) == ([], True)
