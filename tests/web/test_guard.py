"""Requests that do not come from our own page are refused, and nothing happens."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from h11 import LocalProtocolError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from handrail.app import App
from handrail.web import guard
from handrail.web.access import COOKIE_SECONDS, LINK_SECONDS, Address, Doorkeeper, ServerFolder
from handrail.web.guard import BURST, PER_SECOND, Pace, RequestRefusal
from handrail.web.server import Edge, answer_with, make_server

ADDRESS = Address("127.0.0.1", 8123)
OWN = {"sec-fetch-site": "same-origin"}
POST = {**OWN, "x-handrail": "1", "content-type": "application/json"}


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def door(clock: Clock) -> Doorkeeper:
    return Doorkeeper(clock)


@pytest.fixture
def client(tmp_path: Path, door: Doorkeeper) -> TestClient:
    env = {"HOME": str(tmp_path / "user"), "HANDRAIL_HOME": str(tmp_path / "home")}
    (tmp_path / "project" / ".handrail").mkdir(parents=True)
    app = App(str(tmp_path / "project"), env, by="person")
    return TestClient(make_server(app, door, ADDRESS), base_url=ADDRESS.url, follow_redirects=False)


@pytest.fixture
def signed_in(client: TestClient, door: Doorkeeper) -> TestClient:
    answer = client.get(f"/enter?token={door.new_token()}")
    assert answer.status_code == 303
    return client


def test_a_link_works_once_and_becomes_a_strict_cookie(client: TestClient, door: Doorkeeper) -> None:
    token = door.new_token()
    answer = client.get(f"/enter?token={token}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/", "handrail-8123="))
    assert client.get("/").status_code == 200
    again = client.get(f"/enter?token={token}")
    assert again.status_code == 401
    assert "works once" in again.text


@pytest.mark.parametrize("token", ["", "x", "a" * 5_000])
def test_a_wrong_token_is_refused(client: TestClient, token: str) -> None:
    assert client.get("/enter", params={"token": token}).status_code == 401
    assert client.get("/").status_code == 401


def test_an_old_link_and_an_old_cookie_are_refused(client: TestClient, door: Doorkeeper, clock: Clock) -> None:
    token = door.new_token()
    clock.now += LINK_SECONDS + 1
    assert client.get(f"/enter?token={token}").status_code == 401
    client.get(f"/enter?token={door.new_token()}")
    assert client.get("/").status_code == 200
    clock.now += COOKIE_SECONDS + 1
    assert client.get("/").status_code == 401


@pytest.mark.parametrize("cookie", ["", "1.2", "99999999999.", "9" * 400 + ".x", "x.y", "1e9.a"])
def test_an_invented_cookie_is_refused(client: TestClient, cookie: str) -> None:
    client.cookies.set(ADDRESS.cookie, cookie)
    assert client.get("/").status_code == 401


def test_digits_of_other_scripts_are_no_number(door: Doorkeeper) -> None:
    assert not door.knows("٣.a")


def test_a_cookie_of_another_server_is_refused(client: TestClient, clock: Clock) -> None:
    other = Doorkeeper(clock)
    cookie = other.admit(other.new_token())
    assert cookie is not None
    client.cookies.set(ADDRESS.cookie, cookie)
    assert client.get("/").status_code == 401


def test_what_is_kept_of_cookies_lets_nobody_in_and_outlives_the_server(tmp_path: Path, clock: Clock) -> None:
    kept = ServerFolder(str(tmp_path / "state"), str(tmp_path))
    cookie = Doorkeeper(clock, kept.cookies, kept.keep).new_cookie()
    text = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file()).decode()
    assert cookie not in text
    again = ServerFolder(str(tmp_path / "state"), str(tmp_path))
    later = Doorkeeper(clock, again.cookies, again.keep)
    assert later.knows(cookie)
    assert not any(later.knows(digest) for digest in json.loads(text))
    other = ServerFolder(str(tmp_path / "state"), str(tmp_path / "other"))
    assert not Doorkeeper(clock, other.cookies).knows(cookie)
    clock.now += COOKIE_SECONDS + 1
    assert not later.knows(cookie)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": "x"}', "null"])
def test_a_damaged_file_of_cookies_lets_nobody_in(tmp_path: Path, clock: Clock, text: str) -> None:
    kept = ServerFolder(str(tmp_path / "state"), str(tmp_path))
    (Path(kept.folder) / "cookies").write_text(text, encoding="utf-8")
    door = Doorkeeper(clock, kept.cookies, kept.keep)
    assert not door.knows("a")
    assert door.knows(door.new_cookie())


def test_state_that_cannot_be_written_keeps_nobody_out(tmp_path: Path, clock: Clock) -> None:
    kept = ServerFolder(str(tmp_path / "state"), str(tmp_path))
    (Path(kept.folder) / "cookies").mkdir()
    (Path(kept.folder) / "port").mkdir()
    kept.port = 1
    door = Doorkeeper(clock, kept.cookies, kept.keep)
    assert door.knows(door.new_cookie())


@pytest.mark.parametrize("host", ["evil.example:8123", "127.0.0.1:9", "127.0.0.1", "", "127.0.0.1:8123.evil.example"])
def test_another_name_for_this_address_is_refused(signed_in: TestClient, host: str) -> None:
    assert signed_in.get("/", headers={"host": host}).status_code == 421
    assert signed_in.get("/api/changes?topics=home", headers={**OWN, "host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1:8123.x"])
def test_another_page_is_refused_for_streams_too(signed_in: TestClient, origin: str) -> None:
    assert signed_in.get("/api/changes?topics=home", headers={"origin": origin}).status_code == 403
    assert signed_in.post("/api/stop", headers={**POST, "origin": origin}, content=b"{}").status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_is_refused(signed_in: TestClient, site: str) -> None:
    assert signed_in.get("/", headers={"sec-fetch-site": site}).status_code == 403
    assert signed_in.get("/api/changes?topics=home", headers={"sec-fetch-site": site}).status_code == 403


def test_the_interface_needs_a_word_of_the_browser(signed_in: TestClient) -> None:
    assert signed_in.get("/api/changes?topics=home").status_code == 403


def test_a_post_needs_its_form(signed_in: TestClient) -> None:
    assert signed_in.post("/api/stop", headers={**OWN, "x-handrail": "1"}, content=b"{}").status_code == 400
    json_only = {**OWN, "content-type": "application/json"}
    assert signed_in.post("/api/stop", headers=json_only, content=b"{}").status_code == 400
    assert signed_in.post("/", headers=POST, content=b"{}").status_code == 405


def test_a_post_that_is_too_long_is_refused(signed_in: TestClient) -> None:
    assert signed_in.post("/api/stop", headers=POST, content=b"x" * 1_000_000).status_code == 413


def test_a_post_without_a_length_is_refused(signed_in: TestClient) -> None:
    assert signed_in.post("/api/stop", headers=POST, content=iter([b"{}"])).status_code == 411


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(signed_in: TestClient, method: str) -> None:
    assert signed_in.request(method, "/", headers=OWN).status_code == 405


@pytest.mark.parametrize("path", ["/static/../entry.py", "/static/x/%2e%2e/%2e%2e/entry.py", "/run/..%2f..", "/none"])
def test_paths_do_not_leave_the_page(signed_in: TestClient, path: str) -> None:
    answer = signed_in.get(path, headers=OWN)
    assert answer.status_code in (404, 200)
    assert "Doorkeeper" not in answer.text


def test_a_refusal_repeats_nothing_and_says_what_helps(client: TestClient) -> None:
    answer = client.get("/<script>alert(1)</script>?q=<b>", headers={"x-evil": "<script>"})
    assert answer.status_code == 401
    assert "script" not in answer.text
    assert "Press Enter in the terminal" in answer.text


def test_every_answer_has_the_headers_that_keep_it_safe(signed_in: TestClient) -> None:
    for path in ("/", "/none", "/enter?token=x"):
        headers = signed_in.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_a_bug_is_answered_and_reported() -> None:
    async def broken(_: Request) -> Response:
        raise ZeroDivisionError("text of the bug")

    async def half(_: Request) -> Response:
        raise LocalProtocolError("the client sent something that is not HTTP")

    routes, reported = [Route("/api/broken", broken), Route("/half", half)], list[Exception]()
    edge = Edge(
        Starlette(routes=routes, exception_handlers={Exception: answer_with(RequestRefusal.BUG)}), reported.append
    )
    client = TestClient(edge)
    answer = client.get("/api/broken")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "bug")
    assert "text of" not in answer.text
    client.get("/half")
    assert [type(error) for error in reported] == [ZeroDivisionError]


def test_however_many_requests_come_only_so_many_are_answered_in_a_second() -> None:
    pace = Pace()
    waits = [pace.wait(1_000.0) for _ in range(10_000)]
    assert sum(seconds == 0 for seconds in waits) == BURST
    assert sum(seconds <= 10 for seconds in waits) == pytest.approx(BURST + 10 * PER_SECOND, abs=1)
    assert pace.wait(1_000.0 + 1_000) == 0


def test_requests_beyond_the_pace_wait_and_refused_ones_do_not_slow_down_the_page(
    signed_in: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await real(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(guard, "BURST", 5)
    monkeypatch.setattr(guard, "PER_SECOND", 0.001)
    for _ in range(6):
        assert signed_in.get("/", headers={"host": "evil.example"}).status_code == 421
    assert len(slept) == 1
    monkeypatch.setattr(guard, "PER_SECOND", PER_SECOND)
    slept.clear()
    assert signed_in.get("/").status_code == 200
    assert not slept
