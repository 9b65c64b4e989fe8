"""The real Codex and Gemini CLI, called as flows call them, each with the scripted model of its protocol."""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.probe.scripted_model import Turn, Usage, tool_turn
from real.calling import (
    SCHEMA,
    STUBBORN,
    has_begun,
    job,
    left_over,
    make_noisy,
    nothing_left,
    only,
    perform,
    performed,
    shell,
    timed_out,
    told,
    write,
)
from real.hosts import HOSTS, Seat
from real.waiting import until
from service_errors import SPENT, failed_turn


@pytest.fixture(params=["codex", "gemini"])
def seat(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Seat]:
    host = HOSTS[request.param]
    with host.protocol() as model:
        found = Seat(host, tmp_path, model)
        (tmp_path / "tmp").mkdir()
        found.env |= {"PATH": f"{host.program.parent}{os.pathsep}{found.env['PATH']}", "TMPDIR": str(tmp_path / "tmp")}
        yield found
        nothing_left(found)


def settings(seat: Seat, **general: Any) -> None:
    """Other general settings of Gemini CLI."""
    path = seat.home / ".gemini" / "settings.json"
    if path.exists():
        data = json.loads(path.read_text())
        path.write_text(json.dumps({**data, "general": {**data["general"], **general}}))


@pytest.mark.parametrize("permissions", ["work", "full"])
def test_it_writes_a_file_and_reports_its_events(seat: Seat, permissions: str) -> None:
    command = shell(seat, "sleep 0.1; printf '%s-%s' 40 two > ran.txt; cat ran.txt")
    seat.model.script(write(seat, Usage(1000, 50, 400)), command, Turn("It is written.", usage=Usage(1200, 20, 1000)))
    said = performed(seat, job(seat, permissions=permissions))
    assert (seat.project / "made.txt").read_text() == "made\n"
    assert (seat.project / "ran.txt").read_text() == "40-two"
    kinds = ["session", "text", "tool", "result", "tool", "result", "text", "finished"]
    assert [one.kind for one in said if one.kind != "usage"] == kinds
    assert [one.data["ok"] for one in said if one.kind == "result"] == [True, True]
    assert "40-two" in told(said, "result")[1]["output"]
    assert only(said, "usage") == {"inputTokens": 2300, "outputTokens": 80, "cachedTokens": 1400, "usd": None}
    finished = only(said, "finished")
    assert (finished["outcome"], finished["message"], finished["text"]) == ("done", None, "It is written.")


def test_the_prompt_reaches_the_model_unchanged(seat: Seat) -> None:
    prompt = "/help: -x \"two\" 'words' $(id) `id` {{args}} !{ls}\nand ä € \\n" + "long " * 40_000
    seat.model.script(Turn("So."))
    assert only(performed(seat, job(seat, prompt, model="gpt-5.5")), "finished")["text"] == "So."
    (request,) = seat.model.received()
    assert prompt.strip() in request.text


def test_the_read_permission_prevents_writing(seat: Seat) -> None:
    (seat.project / "there.txt").write_text("words of the file\n")
    read = tool_turn(seat.host.read(seat.project / "there.txt"))
    seat.model.script(write(seat), shell(seat, "echo x > ran.txt"), read, Turn("I may not."))
    said = performed(seat, job(seat, permissions="read"))
    assert not (seat.project / "made.txt").exists()
    assert not (seat.project / "ran.txt").exists()
    assert "words of the file" in seat.model.received()[-1].text
    assert next(one.data["name"] for one in said if one.kind == "denied") in ("apply_patch", "write_file")
    assert only(said, "finished")["outcome"] == "done"


def test_it_does_not_write_outside_of_the_project(seat: Seat) -> None:
    outside = Path("/var/tmp") / f"handrail-{uuid.uuid4()}.txt"  # Codex may write below /tmp
    seat.model.script(tool_turn(seat.host.write(outside, "x\n")), Turn("I may not."))
    performed(seat, job(seat))
    assert not outside.exists()


def test_a_conversation_is_resumed(seat: Seat) -> None:
    seat.model.script(Turn("One.", usage=Usage(1000, 50, 400)))
    first = performed(seat, job(seat, "The word is heron."))
    session = only(first, "session")["id"]
    seat.model.script(Turn("Two.", usage=Usage(7, 3, 1)))
    second = performed(seat, job(seat, "Which word?", session=session))
    assert only(second, "session")["id"] == session
    assert "The word is heron." in seat.model.received()[-1].text
    assert only(second, "usage") == {"inputTokens": 7, "outputTokens": 3, "cachedTokens": 1, "usd": None}
    assert only(second, "finished")["text"] == "Two."


def test_an_interrupted_conversation_is_resumed(seat: Seat) -> None:
    seat.model.script(shell(seat, STUBBORN, Usage(1000, 50, 400)))
    first = timed_out(seat, job(seat, "The word is heron."), lambda said: has_begun(seat) and told(said, "session"))
    seat.model.script(Turn("Two.", usage=Usage(7, 3, 1)))
    second = performed(seat, job(seat, "Which word?", session=only(first, "session")["id"]))
    assert "The word is heron." in seat.model.received()[-1].text
    assert only(second, "usage") == {"inputTokens": 7, "outputTokens": 3, "cachedTokens": 1, "usd": None}


def test_resuming_a_missing_conversation_fails(seat: Seat) -> None:
    said = performed(seat, job(seat, session="01a1e05a-0000-4000-8000-000000000000"))
    assert [one.kind for one in said] == ["finished"]
    assert said[0].data["outcome"] == "crash"
    assert "session" in said[0].data["message"] or "rollout" in said[0].data["message"]


def test_a_new_conversation_has_the_id_it_is_given(seat: Seat) -> None:
    given = "01a1e05a-0000-4000-8000-000000000001"
    seat.model.script(Turn("One."))
    session = only(performed(seat, job(seat, new_session=given)), "session")["id"]
    assert (session == given) == (seat.host.name == "gemini")  # Codex accepts no id for a new conversation


def test_a_json_answer_is_read(seat: Seat) -> None:
    seat.model.script(write(seat), Turn('{"a": 3}'))
    said = performed(seat, job(seat, schema=SCHEMA))
    assert only(said, "finished")["structured"] == {"a": 3}
    request = seat.model.received()[-1]
    if seat.host.name == "codex":
        assert request.body["text"]["format"]["schema"] == SCHEMA
    else:
        assert json.dumps(SCHEMA) in request.text


def test_an_unknown_key_is_reported(seat: Seat) -> None:
    seat.model.script(*[failed_turn(401)] * 20)
    said = performed(seat, job(seat))
    finished = only(said, "finished")
    assert (finished["outcome"], finished["resetsAt"]) == ("auth", None)
    assert "usage" not in [one.kind for one in said]


def test_a_limit_is_reported_with_its_reset_time(seat: Seat) -> None:
    settings(seat, maxAttempts=1)
    is_codex = seat.host.name == "codex"  # it reports only the reset time of a plan
    seat.model.script(*[failed_turn(429, SPENT if is_codex else "", retry_after=3600 if is_codex else 240)] * 20)
    finished = only(performed(seat, job(seat)), "finished")
    assert finished["outcome"] == ("quota" if is_codex else "rate-limit")
    assert finished["resetsAt"] == pytest.approx(time.time() + (3600 if is_codex else 240), abs=120)


def test_a_limit_without_a_reset_time_is_reported_without_one(seat: Seat) -> None:
    settings(seat, maxAttempts=1)
    seat.model.script(*[failed_turn(429)] * 20)
    finished = only(performed(seat, job(seat)), "finished")
    assert finished["outcome"] == ("rate-limit" if seat.host.name == "codex" else "quota")
    assert finished["resetsAt"] is None


def test_it_retries_after_three_service_errors(seat: Seat) -> None:
    settings(seat, maxAttempts=4)
    seat.model.script(failed_turn(500), failed_turn(500), failed_turn(500), write(seat), Turn("It is written."))
    said = performed(seat, job(seat))
    assert only(said, "finished")["outcome"] == "done"
    assert "retry" in [one.kind for one in said]
    assert (seat.project / "made.txt").exists()


def test_a_service_that_always_fails_is_reported(seat: Seat) -> None:
    settings(seat, maxAttempts=1)
    seat.model.script(write(seat, Usage(1000, 50, 400)), *[failed_turn(500)] * 20)
    said = performed(seat, job(seat))
    assert only(said, "finished")["outcome"] == "unavailable"
    assert only(said, "usage") == {"inputTokens": 1000, "outputTokens": 50, "cachedTokens": 400, "usd": None}


def test_a_refusal_of_the_model_is_reported(seat: Seat) -> None:
    settings(seat, maxAttempts=1)
    seat.model.script(*[Turn("", finish="refusal")] * 20)
    assert only(performed(seat, job(seat)), "finished")["outcome"] == "refused"


def test_an_interrupted_stream_is_reported(seat: Seat) -> None:
    settings(seat, maxAttempts=1)
    seat.model.script(*[Turn("I begin", drop=True)] * 20)
    assert only(performed(seat, job(seat)), "finished")["outcome"] == "unavailable"


def test_an_unreachable_service_is_reported(seat: Seat) -> None:
    settings(seat, maxAttempts=1)
    seat.model.close()
    assert only(performed(seat, job(seat)), "finished")["outcome"] == "unavailable"


def test_a_hanging_model_is_stopped_at_the_timeout(seat: Seat) -> None:
    seat.model.script(Turn("I begin", hang=True))
    timed_out(seat, job(seat), lambda _: seat.model.received())
    nothing_left(seat)


@pytest.mark.parametrize("permissions", ["work", "full"])
def test_a_child_that_ignores_signals_is_killed(seat: Seat, permissions: str) -> None:
    seat.model.script(shell(seat, STUBBORN))
    timed_out(seat, job(seat, permissions=permissions), lambda _: has_begun(seat))
    nothing_left(seat)


def test_a_cancelled_call_leaves_no_process(seat: Seat) -> None:
    seat.model.script(shell(seat, STUBBORN))

    async def give_up() -> None:
        task = asyncio.create_task(perform(seat, job(seat)))
        await asyncio.to_thread(until, lambda: has_begun(seat), "the child")
        assert left_over(seat)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    nothing_left(seat)


def test_noise_between_the_lines_is_ignored(seat: Seat, tmp_path: Path) -> None:
    make_noisy(seat, tmp_path)
    seat.model.script(write(seat), Turn("It is written."))
    said = performed(seat, job(seat))
    assert only(said, "finished")["text"] == "It is written."
    assert [one.kind for one in said].count("tool") == 1
