"""What a run may use at most holds within one turn of each real agent, and the run can be resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.agents.probe.scripted_model import Turn, Usage, tool_turn
from real.hosts import HOSTS, Seat
from real.measured import Driver

FLOW = "phases: [{id: a, steps: [{id: x, node: llm-prompt, prompt: Do it.}]}]\n"
STEPS = 10
PAUSE = 0.5
"""Seconds that each tool takes: some agents record what they used a moment later."""


def driver(seat: Seat) -> Driver:
    found = Driver(seat)
    found.write(".handrail/flows/ask.yaml", FLOW)
    shells = [seat.host.shell(f"sleep {PAUSE}; echo {number} >> steps.txt") for number in range(STEPS)]
    seat.model.script(*(tool_turn(shell, usage=Usage(1000, 50)) for shell in shells), Turn("Done."))
    return found


def done(seat: Seat) -> int:
    return len((seat.project / "steps.txt").read_text().splitlines())


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_tokens_are_bounded_within_a_turn(name: str, tmp_path: Path) -> None:
    host = HOSTS[name]
    with host.protocol() as model:
        seat = Seat(host, tmp_path, model)
        agent = driver(seat)
        ended = agent.ask("--max-tokens", "2500", code=6)
        assert (ended["status"], "of at most 2500 tokens (`--max-tokens`)" in ended["reason"]) == ("cancelled", True)
        assert 1 <= done(seat) < STEPS
        assert agent.nothing_left("steps.txt")
        model.script(Turn("Done."))
        again = agent.run("resume", ended["run"], "--max-tokens", "100000")
        assert again["status"] == "completed"
        assert again["usage"]["inputTokens"] > 2000


def test_dollars_are_bounded_within_a_turn_of_claude_code(tmp_path: Path) -> None:
    host = HOSTS["claude"]
    with host.protocol() as model:
        seat = Seat(host, tmp_path, model)
        ended = driver(seat).ask("--max-usd", "0.01", code=6)
        assert "of at most $0.01 (`--max-usd`)" in ended["reason"]
        assert 1 <= done(seat) < STEPS
