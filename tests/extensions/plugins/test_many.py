"""Many plugins cost nothing where they are not used: hooks and quick commands do not even search for them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from extensions.plugins.acme import FILES, as_folder
from support import Project

SHOWN = "\nprint(*sys.modules, file=sys.stderr)"
COMMAND = f"import sys\nfrom handrail.cli.main import main\nmain(sys.argv[1:]){SHOWN}"
HOOK = f"import os, sys\nfrom handrail.agents.calls.hook import main\nmain(sys.argv[2:], os.environ){SHOWN}"


@pytest.fixture
def twenty(project: Project) -> Project:
    for number in range(20):
        manifest = FILES["plugin.toml"].replace('also = ["legacy-shout"]', "")
        texts = {name: text.replace("acme/", f"p{number}/") for name, text in FILES.items()}
        as_folder(project, {**texts, "plugin.toml": manifest}, f"p{number}", trusted=number < 2)
    return project


def test_all_are_listed_and_the_trusted_ones_work(twenty: Project) -> None:
    rows = twenty.json("plugins")["plugins"]
    assert [row["trusted"] for row in rows].count(True) == 2
    assert len(rows) == 20
    assert twenty.json("run", "p1/greet")["status"] == "completed"
    assert twenty.run("run", "p7/greet").code == 4


@pytest.mark.whole
@pytest.mark.parametrize("line", ["status", "gate edit", "runs", "hook claude"])
def test_hooks_and_quick_commands_import_nothing_of_plugins(twenty: Project, line: str) -> None:
    twenty.workflow("w", ["look"])
    assert twenty.run("start", "w", "work").code == 0
    said = {"session_id": "c", "cwd": str(twenty.folder), "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    body = json.dumps({**said, "transcript_path": "", "tool_input": {"command": "ls"}})
    argv = [sys.executable, "-I", "-c", HOOK if line.startswith("hook") else COMMAND, *line.split()]
    ended = subprocess.run(argv, input=body, capture_output=True, text=True, check=True, timeout=60)
    loaded = ended.stderr.split()
    assert "handrail.settings.folders" in loaded
    assert [
        name for name in loaded if name.startswith(("handrail.extensions.plugins", "handrail_plugin", "tomllib"))
    ] == []
