"""The scripted agent in the place of others. It keeps every prompt that it gets."""

from __future__ import annotations

import pytest

from handrail.agents.scripted import executor
from handrail.extensions import registry
from handrail.extensions.contracts import AgentJob, AgentReader, Launch

PROGRAM = executor.PROGRAM
ENVIRONMENT = executor.ENVIRONMENT
HEARD: list[str] = []


def launch(job: AgentJob, folder: str) -> Launch:
    HEARD.append(job.prompt)
    return executor.launch(job, folder)


def reader(job: AgentJob, folder: str) -> AgentReader:
    return executor.reader(job, folder)


def listen(patch: pytest.MonkeyPatch, *agents: str) -> list[str]:
    """Put the scripted agent in the place of these. Returns the list of prompts, which is empty now."""
    for agent in agents:
        patch.setitem(registry.AGENTS, agent, {**registry.AGENTS[agent], "executor": __name__})
    HEARD.clear()
    return HEARD
