"""The scripted models, tested without an agent."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator

import pytest

from handrail.agents.probe.protocols import Anthropic, Chat, Google, Responses
from handrail.agents.probe.scripted_model import Json, ScriptedModel, Turn, Usage
from service_errors import SPENT, failed_turn

TOOLS = [{"name": "write"}]
PATHS = {
    Anthropic: "/v1/messages?beta=true",
    Chat: "/v1/chat/completions",
    Responses: "/v1/responses",
    Google: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
}


@pytest.fixture(params=PATHS, ids=lambda protocol: protocol.__name__)
def scripted(request: pytest.FixtureRequest) -> Iterator[ScriptedModel]:
    with request.param() as server:
        yield server


def ask(scripted: ScriptedModel, body: Json | None = None, path: str = "") -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", scripted.server.server_address[1], timeout=20)
    question = {
        "stream": True,
        "tools": TOOLS,
        "messages": [{"role": "user", "content": "hello there"}],
        **(body or {}),
    }
    connection.request("POST", path or PATHS[type(scripted)], json.dumps(question))
    return connection.getresponse()


def said(response: http.client.HTTPResponse) -> str:
    with response:
        return response.read().decode()


def test_each_request_takes_the_next_turn(scripted: ScriptedModel) -> None:
    scripted.script(Turn("first words"), Turn("second words", (("write", {"path": "a.txt"}),)))
    first, second, third = (said(ask(scripted)) for _ in range(3))
    assert "first words" in first
    assert "second words" in second
    assert "write" in second
    assert "a.txt" in second
    assert "the script is over" in third
    assert [request.text.count("hello there") for request in scripted.received()] == [1, 1, 1]


def test_tokens_are_counted_as_the_turn_says(scripted: ScriptedModel) -> None:
    scripted.script(Turn("words", usage=Usage(1000, 50, 400)))
    text = said(ask(scripted))
    assert ("600" if isinstance(scripted, Anthropic) else "1000") in text
    assert "400" in text
    assert "50" in text


def test_a_slow_turn_comes_in_pieces(scripted: ScriptedModel) -> None:
    scripted.script(Turn("twenty letters, more", slow=0.01))
    text = said(ask(scripted))
    assert '"twenty let' in text
    assert '"ters, more' in text


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_errors_have_a_body_that_says_why(scripted: ScriptedModel, status: int) -> None:
    scripted.script(failed_turn(status, retry_after=2))
    response = ask(scripted)
    assert response.status == status
    text = said(response)
    assert json.loads(text)["error"]["message"]
    assert response.getheader("retry-after") == "2" or '"retryDelay": "2s"' in text


def test_an_exhausted_plan_has_a_reset_time(scripted: ScriptedModel) -> None:
    scripted.script(failed_turn(429, SPENT, retry_after=3600))
    response = ask(scripted)
    everything = said(response) + json.dumps(dict(response.getheaders()))
    told = {Anthropic: "unified-reset", Responses: "resets_at", Google: "PerDay", Chat: "insufficient_quota"}
    assert told[type(scripted)] in everything


@pytest.mark.parametrize("finish", ["length", "refusal"])
def test_a_model_can_end_for_another_reason(scripted: ScriptedModel, finish: str) -> None:
    scripted.script(Turn("words", finish="length" if finish == "length" else "refusal"))
    words = {"length": ("max_tokens", "length", "max_output"), "refusal": ("refusal", "content_filter", "safety")}
    text = said(ask(scripted)).lower()
    assert any(word in text for word in words[finish])


@pytest.mark.parametrize("text", ["", "half of it"])
def test_a_dropped_connection_has_no_end(scripted: ScriptedModel, text: str) -> None:
    scripted.script(Turn(text, drop=True))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        said(ask(scripted))


def test_a_turn_that_hangs_ends_with_the_server(scripted: ScriptedModel) -> None:
    scripted.script(Turn("words", hang=True))
    response = ask(scripted)
    threading.Timer(0.2, scripted.close).start()
    with contextlib.suppress(ConnectionResetError):  # or its end, if the server had sent everything
        said(response)


def test_side_requests_take_no_turn() -> None:
    asides: dict[type[ScriptedModel], tuple[Json, str]] = {
        Anthropic: ({"tools": []}, ""),
        Chat: ({"tools": []}, ""),
        Google: ({}, "/v1beta/models/gemini-2.5-pro:generateContent"),
    }
    for protocol, (body, path) in asides.items():
        with protocol(Turn("of the conversation")) as scripted:
            assert "of the conversation" not in said(ask(scripted, body, path))
            assert not scripted.received()
            assert "of the conversation" in said(ask(scripted))


def test_without_a_stream_the_answer_comes_in_one_piece() -> None:
    for protocol in (Anthropic, Chat, Responses):
        with protocol(Turn("words", (("write", {"path": "a"}),))) as scripted:
            whole = json.loads(said(ask(scripted, {"stream": False})))
            assert "words" in json.dumps(whole)


def test_a_question_with_a_schema_gets_a_matching_answer() -> None:
    form = {"type": "object", "properties": {"model": {"enum": ["flash", "pro"]}, "sure": {"type": "number"}}}
    with Google() as scripted:
        path = "/v1beta/models/gemini-2.5-pro:generateContent"
        whole = json.loads(said(ask(scripted, {"generationConfig": {"responseJsonSchema": form}}, path)))
        assert json.loads(whole["candidates"][0]["content"]["parts"][0]["text"]) == {"model": "flash", "sure": 0}


def test_a_tool_of_a_server_is_called_in_its_namespace() -> None:
    with Responses(Turn(tools=(("mcp__notes__add", {"text": "x"}), ("apply_patch", "*** Begin Patch")))) as scripted:
        text = said(ask(scripted))
    assert '"namespace": "mcp__notes"' in text
    assert '"name": "add"' in text
    assert '"type": "custom_tool_call"' in text
