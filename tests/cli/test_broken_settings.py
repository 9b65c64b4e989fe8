"""No work begins with settings that have errors: a limit or the name of a secret may be in what was not read."""

from __future__ import annotations

import pytest

from support import Project

BROKEN = {
    "not YAML": ("limits: {usd: 1}\nsecrets: {add: [MYKEY]\n", ":2:10"),
    "wrong type": ('limits: {usd: "1"}\n', ":1:15"),
    "wrong list": ("secrets: {add: MYKEY}\n", ":1:16"),
    "misspelt": ("limts: {usd: 1}\n", ":1:"),
}
FLOW = (
    "phases:\n- id: a\n  steps:\n  - {id: x, node: command, params: {argv: [sh, -c, 'echo $MYKEY; test -e fixed']}}\n"
)


@pytest.fixture
def told(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("MYKEY", "supersecretvalue1")
    project.write(".handrail/flows/m.yaml", FLOW)
    return project


def broken(project: Project, place: str, name: str) -> str:
    if place == "project":
        project.write(".handrail/settings.yaml", BROKEN[name][0])
        return ".handrail/settings.yaml"
    file = project.home / "config/settings.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(BROKEN[name][0])
    return str(file)


@pytest.mark.parametrize("place", ["user", "project"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_run_does_not_begin(told: Project, place: str, name: str) -> None:
    file = broken(told, place, name)
    error = told.json("run", "m", code=2)["error"]
    assert error["code"] == "definition"
    assert f"{file}{BROKEN[name][1]}" in error["message"]
    assert told.json("runs")["runs"] == []


@pytest.mark.parametrize("argv", [("resume",), ("restart",)])
def test_a_run_does_not_go_on(told: Project, argv: tuple[str, ...]) -> None:
    run = told.json("run", "m", code=1)["run"]
    (told.folder / "fixed").touch()
    broken(told, "user", "not YAML")
    told.json(*argv, run, code=2)
    assert told.json("runs")["runs"][0]["status"] == "failed"
    (told.home / "config/settings.yaml").unlink()
    told.json(*argv, run)


def test_a_workflow_does_not_start_and_no_phase_is_left(told: Project) -> None:
    told.workflow("w", ["one", "two"])
    file = broken(told, "user", "wrong type")
    assert file in told.json("start", "w", "tea", code=2)["error"]["message"]
    (told.home / "config/settings.yaml").unlink()
    told.json("start", "w", "tea")
    broken(told, "user", "wrong type")
    assert file in told.json("next", code=2)["error"]["message"]
    assert told.json("status")["phase"]["id"] == "one"


def test_what_only_reads_still_works(told: Project) -> None:
    run = told.json("run", "m", code=1)["run"]
    broken(told, "project", "not YAML")
    assert told.json("runs")["runs"][0]["run"] == run
    assert told.run("log", run).code == 0
    assert told.json("list")["flows"]
