"""The same cases through the product: pi's extension sends the branch to `handrail serve`, and a session is there.

The project has every phase that an entry of the branch names, so a wrong entry would be continued as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance import compact, corpus, differences
from conformance.test_reconstruct import DEFAULTS, has_whole_indexes
from handrail.base import journal
from support import open_to_agents

HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")


class Served:
    """The process that pi's extension starts, and the command line beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"HOME": str(folder / "user"), "HANDRAIL_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
        open_to_agents(folder / "home")
        argv = [HANDRAIL, "serve", "--stdio", "--agent", "pi"]
        self.process = subprocess.Popen(
            argv, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
        )

    def branch(self, project: Path, conversation: str, entries: list[Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        params = {"event": "branch", "conversation": conversation, "cwd": str(project), "at": None, "states": entries}
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "hook", "params": params}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())["result"]
        return answer

    def sessions(self, project: Path) -> list[dict[str, Any]]:
        argv = [HANDRAIL, "--project", str(project), "sessions", "--json"]
        said = subprocess.run(argv, env=self.env, capture_output=True, text=True, check=True)
        found: list[dict[str, Any]] = json.loads(said.stdout)["sessions"]
        return found

    def started(self, session: str) -> float:
        """When the workflow began, as the journal says."""
        (folder,) = (self.folder / "home" / "state" / "sessions").glob(f"*/{session}")
        records, _ = journal.read_behind(str(folder / "journal"), 0)
        return float(records[0]["events"][0]["state"]["started"])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("served"))
    yield made
    made.process.communicate()
    assert made.process.returncode == 0


def define(project: Path, branch: list[Any]) -> None:
    """Workflows with all positions of all entries; a position inside another workflow makes it a subworkflow there."""
    phases: dict[str, dict[int, str]] = {}
    for path in (path for entry in branch for path in paths_in(entry)):
        for place, (key, index) in enumerate(path):
            own = phases.setdefault(key, {})
            for number in range(index + 2):
                own.setdefault(number, f"p{number}")
            if place + 1 < len(path):
                own[index] = f"@{path[place + 1][0]}"
    for key, entries in phases.items():
        definition = {"phases": [entries[number] for number in sorted(entries)]}
        compact.write(project / ".pi" / "workflows" / key, key, definition)


def paths_in(entry: Any) -> list[list[tuple[str, int]]]:
    """The positions in an entry, whatever else is wrong with it: the new form and the old one."""
    data = entry.get("data") if isinstance(entry, dict) else None
    if not isinstance(data, dict):
        return []
    new = data["currentPath"] if isinstance(data.get("currentPath"), list) else []
    old = {"workflowKey": data.get("workflowKey"), "phaseIndex": data.get("currentPhaseIndex")}
    return [[place for segment in path if (place := place_in(segment))] for path in (new, [old])]


def place_in(segment: Any) -> tuple[str, int] | None:
    key, index = (segment.get("workflowKey"), segment.get("phaseIndex")) if isinstance(segment, dict) else (None, 0)
    return (key, index) if isinstance(key, str) and isinstance(index, int) and index >= 0 else None


@pytest.mark.whole(18)
@corpus.every("reconstruct")
def test_serve_continues_what_pi_workflows_began(case: corpus.Case, served: Served, tmp_path: Path) -> None:
    (tmp_path / ".handrail").mkdir()
    define(tmp_path, case["branch"])
    answer = served.branch(tmp_path, case["id"], case["branch"])
    expected = differences.expected(case)
    if expected is None or not expected["active"] or ("seedQuirk" in case and not has_whole_indexes(expected)):
        assert served.sessions(tmp_path) == [], answer
        return
    (session,) = served.sessions(tmp_path)
    assert (session["session"], session["status"]) == (f"pi-{case['id']}", "active")
    told = {
        "workflowKey": session["workflow"],
        "currentPath": [{"workflowKey": key, "phaseIndex": index} for key, index in session["path"]],
        "globalStepCount": session["steps"],
        "taskId": session["taskId"],
        "taskDescription": session["task"],
        "startedAt": round(served.started(session["session"]) * 1000),
    }
    assert told == {name: expected.get(name, DEFAULTS.get(name)) for name in told}
