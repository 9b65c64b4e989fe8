"""What became of a run, and what has to hold of it whatever happened on the way."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from crash.cases import Case
from crash.flows import CAREFUL
from handrail.artifacts.shelf import Published, Shelf
from handrail.project import file_name

TOLD_WHEN_SAFE = ("NodeFinished", "NodeFailed", "Answered", "ArtifactPublished", "FactFound", "Asked")
_ARTIFACT = ("id", "path", "name", "sha256", "size", "step", "schema", "family", "inputs", "supersedes")
_BY_WORD = {"assumedDone": True}


class Life(NamedTuple):
    """What there was when a life of the run ended: its events, and what was done according to the log outside."""

    events: list[dict[str, Any]]
    logged: Counter[str]

    @property
    def finished(self) -> set[str]:
        return {event["path"] for event in self.events if event["type"] == "NodeFinished"}


def life(case: Case) -> Life:
    return Life(case.events(), case.logged())


def account(case: Case) -> dict[str, Any]:
    """How the run ended: all that has to be the same however often it was cut off."""
    run = case.run
    state = run.state
    steps = {
        path: (step.status, _value(path, run.value(step)), step.stop, step.error) for path, step in state.steps.items()
    }
    artifacts = [{name: artifact[name] for name in _ARTIFACT} for artifact in state.artifacts]
    return {
        "end": (state.status, state.outcome, state.reason, state.error, state.summary),
        "phases": state.phases,
        "steps": steps,
        "questions": state.questions,
        "artifacts": sorted(artifacts, key=lambda artifact: artifact["id"]),
        "shelf": sorted(_shelved(case)),
        "files": _files(case.project),
    }


def _value(path: str, value: Any) -> Any:
    """`careful` may have been taken as done on a person's word, who looked: that says the same."""
    return "done" if path == CAREFUL and (value == _BY_WORD or value["exitCode"] == 0) else value


def _shelved(case: Case) -> list[tuple[str, str]]:
    """Every artifact that was ever published, with the digest of its content as it lies on the shelf."""
    shelf = Shelf(str(Path(case.app.runs.shelves) / file_name("crash")))
    return [(record.id, _digest(shelf, record)) for record in shelf.records()]


def _digest(shelf: Shelf, record: Published) -> str:
    return hashlib.sha256(shelf.content(record)).hexdigest()


def _files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def told(out: str) -> list[dict[str, Any]]:
    """The events that the killed process had told as safe."""
    whole = out[: out.rfind("\n") + 1]
    events = [{k: v for k, v in json.loads(line).items() if k != "time"} for line in whole.splitlines()]
    return [event for event in events if event["type"] in TOLD_WHEN_SAFE]


def problems(case: Case, wanted: dict[str, Any], expected: Counter[str], lives: list[Life]) -> list[str]:
    """What is not as it has to be after a run was cut off and gone on with; nothing when all is well."""
    found = [
        f"`{name}` is {value!r}, not {wanted[name]!r}" for name, value in account(case).items() if value != wanted[name]
    ]
    last = life(case)
    for number, before in enumerate(lives, 1):
        if last.events[: len(before.events)] != before.events:
            found.append(f"the journal has not kept what life {number} wrote")
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
    """Nothing is wrong; else all of it is shown."""
    assert not wrong, "\n".join([f"{len(wrong)} problems:", *wrong])
