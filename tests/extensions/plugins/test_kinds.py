"""A plugin adds a node, a check, an executor, a host, an engine and definitions, as a folder and as a wheel."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from extensions.plugins.acme import FILES, as_folder, as_wheel, install
from support import Project


@pytest.fixture(params=["folder", "wheel"])
def acme(request: pytest.FixtureRequest, project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    if request.param == "folder":
        as_folder(project)
    else:
        place = install(as_wheel(tmp_path), tmp_path / "lib" / "site-packages")
        monkeypatch.syspath_prepend(str(place))
        monkeypatch.setenv("PYTHONPATH", str(place))  # for processes
        for name in [name for name in sys.modules if name.partition(".")[0] == "handrail_acme"]:
            monkeypatch.delitem(sys.modules, name)
    return project


def test_everything_is_listed_with_its_source(acme: Project) -> None:
    (row,) = acme.json("plugins")["plugins"]
    assert (row["id"], row["version"], row["trusted"], row["problems"]) == ("acme", "1.2", True, [])
    assert row["provides"] == {
        "nodes": ["acme/shout"],
        "checks": ["acme/loud"],
        "executors": ["acme/robot"],
        "hosts": ["acme/robot"],
        "engines": ["acme/twin"],
        "flows": ["acme/greet"],
        "workflows": ["acme/calm"],
        "prompts": ["acme/ask"],
        "schemas": ["acme/text"],
    }
    found = acme.json("list")
    assert ("acme/greet", "acme") in [(flow["id"], flow["source"]) for flow in found["flows"]]
    assert ("acme/calm", "acme") in [(one["key"], one["source"]) for one in found["workflows"]]
    assert acme.run("validate").code == 0


def test_its_flow_uses_its_node_its_check_its_executor_and_its_prompt(acme: Project) -> None:
    ended = acme.json("run", "acme/greet", "--param", "text=hi")
    shout, answer = (step["value"] for step in ended["phases"][0]["steps"])
    assert shout == {"text": "HI"}
    assert answer["executor"] == "acme/robot"
    assert json.loads(answer["output"])["heard"] == "Say something loud."


def test_a_flow_of_the_project_may_use_all_of_it(acme: Project) -> None:
    steps = "{id: x, node: legacy-shout, params: {text: a}}, {id: y, node: llm-prompt, prompt: Go.}"
    acme.write(".handrail/flows/own.yaml", f"phases: [{{id: a, steps: [{steps}]}}]")
    acme.write(".handrail/settings.yaml", "agent: acme/robot:big\nengine: acme/twin\n")
    ended = acme.json("run", "own")
    assert ended["phases"][0]["steps"][0]["value"] == {"text": "A"}
    assert ended["phases"][0]["steps"][1]["value"]["model"] == "big"


def test_its_check_is_the_exit_of_a_phase(acme: Project) -> None:
    acme.workflow("own", ["look"])
    acme.phase("own", "look", "exit:\n  - kind: acme/loud\n    text: quiet\n")
    assert acme.run("start", "own", "work").code == 0
    said = acme.run("next")
    assert (said.code, "quiet" in said.out + said.err) == (5, True)
    assert acme.run("cancel", "--yes").code == 0
    assert acme.run("start", "acme/calm", "work").code == 0
    assert acme.json("next")["status"] == "done"


@pytest.mark.whole
def test_its_host_holds_a_conversation_to_a_phase(acme: Project) -> None:
    acme.workflow("own", ["look"])
    acme.phase("own", "look", "tools:\n  blacklist: [edit]\n")

    def tell(**message: object) -> dict[str, object]:
        body = json.dumps({"chat": "c-1", "where": str(acme.folder), **message})
        said = acme.process("hook", "acme/robot", stdin=body)
        assert (said.code, said.err) == (0, "")
        answer: dict[str, object] = json.loads(said.out or "{}")
        return answer

    tell(what="typed", line=":begin own fix it")
    assert tell(what="call", name="toy.scribble", **{"with": {"file": "a"}})["go"] is False
    assert tell(what="call", name="toy.peek", **{"with": {"file": "a"}})["go"] is True
    assert acme.json("status", "--session", "acme/robot-c-1")["workflow"] == "own"


def test_it_is_installed_and_removed_like_any_agent(acme: Project) -> None:
    assert acme.run("install", "acme/robot", "--project").code == 0
    assert "hook = " in (acme.folder / "toy.ini").read_text()
    assert acme.run("uninstall", "acme/robot", "--project").code == 0
    assert not (acme.folder / "toy.ini").exists()


def test_an_agent_of_a_plugin_may_not_trust_code(acme: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    (acme.home / "state" / "open-to-agents").unlink()
    as_folder(acme, FILES, "other", trusted=False)
    monkeypatch.setenv("ACME_ROBOT", "1")
    said = acme.run("plugin", "trust", "other", "--yes")
    assert (said.code, "`ACME_ROBOT` is set" in said.err) == (1, True)
