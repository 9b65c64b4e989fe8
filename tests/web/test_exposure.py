"""A page for other machines needs a log-in and encryption. Without them it does not start."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from browser.site import HANDRAIL, Site
from handrail.app import App
from handrail.web.access import Address, Credentials, Doorkeeper
from handrail.web.server import Serving, make_server
from support import Project

PASSWORD = "correct horse battery"
LOGIN = {"HANDRAIL_WEB_USER": "ada", "HANDRAIL_WEB_PASSWORD": PASSWORD}
PROXY = "https://handrail.example"
FORM = {"content-type": "application/x-www-form-urlencoded", "origin": PROXY}
POST = {"sec-fetch-site": "same-origin", "x-handrail": "1", "content-type": "application/json"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("options", "env", "named"),
    [
        (["--host", "10.0.0.7"], {}, ["HANDRAIL_WEB_USER", "HANDRAIL_WEB_PASSWORD", "`--tls-cert` and `--tls-key`"]),
        (["--host", "shop.example"], LOGIN, ["`--tls-cert` and `--tls-key`, or `--behind-proxy URL`"]),
        (["--behind-proxy", PROXY], {"HANDRAIL_WEB_USER": "ada"}, ["missing: HANDRAIL_WEB_PASSWORD"]),
        (["--behind-proxy", PROXY], {**LOGIN, "HANDRAIL_WEB_PASSWORD": "short"}, ["at least 12"]),
        (["--behind-proxy", "http://shop.example"], LOGIN, ["https://"]),
        (["--behind-proxy", "https://shop.example/path"], LOGIN, ["has to be an address"]),
        (["--behind-proxy", "shop.example"], LOGIN, ["has to be an address"]),
        (["--host", "0.0.0.0", "--tls-cert", "c", "--tls-key", "k"], LOGIN, ["under which name"]),
        (["--host", "a b"], LOGIN, ["`--host` has to be a name or an address"]),
        (["--tls-cert", "c"], LOGIN, ["`--tls-key` is missing"]),
        (["--tls-cert", "none", "--tls-key", "none"], {}, ["TLS cannot be used"]),
    ],
)
def test_what_is_missing_is_named(
    project: Project, monkeypatch: pytest.MonkeyPatch, options: list[str], env: dict[str, str], named: list[str]
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    said = project.run("web", "--no-open", *options)
    assert said.code == 2
    assert all(one in said.err for one in named), said.err
    assert PASSWORD not in said.err


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def remote(project: Project, clock: Clock) -> TestClient:
    """The page as somebody on another machine gets it, through a proxy."""
    address = Address("127.0.0.1", 8123, proxy=PROXY)
    app = App(str(project.folder), os.environ, clock, by="person")
    server = make_server(app, Doorkeeper(clock), address, Serving(credentials=Credentials("ada", PASSWORD)))
    return TestClient(server, base_url=PROXY, follow_redirects=False)


def log_in(remote: TestClient, user: str, password: str, **headers: str) -> httpx.Response:
    return remote.post("/login", data={"user": user, "password": password}, headers={**FORM, **headers})


def test_a_log_in_becomes_a_cookie(remote: TestClient) -> None:
    first = remote.get("/")
    assert (first.status_code, first.headers["location"]) == (303, "/login")
    page = remote.get("/login")
    assert "<form" in page.text
    assert "<script" not in page.text
    assert "form-action 'self'" in page.headers["content-security-policy"]
    assert log_in(remote, "ada", "wrong").status_code == 401
    entered = log_in(remote, "ada", PASSWORD)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "secure"))
    assert remote.get("/").status_code == 200
    assert "form-action 'none'" in remote.get("/").headers["content-security-policy"]


def test_five_log_ins_a_minute(remote: TestClient, clock: Clock) -> None:
    statuses = [log_in(remote, "ada", f"wrong {number}").status_code for number in range(6)]
    assert statuses == [401] * 5 + [429]
    assert log_in(remote, "ada", PASSWORD).status_code == 429
    clock.now += 60
    assert log_in(remote, "ada", PASSWORD).status_code == 303


def test_a_log_in_of_another_page_is_refused(remote: TestClient) -> None:
    assert log_in(remote, "ada", PASSWORD, origin="https://evil.example").status_code == 403
    assert log_in(remote, "ada", PASSWORD, origin="null").status_code == 403
    assert log_in(remote, "ada", PASSWORD, host="127.0.0.1:8123").status_code == 421
    assert log_in(remote, "ada", PASSWORD * 300).status_code == 413
    assert remote.get("/api/changes?topics=home", headers={"sec-fetch-site": "same-origin"}).status_code == 401


def test_without_a_log_in_there_is_no_such_page(project: Project, clock: Clock) -> None:
    app = App(str(project.folder), os.environ, clock, by="person")
    address = Address("127.0.0.1", 8123)
    client = TestClient(make_server(app, Doorkeeper(clock), address), base_url=address.url)
    assert client.get("/login").status_code == 401


def test_a_page_that_is_read_only_changes_nothing(project: Project, clock: Clock) -> None:
    app = App(str(project.folder), os.environ, clock, by="person")
    address, door = Address("127.0.0.1", 8123), Doorkeeper(clock)
    client = TestClient(make_server(app, door, address, Serving(is_read_only=True)), base_url=address.url)
    page = client.get(f"/enter?token={door.new_token()}")
    assert "started with `--read-only`" in page.text
    answer = client.post("/api/runs", headers=POST, json={"name": "x"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "read-only")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    found = Site(tmp_path)
    yield found
    found.stop(signal.SIGKILL)


def test_the_real_server_speaks_tls(site: Site, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", *names]
    subprocess.run([*make, "-keyout", str(key), "-out", str(cert), "-days", "1"], check=True, capture_output=True)
    site.env |= LOGIN
    site.serve("--tls-cert", str(cert), "--tls-key", str(key), "--behind-proxy", "https://127.0.0.1")
    port = int(site.base.rpartition(":")[2])
    trusted = ssl.create_default_context(cafile=str(cert))
    headers = {"host": "127.0.0.1"}
    with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted, headers=headers) as client:
        assert client.get("/login").status_code == 200
        form = {"content-type": "application/x-www-form-urlencoded", "origin": "https://127.0.0.1"}
        entered = client.post("/login", data={"user": "ada", "password": PASSWORD}, headers=form)
        assert entered.status_code == 303
        assert "secure" in entered.headers["set-cookie"].lower()


@pytest.mark.whole
def test_a_run_does_not_get_the_password(site: Site) -> None:
    site.write(
        ".handrail/flows/env.yaml", "phases:\n- {id: a, steps: [{id: b, node: command, params: {argv: [env]}}]}\n"
    )
    site.env |= LOGIN
    site.serve("--behind-proxy", "http://localhost:1")
    port = int(site.base.rpartition(":")[2])
    own = {"host": "localhost:1", "origin": "http://localhost:1"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=own) as client:
        form = {"content-type": "application/x-www-form-urlencoded"}
        assert client.post("/login", data={"user": "ada", "password": PASSWORD}, headers=form).status_code == 303
        run = client.post("/api/runs", headers=POST, json={"name": "env"}).json()["run"]
    site.until(run, "completed")
    files = [path for path in (site.home / "state" / "runs").rglob("*") if path.is_file()]
    assert not [path for path in files if PASSWORD.encode() in path.read_bytes()]
    assert [path for path in files if b"HANDRAIL_HOME" in path.read_bytes()], "the flow did not print its environment"


@pytest.mark.whole
def test_enter_prints_a_new_link(site: Site) -> None:
    ours, theirs = pty.openpty()
    argv = [HANDRAIL, "web", "--no-open"]
    server = subprocess.Popen(argv, cwd=site.folder, env=site.env, stdin=theirs, stdout=theirs, stderr=theirs)
    try:
        os.close(theirs)
        links = re.compile(r"http://\S+/enter\?token=\S+(?=\s)")
        said = ""
        while "Ctrl-C" not in said:
            said += os.read(ours, 65536).decode()
        os.write(ours, b"\n")  # once: the terminal echoes it, and a newline for each echo would never end
        while len(links.findall(said)) < 2:
            said += os.read(ours, 65536).decode()
        first, second = links.findall(said)
        assert first != second
        assert httpx.get(second).status_code == 303
        assert httpx.get(first).status_code == 303
    finally:
        server.terminate()
        server.wait(30)
        os.close(ours)


@pytest.mark.whole
def test_a_server_inside_of_a_run_cannot_answer(site: Site) -> None:
    run = site.made("release", version="1")
    (site.home / "state" / "open-to-agents").unlink()
    site.env |= {"HANDRAIL_RUN": run}
    view = subprocess.run(
        [HANDRAIL, "view", f"run:{run}"], cwd=site.folder, env=site.env, capture_output=True, check=True
    )
    (need,) = json.loads(view.stdout)["set"]["needs"]
    site.serve()
    with httpx.Client(base_url=site.base, headers=POST, follow_redirects=True) as client:
        assert "only shows things" in client.get(site.link).text
        body = {"of": f"run:{run}", "digest": need["digest"], "values": {"note": "x", "sure": True, "kind": "minor"}}
        answer = client.post(f"/api/needs/{need['id']}", json=body)
        assert answer.status_code == 403
        assert "only a person" in answer.json()["error"]["message"]
    del site.env["HANDRAIL_RUN"]
    found = site.handrail("runs", run)
    assert found["status"] == "waiting"
    assert len(found["questions"]) == 1
    assert b"an agent tried `handrail web: answer`" in site.journal(run)
