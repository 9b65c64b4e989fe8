"""Agents that print what they used only at the end of a turn: it is read from their own records during the turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.outcomes import NewRecords
from handrail.extensions.contracts import AgentJob, AgentSaid
from handrail.extensions.registry import Registry

ID = "01a1e197-3365-7790-9ad7-6707fe4a0388"
BEGUN: dict[str, Any] = {
    "codex": {"type": "thread.started", "thread_id": ID},
    "gemini": {"type": "init", "session_id": ID},
    "copilot": {"type": "user.message", "data": {}},
}
TOOL: dict[str, Any] = {
    "codex": {"type": "item.completed", "item": {"type": "command_execution", "id": "1", "command": "ls"}},
    "gemini": {"type": "tool_result", "tool_id": "1", "status": "success"},
    "copilot": {"type": "tool.execution_complete", "data": {"toolCallId": "1", "success": True}},
}


def codex(number: int) -> dict[str, Any]:
    counted = {"input_tokens": 1000 * number, "output_tokens": 50 * number, "cached_input_tokens": 0}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": counted}}}


def gemini(number: int) -> dict[str, Any]:
    tokens = {"input": 1000, "output": 40, "cached": 0, "thoughts": 10, "total": 1050}
    return {"id": f"answer-{number}", "type": "gemini", "content": "", "tokens": tokens}


def copilot(number: int) -> dict[str, Any]:
    usage = {"inputTokens": 1000, "outputTokens": 50, "cacheReadTokens": 0}
    return {"type": "session.usage_record", "data": {"usage": usage, "number": number}}


PATHS = {
    "codex": f".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{ID}.jsonl",
    "gemini": f".gemini/tmp/project/chats/session-2026-01-02T03-04-{ID[:8]}.jsonl",
    "copilot": f".copilot/session-state/{ID}/events.jsonl",
}
RECORDS: dict[str, Callable[[int], dict[str, Any]]] = {"codex": codex, "gemini": gemini, "copilot": copilot}


class Agent:
    """An agent that writes its record while it works."""

    def __init__(self, name: str, home: Path) -> None:
        self.name = name
        self.home = home
        self.path = home / PATHS[name]
        self.path.parent.mkdir(parents=True)
        (home / "session").write_text(ID)
        self.number = 0

    def answers(self, times: int = 1) -> None:
        with self.path.open("a") as file:
            for _ in range(times):
                self.number += 1
                line = json.dumps(RECORDS[self.name](self.number), separators=(",", ":"))
                file.write(f"{line}\n" * (2 if self.name == "gemini" else 1))  # Gemini CLI records an answer again

    def reader(self, session: str | None = None) -> Any:
        job = AgentJob(prompt="", cwd="/", env={"HOME": str(self.home)}, timeout=60.0, session=session)
        return Registry().executor(self.name).reader(job, str(self.home))


def counts(said: list[AgentSaid]) -> list[tuple[int, int]]:
    return [(one.data["inputTokens"], one.data["outputTokens"]) for one in said if one.kind == "usage"]


@pytest.fixture(params=sorted(RECORDS))
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    return Agent(request.param, tmp_path)


def test_it_is_reported_after_each_tool_if_it_is_news(agent: Agent) -> None:
    reader = agent.reader()
    said = [*reader.take(BEGUN[agent.name]), *reader.take(TOOL[agent.name])]
    assert counts(said) == []
    agent.answers()
    said += [*reader.take(TOOL[agent.name]), *reader.take(TOOL[agent.name])]
    assert counts(said) == [(1000, 50)]
    agent.answers(2)
    said += reader.take(TOOL[agent.name])
    assert counts(said) == [(1000, 50), (3000, 150)]


def test_what_was_used_before_this_job_does_not_count(agent: Agent) -> None:
    agent.answers(2)
    reader = agent.reader(ID)
    said = [*reader.take(BEGUN[agent.name]), *reader.take(TOOL[agent.name])]
    assert counts(said) == []
    agent.answers()
    assert counts([*reader.take(TOOL[agent.name])]) == [(1000, 50)]


def test_a_damaged_record_is_no_news(agent: Agent) -> None:
    line = json.dumps(RECORDS[agent.name](1), separators=(",", ":"))
    agent.path.write_text(f"{line[:-1]}\n")
    reader = agent.reader()
    said = [*reader.take(BEGUN[agent.name]), *reader.take(TOOL[agent.name])]
    assert counts(said) == []


def test_a_line_counts_when_it_is_complete(tmp_path: Path) -> None:
    path, records = tmp_path / "record", NewRecords()
    paths = [str(path)]
    assert [*records.read(paths)] == []
    path.write_bytes(b'{"a": 1}\n{"b"')
    assert [*records.read(paths)] == [{"a": 1}]
    path.write_bytes(b'{"a": 1}\n{"b": 2}\n')
    assert [*records.read(paths)] == [{"b": 2}]
    assert [*records.read(paths)] == []
