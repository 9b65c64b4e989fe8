"""Services that misbehave: every node ends with a named outcome, writes nothing, and tells no secret."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from handrail.steps.services.http import HttpLimits
from steps.nodes.steps import failed, files_in, step
from steps.services.web import Asked, Reply, Web, serve

SECRET = "s3cret-of-a-service"
OTHER_HOST = Path(__file__).parent.parent / "services" / "other.example.pem"


class Case(NamedTuple):
    """A node with the variables and params that it needs."""

    node: str
    env: dict[str, str]
    params: dict[str, str]


def jira(url: str) -> Case:
    files = {"outputFile": "i.json", "attachmentsManifestFile": "m.json", "attachmentsContextFile": "c.txt"}
    variables = {"JIRA_BASE_URL": url, "JIRA_API_KEY": SECRET}
    return Case("jira-fetch", variables, {"jiraApiUrl": f"{url}/rest/api/2/issue/A-1", **files})


def gitlab(node: str) -> Callable[[str], Case]:
    def case(url: str) -> Case:
        at = {"mergeRequestUrl": f"{url}/a/b/-/merge_requests/1", "outputFile": "o.md", "outputJsonFile": "o.json"}
        return Case(node, {"GITLAB_BASE_URL": url, "GITLAB_TOKEN": SECRET}, at)

    return case


def github(node: str) -> Callable[[str], Case]:
    def case(url: str) -> Case:
        at = {"issue" if node == "github-issue" else "pullRequestUrl": "a/b#1", "outputFile": "o.md"}
        return Case(node, {"GITHUB_API_URL": url, "GITHUB_TOKEN": SECRET}, {**at, "outputJsonFile": "o.json"})

    return case


def telegram(url: str) -> Case:
    variables = {"TELEGRAM_API_URL": url, "TELEGRAM_BOT_TOKEN": SECRET, "TELEGRAM_CHAT_ID": "1"}
    return Case("telegram-notify", variables, {"message": "hi"})


FETCHING = {
    "jira-fetch": jira,
    "fetch-gitlab-diff": gitlab("fetch-gitlab-diff"),
    "fetch-gitlab-review": gitlab("fetch-gitlab-review"),
    **{name: github(name) for name in ("github-checks", "github-issue", "github-pr-diff", "github-reviews")},
}


def drip(web: Web) -> Callable[[Any], None]:
    def write(out: Any) -> None:
        while not web.released.wait(0.01):
            out.write(b" ")
            out.flush()

    return write


def flood(web: Web) -> Callable[[Any], None]:
    def write(out: Any) -> None:
        while not web.released.is_set():
            out.write(b"x" * 65536)

    return write


Misbehaves = Callable[[Web, Asked], Reply]
AT_ONCE = {"Retry-After": "0"}
WAYS: dict[str, tuple[str, Misbehaves]] = {
    "401": ("service-login", lambda _, __: Reply({"message": SECRET}, 401)),
    "403": ("service-forbidden", lambda _, __: Reply({"message": SECRET}, 403)),
    "404": ("service-missing", lambda _, __: Reply({"message": SECRET}, 404)),
    "429": ("service-busy", lambda _, __: Reply({"message": SECRET}, 429, {"Retry-After": "3600"})),
    "429 again and again": ("service-busy", lambda _, __: Reply("", 429, AT_ONCE)),
    "500": ("service-failed", lambda _, __: Reply(SECRET, 500, AT_ONCE)),
    "slow": ("service-slow", lambda web, _: Reply(write=lambda _: web.released.wait(30))),
    "endless and slow": ("service-slow", lambda web, _: Reply(write=drip(web))),
    "endless and fast": ("service-large", lambda web, _: Reply(write=flood(web))),
    "redirect": ("service-redirect", lambda _, __: Reply("", 302, {"Location": "http://127.0.0.2:9/login"})),
    "html": ("service-json", lambda _, __: Reply(b"<html>", headers={"Content-Type": "text/html"})),
    "broken json": ("service-json", lambda _, __: Reply(b'{"fields": {')),
    "not a number": ("service-json", lambda _, __: Reply(b'{"fields": {"x": NaN}}')),
    "deep json": ("service-json", lambda _, __: Reply(b"[" * 200_000)),
    "another kind": ("service-json", lambda _, __: Reply("text")),
}


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can reach."""
    limits = HttpLimits(seconds=0.7, size=1_000_000, pages=5, tries=3)
    for name in ("http.LIMITS", "chat.LIMITS"):
        monkeypatch.setattr(f"handrail.steps.services.{name}", limits)


@pytest.mark.whole(32)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("node", FETCHING)
def test_a_service_that_misbehaves(tmp_path: Path, node: str, way: str) -> None:
    code, misbehaves = WAYS[way]
    (tmp_path / "i.json").write_text("old")
    with serve(lambda asked: misbehaves(web, asked)) as web:
        case = FETCHING[node](web.url)
        error = failed(case.node, case.params, tmp_path, case.env)
    assert error.code == code
    assert SECRET not in error.message
    assert error.transient == (code in ("service-busy", "service-slow") or way == "500")
    assert (files_in(tmp_path), (tmp_path / "i.json").read_text()) == (["i.json"], "old")


@pytest.mark.whole(4)
@pytest.mark.parametrize("way", [way for way in WAYS if way != "redirect"])
def test_telegram_that_misbehaves(tmp_path: Path, way: str) -> None:
    with serve(lambda asked: WAYS[way][1](web, asked)) as web:
        case = telegram(web.url)
        value = step(case.node, case.params, tmp_path, case.env)
    assert value["success"] is False
    assert SECRET not in value["reason"]


@pytest.mark.parametrize("node", FETCHING)
def test_a_certificate_of_another_host(tmp_path: Path, node: str) -> None:
    with serve(lambda _: Reply(1), OTHER_HOST) as web:
        case = FETCHING[node](web.url)
        error = failed(case.node, case.params, tmp_path, case.env)
    assert (error.code, error.transient, web.asked, files_in(tmp_path)) == ("service-certificate", False, [], [])


@pytest.mark.parametrize("node", FETCHING)
def test_nobody_listens(tmp_path: Path, node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handrail.steps.services.http.FIRST_PAUSE", 0.0)
    with serve(lambda _: Reply(1)) as web:
        pass
    case = FETCHING[node](web.url)
    error = failed(case.node, case.params, tmp_path, case.env)
    assert (error.code, error.transient, files_in(tmp_path)) == ("service-unreachable", True, [])


@pytest.mark.parametrize("node", ["fetch-gitlab-diff", "fetch-gitlab-review"])
def test_pages_that_never_end(tmp_path: Path, node: str) -> None:
    def answer(asked: Asked) -> Reply:
        return Reply([{}], headers={"X-Next-Page": "2"}) if "page" in asked.query else Reply({"title": "x"})

    with serve(answer) as web:
        case = FETCHING[node](web.url)
        error = failed(case.node, case.params, tmp_path, case.env)
    assert (error.code, files_in(tmp_path)) == ("service-pages", [])


@pytest.mark.parametrize("way", ["never ends", "elsewhere"])
def test_pages_of_github(tmp_path: Path, way: str) -> None:
    with serve(lambda _: Reply([])) as other:
        at = "{}/repos/a/b/issues/1/comments?page=2"

        def answer(asked: Asked) -> Reply:
            link = f'<{at.format(web.url if way == "never ends" else other.url)}>; rel="next"'
            return Reply([{}], headers={"Link": link}) if asked.path.endswith("comments") else Reply({"title": "x"})

        with serve(answer) as web:
            case = FETCHING["github-issue"](web.url)
            error = failed(case.node, case.params, tmp_path, case.env)
    code = "service-pages" if way == "never ends" else "service-host"
    assert (error.code, files_in(tmp_path), other.asked) == (code, [], [])


@pytest.mark.parametrize(
    "limit",
    [
        Reply(
            {"message": "API rate limit exceeded"},
            403,
            {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"},
        ),
        Reply({"message": "You have exceeded a secondary rate limit"}, 403, {"Retry-After": "3600"}),
        Reply({"message": "slow down"}, 429, {"Retry-After": "3600"}),
    ],
)
def test_a_rate_limit_of_github_is_left_to_the_run(tmp_path: Path, limit: Reply) -> None:
    with serve(lambda _: limit) as web:
        case = FETCHING["github-checks"](web.url)
        error = failed(case.node, case.params, tmp_path, case.env)
    assert (error.code, error.transient, len(web.asked)) == ("service-busy", True, 1)
    assert error.resets_at is not None
    assert error.resets_at > time.time() + 3000


def test_a_short_rate_limit_of_github_is_waited_for(tmp_path: Path) -> None:
    spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}
    replies = [Reply({"message": "API rate limit exceeded"}, 403, spent), Reply({"title": "x"}), Reply([])]
    with serve(lambda _: replies.pop(0)) as web:
        case = FETCHING["github-issue"](web.url)
        assert step(case.node, case.params, tmp_path, case.env)["title"] == "x"


@pytest.mark.parametrize("page", ["²", "9" * 6000, "-1", "x"])
def test_a_strange_number_of_the_next_page(tmp_path: Path, page: str) -> None:
    def answer(asked: Asked) -> Reply:
        return (
            Reply([], headers={"X-Next-Page": page})
            if asked.query["page"] == "2"
            else Reply([{}], headers={"X-Next-Page": page})
        )

    with serve(answer) as web:
        case = FETCHING["fetch-gitlab-review"](web.url)
        assert step(case.node, case.params, tmp_path, case.env)["commentsCount"] == 0


def test_an_attachment_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.path.startswith("/a/"):
            return Reply(b"text") if asked.path == "/a/1" else Reply("", 500, AT_ONCE)
        listed = [{"id": n, "filename": f"{n}.txt", "content": f"{web.url}/a/{n}"} for n in (1, 2)]
        return Reply({"fields": {"attachment": listed}})

    with serve(answer) as web:
        case = jira(web.url)
        error = failed(case.node, case.params, tmp_path, case.env)
    assert (error.code, files_in(tmp_path)) == ("service-failed", [])


@pytest.mark.parametrize("proxy", ["socks9://127.0.0.1:1", "socks5://127.0.0.1:1"])
def test_a_proxy_that_cannot_be_used(tmp_path: Path, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    case = jira("http://jira.example")
    assert failed(case.node, case.params, tmp_path, case.env).code == "service-proxy"


def test_a_proxy_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server does not know CONNECT, so it answers with 501."""
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with serve(lambda _: Reply(1)) as web:
        monkeypatch.setenv("https_proxy", web.url)
        case = jira("https://jira.example")
        error = failed(case.node, case.params, tmp_path, case.env)
    assert (error.code, web.asked) == ("service-proxy", [])


def test_a_file_of_certificates_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with serve(lambda _: Reply(1), OTHER_HOST) as web:
        case = telegram(web.url)
        assert step(case.node, case.params, tmp_path, case.env)["success"] is False


def test_the_client_is_imported_only_by_a_step_that_needs_it(tmp_path: Path) -> None:
    program = (
        "import sys; from handrail.extensions.registry import Registry; kinds = Registry().nodes();"
        "[kinds[name].NODE for name in kinds];"
        "assert 'httpx2' not in sys.modules and 'handrail.steps.nodes.jira' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
