"""A run on disk for the crash tests: its project, its Handrail home, and an external log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from crash.flows import ANSWERS, FLOWS, REQUEST, SCHEMA
from handrail.app import App
from handrail.driven.engines.embedded.engine import Embedded
from handrail.driven.flows.catalog import FlowCatalog
from handrail.driven.runs.request import LoadedRun, RunRequest
from handrail.driven.runs.run_events import event_to_json
from handrail.source.diagnostics import has_errors
from support import Said, open_to_agents

HANDRAIL = Path(sys.executable).parent / "handrail"
KEPT_ENV = ("PATH", "PYTHONPATH", "LANG", "TMPDIR")


class Case:
    """One run that is stored and not yet driven."""

    def __init__(self, folder: Path, number: int = 1) -> None:
        self.folder = folder
        self.number = number
        self.id = f"r-{os.getpid()}-{number}"
        self.project = folder / "project"
        self.outside = folder / "outside"
        self.answers = folder / "answers"
        write_schema(self.project)
        self.answers.write_text(json.dumps(ANSWERS))
        home, user = str(folder / "home"), str(folder / "user")
        self.env = {name: os.environ[name] for name in KEPT_ENV if name in os.environ}
        self.env |= {"HOME": user, "HANDRAIL_HOME": home, "OUTSIDE": str(self.outside), "NO_COLOR": "1"}
        open_to_agents(folder / "home")
        self.app = App(str(self.project), self.env)

    def begin(self, catalog: FlowCatalog, flow: str = "main", request: RunRequest = REQUEST) -> Case:
        self.app.runs.begin(catalog, catalog.find(flow), request, self.id)
        return self

    def process(self, verb: str, *more: str) -> Said:
        """Run the real command as a process."""
        with self.start(verb, *more) as process:
            out, err = process.communicate(timeout=120)
        return Said(process.returncode, out, err)

    def start(self, verb: str, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(HANDRAIL), verb, self.id, *more],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def run(self) -> LoadedRun:
        return self.app.runs.load(self.id)

    @property
    def attempt(self) -> str:
        """The folder of the run's current attempt."""
        engine = self.app.runs.engine
        assert isinstance(engine, Embedded)
        return engine.attempt(self.id)

    @property
    def status(self) -> str:
        return self.run.state.status

    @property
    def journal(self) -> Path:
        return Path(self.attempt) / "journal"

    def events(self) -> list[dict[str, Any]]:
        """All events of the journal, without the times."""
        return [event_to_json(event) for _, event in self.run.records]

    def paths_of(self, kind: str) -> list[str]:
        return [event["path"] for event in self.events() if event["type"] == kind]

    def lines(self) -> list[str]:
        """The external log: the key without the id of the run, and the step."""
        lines = self.outside.read_text().splitlines() if self.outside.exists() else []
        return [line.removeprefix(f"{self.id}/") for line in lines]

    def logged(self) -> Counter[str]:
        """How often each step ran, by the external log."""
        return Counter(line.split()[1] for line in self.lines())

    def keys_given(self) -> set[tuple[str, str]]:
        """The key that each step got, by the external log."""
        return {(line.split()[0], line.split()[1]) for line in self.lines()}


def write_schema(project: Path) -> None:
    folder = project / ".handrail" / "schemas"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "verdict.json").write_text(json.dumps(SCHEMA))


def catalog_of(folder: Path, flows: dict[str, str] = FLOWS) -> FlowCatalog:
    """A catalog of these flows. They have no problems."""
    write_schema(folder)
    for name, text in flows.items():
        file = folder / ".handrail" / "flows" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    catalog = App(str(folder), {"HOME": str(folder), "HANDRAIL_HOME": str(folder / "home")}).flows
    assert not has_errors(list(catalog.problems)), catalog.problems
    return catalog
