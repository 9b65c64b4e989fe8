"""Data that no step can work with: a failed step with a reason, never a bug report and never a run that hangs."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from support import Project

pytestmark = pytest.mark.timeout(60)  # a search or a read that cannot be stopped fails its test
DEEP = "[" * 900 + "]" * 900
HUGE = "9" * 400
NUL = "${params.nul}"
HALF = "${params.half}"  # half of a surrogate pair


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, monkeypatch, capsys)


def run(project: Project, step: dict[str, Any], code: int = 1) -> dict[str, Any]:
    """Run a flow of one step. The param `half` is half of a surrogate pair, `huge` is a number of 400 digits."""
    params = {"nul": {"default": ""}, "half": {"default": ""}, "huge": {"default": 0}, "more": {"default": ""}}
    flow = {"params": params, "phases": [{"id": "a", "steps": [{"id": "x", **step}]}]}
    project.write(".handrail/flows/f.yaml", json.dumps(flow))
    given = (
        "--param",
        'half="\\ud800"',
        "--param",
        'nul="a\\u0000b"',
        "--params",
        str(project.write("params.json", f'{{"huge": {HUGE}}}')),
    )
    return project.json("run", "f", *given, code=code)


FAILING: dict[str, tuple[dict[str, Any], str]] = {
    "read-file: nul": ({"node": "read-file", "params": {"path": NUL}}, "contains a NUL character, so it is no path"),
    "read-file: half": ({"node": "read-file", "params": {"path": HALF}}, "contains half of a surrogate pair"),
    "write-file: nul": ({"node": "write-file", "params": {"path": NUL, "text": ""}}, "contains a NUL character"),
    "write-file: text": ({"node": "write-file", "params": {"path": "a", "text": HALF}}, "half of a surrogate pair"),
    "command: argv": ({"node": "command", "params": {"argv": ["echo", HALF]}}, "half of a surrogate pair"),
    "command: argv nul": ({"node": "command", "params": {"argv": ["echo", NUL]}}, "`argv` holds a NUL character"),
    "command: stdin": ({"node": "command", "params": {"argv": ["cat"], "stdin": HALF}}, "half of a surrogate pair"),
    "command: cwd": ({"node": "command", "params": {"argv": ["ls"], "cwd": HALF}}, "half of a surrogate pair"),
    "command: env": (
        {"node": "command", "params": {"argv": ["ls"], "env": {"A": NUL}}},
        "`env`: the value of `A` holds a NUL character",
    ),
    "command: env name": (
        {"node": "command", "params": {"argv": ["ls"], "env": {"A=B": "1"}}},
        "`env`: `A=B` cannot be the name of a variable",
    ),
    "command: deep": (
        {"node": "command", "params": {"argv": ["echo", DEEP]}},
        "its result is nested deeper than 100 levels",
    ),
    "makes: nul": ({"node": "set", "makes": [NUL]}, "contains a NUL character"),
    "makes: half": ({"node": "set", "makes": [HALF]}, "contains half of a surrogate pair"),
    "expect: file": ({"node": "set", "expect": [{"file": NUL}]}, "contains a NUL character"),
    "expect: require-file": (
        {"node": "set", "expect": [{"kind": "require-file", "path": HALF}]},
        "contains half of a surrogate pair",
    ),
    "expect: run": ({"node": "set", "expect": [{"run": ["echo", HALF]}]}, "half of a surrogate pair"),
    "after": (
        {"node": "set", "after": [{"kind": "set-summary-from-file", "path": NUL}]},
        "contains a NUL character",
    ),
    "add": ({"node": "set", "params": {"n": {"add": ["${params.huge}", 1]}}}, "too large to count with"),
    "sub": ({"node": "set", "params": {"n": {"sub": ["${params.huge}", 1]}}}, "too large to count with"),
    "mul": ({"node": "set", "params": {"n": {"mul": [1e200, 1e200]}}}, "too large to count with"),
    "div": ({"node": "set", "params": {"n": {"div": ["${params.huge}", 3]}}}, "too large to count with"),
    "mod": ({"node": "set", "params": {"n": {"mod": ["${params.huge}", 1.5]}}}, "too large to count with"),
    "add: infinite": ({"node": "set", "params": {"n": {"add": ["inf", 1]}}}, ""),
    "wait: huge": ({"node": "wait", "params": {"seconds": "${params.huge}"}}, "`seconds` has to be between"),
    "matches: bad": (
        {"node": "set", "when": {"matches": ["x", "${params.more}"]}, "params": {"a": "${params.more.99999999999999}"}},
        "there is no `99999999999999`",
    ),
    "at": ({"node": "set", "params": {"n": "${params.more." + "1" * 5000 + "}"}}, "there is no `1111"),
}


@pytest.mark.parametrize("name", FAILING)
def test_data_that_a_step_cannot_use_fail_the_step_with_a_reason(project: Project, name: str) -> None:
    step, told = FAILING[name]
    ended = run(project, step)
    assert ended["status"] == "failed"
    assert told in ended["error"]
    assert "Error:" not in ended["error"]


def test_an_object_does_not_contain_a_list(project: Project) -> None:
    step = {"node": "set", "when": {"contains": [{"const": {"a": 1}}, {"const": ["a"]}]}}
    assert run(project, step, code=0)["phases"][0]["steps"][0]["status"] == "skipped"


@pytest.mark.parametrize("pattern", ["a{1000000000}", "(" * 2000 + ")" * 2000, "(?=a)", "("])
def test_a_pattern_that_only_the_run_knows_fails_the_step_with_a_reason(project: Project, pattern: str) -> None:
    project.write(
        ".handrail/flows/f.yaml",
        "phases: [{id: a, steps: [{id: x, node: set, when: {matches: [a, '${params.pattern}']}}]}]",
    )
    ended = project.json("run", "f", "--param", f"pattern={pattern}", code=1)
    assert "is not a pattern, at character" in ended["error"]


def test_a_catastrophic_pattern_ends_at_once(project: Project) -> None:
    flow = "phases: [{id: a, steps: [{id: x, node: set, when: {matches: ['${params.text}', '^(a+)+$']}}]}]"
    project.write(".handrail/flows/f.yaml", flow)
    text = "a" * 5000 + "!"
    assert project.json("run", "f", "--param", f"text={text}")["status"] == "completed"


def special(project: Project, kind: str) -> str:
    path = project.folder / "odd"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a socket":
        home = Path.cwd()
        os.chdir(project.folder)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("odd")
        os.chdir(home)
    else:
        path.mkdir()
    return "odd"


@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a folder"])
@pytest.mark.parametrize(
    "step",
    [
        {"node": "read-file", "params": {"path": "odd"}},
        {"node": "write-file", "params": {"path": "odd", "text": "x"}},
        {"node": "set", "after": [{"kind": "set-summary-from-file", "path": "odd"}]},
        {
            "node": "set",
            "expect": [{"kind": "require-structured-artifacts", "items": [{"path": "odd", "schemaId": "any"}]}],
        },
    ],
    ids=["read-file", "write-file", "after", "expect"],
)
def test_only_a_regular_file_is_read_or_replaced(project: Project, step: dict[str, Any], kind: str) -> None:
    special(project, kind)
    project.write(".handrail/schemas/any.json", "{}")
    ended = run(project, step)
    assert f"odd` is {kind}, not a file" in ended["error"]


@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a folder"])
@pytest.mark.parametrize("option", ["--params", "--answers"])
def test_a_file_on_the_command_line_has_to_be_a_regular_file(project: Project, kind: str, option: str) -> None:
    project.write(".handrail/flows/f.yaml", "phases: [{id: a, steps: [{id: x, node: set}]}]")
    said = project.run("run", "f", option, special(project, kind))
    assert said.code == 2
    assert f"`odd` is {kind}, not a file" in said.err
    assert "`-`" in said.err or "--params -" in said.err


def test_a_param_that_is_nested_too_deeply_is_refused_before_the_run_begins(project: Project) -> None:
    project.write(".handrail/flows/f.yaml", "phases: [{id: a, steps: [{id: x, node: set}]}]")
    said = project.run("run", "f", "--param", f"x={DEEP}")
    assert said.code == 2
    assert "the param `x` is nested deeper than 100 levels" in said.err
    assert project.json("runs")["runs"] == []


def test_results_cannot_grow_deeper_from_step_to_step(project: Project) -> None:
    steps = [{"id": "s0", "node": "set", "params": {"v": 1}}]
    for number in range(1, 60):
        nested: Any = f"${{steps.a.s{number - 1}.value}}"
        for _ in range(4):
            nested = [nested]
        steps.append({"id": f"s{number}", "node": "set", "params": {"v": nested}})
    project.write(".handrail/flows/f.yaml", json.dumps({"phases": [{"id": "a", "steps": steps}]}))
    assert "nested deeper than 100 levels" in project.json("run", "f", code=1)["error"]


def test_a_deep_json_file_is_no_reason_to_crash(project: Project) -> None:
    project.write(".handrail/schemas/any.json", "{}")
    for depth in (900, 100_000):
        project.write("made.json", "[" * depth + "]" * depth)
        ended = project.json(*_flow_with_schema(project), code=0 if depth == 900 else 1)
        assert ended["status"] == "completed" or "nested too deeply" in ended["error"]


def _flow_with_schema(project: Project) -> tuple[str, ...]:
    step = {
        "id": "x",
        "node": "command",
        "params": {"argv": ["touch", "made.json"]},
        "makes": [{"path": "made.json", "schema": "any"}],
    }
    project.write(".handrail/flows/f.yaml", json.dumps({"phases": [{"id": "a", "steps": [step]}]}))
    return ("run", "f")
