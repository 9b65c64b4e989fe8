"""Files that a flow writes into the project: permissions are kept, and a killed write leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support import Project

HANDRAIL = str(Path(sys.executable).parent / "handrail")
FLOW = """phases:
- id: a
  steps:
  - {id: x, node: write-file, params: {path: out/a.md, text: hi}, makes: [out/a.md]}
"""
KILLER = """
import os, signal, sys
import handrail.base.files as files
real = os.replace
def replace(old, new):
    if new.endswith("a.md"):
        os.kill(os.getpid(), signal.SIGKILL)
    real(old, new)
os.replace = replace
from handrail.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def writing(project: Project) -> Project:
    project.write(".handrail/flows/w.yaml", FLOW)
    return project


def left(project: Project) -> list[str]:
    return sorted(path.name for path in (project.folder / "out").iterdir())


JSON = """params: {title: {required: true}, data: {default: [1.10, {}]}}
phases:
- id: a
  steps:
  - {id: x, node: write-file, params: {path: x.json, text: {title: '${params.title}', empty: [], n: 1.10}}}
  - {id: y, node: write-file, params: {path: y.json, text: {object: {title: '${params.title}'}}}}
  - {id: z, node: write-file, params: {path: z.json, text: '${params.data}'}}
"""


def test_an_object_or_a_list_is_written_as_json_whatever_its_texts_hold(project: Project) -> None:
    title = 'Say "hi"\n\\ ☂'
    project.write(".handrail/flows/j.yaml", JSON)
    project.json("run", "j", "--param", f"title={title}")
    read = {name: (project.folder / f"{name}.json").read_text(encoding="utf-8") for name in "xyz"}
    assert json.loads(read["x"]) == {"title": title, "empty": [], "n": 1.1}
    assert json.loads(read["y"]) == {"title": title}
    assert read["z"] == "[\n  1.10,\n  {}\n]\n"


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o664])
def test_an_overwritten_file_keeps_its_permissions(writing: Project, mode: int) -> None:
    writing.write("out/a.md", "old").chmod(mode)
    writing.json("run", "w")
    assert (writing.folder / "out/a.md").read_text() == "hi"
    assert (writing.folder / "out/a.md").stat().st_mode & 0o777 == mode


def test_a_new_file_has_usual_permissions(writing: Project) -> None:
    before = os.umask(0o027)
    try:
        writing.json("run", "w")
    finally:
        os.umask(before)
    assert (writing.folder / "out/a.md").stat().st_mode & 0o777 == 0o640


@pytest.mark.whole
@pytest.mark.parametrize("command", ["resume", "restart", "prune"])
def test_a_killed_write_leaves_nothing_afterwards(writing: Project, command: str) -> None:
    """The process is killed after the new content was written and before the file was replaced."""
    killed = subprocess.run(
        [sys.executable, "-c", KILLER, "run", "w"], cwd=writing.folder, capture_output=True, timeout=60, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    (name,) = left(writing)
    assert name.startswith(".handrail-")
    writing.write("out/.handrail-mine", "not from this run")
    if command == "prune":
        assert len(writing.json("prune", "--status", "interrupted", "--yes")["removed"]) == 1
        assert left(writing) == [".handrail-mine"]
        return
    id_ = writing.json("runs")["runs"][0]["run"]
    assert writing.json(command, id_)["status"] == "completed"
    assert left(writing) == [".handrail-mine", "a.md"]
