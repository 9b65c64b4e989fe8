"""Installing into OpenCode and removing it: its settings stay as they were, byte for byte."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from handrail.source import text_edits
from support import Project

FOREIGN = '{\n\t"theme" : "x",\n   "plugin":[ "./mine.js" , ["./other.js", {"a": 1}] ],"keybinds":{}}'
COMMENTED = '{\n  // mine\n  "theme": "x",\n}\n'


@pytest.fixture
def settings() -> Path:
    folder = Path(os.environ["HOME"]) / ".config" / "opencode"
    folder.mkdir(parents=True)
    return folder


def plugins(path: Path) -> list[object]:
    found = json.loads(path.read_text(encoding="utf-8"))["plugin"]
    assert isinstance(found, list)
    return found


def test_settings_of_others_are_kept_byte_for_byte(project: Project, settings: Path) -> None:
    file = settings / "opencode.json"
    file.write_text(FOREIGN, encoding="utf-8")
    project.json("install", "opencode")
    own = settings / "handrail" / "handrail.js"
    assert plugins(file) == [own.as_uri(), "./mine.js", ["./other.js", {"a": 1}]]
    assert own.exists()
    project.json("uninstall", "opencode")
    assert file.read_text(encoding="utf-8") == FOREIGN
    assert sorted(os.listdir(settings)) == ["opencode.json"]


def test_a_file_that_was_edited_since_loses_only_our_entry(project: Project, settings: Path) -> None:
    file = settings / "opencode.json"
    file.write_text(FOREIGN, encoding="utf-8")
    project.json("install", "opencode")
    file.write_text(file.read_text(encoding="utf-8").replace('"x"', '"y"'), encoding="utf-8")
    project.json("uninstall", "opencode")
    assert file.read_text(encoding="utf-8") == FOREIGN.replace('"x"', '"y"')


def test_settings_with_comments_are_not_touched(project: Project, settings: Path) -> None:
    """OpenCode reads both files, so the entry goes to the other one."""
    (settings / "opencode.jsonc").write_text(COMMENTED, encoding="utf-8")
    project.json("install", "opencode")
    assert len(plugins(settings / "opencode.json")) == 1
    project.json("uninstall", "opencode")
    assert (settings / "opencode.jsonc").read_text(encoding="utf-8") == COMMENTED
    assert sorted(os.listdir(settings)) == ["opencode.jsonc"]


def test_plain_settings_with_the_other_name_are_used(project: Project, settings: Path) -> None:
    (settings / "opencode.jsonc").write_text(FOREIGN, encoding="utf-8")
    project.json("install", "opencode")
    assert len(plugins(settings / "opencode.jsonc")) == 3
    assert not (settings / "opencode.json").exists()


def test_of_two_commented_files_one_gets_the_entry_and_keeps_its_comments(project: Project, settings: Path) -> None:
    for name in ("opencode.json", "opencode.jsonc"):
        (settings / name).write_text(COMMENTED, encoding="utf-8")
    project.json("install", "opencode")
    text = (settings / "opencode.json").read_text(encoding="utf-8")
    assert len(json.loads(text_edits.without_comments(text))["plugin"]) == 1
    assert "// mine\n" in text
    project.json("uninstall", "opencode")
    assert (settings / "opencode.json").read_text(encoding="utf-8") == COMMENTED


def test_two_files_that_cannot_be_edited_are_an_error(project: Project, settings: Path) -> None:
    for name in ("opencode.json", "opencode.jsonc"):
        (settings / name).write_text("{ mine }", encoding="utf-8")
    said = project.run("install", "opencode")
    assert said.code == 1
    assert "the settings cannot be changed" in said.err
    assert sorted(os.listdir(settings)) == ["opencode.json", "opencode.jsonc"]


def test_the_installation_of_a_project_stays_in_the_project(project: Project, settings: Path) -> None:
    project.json("install", "opencode", "--project")
    own = project.folder / ".handrail" / "opencode" / "handrail.js"
    assert plugins(project.folder / "opencode.json") == [own.as_uri()]
    assert not os.listdir(settings)
    project.json("uninstall", "opencode", "--project")
    assert not own.parent.exists()
    assert not (project.folder / "opencode.json").exists()
