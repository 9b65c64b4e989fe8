"""pi: the command line for a job, and the events read from its output."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.spoilt import spoilt
from handrail.agents.pi import executor
from handrail.extensions.contracts import AgentJob, AgentSaid, NodeError

SAMPLES = Path(__file__).parent.parent / "agents" / "samples" / "pi"
SESSION = {"type": "session", "id": "01a1e195-cb83-7423-80f8-8b0bdbd16b53"}
SETTLED = {"type": "agent_settled"}


def job(**changes: Any) -> AgentJob:
    return replace(AgentJob(prompt="do it", cwd="/project", env={"HOME": "/home/me"}, timeout=60.0), **changes)


def heard(*events: dict[str, Any], given: AgentJob | None = None, code: int = 0, errors: str = "") -> list[AgentSaid]:
    reader = executor.reader(given or job(), "/private")
    said = [said for event in events for said in reader.take(event)]
    return [*said, *reader.end(code, errors)]


def sample(case: str) -> list[AgentSaid]:
    about = json.loads((SAMPLES / f"{case}.json").read_text())
    lines = (SAMPLES / f"{case}.jsonl").read_text().splitlines()
    return heard(*map(json.loads, lines), code=about["code"], errors=about["stderr"])


def kinds(said: list[AgentSaid]) -> list[str]:
    return [one.kind for one in said]


def message(text: str = "", reason: str = "stop", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    return {"type": "message_end", "message": {"role": "assistant", "content": content, "stopReason": reason, **more}}


def test_a_successful_turn_is_reported_event_by_event() -> None:
    said = sample("success")
    assert kinds(said) == ["session", "text", "usage", "tool", "result", "text", "usage", "finished"]
    assert said[3].data["name"] == "write"
    assert said[3].data["input"] == {"path": "/project/made.txt", "content": "made\n"}
    assert said[4].data["ok"] is True
    assert said[4].data["id"] == said[3].data["id"]
    assert said[6].data == {"inputTokens": 2200, "outputTokens": 70, "cachedTokens": 1400, "usd": 0.00387}
    assert said[7].data["outcome"] == "done"
    assert said[7].data["text"] == "It is written."


@pytest.mark.parametrize(("case", "outcome"), [("401", "auth"), ("429", "rate-limit"), ("spent", "quota")])
def test_a_model_failure_is_reported_although_the_program_exits_with_0(case: str, outcome: str) -> None:
    finished = sample(case)[-1].data
    assert finished["outcome"] == outcome
    assert "{" not in finished["message"]


def test_the_retry_time_of_the_service_is_reported() -> None:
    resets_at = sample("429")[-1].data["resetsAt"]
    assert resets_at == pytest.approx(time.time() + 1, abs=5)


def test_a_turn_with_a_successful_retry_is_done() -> None:
    said = sample("500-then-fine")
    assert kinds(said)[:2] == ["session", "retry"]
    assert said[-1].data["outcome"] == "done"


def test_the_session_is_reported_once_pi_has_saved_it() -> None:
    assert kinds(heard(SESSION, {"type": "agent_start"})) == ["finished"]
    assert kinds(heard(SESSION, message("hi"), SETTLED)) == ["session", "text", "finished"]


@pytest.mark.parametrize(
    ("events", "errors", "outcome", "words"),
    [
        ((SESSION, message("part")), "", "crash", "signal 9"),
        ((), "No session found matching '0000'\n", "crash", "No session found"),
        ((), "Error: No API key found for anthropic\n", "auth", "No API key"),
        ((message("cut", "length"), SETTLED), "", "crash", "cut off"),
        ((message("", "aborted"), SETTLED), "", "crash", "aborted"),
    ],
)
def test_an_incomplete_turn_is_not_a_success(
    events: tuple[dict[str, Any], ...], errors: str, outcome: str, words: str
) -> None:
    finished = heard(*events, code=-9, errors=errors)[-1].data
    assert finished["outcome"] == outcome
    assert words in finished["message"]


def test_an_older_pi_without_settled_events_is_done_at_agent_end() -> None:
    assert heard(message("hi"), {"type": "agent_end", "messages": []})[-1].data["outcome"] == "done"


def test_unknown_costs_and_tokens_are_none() -> None:
    nothing = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}
    assert "usage" not in kinds(heard(message("hi", usage=nothing), SETTLED))
    free = {**nothing, "input": 5, "output": 2}
    said = heard(message("hi", usage=free), SETTLED)
    assert said[1].data == {"inputTokens": 5, "outputTokens": 2, "cachedTokens": 0, "usd": None}


def test_a_tool_outside_the_read_permission_is_reported_as_denied() -> None:
    ended = {"type": "tool_execution_end", "toolCallId": "1", "toolName": "write", "isError": True, "result": {}}
    assert kinds(heard(ended, given=job(permissions="read"))) == ["result", "denied", "finished"]
    assert kinds(heard(ended)) == ["result", "finished"]


def test_a_json_answer_is_requested_and_read() -> None:
    given = job(schema={"type": "object"})
    assert b"JSON Schema" in (executor.launch(given, "/private").stdin or b"")
    assert heard(message('{"a": 1}'), SETTLED, given=given)[-1].data["structured"] == {"a": 1}
    assert heard(message('{"a": 1}', "length"), SETTLED, given=given)[-1].data["structured"] is None


def test_a_job_becomes_a_command_line_without_its_prompt() -> None:
    launch = executor.launch(job(model="openai/gpt-5", session="01a1-b2", permissions="read"), "/private")
    assert launch.argv == (
        *("pi", "--mode", "json", "--print", "--model", "openai/gpt-5", "--session", "01a1-b2"),
        *("--tools", "read,grep,find,ls"),
    )
    assert launch.stdin == b"do it"
    assert executor.launch(job(permissions="work"), "/private").argv == ("pi", "--mode", "json", "--print")


@pytest.mark.parametrize("prompt", ["/help me", " \n/help me"])
def test_a_prompt_is_never_read_as_a_command_of_pi(prompt: str) -> None:
    given = (executor.launch(job(prompt=prompt), "/private").stdin or b"").decode()
    assert given.endswith(prompt)
    assert not given.lstrip().startswith("/")


@pytest.mark.parametrize("session", ["-c", "../other.jsonl", "a/b", ""])
def test_a_text_that_is_not_an_id_is_refused_as_session(session: str) -> None:
    with pytest.raises(NodeError, match="not a session id"):
        executor.launch(job(session=session), "/private")


def test_changed_lines_raise_no_error() -> None:
    assert all(heard(line)[-1].kind == "finished" for line in spoilt(SAMPLES))
