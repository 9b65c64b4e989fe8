"""Every registered check declares itself, verifies what it declares, and is named nowhere else."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail.extensions import registry
from handrail.extensions.contracts import CheckContext, Finding
from handrail.extensions.declarations import check_declarations
from handrail.extensions.registry import Registry
from handrail.guided.workflows.plan import ExitCheck, Plan, Stop, plan_from_json, plan_to_json
from support import Project

NAMES = list(registry.CHECKS)
SOURCE = Path(handrail.__file__).parent
REFERENCE = SOURCE.parent.parent / "docs" / "reference" / "checks.md"


@pytest.mark.parametrize("name", NAMES)
def test_a_registered_check_declares_itself(name: str) -> None:
    check = check_declarations(Registry())[name]
    assert check.about.endswith(".")
    assert check.words
    assert check.short is None or check.short in check.shape.by_name
    assert check.places
    assert all(param.about and param.kinds for param in check.params)
    assert inspect.iscoroutinefunction(Registry().check_kind(name).verify)


@pytest.mark.parametrize("name", NAMES)
def test_a_registered_check_is_documented(name: str) -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    assert f"\n## {name}\n" in text
    assert all(f"| `{param.name}` |" in text for param in check_declarations(Registry())[name].params)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("run", "file")])
def test_a_kind_of_check_is_named_nowhere_else(name: str) -> None:
    found = [path for path in SOURCE.rglob("*.py") if f'"{name}"' in path.read_text(encoding="utf-8")]
    assert [path.relative_to(SOURCE).as_posix() for path in found] == ["extensions/registry.py"]


def test_no_reader_of_checks_names_a_kind() -> None:
    for path in ("guided/workflows/load.py", "guided/workflows/spec.py", "driven/flows/step_values.py"):
        text = (SOURCE / path).read_text(encoding="utf-8")
        assert '"run"' not in text
        assert '"file"' not in text


def verify(name: str, folder: Path, **params: Any) -> Finding:
    return asyncio.run(Registry().check_kind(name).verify(params, CheckContext(str(folder), {"PATH": "/usr/bin:/bin"})))


def test_files_are_searched_inside_the_project(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    assert verify("require-file", tmp_path, path="a") == Finding(True, "it exists")
    assert verify("file", tmp_path, path="a") == Finding(False, "it is empty")
    assert verify("require-artifacts", tmp_path, paths=["a", "b"]) == Finding(False, "`b` is missing")
    assert verify("require-artifacts", tmp_path, paths=["a", "../b"]).held is None


def test_require_file_only_looks_so_a_folder_and_a_file_outside_the_project_hold(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (tmp_path / "outside").write_text("")
    for path in ("docs", "../outside", str(tmp_path / "outside"), ["docs", "../outside"]):
        assert verify("require-file", project, path=path).held, path
    assert verify("require-file", project, path="") == Finding(False, "`` is missing")
    assert verify("require-file", project, path=["docs", "../none"]) == Finding(False, "`../none` is missing")


def test_json_files_are_compared_with_their_schemas(tmp_path: Path) -> None:
    (tmp_path / ".handrail" / "schemas").mkdir(parents=True)
    (tmp_path / ".handrail" / "schemas" / "own.json").write_text('{"type": "object", "required": ["x"]}')
    (tmp_path / "a.json").write_text('{"x": 1}')
    (tmp_path / "b.json").write_text("{}")
    kind = "require-structured-artifacts"
    assert verify(kind, tmp_path, items=[{"path": "a.json", "schemaId": "own"}]) == Finding(True, "all match")
    assert verify(kind, tmp_path, items=[{"path": "b.json", "schemaId": "own"}]).held is False
    assert verify(kind, tmp_path, items=[{"path": "a.json", "schemaId": "none"}]).held is None


def test_a_plan_of_0_1_0_still_runs_its_checks(tmp_path: Path) -> None:
    assert verify("run", tmp_path, line="exit 0", timeout=5.0).held
    assert verify("run", tmp_path, argv=["false"], timeout=5.0).held is False
    old: list[Any] = ["run", {"line": "make", "timeout": 600.0}, "make"]
    stop = Stop("a", "A", "•", "Do.", (), 0, True, "", "", None, None, (), (ExitCheck(*old),))
    data = plan_to_json(Plan("w", "W", "w", "", {}, 50, (stop,)))
    data["stops"][0]["checks"] = [old]
    assert plan_from_json(data).stops[0].checks == (ExitCheck("run", {"line": "make", "timeout": 600.0}, "make", ""),)


@pytest.mark.parametrize("spelling", ["{run: test -f ready}", "{kind: run, command: [test, -f, '${params.name}']}"])
def test_a_step_may_expect_that_a_command_succeeds(project: Project, spelling: str) -> None:
    step = f"{{id: x, node: set, params: {{n: 1}}, expect: [{spelling}]}}"
    text = f"params: {{name: ready}}\nphases:\n- id: a\n  steps:\n  - {step}\n"
    project.write(".handrail/flows/demo.yaml", text)
    failed = project.json("run", "demo", code=1)
    assert failed["phases"][0]["steps"][0]["error"] == "`run: test -f ready` does not hold: it ended with exit code 1"
    project.write("ready", "")
    assert project.json("resume", failed["run"])["status"] == "completed"


def test_a_phase_may_use_the_kinds_of_agentweaver(project: Project) -> None:
    project.workflow("w", ["a", "b"])
    project.phase("w", "a", "exit:\n  - kind: require-artifacts\n    paths: [x.md, y.md]\n")
    project.json("start", "w", "x")
    assert "- `x.md y.md` exist" in project.json("status")["message"]
    project.write("x.md", "")
    assert "`y.md` is missing" in project.json("next", code=5)["message"]
    project.write("y.md", "")
    assert project.json("next")["phase"]["id"] == "b"
