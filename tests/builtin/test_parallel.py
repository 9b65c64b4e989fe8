"""Several `auto` runs at the same time in one repository, each in a worktree of its own: nothing of them mixes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from builtin import staging
from builtin.forge import Forge
from builtin.projects import PYTHON, Kind
from builtin.shop import APPROVED, KEY, Shop
from steps.services.githubs import NAME
from support import Project

HANDRAIL = os.path.join(os.path.dirname(sys.executable), "handrail")


def kind(number: int) -> Kind:
    """A task with files of its own, in the same project."""
    own = {"slugs.slug": f"slugs.slug{number}", "slug(": f"slug{number}(", "import slug\n": f"import slug{number}\n"}

    def renamed(text: str) -> str:
        for old, new in own.items():
            text = text.replace(old, new)
        return text

    return PYTHON._replace(
        code=f"slugs/slug{number}.py",
        wrong=renamed(PYTHON.wrong),
        checked=renamed(PYTHON.checked),
        reviewed=renamed(PYTHON.reviewed),
        test_file=f"tests/test_slug{number}.py",
        test=renamed(PYTHON.test),
    )


def begin(shop: Shop, number: int) -> subprocess.Popen[str]:
    key = f"tea-{number}"
    folder = shop.agent_folder.with_name(f"agent-{number}")
    writes = json.dumps(kind(number).writes).replace(f"scopes/{KEY}", f"scopes/{key}").replace(f"-{KEY}-", f"-{key}-")
    folder.with_suffix(".json").write_text(json.dumps({"key": key, "writes": json.loads(writes)}))
    env = {**os.environ, "HANDRAIL_SCRIPT": str(folder / "script.yaml")}
    argv = [HANDRAIL, "run", "auto", f"octo/{NAME}#{number}", *APPROVED, "--worktree", "--scope", key]
    argv += ["--agent", "scripted", "--answers", "answers.json", "--json", "--quiet"]
    return subprocess.Popen(
        argv, env=env, cwd=shop.project.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finished(processes: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    found = []
    for process in processes:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, (out, err)
        found.append(json.loads(out))
    return found


@pytest.mark.whole
def test_parallel_runs_of_auto_do_not_touch_each_other(
    project: Project, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = (12, 13, 14)
    for number in numbers:
        forge.objects[f"issues/{number}"] = {"number": number, "title": "Slugs", "body": "Make slugs.", "state": "open"}
        forge.said(number)
    shop = Shop(project, forge, monkeypatch, PYTHON.files)
    shop.words("auto")
    config = project.home / "config"
    config.mkdir(parents=True)
    setup = [[sys.executable, staging.__file__]]
    (config / "settings.yaml").write_text(json.dumps({"worktree": {"setup": setup}}))
    before = set(shop.checkout.git("ls-files").split())

    ended = finished([begin(shop, number) for number in numbers])

    assert [(run["status"], run["outcome"]) for run in ended] == [("completed", "success")] * len(numbers)
    assert sorted(forge.pushes) == sorted(["main", *(f"handrail/tea-{number}" for number in numbers)])
    assert sorted(pull["head"]["ref"] for pull in forge.pulls) == [f"handrail/tea-{number}" for number in numbers]
    for number, run in zip(numbers, ended, strict=True):
        own, branch = kind(number), f"handrail/tea-{number}"
        assert set(forge.files(branch)) - before == {own.code, own.test_file}
        assert forge.show(branch, own.code) == own.reviewed
        scopes = Path(run["worktree"]["path"]) / ".agentweaver/scopes"
        assert [scope.name for scope in scopes.iterdir()] == [f"tea-{number}"]
    assert shop.checkout.git("branch", "--show-current").strip() == "main"
    assert shop.checkout.git("status", "--porcelain") == ""
    assert set(shop.checkout.git("ls-files").split()) == before
    assert len({run["run"] for run in ended}) == len(numbers)
    assert len(project.json("worktrees")["worktrees"]) == len(numbers)
