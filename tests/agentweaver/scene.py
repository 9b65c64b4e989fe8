"""A project for flows of AgentWeaver: loopback services, a fake Go, a repository with a change, a scripted agent."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentweaver.agent import Mood, content, place, stage, write_script
from steps.nodes.repositories import Checkout, isolate
from steps.services.web import Asked, Reply, Web, serve
from support import Project

ISSUE = "ABC-1"
KEY = "abc-1"
"""The scope of all runs: the issue, as scopes are written."""
MERGE_REQUEST = "/group/project/-/merge_requests/7"
GO = "#!/bin/sh\nif [ -e broken ] && [ ! -e fixed ]; then echo 'a.go:1:1: undefined: x'; exit 1; fi\n"
FOREIGN = ".agentweaver/.flows"
ANSWERS = {
    "planning-questions": {"speed": "fast"},
    "instant-task-input": {"task_description": "Keep the order of the items."},
    "task-describe-source-input": {"task_description": "Keep the order of the items."},
    "gitlab-review-input": {"merge_request_url": "{gitlab}"},
    "gitlab-diff-review-input": {"merge_request_url": "{gitlab}"},
    "review-fix-selection": {"apply_all": True},
    "design-review-loop-final-decision": {"decision": "continue"},
    "playbook-clarifications": {"q1": "PostgreSQL"},
    "playbook-final-acceptance": {"final_write_accepted": True},
    "select-files": {"selected_files": ["code.txt"]},
    "commit-message": {"commit_message": "ABC-1: Keep the order"},
}


class Webs(NamedTuple):
    """The services."""

    jira: Web
    gitlab: Web
    telegram: Web


@contextmanager
def services() -> Iterator[Webs]:
    with serve(_jira) as jira, serve(_gitlab) as gitlab, serve(_telegram) as telegram:
        yield Webs(jira, gitlab, telegram)


def _jira(asked: Asked) -> Reply:
    if asked.path.startswith("/file/"):
        return Reply(b"Keep the order.\n", headers={"Content-Type": "text/plain"})
    file = {"id": "1", "filename": "notes.txt", "content": f"http://{asked.headers['host']}/file/1"}
    fields = {"summary": "Wrong order", "issuetype": {"name": "Bug", "subtask": False}, "attachment": [file]}
    return Reply({"key": asked.path.rpartition("/")[2], "fields": fields})


def _gitlab(asked: Asked) -> Reply:
    if asked.path.endswith("/diffs"):
        return Reply([{"old_path": "code.txt", "new_path": "code.txt", "diff": "-1\n+2\n"}])
    if asked.path.endswith("/discussions"):
        note = {"id": 1, "body": "Adds one too many", "system": False, "resolvable": True, "resolved": False}
        return Reply([{"id": "d", "notes": [{**note, "author": {"username": "ada"}, "created_at": "2026-01-01"}]}])
    return Reply({"title": "Order", "description": "", "state": "opened", "author": {"username": "ada"}, "sha": "a"})


def _telegram(asked: Asked) -> Reply:
    return Reply({"ok": True, "result": {"message_id": 1}})


class Scene:
    """The project. `run` runs a flow as a person does."""

    def __init__(self, project: Project, webs: Webs, patch: pytest.MonkeyPatch) -> None:
        self.project = project
        self.webs = webs
        isolate(patch)
        tools = project.folder.parent / "tools"
        tools.mkdir()
        for name in ("go", "golangci-lint"):
            (tools / name).write_text(GO, encoding="utf-8")
            (tools / name).chmod(0o755)
        variables = {
            "JIRA_BASE_URL": webs.jira.url,
            "JIRA_API_KEY": "key",
            "GITLAB_BASE_URL": webs.gitlab.url,
            "GITLAB_TOKEN": "token",
            "TELEGRAM_API_URL": webs.telegram.url,
            "TELEGRAM_BOT_TOKEN": "1:t",
            "TELEGRAM_CHAT_ID": "5",
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        }
        for name, value in variables.items():
            patch.setenv(name, value)
        self.patch = patch
        repository = Checkout(project.folder)
        repository.write(".gitignore", ".agentweaver\n.handrail\nanswers.json\n")
        repository.write("code.txt", "one\n")
        repository.write("go.mod", "module x\n")
        repository.commit()
        repository.write("code.txt", "two\n")
        self.repository = repository
        self.answers = json.loads(json.dumps(ANSWERS).replace("{gitlab}", webs.gitlab.url + MERGE_REQUEST))
        self.agent(Mood())

    def agent(self, mood: Mood) -> None:
        """Let the agent review like this."""
        folder = self.project.folder.parent / "agent"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.patch.setenv(
            "HANDRAIL_SCRIPT", str(write_script(folder, self.project.folder, KEY, partial(content, mood=mood)))
        )

    def answer(self, form: str, **values: Any) -> None:
        """Answer a form like this."""
        self.answers[form] = values

    def flows(self, folder: str) -> None:
        """Take the flows of a folder, unchanged."""
        shutil.copytree(folder, self.project.folder / FOREIGN)

    def wrap(self, name: str) -> str:
        """Write a flow that only runs a hidden one. Returns its id."""
        passed = {param: {"ref": f"params.{param}"} for param in PASSED}
        given = {"fileName": {"const": name}, "labelText": {"const": "hidden"}, **passed}
        step = {"id": "run", "node": "flow-run", "params": given}
        flow = {"kind": "wrapper-flow", "version": 1, "phases": [{"id": "whole", "steps": [step]}]}
        self.project.write(f"{FOREIGN}/wrapper.json", json.dumps(flow))
        return "wrapper"

    def has(self, *kinds: str) -> None:
        """Let the scope have what earlier flows would have made."""
        for kind in kinds:
            if kind == "jira":
                self.project.write(place("jira-task-file", KEY), json.dumps({"key": KEY, "fields": {}}))
            elif kind == "instant-task-input":
                values = {"form_id": kind, "submitted_at": "2026-01-01T00:00:00Z", "values": {"task_description": "x"}}
                self.project.write(place(f"{kind}-json-file", KEY), json.dumps(values))
            else:
                stage(self.project.folder, KEY, (kind,), 1, partial(content, mood=Mood(1, 1)))

    def run(self, flow: str, *argv: str, code: int = 0) -> dict[str, Any]:
        self.project.write("answers.json", json.dumps(self.answers))
        told = ("--scope", KEY, "--agent", "scripted", "--answers", "answers.json")
        return self.project.json("run", flow, *argv, *told, code=code)

    def file(self, kind: str, turn: int = 1) -> Path:
        return self.project.folder / place(kind, KEY, turn)

    @property
    def messages(self) -> list[str]:
        """The texts that were sent to Telegram."""
        return [asked.content["text"] for asked in self.webs.telegram.asked]


PASSED = (
    "taskKey",
    "jiraApiUrl",
    "iteration",
    "baseIteration",
    "workspaceDir",
    "extraPrompt",
    "llmExecutor",
    "llmModel",
    "reviewFixPoints",
    "reviewBlockingSeverities",
    "repromptInstantTaskInput",
    "prefilledInstantTaskInputValues",
)
"""The params that a wrapper passes on."""
