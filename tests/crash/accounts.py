"""How a run ended, and what has to hold for it however often it was interrupted."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from crash.cases import Case
from crash.flows import CAREFUL
from handrail.driven.artifacts.shelf import ArtifactVersion, Shelf
from handrail.settings.folders import file_name
from support import without_times

TOLD_WHEN_SAFE = ("NodeFinished", "NodeFailed", "Answered", "ArtifactPublished", "FactFound", "Asked")
_ARTIFACT = ("id", "path", "name", "sha256", "size", "step", "schema", "family", "inputs", "supersedes")
_BY_WORD = {"assumedDone": True}


class Life(NamedTuple):
    """The state after one life of the run: its events, and the steps that ran according to the external log."""

    events: list[dict[str, Any]]
    logged: Counter[str]

    @property
    def finished(self) -> set[str]:
        return {event["path"] for event in self.events if event["type"] == "NodeFinished"}


def life(case: Case) -> Life:
    return Life(case.events(), case.logged())


def account(case: Case) -> dict[str, Any]:
    """How the run ended: everything that has to be the same however often it was interrupted."""
    run = case.run
    state = run.state
    steps = {
        path: (step.status, _value(path, run.value(step)), step.stop, step.error) for path, step in state.steps.items()
    }
    artifacts = [{name: artifact[name] for name in _ARTIFACT} for artifact in state.artifacts]
    shelved = dict(_shelved(case))
    for artifact in artifacts:
        artifact["sha256"] = shelved[artifact["id"]]
    return {
        "end": (state.status, state.outcome, state.reason, state.error, state.summary),
        "phases": state.phases,
        "steps": steps,
        "questions": state.questions,
        "artifacts": sorted(artifacts, key=lambda artifact: artifact["id"]),
        "shelf": sorted(shelved.items()),
        "files": _files(case.project),
    }


def _value(path: str, value: Any) -> Any:
    """The value of a step, without times. For `careful`, a person's answer that it had finished counts as the same."""
    if path == CAREFUL and (value == _BY_WORD or value["exitCode"] == 0):
        return "done"
    return json.loads(without_times(json.dumps(value)))


def _shelved(case: Case) -> list[tuple[str, str]]:
    """Every artifact that was ever published, with the digest of its content on the shelf."""
    shelf = Shelf(str(Path(case.app.runs.shelves.folder) / file_name("crash")))
    return [(record.id, _digest(shelf, record)) for record in shelf.records()]


def _digest(shelf: Shelf, record: ArtifactVersion) -> str:
    content = shelf.content(record)
    assert hashlib.sha256(content).hexdigest() == record.sha256
    return hashlib.sha256(without_times(content.decode()).encode()).hexdigest()


def _files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): without_times(path.read_text()) for path in folder.rglob("*") if path.is_file()
    }


def told(out: str) -> list[dict[str, Any]]:
    """The events that the killed process had printed."""
    whole = out[: out.rfind("\n") + 1]
    events = [{k: v for k, v in json.loads(line).items() if k != "time"} for line in whole.splitlines()]
    return [event for event in events if event["type"] in TOLD_WHEN_SAFE]


def problems(case: Case, wanted: dict[str, Any], expected: Counter[str], lives: list[Life]) -> list[str]:
    """What is wrong after a run was interrupted and resumed; empty if all is well."""
    found = [
        f"`{name}` is {value!r}, not {wanted[name]!r}" for name, value in account(case).items() if value != wanted[name]
    ]
    last = life(case)
    for number, before in enumerate(lives, 1):
        if last.events[: len(before.events)] != before.events:
            found.append(f"the journal lost events of life {number}")
        found += [
            f"`{path}` was finished in life {number} and ran again"
            for path in before.finished
            if last.logged[path] != before.logged[path]
        ]
    for path in expected | last.logged:
        cut_off = sum(path not in before.finished for before in lives)
        most = expected[path] + (0 if path == CAREFUL else cut_off)
        if not expected[path] <= last.logged[path] <= most:
            found.append(f"`{path}` ran {last.logged[path]} times, not {expected[path]} to {most}")
    found += [f"`{path}` got the key `{key}`" for key, path in case.keys_given() if key != path]
    return found


def none_of(wrong: list[str]) -> None:
    """Fail and show all problems if there are any."""
    assert not wrong, "\n".join([f"{len(wrong)} problems:", *wrong])
