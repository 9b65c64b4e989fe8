"""Installing into pi: the extension is copied, and pi-workflows is taken out of the settings and put back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.agents.calls.servers import TOOL
from handrail.agents.pi import install
from handrail.agents.pi.install import is_original
from handrail.extensions.contracts import Stubs
from support import Project

STUBS = Stubs(("python", "hook.py"), ("python", "-m", "handrail"), "1.2.3", "/state", "/home")


def agent(project: Project) -> Path:
    return project.home.parent / "user" / ".pi" / "agent"


def test_the_extension_knows_how_handrail_is_called() -> None:
    config = json.loads(install.extension_files(STUBS)[install.CONFIG_FILE])
    assert config["command"] == ["python", "-m", "handrail", "serve", "--stdio", "--agent", "pi"]
    assert config["env"] == {"HANDRAIL_STATE": "/state"}
    assert config["tool"]["inputSchema"] == TOOL["inputSchema"]


def test_the_extension_of_one_call_knows_its_conversation() -> None:
    stubs = Stubs(STUBS.hook, STUBS.handrail, "1", "/state", "/home", "C")
    config = json.loads(install.extension_files(stubs)[install.CONFIG_FILE])
    assert config["conversation"] == "C"
    assert config["env"]["HANDRAIL_FOR_ONE_CALL"] == "C"


def test_an_installation_without_settings_makes_none(project: Project) -> None:
    assert project.run("install", "pi").code == 0
    installed = sorted(path.name for path in (agent(project) / "extensions" / "handrail").iterdir())
    assert installed == sorted(install.extension_files(STUBS))
    assert not (agent(project) / "settings.json").exists()
    assert project.run("uninstall", "pi").code == 0
    assert not agent(project).exists()


@pytest.mark.parametrize("edit", [False, True])
def test_pi_workflows_is_taken_out_openly_and_put_back(project: Project, edit: bool) -> None:
    settings = agent(project) / "settings.json"
    settings.parent.mkdir(parents=True)
    text = '{\n   "theme": "dark",\n   "packages": ["npm:other", "npm:@harms-haus/pi-workflows"]\n}\n'
    settings.write_text(text)
    said = project.run("install", "pi")
    assert "Both would answer `/workflow`" in said.out + said.err
    assert json.loads(settings.read_text())["packages"] == ["npm:other"]
    assert project.run("install", "pi").out.strip().endswith("nothing to do")
    if edit:
        settings.write_text(settings.read_text().replace("dark", "light"))
    assert project.run("uninstall", "pi").code == 0
    if edit:
        found = json.loads(settings.read_text())
        assert (found["theme"], sorted(found["packages"])) == ("light", ["npm:@harms-haus/pi-workflows", "npm:other"])
    else:
        assert settings.read_text() == text


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("npm:@harms-haus/pi-workflows", True),
        ("npm:@harms-haus/pi-workflows@1.0.0", True),
        ("../../work/pi-workflows", True),
        ("../pi-workflows/src/index.ts", True),
        ("git:github.com/harms-haus/pi-workflows.git", True),
        ({"source": "npm:@harms-haus/pi-workflows", "skills": []}, True),
        ("npm:my-pi-workflows", False),
        ("npm:pi-workflows-extra", False),
        ({"source": "npm:other"}, False),
        (7, False),
    ],
)
def test_pi_workflows_is_recognised(entry: Any, expected: bool) -> None:
    assert is_original(entry) is expected


def test_settings_that_are_not_json_are_left(project: Project) -> None:
    settings = agent(project) / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text("{ theme:")
    assert project.run("install", "pi").code == 1
    assert settings.read_text() == "{ theme:"
    assert not (settings.parent / "extensions").exists()
