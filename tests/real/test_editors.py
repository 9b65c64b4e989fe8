"""A real yaml-language-server with the schemas of `handrail init`: hover, completion and errors, without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from real.language_server import LanguageServer
from support import Project

FLOW = "# yaml-language-server: $schema=../editor/flow.schema.json\n"
WORKFLOW = "# yaml-language-server: $schema=../../editor/workflow.schema.json\n"
SETTINGS = "# yaml-language-server: $schema=editor/settings.schema.json\n"
STEP = FLOW + "phases:\n  - id: build\n    steps:\n      - id: make\n        node: command\n"


class Editor:
    """A project after `handrail init`, opened in an editor."""

    def __init__(self, folder: Path, server: LanguageServer) -> None:
        self.folder = folder / ".handrail"
        self.server = server

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Editor]:
    project = Project(tmp_path, monkeypatch, capsys)
    assert project.run("init").code == 0
    server = LanguageServer(project.folder, tmp_path / "editor")
    yield Editor(project.folder, server)
    connections = server.connections.exists()
    server.close()
    assert not connections, "the language server opened a connection"


def test_the_files_of_init_have_no_errors_and_every_key_is_explained(editor: Editor) -> None:
    told = {
        "flows/greet.yaml": ("expect:", "checks that have to pass after the step"),
        "workflows/hello/workflow.yaml": ("commandName:", "the name it is started by"),
        "settings.yaml": ("idleStops:", "how often an agent that makes no progress is told to continue"),
    }
    for name, (key, about) in told.items():
        file = editor.folder / name
        assert editor.server.diagnostics(file) == []
        assert about in editor.server.hover(file, key)


def test_the_params_of_a_step_are_explained_by_its_node(editor: Editor) -> None:
    file = editor.write("flows/ship.yaml", STEP + "        params: {argv: [make], mayFail: true}\n")
    assert "an exit code other than 0 does not fail the step" in editor.server.hover(file, "mayFail")
    assert "Runs a program in the project" in editor.server.hover(file, "command")


def test_keys_and_values_are_offered_with_their_meaning(editor: Editor) -> None:
    flow = editor.write("flows/ship.yaml", STEP + "        rerun: \n")
    assert editor.server.complete(flow, "rerun: ")["ask"] == "a person is asked"
    assert "write-file" in editor.server.complete(flow, "node: ")
    keys = editor.write("flows/keys.yaml", STEP + "        params:\n          \n")
    offered = editor.server.complete(keys, "params:\n          ")
    assert offered["argv"] == "the program and its arguments"
    assert "commands" not in offered, "a param of `command-check`"
    workflow = editor.write("workflows/ship/workflow.yaml", WORKFLOW + "name: Ship\nshow: \n")
    assert set(editor.server.complete(workflow, "show: ")) == {"user", "workflows"}
    settings = editor.write("settings.yaml", SETTINGS + "limits:\n  \n")
    assert {"usd", "minutes", "tokens"} <= editor.server.complete(settings, "limits:\n  ").keys()


def test_mistakes_are_errors_on_their_lines(editor: Editor) -> None:
    text = STEP + "        params: {argv: [make]}\n        reruns: ask\n      - {id: wait, node: wiat}\n"
    flow = dict(editor.server.diagnostics(editor.write("flows/ship.yaml", text)))
    assert flow[8] == "Property reruns is not allowed."
    assert flow[9].startswith("Value is not accepted. Valid values:")
    text = WORKFLOW + "name: Ship\ncomandName: ship\ninitialMessage: go\nphases: [plan.md]\n"
    workflow = editor.server.diagnostics(editor.write("workflows/ship/workflow.yaml", text))
    assert (3, "Property comandName is not allowed.") in workflow
    text = SETTINGS + "idleStops: 9\nlimits:\n  usd: five\n"
    settings = editor.server.diagnostics(editor.write("settings.yaml", text))
    assert settings == [(2, "Value is above the maximum of 7."), (4, 'Incorrect type. Expected "number".')]


def test_a_param_of_another_node_is_an_error(editor: Editor) -> None:
    text = STEP + "        params:\n          argv: [make]\n          seconds: 3\n"
    assert editor.server.diagnostics(editor.write("flows/ship.yaml", text)) == [(9, "Property seconds is not allowed.")]
