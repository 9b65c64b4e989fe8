"""The CI files that people copy (`docs/examples/ci`): their commands are run in order, without the services."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import open_to_agents

FOLDER = Path(__file__).parents[1] / "docs" / "examples" / "ci"
RELEASE = """
phases:
- id: check
  steps:
  - {id: tests, node: command, params: {argv: [sh, -c, "echo checked >> checked; test ! -e broken"]}}
- {id: ask, steps: [{id: go, node: approve, params: {question: Release it?}}]}
- {id: tag, steps: [{id: tag, node: command, params: {argv: [git, tag, v1]}}]}
"""
INSTALLS = ("pip install", "pipx install")


class Machine:
    """A machine of a CI service: a checkout, an empty home, and the variables of its jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.project = folder, folder / "checkout"
        (self.project / ".handrail" / "flows").mkdir(parents=True)
        (self.project / ".handrail" / "flows" / "release.yaml").write_text(RELEASE, encoding="utf-8")
        self.env = {
            "HOME": str(folder),
            "PATH": os.path.dirname(sys.executable) + os.pathsep + "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "CI": "true",
            **{name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")},
            "GITHUB_ACTOR": "ada",
            "GITLAB_USER_LOGIN": "ada",
        }
        open_to_agents(folder / "handrail")
        self.shell("git init -q . && git -c user.name=a -c user.email=a@b commit -qm first --allow-empty", {})

    def read(self, name: str) -> dict[str, Any]:
        """A file, with the folder of the test in place of /tmp."""
        data: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text("utf-8").replace("/tmp", str(self.folder)))
        return data

    def shell(self, line: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        argv = ["/bin/sh", "-ec", line]
        return subprocess.run(
            argv, cwd=self.project, env={**self.env, **env}, capture_output=True, text=True, timeout=100, check=False
        )

    def tags(self) -> str:
        return self.shell("git tag", {}).stdout


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def github(machine: Machine, job: str, **given: str) -> subprocess.CompletedProcess[str]:
    """Run the commands of a job; after a failure only those that always run."""
    file = machine.read("github-actions.yml")
    spec, failed = file["jobs"][job], None
    env = {**file["env"], **spec.get("env", {}), **given}
    for step in spec["steps"]:
        line = step.get("run", "")
        if not line or line.startswith(INSTALLS) or (failed and step.get("if") != "always()"):
            continue
        ended = machine.shell(line, env)
        failed = failed or (ended if ended.returncode else None)
    return failed or ended


def gitlab(machine: Machine, job: str, **given: str) -> subprocess.CompletedProcess[str]:
    file = machine.read("gitlab-ci.yml")
    assert all(line.startswith(INSTALLS) for line in file["default"]["before_script"])
    env = {**file["variables"], **file[job].get("variables", {}), **given}
    return machine.shell("\n".join(file[job]["script"]), env)


def test_on_github_a_run_waits_and_the_approval_of_a_later_job_ends_it(machine: Machine) -> None:
    assert github(machine, "validate").returncode == 0
    assert github(machine, "run").returncode == 0
    assert (machine.folder / "GITHUB_OUTPUT").read_text() == "waits=yes\n"
    summary = (machine.folder / "GITHUB_STEP_SUMMARY").read_text()
    assert "Release it?" in summary
    assert (summary.splitlines()[0], summary.splitlines()[-1]) == ("````text", "````")
    assert machine.tags() == ""
    assert github(machine, "approve").returncode == 0
    assert (machine.tags(), (machine.project / "checked").read_text()) == ("v1\n", "checked\n")


def test_on_gitlab_a_run_waits_and_the_approval_of_a_later_job_ends_it(machine: Machine) -> None:
    assert gitlab(machine, "validate").returncode == 0
    assert (
        gitlab(machine, "release").returncode == machine.read("gitlab-ci.yml")["release"]["allow_failure"]["exit_codes"]
    )
    machine.shell(f"mv {machine.folder}/handrail {machine.folder}/gone", {})  # the next job is on another machine
    (machine.folder / "handrail").mkdir()
    assert gitlab(machine, "approve").returncode == 0
    assert machine.tags() == "v1\n"


@pytest.mark.parametrize("run", [lambda machine: github(machine, "run"), lambda machine: gitlab(machine, "release")])
def test_a_failing_flow_fails_the_job_and_its_log_has_the_output(run: Any, machine: Machine) -> None:
    (machine.project / "broken").write_text("")
    flow = machine.project / ".handrail" / "flows" / "release.yaml"
    flow.write_text(
        RELEASE.replace("echo checked >> checked", "echo expected 3, found 4; echo FAILED"), encoding="utf-8"
    )
    ended = run(machine)
    assert ended.returncode == 1
    assert "expected 3, found 4" in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("run", "approve"),
    [
        (lambda machine: github(machine, "run"), lambda machine: github(machine, "approve")),
        (lambda machine: gitlab(machine, "release"), lambda machine: gitlab(machine, "approve")),
    ],
)
def test_a_run_that_fails_after_the_approval_fails_the_job(run: Any, approve: Any, machine: Machine) -> None:
    machine.shell("git tag v1", {})  # the last step cannot make it again
    run(machine)
    ended = approve(machine)
    assert ended.returncode == 1
    assert "already exists" in ended.stdout + ended.stderr


def test_a_job_that_nobody_trusts_is_not_taken_for_a_run_that_waits(machine: Machine) -> None:
    shutil.rmtree(machine.folder / "handrail" / "state" / "trust")
    assert github(machine, "run", HANDRAIL_TRUST="").returncode != 0
    assert not (machine.folder / "GITHUB_OUTPUT").exists()
    allowed = machine.read("gitlab-ci.yml")["release"]["allow_failure"]["exit_codes"]
    assert gitlab(machine, "release", HANDRAIL_TRUST="").returncode not in (0, allowed)
    assert not (machine.project / "checked").exists()


def test_a_form_is_answered_with_the_command_that_the_files_show(machine: Machine) -> None:
    flow = machine.project / ".handrail" / "flows" / "release.yaml"
    form = "node: user-input, params: {title: Hi, fields: [{id: note, type: text, label: Note, required: true}]}"
    flow.write_text(RELEASE.replace("node: approve, params: {question: Release it?}", form), encoding="utf-8")
    command = "handrail answer last note=hello"
    assert all(command in (FOLDER / name).read_text("utf-8") for name in ("github-actions.yml", "gitlab-ci.yml"))
    assert github(machine, "run").returncode == 0
    env = {"HANDRAIL_HOME": str(machine.folder / "handrail"), "HANDRAIL_TRUST": "1"}
    assert machine.shell(command, env).returncode == 0
    assert machine.tags() == "v1\n"


def test_a_broken_definition_fails_the_first_job_with_an_annotation(machine: Machine) -> None:
    flow = machine.project / ".handrail" / "flows" / "release.yaml"
    flow.write_text("phases: 3\n", encoding="utf-8")
    ended = github(machine, "validate")
    assert (ended.returncode, ended.stdout.startswith("::error file=.handrail/flows/release.yaml,line=1")) == (2, True)
