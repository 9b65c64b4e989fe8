"""The shape of the code, checked: the pure set, sizes, cycles, one place that starts processes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import handrail

SOURCE = Path(handrail.__file__).parent
MODULES = sorted(p for p in SOURCE.rglob("*.py") if "builtin/demo" not in p.as_posix())
IMPURE = {"os", "io", "time", "datetime", "random", "secrets", "logging", "subprocess", "socket", "pathlib", "shutil"}
STARTS = {"subprocess", "multiprocessing", "pty"}


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def name_of(path: Path) -> str:
    parts = list(path.relative_to(SOURCE.parent).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def says_pure(path: Path) -> bool:
    """True if the first lines of a module say that it is pure."""
    return "Pure" in (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")


@pytest.mark.parametrize("path", [path for path in MODULES if says_pure(path)], ids=name_of)
def test_the_pure_set_fetches_nothing_from_the_world(path: Path) -> None:
    found = set(imports(path))
    assert not {module.split(".")[0] for module in found} & IMPURE
    assert not {"open", "print", "input"} & set(calls(path))


def test_the_core_says_that_it_is_pure() -> None:
    rooms = ("expressions", "workflows/plan.py", "sessions/machine.py", "sessions/words.py", "runs/machine.py", "view")
    core = [path for path in MODULES if path.relative_to(SOURCE).as_posix().startswith(rooms)]
    assert [name_of(path) for path in core if path.name != "__init__.py" and not says_pure(path)] == []


def calls(path: Path) -> Iterator[str]:
    """The plain names that a file calls."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def test_processes_are_started_in_one_place_only() -> None:
    starters = {
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        for module in imports(path)
        if module.split(".")[0] in STARTS or module in ("os.system", "os.popen", "os.posix_spawn")
    }
    spawners = {
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr.startswith(("create_subprocess", "posix_spawn", "popen"))
    }
    assert starters | spawners == {"process/child.py"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    limit = 450 if path.name == "codes.py" else 400  # a table of texts
    assert text.count("\n") <= limit
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 45, f"{node.name} is long"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert about
    assert len(about.splitlines()) <= 7


def test_there_is_no_import_cycle() -> None:
    names = {name_of(path) for path in MODULES}
    graph = {name_of(path): {m for m in imports(path) if m in names and m != name_of(path)} for path in MODULES}
    done: set[str] = set()

    def walk(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " → ".join([*above, name])
        if name not in done:
            for target in sorted(graph[name]):
                walk(target, (*above, name))
            done.add(name)

    for name in sorted(graph):
        walk(name, ())


def test_the_hooks_path_needs_the_standard_library_only() -> None:
    """All that the hook may ever import, also on its slow path."""
    reached, waiting = set(), ["handrail.hook"]
    files = {name_of(path): path for path in MODULES}
    while waiting:
        name = waiting.pop()
        if name in files and name not in reached:
            reached.add(name)
            waiting.extend(imports(files[name]))
    outside = {m.split(".")[0] for name in reached for m in imports(files[name])} - set(sys.stdlib_module_names)
    assert outside - {"_sha2", "_sha256"} == {"handrail"}  # which of the two there is depends on the version
    assert "handrail.sessions.store" in reached


def test_the_version_stands_in_the_changelog() -> None:
    changelog = (SOURCE.parent.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {handrail.__version__}" in changelog
