"""The wheel, as a user has it: installed into an empty environment, with an empty home. `make wheel` builds it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.request
import zipfile
from pathlib import Path

import pytest

from real.screen import Screen

ROOT = Path(__file__).resolve().parents[2]
HANDRAIL = ROOT / ".cache" / "wheel" / "bin" / "handrail"
TIME_LIMIT = 120


class User:
    """Somebody who has only the wheel: a home and a project in git."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        subprocess.run(["git", "init", "-q"], cwd=self.project, env=self.env, check=True)

    def run(self, *argv: str, code: int = 0) -> str:
        ended = subprocess.run(
            [HANDRAIL, *argv], cwd=self.project, env=self.env, capture_output=True, text=True, timeout=TIME_LIMIT,
            check=False,
        )  # fmt: skip
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended.stdout


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_the_wheel_has_every_file_of_the_package_and_nothing_else() -> None:
    (wheel,) = (ROOT / "dist").glob("handrail-*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("handrail/")}
    listed = subprocess.run(
        ["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert names == {name.removeprefix("src/") for name in listed}


def test_the_demo_runs(user: User) -> None:
    assert "git log" in user.run("demo", "--pace", "0")


def test_a_new_project_is_valid_and_its_definitions_run(user: User) -> None:
    created = json.loads(user.run("init", "--json"))["created"]
    assert all((user.project / path).is_file() for path in created)
    assert json.loads(user.run("validate", "--json"))["ok"] is True
    listed = json.loads(user.run("list", "--json"))
    (flow,) = (flow["id"] for flow in listed["flows"] if flow["source"] == "project")
    assert json.loads(user.run("run", flow, "--json"))["status"] == "completed"
    (workflow,) = (one["command"] for one in listed["workflows"] if one["source"] == "project")
    assert json.loads(user.run("start", workflow, "a", "task", "--json"))["status"] == "active"
    assert len(json.loads(user.run("runs", "--json"))["runs"]) == 1


def test_a_shipped_flow_and_an_explanation_are_there(user: User) -> None:
    assert "PHASE" in user.run("show", "plan", "--phases")
    assert "ref-phase" in user.run("explain", "ref-phase")


def test_the_page_is_served(user: User) -> None:
    server = subprocess.Popen(
        [HANDRAIL, "web", "--json", "--no-open"], cwd=user.project, env=user.env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        link = json.loads(server.stdout.readline())["url"]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(link, timeout=TIME_LIMIT) as answer:
            assert "<title>Handrail" in answer.read().decode()
    finally:
        server.terminate()
        assert server.wait(TIME_LIMIT) == 0
        assert server.stdout is not None
        server.stdout.close()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_the_terminal_surface_opens(user: User) -> None:
    with Screen([str(HANDRAIL), "ui"], user.project, user.env, "quit") as screen:
        screen.wait("n launch")


def test_it_is_installed_into_an_agent_and_removed_again(user: User) -> None:
    files = json.loads(user.run("install", "claude", "--json"))["files"]
    assert all(os.path.isfile(file["path"]) for file in files)
    assert json.loads(user.run("doctor", "claude", "--json", code=5))["checks"]
    user.run("uninstall", "claude")
    assert not any(os.path.exists(file["path"]) for file in files)
