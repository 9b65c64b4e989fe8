"""What authors of plugins use: the skeleton, and the contract tests for pytest."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from extensions.plugins.acme import ACT, FILES, SMALL, as_folder, write
from handrail.extensions.plugins.contract_tests import check_plugin
from support import Project

ROOT = Path(__file__).parents[3]


def run_pytest(cwd: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as an author does, with the plugin that the package declares."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module = declared["project"]["entry-points"]["pytest11"]["handrail-plugin"]
    loads = [] if f"{module}\n" in _installed() else ["-p", module]
    line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *loads, *argv]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def _installed() -> str:
    from importlib.metadata import entry_points

    return "".join(f"{point.value}\n" for point in entry_points(group="pytest11"))


@pytest.mark.whole
def test_a_new_plugin_works_and_its_tests_pass(project: Project) -> None:
    made = project.json("plugin", "new", "mine")
    assert ".handrail/plugins/mine/plugin.toml" in made["created"]
    as_folder(project, {}, "mine")
    assert project.run("validate").code == 0
    ended = project.json("run", "mine/hello", "--param", "name=Ada")
    assert ended["phases"][0]["steps"][0]["value"]["text"] == "hello, Ada"
    tested = run_pytest(project.folder, ".handrail/plugins/mine")
    assert (tested.returncode, "2 passed" in tested.stdout) == (0, True), tested.stdout
    assert project.run("run", "mine/hello").code == 0  # what tests leave in the folder is no change


def test_a_new_plugin_overwrites_nothing(project: Project) -> None:
    project.run("plugin", "new", "mine")
    said = project.run("plugin", "new", "mine")
    assert (said.code, "exists" in said.err) == (1, True)
    assert project.run("plugin", "new", "../mine").code == 2
    assert project.run("plugin", "new", "builtin").code == 2


def test_a_user_may_have_plugins_for_all_projects(project: Project) -> None:
    assert project.run("plugin", "new", "mine", "--user").code == 0
    assert project.run("plugin", "trust", "mine", "--yes").code == 0
    assert project.run("run", "mine/hello").code == 0
    (row,) = project.json("plugins")["plugins"]
    assert (row["source"], row["trusted"]) == ("user", True)


@pytest.mark.whole
def test_the_contract_tests_pass_for_a_good_plugin(project: Project) -> None:
    as_folder(project)
    tested = run_pytest(project.folder, "--handrail-plugin", "acme", "-v")
    assert tested.returncode == 0, tested.stdout
    assert "acme: node acme/shout keeps to the contract" in tested.stdout
    assert "7 passed" in tested.stdout


@pytest.mark.whole
def test_the_contract_tests_name_what_is_wrong(tmp_path: Path) -> None:
    folder = write(tmp_path / "bad", {"plugin.toml": SMALL, "act.py": ACT.replace("async def", "def")})
    tested = run_pytest(tmp_path, "--handrail-plugin", "bad")
    assert tested.returncode == 1
    assert "`run` is not `async`" in tested.stdout
    assert check_plugin(folder)
    assert run_pytest(tmp_path, "--handrail-plugin", "nobody").returncode == 4


@pytest.mark.whole
def test_without_the_option_nothing_is_imported(tmp_path: Path) -> None:
    text = (
        "import sys\n\n\ndef test_it():\n    assert 'handrail.extensions.plugins.contract_tests' not in sys.modules\n"
    )
    write(tmp_path, {"test_it.py": text})
    assert run_pytest(tmp_path).returncode == 0


MODULES = {
    "nodes/shout.py": "node acme/shout",
    "checks/loud.py": "check acme/loud",
    "robot/executor.py": "executor acme/robot",
    "robot/host.py": "host acme/robot",
    "engine.py": "engine acme/twin",
}


@pytest.mark.parametrize("name", MODULES)
def test_a_broken_module_is_named(tmp_path: Path, name: str) -> None:
    problems = check_plugin(write(tmp_path / "acme", {**FILES, name: "x = 1\n"}))
    begins = f"acme: {MODULES[name]} keeps to the contract: "
    assert problems
    assert [problem for problem in problems if not problem.startswith(begins)] == []
