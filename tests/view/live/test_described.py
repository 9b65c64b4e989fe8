"""The page about rows says what real rows have: no field is missing, and none is invented."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail.app import App
from handrail.view.live.hub import open_topic
from support import Project

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "view.md"
_, *PARTS = PAGE.read_text(encoding="utf-8").split("| field | meaning |\n|---|---|\n")
MESSAGE, EVERY, *SECTIONS, RUN_FIELDS, ONE_RUN_FIELDS, STEP_FIELDS = [
    re.findall(r"^\| `(\w+)` \|", part.partition("\n\n")[0], re.MULTILINE) for part in PARTS
]
TOPICS: dict[str, dict[str, list[str]]] = {}
for (name, topic), fields in zip(
    re.findall(r"^### (\w+) of (\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE), SECTIONS, strict=True
):
    TOPICS.setdefault(topic, {})[name] = fields

FLOW = """
description: One of everything.
params: {word: {default: x}}
phases:
- repeat: {var: round, from: 1, to: 2}
  phases:
  - id: make-${round}
    parallel: true
    steps:
    - id: text
      node: write-file
      params: {path: "out/${round}.md", text: hello}
      makes: [{path: "out/${round}.md"}]
      expect: [{kind: require-file, path: "out/${round}.md"}]
    - {id: talk, node: scripted-prompt, prompt: {inlineTemplate: Talk.}}
- {id: ask, steps: [{id: go, node: approve, params: {question: Go on?}}]}
"""
SCRIPT = "- {usage: {inputTokens: 3, usd: 0.5}}\n- {say: done}\n"


@pytest.fixture
def app(project: Project, monkeypatch: pytest.MonkeyPatch) -> App:
    project.write(".handrail/flows/all.yaml", FLOW)
    project.write("script.yaml", SCRIPT)
    monkeypatch.setenv("HANDRAIL_SCRIPT", "script.yaml")
    project.run("run", "all", "--trust")
    project.json("start", "plan-build-review", "x", "--session", "s1")
    project.json("blocked", "no key", "--session", "s1")
    return App(str(project.folder), os.environ)


def found(app: App, name: str) -> tuple[set[str], dict[str, set[str]]]:
    """The fields of the messages and of each section of a topic."""
    fields: dict[str, set[str]] = {}
    of_messages: set[str] = set()
    for message in open_topic(app, name).messages("", 0, 0.0):
        of_messages |= set(message)
        for section, rows in message["set"].items():
            listed: list[dict[str, Any]] = [rows] if section == "head" else rows
            for row in listed:
                fields.setdefault(section, set()).update(row)
    return of_messages, fields


def test_real_rows_have_no_field_that_is_not_described(app: App) -> None:
    run = next(iter(app.runs.engine.ids()))
    for name in ("home", "catalog", f"run:{run}", "session:s1"):
        topic = TOPICS[name.partition(":")[0]]
        of_messages, sections = found(app, name)
        assert of_messages <= set(MESSAGE)
        assert set(sections) == set(topic) - {"denials", "visits"}, name
        for section, fields in sections.items():
            assert fields - set(EVERY) <= set(topic[section]), (name, section)
            assert set(EVERY) <= fields


def test_every_described_field_is_written_somewhere() -> None:
    text = "".join(
        path.read_text(encoding="utf-8")
        for room in ("view/rows", "view/live", "driven/runs", "guided/sessions")
        for path in (Path(handrail.__file__).parent / room).rglob("*.py")
    )
    names = {name for sections in TOPICS.values() for fields in sections.values() for name in fields}
    assert [name for name in sorted(names) if not re.search(rf'"{name}"|\b{name}=', text)] == []


def test_a_run_has_one_shape_as_json_in_the_list_and_alone(app: App, project: Project) -> None:
    (row,) = project.json("runs")["runs"]
    (id_,) = app.runs.engine.ids()
    alone = project.json("runs", id_)
    assert list(row) == RUN_FIELDS
    assert list(alone) == [*RUN_FIELDS, *(name for name in ONE_RUN_FIELDS if name != "stored")], "only `answer` has it"
    assert {name: alone[name] for name in row if name != "started"} == {n: row[n] for n in row if n != "started"}
    assert [list(step) for phase in alone["phases"] for step in phase["steps"]] == [STEP_FIELDS] * 5
    stopped = project.json("stop", id_)
    assert list(stopped) == list(alone)
    assert (stopped["status"], stopped["interrupted"], stopped["damaged"]) == ("cancelled", False, False)
