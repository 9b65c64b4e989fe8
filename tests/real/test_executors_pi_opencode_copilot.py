"""The real pi, OpenCode and Copilot CLI, called as flows call them, with a scripted model."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.probe.scripted_model import Turn, Usage, tool_turn
from handrail.extensions.contracts import AgentJob
from real import calling
from real.calling import (
    SCHEMA,
    STUBBORN,
    Heard,
    has_begun,
    hear,
    left_over,
    make_noisy,
    nothing_left,
    only,
    shell,
    timed_out,
    told,
    write,
)
from real.hosts import HOSTS, Seat
from real.waiting import until
from service_errors import failed_turn

FIRST = "/init \"the first prompt\" - with $signs and 'quotes'\n@file\n"
QUICK = {"retry": {"maxRetries": 3, "baseDelayMs": 50}}


@pytest.fixture(params=["pi", "opencode", "copilot"])
def seat(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Seat]:
    host = HOSTS[request.param]
    with host.protocol() as model:
        found = Seat(host, tmp_path, model)
        found.env |= {"PATH": f"{host.program.parent}{os.pathsep}{found.env['PATH']}"}
        (found.home / ".pi" / "agent").mkdir(parents=True, exist_ok=True)
        (found.home / ".pi" / "agent" / "settings.json").write_text(json.dumps(QUICK))
        yield found


def job(seat: Seat, prompt: str = "do it", **changes: Any) -> AgentJob:
    model = "fake-1" if seat.host.name == "copilot" else "fake/fake-1"
    return calling.job(seat, prompt, model=model, **changes)


def performed(seat: Seat, prompt: str = "do it", **changes: Any) -> Heard:
    said = calling.performed(seat, job(seat, prompt, **changes))
    nothing_left(seat)
    return said


def test_a_job_is_done_and_its_session_can_be_resumed(seat: Seat, tmp_path: Path) -> None:
    """The program prints noise before it begins, which is ignored."""
    make_noisy(seat, tmp_path)
    written = write(seat, Usage(1000, 50, 400))
    seat.model.script(written, Turn("It is written.", usage=Usage(1200, 20, 1000)))
    said = performed(seat, FIRST)
    assert (seat.project / "made.txt").read_text() == "made\n"
    done = {"outcome": "done", "message": None, "resetsAt": None, "text": "It is written.", "structured": None}
    assert only(said, "finished") == done
    assert FIRST.strip() in seat.model.received()[0].text
    usd = None if seat.host.name == "copilot" else 0.00387
    assert told(said, "usage")[-1] == {"inputTokens": 2200, "outputTokens": 70, "cachedTokens": 1400, "usd": usd}
    assert [data["ok"] for data in told(said, "result")] == [True]

    session = only(said, "session")["id"]
    answer = (
        tool_turn(("StructuredOutput", {"a": 1}))
        if seat.host.name == "opencode"
        else Turn('Here:\n```json\n{"a": 1}\n```')
    )
    seat.model.script(answer._replace(usage=Usage(300, 5, 0)))
    said = performed(seat, "the second prompt", session=session, schema=SCHEMA)
    request = seat.model.received()[-1].text
    assert "the first prompt" in request
    assert "the second prompt" in request
    assert told(said, "session") == [{"id": session}]
    assert only(said, "finished")["structured"] == {"a": 1}
    assert told(said, "usage")[-1]["inputTokens"] == 300


def test_an_unknown_key_is_an_auth_error(seat: Seat) -> None:
    seat.model.script(*[failed_turn(401)] * 4)
    assert only(performed(seat), "finished")["outcome"] == "auth"


def test_a_limit_is_reported_with_its_reset_time(seat: Seat) -> None:
    seat.model.script(*[failed_turn(429, retry_after=3600)] * 8)
    finished = only(performed(seat), "finished")
    assert finished["outcome"] == "rate-limit"
    assert finished["resetsAt"] == pytest.approx(time.time() + 3600, abs=120)


def test_retries_of_the_program_are_reported_and_may_succeed(seat: Seat) -> None:
    seat.model.script(*[failed_turn(500, retry_after=0.1)] * 3, Turn("It went well."))
    said = performed(seat)
    assert len(told(said, "retry")) == 3
    assert only(said, "finished")["outcome"] == "done"
    assert only(said, "finished")["text"] == "It went well."


def test_a_hanging_model_is_a_timeout(seat: Seat) -> None:
    seat.model.script(Turn("I think", hang=True))
    timed_out(seat, job(seat), lambda _: seat.model.received())
    nothing_left(seat)


def test_the_read_permission_denies_and_reports_writing(seat: Seat) -> None:
    seat.model.script(write(seat), shell(seat, "touch touched.txt"), Turn("I could not."))
    said = performed(seat, permissions="read")
    assert not (seat.project / "made.txt").exists()
    assert not (seat.project / "touched.txt").exists()
    assert [data["name"] for data in told(said, "denied")] == [write(seat).tools[0][0], shell(seat, "").tools[0][0]]
    assert only(said, "finished")["outcome"] == "done"


def test_a_stopped_agent_leaves_no_process_and_can_be_resumed(seat: Seat) -> None:
    """This includes the process of a tool that ignores signals."""
    seat.model.script(shell(seat, STUBBORN))
    session: list[str] = []

    async def hear_session() -> None:
        async for said in hear(seat, job(seat, "the first prompt")):
            session.extend(said.data.values() if said.kind == "session" else ())

    async def stop() -> None:
        task = asyncio.ensure_future(hear_session())
        await asyncio.to_thread(until, lambda: has_begun(seat), "the tool to begin")
        assert len(left_over(seat)) > 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(stop())
    nothing_left(seat)
    seat.model.script(Turn("I went on."))
    assert only(performed(seat, "go on", session=session[0]), "finished")["text"] == "I went on."
    assert "the first prompt" in seat.model.received()[-1].text


def test_programs_that_the_agent_runs_have_no_logins(seat: Seat) -> None:
    """Copilot CLI has a token to log in with, but the programs that it runs do not see it."""
    token = "github_pat_s3cretS3cretS3cret"
    seat.env |= {"GH_TOKEN": token, "SSH_AUTH_SOCK": "/nowhere/agent"}
    look = "env > env.txt; git config --get-all credential.helper | tail -n 1 | wc -c > helper.txt"
    for has_logins in (False, True):
        seat.model.script(shell(seat, look), Turn("Done."))
        assert only(performed(seat, has_logins=has_logins), "finished")["outcome"] == "done"
        seen = (seat.project / "env.txt").read_text()
        assert ("/nowhere/agent" in seen) == has_logins
        if not has_logins:
            assert token not in seen
            assert "GIT_TERMINAL_PROMPT=0" in seen
            assert (seat.project / "helper.txt").read_text().strip() == "1", "an empty helper removes the others"
