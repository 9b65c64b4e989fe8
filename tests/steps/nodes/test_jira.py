"""Jira: what a reference means, what is fetched and written, and where the credentials go."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steps.nodes.steps import failed, files_in, step
from steps.services.web import Asked, Reply, Web, serve
from support import Project

KEY = "jira-s3cret-key"
ALL = {
    "outputFile": "s/.artifacts/ABC-1.json",
    "attachmentsManifestFile": "s/.artifacts/jira-attachments-ABC-1.json",
    "attachmentsContextFile": "s/jira-attachments-context-ABC-1.txt",
}


def issue(**fields: Any) -> dict[str, Any]:
    return {"key": "ABC-1", "fields": {"summary": "Ёж", "issuetype": {"name": "Bug", "subtask": False}, **fields}}


def attachment(web_url: str, id_: int, name: str, **more: Any) -> dict[str, Any]:
    at = f"{web_url}/secure/attachment/{id_}/x"
    return {"id": str(id_), "filename": name, "mimeType": "application/octet-stream", "content": at, **more}


def env(web: Web, **more: str) -> dict[str, str]:
    return {"JIRA_BASE_URL": web.url, "JIRA_API_KEY": KEY, **more}


def api(web: Web, key: str = "ABC-1") -> dict[str, str]:
    return {"jiraApiUrl": f"{web.url}/rest/api/2/issue/{key}"}


def site(found: Callable[[], dict[str, Any]], files: dict[str, bytes] | None = None) -> Callable[[Asked], Reply]:
    """A Jira with one issue and the content of its attachments, by their ids."""

    def answer(asked: Asked) -> Reply:
        parts = asked.path.split("/")
        if "attachment" in parts:
            content = (files or {}).get(parts[-2])
            return Reply(content) if content is not None else Reply({"errorMessages": ["gone"]}, 404)
        return Reply(found())

    return answer


BASE = {"JIRA_BASE_URL": "https://jira.example/jira/"}


@pytest.mark.parametrize(
    ("reference", "variables", "key", "page"),
    [
        ("ABC-12", BASE, "ABC-12", "https://jira.example/jira/browse/ABC-12"),
        (" abc_2-12 ", BASE, "ABC_2-12", "https://jira.example/jira/browse/ABC_2-12"),
        (
            "https://jira.example/jira/browse/ABC-12?focused=1",
            BASE,
            "ABC-12",
            "https://jira.example/jira/browse/ABC-12",
        ),
        ("https://x.atlassian.net/browse/ABC-12/", {}, "ABC-12", "https://x.atlassian.net/browse/ABC-12"),
        ("https://h/jira/browse/ABC-12", {}, "ABC-12", "https://h/jira/browse/ABC-12"),
        ("https://h/jira/software/projects/ABC/issues/ABC-12", {}, "ABC-12", None),
        ("https://h/jira/boards/4?selectedIssue=ABC-12", {}, "ABC-12", "https://h/browse/ABC-12"),
    ],
)
def test_a_reference_to_an_issue(
    tmp_path: Path, reference: str, variables: dict[str, str], key: str, page: str | None
) -> None:
    value = step("jira-context", {"jiraRef": reference}, tmp_path, variables)
    assert (value["jiraRef"], value["jiraIssueKey"]) == (reference, key)
    assert page is None or value["jiraBrowseUrl"] == page
    assert value["jiraApiUrl"] == value["jiraBrowseUrl"].replace("/browse/", "/rest/api/2/issue/")


@pytest.mark.parametrize(
    ("reference", "variables", "code"),
    [
        ("ABC-12", {}, "service-config"),
        ("ABC", BASE, "issue-reference"),
        ("ABC-12/../x", BASE, "issue-reference"),
        ("https://jira.example/browse/", BASE, "issue-reference"),
        ("https://[/browse/ABC-1", BASE, "issue-reference"),
        ("file:///browse/ABC-1", BASE, "issue-reference"),
        ("https://evil.example/browse/ABC-12", BASE, "service-host"),
        ("http://jira.example/browse/ABC-12", BASE, "service-host"),
        ("https://u:p@h/browse/ABC-12", {}, "service-address"),
        ("ABC-12", {"JIRA_BASE_URL": "jira.example"}, "service-address"),
    ],
)
def test_a_reference_that_is_refused(tmp_path: Path, reference: str, variables: dict[str, str], code: str) -> None:
    error = failed("jira-context", {"jiraRef": reference}, tmp_path, variables)
    assert (error.code, error.transient) == (code, False)


def test_an_issue_is_saved_byte_for_byte(tmp_path: Path) -> None:
    body = '{"key":"ABC-1",  "fields":{"summary":"Ёж","points":1.10}}\n'.encode()
    with serve(lambda _: Reply(body)) as web:
        value = step("jira-fetch", {**api(web), "outputFile": "deep/issue.json"}, tmp_path, env(web))
    assert (tmp_path / "deep/issue.json").read_bytes() == body
    assert files_in(tmp_path) == ["deep/issue.json"]
    assert value == {
        "outputFile": "deep/issue.json",
        "attachmentsManifestFile": None,
        "attachmentsContextFile": None,
        "downloadedAttachments": 0,
        "planningContextAttachments": 0,
        "enrichedFile": None,
    }
    assert [asked.path for asked in web.asked] == ["/rest/api/2/issue/ABC-1"]


BASIC = f"Basic {base64.b64encode(f'me@x.example:{KEY}'.encode()).decode()}"


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        ({}, f"Bearer {KEY}"),
        ({"JIRA_USERNAME": "me@x.example"}, f"Bearer {KEY}"),
        ({"JIRA_AUTH_MODE": "Basic", "JIRA_USERNAME": "me@x.example"}, BASIC),
        ({"JIRA_AUTH_MODE": "bearer", "JIRA_API_KEY": f" {KEY}\n"}, f"Bearer {KEY}"),
    ],
)
def test_how_the_credentials_are_sent(tmp_path: Path, variables: dict[str, str], sent: str) -> None:
    with serve(site(issue)) as web:
        step("jira-fetch", {**api(web), "outputFile": "i.json"}, tmp_path, env(web, **variables))
    assert web.asked[0].headers["authorization"] == sent


def test_the_cloud_gets_a_user_and_a_token_through_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(site(issue)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        base = {"JIRA_BASE_URL": "http://team.atlassian.example", "JIRA_API_KEY": KEY, "JIRA_USERNAME": "me@x.example"}
        at = {"jiraApiUrl": "http://team.atlassian.example/rest/api/2/issue/ABC-1", "outputFile": "i.json"}
        step("jira-fetch", at, tmp_path, base)
    assert (proxy.asked[0].headers["host"], proxy.asked[0].headers["authorization"]) == (
        "team.atlassian.example",
        BASIC,
    )


@pytest.mark.parametrize(
    ("variables", "code", "word"),
    [
        ({"JIRA_BASE_URL": ""}, "service-config", "JIRA_BASE_URL"),
        ({"JIRA_API_KEY": " "}, "service-config", "JIRA_API_KEY"),
        ({"JIRA_API_KEY": "clé\n1"}, "service-config", "JIRA_API_KEY"),
        ({"JIRA_AUTH_MODE": "kerberos"}, "service-config", "kerberos"),
        ({"JIRA_AUTH_MODE": "basic"}, "service-config", "JIRA_USERNAME"),
        ({"JIRA_BASE_URL": "https://other.example"}, "service-host", "configured host"),
    ],
)
def test_variables_that_are_missing_or_wrong(tmp_path: Path, variables: dict[str, str], code: str, word: str) -> None:
    with serve(site(issue)) as web:
        error = failed("jira-fetch", {**api(web), "outputFile": "i.json"}, tmp_path, {**env(web), **variables})
    assert (error.code, error.transient, web.asked, files_in(tmp_path)) == (code, False, [], [])
    assert word in error.message
    assert "clé" not in error.message


def test_attachments_that_are_text(tmp_path: Path) -> None:
    def found() -> dict[str, Any]:
        return issue(
            attachment=[
                attachment(web.url, 1, "note.md", size=5, created="2026-01-01"),
                attachment(web.url, 2, "photo.png"),
                attachment(web.url, 3, "../../etc/старый план.TXT"),
                attachment(web.url, 4, "old.doc"),
                attachment(web.url, 5, "README", mimeType="text/plain"),
                attachment(web.url, 6, "gone.txt"),
                attachment(web.url, 7, "broken.log"),
                attachment(web.url, 8, "wide.csv"),
            ]
        )

    files = {
        "1": b"# Hi\n",
        "3": "план".encode(),
        "4": b"\xd0\xcf\x11\xe0",
        "5": b"read me",
        "7": b"\xff\xffx",
        "8": "a;b".encode("utf-16"),
    }
    with serve(site(found, files)) as web:
        value = step("jira-fetch", {**api(web), **ALL}, tmp_path, env(web))
    manifest = json.loads((tmp_path / ALL["attachmentsManifestFile"]).read_text(encoding="utf-8"))
    saved = {
        item["fileName"]: (item["savedPath"], item["includedInPlanningContext"]) for item in manifest["attachments"]
    }
    folder = "s/.artifacts/jira-attachments"
    assert saved == {
        "note.md": (f"{folder}/001-note.md", True),
        "../../etc/старый план.TXT": (f"{folder}/002-старый-план.TXT", True),
        "old.doc": (f"{folder}/003-old.doc", False),
        "README": (f"{folder}/004-README", True),
        "broken.log": (f"{folder}/005-broken.log", False),
        "wide.csv": (f"{folder}/006-wide.csv", True),
    }
    assert [(item["fileName"], item["reason"]) for item in manifest["skipped"]] == [
        ("photo.png", "its kind is not read as text"),
        (
            "gone.txt",
            "Jira: it answers with 404: gone; does the issue exist, and may the account of JIRA_API_KEY see it?",
        ),
    ]
    assert manifest["summary"] == {"downloadedCount": 6, "planningContextCount": 4, "skippedCount": 2}
    assert manifest["attachments"][0] | {"savedPath": ""} == {
        "id": "1",
        "fileName": "note.md",
        "extension": ".md",
        "mimeType": "application/octet-stream",
        "sizeBytes": 5,
        "createdAt": "2026-01-01",
        "downloadUrl": f"{web.url}/secure/attachment/1/x",
        "savedPath": "",
        "includedInPlanningContext": True,
    }
    assert (tmp_path / folder / "003-old.doc").read_bytes() == files["4"]
    context = (tmp_path / ALL["attachmentsContextFile"]).read_text(encoding="utf-8")
    assert context.startswith("=== Attachment: note.md ===\n# Hi\n\n=== Attachment: ")
    assert "=== Attachment: wide.csv ===\na;b\n" in context
    assert (value["downloadedAttachments"], value["planningContextAttachments"]) == (6, 4)


def test_no_attachment_at_all(tmp_path: Path) -> None:
    with serve(site(issue)) as web:
        step("jira-fetch", {**api(web), **ALL}, tmp_path, env(web))
    assert (tmp_path / ALL["attachmentsContextFile"]).read_text() == "No attachment of this issue is text.\n"
    assert json.loads((tmp_path / ALL["attachmentsManifestFile"]).read_text())["attachments"] == []


def test_an_attachment_on_another_host_is_not_fetched(tmp_path: Path) -> None:
    with (
        serve(lambda _: Reply(b"stolen")) as other,
        serve(site(lambda: issue(attachment=[attachment(other.url, 1, "a.txt")]))) as web,
    ):
        step("jira-fetch", {**api(web), **ALL}, tmp_path, env(web))
    manifest = json.loads((tmp_path / ALL["attachmentsManifestFile"]).read_text())
    assert manifest["skipped"][0]["reason"] == "its address is not on the host of JIRA_BASE_URL"
    assert (other.asked, manifest["attachments"]) == ([], [])


def test_an_attachment_that_is_stored_elsewhere_is_fetched_without_credentials(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Reply:
        if "attachment" in asked.path:
            return Reply("", 303, {"Location": f"{other.url}/media"})
        return Reply(issue(attachment=[attachment(web.url, 1, "a.txt")]))

    with serve(lambda _: Reply(b"text")) as other, serve(answer) as web:
        assert step("jira-fetch", {**api(web), **ALL}, tmp_path, env(web))["downloadedAttachments"] == 1
    assert not {"authorization", "cookie"} & other.asked[0].headers.keys()


def test_large_and_many_attachments_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handrail.steps.services.jira.LARGEST_FILE", 100)
    monkeypatch.setattr("handrail.steps.services.jira.LARGEST_TOTAL", 150)
    monkeypatch.setattr("handrail.steps.services.jira.MOST_FILES", 3)
    sizes = {"1": 90, "2": 101, "3": 101, "4": 70, "5": 50, "6": 1, "7": 1}

    def found() -> dict[str, Any]:
        given = [attachment(web.url, int(id_), f"{id_}.txt", size=size) for id_, size in sizes.items()]
        del given[2]["size"]
        return issue(attachment=given)

    with serve(site(found, {id_: b"x" * size for id_, size in sizes.items()})) as web:
        step("jira-fetch", {**api(web), **ALL}, tmp_path, env(web))
    manifest = json.loads((tmp_path / ALL["attachmentsManifestFile"]).read_text())
    assert [item["fileName"] for item in manifest["attachments"]] == ["1.txt", "5.txt", "6.txt"]
    assert [item["reason"] for item in manifest["skipped"]] == [
        "it is larger than 100 bytes",
        "Jira: its answer is larger than 60 bytes",
        "all files together are larger than 150 bytes",
        "there are more than 3 files",
    ]


@pytest.mark.parametrize("given", [None, "x", [1, None, {}], {"a": 1}, [{"filename": ["a.txt"], "content": 5}]])
def test_a_strange_list_of_attachments(tmp_path: Path, given: Any) -> None:
    with serve(site(lambda: issue(attachment=given))) as web:
        assert step("jira-fetch", {**api(web), **ALL}, tmp_path, env(web))["downloadedAttachments"] == 0


@pytest.mark.parametrize(
    "name", ["...", "a" * 500 + ".txt", "x\0y.txt", "\ud800.txt", "-.txt", "é" * 300 + ".md", "CON.txt"]
)
def test_any_file_name_becomes_a_safe_one(tmp_path: Path, name: str) -> None:
    with serve(
        site(lambda: issue(attachment=[attachment(web.url, 1, name, mimeType="text/plain")]), {"1": b"t"})
    ) as web:
        step("jira-fetch", {**api(web), **ALL}, tmp_path, env(web))
    (saved,) = files_in(tmp_path / "s/.artifacts/jira-attachments")
    assert saved.startswith("001-")
    assert len(saved.encode()) < 200
    assert "/" not in saved


def test_a_subtask_gets_a_file_with_its_parent(tmp_path: Path) -> None:
    subtask = issue(issuetype={"name": "Sub-task", "subtask": True}, parent={"key": "ABC-7", "self": "http://evil/x"})
    parent = {"key": "ABC-7", "fields": {"summary": "all of it"}}
    with serve(lambda asked: Reply(parent if asked.path.endswith("ABC-7") else subtask)) as web:
        value = step("jira-fetch", {**api(web), **ALL}, tmp_path, env(web))
    assert value["enrichedFile"] == "s/.artifacts/ABC-1-enriched.json"
    enriched = json.loads((tmp_path / value["enrichedFile"]).read_text(encoding="utf-8"))
    assert enriched == {"issue": subtask, "parentKey": "ABC-7", "parent": parent}
    assert [asked.path for asked in web.asked] == ["/rest/api/2/issue/ABC-1", "/rest/api/2/issue/ABC-7"]


def test_a_parent_that_may_not_be_seen(tmp_path: Path) -> None:
    subtask = issue(issuetype={"name": "Sub-task", "subtask": True}, parent={"key": "ABC-7"})
    with serve(lambda asked: Reply("", 403) if asked.path.endswith("ABC-7") else Reply(subtask)) as web:
        value = step("jira-fetch", {**api(web), "outputFile": "i.json"}, tmp_path, env(web))
    enriched = json.loads((tmp_path / value["enrichedFile"]).read_text(encoding="utf-8"))
    assert enriched["parent"] is None
    assert "403" in enriched["parentProblem"]


@pytest.mark.parametrize("key", ["../../myself", "ABC-7/../../x", 7, "", None])
def test_a_parent_with_a_strange_key_is_not_asked_for(tmp_path: Path, key: Any) -> None:
    with serve(site(lambda: issue(issuetype={"name": "S", "subtask": True}, parent={"key": key}))) as web:
        value = step("jira-fetch", {**api(web), "outputFile": "i.json"}, tmp_path, env(web))
    assert (value["enrichedFile"], len(web.asked)) == (None, 1)


@pytest.mark.parametrize("said", [[], {"fields": []}, {"key": "ABC-1"}, "x", None])
def test_an_answer_that_is_no_issue(tmp_path: Path, said: Any) -> None:
    with serve(lambda _: Reply(said)) as web:
        assert failed("jira-fetch", {**api(web), **ALL}, tmp_path, env(web)).code == "service-json"
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"outputFile": "../i.json"}, "path-escape"),
        ({"attachmentsManifestFile": "/etc/m.json"}, "path-escape"),
        ({"attachmentsContextFile": "s/.artifacts/../.artifacts/ABC-1.json"}, "params"),
    ],
)
def test_a_path_that_is_refused_before_anything_is_asked(tmp_path: Path, change: dict[str, str], code: str) -> None:
    with serve(site(issue)) as web:
        error = failed("jira-fetch", {**api(web), **ALL, **change}, tmp_path, env(web))
    assert (error.code, web.asked, files_in(tmp_path)) == (code, [], [])


def test_a_folder_in_the_place_of_a_file_leaves_the_others_alone(tmp_path: Path) -> None:
    (tmp_path / ALL["attachmentsContextFile"]).mkdir(parents=True)
    with serve(site(issue)) as web:
        assert failed("jira-fetch", {**api(web), **ALL}, tmp_path, env(web)).code == "file-kind"
    assert files_in(tmp_path) == []


def check(folder: Path, content: str, *allowed: str) -> Any:
    (folder / "i.json").write_text(content, encoding="utf-8")
    return step("jira-issue-check", {"jiraTaskFile": "i.json", "allowedIssueTypes": list(allowed)}, folder)


def test_an_allowed_type(tmp_path: Path) -> None:
    assert check(tmp_path, json.dumps(issue()), "Ошибка", "bug ") == {"issueType": "Bug"}
    upper = json.dumps(issue(issuetype={"name": "ОШИБКА"}))
    assert check(tmp_path, upper, "Ошибка") == {"issueType": "ОШИБКА"}


@pytest.mark.parametrize(
    ("content", "allowed", "code", "words"),
    [
        (json.dumps(issue()), ["Task", "Story"], "issue-type", "the type of the issue is `Bug`; allowed: Task, Story"),
        (json.dumps(issue()), [" "], "params", "`allowedIssueTypes` is empty"),
        ("{", ["Bug"], "inputs-invalid", "`i.json` is not JSON"),
        ("[" * 100_000, ["Bug"], "inputs-invalid", "nested too deeply"),
        ("[]", ["Bug"], "inputs-invalid", "it has no `fields`"),
        ('{"fields": {}}', ["Bug"], "inputs-invalid", "it has no `fields.issuetype`"),
        ('{"fields": {"issuetype": {}}}', ["Bug"], "inputs-invalid", "it has no `fields.issuetype.name`"),
        ('{"fields": {"issuetype": {"name": 5}}}', ["Bug"], "inputs-invalid", "is not text"),
    ],
)
def test_a_type_that_is_not_allowed_or_not_there(
    tmp_path: Path, content: str, allowed: list[str], code: str, words: str
) -> None:
    (tmp_path / "i.json").write_text(content, encoding="utf-8")
    error = failed("jira-issue-check", {"jiraTaskFile": "i.json", "allowedIssueTypes": allowed}, tmp_path)
    assert error.code == code
    assert words in error.message


def test_a_check_without_its_file(tmp_path: Path) -> None:
    given = {"allowedIssueTypes": ["Bug"]}
    assert failed("jira-issue-check", {"jiraTaskFile": "no.json", **given}, tmp_path).code == "inputs-missing"
    assert failed("jira-issue-check", {"jiraTaskFile": "../i.json", **given}, tmp_path).code == "path-escape"


FLOW = """phases:
- id: a
  steps:
  - {id: c, node: jira-context, params: {jiraRef: ABC-1}}
  - id: f
    node: jira-fetch
    params:
      jiraApiUrl: ${steps.a.c.outputs.jiraApiUrl}
      outputFile: i.json
      attachmentsManifestFile: m.json
      attachmentsContextFile: c.txt
  - {id: t, node: jira-issue-check, params: {jiraTaskFile: i.json, allowedIssueTypes: [Bug]}}
  - {id: e, node: command, params: {argv: [env]}}
"""


def test_a_flow_publishes_what_it_fetches_and_keeps_the_key_to_itself(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(".handrail/flows/j.yaml", FLOW)
    with serve(site(lambda: issue(attachment=[attachment(web.url, 1, "a.md")]), {"1": b"text"})) as web:
        for name, value in env(web, JIRA_AUTH_MODE="basic", JIRA_USERNAME="me@x.example").items():
            monkeypatch.setenv(name, value)
        ended = project.json("run", "j")
    steps = {item["id"]: item["value"] for item in ended["phases"][0]["steps"]}
    assert steps["f"]["downloadedAttachments"] == 1
    assert steps["t"] == {"issueType": "Bug"}
    assert "JIRA_USERNAME=me@x.example" in steps["e"]["output"]
    assert "JIRA_API_KEY" not in steps["e"]["output"]
    published = {item["path"] for item in project.json("artifacts", "last")["artifacts"]}
    assert published == {"i.json", "m.json", "c.txt"}
    assert_nowhere(project, KEY, BASIC.removeprefix("Basic "))


def assert_nowhere(project: Project, *secrets: str) -> None:
    """No file of the project or of Handrail's own folder contains one of the secrets."""
    files = [path for root in (project.folder, project.home) for path in root.rglob("*") if path.is_file()]
    assert len(files) > 3
    for path in files:
        assert not [secret for secret in secrets if secret.encode() in path.read_bytes()], path


def test_an_error_of_jira_that_repeats_the_key(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(".handrail/flows/j.yaml", FLOW)
    told = {"errorMessages": [f"bad key {KEY} and {BASIC}"]}
    with serve(lambda _: Reply(told, 401)) as web:
        for name, value in env(web, JIRA_AUTH_MODE="basic", JIRA_USERNAME="me@x.example").items():
            monkeypatch.setenv(name, value)
        said = project.run("run", "j")
    assert said.code == 1
    assert "it answers with 401: bad key *** and Basic ***; check JIRA_API_KEY and JIRA_USERNAME" in said.out
    assert KEY not in said.out + said.err
    assert_nowhere(project, KEY, BASIC.removeprefix("Basic "))


KILLER = """
import os, signal, sys
real = os.replace
def replace(old, new):
    if new.endswith("m.json"):
        os.kill(os.getpid(), signal.SIGKILL)
    real(old, new)
os.replace = replace
from handrail.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.whole
def test_a_fetch_that_was_killed_while_it_wrote_is_repeated(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(".handrail/flows/j.yaml", FLOW)
    with serve(site(lambda: issue(attachment=[attachment(web.url, 1, "a.md")]), {"1": b"text"})) as web:
        for name, value in env(web).items():
            monkeypatch.setenv(name, value)
        argv = [sys.executable, "-c", KILLER, "run", "j"]
        killed = subprocess.run(argv, cwd=project.folder, capture_output=True, timeout=60, check=False)
        assert killed.returncode == -signal.SIGKILL
        assert not (project.folder / "m.json").exists()
        assert project.json("resume", "last")["status"] == "completed"
    assert [name for name in files_in(project.folder) if not name.startswith(".handrail/")] == [
        "c.txt",
        "i.json",
        "jira-attachments/001-a.md",
        "m.json",
    ]
