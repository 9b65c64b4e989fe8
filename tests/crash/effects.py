"""One step for every node that changes something outside of Handrail: its params, and the files that it needs."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from steps.nodes.repositories import Checkout
from steps.services.githubs import SHA, GitHub
from steps.services.web import Asked, Reply

KEY = "crash"
SCOPE = f".agentweaver/scopes/{KEY}"
FINDING = {"severity": "high", "title": "Wrong", "description": "It is wrong."}
REVIEW = {"summary": "One finding.", "ready_to_merge": False, "findings": [FINDING]}
STATUS = {"files": [{"xy": " M", "file": "kept.txt", "type": "modified"}]}
QUESTION = {"id": "q", "text": "Why?", "rationale": "r", "candidate_ids": [], "answer_kind": "text",
            "evidence_paths": ["a"]}  # fmt: skip
RULE = {"id": "r", "title": "Small steps", "rule": "Commit often.", "evidence_paths": ["kept.txt"]}
DRAFT = {
    "summary": "A project.",
    "generated_at": "now",
    "accepted_rules": [RULE],
    "candidate_rules": [],
    "unresolved_questions": [],
    "evidence_paths": ["a"],
    "proposed_files": ["manifest.yaml", "project.md"],
}
ACCEPTED = {"summary": "Yes.", "answered_at": "now", "answers": [], "final_write_accepted": True}
COMMENT = {"id": 1, "body": "Why?", "system": False, "resolvable": True, "resolved": False,
           "author": {"username": "ada"}, "created_at": "2026-01-01"}  # fmt: skip
COMMENTS = {"summary": "s", "merge_request_url": "u", "project_path": "p", "merge_request_iid": 1,
            "fetched_at": "now", "comments": [{"id": "1", "discussion_id": "d", "body": "Why?", "author": "ada",
            "created_at": "now", "file_path": "a"}]}  # fmt: skip
ANSWERS = {
    "ask": {"why": "because"},
    "files": {"selected_files": ["kept.txt"]},
    "message": {"commit_message": "Second"},
    "both": {"selected_files": ["kept.txt"], "commit_message": "Second", "confirm": True},
    "clear": {"q": "because"},
    "propose": {"approved": True},
    "approve": {"approved": True},
}
JSON_FILES = {
    f"{SCOPE}/.artifacts/review-{KEY}-1.json": REVIEW,
    f"{SCOPE}/.artifacts/review-{KEY}-2.json": {**REVIEW, "findings": []},
    "in/status.json": STATUS,
    "in/message.json": {"subject": "First"},
    "in/questions.json": {"summary": "s", "questions": [QUESTION]},
    "in/draft.json": DRAFT,
    "in/accepted.json": ACCEPTED,
    "in/comments.json": COMMENTS,
    "in/task.json": {"title": "Order", "source_type": "manual"},
}
TEXT_FILES = {
    f"{SCOPE}/ready-to-merge.md": "old\n",
    "in/notes.md": "# Notes\n\nKeep the order.\n",
    "kept.txt": "one\n",
    ".gitignore": "/.handrail\n/.agentweaver\n/in\n/out\n",
}


class Effect(NamedTuple):
    """A node and its params. `{jira}` and `{gitlab}` in them are the addresses of the services.

    `before` are the steps that come before it.
    """

    node: str
    params: dict[str, Any]
    before: tuple[dict[str, Any], ...] = ()

    @property
    def name(self) -> str:
        given = (str(self.params[key]) for key in ("iteration", "effect", "action") if key in self.params)
        return " ".join([self.node, *given])


def _form(id_: str, **more: Any) -> dict[str, Any]:
    return {"formId": id_, "title": "T", "outputFile": "out/answers.json", **more}


GITLAB = {
    "mergeRequestUrl": "{gitlab}/g/p/-/merge_requests/7",
    "outputFile": "out/m.md",
    "outputJsonFile": "out/m.json",
}
GITHUB = {"outputFile": "out/h.md", "outputJsonFile": "out/h.json"}
REVIEW = {"reviewFile": "out/r.md", "reviewJsonFile": "out/r.json"}
PULL = {"pullRequestUrl": "octo/tea#7", **GITHUB}
SIDE = {"id": "side", "node": "command", "params": {"argv": ["git", "branch", "-f", "side"]}, "rerun": "safe"}
APART = {"id": "apart", "node": "git-worktree", "params": {"branch": "tea", "base": "side"}}
PATH = {"ref": "steps.a.apart.value.path"}
COMMITS = {
    "id": "work",
    "node": "command",
    "params": {
        "argv": ["git", "-c", "user.name=A", "-c", "user.email=a@x", "commit", "-q", "--allow-empty", "-m", "tea"],
        "cwd": PATH,
    },
    "rerun": "safe",
}
EFFECTS = [
    Effect("git-commit", {"message": "Second", "files": ["kept.txt"]}),
    Effect("git-worktree", {"action": "create", "branch": "tea", "setup": [["touch", "ready"]]}),
    Effect("git-worktree", {"action": "merge"}, (SIDE, APART, COMMITS)),
    Effect("git-worktree", {"action": "remove"}, (SIDE, APART)),
    Effect("telegram-notify", {"message": "hello"}),
    Effect("propose", {"effect": "git-commit", "params": {"message": "Second", "files": ["kept.txt"]}}),
    Effect("approve", {"question": "Go on?", "files": ["kept.txt"]}),
    Effect("clear-ready-to-merge", {"taskKey": KEY}),
    Effect("write-file", {"path": "out/new.md", "text": "hi"}),
    Effect("review-verdict", {"taskKey": KEY, "iteration": 1}),
    Effect("review-verdict", {"taskKey": KEY, "iteration": 2}),
    Effect(
        "write-selection-file",
        {
            "outputFile": "out/selection.json",
            "reviewFindingsJsonFile": f"{SCOPE}/.artifacts/review-{KEY}-1.json",
            "selectionMode": "auto-blocking-severities",
        },
    ),
    Effect("ensure-summary-json", {"markdownFile": "in/notes.md", "outputFile": "out/summary.json"}),
    Effect("git-status", {"outputFile": "out/status.json", "diffOutputFile": "out/diff.txt"}),
    Effect("local-script-check", {"argv": ["sh", "-c", "echo bad; exit 3"], "outputFile": "out/r.json"}),
    Effect("user-input", _form("ask", fields=[{"id": "why", "type": "text", "label": "Why"}])),
    Effect("select-files-form", _form("files", gitStatusJsonFile="in/status.json")),
    Effect("commit-message-form", _form("message", commitMessageFile="in/message.json")),
    Effect("git-commit-form", _form("both", gitStatusJsonFile="in/status.json", commitMessageFile="in/message.json")),
    Effect(
        "jira-fetch",
        {
            "jiraApiUrl": "{jira}/rest/api/2/issue/ABC-1",
            "outputFile": "out/i.json",
            "attachmentsManifestFile": "out/m.json",
            "attachmentsContextFile": "out/c.txt",
        },
    ),
    Effect("github-issue", {"issue": "octo/tea#7", **GITHUB}),
    Effect("github-pr-diff", PULL),
    Effect("github-reviews", {**PULL, **REVIEW}),
    Effect("github-checks", PULL),
    Effect("change-checks", {"change": "octo/tea#7", **GITHUB}),
    Effect("change-reviews", {"change": "octo/tea#7", **GITHUB, **REVIEW}),
    Effect("gitlab-checks", GITLAB),
    Effect("gitlab-reviews", {**GITLAB, **REVIEW}),
    Effect("fetch-gitlab-diff", GITLAB),
    Effect(
        "gitlab-issue", {"issue": "{gitlab}/g/p/-/issues/7", "outputFile": "out/m.md", "outputJsonFile": "out/m.json"}
    ),
    Effect("fetch-gitlab-review", GITLAB),
    Effect(
        "gitlab-review-artifacts",
        {"gitlabReviewJsonFile": "in/comments.json", "reviewFile": "out/r.md", "reviewJsonFile": "out/r.json"},
    ),
    Effect("playbook-ensure", {"writeResultJsonFile": "out/result.json"}),
    Effect("playbook-inventory", {"outputJsonFile": "out/i.json", "outputFile": "out/i.md"}),
    Effect(
        "playbook-questions-form",
        {
            "questionsJsonFile": "in/questions.json",
            "answersJsonFile": "out/answers.json",
            "formId": "clear",
            "title": "T",
        },
    ),
    Effect(
        "playbook-write",
        {
            "draftJsonFile": "in/draft.json",
            "answersJsonFile": "in/accepted.json",
            "writeResultJsonFile": "out/result.json",
        },
    ),
    Effect(
        "project-guidance",
        {
            "taskContextJsonFile": "in/task.json",
            "phase": "plan",
            "outputJsonFile": "out/g.json",
            "outputFile": "out/g.md",
        },
    ),
]


def lay_out(checkout: Checkout) -> None:
    """Write the files that the steps need, and change one that is committed."""
    for name, text in {**TEXT_FILES, **{name: json.dumps(data) for name, data in JSON_FILES.items()}}.items():
        checkout.write(name, text)
    checkout.commit()
    checkout.write("kept.txt", "two\n")


def jira(asked: Asked) -> Reply:
    if asked.path.startswith("/file/"):
        return Reply(b"Keep the order.\n")
    file = {"id": "1", "filename": "a.md", "content": f"http://{asked.headers['host']}/file/1"}
    kind = {"name": "Sub-task", "subtask": asked.path.endswith("ABC-1")}
    return Reply({"key": "ABC-1", "fields": {"issuetype": kind, "parent": {"key": "ABC-7"}, "attachment": [file]}})


def gitlab(asked: Asked) -> Reply:
    if asked.path.endswith("/diffs"):
        return Reply([{"old_path": "a", "new_path": "a", "diff": "-1\n+2\n"}])
    if asked.path.endswith("/discussions"):
        return Reply([{"id": "d", "notes": [COMMENT]}])
    if asked.path.endswith("/statuses"):
        return Reply([{"id": 1, "name": "build", "status": "success"}])
    if asked.path.endswith("/notes"):
        return Reply([COMMENT])
    return Reply({"title": "T", "description": "", "state": "opened", "author": {"username": "ada"}, "sha": "a"})


def forge() -> GitHub:
    """A GitHub with one pull request, which is an issue, too."""
    made, when, user = GitHub(), "2026-01-01T00:00:00Z", {"login": "ada"}
    about = {"title": "Tea", "body": "why", "user": user, "created_at": when, "updated_at": when}
    head = {"ref": "fast", "sha": SHA, "user": user}
    remark = {"id": 1, "body": "no", "user": user, "created_at": when}
    made.objects["issues/7"] = {**about, "state": "open", "labels": [], "assignees": []}
    made.objects["pulls/7"] = {**about, "number": 7, "state": "open", "head": head, "base": {"ref": "main"}}
    made.lists["issues/7/comments"] = [remark]
    made.lists["pulls/7/files"] = [{"filename": "a", "status": "modified", "patch": "-1\n+2"}]
    made.lists["pulls/7/reviews"] = [{**remark, "state": "COMMENTED", "submitted_at": when}]
    made.lists["pulls/7/comments"] = []
    made.lists[f"commits/{SHA}/check-runs"] = []
    made.lists[f"commits/{SHA}/status"] = [{"context": "build", "state": "success"}]
    return made


def telegram(asked: Asked) -> Reply:
    del asked
    return Reply({"ok": True, "result": {"message_id": 42}})
