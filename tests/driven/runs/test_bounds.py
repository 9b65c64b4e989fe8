"""What a run may use at most: dollars, minutes and tokens. It ends within one turn of the agent and can be resumed."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.driven.runs.life import Meter
from handrail.driven.runs.run_events import Bounded
from handrail.extensions.contracts import Exhausted
from support import Project

FLOW = """\
phases:
  - id: build
    steps:
      - {id: first, node: llm-prompt, prompt: {inlineTemplate: First.}}
      - {id: second, node: llm-prompt, prompt: {inlineTemplate: Second.}}
      - {id: mark, node: write-file, params: {path: end.txt, text: done}}
"""
SCRIPT = """\
prompts:
- match: You were interrupted
  play:
  - {usage: {inputTokens: 10, outputTokens: 10, usd: 0.1}}
  - {tool: write, input: {path: again.txt, content: x}}
- match: First.
  play:
  - {usage: {inputTokens: 100, outputTokens: 20, usd: 0.4}}
- match: Second.
  play:
  - {usage: {inputTokens: 100, outputTokens: 20, usd: 0.4}}
  - {tool: write, input: {path: one.txt, content: x}}
  - {usage: {inputTokens: 300, outputTokens: 60, usd: 1.2}}
  - {hang: LONG}
  - {tool: write, input: {path: two.txt, content: x}}
"""

SLOW = """\
phases: [{id: p, steps: [{id: a, node: wait, params: {seconds: 0}}, {id: long, node: wait, params: {seconds: 60}}]}]
"""


@pytest.fixture
def paid(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    project.write(".handrail/flows/build.yaml", FLOW)
    project.write("script.yaml", SCRIPT.replace("LONG", "60"))
    return project


def calm(project: Project) -> None:
    """From here on, the agent is not waited for."""
    project.write("script.yaml", SCRIPT.replace("LONG", "0"))


def run(project: Project, *words: str, code: int = 0) -> dict[str, Any]:
    return project.json("run", "build", "--agent", "scripted", *words, code=code)


def made(project: Project) -> list[str]:
    names = ("one.txt", "two.txt", "again.txt", "end.txt")
    return [name for name in names if (project.folder / name).exists()]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--max-usd", "1"), "it used $1.6 of at most $1 (`--max-usd`)"),
        (("--max-tokens", "400"), "it used 480 of at most 400 tokens (`--max-tokens`)"),
    ],
)
def test_a_run_ends_within_the_turn_that_reaches_a_bound(paid: Project, option: tuple[str, str], words: str) -> None:
    ended = run(paid, *option, code=6)
    assert (ended["status"], ended["reason"], ended["error"]) == ("cancelled", words, None)
    assert made(paid) == ["one.txt"]
    assert option[0] in ended["hints"][0]
    assert ended["usage"]["usd"] == 1.6


@pytest.mark.whole
def test_it_is_resumed_with_a_higher_bound_and_keeps_what_it_did(paid: Project) -> None:
    id_ = run(paid, "--max-usd", "1", code=6)["run"]
    again = paid.json("resume", id_, code=6)
    assert "$1.6 of at most $1 " in again["reason"]
    ended = paid.json("resume", id_, "--max-usd", "2")
    assert (ended["status"], ended["usage"]["usd"]) == ("completed", 1.7)
    assert made(paid) == ["one.txt", "again.txt", "end.txt"]


@pytest.mark.whole
def test_a_restart_keeps_what_earlier_attempts_used_and_bounds_count_it(paid: Project) -> None:
    calm(paid)
    id_ = run(paid, "--max-usd", "1", code=6)["run"]
    again = paid.json("restart", id_, code=6)
    assert (again["reason"], again["phases"][0]["steps"][0]["attempts"]) == (
        "it used $1.6 of at most $1 (`--max-usd`)",
        0,
    )
    ended = paid.json("restart", id_, "--max-usd", "9")
    assert (ended["attempt"], ended["usage"]) == (3, {"inputTokens": 800, "outputTokens": 160, "usd": 3.2})
    assert "started by a script; the attempts before took" in paid.run("log", id_).out
    assert "and used 400 tokens in, 80 out, $1.60" in paid.run("log", id_).out


def test_a_restart_has_only_the_time_that_earlier_attempts_left(project: Project) -> None:
    project.write(".handrail/flows/slow.yaml", SLOW)
    id_ = project.json("run", "slow", "--max-minutes", "0.005", code=6)["run"]
    again = project.json("restart", id_, code=6)
    assert again["reason"] == "it ran for 0.005 minutes, which is the most it may (`--max-minutes`)"
    assert again["phases"][0]["steps"][1]["attempts"] == 0


def test_a_step_is_not_started_if_a_bound_is_already_reached(paid: Project) -> None:
    ended = run(paid, "--max-usd", "0.4", code=6)
    steps = {step["id"]: step for step in ended["phases"][0]["steps"]}
    assert (steps["second"]["attempts"], made(paid)) == (0, [])


@pytest.mark.whole
def test_a_run_below_its_bounds_ends_as_without_them(paid: Project) -> None:
    calm(paid)
    assert run(paid, "--max-usd", "2", "--max-tokens", "1000", "--max-minutes", "10")["status"] == "completed"


def test_a_run_ends_when_its_time_is_used_up(project: Project) -> None:
    project.write(".handrail/flows/slow.yaml", SLOW)
    ended = project.json("run", "slow", "--max-minutes", "0.005", code=6)
    assert ended["reason"] == "it ran for 0.005 minutes, which is the most it may (`--max-minutes`)"
    again = project.json("resume", ended["run"], "--max-minutes", "0.006", code=6)
    assert "0.006" in again["reason"]


@pytest.mark.whole
def test_settings_bound_every_run_and_the_lower_one_holds(paid: Project) -> None:
    (paid.home / "config").mkdir()
    (paid.home / "config" / "settings.yaml").write_text("limits: {usd: 1, tokens: 900}\n")
    paid.write(".handrail/settings.yaml", "limits: {usd: 5, tokens: 200}\n")
    assert "200 tokens" in run(paid, code=6)["reason"]
    assert "at most $1 " in run(paid, "--max-tokens", "9000", code=6)["reason"]
    calm(paid)
    assert run(paid, "--max-tokens", "9000", "--max-usd", "9")["status"] == "completed"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limits: {usd: 0}\n", "`usd` has to be a number above 0, found `0`"),
        ("limits: {tokens: 1.5}\n", "`tokens` has to be a whole number above 0, found `1.5`"),
        ("limits: {euro: 1}\n", "`limits` has no key `euro`"),
    ],
)
def test_a_wrong_limit_is_located(project: Project, text: str, said: str) -> None:
    project.write(".handrail/settings.yaml", text)
    problem = project.json("validate", code=2)["problems"][0]
    assert (problem["message"], problem["line"]) == (said, 1)


@pytest.mark.parametrize("option", ["--max-usd", "--max-minutes", "--max-tokens"])
def test_a_bound_has_to_be_above_zero(paid: Project, option: str) -> None:
    assert paid.run("run", "build", option, "0").code == 2


@pytest.mark.whole
def test_an_agent_that_does_not_report_its_cost_is_noticed(paid: Project) -> None:
    paid.write("script.yaml", "[{usage: {inputTokens: 1, outputTokens: 1, usd: null}}]\n")
    id_ = run(paid, "--max-usd", "1")["run"]
    assert paid.run("log", id_).out.count("did not report what it cost") == 2


def test_what_earlier_lives_used_counts() -> None:
    usages: list[dict[str, Any]] = [
        {"inputTokens": 5, "outputTokens": None, "usd": 0.5},
        {"inputTokens": None, "outputTokens": 2, "usd": None},
    ]
    meter = Meter(Bounded(usd=1, minutes=2, tokens=10), usages, seconds=30)
    assert (meter.usd_left, meter.seconds_left) == (0.5, 90)
    meter.took("a", {"inputTokens": 1, "outputTokens": 1})
    with pytest.raises(Exhausted):
        meter.took("b", {"inputTokens": 1})
    meter.settle("b")
    meter.settle("b")
    assert meter.tokens == 8
