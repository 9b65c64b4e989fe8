"""Agents of the Agent Client Protocol on the command line: settings, routes, the journal, and resuming."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support import Project

PEER = Path(__file__).parent.parent / "agents" / "acp_peer.py"
FLOW = """\
phases:
- id: a
  steps:
  - {id: x, node: llm-prompt, prompt: Write it., params: {permissions: PERMISSIONS}}
"""
ONCE = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Stage:
    """A project, the user's settings with agents that play scripts, and a flow with one step."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.flow()

    def flow(self, permissions: str = "work") -> None:
        self.project.write(".handrail/flows/ask.yaml", FLOW.replace("PERMISSIONS", permissions))

    def settings(self, text: str) -> None:
        path = self.project.home / "config" / "settings.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def log(self, name: str) -> Path:
        return self.project.home / f"{name}.log"

    def agents(self, **scripts: dict[str, Any]) -> None:
        entries: dict[str, Any] = {}
        for name, script in scripts.items():
            path = self.project.home / f"{name}.json"
            path.write_text(json.dumps(script), encoding="utf-8")
            entries[name] = {"command": [sys.executable, str(PEER), str(path), str(self.log(name))]}
        self.settings(json.dumps({"acp": entries}))

    def run(self, *argv: str, code: int = 0) -> dict[str, Any]:
        return self.project.json("run", "ask", *argv, code=code)

    def acts(self, run: str) -> list[tuple[str, str]]:
        """What the agent did, as the journal says it."""
        events = self.project.json("log", run)["events"]
        return [(one["kind"], one["text"]) for one in events if one["type"] == "AgentActed"]

    def received(self, name: str, method: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log(name).read_text(encoding="utf-8").splitlines()]
        return [line["params"] for line in lines if line.get("method") == method]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Stage:
    return Stage(Project(tmp_path, monkeypatch, capsys))


def says(text: str) -> dict[str, Any]:
    return {"turn": [{"say": text}]}


def value(run: dict[str, Any]) -> Any:
    return run["phases"][0]["steps"][0]["value"]


def test_a_step_names_an_agent_of_the_settings(stage: Stage) -> None:
    stage.agents(one=says("I am one."), two=says("I am two."))
    found = value(stage.run("--agent", "acp:two"))
    assert (found["executor"], found["output"]) == ("acp:two", "I am two.")


@pytest.mark.whole
def test_a_route_names_an_agent_and_its_model(stage: Stage) -> None:
    model = {"id": "m", "name": "m", "category": "model", "type": "select", "currentValue": "a"}
    options = [{**model, "options": [{"value": "a", "name": "A"}, {"value": "x:large", "name": "L"}]}]
    script = {"session/new": {"sessionId": "s-1", "configOptions": options}}
    stage.agents(one={**script, "session/set_config_option": {"configOptions": options}})
    stage.project.write(".handrail/settings.yaml", "agent: acp:one:x:large\n")
    found = value(stage.run())
    assert (found["executor"], found["model"]) == ("acp:one", "x:large")
    assert stage.received("one", "session/set_config_option")[0]["value"] == "x:large"


@pytest.mark.whole
def test_the_only_agent_needs_no_name(stage: Stage) -> None:
    stage.agents(one=says("I am one."))
    assert value(stage.run("--agent", "acp"))["output"] == "I am one."
    stage.project.write(
        ".handrail/flows/own.yaml", "phases: [{id: a, steps: [{id: x, node: acp-prompt, prompt: Hi.}]}]"
    )
    assert value(stage.project.json("run", "own"))["executor"] == "acp"


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("acp", "`acp` may be one of several agents of your settings"),
        ("acp:three", "`acp:three` is not in your settings"),
        ("acp:one:large", "there is no agent `acp:one:large`"),
    ],
)
def test_a_name_that_means_no_agent_is_refused_before_the_run(stage: Stage, agent: str, words: str) -> None:
    stage.agents(one={}, two={})
    said = stage.project.run("run", "ask", "--agent", agent)
    assert said.code != 0
    assert words in said.err
    assert stage.project.json("runs")["runs"] == []


def test_a_misspelt_name_gets_the_whole_name_as_a_suggestion(stage: Stage) -> None:
    stage.agents(goose={}, two={})
    said = stage.project.run("run", "ask", "--agent", "acp:gose")
    assert "hint: did you mean `acp:goose`?" in said.err


def test_without_settings_the_message_shows_what_to_write(stage: Stage) -> None:
    said = stage.project.run("run", "ask", "--agent", "acp:gemini")
    assert "`acp:gemini` is not in your settings" in said.err
    assert "hint: write `acp: {goose: {command: [goose, acp]}}` to your settings.yaml" in said.err


def test_a_project_must_not_choose_the_program(stage: Stage) -> None:
    stage.project.write(".handrail/settings.yaml", "acp: {evil: {command: [touch, started]}}\nagent: acp:evil\n")
    said = stage.project.run("validate")
    assert said.code == 2
    assert "`acp` can be set only in the user's settings: a project must not choose a program" in said.out + said.err
    assert stage.project.run("run", "ask").code != 0
    assert not (stage.project.folder / "started").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("acp: {a: [gemini]}", "`a` has to be a mapping, found a list"),
        ("acp: {a: {}}", "key `command` is missing"),
        ("acp: {a: {command: []}}", "`command` has to begin with a program"),
        ("acp: {a: {command: gemini --acp}}", "`command` has to be a list"),
        ("acp: {a: {command: [x], modes: {reed: plan}}}", "`modes` has no key `reed`"),
        ("acp: {a: {command: [x], modes: {read: [plan]}}}", "a mode has to be text"),
        ("acp: {'a:b': {command: [x]}}", "must not have colons"),
        ("acp: {a: {comand: [x]}}", "unknown key `comand`"),
    ],
)
def test_a_mistake_in_the_settings_is_shown_at_its_place(stage: Stage, text: str, words: str) -> None:
    stage.settings(f"{text}\n")
    said = stage.project.run("validate")
    assert said.code == 2
    assert words in said.out + said.err
    assert "settings.yaml:1:" in said.out + said.err


@pytest.mark.whole
def test_the_journal_says_what_was_allowed_and_what_was_denied(stage: Stage) -> None:
    call = {"toolCallId": "t-1", "title": "Edit a.txt", "kind": "edit", "rawInput": {"path": "a.txt"}}
    ask = {"method": "session/request_permission", "params": {"toolCall": call, "options": ONCE}}
    stage.agents(one={"turn": [{"ask": ask}, {"say": "ok"}]})
    done = stage.run("--agent", "acp:one")
    assert stage.acts(done["run"]) == [
        ("tool", "Edit a.txt"),
        ("allowed", "Edit a.txt: `permissions: work`"),
    ]
    stage.flow("read")
    done = stage.run("--agent", "acp:one")
    assert stage.acts(done["run"])[-1] == ("denied", "Edit a.txt: this step may only read")
    assert value(done)["denied"] == 1


@pytest.mark.whole
def test_an_interrupted_conversation_is_loaded_again(stage: Stage) -> None:
    loads = {"initialize": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}}
    stage.agents(one={**loads, "turn": [{"say": "I begin."}, {"exit": 1}]})
    failed = stage.run("--agent", "acp:one", code=1)
    assert "crash" in failed["reason"]
    stage.agents(one={**loads, **says("I finished it.")})
    done = stage.project.json("resume", failed["run"])
    assert value(done)["output"] == "I finished it."
    assert [one["sessionId"] for one in stage.received("one", "session/load")] == ["s-1"]
    assert "You were interrupted" in stage.received("one", "session/prompt")[-1]["prompt"][0]["text"]


@pytest.mark.whole
def test_another_agent_begins_a_conversation_of_its_own(stage: Stage) -> None:
    loads = {"initialize": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}}
    stage.agents(one={**loads, "turn": [{"exit": 1}]}, two={**loads, **says("I am two.")})
    failed = stage.run("--agent", "acp:one", code=1)
    done = stage.project.json("resume", failed["run"], "--agent", "acp:two")
    assert value(done)["output"] == "I am two."
    assert stage.received("two", "session/load") == []


@pytest.mark.whole
def test_the_agent_sees_only_the_variables_that_are_meant_for_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    peer = tmp_path / "peer.py"
    seen = tmp_path / "seen.json"
    peer.write_text(f"import json, os, runpy, sys\njson.dump(dict(os.environ), open({str(seen)!r}, 'w'))\n")
    peer.write_text(f"{peer.read_text()}runpy.run_path({str(PEER)!r}, run_name='__main__')\n")
    script = tmp_path / "script.json"
    script.write_text("{}")
    command = [sys.executable, str(peer), str(script), str(tmp_path / "log")]
    stage.settings(json.dumps({"acp": {"one": {"command": command, "passEnv": ["ONE_*"]}}}))
    for name in ("ONE_TOKEN", "OTHER_TOKEN"):
        monkeypatch.setenv(name, "value-of-a-secret")
    stage.run("--agent", "acp:one")
    env = json.loads(seen.read_text())
    assert "ONE_TOKEN" in env
    assert "OTHER_TOKEN" not in env


def test_a_workflow_cannot_be_given_to_it(stage: Stage) -> None:
    stage.agents(one={})
    stage.project.workflow("w", ["look"])
    ended = stage.project.json("run", "w", "some", "task", "--agent", "acp:one", code=1)
    assert "`acp:one` cannot run a workflow yet" in ended["error"]
