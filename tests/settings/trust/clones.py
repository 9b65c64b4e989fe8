"""A project that nobody has trusted, with definitions that start programs, for the tests of trust."""

from __future__ import annotations

import os

import pytest

from handrail.extensions.callers import ancestors, find_caller
from handrail.extensions.registry import Registry
from handrail.settings.trust import TrustStore
from support import Project

above = find_caller({}, ancestors(os.getpid()), Registry().signs(), has_terminal=False)
by_a_person = pytest.mark.skipif(above.sign is not None, reason="an agent runs the tests, so nobody else can call")
FLOWS = {
    "wired": "phases:\n- id: a\n  steps:\n  - {id: x, node: command, params: {argv: [touch, wire]}}\n",
    "still": "phases:\n- id: a\n  steps:\n  - {id: x, node: set, params: {n: 1}}\n",
    "nested": "phases:\n- id: a\n  steps:\n  - {id: x, node: flow-run, params: {fileName: wired}}\n",
    "expects": "phases:\n- id: a\n  steps:\n  - {id: x, node: set, params: {n: 1}, expect: [{run: touch wire}]}\n",
    "writes": "phases:\n- id: a\n  steps:\n  - {id: x, node: write-file, params: {path: wire, text: x}}\n",
    "asks": "phases:\n- id: a\n  steps:\n  - {id: ask, node: approve, params: {question: Go on?}}\n"
    "  - {id: x, node: command, params: {argv: [touch, wire]}}\n",
}


def clone_of(project: Project) -> Project:
    """A project that nobody has trusted, with a workflow and flows that start programs."""
    assert TrustStore(str(project.home / "state")).revoke(str(project.folder.parent))
    project.workflow("evil", ["a", "b"])
    project.phase("evil", "a", "exit:\n  - run: touch wire\n  - file: wanted\n")
    project.workflow("quiet", ["a"])
    project.phase("quiet", "a", "exit:\n  - file: wanted\n")
    for name, text in FLOWS.items():
        project.write(f".handrail/flows/{name}.yaml", text)
    return project


def trust(project: Project) -> None:
    TrustStore(str(project.home / "state")).grant(str(project.folder), 0.0)


def distrust(project: Project) -> None:
    assert TrustStore(str(project.home / "state")).revoke(str(project.folder))


def is_trusted(project: Project) -> bool:
    return TrustStore(str(project.home / "state")).find(str(project.folder)) is not None


def fired(project: Project) -> bool:
    return (project.folder / "wire").exists()
