"""A service that misbehaves: each way is a named outcome, and credentials stay with the configured host."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from handrail.extensions.contracts import NodeError
from handrail.steps.services.addresses import base_address
from handrail.steps.services.http import HttpLimits, JsonObject, Service
from steps.services.web import Asked, Reply, Web, serve

SECRET = "s3cret-token"
OTHER_HOST = Path(__file__).parent / "other.example.pem"


def call(web: Web, use: Callable[[Service], Awaitable[Any]], **limits: Any) -> tuple[Any, list[float]]:
    """Use a service of this server. Returns the result and the pauses that were waited for."""
    rested: list[float] = []

    async def rest(seconds: float) -> None:
        rested.append(seconds)

    async def whole() -> Any:
        service = Service(
            name="Tracker",
            base=base_address("Tracker", "TRACKER_URL", web.url),
            headers={"Authorization": f"Bearer {SECRET}"},
            secrets=(SECRET,),
            rest=rest,
            limits=HttpLimits(**limits),
        )
        async with service:
            return await use(service)

    return asyncio.run(whole()), rested


def refused(web: Web, use: Callable[[Service], Awaitable[Any]], **limits: Any) -> NodeError:
    with pytest.raises(NodeError) as caught:
        call(web, use, **limits)
    assert SECRET not in caught.value.message
    assert caught.value.message.startswith("Tracker: ")
    return caught.value


def issue(service: Service) -> Awaitable[Any]:
    return service.get_json("issue/1", fields="all")


def every_page(service: Service) -> Awaitable[list[Any]]:
    return service.get_list("things", 2)


def always(reply: Reply) -> Callable[[Asked], Reply]:
    return lambda _: reply


def in_turn(*replies: Reply) -> Callable[[Asked], Reply]:
    left = list(replies)
    return lambda _: left.pop(0)


def test_an_answer_with_the_credentials_of_the_service() -> None:
    with serve(always(Reply({"key": "A-1"}))) as web:
        assert call(web, issue) == ({"key": "A-1"}, [])
    assert (web.asked[0].path, web.asked[0].query) == ("/issue/1", {"fields": "all"})
    assert web.asked[0].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, "service-login"), (403, "service-forbidden"), (404, "service-missing"), (410, "service-failed")],
)
def test_a_refusal_is_final_and_says_what_the_service_says(status: int, code: str) -> None:
    with serve(always(Reply({"message": f"no, {SECRET}"}, status))) as web:
        error = refused(web, issue)
    assert (error.code, error.transient, len(web.asked)) == (code, False, 1)
    assert error.message == f"Tracker: it answers with {status}: no, ***"


def test_a_service_that_has_a_bad_moment_is_asked_again() -> None:
    with serve(in_turn(Reply("", 500), Reply("", 502), Reply({"ok": True}))) as web:
        assert call(web, issue) == ({"ok": True}, [1.0, 2.0])


def test_a_service_that_stays_broken_is_given_up() -> None:
    with serve(always(Reply(b"<html>", 500))) as web:
        error = refused(web, issue, tries=3)
    assert (error.code, error.transient, error.resets_at, len(web.asked)) == ("service-failed", True, None, 3)


def test_the_pause_that_the_service_asks_for_is_kept() -> None:
    busy = Reply("", 429, {"Retry-After": "7"})
    with serve(in_turn(busy, Reply(1))) as web:
        assert call(web, issue) == (1, [7.0])


def test_a_date_is_a_pause_too() -> None:
    busy = Reply("", 503, {"Retry-After": formatdate(time.time() + 30, usegmt=True)})
    with serve(in_turn(busy, Reply(1))) as web:
        _, rested = call(web, issue)
    assert 20 < rested[0] <= 30


def test_a_long_pause_is_left_to_the_run() -> None:
    with serve(always(Reply("", 429, {"Retry-After": "3600"}))) as web:
        error = refused(web, issue)
    assert (error.code, error.transient, len(web.asked)) == ("service-busy", True, 1)
    assert error.resets_at is not None
    assert error.resets_at - time.time() > 3000


def test_a_slow_service() -> None:
    with serve(lambda _: Reply(write=lambda _: web.released.wait(30))) as web:
        error = refused(web, issue, seconds=0.5)
    assert (error.code, error.transient) == ("service-slow", True)


def test_an_endless_body_of_small_pieces() -> None:
    def drip(out: Any) -> None:
        while not web.released.wait(0.01):
            out.write(b" ")
            out.flush()

    with serve(lambda _: Reply(write=drip)) as web:
        error = refused(web, issue, seconds=0.5)
    assert error.code == "service-slow"


def test_an_endless_body_of_large_pieces() -> None:
    def flood(out: Any) -> None:
        while not web.released.is_set():
            out.write(b"x" * 65536)

    with serve(lambda _: Reply(write=flood)) as web:
        error = refused(web, issue, size=1_000_000)
    assert (error.code, error.transient) == ("service-large", False)


def test_a_body_that_breaks_off_is_asked_for_again() -> None:
    broken = Reply(headers={"Content-Length": "100"}, write=lambda out: out.write(b"{"))
    with serve(in_turn(broken, Reply({"ok": True}))) as web:
        assert call(web, issue)[0] == {"ok": True}


def test_an_answer_that_is_not_json() -> None:
    with serve(always(Reply(b"<html>please log in</html>", headers={"Content-Type": "text/html"}))) as web:
        error = refused(web, issue)
    assert error.code == "service-json"
    assert error.message == (
        "Tracker: its answer is not JSON (text/html, 26 bytes); is its address right? this may be a page to log in"
    )


def test_json_that_is_nested_too_deep_is_not_json() -> None:
    with serve(always(Reply(b"[" * 200_000))) as web:
        assert refused(web, issue).code == "service-json"


def test_nobody_listens() -> None:
    with serve(always(Reply(1))) as web:
        pass
    error = refused(web, issue, tries=2)
    assert (error.code, error.transient) == ("service-unreachable", True)
    assert "cannot be reached (the connection is refused)" in error.message


def test_a_wrong_certificate() -> None:
    with serve(always(Reply(1)), OTHER_HOST) as web:
        error = refused(web, issue)
    assert (error.code, error.transient) == ("service-certificate", False)
    assert web.asked == []


def test_a_redirect_on_the_same_host_is_followed_with_credentials() -> None:
    with serve(lambda asked: Reply({"at": 2}) if asked.path == "/b" else Reply("", 302, {"Location": "/b"})) as web:
        assert call(web, issue)[0] == {"at": 2}
    assert all("authorization" in asked.headers for asked in web.asked)


def test_a_redirect_to_another_host_is_not_followed() -> None:
    with (
        serve(always(Reply({"stolen": True}))) as other,
        serve(lambda _: Reply("", 302, {"Location": f"{other.url}/login"})) as web,
    ):
        error = refused(web, issue)
    assert (error.code, other.asked) == ("service-redirect", [])


def test_a_file_on_another_host_is_fetched_without_credentials() -> None:
    with (
        serve(always(Reply(b"the file"))) as other,
        serve(lambda _: Reply("", 302, {"Location": f"{other.url}/file"})) as web,
    ):
        assert call(web, lambda service: service.get_file(f"{web.url}/attachment/1"))[0] == b"the file"
    assert "authorization" in web.asked[0].headers
    assert "authorization" not in other.asked[0].headers


def test_a_file_that_is_not_on_the_configured_host_is_refused() -> None:
    with serve(always(Reply(b"x"))) as other, serve(always(Reply(1))) as web:
        error = refused(web, lambda service: service.get_file(f"{other.url}/file"))
    assert (error.code, other.asked, web.asked) == ("service-host", [], [])


@pytest.mark.parametrize("location", ["file:///etc/passwd", "gopher://x/", "http:///nowhere", ""])
def test_a_redirect_to_something_else_than_http(location: str) -> None:
    with serve(always(Reply("", 302, {"Location": location}))) as web:
        assert refused(web, lambda service: service.get_file(f"{web.url}/a"), redirects=2).code == "service-redirect"


def test_a_redirect_in_a_circle() -> None:
    with serve(always(Reply("", 302, {"Location": "/again"}))) as web:
        error = refused(web, issue, redirects=3)
    assert (error.code, len(web.asked)) == ("service-redirect", 4)


def test_pages_until_one_is_not_full() -> None:
    pages = {"1": [1, 2], "2": [3, 4], "3": [5]}
    with serve(lambda asked: Reply(pages[asked.query["page"]])) as web:
        assert call(web, every_page)[0] == [1, 2, 3, 4, 5]


def test_pages_that_name_the_next_one() -> None:
    def answer(asked: Asked) -> Reply:
        return Reply([asked.query["page"]], headers={"X-Next-Page": {"1": "5", "5": ""}[asked.query["page"]]})

    with serve(answer) as web:
        assert call(web, every_page)[0] == ["1", "5"]


def test_pages_that_never_end() -> None:
    with serve(always(Reply([1, 2]))) as web:
        error = refused(web, every_page, pages=5)
    assert (error.code, len(web.asked)) == ("service-pages", 5)


def test_pages_that_are_large_together() -> None:
    with serve(always(Reply(["x" * 500, "y" * 500]))) as web:
        assert refused(web, every_page, size=3000).code == "service-large"


def test_a_page_that_is_no_list() -> None:
    with serve(always(Reply({"not": "a list"}))) as web:
        assert refused(web, every_page).code == "service-json"


def send(service: Service) -> Awaitable[Any]:
    return service.post("message", {"text": "hello"})


def test_a_message_is_sent_again_only_if_it_was_not_taken() -> None:
    with serve(in_turn(Reply("", 429, {"Retry-After": "2"}), Reply({"ok": True}))) as web:
        assert call(web, send) == (JsonObject({"ok": True}), [2.0])
    assert [asked.content for asked in web.asked] == [{"text": "hello"}] * 2


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_message_that_may_have_been_taken_is_not_sent_again(status: int) -> None:
    with serve(always(Reply("", status))) as web:
        error = refused(web, send)
    code = "service-busy" if status == 503 else "service-failed"
    assert (error.code, error.transient, len(web.asked)) == (code, False, 1)


def test_a_message_whose_answer_breaks_off_is_not_sent_again() -> None:
    with serve(always(Reply(headers={"Content-Length": "100"}, write=lambda out: out.write(b"{")))) as web:
        error = refused(web, send)
    assert (error.code, error.transient, len(web.asked)) == ("service-broken", False, 1)


def test_a_message_is_never_redirected() -> None:
    with serve(always(Reply("", 307, {"Location": "/b"}))) as web:
        assert refused(web, send).code == "service-redirect"
    assert len(web.asked) == 1


@pytest.mark.parametrize(
    "url", ["tracker.example", "ftp://tracker.example", "http://", "https://me:pw@tracker.example"]
)
def test_a_configured_address_is_checked(url: str) -> None:
    with pytest.raises(NodeError) as caught:
        base_address("Tracker", "TRACKER_URL", url)
    assert caught.value.code == "service-address"
    assert "TRACKER_URL" in caught.value.message
    assert "pw" not in caught.value.message
