"""pi, OpenCode and Copilot CLI, called as flows call them: the real programs, against a scripted model.

`HANDRAIL_KEY` marks everything that a job starts, so that what is left of it is found.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail import registry
from handrail.contracts import AgentJob, AgentSaid
from handrail.nodes.calling import call
from handrail.secrets import allowed
from real.hosts import HOSTS, Seat
from real.models.turn import Call, Turn, Usage, calls, failed
from real.waiting import until

AGENTS = ("pi", "opencode", "copilot")
FIRST = "/init \"the first prompt\" - with $signs and 'quotes'\n@file\n"
LIMIT = 90.0
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
STUBBORN = "#!/bin/sh\ntrap '' TERM INT HUP\ntouch begun\nwhile :; do sleep 0.2; done\n"
NOISE = """#!/bin/sh
echo "warning: this is not JSON"; echo '{"half": '; echo '[1, 2]'; echo '{}'; echo 'a complaint' >&2
exec "$PROGRAM" "$@"
"""


class Caller:
    """A seat whose program is called through its executor."""

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        self.name = seat.host.name
        self.executor = registry.executor(self.name)
        self.mark = f"HANDRAIL_KEY={uuid.uuid4().hex}"
        (seat.home / ".pi" / "agent").mkdir(parents=True, exist_ok=True)
        quick = {"retry": {"maxRetries": 3, "baseDelayMs": 50}}
        (seat.home / ".pi" / "agent" / "settings.json").write_text(json.dumps(quick))
        self.path = f"{seat.host.program.parent}{os.pathsep}{seat.env['PATH']}"

    def job(self, prompt: str = "do it", **changes: Any) -> AgentJob:
        env = allowed({**self.seat.env, "PATH": self.path}, self.executor.ENVIRONMENT)
        name, _, value = self.mark.partition("=")
        model = "fake-1" if self.name == "copilot" else "fake/fake-1"
        job = AgentJob(prompt=prompt, cwd=str(self.seat.project), env={**env, name: value}, timeout=LIMIT, model=model)
        return replace(job, **changes)

    def call(self, prompt: str = "do it", **changes: Any) -> list[AgentSaid]:
        async def hear() -> list[AgentSaid]:
            return [said async for said in call(self.executor, self.job(prompt, **changes))]

        said = asyncio.run(hear())
        assert [one.kind for one in said].count("finished") == 1
        assert said[-1].kind == "finished"
        assert self.left() == []
        return said

    def left(self) -> list[int]:
        """The processes that carry our mark."""
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and self.mark in _environment(name)]

    def write(self, name: str) -> Call:
        return self.seat.host.write(self.seat.project / name, "made\n")


def _environment(pid: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/environ").read_text(errors="replace").split("\0")
    except OSError:
        return []


@pytest.fixture(params=AGENTS)
def caller(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Caller]:
    host = HOSTS[request.param]
    with host.protocol() as model:
        yield Caller(Seat(host, tmp_path, model))


def only(said: list[AgentSaid], kind: str) -> list[dict[str, Any]]:
    return [one.data for one in said if one.kind == kind]


def test_a_job_is_done_and_its_session_goes_on(caller: Caller, tmp_path: Path) -> None:
    """The program prints noise before it begins, which nobody minds."""
    noisy = tmp_path / "bin" / caller.name
    noisy.parent.mkdir()
    noisy.write_text(NOISE.replace("$PROGRAM", shlex.quote(str(caller.seat.host.program))))
    noisy.chmod(0o755)
    caller.path = f"{noisy.parent}{os.pathsep}{caller.path}"
    written = calls(caller.write("made.txt"), text="I write it.", usage=Usage(1000, 50, 400))
    caller.seat.model.script(written, Turn("It is written.", usage=Usage(1200, 20, 1000)))
    said = caller.call(FIRST)
    assert (caller.seat.project / "made.txt").read_text() == "made\n"
    done = {"outcome": "done", "message": None, "resetsAt": None, "text": "It is written.", "structured": None}
    assert only(said, "finished") == [done]
    assert FIRST.strip() in caller.seat.model.received()[0].text
    usd = None if caller.name == "copilot" else 0.00387
    assert only(said, "usage")[-1] == {"inputTokens": 2200, "outputTokens": 70, "cachedTokens": 1400, "usd": usd}
    assert [data["ok"] for data in only(said, "result")] == [True]

    session = only(said, "session")[0]["id"]
    told = calls(("StructuredOutput", {"a": 1})) if caller.name == "opencode" else Turn('Here:\n```json\n{"a": 1}\n```')
    caller.seat.model.script(told._replace(usage=Usage(300, 5, 0)))
    said = caller.call("the second prompt", session=session, schema=SCHEMA)
    request = caller.seat.model.received()[-1].text
    assert "the first prompt" in request
    assert "the second prompt" in request
    assert only(said, "session") == [{"id": session}]
    assert only(said, "finished")[0]["structured"] == {"a": 1}
    assert only(said, "usage")[-1]["inputTokens"] == 300


def test_a_key_that_is_not_known_is_no_crash(caller: Caller) -> None:
    caller.seat.model.script(*[failed(401)] * 4)
    assert only(caller.call(), "finished")[0]["outcome"] == "auth"


def test_a_limit_is_told_with_the_time_when_it_ends(caller: Caller) -> None:
    caller.seat.model.script(*[failed(429, retry_after=3600)] * 8)
    finished = only(caller.call(), "finished")[0]
    assert finished["outcome"] == "rate-limit"
    assert finished["resetsAt"] == pytest.approx(time.time() + 3600, abs=60)


def test_the_programs_own_retries_are_told_and_may_help(caller: Caller) -> None:
    caller.seat.model.script(*[failed(500, retry_after=0.1)] * 3, Turn("It went well."))
    said = caller.call()
    assert len(only(said, "retry")) == 3
    assert only(said, "finished")[0]["outcome"] == "done"
    assert only(said, "finished")[0]["text"] == "It went well."


def test_a_model_that_hangs_is_a_time_limit(caller: Caller) -> None:
    caller.seat.model.script(Turn("I think", hang=True))
    limit = 12.0 if caller.name == "opencode" else 4.0
    assert only(caller.call(timeout=limit), "finished")[0]["outcome"] == "timeout"


def test_who_only_reads_writes_nothing_and_is_told_so(caller: Caller) -> None:
    shell = caller.seat.host.shell("touch touched.txt")
    caller.seat.model.script(calls(caller.write("made.txt")), calls(shell), Turn("I could not."))
    said = caller.call(permissions="read")
    assert not (caller.seat.project / "made.txt").exists()
    assert not (caller.seat.project / "touched.txt").exists()
    assert [data["name"] for data in only(said, "denied")] == [caller.write("")[0], shell[0]]
    assert only(said, "finished")[0]["outcome"] == "done"


def test_who_is_stopped_leaves_nothing_and_can_be_taken_up_again(caller: Caller) -> None:
    """Not even a program of a tool that ignores the signals that end others."""
    script = caller.seat.project / "stubborn.sh"
    script.write_text(STUBBORN)
    caller.seat.model.script(calls(caller.seat.host.shell("sh stubborn.sh")))
    session: list[str] = []

    async def hear() -> None:
        async for said in call(caller.executor, caller.job("the first prompt")):
            session.extend(only([said], "session")[0].values() if said.kind == "session" else ())

    async def stop() -> None:
        task = asyncio.ensure_future(hear())
        await asyncio.to_thread(until, (caller.seat.project / "begun").exists, lambda: "the tool never began")
        assert len(caller.left()) > 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(stop())
    assert caller.left() == []
    caller.seat.model.script(Turn("I went on."))
    assert only(caller.call("go on", session=session[0]), "finished")[0]["text"] == "I went on."
    assert "the first prompt" in caller.seat.model.received()[-1].text
