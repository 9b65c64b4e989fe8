"""The real server against requests of other sites and other programs: each is refused, and nothing changes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

import handrail
from browser.site import Site
from web.wire import PATIENCE, request, send

STATIC = f"/static/{handrail.__version__}"


class Served:
    """A project with a run that waits for an answer, its server, and what a browser that may use it sends."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.run = site.made("release", version="1.2")
        site.serve()
        self.port = int(site.base.rpartition(":")[2])
        self.host = f"127.0.0.1:{self.port}"
        answer = httpx.get(site.link, follow_redirects=False)
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        self.token = site.link.partition("token=")[2]

    @property
    def own(self) -> dict[str, str]:
        """The headers of a request that our page sends."""
        about = {"X-Handrail": "1", "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
        return {"Host": self.host, "Cookie": self.cookie, "Origin": f"http://{self.host}", **about}

    def stop(self, body: bytes = b"{}", **changed: str) -> bytes:
        """The request that stops the run, with some headers changed."""
        headers = {**self.own, "Content-Length": str(len(body))}
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        return request("POST", f"/api/runs/{self.run}/stop", headers, body)

    def get(self, target: str, **changed: str) -> bytes:
        headers = {**self.own, "Content-Type": "", "X-Handrail": "", "Connection": "close"}
        return request("GET", target, headers | {name.replace("_", "-"): value for name, value in changed.items()})

    @property
    def content(self) -> dict[str, bytes]:
        """All files of all runs, and those of the project."""
        folders = (self.site.home / "state" / "runs", self.site.folder)
        return {str(path): path.read_bytes() for root in folders for path in root.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    site = Site(tmp_path_factory.mktemp("served"))
    yield Served(site)
    site.stop()
    assert site.errors.read_text(encoding="utf-8") == ""  # nobody can fill the terminal of the person


@pytest.fixture(autouse=True)
def _nothing_changes(served: Served) -> Iterator[None]:
    before = served.content
    yield
    assert served.content == before


FOREIGN = {
    "host": (421, {"Host": "evil.example"}),
    "host with our port": (421, {"Host": "evil.example:PORT"}),
    "host without port": (421, {"Host": "127.0.0.1"}),
    "origin": (403, {"Origin": "https://evil.example"}),
    "no origin that it says": (403, {"Origin": "null"}),
    "other site": (403, {"Sec-Fetch-Site": "cross-site"}),
    "other port of this machine": (403, {"Sec-Fetch-Site": "same-site"}),
    "nothing said about where it comes from": (403, {"Sec-Fetch-Site": "", "Origin": ""}),
    "no cookie": (401, {"Cookie": ""}),
    "invented cookie": (401, {"Cookie": "handrail-PORT=99999999999.a.b"}),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_not_from_our_page_is_refused(served: Served, name: str) -> None:
    status, given = FOREIGN[name]
    changed = {key.replace("-", "_"): value.replace("PORT", str(served.port)) for key, value in given.items()}
    stream = served.get("/api/changes?topics=home", Accept="text/event-stream", **changed)
    for data in (served.stop(b"{}", **changed), stream):
        answer = send(served.port, data)
        assert answer.statuses == [status]
        told = json.loads(answer.body)["error"]
        assert told["message"].endswith(".")
        assert told["hint"].endswith(".")
        assert "evil" not in answer.body


FORMS = {
    "no x-handrail": (400, {"X_Handrail": ""}, b"{}"),
    "plain text": (400, {"Content_Type": "text/plain"}, b"{}"),
    "a form": (400, {"Content_Type": "application/x-www-form-urlencoded"}, b"{}"),
    "no json": (400, {}, b"{"),
    "unknown key": (400, {}, b'{"evil": 1}'),
    "half of a character": (400, {}, b'{"\\ud800": 1}'),
    "a deep list": (400, {}, b"[" * 100_000),
    "1 MB": (413, {}, b"x" * 1_000_000),
    "1 MB that is only said": (413, {"Content_Length": "1000000"}, b"{}"),
    "no length": (411, {"Content_Length": ""}, b""),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_post_of_another_form_is_refused(served: Served, name: str) -> None:
    status, changed, body = FORMS[name]
    answer = send(served.port, served.stop(body, **{"Connection": "close", **changed}))
    assert answer.statuses == [status]
    assert json.loads(answer.body)["error"]["message"]


LENGTHS = {
    "length and chunks": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"Content-Length: 2\r\nContent-Length: 400\r\n\r\n{}",
    "two lengths in one": b"Content-Length: 2, 400\r\n\r\n{}",
    "length with a sign": b"Content-Length: +2\r\n\r\n{}",
    "unknown coding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "two codings": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "folded coding": b"Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "space before the colon": b"Content-Length : 2\r\n\r\n{}",
    "bare line feeds": b"Content-Length: 5\nTransfer-Encoding: chunked\n\n0\r\n\r\n",
    "bare carriage return": b"X: a\rContent-Length: 2\r\n\r\n{}",
    "zero byte": b"X: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
    "only chunks": b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "no number of a chunk": b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "negative chunk": b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
}


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_hidden_request_is_not_seen(served: Served, method: str, name: str) -> None:
    """A request that some servers read as two: the second one would stop the run."""
    head = request(method, f"/api/runs/{served.run}/resume", served.own)[:-2]
    answer = send(served.port, head + LENGTHS[name] + served.stop())
    assert answer.statuses in ([400], [411])


def test_a_get_has_no_body_that_hides_a_request(served: Served) -> None:
    inner = served.stop()
    outer = served.get("/", Connection="", Content_Length=str(len(inner)))
    assert send(served.port, outer + inner).statuses == [400]


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (400, "GET http://evil.example/ HTTP/1.1"),
        (400, "GET http://127.0.0.1/api/changes?topics=home HTTP/1.1"),
        (405, "OPTIONS * HTTP/1.1"),
        (405, "OPTIONS /api/changes HTTP/1.1"),
        (405, "TRACE / HTTP/1.1"),
        (405, "CONNECT evil.example:443 HTTP/1.1"),
        (405, "HEAD /api/changes?topics=home HTTP/1.1"),
        (405, "PUT / HTTP/1.1"),
        (200, "HEAD / HTTP/1.1"),
        (400, "GET / HTTP/1.1 x"),
        (400, "GET /\x80 HTTP/1.1"),
    ],
)
def test_other_methods_and_targets(served: Served, status: int, line: str) -> None:
    head, _, rest = served.get("/").partition(b"\r\n")
    assert head
    assert send(served.port, line.encode("latin-1") + b"\r\n" + rest).statuses == [status]


@pytest.mark.parametrize(
    "path",
    [
        f"{STATIC}/../../access.py",
        f"{STATIC}/..%2f..%2faccess.py",
        f"{STATIC}/%2e%2e/%2e%2e/access.py",
        f"{STATIC}/..%5c..%5caccess.py",
        f"{STATIC}//etc/passwd",
        f"{STATIC}/%00",
        "/static/../access.py",
        "/runs/..%2f..%2fetc/passwd",
        "/artifacts/../../etc/passwd",
        "/api/runs/..%2f..%2fstop",
        "/api/runs/%2e%2e/log",
        "/api/definitions/flow/..%2f..%2f..%2fetc%2fpasswd",
        "/api/changes?topics=run:..%2f..%2fetc",
        "/api/changes?topics=session:../../x",
        "/api/changes?topics=run:%00",
    ],
)
def test_paths_lead_nowhere(served: Served, path: str) -> None:
    answer = send(served.port, served.get(path))
    assert answer.statuses in ([400], [404])
    assert "root:" not in answer.body
    assert "Doorkeeper" not in answer.body
    assert "Traceback" not in answer.body


@pytest.mark.parametrize("headers", [b"X: " + b"y" * 100_000, b"X: y\r\n" * 20_000], ids=["one", "many"])
def test_a_huge_head_is_refused(served: Served, headers: bytes) -> None:
    answer = send(served.port, served.get("/")[:-2] + headers + b"\r\n\r\n")
    assert answer.statuses in ([400], [])  # cut off while it was still being sent


def test_a_link_that_was_used_or_changed_is_refused(served: Served) -> None:
    for token in (served.token, served.token[:-1], served.token + "x", "", "%00", "x" * 20_000):
        answer = send(served.port, served.get(f"/enter?token={token}", Cookie=""))
        assert answer.statuses == [401]
        assert "Press Enter in the terminal" in answer.body


def test_a_browser_has_four_streams_and_no_more(served: Served) -> None:
    stream = served.get("/api/changes?topics=home", Accept="text/event-stream", Connection="")
    wires = [socket.create_connection(("127.0.0.1", served.port), PATIENCE) for _ in range(4)]
    try:
        for wire in wires:
            wire.sendall(stream)
            assert wire.recv(65536).startswith(b"HTTP/1.1 200")
        refused = send(served.port, stream, wants_more=True)
        assert refused.statuses == [429]
        assert send(served.port, served.get("/")).statuses == [200]
        wires.pop().close()
        assert send(served.port, stream, wants_more=True).statuses == [200]
    finally:
        for wire in wires:
            wire.close()


def test_the_server_says_nothing_about_itself(served: Served) -> None:
    answer = send(served.port, served.get("/"))
    head = answer.data.partition(b"\r\n\r\n")[0].lower()
    assert b"server:" not in head
    assert b"uvicorn" not in head


def test_what_the_server_keeps_is_private_and_has_no_cookie(served: Served) -> None:
    folder: Path = served.site.home / "state" / "web"
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in kept} == {"cookies", "port"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.iterdir(), *kept))
    value = served.cookie.partition("=")[2].encode()
    assert value
    assert not any(value in path.read_bytes() for path in kept)
