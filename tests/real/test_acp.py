"""Real agents by the Agent Client Protocol: an edit and a structured answer, and a step that may only read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.probe.scripted_model import Turn, tool_turn
from real.hosts import HOSTS, Seat
from real.measured import SPEAKS, Driver
from service_errors import failed_turn

FLOW = """\
phases:
- id: a
  steps:
  - id: x
    node: llm-prompt
    prompt: Do it.
    params:
      permissions: PERMISSIONS
      schema: {type: object, properties: {a: {type: integer}}, required: [a]}
"""


@pytest.fixture(params=SPEAKS)
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    host = HOSTS[request.param]
    with host.protocol() as model:
        yield Driver(Seat(host, tmp_path, model), f"acp:{host.name}")


def ask(driver: Driver, permissions: str, code: int = 0) -> dict[str, Any]:
    driver.write(".handrail/flows/ask.yaml", FLOW.replace("PERMISSIONS", permissions))
    return driver.ask(code=code)


def work(driver: Driver) -> None:
    """The model writes a file, runs a command and answers with JSON."""
    host, project = driver.seat.host, driver.seat.project
    driver.seat.model.script(
        tool_turn(host.write(project / "made.txt", "made\n"), text="I write it."),
        tool_turn(host.shell("echo ran > ran.txt")),
        Turn('Here:\n```json\n{"a": 1}\n```'),
    )


def acts(driver: Driver, run: dict[str, Any]) -> list[str]:
    events = driver.run("log", run["run"])["events"]
    return [event["kind"] for event in events if event["type"] == "AgentActed"]


def test_it_edits_a_file_and_answers_with_data(driver: Driver) -> None:
    work(driver)
    run = ask(driver, "work")
    assert run["phases"][0]["steps"][0]["value"]["result"] == {"a": 1}
    assert (driver.seat.project / "made.txt").read_text() == "made\n"
    assert (driver.seat.project / "ran.txt").read_text() == "ran\n"
    assert acts(driver, run).count("tool") == 2
    assert "denied" not in acts(driver, run)


def test_a_step_that_may_only_read_changes_nothing(driver: Driver) -> None:
    work(driver)
    run = ask(driver, "read")
    assert not (driver.seat.project / "made.txt").exists()
    assert not (driver.seat.project / "ran.txt").exists()
    assert run["phases"][0]["steps"][0]["value"]["denied"] == acts(driver, run).count("denied") == 2


def test_a_key_that_the_service_does_not_accept_is_an_auth_error(driver: Driver) -> None:
    driver.seat.model.script(*[failed_turn(401)] * 4)
    assert "auth" in ask(driver, "work", code=1)["reason"]
